package main

import (
	"encoding/xml"
	"os"
	"reflect"
	"strings"
	"testing"

	"countersign/internal/office"
)

// What the templates for Windows write has to be what the program reads: settings by their names, each of them with its words.
func TestThePolicyTemplatesFixWhatTheProgramKnows(t *testing.T) {
	known := map[string]bool{}
	kind := reflect.TypeFor[office.Settings]()
	for i := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		known[name] = true
	}
	var template struct {
		Policies []struct {
			Name     string `xml:"name,attr"`
			Key      string `xml:"key,attr"`
			Value    string `xml:"valueName,attr"`
			Elements struct {
				Text []struct {
					Value string `xml:"valueName,attr"`
				} `xml:"text"`
			} `xml:"elements"`
		} `xml:"policies>policy"`
	}
	p := product{root: "../.."}
	text, err := os.ReadFile(p.packaging("windows", "policy", "Countersign.admx"))
	must(t, err)
	must(t, xml.Unmarshal(text, &template))
	words, err := os.ReadFile(p.packaging("windows", "policy", "en-US", "Countersign.adml"))
	must(t, err)
	must(t, xml.Unmarshal(words, new(struct{})))
	for _, x := range template.Policies {
		value := x.Value
		if len(x.Elements.Text) == 1 {
			value = x.Elements.Text[0].Value
		}
		if value != x.Name || !known[value] || x.Key != `Software\Policies\Countersign` {
			t.Errorf("%s fixes %s in %s", x.Name, value, x.Key)
		}
		for _, id := range []string{x.Name, x.Name + "_help"} {
			if !strings.Contains(string(words), `<string id="`+id+`">`) {
				t.Errorf("%s has no words", id)
			}
		}
	}
	if len(template.Policies) < 20 {
		t.Errorf("there are %d policies", len(template.Policies))
	}
}
