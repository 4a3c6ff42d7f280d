package i18n

import (
	"strings"
	"testing"

	"countersign/internal/office"
)

// inEach runs a test in each language.
func inEach(t *testing.T, test func(t *testing.T)) {
	before := chosen.Load()
	t.Cleanup(func() { chosen.Store(before) })
	hook()
	for _, code := range Languages() {
		c, err := load(code)
		must(t, err)
		chosen.Store(c)
		t.Run(code, test)
	}
}

func TestNamePatternsAreShownAndTakenInEveryLanguage(t *testing.T) {
	all := strings.Join(office.Placeholders(), "/")
	shown := map[string]string{}
	inEach(t, func(t *testing.T) {
		shown[Code()] = Pattern(all)
		for _, typed := range []string{Pattern(all), strings.ToUpper(Pattern(all)), all, strings.ReplaceAll(Pattern(all), "{", "{ ")} {
			if got := CanonicalPattern(typed); got != all {
				t.Errorf("%q is taken as %q", typed, got)
			}
		}
		for _, other := range []string{"{packge}", "Pakete {", "}", "{}", "{{package}", "{date"} {
			if got := CanonicalPattern(other); got != other && other != "{{package}" {
				t.Errorf("%q became %q", other, got)
			}
		}
	})
	inEach(t, func(t *testing.T) { // a language may be changed while a pattern is typed
		for code, typed := range shown {
			if got := CanonicalPattern(typed); got != all {
				t.Errorf("what was typed in %s, %q, is taken as %q", code, typed, got)
			}
		}
	})
	if got := shown["de"]; got != "{Datum}/{Monat}/{Jahr}/{Paket}/{Dokument}/{Person}/{Zeichen}/{Art}" {
		t.Errorf("German: %q", got)
	}
}

func TestAPlaceholderOfOneLanguageIsNoOtherInAnother(t *testing.T) {
	names := map[string]string{}
	for _, code := range Languages() {
		of := placeholdersOf(code)
		if len(of) != len(office.Placeholders()) {
			t.Errorf("%s has %d placeholders: %v", code, len(of), of)
		}
		for canonical, name := range of {
			name = strings.ToLower(name)
			if other := names[name]; other != "" && other != canonical || strings.ContainsAny(name, "{}/ ") {
				t.Errorf("%s: {%s} is {%s} and {%s}", code, name, canonical, other)
			}
			names[name] = canonical
			for _, english := range office.Placeholders() {
				if english = strings.Trim(english, "{}"); english == name && english != canonical {
					t.Errorf("%s: {%s} is another placeholder in English", code, name)
				}
			}
		}
	}
}

func TestWhatIsWrongWithAPatternNamesThePlaceholdersOfTheLanguage(t *testing.T) {
	inEach(t, func(t *testing.T) {
		s := office.DefaultSettings()
		s.NameTemplate = CanonicalPattern("{packge}")
		got := Findings(s.Check())[office.FieldTemplate]
		for _, name := range strings.Fields(Placeholders()) {
			if !strings.Contains(got, name) {
				t.Errorf("%q does not name %s", got, name)
			}
		}
		if !strings.Contains(got, "{packge}") || strings.Count(got, "{") != 1+len(office.Placeholders()) {
			t.Errorf("said: %q", got)
		}
	})
}
