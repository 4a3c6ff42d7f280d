package cli

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/cli/terminal"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/private"

	bolt "go.etcd.io/bbolt"
)

func TestTheDesktopOfSomebodyWhoNeverUsedItStartsNothing(t *testing.T) {
	s := newShell(t)
	if code, stdout, stderr := s.run("open", "--hidden", "--if-used"); code != 0 || stdout+stderr != "" {
		t.Errorf("it ended with %d and said %q", code, stdout+stderr)
	}
	if _, err := os.Lstat(s.data); err == nil {
		t.Error("it made a data folder")
	}
	s.setUp()
	if code, _, _ := s.run("open", "--hidden", "--if-used"); code == 0 { // fails here without a display
		t.Error("it does not start where it was set up")
	}
}

func TestNotificationsSpeakTheLanguageOfTheWindowAndEnglishWithoutOne(t *testing.T) {
	german := must(message.NewPrinter("de"))
	for _, c := range []struct {
		name     string
		words    func() *message.Printer
		windowed bool
		want     *message.Printer
	}{
		{"a window", func() *message.Printer { return german }, true, german},
		{"serve", func() *message.Printer { return german }, false, nil},
		{"a window that speaks nothing else", nil, true, nil},
	} {
		r := &run{program: Program{Words: c.words}, windowed: c.windowed}
		var got *message.Printer // with nil, the agent uses English
		if words := ofWindow(r, r.program.Words); words != nil {
			got = words()
		}
		if got != c.want {
			t.Errorf("%s: %p, want %p", c.name, got, c.want)
		}
	}
}

func TestWhateverHangsTheProgramEndsAndGivesTheFolderBack(t *testing.T) {
	wrong := errors.New("no")
	for name, c := range map[string]struct {
		window, office time.Duration // how long each takes to end
		err            error         // of closing the office
		exits          bool          // the process is exited
		code           int
		within         time.Duration
	}{
		"nothing hangs":             {window: 300 * time.Millisecond, office: 200 * time.Millisecond, within: 500 * time.Millisecond},
		"the office fails":          {office: time.Second, err: wrong, within: time.Second},
		"a window that is slow":     {window: 3 * time.Second, office: time.Second, within: 3 * time.Second},
		"an office that is slow":    {window: time.Second, office: 3 * time.Second, within: 4 * time.Second},
		"a window that hangs":       {window: time.Hour, office: time.Second, exits: true, code: exitDone, within: windowEnds + time.Second + windowLast},
		"an office that hangs":      {window: time.Second, office: time.Hour, exits: true, code: exitFailed, within: endsWithin},
		"both hang":                 {window: time.Hour, office: time.Hour, exits: true, code: exitFailed, within: endsWithin},
		"a hung window, then no":    {window: time.Hour, office: time.Second, err: wrong, exits: true, code: exitDone, within: windowEnds + time.Second + windowLast},
		"nobody was asked, it ends": {window: 0, office: time.Second, within: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shut, exited := 0, make(chan int, 1)
				e := newEnding(func() error { time.Sleep(c.office); shut++; return c.err }, slog.New(slog.DiscardHandler), terminal.New(io.Discard))
				e.exit = func(code int) { exited <- code }
				began := time.Now()
				ended := make(chan error, 1)
				go func() {
					if c.window > 0 {
						e.begin()
						e.begin() // the person and the system may both ask
						time.Sleep(c.window)
					}
					ended <- e.end()
				}()
				select {
				case code := <-exited:
					if !c.exits || code != c.code {
						t.Errorf("the process was ended with %d", code)
					}
					if code == exitDone && shut != 1 {
						t.Error("the folder was not given back before")
					}
				case err := <-ended:
					if c.exits || !errors.Is(err, c.err) || shut != 1 {
						t.Errorf("it ended by itself with %v, and was shut %d times", err, shut)
					}
				}
				if took := time.Since(began); took > c.within {
					t.Errorf("it took %v, want %v", took, c.within)
				}
				time.Sleep(3 * time.Hour) // so that everything hanging ends with the test
			})
		})
	}
}

func TestDataOfANewerVersionIsRefusedWithASentence(t *testing.T) {
	s := newShell(t)
	s.setUp()
	db, err := bolt.Open(filepath.Join(s.data, "state.db"), 0o600, nil)
	noErr(t, err)
	err = db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte("99")) })
	if err == nil {
		err = db.Close()
	}
	noErr(t, err)
	for _, command := range []string{"status", "serve", "logout"} {
		code, _, stderr := s.run(command)
		if code != exitFailed || !strings.Contains(stderr, "newer version") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: %d, %q", command, code, stderr)
		}
	}
	if aside, err := filepath.Glob(filepath.Join(s.data, "state.db.*")); err != nil || len(aside) > 0 {
		t.Errorf("set aside: %q, %v", aside, err)
	}
}

// A file that is handed to a service would never be looked at; and of an EU trusted list it learns more than a request may hold.
func TestAServiceWithoutAWindow(t *testing.T) {
	s := newShell(t)
	s.setUp()
	var served sync.WaitGroup
	served.Go(func() { s.run("serve") })
	defer served.Wait()
	defer s.run("quit")
	for code := -1; code != 0; code, _, _ = s.run("open", "--hidden") { // fails without a display until there is a service
		time.Sleep(20 * time.Millisecond)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	noErr(t, err)
	var list bytes.Buffer
	for n := range 200 {
		c := &x509.Certificate{SerialNumber: big.NewInt(int64(n)), Subject: pkix.Name{CommonName: strings.Repeat("Signing service ", 300)}, NotAfter: time.Now().AddDate(1, 0, 0)}
		noErr(t, pem.Encode(&list, &pem.Block{Type: "CERTIFICATE", Bytes: must(x509.CreateCertificate(rand.Reader, c, c, public, private))}))
	}
	file := filepath.Join(t.TempDir(), "list.pem")
	noErr(t, os.WriteFile(file, list.Bytes(), 0o600))
	if code, _, stderr := s.run("open", file); code != 1 || !strings.Contains(stderr, "without its window") {
		t.Errorf("open: %d %q", code, stderr)
	}
	if code, _, stderr := s.run("trust", file, "--yes"); code != 0 {
		t.Errorf("trust: %d %q", code, stderr)
	}
	if _, trusted, _ := s.run("trust"); strings.Count(trusted, "\n") != 200 {
		t.Errorf("trusted are %d", strings.Count(trusted, "\n"))
	}
}

func TestTheMapNamesAllThatLiesInTheDataFolder(t *testing.T) {
	s := newShell(t)
	s.setUp()
	known := locations.All(s.data)
	err := filepath.WalkDir(s.data, func(path string, _ fs.DirEntry, err error) error {
		if path != s.data && !slices.Contains(known, path) {
			t.Errorf("%s is on no map", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWhatLiesInTheDataFolderIsClosedToOthers(t *testing.T) {
	s := newShell(t)
	s.setUp()
	files := append(locations.All(s.data), s.data)
	for _, path := range files {
		if info, err := os.Lstat(path); err == nil && info.Mode().Type()&^fs.ModeDir == 0 {
			noErr(t, os.Chmod(path, info.Mode().Perm()|0o055))
		}
	}
	if code, _, stderr := s.run("status"); code != exitDone {
		t.Fatal(stderr)
	}
	for _, path := range files {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		noErr(t, err)
		if err := errors.Join(private.OpenToOthers(f), f.Close()); err != nil && !strings.HasSuffix(path, ".sock") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
