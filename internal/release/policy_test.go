package main

import (
	"encoding/xml"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"countersign/internal/office"

	"howett.net/plist"
)

// groupPolicy is one in the templates for Windows: its name, and the value of the registry that it writes.
type groupPolicy struct {
	Name     string `xml:"name,attr"`
	Key      string `xml:"key,attr"`
	Value    string `xml:"valueName,attr"`
	Elements struct {
		Text []struct {
			Value string `xml:"valueName,attr"`
		} `xml:"text"`
	} `xml:"elements"`
}

func templates(t *testing.T, p product) []groupPolicy {
	t.Helper()
	var all struct {
		Policies []groupPolicy `xml:"policies>policy"`
	}
	text, err := os.ReadFile(p.packaging("windows", "policy", "Countersign.admx"))
	must(t, err)
	must(t, xml.Unmarshal(text, &all))
	return all.Policies
}

// wordsOf are the texts of the templates for Windows, by their names.
func wordsOf(t *testing.T, p product) map[string]string {
	t.Helper()
	var table struct {
		Strings []struct {
			ID   string `xml:"id,attr"`
			Text string `xml:",chardata"`
		} `xml:"resources>stringTable>string"`
	}
	text, err := os.ReadFile(p.packaging("windows", "policy", "en-US", "Countersign.adml"))
	must(t, err)
	must(t, xml.Unmarshal(text, &table))
	words := map[string]string{}
	for _, s := range table.Strings {
		words[s.ID] = s.Text
	}
	return words
}

// What the templates for Windows write has to be what the program reads: settings by their names, each of them with its words.
func TestThePolicyTemplatesFixWhatTheProgramKnows(t *testing.T) {
	known := map[string]bool{}
	kind := reflect.TypeFor[office.Settings]()
	for i := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		known[name] = true
	}
	p := product{root: "../.."}
	all, words := templates(t, p), wordsOf(t, p)
	for _, x := range all {
		value := x.Value
		if len(x.Elements.Text) == 1 {
			value = x.Elements.Text[0].Value
		}
		if value != x.Name || !known[value] || x.Key != `Software\Policies\Countersign` {
			t.Errorf("%s fixes %s in %s", x.Name, value, x.Key)
		}
		for _, id := range []string{x.Name, x.Name + "_help"} {
			if words[id] == "" {
				t.Errorf("%s has no words", id)
			}
		}
	}
	if len(all) < 20 {
		t.Errorf("there are %d policies", len(all))
	}
}

// The example of a profile for macOS fixes what can be used at once; what it has in comments are the other policies that the
// templates for Windows have, each with a value that can be used, too.
func TestTheExampleOfAProfileHasThePoliciesOfTheTemplates(t *testing.T) {
	p := product{root: "../.."}
	text, err := os.ReadFile(p.packaging("macos", "Countersign.mobileconfig"))
	must(t, err)
	fixed, defaults := forced(t, p, text)
	rules := office.NewRules(fixed, defaults)
	if wrong := rules.Into(office.Settings{}).Check(); len(rules.Wrong)+len(wrong) > 0 {
		t.Errorf("it cannot be used as it is: %q, %v", rules.Wrong, wrong)
	}
	if len(defaults) == 0 {
		t.Error("it shows no settings to begin with")
	}
	commented := regexp.MustCompile(`(?m)^\s*(<!--|-->)$`)
	fixed, _ = forced(t, p, commented.ReplaceAll(text, nil))
	if rules := office.NewRules(fixed, nil); len(rules.Wrong) > 0 {
		t.Errorf("its comments have values of no use for %q", rules.Wrong)
	}
	words := wordsOf(t, p)
	var names []string
	for _, x := range templates(t, p) {
		names = append(names, x.Name)
		if !strings.Contains(string(text), "<!-- "+words[x.Name]+". ") {
			t.Errorf("%s has other words than in the templates for Windows", x.Name)
		}
	}
	slices.Sort(names)
	if got := slices.Sorted(maps.Keys(fixed)); !slices.Equal(got, names) {
		t.Errorf("it has %q\nthe templates have %q", got, names)
	}
}

// forced is what a profile has macOS put into the managed preferences of the program, as its bundle names it.
func forced(t *testing.T, p product, profile []byte) (fixed, defaults map[string]any) {
	t.Helper()
	var bundle struct {
		ID string `plist:"CFBundleIdentifier"`
	}
	info, err := os.ReadFile(p.packaging("macos", "Info.plist"))
	must(t, err)
	_, err = plist.Unmarshal(info, &bundle)
	must(t, err)
	var written struct {
		PayloadContent []struct {
			PayloadType    string
			PayloadContent map[string]struct {
				Forced []struct {
					Settings map[string]any `plist:"mcx_preference_settings"`
				}
			}
		}
	}
	_, err = plist.Unmarshal(profile, &written)
	must(t, err)
	if len(written.PayloadContent) != 1 || written.PayloadContent[0].PayloadType != "com.apple.ManagedClient.preferences" {
		t.Fatalf("it has %+v", written)
	}
	domain := written.PayloadContent[0].PayloadContent[bundle.ID]
	if len(domain.Forced) != 1 {
		t.Fatalf("it forces nothing on %s", bundle.ID)
	}
	fixed = domain.Forced[0].Settings
	if at, is := fixed["save_to"].(string); is {
		fixed["save_to"] = strings.Replace(at, "~", t.TempDir(), 1) // as package policy does
	}
	defaults, _ = fixed["Defaults"].(map[string]any)
	delete(fixed, "Defaults")
	return fixed, defaults
}
