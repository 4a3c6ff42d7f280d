package main

import (
	"encoding/xml"
	"os"
	"reflect"
	"strings"
	"testing"

	"countersign/internal/office"
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
