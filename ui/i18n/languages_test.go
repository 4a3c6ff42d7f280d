package i18n

import (
	"embed"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"fyne.io/fyne/v2/lang"

	"countersign/assets"
)

// glossary are the terms of the trade, the same on every screen. A translation of a text with the English word has one
// of the words beside it.
//
// German addresses people with Sie, French with vous, Spanish with usted or with nobody. A package is an envelope in
// French, where dossier is a folder already.
var glossary = []struct{ english, de, fr, es string }{
	{`\bpackages?\b`, `Paket`, `nveloppe|envoi|Envoi`, `aquete|Enviados`},
	{`\bdocuments?\b`, `okument`, `ocument`, `ocumento`},
	{`\bsigners?\b`, `nterzeichnende|Person|alle\b|[Jj]emand|wer unterschreibt`, `ignataire`, `irmante`},
	{`\b[Ss]igning service\b`, `ignaturdienst`, `ervice de signature`, `ervicio de firma`},
	{`\bfolders?\b`, `[Oo]rdner`, `ossier`, `arpeta`},
	{`\bkeyring\b`, `Schlüsselbund`, `trousseau`, `depósito`},
	{`\bnotifications?\b`, `enachrichtigung`, `otification`, `otificaci`},
	{`\bpublic address\b`, `öffentliche`, `adresse publique|qui n’est pas ouverte`, `dirección pública`},
	{`\breturn address\b`, `ückkehradresse`, `dresse de retour`, `irección de retorno`},
	{`\bclient ID\b`, `Client-ID`, `dentifiant client`, `dentificador`},
	{`\bclient secret\b`, `Client-Secret`, `ecret client`, `ecreto de cliente`},
	{`\bin Settings\b`, `Einstellungen`, `réglages`, `Ajustes`},
}

// written are all texts of a language in all their forms, those of the window by key, and those of messages by
// their English.
func written(t *testing.T, code string) (window map[string]map[string]string, book map[string]string) {
	t.Helper()
	book = map[string]string{}
	english := messages(t, "en")
	for id, forms := range messages(t, code) {
		for form, text := range forms {
			book[english[id][form]] += text + "\n"
		}
	}
	return windowTexts(t, code), book
}

// windowTexts are those of the window in all their forms, by key.
func windowTexts(t *testing.T, code string) map[string]map[string]string {
	t.Helper()
	return allForms(t, assets.Translations, "translations/"+code+".json")
}

// messages are the words of a language in all their forms, by id; see package message, whose tests find what is missing.
func messages(t *testing.T, code string) map[string]map[string]string {
	t.Helper()
	return allForms(t, assets.Messages, "messages/"+code+".json")
}

// allForms reads a file of texts; one without plural forms has the form "other" alone.
func allForms(t *testing.T, fs embed.FS, path string) map[string]map[string]string {
	t.Helper()
	data, err := fs.ReadFile(path)
	must(t, err)
	raw, all := map[string]any{}, map[string]map[string]string{}
	must(t, json.Unmarshal(data, &raw))
	for id, value := range raw {
		all[id] = map[string]string{}
		if forms, many := value.(map[string]any); many {
			for form, text := range forms {
				all[id][form] = text.(string)
			}
		} else {
			all[id]["other"] = value.(string)
		}
	}
	return all
}

// placeholder is where a value stands in a text.
var placeholder = regexp.MustCompile(`\{\{\.(\w+)\}\}`)

// count is the number in a text that has plural forms.
const count = "{{.PluralCount}}"

// holes are the values of a text, each once.
func holes(text string) string {
	found := placeholder.FindAllString(text, -1)
	slices.Sort(found)
	return strings.Join(slices.Compact(found), " ")
}

func TestEveryLanguageHasEveryText(t *testing.T) {
	english, _ := written(t, "en")
	for _, code := range Languages()[1:] {
		texts, _ := written(t, code)
		for key, forms := range english {
			if len(texts[key]) == 0 {
				t.Errorf("%s.json lacks %q", code, key)
				continue
			}
			if len(texts[key]) != len(forms) {
				t.Errorf("%s.json: %q has other plural forms than in English", code, key)
			}
			for form, text := range texts[key] {
				values := forms[form]
				if len(forms) > 1 && strings.Contains(text, count) {
					values += count // "once" is a number too: see TestEveryCountSaysItsNumber
				}
				if strings.TrimSpace(text) == "" || holes(text) != holes(values) {
					t.Errorf("%s.json: %q has other values than %q", code, text, forms[form])
				}
			}
		}
		for key := range texts {
			if len(english[key]) == 0 {
				t.Errorf("%s.json has %q, which nobody says any more", code, key)
			}
		}
	}
}

// TestEveryCountSaysItsNumber renders each text that counts with numbers from every plural form there is: French has one
// form for 0 and 1, so that a 1 written out would stand there for nothing at all. A word such as "once" is for 1 alone.
func TestEveryCountSaysItsNumber(t *testing.T) {
	inEach(t, func(t *testing.T) {
		for key, forms := range windowTexts(t, Code()) {
			if len(forms) < 2 {
				continue
			}
			for _, n := range []int{0, 1, 2, 5, 1_000_000} {
				text := lang.N(key, n)
				if strings.Contains(text, "{{") || strings.Contains(text, "no value") {
					t.Errorf("%s: %d of %q: %q", Code(), n, key, text)
				}
				if once := n == 1 && !strings.ContainsFunc(text, unicode.IsDigit); !once && !strings.Contains(text, Number(n)) {
					t.Errorf("%s: %d of %q does not say the number: %q", Code(), n, key, text)
				}
			}
			for _, text := range forms {
				if strings.ContainsFunc(text, unicode.IsDigit) {
					t.Errorf("%s: %q has a number written out", Code(), text)
				}
			}
		}
	})
}

// TestWholeNumbersAreGroupedInEveryText gives every value of every text a million: a count stands in many texts that have
// no plural forms, such as "3 of 12 signed".
func TestWholeNumbersAreGroupedInEveryText(t *testing.T) {
	inEach(t, func(t *testing.T) {
		for key, forms := range windowTexts(t, Code()) {
			found := placeholder.FindAllStringSubmatch(forms["other"], -1)
			values := V{}
			for _, hole := range found {
				values[hole[1]] = 1_000_000
			}
			if got := lang.X(key, key, values); strings.Count(got, Number(1_000_000)) != len(found) {
				t.Errorf("%s: %q says %q of a million", Code(), key, got)
			}
		}
	})
}

func TestTheTermsOfTheTradeAreTheSameEverywhere(t *testing.T) {
	for i, code := range []string{"de", "fr", "es"} {
		texts, book := written(t, code)
		all := maps.Clone(book)
		for key, forms := range texts {
			for _, text := range forms {
				all[key] += text + "\n"
			}
		}
		for key, text := range all {
			for _, term := range glossary {
				want := []string{term.de, term.fr, term.es}[i]
				if regexp.MustCompile(term.english).MatchString(key) && !regexp.MustCompile(want).MatchString(text) {
					t.Errorf("%s: %q does not say %q as the glossary has it", code, text, key)
				}
			}
		}
	}
}

// informal are words that address a person as a friend would, or that were left in English.
var informal = map[string]*regexp.Regexp{
	"de": regexp.MustCompile(`(?i)(^|\PL)(du|dein\pL*|dir|dich|bitte|the|and|your)(\PL|$)|!`),
	"fr": regexp.MustCompile(`(?i)(^|\PL)(tu|ton|ta|tes|toi|the|and|your)(\PL|$)|[^\x{a0}][;:?!](\s|$)|'`),
	"es": regexp.MustCompile(`(?i)(^|\PL)(tú|tu|tus|ti|contigo|vosotros|the|and|your)(\PL|$)`),
}

func TestPeopleAreAddressedFormally(t *testing.T) {
	for _, code := range Languages()[1:] {
		texts, book := written(t, code)
		for key, text := range book {
			if found := informal[code].FindString(text); found != "" {
				t.Errorf("%s: %q in %q (%s)", code, found, text, key)
			}
		}
		for key, forms := range texts {
			for _, text := range forms {
				if found := informal[code].FindString(text); found != "" && !strings.Contains(text, "Your Authtoken") {
					t.Errorf("%s: %q in %q (%s)", code, found, text, key)
				}
			}
		}
	}
}

func TestDatesAndNumbersFollowTheLanguage(t *testing.T) {
	before := chosen.Load()
	t.Cleanup(func() { chosen.Store(before) })
	hook()
	at := time.Date(2026, 3, 3, 9, 14, 0, 0, now.Location())
	for code, want := range map[string][]string{
		"en": {"Tue 3 Mar", "3 Mar 09:14", "3 Mar 2025", "5 min", "2.4 MB", "840 KB", "50,000", "1 document", "2 documents"},
		"de": {"Di, 3. März", "3. März 09:14", "3. März 2025", "5\u00a0Min.", "2,4\u00a0MB", "840\u00a0KB", "50.000", "1 Dokument", "2 Dokumente"},
		"fr": {"mar. 3 mars", "3 mars 09:14", "3 mars 2025", "5\u00a0min", "2,4\u00a0Mo", "840\u00a0Ko", "50\u00a0000", "1 document", "2 documents"},
		"es": {"mar 3 mar", "3 mar 09:14", "3 mar 2025", "5\u00a0min", "2,4\u00a0MB", "840\u00a0KB", "50.000", "1 documento", "2 documentos"},
	} {
		c, err := load(code)
		must(t, err)
		chosen.Store(c)
		got := []string{Day(now, at), Clock(now, at), Age(now, at.AddDate(-1, 0, 0)), Age(now, now.Add(-5*time.Minute)),
			Size(2_400_000), Size(840_000), Number(50_000), Documents(1), Documents(2)}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", code, got, want)
		}
	}
}

func TestALanguageIsChosenAndLeftAgain(t *testing.T) {
	before := chosen.Load()
	t.Cleanup(func() { chosen.Store(before) })
	for _, code := range append(Languages(), "", "tlh") {
		Use(code)
		want := map[string]string{"de": "2 Personen", "fr": "2 personnes", "es": "2 personas"}[code]
		if want == "" {
			want = "2 people"
		}
		if got := People(2); got != want {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
}
