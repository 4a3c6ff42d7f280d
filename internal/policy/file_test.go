//go:build !windows

package policy

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"countersign/internal/message"
	"countersign/internal/trytest"
)

func written(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.json")
	noErr(t, os.WriteFile(path, []byte(text), 0o600))
	noErr(t, os.Chmod(path, mode))
	return path
}

var noErr = trytest.NoErr

func TestThePolicyOfTheComputerIsRead(t *testing.T) {
	t.Setenv("HOME", "/home/clerk")
	p := read(written(t, `{"fixed": {"save_to": "~/Signed", "check_updates": false, "due_days": 5, "scopes": ["a"], "name_template": "~"}, "Defaults": {"theme": "dark"}}`, 0o644))
	want := map[string]any{"save_to": "/home/clerk/Signed", "check_updates": false, "due_days": 5.0, "scopes": []any{"a"}, "name_template": "/home/clerk"}
	if !reflect.DeepEqual(p.Fixed, want) || !reflect.DeepEqual(p.Defaults, map[string]any{"theme": "dark"}) || !p.Wrong.IsZero() || p.From == "" {
		t.Errorf("%+v", p)
	}
	if p := read(filepath.Join(t.TempDir(), "none")); !reflect.DeepEqual(p, Policy{}) {
		t.Errorf("without a file: %+v", p)
	}
}

func TestWhatIsNoPolicyIsNotUsedAndSaid(t *testing.T) {
	const dark = `{"fixed": {"theme": "dark"}}`
	open := filepath.Dir(written(t, dark, 0o644))
	noErr(t, os.Chmod(open, 0o777))
	pipe := filepath.Join(t.TempDir(), "policy.json")
	noErr(t, syscall.Mkfifo(pipe, 0o600))
	anothers := written(t, dark, 0o644)
	if os.Chown(anothers, 4711, -1) != nil { // only root can
		noErr(t, os.Chmod(anothers, 0o666))
	}
	for name, path := range map[string]string{
		"no JSON":             written(t, "{", 0o644),
		"a list":              written(t, "[]", 0o644),
		"a text for a list":   written(t, `{"fixed": "all"}`, 0o644),
		"too long":            written(t, `{"fixed": {"theme": "`+strings.Repeat("x", maxFile)+`"}}`, 0o644),
		"anybody's":           written(t, `{"fixed": {"theme": "dark"}}`, 0o666),
		"another's":           anothers,
		"in anybody's folder": filepath.Join(open, "policy.json"),
		"a pipe":              pipe,
		"a folder":            t.TempDir(),
		"a file that stalls":  "/dev/zero",
	} {
		if p := read(path); p.Wrong.IsZero() || len(p.Fixed) > 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// One unreadable list does not affect the other, and anything outside both lists is reported.
func TestWhatCanBeReadOfAPolicyCountsAndTheRestIsNamed(t *testing.T) {
	for text, named := range map[string]string{
		`{"fixed": {"theme": "dark"}, "defaults": []}`:                "defaults",
		`{"fixed": {"theme": "dark"}, "defaults": {"a": 1}, "x": {}}`: "x",
		`{"fixed": {"theme": "dark"}, "client_id": "ID"}`:             "client_id",
		`{"fixed": {"theme": "dark"}, "defaults": null}`:              "",
	} {
		path := written(t, text, 0o644)
		p := read(path)
		want := message.Then()
		if named != "" {
			want = message.Then(message.PolicyValueNotRead(named, path))
		}
		if p.Fixed["theme"] != "dark" || p.Wrong != want {
			t.Errorf("%s: %+v", text, p)
		}
	}
}

func TestAFileThatIsHalfWrittenTakesNothingBack(t *testing.T) {
	usual := place
	defer func() { place = usual }()
	place = written(t, `{"fixed": {"theme": "dark"}, "defaults": {"language": "fr"}}`, 0o644)
	var r Reader
	before := r.Read()
	for text, wrong := range map[string]message.Message{`{"fixed": {`: message.PolicyNoJSON(place),
		`{"fixed": {"theme": "dark"}, "defaults": [`: message.PolicyNoJSON(place), `{"fixed": {"theme": "dark"}, "defaults": []}`: message.Then(message.PolicyValueNotRead("defaults", place))} {
		noErr(t, os.WriteFile(place, []byte(text), 0o644))
		for range 2 {
			if p := r.Read(); !reflect.DeepEqual(p.Fixed, before.Fixed) || !reflect.DeepEqual(p.Defaults, before.Defaults) || p.Wrong != wrong {
				t.Errorf("%s: %+v", text, p)
			}
		}
	}
	noErr(t, os.WriteFile(place, []byte(`{"x": 1}`), 0o644))
	if p := r.Read(); len(p.Fixed)+len(p.Defaults) > 0 || p.From != place {
		t.Errorf("nothing is decided any more: %+v", p)
	}
	noErr(t, os.Remove(place))
	if p := r.Read(); !reflect.DeepEqual(p, Policy{}) {
		t.Errorf("gone: %+v", p)
	}
}
