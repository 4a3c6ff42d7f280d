package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/single"
)

func TestForgetLeavesTheDocumentsAndNothingElse(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a person's folders cannot be chosen there; make test-shipping has the installed program do it")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
	data := must(locations.Default())
	cache := must(os.UserCacheDir())
	signed := filepath.Join(home, "Signed", "Lease.pdf")
	gone := []string{data, filepath.Join(cache, "countersign")}
	for _, file := range []string{locations.State(data), filepath.Join(data, "backups", "today"),
		filepath.Join(cache, "countersign", "preview", "y"), signed} {
		noErr(t, os.MkdirAll(filepath.Dir(file), 0o700))
		noErr(t, os.WriteFile(file, []byte("x"), 0o600))
	}
	asked := 0
	forget := func(args ...string) (int, string) {
		var said bytes.Buffer
		code := Main(append([]string{"forget"}, args...), Program{Version: "1.2.3", Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said,
			Forget: func() error { asked++; return nil }})
		return code, said.String()
	}
	if code, said := forget(); code != exitUsage {
		t.Errorf("without a word about what is lost: %d, %s", code, said)
	}
	if code, said := forget("--everything", "--data", data); code != exitUsage {
		t.Errorf("of another folder: %d, %s", code, said)
	}
	holder := must(single.Acquire(data))
	go holder.Serve(nil)
	if code, said := forget("--everything"); code != exitFailed || !strings.Contains(said, message.Running().String()) || asked > 0 {
		t.Errorf("while it runs: %d, %s", code, said)
	}
	noErr(t, holder.Close())
	for range 2 { // the second time there is nothing left
		if code, said := forget("--everything"); code != exitDone {
			t.Errorf("%d, %s", code, said)
		}
	}
	for _, path := range gone {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Lstat(signed); err != nil || asked != 2 {
		t.Errorf("the document: %v; the window was asked %d times", err, asked)
	}
}

func TestAKeyThatTheKeyringKeepsIsForgottenTheNextTime(t *testing.T) {
	data := filepath.Join(t.TempDir(), "countersign")
	noErr(t, os.Mkdir(data, 0o700))
	name := must(locations.Entry(data)) // a new office's own name, recorded only there
	noErr(t, os.WriteFile(locations.State(data), []byte("x"), 0o600))
	noErr(t, os.WriteFile(locations.Backup(data), []byte("x"), 0o600))
	locked := errors.New("the keyring is locked")
	var asked []string
	if err := forgetData(data, func(key string) error { asked = append(asked, key); return locked }); !errors.Is(err, locked) || errors.Is(err, errStays) {
		t.Fatal(err)
	}
	if locations.Holds(data) || !slices.Contains(asked, name) {
		t.Fatalf("the data stays, or its key is not meant: %q", asked)
	}
	asked = nil
	noErr(t, forgetData(data, func(key string) error { asked = append(asked, key); return nil }))
	if !slices.Contains(asked, name) {
		t.Errorf("the key stays for ever: only %q were forgotten", asked)
	}
	if _, err := os.Lstat(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder stays: %v", err)
	}
}

func TestTheCacheIsRemovedUnlessItIsTheDataFolderAsOnWindows(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a person's folders cannot be chosen there")
	}
	base := t.TempDir()
	t.Setenv("HOME", base)
	t.Setenv("XDG_CACHE_HOME", base)
	cache := must(os.UserCacheDir())
	folder := filepath.Join(cache, "countersign")
	noErr(t, os.MkdirAll(folder, 0o700))
	noErr(t, forgetCache(folder))
	if _, err := os.Stat(folder); err != nil {
		t.Errorf("the data folder is gone, and with it the name of its key: %v", err)
	}
	noErr(t, forgetCache(t.TempDir()))
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cache stays: %v", err)
	}
}

func TestAPressThatStartsTheProgramOpensTheWindow(t *testing.T) {
	if args := pressed([]string{"-Embedding"}); len(args) > 0 {
		t.Errorf("%q", args)
	}
	if args := pressed([]string{"--data", `D:\office`, "-Embedding"}); len(args) != 2 {
		t.Errorf("%q", args)
	}
	for _, args := range [][]string{{"Embedding"}, {"send", "-Embedding"}, {}} {
		if left := pressed(args); len(left) != len(args) {
			t.Errorf("of %q is left %q", args, left)
		}
	}
}
