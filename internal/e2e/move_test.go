//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

// TestAnOfficeMovesToAnotherComputer moves an office from one data folder to another, with an open package and the same
// public address.
func TestAnOfficeMovesToAnotherComputer(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	old := harness.UsualOffice(t, desk)
	old.More = []string{"COUNTERSIGN_PASSWORD=correct horse battery"}
	old.Ready()
	lease, offer := sendLease(old), sendOffer(old)
	old.Service.SignAll(lease.ID)
	old.Until("one package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	files := old.Files()

	file := filepath.Join(harness.ShortDir(t), "Office moving.countersign")
	old.Must("move", "--out", file, "--yes")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	old.Until("the old computer says so", func(s harness.Status) bool { return s.Issue("moved") != "" })
	if r := old.Command("send", harness.Sample(t, "Offer 2026-118"), "--to", "Ana Ruiz <ana.ruiz@example.com>"); r.Code != 1 {
		t.Errorf("the old computer sends: %+v", r)
	}

	now := harness.NewOffice(t, desk, old.Service, old.Front)
	now.More, now.Folder = old.More, old.Folder
	now.Serve()
	into := func(path string, more ...string) []string {
		return append([]string{"--in", path, "--save-to", now.Folder}, more...)
	}
	if r := now.Command("move", into(filepath.Join(old.Data, "office.json"), "--yes")...); r.Code != 1 || !strings.Contains(r.Stderr, "was not made by Countersign") {
		t.Errorf("%+v", r)
	}
	if r := now.Command("move", "--in", file, "--yes"); r.Code != 2 {
		t.Errorf("without a folder: %+v", r)
	}
	r := now.Command("move", into(file)...)
	_, host, _ := strings.Cut(old.Service.URL, "://")
	if r.Code != 1 || !strings.Contains(r.Stdout, host) || !strings.Contains(r.Stdout, old.Folder) || !strings.Contains(r.Stderr, "Nothing was brought over") || now.Status().Packages.Total != 0 {
		t.Errorf("nobody has agreed: %+v", r)
	}
	now.Must("move", into(file, "--yes")...)
	now.MustLogin()
	if s := now.Status(); !s.SignedIn || s.Packages.Total != 2 || s.Packages.Saved != 1 {
		t.Errorf("brought over: %+v", s)
	}
	now.Registered()
	old.Service.SignAll(offer.ID)
	now.Until("the new computer saves", func(s harness.Status) bool { return s.Packages.Saved == 2 })
	if s := old.Status(); s.Packages.Saved != 1 || s.Issue("moved") == "" {
		t.Errorf("the old computer works: %+v", s)
	}
	if more := len(now.Files()) - len(files); more != 3 { // the document, its certificate and the master file
		t.Errorf("%d files more than %q: %q", more, files, now.Files())
	}
	old.Running.Kill()
	old.Serve()
	if s := old.Status(); s.Issue("moved") == "" || s.Packages.Saved != 1 {
		t.Errorf("after a kill the old computer works: %+v", s)
	}
	now.Stop()
	old.Stop()
}
