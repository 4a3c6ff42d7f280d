package check

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"countersign/internal/agent"
	"countersign/ui/officetest"
)

func TestSettingsAreJudgedByField(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*agent.Settings)
		wrong  []string
	}{
		"complete":                  {func(*agent.Settings) {}, nil},
		"plain http":                {func(s *agent.Settings) { s.AuthURL = "http://sign.example.com" }, []string{AuthURL}},
		"http on this computer":     {func(s *agent.Settings) { s.AuthURL, s.BaseURL = "http://127.0.0.1:80", "http://localhost" }, nil},
		"no client":                 {func(s *agent.Settings) { s.ClientID = "" }, []string{ClientID}},
		"no scopes":                 {func(s *agent.Settings) { s.Scopes = nil }, []string{Scopes}},
		"a header with a space":     {func(s *agent.Settings) { s.SignatureHeader = "X Sig" }, []string{Header}},
		"domain with a path":        {func(s *agent.Settings) { s.NgrokDomain = "a.app/x" }, []string{NgrokDomain}},
		"the account's own domain":  {func(s *agent.Settings) { s.NgrokDomain = "" }, nil},
		"other server without port": {func(s *agent.Settings) { s.NgrokConnectURL = "host" }, []string{NgrokConnect}},
		"external, empty":           {func(s *agent.Settings) { s.Tunnel = agent.TunnelExternal }, []string{Listen, PublicURL}},
		"external": {func(s *agent.Settings) {
			s.Tunnel, s.PublicURL, s.Listen = agent.TunnelExternal, "https://sign.office.ch/e", ":8080"
		}, nil},
		"none, back through it":     {func(s *agent.Settings) { s.Tunnel = agent.TunnelNone }, []string{Redirect}},
		"none, pasted from nowhere": {func(s *agent.Settings) { s.Tunnel, s.Redirect = agent.TunnelNone, agent.RedirectPaste }, []string{RedirectURI}},
		"none, back to localhost":   {func(s *agent.Settings) { s.Tunnel, s.Redirect = agent.TunnelNone, agent.RedirectLocalhost }, nil},
		"no folder":                 {func(s *agent.Settings) { s.SaveTo = "" }, []string{SaveTo}},
		"relative folder":           {func(s *agent.Settings) { s.SaveTo = "Signed" }, []string{SaveTo}},
		"no name":                   {func(s *agent.Settings) { s.NameTemplate = " " }, []string{Template}},
		"quiet hours":               {func(s *agent.Settings) { s.QuietFrom, s.QuietTo = "22:00", "7:00" }, nil},
		"quiet without an end":      {func(s *agent.Settings) { s.QuietFrom = "22:00" }, []string{QuietTo}},
		"a day too few":             {func(s *agent.Settings) { s.KeepEvents = -1 }, []string{KeepEvents}},
		"ten years":                 {func(s *agent.Settings) { s.KeepEvents = 3650 }, nil},
		"a day too many":            {func(s *agent.Settings) { s.KeepEvents = 3651 }, []string{KeepEvents}},
		"quiet from ten":            {func(s *agent.Settings) { s.QuietFrom, s.QuietTo = "ten", "07:00" }, []string{QuietFrom}},
	} {
		t.Run(name, func(t *testing.T) {
			s := officetest.Settings()
			s.SaveTo = filepath.Join(t.TempDir(), "Signed")
			c.change(&s)
			if got := slices.Sorted(maps.Keys(Settings(s))); !slices.Equal(got, c.wrong) {
				t.Errorf("wrong are %v, want %v", got, c.wrong)
			}
			if fields := s.Check(); len(c.wrong) == 0 && len(fields) > 0 {
				t.Errorf("the agent says otherwise: %v", fields)
			}
		})
	}
}

func TestAFolderIsMadeAndTried(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	if err := Folder(path); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	file := filepath.Join(path, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Folder(file); err == nil {
		t.Error("a file is no folder")
	}
}
