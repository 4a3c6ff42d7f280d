package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/internal/e2e/smalldisk"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

func TestFullAndReadOnlyDisks(t *testing.T) {
	dir := smalldisk.Dir(t)
	if dir == "" {
		return
	}
	t.Run("the folder", func(t *testing.T) { fullFolder(t, mount(t, dir, "folder", "2m")) })
	t.Run("a read-only folder", func(t *testing.T) { readOnlyFolder(t, mount(t, dir, "read-only", "2m")) })
	t.Run("the data", func(t *testing.T) { fullData(t, mount(t, dir, "data", "8m")) })
}

func mount(t *testing.T, dir, name, size string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	noErr(t, os.Mkdir(path, 0o700))
	smalldisk.Mount(t, path, size)
	return path
}

func fullFolder(t *testing.T, dir string) {
	o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) { s.SaveTo = dir })
	id := o.send()
	filler := smalldisk.Fill(t, dir)
	signAll(o, id)
	o.eventually("people are told", func() bool { return o.says("folder", "is full. 1 file is waiting") })
	asked := calls(o.service, "GET /packages/{packageId}/documents/{documentId}/pdf/executed/download")
	if asked > 20 {
		t.Errorf("asked %d times", asked)
	}
	noErr(t, os.Remove(filler))
	o.eventually("saved", func() bool { return saved(o, id) && o.issue("folder") == nil })
}

func readOnlyFolder(t *testing.T, dir string) {
	o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) { s.SaveTo = dir })
	id := o.send()
	smalldisk.ReadOnly(t, dir, true)
	signAll(o, id)
	o.eventually("people are told", func() bool { return o.says("folder", "not allowed to save") })
	smalldisk.ReadOnly(t, dir, false)
	o.eventually("saved", func() bool { return saved(o, id) && o.issue("folder") == nil })
}

func fullData(t *testing.T, dir string) {
	folder := t.TempDir()
	o := newOfficeWith(t, quick, sandbox.Options{RetryMax: 100 * time.Millisecond}, func(s *office.Settings) { s.SaveTo = folder })
	o.stop()
	moved := filepath.Join(dir, "office")
	noErr(t, os.CopyFS(moved, os.DirFS(o.data)))
	o.data = moved
	o.open()
	o.run()
	id := o.send()
	filler := smalldisk.Fill(t, dir)
	signAll(o, id)
	// Small commits may still fit into the file as it is; larger ones do not.
	for i := 0; ; i++ {
		if issue := o.issue("data"); issue != nil {
			if !strings.Contains(issue.Text(), "is full") {
				t.Errorf("health: %s", issue.Text())
			}
			break
		}
		if i > 2000 {
			t.Fatal("the disk is never full")
		}
		o.service.Forge(t.Context(), sandbox.Forgery{Action: "document_executed", Fields: map[string]any{"padding": strings.Repeat("x", 20_000)}})
	}
	noErr(t, os.Remove(filler))
	o.eventually("everything continues", func() bool {
		return saved(o, id) && o.issue("data") == nil && o.Status().Events.Pending == 0
	})
	sent, err := o.service.Deliveries()
	noErr(t, err)
	var ours int
	for _, d := range sent {
		if d.PackageID == id {
			ours++
		}
	}
	o.eventually("every event of the package was stored", func() bool {
		list, _, _ := o.Events("", 5000)
		n := 0
		for _, e := range list {
			if e.PackageID == id {
				n++
			}
		}
		return n == ours
	})
	o.stop()
}
