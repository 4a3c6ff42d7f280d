package secret

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// testKeeper checks what every Keeper promises; fresh opens the same empty place again each time.
func testKeeper(t *testing.T, fresh func() Keeper) {
	t.Helper()
	ctx := t.Context()
	if _, err := fresh().Load(ctx); !errors.Is(err, ErrAbsent) || errors.Is(err, ErrUnavailable) {
		t.Fatalf("Load of nothing = %v, want ErrAbsent", err)
	}
	k, err := fresh().Create(ctx)
	if err != nil || k == (Key{}) {
		t.Fatalf("Create: %v", err)
	}
	for range 2 {
		if got, err := fresh().Load(ctx); err != nil || got != k {
			t.Fatalf("Load = %s, %v; want %s", got.ID(), err, k.ID())
		}
		if _, err := fresh().Create(ctx); !errors.Is(err, ErrPresent) {
			t.Fatalf("second Create = %v, want ErrPresent", err)
		}
	}
}

func TestMemoryKeepsTheContract(t *testing.T) {
	m := Memory()
	testKeeper(t, func() Keeper { return m })
}

func TestFileKeepsTheContract(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "on", "the way", "key")
	testKeeper(t, func() Keeper { return File(path) })
	if runtime.GOOS == "windows" {
		return
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestOfManyCreatesOneKeyComesOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	var mu sync.Mutex
	var made []Key
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			k, err := File(path).Create(t.Context())
			if err != nil {
				if !errors.Is(err, ErrPresent) {
					t.Error(err)
				}
				return
			}
			mu.Lock()
			defer mu.Unlock()
			made = append(made, k)
		})
	}
	wg.Wait()
	got, err := File(path).Load(t.Context())
	if err != nil || len(made) != 1 || made[0] != got {
		t.Errorf("%d keys made, Load: %v", len(made), err)
	}
}

func TestAKeyFileThatIsNotOneIsUnavailableAndLeftAlone(t *testing.T) {
	good := newKey().text()
	cases := []struct {
		name, text string
		mode       os.FileMode
		want       Reason
	}{
		{"empty", "", 0o600, Malformed},
		{"other text", "correct horse battery staple", 0o600, Malformed},
		{"a short key", good[:40], 0o600, Malformed},
		{"two keys", good + good, 0o600, Malformed},
		{"zeros", strings.Repeat("0", 64), 0o600, Malformed},
		{"a big file", strings.Repeat("x", 1<<20), 0o600, Malformed},
		{"readable by the group", good, 0o640, TooOpen},
		{"readable by all", good, 0o604, TooOpen},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "key")
			noErr(t, os.WriteFile(path, []byte(c.text), 0o600))
			setRights(t, path, c.mode)
			_, loadErr := File(path).Load(t.Context())
			_, createErr := File(path).Create(t.Context())
			for _, err := range []error{loadErr, createErr} {
				var u *UnavailableError
				if !errors.As(err, &u) || u.Reason != c.want || !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrAbsent) {
					t.Errorf("%v, want %s", err, c.want)
					continue
				}
				if s := u.Message().String(); !strings.Contains(s, path) || strings.Contains(s, "\n") {
					t.Errorf("sentence %q", s)
				}
				if c.text != "" && strings.Contains(err.Error(), c.text) {
					t.Errorf("the error shows the file's content: %v", err)
				}
			}
			if left, _ := os.ReadFile(path); string(left) != c.text {
				t.Error("the file was changed")
			}
		})
	}
}

func TestAKeyFileThatCannotBeReachedIsNotAbsent(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "file")
	noErr(t, os.WriteFile(plain, nil, 0o600))
	dangling := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "unmounted", "key"), dangling); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a folder": dir, "a file for a folder": filepath.Join(plain, "key"), "a dangling link": dangling} {
		if runtime.GOOS == "windows" && name != "a folder" {
			continue
		}
		for _, err := range []error{second(File(path).Load(t.Context())), second(File(path).Create(t.Context()))} {
			if !errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: %v, want ErrUnavailable", name, err)
			}
		}
	}
}

func TestAKeyFileMadeByHandIsRead(t *testing.T) {
	k := newKey()
	for _, text := range []string{k.text(), k.text() + "\r\n", "  " + k.text() + "\n\n", strings.Repeat("aB", 32) + "\n"} {
		path := filepath.Join(t.TempDir(), "key")
		noErr(t, os.WriteFile(path, []byte(text), 0o400))
		setRights(t, path, 0o400)
		if _, err := File(path).Load(t.Context()); err != nil {
			t.Errorf("%d characters: %v", len(text), err)
		}
	}
}

func second(_ Key, err error) error { return err }
