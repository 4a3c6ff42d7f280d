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

func TestWhatIsWrongWithASettingIsToldAndNotKept(t *testing.T) {
	a, folder := openWith(t, Params{}), t.TempDir()
	for _, c := range settingstest.Cases(folder) {
		t.Run(c.Name(), func(t *testing.T) {
			s := c.With(folder)
			var config *ConfigError
			err := a.Configure(t.Context(), s, office.Secrets{})
			if c.Wrong() {
				if !errors.As(err, &config) || found(config.Fields, c.Field) != found(s.Check(), c.Field) {
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
			if err != nil {
				t.Errorf("kept and then refused: %v", err)
			}
		})
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
	usual := must(locations.Default())
	a, dir := openWith(t, Params{}), t.TempDir()
	s := settingstest.Case{}.Settings(filepath.Join(dir, "a", "b"))
	noErr(t, a.Configure(t.Context(), s, office.Secrets{}))
	if left, err := os.ReadDir(s.SaveTo); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	wrong := s
	var config *ConfigError
	for _, within := range []string{usual, filepath.Join(usual, "Signed"), a.p.DataDir, locations.Outbox(a.p.DataDir)} {
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
