//go:build !windows

package policy

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"countersign/internal/message"
)

func written(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestThePolicyOfTheComputerIsRead(t *testing.T) {
	t.Setenv("HOME", "/home/clerk")
	p := readFile(written(t, `{"fixed": {"save_to": "~/Signed", "check_updates": false, "due_days": 5, "scopes": ["a"], "name_template": "~"}, "defaults": {"theme": "dark"}, "more": 1}`, 0o644))
	want := map[string]any{"save_to": "/home/clerk/Signed", "check_updates": false, "due_days": 5.0, "scopes": []any{"a"}, "name_template": "/home/clerk"}
	if !reflect.DeepEqual(p.Fixed, want) || !reflect.DeepEqual(p.Defaults, map[string]any{"theme": "dark"}) || !p.Wrong.IsZero() || p.From == "" {
		t.Errorf("%+v", p)
	}
	if p := readFile(filepath.Join(t.TempDir(), "none")); !reflect.DeepEqual(p, Policy{}) {
		t.Errorf("without a file: %+v", p)
	}
}

func TestWhatIsNoPolicyIsNotUsedAndSaid(t *testing.T) {
	for name, path := range map[string]string{
		"no JSON":            written(t, "{", 0o644),
		"a list":             written(t, "[]", 0o644),
		"a text for a list":  written(t, `{"fixed": "all"}`, 0o644),
		"too long":           written(t, `{"fixed": {"theme": "`+strings.Repeat("x", maxFile)+`"}}`, 0o644),
		"anybody's":          written(t, `{"fixed": {"theme": "dark"}}`, 0o666),
		"a folder":           t.TempDir(),
		"a file that stalls": "/dev/zero",
	} {
		if p := readFile(path); p.Wrong.IsZero() || len(p.Fixed) > 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestAFileThatIsHalfWrittenTakesNothingBack(t *testing.T) {
	path := written(t, `{"fixed": {"theme": "dark"}}`, 0o644)
	places := []source{{path, readFile}}
	var r Reader
	before := r.join(places)
	must(t, os.WriteFile(path, []byte(`{"fixed": {`), 0o644))
	for range 2 {
		if p := r.join(places); !reflect.DeepEqual(p.Fixed, before.Fixed) || p.Wrong != message.PolicyNoJSON(path) {
			t.Errorf("%+v", p)
		}
	}
	must(t, os.WriteFile(path, []byte(`{}`), 0o644))
	if p := r.join(places); len(p.Fixed) > 0 || !p.Wrong.IsZero() || p.From != path {
		t.Errorf("nothing is decided any more: %+v", p)
	}
}
