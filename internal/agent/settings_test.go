package agent

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/settingstest"
)

// found is the finding for a field.
func found(all []office.FieldError, field string) (f office.FieldError) {
	if i := slices.IndexFunc(all, func(f office.FieldError) bool { return f.Field == field }); i >= 0 {
		f = all[i]
	}
	return f
}

func TestEverySettingIsJudgedOnce(t *testing.T) {
	a, folder := openWith(t, Params{}), t.TempDir()
	judged := map[string]bool{}
	for _, c := range settingstest.Cases(folder) {
		judged[c.Field] = true
		t.Run(c.Name(), func(t *testing.T) {
			s := c.With(folder)
			f := found(s.Check(), c.Field)
			if f.Code != c.Code || c.Wrong() == f.Text.IsZero() {
				t.Fatalf("found %+v, want %q", f, c.Code)
			}
			var config *ConfigError
			err := a.Configure(t.Context(), s, office.Secrets{})
			if c.Wrong() {
				if !errors.As(err, &config) || found(config.Fields, c.Field) != f {
					t.Errorf("Configure says %v", err)
				}
				if strings.Contains(Message(err).String(), settingstest.Secret) {
					t.Errorf("a password is repeated: %s", Message(err).String())
				}
				return
			}
			if err != nil || c.Is(a.Settings()) != c.Kept {
				t.Errorf("%v, kept is %q, want %q", err, c.Is(a.Settings()), c.Kept)
			}
			// What is accepted here is accepted by those it is handed to.
			k := a.Settings()
			err = esign.Config{AuthURL: k.AuthURL, BaseURL: k.BaseURL, ClientID: k.ClientID, Scopes: k.Scopes}.Validate()
			if err != nil || !slices.Equal(k.Check(), nil) {
				t.Errorf("kept and then refused: %v %v", err, k.Check())
			}
			if again := k.Normal(); c.Is(again) != c.Kept {
				t.Errorf("written differently the second time: %q", c.Is(again))
			}
		})
	}
	for field := range judgeable {
		if !judged[field] {
			t.Errorf("no case for %s", field)
		}
	}
}

// judgeable are all fields but those of secrets and of what can only be on or off.
var judgeable = map[string]bool{
	office.FieldAuthURL: true, office.FieldBaseURL: true, office.FieldClientID: true, office.FieldScopes: true, office.FieldHeader: true,
	office.FieldRedirect: true, office.FieldRedirectURI: true, office.FieldTunnel: true, office.FieldNgrokDomain: true,
	office.FieldNgrokConnect: true, office.FieldNgrokCA: true, office.FieldPublicURL: true, office.FieldListen: true, office.FieldSaveTo: true,
	office.FieldTemplate: true, office.FieldNotify: true, office.FieldQuietFrom: true, office.FieldKeepEvents: true,
	office.FieldTheme: true, office.FieldLanguage: true,
	office.FieldContrast: true, office.FieldTextSize: true, office.FieldMotion: true,
}

func TestQuietHoursAreTwoTimes(t *testing.T) {
	c := settingstest.Case{}
	for _, x := range []struct {
		from, to, kept string
		field          string
		code           office.Code
	}{
		{"22:00", "7:00", "22:00 07:00", "", ""},
		{"22:00", "", "", office.FieldQuietTo, office.CodeMissing},
		{"", "7:00", "", office.FieldQuietFrom, office.CodeMissing},
		{"ten", "07:00", "", office.FieldQuietFrom, office.CodeForm},
	} {
		s := c.Settings(t.TempDir())
		s.QuietFrom, s.QuietTo = x.from, x.to
		bad := s.Check()
		if len(bad) > 1 || found(bad, x.field).Code != x.code {
			t.Errorf("%q to %q: %+v", x.from, x.to, bad)
		}
		if n := s.Normal(); x.code == "" && n.QuietFrom+" "+n.QuietTo != x.kept {
			t.Errorf("kept as %q to %q", n.QuietFrom, n.QuietTo)
		}
	}
}

func TestSecretsArePastedWithALineEnd(t *testing.T) {
	a := openWith(t, Params{})
	s := settingstest.Case{}.Settings(t.TempDir())
	noErr(t, a.Configure(t.Context(), s, office.Secrets{ClientSecret: " s3cret\r\n", NgrokAuthtoken: "t0ken\n"}))
	err := a.Configure(t.Context(), s, office.Secrets{ClientSecret: "s3\ncret", NgrokAuthtoken: "t0\x00ken"})
	var config *ConfigError
	if !errors.As(err, &config) || found(config.Fields, office.FieldClientSecret).Code != office.CodeCharacters ||
		found(config.Fields, office.FieldNgrokToken).Code != office.CodeCharacters {
		t.Errorf("said: %v", err)
	}
	if err != nil && (strings.Contains(err.Error(), "s3") || strings.Contains(err.Error(), "t0")) {
		t.Errorf("a secret is repeated: %v", err)
	}
}

func TestANewFolderIsMadeAndTried(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData", "LocalAppData"} {
		t.Setenv(name, home)
	}
	usual, err := locations.Default()
	noErr(t, err)
	a, dir := openWith(t, Params{}), t.TempDir()
	s := settingstest.Case{}.Settings(filepath.Join(dir, "a", "b"))
	noErr(t, a.Configure(t.Context(), s, office.Secrets{}))
	if left, err := os.ReadDir(s.SaveTo); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	file := filepath.Join(dir, "file")
	noErr(t, os.WriteFile(file, nil, 0o600))
	wrong := s
	wrong.SaveTo = filepath.Join(file, "c")
	var config *ConfigError
	if err := a.Configure(t.Context(), wrong, office.Secrets{}); !errors.As(err, &config) || config.Fields[0].Code != office.CodeNotMade {
		t.Errorf("said: %v", err)
	}
	for _, within := range []string{usual, filepath.Join(usual, "Signed")} {
		wrong.SaveTo = within
		if err := a.Configure(t.Context(), wrong, office.Secrets{}); !errors.As(err, &config) || config.Fields[0].Text != message.FolderHoldsData() {
			t.Errorf("beside the program's own data: %v", err)
		}
	}
	// A drive that is away for a while keeps nobody from changing something else.
	noErr(t, os.RemoveAll(filepath.Join(dir, "a")))
	s.Notify = office.NotifyNone
	noErr(t, a.Configure(t.Context(), s, office.Secrets{}))
	if _, err := os.Stat(s.SaveTo); err == nil {
		t.Error("a folder that is away was made anew")
	}
}
