package reconcile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/trytest"
)

// hears is a Service whose service hangs.
func hears(t *testing.T) *testService {
	t.Helper()
	x := newService(t)
	x.Session = looptest.Session{Client: clientOf(hanging{}, looptest.Token{}, "c")}
	return x
}

type hanging struct{}

func (hanging) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// handled is what was heard.
func (x *testService) handled() []string {
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.heard)
}

// arrives stores an event as the inbox does.
func (h *testService) arrives(id, action, packageID string) {
	h.t.Helper()
	body := fmt.Appendf(nil, `{"eventId":%q,"action":%q,"packageId":%q,"documentId":"d","signerId":"s"}`, id, action, packageID)
	ev := office.Event{ID: id, Action: action, PackageID: packageID, Received: h.Now(), Body: body}
	h.comes(ev)
	h.WakeEvents()
}

// Real events are far smaller than the inbox takes.
func TestLargeEventsThatWaitTakeLittleMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hears(t)
		const many = 24
		large := strings.Repeat("x", 1<<20-200)
		for n := range many {
			time.Sleep(time.Nanosecond)
			body := fmt.Appendf(nil, `{"eventId":"%d","action":%q,"packageId":"%d","documentId":"d","signerId":"s","externalId":%q}`, n, esign.DocumentSigned, n, large)
			h.comes(office.Event{ID: fmt.Sprint(n), Action: esign.DocumentSigned, PackageID: fmt.Sprint(n), Received: h.Now(), Body: body})
		}
		before := trytest.Held()
		defer looptest.Run(t, h.RunEvents)()
		synctest.Wait()
		if took := trytest.Held() - before; took > 30 {
			t.Errorf("%d MiB", took)
		}
		time.Sleep(time.Hour)
		expect(t, len(h.handled()), many, "%d were handled")
	})
}

// Events arrive while others are handled, the program starts anew, and the clock jumps.
func TestEachEventIsHandledOnceAndInItsPackagesOrder(t *testing.T) {
	for name, jumps := range map[string]bool{"by a steady clock": false, "by one that is set": true} {
		looptest.Bubble(t, name, func(t *testing.T) {
			h := hears(t)
			chance := rand.New(rand.NewPCG(1, 1))
			var mu sync.Mutex
			var wrong time.Duration
			h.Now = func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return time.Now().Add(wrong)
			}
			stop := looptest.Run(t, h.RunEvents)
			var want []string
			for n := range 300 {
				switch chance.IntN(30) {
				case 0:
					time.Sleep(time.Duration(chance.IntN(30)) * time.Second)
				case 1:
					synctest.Wait()
				case 2:
					stop()
					stop = looptest.Run(t, h.RunEvents)
				case 3:
					if jumps {
						mu.Lock()
						wrong += time.Duration(chance.IntN(7200)-3600) * time.Second
						mu.Unlock()
					}
				}
				time.Sleep(time.Nanosecond)
				id, of := fmt.Sprintf("e%03d", n), fmt.Sprintf("p%02d", chance.IntN(1+chance.IntN(80)))
				h.arrives(id, []string{esign.DocumentSigned, esign.PackageSent, esign.PackageExecuted}[chance.IntN(3)], of)
				want = append(want, of+"/"+id)
			}
			time.Sleep(time.Hour)
			got := h.handled()
			stop()
			sorted := strings.Compare // all of them
			if !jumps {
				sorted = func(a, b string) int { return strings.Compare(a[:3], b[:3]) }
			}
			slices.SortStableFunc(got, sorted)
			slices.SortStableFunc(want, sorted)
			if !slices.Equal(got, want) {
				t.Errorf("%d were handled, %d came:\n%v\n%v", len(got), len(want), got, want)
			}
		})
	}
}

func TestAPanicBetweenEventsIsAnErrorOfTheirLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hears(t)
		h.arrives("e", esign.PackageSent, "p")
		h.deps.Claim = func(tx *store.Tx, _ *office.Package, _ json.RawMessage) { tx.PutDoc("no JSON", make(chan int)) }
		if err := h.RunEvents(t.Context()); !errors.As(err, new(*json.UnsupportedTypeError)) {
			t.Errorf("what is not recorded is taken for handled: %v", err)
		}
		h.Now = func() time.Time { panic("a bug") }
		if err := h.RunEvents(t.Context()); err == nil {
			t.Error("nobody would start it again")
		}
	})
}

// When it was made is told by the event that says so, and by no other.
func TestAPackageThatAnEventMakesKnownIsAsOldAsThatSays(t *testing.T) {
	for action, told := range map[string]bool{esign.PackageAdd: true, esign.PackageSent: false} {
		for _, made := range []string{"2026-11-20T10:00:00Z", ""} {
			x := newService(t)
			ev := office.Event{ID: "e", PackageID: "p", Received: x.Now(), Body: fmt.Appendf(nil, `{"eventId":"e","action":%q,"packageId":"p","eventTime":%q}`, action, made)}
			x.comes(ev)
			noErr(t, x.handleEvent(ev))
			p, want := x.now(), ev.Received
			if told = told && made != ""; told {
				want = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
			}
			if !p.Created.Equal(want) || p.Met == told {
				t.Errorf("%s at %q: made %v, met then: %v", action, made, p.Created, p.Met)
			}
		}
	}
}

// The clock of a computer whose battery is empty begins in 2020. When the service last answered is the better witness.
func TestTheServicesTimesCountWhereTheClockStandsInThePast(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		right := time.Now().UTC()
		x.Now = func() time.Time { return time.Now().AddDate(-7, 0, 0) }
		x.Served.Note(right)
		for id, said := range map[string]time.Time{"p": right.Add(time.Minute), "nonsense": right.AddDate(73, 0, 0)} {
			body := fmt.Sprintf(`{"eventId":%q,"action":"package_executed","packageId":%q,"eventTime":%q}`, id, id, said.Format(time.RFC3339))
			ev := office.Event{ID: id, Action: esign.PackageExecuted, PackageID: id, Received: x.Now(), Body: []byte(body)}
			x.comes(ev)
			noErr(t, x.handleEvent(ev))
		}
		by := office.When{Time: right, By: true}
		if p := x.now(); p.Executed != (office.When{Time: right.Add(time.Minute)}) || p.Made() != by {
			t.Errorf("executed %v, made %v", p.Executed, p.Made())
		}
		if p := x.pack("nonsense"); p.Executed != by {
			t.Errorf("executed %v", p.Executed)
		}
		x.check(esign.Status{PackageID: "p", State: office.PackageExecuted, TimeCreated: right.Add(-time.Hour),
			Documents: []esign.Document{{ID: "d", Revisions: []esign.Revision{{SignerID: "a", IsSigned: true}}}}})
		if p := x.now(); p.Made() != (office.When{Time: right.Add(-time.Hour)}) || p.SignedAt("a") != by {
			t.Errorf("made %v, signed %v", p.Made(), p.SignedAt("a"))
		}
	})
}

// One signature is enough to see that events go elsewhere.
func TestASignatureThatNoEventToldOfIsOneThatWasMissed(t *testing.T) {
	missed := func(t *testing.T, behind time.Duration) {
		x := newService(t)
		x.Now = func() time.Time { return time.Now().Add(-behind) }
		x.known(office.PackageOpen)
		status := esign.Status{PackageID: "p", Name: "Lease", State: "open", Signers: []esign.Signer{{ID: "a"}, {ID: "j"}}, Documents: []esign.Document{{ID: "d"}}}
		check := func() {
			x.Served.Note(time.Now())
			x.check(status)
		}
		x.listening = x.Now()
		time.Sleep(time.Hour)
		check()
		time.Sleep(time.Hour)
		check()
		expect(t, x.missed, 0, "%d events are missed though nothing has happened")
		status.Documents[0].Revisions = []esign.Revision{{SignerID: "a", IsSigned: true}}
		check()
		expect(t, x.missed, 1, "%d events are missed")
		x.happens("e", esign.DocumentExecuted, "p", "d", "") // overtakes the event of the other signature
		status.Documents[0].Revisions = append(status.Documents[0].Revisions, esign.Revision{SignerID: "j", IsSigned: true})
		check()
		expect(t, x.missed, 1, "%d events are missed, though they do arrive")
		status.State = office.PackageExecuted
		check()
		expect(t, x.missed, 2, "%d events are missed since the last that arrived")
	}
	for name, behind := range map[string]time.Duration{"by a right clock": 0, "by one that is behind": 2 * time.Hour} {
		looptest.Bubble(t, name, func(t *testing.T) { missed(t, behind) })
	}
}

func TestWhatWasSignedLongAgoIsNoNewsByAClockThatStandsInThePast(t *testing.T) {
	looptest.Bubble(t, "", func(t *testing.T) {
		x := newService(t)
		right := time.Now().UTC()
		x.Now = func() time.Time { return time.Now().AddDate(-7, 0, 0) }
		x.Served.Note(right)
		made := right.AddDate(0, -6, 0)
		s := esign.Status{PackageID: "p", Name: "Lease", State: office.PackageOpen, TimeCreated: made, Signers: []esign.Signer{{ID: "a", FirstName: "Ana", TimeExecuted: made}, {ID: "j"}},
			Documents: []esign.Document{{ID: "d", Revisions: []esign.Revision{{SignerID: "a", IsSigned: true}, {SignerID: "j"}}}}}
		noErr(t, x.meetPackages("", []esign.Status{s}, time.Time{}, false))
		x.check(s)
		expect(t, len(x.told), 0, "%d facts are told")
	})
}

func TestWhatIsOwedAnEvent(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	since := now.Add(-8 * time.Hour)
	done := office.Package{State: office.PackageExecuted}
	for name, c := range map[string]struct {
		before    office.Package
		moved     bool
		listening time.Time
		want      bool
	}{
		"asked about since":                    {office.Package{Inquiry: office.Inquiry{Checked: now.Add(-time.Hour)}}, true, since, true},
		"asked about since, nothing new":       {office.Package{Inquiry: office.Inquiry{Checked: now.Add(-time.Hour)}}, false, since, false},
		"asked about before":                   {office.Package{Inquiry: office.Inquiry{Checked: since.Add(-time.Hour)}}, true, since, false},
		"asked about by a clock that was fast": {office.Package{Inquiry: office.Inquiry{Checked: now.Add(time.Hour)}}, true, since, false},
		"asked about since, events do arrive":  {office.Package{Inquiry: office.Inquiry{Checked: now.Add(-time.Hour), Arrived: true}}, true, since, false},
		"while nobody listened":                {office.Package{Inquiry: office.Inquiry{Checked: now.Add(-time.Hour)}}, true, time.Time{}, false},
		"met in the list, finished since":      {office.Package{Executed: office.When{Time: now.Add(-time.Hour)}}, true, since, true},
		"met in the list, finished just now":   {office.Package{Executed: office.When{Time: now.Add(-time.Minute)}}, true, since, false},
		"met in the list, finished before":     {office.Package{Executed: office.When{Time: since.Add(time.Minute)}}, true, since, false},
		"met in the list, nobody says when":    {office.Package{}, true, since, false},
		"met by its event":                     {office.Package{State: office.PackageExecuted, Executed: office.When{Time: now.Add(-time.Hour)}}, true, since, false},
	} {
		if got := missedEvent(c.before, done, c.moved, c.listening, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// keys are what people were told, in the order in which they were.
func (x *testService) keys() (keys []string) {
	for _, f := range x.told {
		keys = append(keys, f.Key)
	}
	x.told = nil
	return keys
}

// shown are the lines of the activity list, the newest first.
func (x *testService) shown() (lines []string) {
	x.t.Helper()
	all, err := x.Activity(99)
	noErr(x.t, err)
	for _, a := range all {
		lines = append(lines, string(a.Kind)+": "+a.Text.String())
	}
	return lines
}

func (x *testService) event(id string) (ev office.Event, known bool, err error) {
	x.update(func(tx *store.Tx) (err error) { ev, known, err = tx.Event(id); return err })
	return ev, known, err
}

func TestAnEventIsRecordedAsWhatItSays(t *testing.T) {
	lease := office.Package{ID: "p", Name: "Lease", State: office.PackageOpen, Signers: []office.Signer{{ID: "s", FirstName: "Ana"}}, Documents: []office.Document{{ID: "d", Name: "Annex"}, {ID: "d2"}, {ID: "d3", Name: "Lease"}}}
	plain, ours, wished := lease, lease, lease
	plain.Documents = plain.Documents[:1]
	ours.Origin, wished.Withdrawal = office.MadeHere, &office.Withdrawal{State: office.WithdrawAsked, By: "ana@example.com", Asked: time.Now()}
	for name, c := range map[string]struct {
		known office.Package
		body  string
		line  string // of the activity; "" for none
		wrong message.Message
	}{
		"signed, of several":   {lease, `"action":"document_signed","documentId":"d","signerId":"s"`, "Ana signed “Annex” in “Lease”", message.Message{}},
		"by somebody":          {lease, `"action":"document_signed","documentId":"d","signerId":"x"`, "Someone signed “Annex” in “Lease”", message.Message{}},
		"signed, the only one": {plain, `"action":"document_signed","documentId":"d","signerId":"s"`, "Ana signed “Lease”", message.Message{}},
		"the one, by somebody": {plain, `"action":"document_signed","documentId":"d"`, "Someone signed “Lease”", message.Message{}},
		"a document executed":  {lease, `"action":"document_executed","documentId":"d"`, "Everyone has signed “Annex” in “Lease”", message.Message{}},
		"a nameless one":       {lease, `"action":"document_executed","documentId":"d2"`, "Everyone has signed a document in “Lease”", message.Message{}},
		"called the same":      {lease, `"action":"document_executed","documentId":"d3"`, "Everyone has signed a document in “Lease”", message.Message{}},
		"executed":             {lease, `"action":"package_executed"`, "Everyone has signed “Lease”", message.Message{}},
		"added":                {lease, `"action":"package_add"`, "“Lease” was created", message.Message{}},
		"sent":                 {lease, `"action":"package_sent"`, "“Lease” was sent to Ana", message.Message{}},
		"sent by us":           {ours, `"action":"package_sent"`, "", message.Message{}},
		"executed, ours":       {ours, `"action":"package_executed"`, "Everyone has signed “Lease”", message.Message{}},
		"withdrawn":            {lease, `"action":"package_rescinded"`, "“Lease” was withdrawn", message.Message{}},
		"withdrawn by us, which its status tells": {wished, `"action":"package_rescinded"`, "", message.Message{}},
		"unknown":               {lease, `"action":"package_teleported"`, "package_teleported", message.EventUnknown()},
		"a document without id": {lease, `"action":"package_executed","documentId":"../d"`, "Everyone has signed “Lease”", message.EventDocumentUnusable()},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			c.known.Created = x.Now().Add(-time.Hour)
			x.keeps(c.known)
			ev := office.Event{ID: "e", PackageID: "p", Received: x.Now(), Body: []byte(`{"eventId":"e","packageId":"p",` + c.body + `}`)}
			x.comes(ev)
			for range 2 {
				noErr(t, x.takeEvent(ev))
			}
			lines := x.shown()
			if (len(lines) == 1) != (c.line != "") || c.line != "" && !strings.Contains(lines[0], c.line) {
				t.Errorf("shown: %q", lines)
			}
			stored, _, err := x.event("e")
			want := office.EventHandled
			if c.wrong == message.EventDocumentUnusable() {
				want = office.EventUnprocessable
			}
			if err != nil || stored.Outcome != want || stored.Reason != c.wrong || stored.Handled.IsZero() {
				t.Errorf("stored: %+v, %v", stored, err)
			}
			p := x.now()
			if p.Events != 1 || p.NextCheck.After(x.Now().Add(x.Pace.Retry)) || x.woken < 1 {
				t.Errorf("known: %+v", p)
			}
			expect(t, p.NextCheck.Equal(office.AtOnce), strings.HasPrefix(c.line, "Someone signed") || p.State == office.PackageExecuted, "people wait for its status: %v")
		})
	}
}

// Of the time that a backup does not know people were told then.
func TestAnEventFromBeforeTheStateWasRestoredIsNotToldAgain(t *testing.T) {
	for name, before := range map[string]bool{"before": true, "since": false} {
		x := newService(t)
		received := x.Now()
		p := office.Package{ID: "p", State: office.PackageOpen, Created: received, Signers: []office.Signer{{ID: "s"}}, Documents: []office.Document{{ID: "d"}}}
		if p.Restored = received.Add(-time.Hour); before {
			p.Restored = received.Add(time.Hour)
		}
		ev := office.Event{ID: "e", PackageID: "p", Received: received, Body: []byte(`{"eventId":"e","packageId":"p","action":"document_signed","documentId":"d","signerId":"s"}`)}
		noErr(t, x.Data.Update(func(tx *store.Tx) error { _, err := tx.AddEvent(ev); return errors.Join(err, tx.PutPackage(p)) }))
		noErr(t, x.takeEvent(ev))
		if told := len(x.keys()); (told == 0) != before || (len(x.withheld) == 0) == before {
			t.Errorf("%s: told %d, withheld %q", name, told, x.withheld)
		}
	}
}

// A hub passes on once more what a desk had before its state was restored. The two clocks may differ a little.
func TestWhatAnEventSaysFromJustBeforeTheStateWasRestoredIsToldAsKnown(t *testing.T) {
	for ago, want := range map[time.Duration]string{time.Hour: "", 5 * time.Second: "again", -5 * time.Second: "news"} {
		x := newService(t)
		at := x.Now()
		noErr(t, x.Data.Update(func(tx *store.Tx) error { data.MarkRestored(tx, at); return nil }))
		ev := office.Event{ID: "e", PackageID: "p", Received: at.Add(time.Minute), Body: fmt.Appendf(nil,
			`{"eventId":"e","packageId":"p","action":"document_signed","documentId":"d","signerId":"s","eventTime":%q}`, at.Add(-ago).Format(time.RFC3339))}
		x.comes(ev)
		noErr(t, x.takeEvent(ev))
		said := ""
		for _, f := range x.told {
			said = map[bool]string{true: "again", false: "news"}[f.Again && f.CaughtUp]
		}
		if said != want {
			t.Errorf("%v before: %q", ago, said)
		}
	}
}

// What the record calls the documents is told where nobody else has, and takes nothing back.
func TestARecordNamesDocumentsThatHaveNoName(t *testing.T) {
	x := newService(t)
	p := office.Package{ID: "p", Name: "Lease", State: office.PackageOpen, Inquiry: office.Inquiry{RecordPending: x.Now()},
		Documents: []office.Document{{ID: "d"}, {ID: "named", Name: "Annex", FileName: "annex.pdf"}}}
	x.keeps(p)
	record := esign.Status{PackageID: "p", Documents: []esign.Document{{ID: "d", Name: "Rent", FileName: "rent.pdf"}, {ID: "named", Name: "Other", FileName: "other.pdf"}, {ID: "more", Name: "More"}}}
	noErr(t, x.noteRecord(recordQuestion{id: "p"}, &record))
	var names []string
	for _, d := range x.now().Documents {
		names = append(names, d.Name+" "+d.FileName)
	}
	expect(t, names, []string{"Rent rent.pdf", "Annex annex.pdf"}, "its documents are %q")
}

// The package is spelled in capitals, so ids that nobody else has told may be, too: they are shown, though nothing is kept under them.
func TestAnEventIsShownWithTheIDsItCameWith(t *testing.T) {
	x := newService(t)
	const id = "0e1f2a3b-1111-4222-8333-444455556666"
	x.keeps(office.Package{ID: id, Name: "Lease", State: office.PackageOpen, Documents: []office.Document{{ID: "d"}}, Signers: []office.Signer{{ID: "s", FirstName: "Ana"}}})
	for document, signer := range map[string]string{"d": "s", "D-2": "S-2"} {
		x.happens("event "+document, esign.DocumentSigned, strings.ToUpper(id), document, signer)
	}
	for _, l := range must(x.EventLines(office.EventQuery{})) {
		if known := l.ID == "event d"; "event "+l.DocumentID != l.ID || (l.SignerID == "s") != known || (l.SignerID == "S-2") == known || (l.Signer == "Ana") != known || l.Package != "Lease" {
			t.Errorf("%+v", l)
		}
	}
}

// Whose turn it is the status has said, and a record may leave out.
func TestWhoseTurnItIsStaysWhereTheRecordDoesNotSay(t *testing.T) {
	x := newService(t)
	signers := func(next string) (list []esign.Signer) {
		for _, id := range []string{"a", "b"} {
			list = append(list, esign.Signer{ID: id, Email: id + "@example.com", IsNext: id == next})
		}
		return list
	}
	for next, want := range map[string]string{"": "a", "b": "b"} {
		x.keeps(office.Package{ID: "p", Name: "Lease", State: office.PackageOpen, Inquiry: office.Inquiry{RecordPending: x.Now()}, Signing: office.Signing{NextSigners: []string{"a"}}})
		noErr(t, x.noteRecord(recordQuestion{id: "p"}, &esign.Status{PackageID: "p", Type: "concurrent", Signers: signers(next)}))
		expect(t, x.now().NextSigners, []string{want}, "whose turn it is, where the record says %[2]q: %[1]q", next)
	}
}

// The service cannot be asked about such a package, and people are told where to look.
func TestAPackageWhoseIDCannotBeUsedSaysSoAndIsLeftAlone(t *testing.T) {
	x := newService(t)
	x.known(office.PackageOpen)
	for range 2 {
		noErr(t, x.notePackage(t.Context(), x.now(), esign.Status{}, &esign.Error{Kind: esign.Invalid}, false))
	}
	p, lines := x.now(), must(x.Activity(9))
	if left := p.NextCheck.Sub(x.Now()); p.Problem.IsZero() || left < loop.UnusablePause-time.Minute || len(lines) != 1 || lines[0].Text != p.Problem {
		t.Errorf("the problem is %v, asked again in %v, told %+v", p.Problem, left, lines)
	}
}

func TestAnEventThatNothingCanBeDoneWithIsKeptWhereItIsSeen(t *testing.T) {
	for body, want := range map[string]message.Message{
		`{"eventId":"e","action":"package_sent"}`: message.EventNamesNone(), `nonsense`: message.EventUnreadable(),
		`{"eventId":"e","action":"package_sent","packageId":"../p"}`: message.EventPackageUnusable(),
		`{"eventId":"e","action":"package_sent","packageId":"p"}`:    message.EventUnhandled(),
	} {
		x := newService(t)
		x.deps.Claim = func(*store.Tx, *office.Package, json.RawMessage) { panic("a bug") }
		x.sweep.wanted = false
		ev := office.Event{ID: "e", Received: x.Now(), Body: []byte(body)}
		x.comes(ev)
		noErr(t, x.takeEvent(ev))
		stored, _, err := x.event("e")
		if err != nil || stored.Outcome != office.EventUnprocessable || stored.Reason != want || x.LeftAlone("event e") || !slices.Equal(x.shown(), []string{"problem: " + want.String()}) ||
			x.sweep.isWanted() != (want == message.EventNamesNone() || want == message.EventUnreadable()) {
			t.Errorf("%s: %+v, %v, shown %q", body, stored, err, x.shown())
		}
	}
	x := newService(t)
	noErr(t, x.Data.Close())
	if err := x.takeEvent(office.Event{ID: "e", Body: []byte(`{}`)}); err == nil {
		t.Error("an event that could not be recorded is taken for handled")
	}
}

// What had happened when the office first signed in is no news, and neither is what is old as a whole.
func TestWhatEndedIsToldOnceUnlessItIsOld(t *testing.T) {
	now := time.Date(2001, 2, 4, 0, 0, 0, 0, time.UTC)
	declined := func(at time.Time) esign.Status {
		return esign.Status{State: "open", Signers: []esign.Signer{{ID: "s", Declined: true, DeclinedAt: at, StateTold: true}}}
	}
	expired := esign.Status{State: "expired"}
	wish := func(_ *testService, p *office.Package) {
		p.Withdrawal = &office.Withdrawal{State: office.WithdrawAsked, By: "ana"}
	}
	nothing := func(*testService, *office.Package) {}
	for name, c := range map[string]struct {
		change         func(x *testService, p *office.Package)
		status         esign.Status
		told, withheld []string
	}{
		"declined":             {nothing, declined(now), []string{"declined s"}, nil},
		"declined long ago":    {func(x *testService, _ *office.Package) { x.since = now.Add(-time.Minute) }, declined(now.Add(-time.Hour)), nil, []string{"declined s"}},
		"expired":              {nothing, expired, []string{"expired"}, nil},
		"expired long ago":     {func(x *testService, p *office.Package) { x.since, p.Due = now, now.Add(-time.Hour) }, expired, nil, []string{"expired"}},
		"was expired before":   {func(_ *testService, p *office.Package) { p.State = office.PackageExpired }, expired, nil, nil},
		"of a backup":          {func(_ *testService, p *office.Package) { p.Restored = now }, declined(now), nil, []string{"declined s"}},
		"a year old, and new":  {func(_ *testService, p *office.Package) { p.Checked, p.Created = time.Time{}, now.AddDate(-1, 0, 0) }, declined(now), nil, []string{"declined s"}},
		"the wish came late":   {wish, esign.Status{State: office.PackageExecuted}, []string{"not withdrawn"}, nil},
		"the wish is done":     {wish, esign.Status{State: "rescinded"}, nil, nil},
		"nothing has happened": {nothing, esign.Status{State: "open"}, nil, nil},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			time.Sleep(now.Sub(x.Now()))
			p := office.Package{ID: "p", Name: "Lease", State: office.PackageOpen, Created: x.Now().Add(-time.Hour),
				Inquiry: office.Inquiry{Checked: x.Now().Add(-time.Minute)}, Signers: []office.Signer{{ID: "s", FirstName: "Ana"}}}
			c.change(x, &p)
			x.keeps(p)
			c.status.PackageID = "p"
			for range 2 {
				if noted, err := x.applyCheck(x.now(), c.status, true, false); err != nil || !noted {
					t.Fatal(noted, err)
				}
				time.Sleep(time.Second)
			}
			for _, f := range x.told {
				if f.CaughtUp == (f.Kind == office.FactDeclined) {
					t.Errorf("%s waits for a summary: %v", f.Key, f.CaughtUp)
				}
			}
			told := x.keys()
			expect(t, told, c.told, "told %q")
			expect(t, x.withheld, c.withheld, "withheld %q")
			lines := len(c.told)
			if strings.HasPrefix(name, "the wish") {
				lines = 1
			}
			expect(t, len(x.shown()), lines, "%d lines are shown")
			if after := x.now(); after.Checked.IsZero() || !after.NextCheck.After(after.Checked) || !after.Restored.IsZero() || after.Withdrawal.Pending() {
				t.Errorf("%+v", after)
			}
		})
	}
}

func TestAPackageThatIsDueSoonIsToldOnceEverAndOwedWhilePeopleWantToHearNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		x.settings.DueDays = 3
		soon, signed := x.Now().AddDate(0, 0, 10), office.PackageState(office.PackageExecuted)
		for _, p := range []office.Package{{ID: "soon", Due: soon}, {ID: "later", Due: soon.AddDate(0, 0, 20)}, {ID: "signed", Due: soon, State: signed},
			{ID: "archived", Due: soon, Archived: &office.Archived{}}, {ID: "none"}} {
			p.Name, p.State, p.Created, p.Signers = "Lease", cmp.Or(p.State, office.PackageOpen), x.Now(), []office.Signer{{ID: "s"}}
			x.keeps(p)
		}
		look := func(want ...string) {
			t.Helper()
			noErr(t, x.TellDueSoon())
			var told []string
			for _, f := range x.told {
				told = append(told, f.PackageID)
			}
			x.told = nil
			expect(t, told, want, "told %q")
		}
		look()
		time.Sleep(8 * 24 * time.Hour)
		x.silent = true
		look()
		x.silent, x.settings.DueDays = false, office.NoDueDays
		look()
		x.settings.DueDays = 3
		look("soon")
		look()
		expect(t, len(x.shown()), 1, "%d lines are shown")
		noErr(t, x.Data.Close())
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := x.RunDeadlines(ctx); err == nil {
			t.Error("what cannot be read is taken for nothing")
		}
	})
}

// The status that a restored package is asked for ends that nothing of it is told; the program may end before its record is asked for.
func TestADeclineFromBeforeTheStateWasRestoredIsNotToldAgain(t *testing.T) {
	for name, c := range map[string]struct {
		declined time.Duration // after the state was restored
		heard    bool          // that nobody had declined, since then
		want     []string
	}{
		"before": {-2 * time.Minute, false, nil}, "since": {time.Minute, false, []string{"declined s"}},
		"by another clock": {-30 * time.Second, false, []string{"declined s"}}, "by a wrong clock": {-time.Hour, true, []string{"declined s"}},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := newService(t)
			restored := x.Now()
			p := office.Package{ID: "p", State: office.PackageOpen, Created: restored.Add(-time.Hour), Signers: []office.Signer{{ID: "s"}}}
			noErr(t, x.Data.Update(func(tx *store.Tx) error {
				tx.PutPackage(p)
				data.MarkRestored(tx, restored)
				MarkRestored(tx, restored)
				return nil
			}))
			x.check(esign.Status{PackageID: "p", Name: "Lease", State: "open", Signers: []esign.Signer{{ID: "s"}}})
			if c.heard {
				time.Sleep(time.Minute)
				noErr(t, x.noteRecord(recordQuestion{id: "p", tell: true}, &esign.Status{PackageID: "p", Signers: []esign.Signer{{ID: "s"}}}))
			}
			x.check(esign.Status{PackageID: "p", Name: "Lease", State: "open", Signers: []esign.Signer{{ID: "s"}}}) // by the next run
			declined := esign.Signer{ID: "s", Declined: true, DeclinedAt: restored.Add(c.declined)}
			time.Sleep(time.Hour)
			noErr(t, x.noteRecord(recordQuestion{id: "p", tell: true}, &esign.Status{PackageID: "p", Signers: []esign.Signer{declined}}))
			if got := x.keys(); !slices.Equal(got, c.want) || len(x.shown()) != len(c.want) {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}

func TestEachMailThatIsBegunIsALineOfTheTimeline(t *testing.T) {
	x := newService(t)
	shown := 0
	x.Signal = func(c office.Change) {
		if c == office.PackagesChanged {
			shown++
		}
	}
	x.keeps(office.Package{ID: "p", State: office.PackageOpen, Signers: []office.Signer{{ID: "s", FirstName: "Ana", Email: "ana@example.com"}}})
	for _, address := range []string{"ana@example.com", "Ana@example.com", "nobody@example.com"} {
		noErr(t, x.NoteLetter("p", address))
	}
	noErr(t, x.NoteLetter("none", "ana@example.com"))
	row, _, err := x.Package("p")
	noErr(t, err)
	if len(row.History) != 2 || shown < 2 || row.Tell(row.History[1]).String() != "E-mail to Ana begun in the mail program" {
		t.Errorf("the timeline is %+v", row.History)
	}
}

// The computer's clock is three hours behind, always. After a restore the service sends an old event again, which makes the package known; ten minutes later somebody signs it.
func TestASignatureAfterTheRestoringIsToldThoughTheClockIsBehind(t *testing.T) {
	for _, behind := range []time.Duration{0, 3 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			x := newService(t)
			x.Now = func() time.Time { return time.Now().Add(-behind) }
			x.update(func(tx *store.Tx) error { data.MarkRestored(tx, x.Now()); return nil })
			x.Served.Note(time.Now())
			event := func(id, signer string, at time.Time) {
				body, _ := json.Marshal(map[string]string{"eventId": id, "action": esign.DocumentSigned, "packageId": "p", "documentId": "d", "signerId": signer, "eventTime": at.UTC().Format(time.RFC3339)})
				ev := office.Event{ID: id, Action: esign.DocumentSigned, PackageID: "p", Received: x.Now(), Body: body}
				x.comes(ev)
				noErr(t, x.handleEvent(ev))
			}
			event("old", "ana", time.Now().Add(-time.Hour))
			time.Sleep(10 * time.Minute)
			x.Served.Note(time.Now())
			event("new", "ben", time.Now())
			if len(x.told) != 1 || x.told[0].Who != "ben" {
				t.Errorf("clock %v behind: of what Ben signed after the restore, people are told %+v; withheld %d", behind, x.told, len(x.withheld))
			}
		})
	}
}
