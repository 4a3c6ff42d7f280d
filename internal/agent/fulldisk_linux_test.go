package agent

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
	t.Run("the folder", func(t *testing.T) { fullFolder(t, mount(t, dir, "folder", "size=2m")) })
	t.Run("a read-only folder", func(t *testing.T) { readOnlyFolder(t, mount(t, dir, "read-only", "size=2m")) })
	t.Run("the data", func(t *testing.T) { fullData(t, mount(t, dir, "data", "size=8m")) })
}

func mount(t *testing.T, dir, name, size string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	noErr(t, os.Mkdir(path, 0o700))
	noErr(t, syscall.Mount("none", path, "tmpfs", 0, size))
	return path
}

// fill leaves next to nothing of the disk with dir, until the file it returns is removed.
func fill(t *testing.T, dir string) (file string) {
	t.Helper()
	file = filepath.Join(dir, "filler")
	f, err := os.Create(file)
	noErr(t, err)
	defer f.Close()
	for chunk := 64 << 10; chunk >= 4096; chunk /= 2 {
		for {
			if _, err := f.Write(make([]byte, chunk)); err != nil {
				break
			}
		}
	}
	return file
}

func fullFolder(t *testing.T, dir string) {
	o := newOfficeWith(t, quick, sandbox.Options{}, func(s *office.Settings) { s.SaveTo = dir })
	id := o.send()
	filler := fill(t, dir)
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
	noErr(t, syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	signAll(o, id)
	o.eventually("people are told", func() bool { return o.says("folder", "not allowed to save") })
	noErr(t, syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT, ""))
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
	filler := fill(t, dir)
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
