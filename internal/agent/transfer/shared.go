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

// Shared is what an administrator hands to an office's people so that they need not type it: settings that belong to the office
// rather than to one computer. It contains no folder, path or other ngrok server: nothing from outside takes effect before it has
// been shown. The file is plain JSON, which administrators also make with their own tools.
type Shared struct {
	Settings     office.Settings
	ClientSecret string // empty unless the administrator included it
	DeskKey      string // key of the invited desk; empty except in an invitation
}

const (
	sharedFormat  = "countersign office"
	sharedVersion = 1
	maxShared     = 64 << 10 // bytes; real files have less than 1 KiB
)

// sharedForm is the file as JSON. Within a version, fields may be added but keep their meaning.
type sharedForm struct {
	Format       string          `json:"format"`
	Version      int             `json:"version"`
	Settings     office.Settings `json:"settings"` // what Into makes of empty settings
	ClientSecret string          `json:"client_secret,omitempty"`
	DeskKey      string          `json:"desk_key,omitempty"`
}

// IsShared reports whether a file's name is that of a settings file.
func IsShared(path string) bool { return strings.EqualFold(filepath.Ext(path), office.OwnEnding) }

// EncodeShared returns the contents of such a file.
func EncodeShared(o Shared) ([]byte, error) {
	if bad := o.check(); len(bad) > 0 {
		return nil, &office.ConfigError{Fields: bad}
	}
	b, err := json.MarshalIndent(sharedForm{sharedFormat, sharedVersion, Shared{Settings: o.Settings.Normal()}.Into(office.Settings{}), o.ClientSecret, o.DeskKey}, "", "  ")
	return append(b, '\n'), err
}

// WriteShared writes a new file that only its owner may read. It never replaces a file.
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

// ReadShared reads such a file and validates it like typed input. If it is invalid, the error is a message.Error.
func ReadShared(path string) (Shared, error) {
	name := filepath.Base(path)
	b, err := readShared(path)
	if err != nil {
		return Shared{}, message.Error(message.OfficeFileNotRead(name), nil)
	}
	return DecodeShared(name, b)
}

// DecodeShared validates the contents of such a file.
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

// readShared reads slightly more than the limit, to detect a file that is too large.
func readShared(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxShared+1))
	return bytes.TrimPrefix(b, []byte("\ufeff")), err
}

// check returns what is wrong with the file, ignoring what it leaves to each computer and person.
func (o Shared) check() (bad []office.FieldError) {
	bad = append(bad, office.Secrets{ClientSecret: o.ClientSecret, DeskKey: o.DeskKey}.Normal().Check()...)
	s := o.Settings.Normal()
	if s.Tunnel == office.TunnelLoopback { // only for the demo
		bad = append(bad, office.Finding(office.FieldTunnel, office.CodeChoice))
	}
	for _, f := range s.Check() {
		if f.Field != office.FieldSaveTo && (f.Field != office.FieldClientID || s.ClientID != "") {
			bad = append(bad, f)
		}
	}
	return bad
}

// Into returns s with the file's settings. Settings that are not part of such files stay.
func (o Shared) Into(s office.Settings) office.Settings {
	x := o.Settings
	if x.Tunnel == office.TunnelOffice && s.Tunnel == office.TunnelOffice && x.AuthURL == s.AuthURL && x.BaseURL == s.BaseURL && x.ClientID == s.ClientID {
		s.Office, s.OfficePin = x.Office, x.OfficePin // already a desk: the hub has changed, or has renewed the invitation
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
