package i18n

import (
	"testing"

	"fyne.io/fyne/v2/lang"
)

func TestAChosenLanguageGoesBeforeThatOfTheSystem(t *testing.T) {
	must(t, Load())
	Use("en")
	t.Cleanup(func() { Use("") })
	french, err := parse("fr", []byte(`{"Settings": "Réglages", "since {{.When}}": "depuis {{.When}}", "month.Jan": "janv.",
		"{{.PluralCount}} documents": {"one": "{{.PluralCount}} document", "other": "{{.PluralCount}} documents signés"}}`))
	if err != nil {
		t.Fatal(err)
	}
	chosen.Store(french)
	for want, got := range map[string]string{
		"Réglages":                    lang.L("Settings"),
		"depuis 14:02":                lang.L("since {{.When}}", V{"When": "14:02"}),
		"0 document":                  Documents(0), // French counts none as one
		"2 documents signés":          Documents(2),
		"janv.":                       lang.X("month.Jan", "Jan"),
		"depuis {{.When}}":            lang.L("since {{.When}}", V{"When": "{{.When}}"}),
		"1\u00a0000 documents signés": Documents(1000),
		"Packages":                    lang.L("Packages"), // not translated: the text itself
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	Use("tlh")
	if got := lang.L("Settings"); got != "Settings" {
		t.Errorf("a language nobody speaks here is the system's, got %q", got)
	}
}

func TestEveryLanguageThatIsOfferedHasItsName(t *testing.T) {
	for _, code := range Languages() {
		if LanguageName(code) == "" {
			t.Errorf("%s has no name", code)
		}
	}
}
