package i18n

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// german speaks German until the test ends.
func german(t *testing.T) {
	t.Helper()
	before := chosen.Load()
	c, err := load("de")
	if err != nil {
		t.Fatal(err)
	}
	chosen.Store(c)
	t.Cleanup(func() { chosen.Store(before) })
}

func TestSentencesOfTheAgentAreSaidInTheLanguageOfTheWindow(t *testing.T) {
	german(t)
	for english, want := range map[string]string{
		"Signed out.":                        "Abgemeldet.",
		"The signing service did not answer": "Der Signaturdienst hat nicht geantwortet.",
		"Your sign-in has expired. Sign in again to keep saving documents.":                          "Ihre Anmeldung ist abgelaufen. Melden Sie sich erneut an, damit Dokumente weiter gespeichert werden.",
		"The disk with “Signed” is full. 1 file is waiting and will be saved when there is room.":    "Der Datenträger mit „Signed“ ist voll. 1 Datei wird gespeichert, sobald Platz ist.",
		"The disk with “Signed” is full. 12 files are waiting and will be saved when there is room.": "Der Datenträger mit „Signed“ ist voll. 12 Dateien werden gespeichert, sobald Platz ist.",
		"Someone signed “Lease”.":                                                                             "Jemand hat „Lease“ unterschrieben.",
		"Dr. Ana Ruiz signed “Lease”. Everyone has signed.":                                                   "Dr. Ana Ruiz hat „Lease“ unterschrieben. Alle haben unterschrieben.",
		"“Untitled package” was sent.":                                                                        "„Paket ohne Namen“ wurde gesendet.",
		"“Lease” was not sent. The signing service did not accept the request: no signer. Call us":            "„Lease“ wurde nicht gesendet. Der Signaturdienst hat die Anfrage nicht angenommen: no signer. Call us.",
		"To continue, enter the client secret in Settings, sign in. Documents and packages are not affected.": "Damit es weitergeht: Client-Secret in den Einstellungen eingeben, anmelden. Dokumente und Pakete sind nicht betroffen.",
		"Signed out on this computer, but at the service its address for events could not be deleted and the sign-in could not be revoked, because its key is gone.": "Auf diesem Computer abgemeldet, beim Dienst nicht vollständig: die Empfangsadresse konnte nicht gelöscht werden und die Anmeldung konnte nicht widerrufen werden, weil ihr Schlüssel fehlt.",
		`"Offer \"2026\".pdf" is empty.`: `„Offer "2026".pdf“ ist leer.`,
		"ngrok closed the address a.ngrok.app. Look up the code in ngrok's list of errors. (ERR_NGROK_1)": "ngrok hat die Adresse a.ngrok.app abgeschaltet. Sehen Sie den Code in der Fehlerliste von ngrok nach. (ERR_NGROK_1).",
		"Ana signed “A name that is too long for a notific…":                                              "Ana hat „A name that is too long for a notific…“ unterschrieben",
		"": "",
	} {
		if got := Sentence(english); got != want {
			t.Errorf("%q:\n got %q\nwant %q", english, got, want)
		}
	}
	if got := Phrase("3 packages changed while you were away"); got != "Neues zu 3 Paketen in Ihrer Abwesenheit" {
		t.Errorf("a title gets no full stop: %q", got)
	}
}

func TestWhatIsNotInTheBookIsShownAsItIs(t *testing.T) {
	german(t)
	for _, text := range []string{
		"Nobody wrote this sentence down.",
		"This one neither. Nor this. 42 of them!",
		"A request  with   wide spaces .",
		"…", "“”", "“", "”.", `"`, ".", "\x00", "a \U000F0001 b was sent.",
	} {
		if got := Phrase(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := Sentence("Nobody wrote this down. Signed out. Nor that."); got != "Nobody wrote this down. Abgemeldet. Nor that." {
		t.Errorf("one sentence among strangers: %q", got)
	}
}

// TestHostileNamesPassThrough tries names that contain what the phrasebook works with.
func TestHostileNamesPassThrough(t *testing.T) {
	german(t)
	for _, name := range []string{
		"Stay in London. It was sent.", "x” y", "the “best” one", "“", "{{.Package}}", "{{.Who}} signed", "(.+?)", "$1 ${1}", `\E.*\Q`,
		"Signed out.", "1 file is waiting to be saved.", " . ! ", "ngrok closed", "sign in", "名前。と名前", "עסקה", "a\nb", "%s %d",
	} {
		for pattern, want := range map[string]string{
			"“%” was sent.":                       "„%“ wurde gesendet.",
			"Ana signed “%” in “Lease”.":          "Ana hat „%“ in „Lease“ unterschrieben.",
			"“%” was sent. “Other” was created.":  "„%“ wurde gesendet. „Other“ wurde angelegt.",
			"Everyone has signed “a.pdf” in “%”.": "Alle haben „a.pdf“ aus „%“ unterschrieben.",
		} {
			english := strings.Replace(pattern, "%", name, 1)
			got := Phrase(english)
			if strings.Count(name, "“") != strings.Count(name, "”") {
				if got != english {
					t.Errorf("nobody can tell where %q ends, so this stays English: %q", name, got)
				}
				continue
			}
			if want := strings.Replace(want, "%", name, 1); got != want {
				t.Errorf("%q:\n got %q\nwant %q", name, got, want)
			}
		}
	}
}

func TestErrorsBecomeSentences(t *testing.T) {
	for in, want := range map[string]string{
		"":                  "",
		"the disk is full":  "The disk is full.",
		"örtlich gesperrt ": "Örtlich gesperrt.",
		"Signed out.":       "Signed out.",
	} {
		if got := Sentence(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func FuzzNothingIsLostInTranslation(f *testing.F) {
	c, err := load("fr")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("Ana", "Lease")
	f.Add("“", "” was sent. “")
	f.Fuzz(func(t *testing.T, who, what string) {
		if strings.ContainsAny(who+what, "“”\"") || strings.TrimSpace(what) == "" || strings.ContainsAny(who, ".!?…") || strings.TrimSpace(who) == "" || !utf8.ValidString(who+what) {
			return
		}
		got := c.book.translate(who + " signed “" + what + "”.")
		if !strings.Contains(got, strings.TrimSpace(who)) || !strings.Contains(got, what) {
			t.Errorf("%q and %q are not in %q", who, what, got)
		}
	})
}

func BenchmarkSentence(b *testing.B) {
	c, err := load("de")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c.book.translate("The disk with “Signed” is full. 12 files are waiting and will be saved when there is room.")
	}
}
