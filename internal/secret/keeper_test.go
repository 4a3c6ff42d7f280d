package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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

func box(t *testing.T, k Key) *Box {
	t.Helper()
	return must(NewBox(k))
}

func TestASealedValueOpensOnlyWithItsKeyItsNameAndAllItsBytes(t *testing.T) {
	k := newKey()
	b := box(t, k)
	plain := []byte("refresh-token-value")
	sealed := must(b.Seal("refresh-token", plain))
	if bytes.Contains(sealed, plain) {
		t.Fatal("the sealed value shows the plain one")
	}
	if got, err := box(t, k).Open("refresh-token", sealed); err != nil || !bytes.Equal(got, plain) {
		t.Fatalf("Open = %q, %v", got, err)
	}
	if _, err := box(t, newKey()).Open("refresh-token", sealed); !errors.Is(err, ErrWrongKey) {
		t.Errorf("with another key: %v, want ErrWrongKey", err)
	}
	if _, err := b.Open("client-secret", sealed); !errors.Is(err, ErrDamaged) {
		t.Errorf("under another name: %v, want ErrDamaged", err)
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if got, err := b.Open("refresh-token", changed); err == nil {
			t.Errorf("opened as %q with byte %d changed", got, i)
		}
		if got, err := b.Open("refresh-token", sealed[:i]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d bytes: %q, %v, want ErrDamaged", i, got, err)
		}
	}
}

func TestSealingTwiceDiffersAndEmptyIsNotNil(t *testing.T) {
	b := box(t, newKey())
	one, _ := b.Seal("n", nil)
	two, _ := b.Seal("n", nil)
	if bytes.Equal(one, two) {
		t.Error("two sealings of the same value are equal")
	}
	if got, err := b.Open("n", one); err != nil || got == nil || len(got) != 0 {
		t.Errorf("Open = %v, %v, want an empty value", got, err)
	}
}

func TestNoKeyNoBox(t *testing.T) {
	if _, err := NewBox(Key{}); !errors.Is(err, ErrNoKey) {
		t.Errorf("NewBox(Key{}) = %v, want ErrNoKey", err)
	}
	var none *Box
	if _, err := none.Seal("n", []byte("x")); !errors.Is(err, ErrNoKey) {
		t.Errorf("Seal = %v, want ErrNoKey", err)
	}
	if _, err := none.Open("n", []byte("x")); !errors.Is(err, ErrNoKey) {
		t.Errorf("Open = %v, want ErrNoKey", err)
	}
}

func TestAKeyShowsItselfNowhere(t *testing.T) {
	k := must(parseKey(strings.Repeat("4b", 32))) // "KKKK..."
	type holder struct {
		Key    Key
		P      *Key
		hidden Key // fmt does not call the methods of an unexported field
		inner  struct{ keys []Key }
	}
	h := holder{Key: k, P: &k, hidden: k}
	h.inner.keys = []Key{k}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b", "%o", "%U", "%c", "%T", "%p"} {
		fmt.Fprintf(&out, verb+" "+verb+"\n", k, h)
	}
	js := must(json.Marshal(h))
	out.Write(js)
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("key", "key", k, "pointer", &k, "holder", h)
	}
	for _, leak := range []string{"KKKK", "4b4b4b4b", "4B4B4B4B", "75 75 75 75", "75,75,75,75", "1001011 1001011 1001011", "113 113 113 113", "U+004B U+004B U+004B", "0x4b, 0x4b, 0x4b", k.text()} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("%q shows in:\n%s", leak, out.String())
		}
	}
}

func TestTheIDIsStableAndTellsKeysApart(t *testing.T) {
	k, _ := parseKey(strings.Repeat("01", 32))
	if got, want := k.ID(), k.ID(); got != want || len(got) != 16 {
		t.Errorf("ID = %q and %q", got, want)
	}
	if strings.Contains(strings.Repeat("01", 32), k.ID()) {
		t.Error("the ID is part of the key")
	}
	if k.ID() == newKey().ID() {
		t.Error("two keys have one ID")
	}
}
