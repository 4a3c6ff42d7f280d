package demo

import (
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/assets"
	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/seal"
	"countersign/internal/trytest"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"go.uber.org/goleak"
)

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// The demo is a complete run: packages are sent, signed and come back as PDFs, and people are notified once of each fact.
func TestDemoSavesEveryDocumentAndTellsOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	api.DisableConfigDir()
	folder := t.TempDir()
	var mu sync.Mutex
	told := map[string]int{}
	var steps []string
	d, err := Start(t.Context(), Options{
		Folder: folder, Version: "test",
		Notify: func(n office.Notice) error {
			mu.Lock()
			defer mu.Unlock()
			told[n.Title+" "+n.Body]++
			return nil
		},
		Step: func(a office.Activity) {
			mu.Lock()
			defer mu.Unlock()
			steps = append(steps, a.Text.String())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Play(t.Context())
	status, statusErr := d.Agent.Status()
	if err := errors.Join(statusErr, d.Close()); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatalf("%v\n%s\nhealth: %+v", err, strings.Join(steps, "\n"), status.Health)
	}
	t.Log(strings.Join(steps, "\n"))
	for fact, n := range told {
		expect(t, n, 1, "told %d times: %s", fact)
	}
	// For each of two packages: one notification when the first of two people has signed, one when everyone has, with the
	// files.
	expect(t, len(told), 4, "%d notifications, want 4: %v", told)
	// Each document has an executed PDF and a certificate, each package a master file.
	files := pdfs(t, folder)
	expect(t, len(files), 8, "%d files, want 8: %v", files)
	for _, f := range files {
		if err := api.ValidateFile(f, nil); err != nil {
			t.Errorf("%s is no valid PDF: %v", f, err)
		}
		if s := sealOf(t, f, d.Service.SealRoot()); s.State != office.SealIntact || s.Stamped == "" {
			t.Errorf("the seal of %s: %+v", f, s)
		}
	}
	if status.Packages.Saved != 2 || status.Saves.Done != 8 || status.Events.Problems != 0 || len(status.Health) != 0 {
		t.Errorf("status: %+v", status)
	}
	if _, err := os.Stat(d.state); !os.IsNotExist(err) {
		t.Errorf("the demo's state is still in %s", d.state)
	}
}

func sealOf(t *testing.T, path string, root *x509.Certificate) office.Seal {
	t.Helper()
	file := must(os.Open(path))
	defer file.Close()
	info := must(file.Stat())
	found := must(seal.Examine(file, info.Size()))
	return seal.Judge(found, seal.Trust{Roots: x509.NewCertPool(), Pinned: []*x509.Certificate{root}, Now: time.Now()})
}

func pdfs(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestADemoThatCannotStartSaysSo(t *testing.T) {
	t.Chdir(t.TempDir())
	temp := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP"} { // on Unix and Windows
		t.Setenv(name, temp)
	}
	d, err := Start(t.Context(), Options{Folder: "a folder that is not named in full"})
	if d != nil || err == nil {
		t.Fatalf("%v, %v", d, err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Folder: file}); agent.Message(err) != message.FolderNotMade() {
		t.Errorf("in a file: %v", err)
	}
}

func TestTheDemoHasAFolderThatSendsAndLeavesWhatPeoplePutThere(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, used := range []bool{false, true} {
		t.Setenv("TMPDIR", t.TempDir())
		t.Setenv("TMP", os.Getenv("TMPDIR")) // Windows
		d := must(Start(t.Context(), Options{Folder: t.TempDir(), Version: "test", ByHand: true}))
		folders, err := d.Agent.HotFolders()
		if err != nil || len(folders) != 1 || folders[0].Called() != sendFolder {
			t.Fatalf("%+v, %v", folders, err)
		}
		if used {
			noErr(t, os.CopyFS(folders[0].Path, assets.Samples()))
			err := d.waitFor(t.Context(), func() (bool, error) {
				lines, err := d.Agent.Lines()
				return len(lines) == 3, err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		err = d.Close()
		left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*"))
		if want := map[bool]int{true: 1}[used]; err != nil || len(left) != want {
			t.Errorf("used %v: left %q, %v", used, left, err)
		}
		if used && len(pdfs(t, folders[0].Path)) != 3 {
			t.Errorf("of three documents %q are left", pdfs(t, folders[0].Path))
		}
	}
}
