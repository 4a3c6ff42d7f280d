package settings

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"fyne.io/fyne/v2/test"

	"countersign/internal/agent"
	"countersign/ui/officetest"
)

func TestSettingsAreJudgedByField(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*agent.Settings)
		wrong  []string
	}{
		"complete":                  {func(*agent.Settings) {}, nil},
		"plain http":                {func(s *agent.Settings) { s.AuthURL = "http://sign.example.com" }, []string{fieldAuth}},
		"http on this computer":     {func(s *agent.Settings) { s.AuthURL, s.BaseURL = "http://127.0.0.1:80", "http://localhost" }, nil},
		"no client":                 {func(s *agent.Settings) { s.ClientID = "" }, []string{fieldClient}},
		"no scopes":                 {func(s *agent.Settings) { s.Scopes = nil }, []string{fieldScopes}},
		"a header with a space":     {func(s *agent.Settings) { s.SignatureHeader = "X Sig" }, []string{fieldHeader}},
		"domain with a path":        {func(s *agent.Settings) { s.NgrokDomain = "a.app/x" }, []string{fieldDomain}},
		"other server without port": {func(s *agent.Settings) { s.NgrokConnectURL = "host" }, []string{fieldConnect}},
		"external, empty":           {func(s *agent.Settings) { s.Tunnel = agent.TunnelExternal }, []string{fieldListen, fieldPublic}},
		"external": {func(s *agent.Settings) {
			s.Tunnel, s.PublicURL, s.Listen = agent.TunnelExternal, "https://sign.office.ch/e", ":8080"
		}, nil},
		"external, domain ignored": {func(s *agent.Settings) {
			s.Tunnel, s.PublicURL, s.Listen, s.NgrokDomain = agent.TunnelNone, "", "", ""
		}, nil},
		"no folder":       {func(s *agent.Settings) { s.SaveTo = "" }, []string{fieldFolder}},
		"relative folder": {func(s *agent.Settings) { s.SaveTo = "Signed" }, []string{fieldFolder}},
		"no name":         {func(s *agent.Settings) { s.NameTemplate = " " }, []string{fieldTemplate}},
	} {
		t.Run(name, func(t *testing.T) {
			s := officetest.Settings()
			s.SaveTo = filepath.Join(t.TempDir(), "Signed")
			c.change(&s)
			if got := slices.Sorted(maps.Keys(check(s))); !slices.Equal(got, c.wrong) {
				t.Errorf("wrong are %v, want %v", got, c.wrong)
			}
		})
	}
}

func TestTheFormGivesBackWhatItWasShown(t *testing.T) {
	test.NewTempApp(t)
	s := officetest.Settings()
	s.RedirectURI, s.NgrokConnectURL, s.NgrokCA, s.PublicURL, s.Listen = "https://a.ch/b", "h:1", "/ca.pem", "https://c.ch", "h:2"
	s.SaveCAC, s.Redirect, s.Tunnel = true, agent.RedirectPaste, agent.TunnelExternal
	f := newForm(func() {}, func() {})
	f.show(s)
	if got := f.settings(s); !reflect.DeepEqual(got, s) {
		t.Errorf("got %+v, want %+v", got, s)
	}
	unknown := s
	unknown.Tunnel = "carrier pigeon" // of a later version: kept until something else is chosen
	f.show(unknown)
	if got := f.settings(unknown); got.Tunnel != unknown.Tunnel {
		t.Errorf("got %q", got.Tunnel)
	}
}
