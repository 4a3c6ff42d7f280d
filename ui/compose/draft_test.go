package compose

import (
	"slices"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/day"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/widgets"
)

// american is how days are written where the tests play, as far as nothing else is said.
var american = day.Of("")

func TestTheNameIsProposedFromTheFirstFile(t *testing.T) {
	for path, want := range map[string]string{
		"/x/Lease Sonnenweg 4.pdf": "Lease Sonnenweg 4",
		"/x/offer_2026__118.PDF":   "offer 2026 118",
		"/x/.pdf":                  "",
		"/x/Vertrag v1.2.docx":     "Vertrag v1.2",
	} {
		if got := proposedName(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestErrorsStandBesideTheirField(t *testing.T) {
	ana := office.Signer{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}
	with := func(change func(*office.Signer)) office.Signer { s := ana; change(&s); return s }
	good := []*document{{path: "/x/a.pdf", looked: true}}
	for name, c := range map[string]struct {
		docs    []*document
		each    bool
		name    string
		signers []office.Signer
		due     string
		want    wrong
	}{
		"fine":            {good, false, "A", []office.Signer{ana}, "2026-11-21", wrong{signer: []wrongSigner{{}}}},
		"nothing":         {nil, false, "", nil, "", wrong{files: "Add at least one document.", signers: "Add at least one signer."}},
		"bad file":        {[]*document{{looked: true, info: agent.FileInfo{Problem: message.FileEmpty("x")}}}, false, "A", []office.Signer{ana}, "", wrong{files: "The marked documents cannot be sent.", signer: []wrongSigner{{}}}},
		"still reading":   {[]*document{{path: "a"}}, false, "A", []office.Signer{ana}, "", wrong{files: "The documents are still loading. Try again in a moment.", signer: []wrongSigner{{}}}},
		"each by itself":  {append(good, good...), true, "", []office.Signer{ana}, "", wrong{signer: []wrongSigner{{}}}},
		"no package name": {good, false, "  ", []office.Signer{ana}, "", wrong{name: "Give the package a name.", signer: []wrongSigner{{}}}},
		"one name is enough": {good, false, "A", []office.Signer{with(func(s *office.Signer) { s.FirstName = "" })}, "",
			wrong{signer: []wrongSigner{{}}}},
		"no name": {good, false, "A", []office.Signer{{Email: "a@b.ch"}}, "", wrong{signer: []wrongSigner{{"Enter a name.", true}}}},
		"no address": {good, false, "A", []office.Signer{with(func(s *office.Signer) { s.Email = "" })}, "",
			wrong{signer: []wrongSigner{{text: "Enter an e-mail address."}}}},
		"half an address": {good, false, "A", []office.Signer{with(func(s *office.Signer) { s.Email = "ana@example" })}, "",
			wrong{signer: []wrongSigner{{text: "This is not an e-mail address."}}}},
		"a name in the address": {good, false, "A", []office.Signer{with(func(s *office.Signer) { s.Email = "Ana <ana@example.com>" })}, "",
			wrong{signer: []wrongSigner{{text: "This is not an e-mail address."}}}},
		"twice": {good, false, "A", []office.Signer{ana, with(func(s *office.Signer) { s.Email = "ANA@example.com" })}, "",
			wrong{signer: []wrongSigner{{}, {text: "This e-mail address is already in the list."}}}},
		"yesterday": {good, false, "A", []office.Signer{ana}, "2026-11-20", wrong{due: "This date has passed.", signer: []wrongSigner{{}}}},
		"no day":    {good, false, "A", []office.Signer{ana}, "next week", wrong{due: "Enter a date, for example 31 Dec 2026.", signer: []wrongSigner{{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := check(c.docs, office.NewPackage{Name: c.name, Signers: c.signers, Due: parseDue(american, c.due, officetest.Now)}, c.each, c.due, american, officetest.Now)
			if got.files != c.want.files || got.signers != c.want.signers || got.name != c.want.name || got.due != c.want.due ||
				!slices.Equal(got.signer, c.want.signer) && len(c.want.signer) > 0 {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestADueDayEndsAtMidnightInTheOffice(t *testing.T) {
	want := time.Date(2026, 11, 30, 22, 59, 59, 0, time.UTC)
	for _, text := range []string{"2026-11-30", " 2026-11-30 ", "30.11.2026", "30. 11. 2026"} {
		if got := parseDue(american, text, officetest.Now); !got.Equal(want) {
			t.Errorf("%q: %v", text, got.UTC())
		}
	}
	if got := parseDue(american, "some day", officetest.Now); !got.IsZero() {
		t.Errorf("got %v", got)
	}
}

func TestTheDueDateShowsWhatWasUnderstood(t *testing.T) {
	t.Cleanup(func() { i18n.Use("en") })
	for code, c := range map[string]struct{ typed, hint, field, asks, waits string }{
		"en": {"+6", "Fri 27 Nov", "27 Nov 2026", "Enter a date, for example 31 Dec 2026.", "For example 31 Dec 2026, or +14 for 14 days from today"},
		"de": {"1.3.", "Mo, 1. März 2027", "01.03.2027", "Geben Sie das Datum als TT.MM.JJJJ ein, zum Beispiel 31.12.2026.", "Zum Beispiel 31.12.2026, oder +14 für heute in 14 Tagen"},
		"fr": {"+14", "sam. 5 déc.", "05/12/2026", "Indiquez la date ainsi\u00a0: 31/12/2026 (jour/mois/année).", "Par exemple 31/12/2026, ou +14 pour dans 14\u00a0jours"},
		"es": {"+14", "sáb 5 dic", "05/12/2026", "Escriba la fecha como día/mes/año, por ejemplo 31/12/2026.", "Por ejemplo 31/12/2026, o +14 para dentro de 14\u00a0días"},
	} {
		t.Run(code, func(t *testing.T) {
			i18n.Use(code)
			b := newBench(t, officetest.Busy())
			due, field := b.screen.due, b.screen.dueField
			b.Window.Canvas().Focus(due)
			if field.Said() != c.waits {
				t.Errorf("an empty field asks for %q, want %q", field.Said(), c.waits)
			}
			b.write(c.typed)
			if field.Said() != c.hint || due.Text != c.typed {
				t.Errorf("while it is typed it says %q below %q", field.Said(), due.Text)
			}
			b.tab(1)
			if due.Text != c.field || field.Said() != c.hint {
				t.Errorf("the field reads %q above %q, want %q", due.Text, field.Said(), c.field)
			}
			due.SetText("some day")
			b.screen.Send()
			if field.Said() != c.asks || !field.IsWrong() {
				t.Errorf("it asks with %q, want %q", field.Said(), c.asks)
			}
		})
	}
}

func TestTheCalendarFillsInTheDayAsTheLanguageWritesIt(t *testing.T) {
	t.Cleanup(func() { i18n.Use("en") })
	i18n.Use("de")
	b := newBench(t, officetest.Busy())
	b.screen.pickDay() // the cursor is on today
	b.key(fyne.KeyRight)
	b.key(fyne.KeyReturn)
	if got := b.screen.due.Text; got != "22.11.2026" {
		t.Errorf("got %q", got)
	}
}

// A calendar whose days stood under the names of others would have people choose a wrong date.
func TestTheCalendarsWeekBeginsAsInTheCountry(t *testing.T) {
	for country, want := range map[string]string{"": "Mon", "GB": "Mon", "US": "Sun"} {
		b := newBench(t, officetest.Busy())
		b.Env.Country = country
		b.screen.pickDay()
		heads, columns := map[string]float32{}, map[string]float32{}
		for _, o := range test.LaidOutObjects(b.Window.Canvas().Overlays().Top()) {
			at := b.App.Driver().AbsolutePositionForObject(o).X + o.Size().Width/2
			switch o := o.(type) {
			case *widgets.Line:
				heads[o.Text] = at
			case *widgets.Button:
				columns[o.Text] = at
			}
		}
		for name, x := range heads {
			if len(name) == 3 && x < heads[want] {
				t.Errorf("%q: weeks begin on %s", country, name)
			}
		}
		if off := heads["Sat"] - columns["21"]; off < -2 || off > 2 { // today is one
			t.Errorf("%q: the 21st is %v beside Saturday", country, off)
		}
	}
}

func TestMovingKeepsTheOrderOfTheOthers(t *testing.T) {
	for _, c := range []struct {
		from, to int
		want     []int
	}{{0, 2, []int{2, 3, 1, 4}}, {3, 1, []int{1, 4, 2, 3}}, {0, -1, []int{1, 2, 3, 4}}, {3, 4, []int{1, 2, 3, 4}}, {1, 1, []int{1, 2, 3, 4}}} {
		if list := moved([]int{1, 2, 3, 4}, c.from, c.to); !slices.Equal(list, c.want) {
			t.Errorf("%d to %d: got %v, want %v", c.from, c.to, list, c.want)
		}
	}
}

func TestPastedPeopleAreTakenApart(t *testing.T) {
	ana := office.Signer{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}
	jan := office.Signer{FirstName: "Jan Peter", LastName: "Weber", Email: "jan@example.com"}
	for text, want := range map[string][]office.Signer{
		"Ana Ruiz <ana@example.com>":                                          {ana},
		"  \"Ana Ruiz\"   <ana@example.com>\n":                                {ana},
		"Ruiz, Ana <ana@example.com>":                                         {ana},
		"\"Ruiz, Ana\" <ana@example.com>; Weber, Jan Peter <jan@example.com>": {ana, jan},
		"Ana Ruiz <ana@example.com>, Jan Peter Weber <jan@example.com>,":      {ana, jan},
		"Ana Ruiz <ana@example.com>\r\nJan Peter Weber <jan@example.com>":     {ana, jan},
		"ana@example.com": {{Email: "ana@example.com"}},
		"Наталья Соколова <n@example.com>":      {{FirstName: "Наталья", LastName: "Соколова", Email: "n@example.com"}},
		"Cher <cher@example.com>":               {{FirstName: "Cher", Email: "cher@example.com"}},
		"Ana Ruiz":                              nil,
		"Ana <ana@example>":                     nil,
		"Ana <ana@example.com":                  nil,
		"write to ana@example.com":              nil,
		"Ana Ruiz <ana@example.com> and others": nil,
		"":                                      nil,
	} {
		if got := office.ReadPeople(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}

func TestPeopleAreOfferedByTheBeginningOfANameOrAddress(t *testing.T) {
	known := []office.Signer{{FirstName: "Ana", LastName: "Ruiz", Email: "ana.ruiz@example.com"},
		{FirstName: "Jan", LastName: "Weber", Email: "jw@example.com"}, {FirstName: "Anatol", LastName: "van Dam", Email: "avd@example.com"}}
	for text, want := range map[string]int{"an": 2, "ANA R": 1, "ruiz": 1, "jw@": 1, "dam": 1, "uiz": 0, "": 3, "ana.ruiz@example.com": 0} {
		if got := matching(known, text, nil); len(got) != want {
			t.Errorf("%q: got %v, want %d", text, got, want)
		}
	}
	if got := matching(known, "an", map[string]bool{"ana.ruiz@example.com": true}); len(got) != 1 || got[0].FirstName != "Anatol" {
		t.Errorf("who signs already is not offered again: %v", got)
	}
}

func TestProgressIsSharedOutOverTheFilesInTheirOrder(t *testing.T) {
	sizes := []int64{100, 0, 50}
	for name, c := range map[string]struct {
		state office.SendState
		want  []float64
	}{
		"nothing yet":   {office.SendState{}, []float64{0, 0, 0}},
		"in the first":  {office.SendState{State: office.DraftQueued, Sent: 25, Total: 150}, []float64{0.25, 0, 0}},
		"in the second": {office.SendState{State: office.DraftQueued, Sent: 125, Total: 150}, []float64{1, 0, 0.5}},
		"handed over":   {office.SendState{State: office.DraftAdding, Total: 150}, []float64{1, 0, 1}},
	} {
		if got := parts(c.state, sizes); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestEachDocumentCanBecomeItsOwnPackage(t *testing.T) {
	docs := []*document{{path: "/x/a_1.pdf", draft: "old"}, {path: "/x/b.pdf", draft: "old"}}
	d := office.NewPackage{Name: "All", Message: "hello"}
	one := pack(docs, d, false)
	if len(one) != 1 || one[0].draft.Name != "All" || !slices.Equal(one[0].draft.Files, []string{"/x/a_1.pdf", "/x/b.pdf"}) || !slices.Equal(one[0].draft.Replaces, []string{"old"}) {
		t.Errorf("one package: %+v", one[0])
	}
	each := pack(docs, d, true)
	if len(each) != 2 || each[0].draft.Name != "a 1" || each[1].draft.Name != "b" || each[1].draft.Message != "hello" ||
		!slices.Equal(each[1].draft.Files, []string{"/x/b.pdf"}) || len(each[0].draft.Replaces)+len(each[1].draft.Replaces) != 1 {
		t.Errorf("a package each: %+v %+v", each[0], each[1])
	}
}

func TestTheReferenceTravelsAsTheStoreReadsIt(t *testing.T) {
	if got := string(externalData(`A "1"`)); got != `{"reference":"A \"1\""}` {
		t.Errorf("got %s", got)
	}
	if externalData("") != nil || referenceIn(nil) != "" || referenceIn(externalData("K-7")) != "K-7" {
		t.Error("no reference is no data, and what was sent is read again")
	}
}
