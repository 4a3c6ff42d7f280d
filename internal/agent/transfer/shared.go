package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/private"
)

// Shared is what an administrator hands to the people of an office, so that they need not type it: the settings that
// are the office's and not one computer's. It holds no folder, no path and no other server for ngrok: what comes from
// outside chooses nothing that is not shown before it counts. Its file is plain JSON, which administrators make with their own
// tools, too.
type Shared struct {
	Settings     office.Settings
	ClientSecret string // empty unless the administrator asked for it
	DeskKey      string // of the one desk that an invitation is for; empty in any other file
}

const (
	sharedFormat  = "countersign office"
	sharedVersion = 1
	maxShared     = 64 << 10 // bytes; a real one has less than one KiB
)

// sharedForm is the file as JSON. Fields are added, and do not change their meaning, while the version stays.
type sharedForm struct {
	Format       string          `json:"format"`
	Version      int             `json:"version"`
	Settings     office.Settings `json:"settings"` // as Into leaves them of none
	ClientSecret string          `json:"client_secret,omitempty"`
	DeskKey      string          `json:"desk_key,omitempty"`
}

// IsShared says whether a file is meant to be one, by its name.
func IsShared(path string) bool { return strings.EqualFold(filepath.Ext(path), office.OwnEnding) }

// EncodeShared makes the contents of such a file.
func EncodeShared(o Shared) ([]byte, error) {
	if bad := o.check(); len(bad) > 0 {
		return nil, &office.ConfigError{Fields: bad}
	}
	b, err := json.MarshalIndent(sharedForm{sharedFormat, sharedVersion, Shared{Settings: o.Settings.Normal()}.Into(office.Settings{}), o.ClientSecret, o.DeskKey}, "", "  ")
	return append(b, '\n'), err
}

// WriteShared writes a new file that only its owner may read. One that is there already is left alone.
func WriteShared(path string, o Shared) error {
	b, err := EncodeShared(o)
	if err != nil {
		return err
	}
	err = private.WriteFile(path, disk.Create, private.From(bytes.NewReader(b)))
	if errors.Is(err, fs.ErrExist) {
		return message.Error(message.NameTaken(filepath.Base(path)), nil)
	}
	if err != nil {
		return message.Error(message.OfficeFileNotWritten(filepath.Base(path)), nil)
	}
	return nil
}

// ReadShared reads such a file and judges what it says as everything that is typed. What is wrong with it is a
// message.Error.
func ReadShared(path string) (Shared, error) {
	name := filepath.Base(path)
	b, err := readShared(path)
	if err != nil {
		return Shared{}, message.Error(message.OfficeFileNotRead(name), nil)
	}
	return DecodeShared(name, b)
}

// DecodeShared judges the contents of such a file.
func DecodeShared(name string, b []byte) (Shared, error) {
	var form sharedForm
	if len(b) > maxShared || json.Unmarshal(b, &form) != nil || form.Format != sharedFormat || form.Version < 1 {
		return Shared{}, message.Error(message.OfficeFileForeign(name), nil)
	}
	if form.Version > sharedVersion {
		return Shared{}, message.Error(message.OfficeFileNewer(name), nil)
	}
	o := Shared{Shared{Settings: form.Settings}.Into(office.DefaultSettings()).Normal(), strings.TrimSpace(form.ClientSecret), strings.TrimSpace(form.DeskKey)}
	if bad := o.check(); len(bad) > 0 {
		return Shared{}, message.Error(message.Then(message.OfficeFileUnusable(name), bad[0].Text), nil)
	}
	return o, nil
}

// readShared reads of a file that is too large a little more than may be in it.
func readShared(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxShared+1))
	return bytes.TrimPrefix(b, []byte("\ufeff")), err
}

// check is what is wrong with the file, without what it leaves to each computer and to each person.
func (o Shared) check() (bad []office.FieldError) {
	bad = append(bad, office.Secrets{ClientSecret: o.ClientSecret, DeskKey: o.DeskKey}.Normal().Check()...)
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
func (o Shared) Into(s office.Settings) office.Settings {
	x := o.Settings
	if x.Tunnel == office.TunnelOffice && s.Tunnel == office.TunnelOffice && x.AuthURL == s.AuthURL && x.BaseURL == s.BaseURL && x.ClientID == s.ClientID {
		s.Office, s.OfficePin = x.Office, x.OfficePin // a desk already, for which the hub is another one, or invites it anew
		return s
	}
	s.ServiceSettings, s.Redirect, s.RedirectURI = x.ServiceSettings, x.Redirect, x.RedirectURI
	s.Tunnel, s.NgrokDomain, s.PublicURL, s.Listen = x.Tunnel, x.NgrokDomain, x.PublicURL, x.Listen
	if x.Tunnel == office.TunnelOffice {
		s.Office, s.OfficePin, s.OfficeListen = x.Office, x.OfficePin, ""
	}
	s.NameTemplate, s.SaveCAC, s.SaveMaster = x.NameTemplate, x.SaveCAC, x.SaveMaster
	return s
}
