//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

func TestAnAdministratorSetsTheOfficeUpForEverybody(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	rules := filepath.Join(harness.ShortDir(t), "policy.json")
	o.Build = harness.BuildWith(t, "-X countersign/internal/policy.place="+rules)
	decide := func(fixed map[string]any) {
		t.Helper()
		text, err := json.Marshal(map[string]any{"fixed": fixed})
		harness.Must(t, err)
		harness.Must(t, os.WriteFile(rules, text, 0o644))
	}
	decide(map[string]any{"save_to": o.Folder, "tunnel": "none", "redirect": "loopback", "auth_url": o.Service.URL, "base_url": o.Service.URL, "client_id": "countersign-demo"})
	// The program sets itself up.
	o.Serve()
	harness.Eventually(t, "the folder is there", func() bool { _, err := os.Stat(o.Folder); return err == nil })
	o.Until("nothing is missing but the sign-in", func(s harness.Status) bool { return s.Issue("setup") == "" && s.Issue("signin") != "" })
	if got := o.Command("setup", "--save-to", t.TempDir()); got.Code != 1 || !strings.Contains(got.Stderr, "The administrator of this computer has fixed the setting save_to.") {
		t.Errorf("another folder: %+v", got)
	}
	if got := o.Command("setup", "--due-days", "5"); got.Code != 0 {
		t.Errorf("what is not fixed: %+v", got)
	}
	o.Stop()
	harness.Must(t, os.WriteFile(rules, []byte("{"), 0o644))
	o.Serve()
	o.Until("what is wrong with it is said", func(s harness.Status) bool { return strings.Contains(s.Issue("policy"), "is not JSON") })
	o.Stop()
}
