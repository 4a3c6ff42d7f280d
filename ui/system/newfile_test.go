package system

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestANewFileHasItsNameWhenItIsWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "events.csv")
	must(t, os.WriteFile(path, []byte("of last year"), 0o600))
	if _, err := Create(path, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("one that is there is begun anew: %v", err)
	}
	for _, c := range []struct {
		want string
		end  func(*NewFile) error
	}{
		{"of last year", func(f *NewFile) error { f.Discard(); return nil }},
		{"whole", (*NewFile).Keep},
	} {
		f, err := Create(path, true)
		must(t, err)
		_, err = io.WriteString(f, "whole")
		must(t, err)
		if before, err := os.ReadFile(path); err != nil || string(before) != "of last year" {
			t.Errorf("while it is written it is %q, %v", before, err)
		}
		must(t, c.end(f))
		if now, err := os.ReadFile(path); err != nil || string(now) != c.want {
			t.Errorf("it is %q, want %q, %v", now, c.want, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("%q is left", left)
		}
	}
	other := filepath.Join(dir, "other.csv")
	f, err := Create(other, false)
	must(t, err)
	must(t, os.WriteFile(other, []byte("quicker"), 0o600))
	if err := f.Keep(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("one that came meanwhile is replaced: %v", err)
	}
	if b, _ := os.ReadFile(other); string(b) != "quicker" {
		t.Errorf("it is %q", b)
	}
}
