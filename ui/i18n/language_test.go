package i18n

import (
	"testing"

	"fyne.io/fyne/v2/lang"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	numbers "golang.org/x/text/message"

	"countersign/internal/message"
)

func TestAChosenLanguageGoesBeforeThatOfTheSystem(t *testing.T) {
	must(t, Load())
	Use("en")
	t.Cleanup(func() { Use("") })
	chosen.Store(&catalogue{tag: language.French, numbers: numbers.NewPrinter(language.French), messages: message.English(), texts: map[string]map[plural.Form]string{
		"Settings":                   {plural.Other: "Réglages"},
		"since {{.When}}":            {plural.Other: "depuis {{.When}}"},
		"{{.PluralCount}} documents": {plural.One: "{{.PluralCount}} document", plural.Other: "{{.PluralCount}} documents signés"},
		"month.Jan":                  {plural.Other: "janv."},
	}})
	for want, got := range map[string]string{
		"Réglages":           lang.L("Settings"),
		"depuis 14:02":       lang.L("since {{.When}}", V{"When": "14:02"}),
		"0 document":         Documents(0), // French counts none as one
		"2 documents signés": Documents(2),
		"janv.":              lang.X("month.Jan", "Jan"),
		"Packages":           lang.L("Packages"), // not translated: the text itself
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
