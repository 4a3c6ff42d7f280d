package transfer

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"countersign/internal/office"
)

func theOffice() Shared {
	s := office.DefaultSettings()
	s.AuthURL, s.BaseURL, s.ClientID = "https://sign.example.com", "https://sign.example.com/api/v1", "office"
	s.Tunnel, s.Redirect = office.TunnelNone, office.RedirectLocalhost
	s.SaveTo, s.NgrokCA, s.Theme = "/home/admin/Signed", "/home/admin/ca.pem", "dark"
	return Shared{Settings: s}
}

func TestAnOfficeFileCarriesTheOfficeAndNotTheComputer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Office.countersign")
	o := theOffice()
	noErr(t, WriteShared(path, o))
	got, err := ReadShared(path)
	if err != nil || got.ClientSecret != "" {
		t.Fatal(got, err)
	}
	own := office.DefaultSettings()
	own.SaveTo, own.Language = "/home/ana/Signed", "de"
	s := got.Into(own)
	if s.AuthURL != o.Settings.AuthURL || s.ClientID != "office" || s.Tunnel != office.TunnelNone || s.Redirect != office.RedirectLocalhost {
		t.Errorf("got %+v", s)
	}
	if s.SaveTo != own.SaveTo || s.NgrokCA != "" || s.Theme != "" || s.Language != "de" {
		t.Errorf("the file chose what is this computer's: %+v", s)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("others can read it: %v", info.Mode())
	}
	if err := WriteShared(path, o); err == nil || !strings.Contains(said(err).String(), "already") {
		t.Errorf("written over a file: %v", err)
	}
	o.ClientSecret = "s3cret"
	path += office.OwnEnding
	noErr(t, WriteShared(path, o))
	if got, err := ReadShared(path); err != nil || got.ClientSecret != "s3cret" {
		t.Errorf("got %q, %v", got.ClientSecret, err)
	}
	o.Settings.AuthURL = "http://sign.example.com"
	var config *office.ConfigError
	if err := WriteShared(path+office.OwnEnding, o); !errors.As(err, &config) {
		t.Errorf("wrote what nobody can use: %v", err)
	}
}

func TestWhatIsNoOfficeFileIsRefusedInASentence(t *testing.T) {
	good := `{"format":"countersign office","version":1,"settings":{"auth_url":"https://sign.example.com","base_url":"https://sign.example.com"}}`
	with := func(from, to string) string {
		t.Helper()
		if !strings.Contains(good, from) {
			t.Fatal(from)
		}
		return strings.Replace(good, from, to, 1)
	}
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, says string }{
		"good":             {good, ""},
		"with a mark":      {"\ufeff" + good, ""},
		"of the future":    {with(`"version":1`, `"version":1,"more":{"x":[1]}`), ""},
		"empty":            {"", "was not made by Countersign"},
		"a document":       {"%PDF-1.7", "was not made by Countersign"},
		"other JSON":       {`{"format":"recipe","version":1}`, "was not made by Countersign"},
		"no version":       {with(`"version":1`, `"version":0`), "was not made by Countersign"},
		"newer":            {with(`"version":1`, `"version":2`), "newer version"},
		"huge":             {with(`"version":1`, `"version":1,"x":"`+strings.Repeat("x", maxShared)+`"`), "was not made by Countersign"},
		"deep":             {strings.Repeat("[", maxShared), "was not made by Countersign"},
		"other types":      {with(`"https://sign.example.com"`, `7`), "was not made by Countersign"},
		"no address":       {with(`"auth_url":"https://sign.example.com",`, ``), "sign-in address"},
		"no https":         {with(`"https://sign.example.com"`, `"http://sign.example.com"`), "sign-in address"},
		"a password":       {with(`"https://sign.example.com"`, `"https://ana:s3cr3t@sign.example.com"`), "sign-in address"},
		"a program":        {with(`"https://sign.example.com"`, `"file:///bin/sh"`), "sign-in address"},
		"the demo's":       {with(`"settings":{`, `"settings":{"tunnel":"loopback",`), "public address"},
		"a way out":        {with(`"settings":{`, `"settings":{"name_template":"../{document}",`), "cannot be used"},
		"a folder":         {with(`"settings":{`, `"settings":{"save_to":"/etc","ngrok_ca":"/etc/passwd","ngrok_connect_url":"x:1",`), ""},
		"a header of sort": {with(`"settings":{`, `"settings":{"signature_header":"X: y",`), "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "x.countersign")
			noErr(t, os.WriteFile(path, []byte(c.text), 0o600))
			o, err := ReadShared(path)
			text := said(err).String()
			if (c.says == "") != (err == nil) || !strings.Contains(text, c.says) || strings.Contains(text, "s3cr3t") {
				t.Errorf("said %q", text)
			}
			if s := o.Into(office.Settings{SaveSettings: office.SaveSettings{SaveTo: "/home/ana"}}); err == nil && (s.SaveTo != "/home/ana" || s.NgrokCA != "" || s.NgrokConnectURL != "") {
				t.Errorf("the file chose what is this computer's: %+v", s)
			}
		})
	}
	for _, path := range []string{dir, filepath.Join(dir, "none.countersign"), os.DevNull} {
		if _, err := ReadShared(path); err == nil || !strings.Contains(said(err).String(), "could not be read") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
