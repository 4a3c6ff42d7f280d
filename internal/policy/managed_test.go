//go:build !windows

package policy

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"countersign/internal/message"
)

// lists are property lists that another program made, Python's plistlib, of the same content.
var lists = []string{"testdata/managed-xml.plist", "testdata/managed-binary.plist"}

func TestWhatConfigurationProfilesForceIsRead(t *testing.T) {
	t.Setenv("HOME", "/Users/clerk")
	for _, path := range lists {
		p := readManaged(path)
		fixed := map[string]any{"auth_url": "https://sign.example.com", "check_updates": false, "due_days": 5.0, "quiet_from": 7.0,
			"scopes": []string{"openid", "profile"}, "save_to": "/Users/clerk/Büro/Signed"}
		defaults := map[string]any{"theme": "dark", "keep_events_days": -1.0, "index": true}
		if !reflect.DeepEqual(p.Fixed, fixed) || !reflect.DeepEqual(p.Defaults, defaults) || p.From != path {
			t.Errorf("%+v", p)
		}
		var wrong []message.Message
		for _, name := range []string{"listen", "copy_to", "language", "notify"} { // another kind of value than any setting has
			wrong = append(wrong, message.PolicyValueNotRead(name, path))
		}
		if p.Wrong != message.Then(wrong...) {
			t.Errorf("%s: it says %q", path, p.Wrong)
		}
	}
}

func TestProfilesDecideNothingWhereThereAreNone(t *testing.T) {
	r := new(Reader)
	if p := r.join(profiles(t.TempDir(), "clerk")); !reflect.DeepEqual(p, Policy{}) {
		t.Errorf("%+v", p)
	}
}

func TestAPropertyListThatIsCutIsNotUsed(t *testing.T) {
	for _, path := range lists {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		end := len(whole)
		if i := strings.LastIndex(string(whole), "</dict>"); i >= 0 {
			end = i + len("</dict>") // what follows says nothing
		}
		for n := range end {
			if found, err := dictionary(whole[:n]); err == nil {
				t.Fatalf("%s: %d of %d bytes say %v", path, n, len(whole), found)
			}
		}
	}
}

func TestAPropertyListOfNonsenseHarmsNobody(t *testing.T) {
	for _, path := range lists {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			for _, b := range []byte{0, 0xff, whole[i] ^ 1, whole[i] ^ 0x80, whole[i] + 16} {
				other := slices.Clone(whole)
				other[i] = b
				_, _ = dictionary(other) // which returns
			}
		}
	}
}

func TestWhatIsNoPropertyListOfADictionaryIsNotUsedAndSaid(t *testing.T) {
	for name, text := range map[string]string{
		"an empty file":  "",
		"zeros":          strings.Repeat("\x00", 512),
		"JSON":           `{"fixed": {"theme": "dark"}}`,
		"an old list":    `{theme = dark;}`,
		"no list":        "theme",
		"a text":         `<?xml version="1.0"?><plist version="1.0"><string>dark</string></plist>`,
		"an array":       `<?xml version="1.0"?><plist version="1.0"><array/></plist>`,
		"nothing inside": `<?xml version="1.0"?><plist version="1.0"></plist>`,
	} {
		path := written(t, text, 0o644)
		if p := readManaged(path); p.Wrong != message.PolicyNoPlist(path) || !p.unread() {
			t.Errorf("%s: %+v", name, p)
		}
	}
	open := written(t, `<plist><dict><key>theme</key><string>dark</string></dict></plist>`, 0o666)
	if p := readManaged(open); p.Wrong != message.PolicyOpen(open) || !p.unread() {
		t.Errorf("anybody's: %+v", p)
	}
}

// profile writes a property list with settings, which all are texts.
func profile(t *testing.T, path string, settings map[string]string) {
	t.Helper()
	text := "<plist><dict>"
	for name, value := range settings {
		text += "<key>" + name + "</key><string>" + value + "</string>"
	}
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text+"</dict></plist>"), 0o644))
}

func TestProfilesOfAPersonComeBeforeThoseOfTheComputerAndTheFile(t *testing.T) {
	folder := t.TempDir()
	own, everybodys, file := filepath.Join(folder, "clerk", domain+".plist"), filepath.Join(folder, domain+".plist"), filepath.Join(folder, "policy.json")
	profile(t, own, map[string]string{"theme": "dark"})
	profile(t, everybodys, map[string]string{"theme": "light", "language": "fr"})
	must(t, os.WriteFile(file, []byte(`{"fixed": {"theme": "light", "language": "de", "tunnel": "none"}, "defaults": {"notify": "none"}}`), 0o644))
	places := append(profiles(folder, "clerk"), source{file, readFile})
	p := new(Reader).join(places)
	want := Policy{From: strings.Join([]string{own, everybodys, file}, ", "),
		Fixed: map[string]any{"theme": "dark", "language": "fr", "tunnel": "none"}, Defaults: map[string]any{"notify": "none"}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%+v", p)
	}
	if p := new(Reader).join(profiles(folder, "")); p.From != everybodys {
		t.Errorf("of nobody: %+v", p)
	}
}

func TestAPlaceThatCannotBeReadTakesNothingBackWhileAnotherCan(t *testing.T) {
	folder := t.TempDir()
	own, everybodys := filepath.Join(folder, "clerk", domain+".plist"), filepath.Join(folder, domain+".plist")
	profile(t, own, map[string]string{"theme": "dark"})
	profile(t, everybodys, map[string]string{"language": "fr"})
	var r Reader
	r.join(profiles(folder, "clerk"))
	must(t, os.WriteFile(own, nil, 0o644)) // about to be written
	want := map[string]any{"theme": "dark", "language": "fr"}
	for range 2 {
		if p := r.join(profiles(folder, "clerk")); !reflect.DeepEqual(p.Fixed, want) || p.Wrong != message.PolicyNoPlist(own) {
			t.Errorf("%+v", p)
		}
	}
	profile(t, own, map[string]string{"notify": "none"})
	if p := r.join(profiles(folder, "clerk")); !reflect.DeepEqual(p.Fixed, map[string]any{"notify": "none", "language": "fr"}) || !p.Wrong.IsZero() {
		t.Errorf("written: %+v", p)
	}
	must(t, os.Remove(own))
	must(t, os.Remove(everybodys))
	if p := r.join(profiles(folder, "clerk")); !reflect.DeepEqual(p, Policy{}) {
		t.Errorf("gone: %+v", p)
	}
}

func TestProfilesAreLookedForUnderTheNameOfTheBundle(t *testing.T) {
	text, err := os.ReadFile("../../assets/packaging/macos/Info.plist")
	must(t, err)
	bundle, err := dictionary(text)
	must(t, err)
	if bundle["CFBundleIdentifier"] != domain {
		t.Errorf("the bundle is called %v", bundle["CFBundleIdentifier"])
	}
}
