package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"countersign/internal/agent/issuer"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
)

// OfficeFile is what an administrator hands to the people of an office, so that they need not type it: the settings that
// are the office's and not one computer's. It holds no folder, no path and no other server for ngrok: what comes from
// outside chooses nothing that is not shown before it counts.
type OfficeFile struct {
	Settings     office.Settings
	ClientSecret string // empty unless the administrator asked for it
}

// OfficeEnding is how the name of such a file ends.
const OfficeEnding = office.OwnEnding

// OfficeName is what one is called where nobody has another name for it.
const OfficeName = "Office" + OfficeEnding

const (
	officeFormat  = "countersign office"
	officeVersion = 1
	maxOffice     = 64 << 10 // bytes; a real one has less than one KiB
)

// officeForm is the file as JSON. Fields are added, and do not change their meaning, while the version stays.
type officeForm struct {
	Format       string         `json:"format"`
	Version      int            `json:"version"`
	Settings     officeSettings `json:"settings"`
	ClientSecret string         `json:"client_secret,omitempty"`
}

type officeSettings struct {
	AuthURL         string              `json:"auth_url"`
	BaseURL         string              `json:"base_url"`
	ClientID        string              `json:"client_id,omitempty"`
	Scopes          []string            `json:"scopes,omitempty"`
	SignatureHeader string              `json:"signature_header,omitempty"`
	Redirect        office.RedirectKind `json:"redirect,omitempty"`
	RedirectURI     string              `json:"redirect_uri,omitempty"`
	Tunnel          office.TunnelKind   `json:"tunnel,omitempty"`
	NgrokDomain     string              `json:"ngrok_domain,omitempty"`
	PublicURL       string              `json:"public_url,omitempty"`
	Listen          string              `json:"listen,omitempty"`
	NameTemplate    string              `json:"name_template,omitempty"`
	SaveCAC         bool                `json:"save_cac,omitempty"`
	SaveMaster      bool                `json:"save_masterfile,omitempty"`
}

// OfficeError is a file that was not taken. Nothing was changed.
type OfficeError struct{ Text message.Message }

func (e *OfficeError) Error() string { return e.Text.String() }

// Message is what people are told.
func (e *OfficeError) Message() message.Message { return e.Text }

// IsOfficeFile says whether a file is meant to be one, by its name.
func IsOfficeFile(path string) bool { return strings.EqualFold(filepath.Ext(path), OfficeEnding) }

// WriteOffice writes a new file that only its owner may read. One that is there already is left alone.
func WriteOffice(path string, o OfficeFile) error {
	s := o.Settings.Normal()
	if bad := o.check(); len(bad) > 0 {
		return &ConfigError{Fields: bad}
	}
	b, err := json.MarshalIndent(officeForm{officeFormat, officeVersion, officeSettings{
		s.AuthURL, s.BaseURL, s.ClientID, s.Scopes, s.SignatureHeader, s.Redirect, s.RedirectURI, s.Tunnel, s.NgrokDomain,
		s.PublicURL, s.Listen, s.NameTemplate, s.SaveCAC, s.SaveMaster,
	}, o.ClientSecret}, "", "  ")
	if err != nil {
		return err
	}
	err = createFile(path, append(b, '\n'))
	if errors.Is(err, fs.ErrExist) {
		return &OfficeError{message.OfficeFileThere(filepath.Base(path))}
	}
	if err != nil {
		return &OfficeError{message.OfficeFileNotWritten(filepath.Base(path))}
	}
	return nil
}

// createFile makes a new, whole file for its owner alone.
func createFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".countersign-*") // mode 0600
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return disk.Create(f, path)
}

// ReadOffice reads such a file and judges what it says as everything that is typed. What is wrong with it is an
// *OfficeError.
func ReadOffice(path string) (OfficeFile, error) {
	name := filepath.Base(path)
	b, err := readOffice(path)
	if err != nil {
		return OfficeFile{}, &OfficeError{message.OfficeFileNotRead(name)}
	}
	var form officeForm
	if len(b) > maxOffice || json.Unmarshal(b, &form) != nil || form.Format != officeFormat || form.Version < 1 {
		return OfficeFile{}, &OfficeError{message.OfficeFileForeign(name)}
	}
	if form.Version > officeVersion {
		return OfficeFile{}, &OfficeError{message.OfficeFileNewer(name)}
	}
	o := form.current()
	if bad := o.check(); len(bad) > 0 {
		return OfficeFile{}, &OfficeError{message.Then(message.OfficeFileUnusable(name), bad[0].Text)}
	}
	return o, nil
}

// readOffice reads a plain file, and of one that is too large a little more than may be in it.
func readOffice(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe would hold us up for ever
		return nil, errors.New("not a plain file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxOffice+1))
	return bytes.TrimPrefix(b, []byte("\ufeff")), err
}

func (f officeForm) current() OfficeFile {
	x, s := f.Settings, office.DefaultSettings()
	s.AuthURL, s.BaseURL, s.ClientID, s.Scopes, s.SignatureHeader = x.AuthURL, x.BaseURL, x.ClientID, x.Scopes, x.SignatureHeader
	s.Redirect, s.RedirectURI, s.Tunnel, s.NgrokDomain = x.Redirect, x.RedirectURI, x.Tunnel, x.NgrokDomain
	s.PublicURL, s.Listen, s.NameTemplate, s.SaveCAC, s.SaveMaster = x.PublicURL, x.Listen, x.NameTemplate, x.SaveCAC, x.SaveMaster
	return OfficeFile{s.Normal(), strings.TrimSpace(f.ClientSecret)}
}

// check is what is wrong with the file, without what it leaves to each computer and to each person.
func (o OfficeFile) check() (bad []office.FieldError) {
	bad = append(bad, office.Secrets{ClientSecret: o.ClientSecret}.Normal().Check()...)
	s := o.Settings.Normal()
	if s.Tunnel == office.TunnelLoopback { // the demo's
		bad = append(bad, office.Finding(office.FieldTunnel, office.CodeChoice))
	}
	for _, f := range s.Check() {
		if f.Field != office.FieldSaveTo && (f.Field != office.FieldClientID || s.ClientID != "") {
			bad = append(bad, f)
		}
	}
	return bad
}

// Into are settings with what the file says in place of what they said. Whatever the file has no word for stays.
func (o OfficeFile) Into(s office.Settings) office.Settings {
	x := o.Settings
	s.AuthURL, s.BaseURL, s.ClientID, s.Scopes, s.SignatureHeader = x.AuthURL, x.BaseURL, x.ClientID, x.Scopes, x.SignatureHeader
	s.Redirect, s.RedirectURI, s.Tunnel, s.NgrokDomain = x.Redirect, x.RedirectURI, x.Tunnel, x.NgrokDomain
	s.PublicURL, s.Listen, s.NameTemplate, s.SaveCAC, s.SaveMaster = x.PublicURL, x.Listen, x.NameTemplate, x.SaveCAC, x.SaveMaster
	return s
}

// ReadOffice is the function of that name, for the window.
func (a *Agent) ReadOffice(path string) (OfficeFile, error) { return ReadOffice(path) }

// Office is the file of this office, with other settings in place of the kept ones; with the client secret that is kept, as
// far as it belongs to their service.
func (a *Agent) Office(s office.Settings) (OfficeFile, error) {
	secret, err := a.account.Vault().Get(issuer.ClientSecret.Of(issuer.Of(s)))
	if err != nil {
		return OfficeFile{}, err
	}
	return OfficeFile{s, string(secret)}, nil
}
