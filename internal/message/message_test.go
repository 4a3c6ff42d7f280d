package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/internal/trytest"
)

// german is the German printer.
func german(t *testing.T) *Printer {
	t.Helper()
	return must(NewPrinter("de"))
}

func TestAMessageIsTheSameAfterItWasStored(t *testing.T) {
	for _, m := range []Message{
		{}, Stopped(), of("x", Name("File", "a \"b\" \n.pdf"), Text("Who", "")), of("x", Count("N", 0), Number("M", 3), Bytes("Size", 1)),
		of("x", Names("All", []string{"a", "b"})), Then(Stopped(), Unexpected()),
	} {
		data := must(json.Marshal(struct {
			M Message `json:"m,omitzero"`
		}{m}))
		var back struct {
			M Message `json:"m"`
		}
		if err := json.Unmarshal(data, &back); err != nil || back.M != m {
			t.Errorf("%s became %+v, %v", data, back.M, err)
		}
		if m.IsZero() && string(data) != "{}" {
			t.Errorf("nothing is written as %s", data)
		}
	}
	var m Message
	if err := json.Unmarshal([]byte(`{"id":"x","args":{"B":{"count":1},"A":{"name":"a"}}}`), &m); err != nil || m != of("x", Name("A", "a"), Count("B", 1)) {
		t.Errorf("the order of arguments is no difference: %+v, %v", m, err)
	}
}

// A record holds an id and arguments, and no words: rewording a sentence does not affect what is stored.
func TestAStoredMessageHoldsNoWords(t *testing.T) {
	data, err := json.Marshal(Unexpected())
	if err != nil || string(data) != `{"id":"general.unexpected"}` {
		t.Errorf("%s, %v", data, err)
	}
	var m Message
	noErr(t, json.Unmarshal(data, &m))
	if en, de := m.String(), german(t).Text(m); en == "" || de == "" || en == de {
		t.Errorf("%q, %q", en, de)
	}
}

func TestAMessageOfAnotherVersionIsShownAsSuch(t *testing.T) {
	var m Message
	noErr(t, json.Unmarshal([]byte(`{"id":"moon.full","args":{"N":{"count":2},"Colour":{"hue":"blue"}}}`), &m))
	if text := m.String(); !strings.Contains(text, "another version") || !strings.Contains(text, "moon.full") {
		t.Error(text)
	}
	for _, bad := range []string{`{`, `7`, `[]`, `{"id":3}`} {
		if err := json.Unmarshal([]byte(bad), &m); err == nil {
			t.Errorf("%s was read as %+v", bad, m)
		}
	}
	if text := (Message{id: sentences}).String(); text == "" {
		t.Error("a damaged message says nothing")
	}
}

func TestWhatHappenedAndWhatToDoAreToldApart(t *testing.T) {
	what, next := English().Lines(Unexpected())
	if what != "Something went wrong." || next != "For details, open the log in Help." {
		t.Errorf("%q, %q", what, next)
	}
	if what, next := English().Lines(Then(Stopped(), Message{}, Unexpected())); what != Stopped().String() || next != Unexpected().String() {
		t.Errorf("%q, %q", what, next)
	}
	if m := Then(Message{}, Stopped()); m != Stopped() {
		t.Errorf("%+v", m)
	}
	if m := Then(Stopped(), Then(Unexpected(), Stopped())); m != Then(Stopped(), Unexpected(), Stopped()) || m.ID() != "general.stopped" {
		t.Errorf("%+v", m)
	}
}

// Names come from people outside, who may know the format of texts.
func TestHostileNamesAreShownAsTheyAre(t *testing.T) {
	for _, name := range []string{"{{.Name}}", "{{", "%s", "“x”", "<b>", "a {{template \"x\"}}", "\\n", "${1}"} {
		if got := English().value(value{Name: &name}); got != "“"+name+"”" {
			t.Errorf("%q: %q", name, got)
		}
	}
	expect(t, English().value(Name("File", "a\nb\u202ec").value), "“a bc”", "%q")
	expect(t, german(t).value(Name("File", "x").value), "„x“", "%q")
}

func TestATextFromOutsideIsOneBoundedLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "Offer": "Offer", " two  words ": "two words", "a\nb\r\nc\u2028d\u2029e\vf\u0085g": "a b c d e f g", "x\u202ey\u2066\u200e\u061c": "xy",
		"nul\x00 esc\x1b[31m del\x7f": "nul esc[31m del", "\xff\xfe broken": "broken", "tags\U000e0041\U000e007f and \u3164filler": "tags and filler",
		"family \u200d emoji": "family \u200d emoji", "naïve ﷺ 日本": "naïve ﷺ 日本", strings.Repeat("Ä", 10_000): strings.Repeat("Ä", 79) + "…",
	} {
		if got := OneLine(text, 80); got != want || OneLine(got, 80) != got {
			t.Errorf("%.40q: %q, want %q", text, got, want)
		}
	}
}

func TestAnErrorIsToldByTheOutermostMessageInIt(t *testing.T) {
	cause := errors.New("disk on fire")
	err := fmt.Errorf("while saving: %w", Error(Stopped(), fmt.Errorf("inside: %w", Error(Unexpected(), cause))))
	if m, ok := Of(err); !ok || m != Stopped() {
		t.Errorf("%v, %v", m, ok)
	}
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("the log does not learn the cause: %v", err)
	}
	if text := English().Text(For(err)); strings.Contains(text, "fire") {
		t.Errorf("people read the cause: %s", text)
	}
	if m := For(cause); m != Unexpected() {
		t.Errorf("%v", m)
	}
	if m := For(nil); !m.IsZero() {
		t.Errorf("no error: %v", m)
	}
}

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// What people see as one character is kept or removed as a whole: a letter with its marks, a flag, a family.
func TestTextsAreCutBetweenCharacters(t *testing.T) {
	for _, character := range []string{"a", "契", "n\u0308\u0323", "🇨🇭", "👍🏽", "👩‍👩‍👧", "각"} {
		for most := 2; most < 12; most++ {
			short := strings.TrimSuffix(Shorten(strings.Repeat(character, 20), most), "…")
			if utf8.RuneCountInString(short) >= most || short != strings.Repeat(character, len(short)/len(character)) {
				t.Errorf("%q cut to %d: %q", character, most, short)
			}
		}
	}
}

func TestADateIsInTheWordsOfTheLanguage(t *testing.T) {
	for code, want := range map[string]string{"en": "22 March 2026", "de": "22. März 2026", "fr": "22 mars 2026", "es": "22 de marzo de 2026"} {
		p := must(NewPrinter(code))
		for _, m := range []Message{FromBackup("2026-03-22"), afterStoring(t, FromBackup("2026-03-22"))} {
			if got := p.Text(m); !strings.Contains(got, want) {
				t.Errorf("%s: %q, want %q", code, got, want)
			}
		}
		if got := p.Text(FromBackup("one day")); !strings.Contains(got, "one day") {
			t.Errorf("%s: what is no date: %q", code, got)
		}
	}
}

// afterStoring is m after writing and reading it.
func afterStoring(t *testing.T, m Message) (again Message) {
	t.Helper()
	b := must(m.MarshalJSON())
	noErr(t, again.UnmarshalJSON(b))
	return again
}

func TestWhatAPersonCanPutRightSaysHow(t *testing.T) {
	for _, m := range []Message{ServiceSilent(), ServiceNotFound(), ServiceUnreachable(), DiskFull("Signed"), FolderForbidden("Signed")} {
		if what, next := English().Lines(m); what == "" || next == "" {
			t.Errorf("%q says nothing to do", m)
		}
	}
}

func TestConsecutiveMessagesAreBriefToo(t *testing.T) {
	got := English().Brief(Then(Withdrew("olivia.office@example.com", "Lease"), WithdrawnSaying("Wrong version")))
	if want := "Withdrawn by olivia.office · “Wrong version”"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWhatIsBrieflySaidIsComplete(t *testing.T) {
	for id := range briefs {
		m := of(id, Text("Who", "Ana"), Text("Text", "Too late"), Names("Names", []string{"Ana", "Jan"}), Text("Path", "Plan (2).pdf"), Name("Document", "Annex/Plan.pdf"), Count("N", 2), Package("Package", "Lease"))
		for _, code := range Languages() {
			p := must(NewPrinter(code))
			if got := p.Brief(m); got == p.Text(m) || strings.Contains(got, "Lease") || strings.Contains(got, "Annex") || strings.Contains(got, "<no value>") {
				t.Errorf("%s: %s is %q", code, id, got)
			}
		}
	}
}
