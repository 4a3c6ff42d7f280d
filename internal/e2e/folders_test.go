//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

// TestAFolderSendsEachDocumentOnce drops documents into a folder while the program runs, while it is off, and while it is
// killed between each two of its steps.
func TestAFolderSendsEachDocumentOnce(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Setup()
	o.Serve()
	o.MustLogin()
	o.Registered()
	dir := filepath.Join(t.TempDir(), "Scans")
	o.Must("folders", "add", dir, "--to", ana, "--name", "Scan {document}")

	// Each has its own bytes: the same ones are a question for people.
	drop := func(name string) {
		t.Helper()
		b, err := os.ReadFile(harness.Sample(t, "Offer 2026-118"))
		harness.Must(t, err)
		harness.Must(t, os.WriteFile(filepath.Join(dir, name+".pdf"), append(b, []byte("\n%"+name+"\n%%EOF\n")...), 0o644))
	}
	there := func(place, part string) bool {
		list, err := os.ReadDir(filepath.Join(dir, place))
		return err == nil && slices.ContainsFunc(list, func(e os.DirEntry) bool { return strings.Contains(e.Name(), part) && !strings.HasPrefix(e.Name(), ".") })
	}
	back := func(name string) {
		t.Helper()
		harness.Eventually(t, name+" lies in Sent", func() bool { return there("Sent", name) })
		o.Service.SignAll(o.Service.Named("Scan " + name).ID)
		harness.Eventually(t, name+" comes back", func() bool { return there("Signed", name) })
	}
	names := []string{"Running", "Off"}
	drop("Running")
	back("Running")
	o.Stop()
	drop("Off")
	o.Serve()
	back("Off")
	for _, point := range []string{"folder recorded", "folder moved", "taken", "stored", "folder drafted", "added"} {
		name := "Killed at " + point
		names = append(names, name)
		o.Stop()
		o.More = []string{"COUNTERSIGN_CRASH_AT=" + point + ":1"}
		o.Running = o.Begin("serve")
		o.More = nil
		drop(name)
		if code := o.Running.Wait(); code != -1 {
			t.Errorf("at %s the program ended by itself, with %d: %s", point, code, o.Running.Stderr)
		}
		o.Serve()
		back(name)
	}
	drop("Killed at the end")
	names = append(names, "Killed at the end")
	harness.Eventually(t, "it lies in Sent", func() bool { return there("Sent", "Killed at the end") })
	o.Stop()
	o.More = []string{"COUNTERSIGN_CRASH_AT=folder returned:1"}
	o.Running = o.Begin("serve")
	o.More = nil
	o.Service.SignAll(o.Service.Named("Scan Killed at the end").ID)
	o.Running.Wait()
	o.Serve()
	harness.Eventually(t, "it comes back", func() bool { return there("Signed", "Killed at the end") })

	harness.Must(t, os.WriteFile(filepath.Join(dir, "film.mov"), []byte("film"), 0o644))
	harness.Eventually(t, "what cannot be sent is explained", func() bool { return there("Problems", "film.mov.txt") })
	sent := map[string]int{}
	for _, p := range o.Service.Packages() {
		sent[p.Name]++
	}
	for _, name := range names {
		if n := sent["Scan "+name]; n != 1 {
			t.Errorf("%s was sent %d times", name, n)
		}
	}
	signed, err := os.ReadDir(filepath.Join(dir, "Signed"))
	harness.Must(t, err)
	for _, e := range signed {
		if strings.Contains(e.Name(), "(2)") {
			t.Errorf("%s came back a second time", e.Name())
		}
	}
	o.Must("folders", "remove", dir)
	o.Stop()
}
