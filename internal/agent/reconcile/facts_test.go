package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// teller has each thing told once, as announce does, and notes what is not.
type teller struct {
	*testService
	settings office.Settings
	since    time.Time
	silent   bool
	withheld []string
	woken    int
}

func tells(t *testing.T) *teller {
	x := &teller{testService: newService(t), settings: office.DefaultSettings()}
	x.deps.News, x.deps.Settings, x.deps.Since = x, func() office.Settings { return x.settings }, func() time.Time { return x.since }
	x.deps.Drafts = func() { x.woken++ }
	return x
}

func (x *teller) once(tx *store.Tx, key string, kind office.FactKind, p office.Package, who string) []office.Fact {
	if first, _ := tx.Once(key + "/" + p.ID + who); !first {
		return nil
	}
	return []office.Fact{{Key: key + who, Kind: kind, PackageID: p.ID, Title: message.SomeoneSigned(key + who)}}
}

func (x *teller) Declined(tx *store.Tx, p office.Package) (facts []office.Fact) {
	for _, s := range p.Signers {
		if !s.Declined.IsZero() {
			facts = append(facts, x.once(tx, "declined ", office.FactDeclined, p, s.ID)...)
		}
	}
	return facts
}

func (x *teller) Expired(tx *store.Tx, p office.Package) []office.Fact {
	return x.once(tx, "expired", office.FactOther, p, "")
}
func (x *teller) NotWithdrawn(tx *store.Tx, p office.Package) []office.Fact {
	return x.once(tx, "not withdrawn", office.FactOther, p, "")
}
func (x *teller) DueSoon(tx *store.Tx, p office.Package, _ time.Time) []office.Fact {
	return x.once(tx, "due", office.FactOther, p, "")
}
func (x *teller) ToldDue(tx *store.Tx, id string) bool {
	return tx.Told("due/" + id)
}
func (x *teller) Silent() bool { return x.silent }
func (x *teller) Withhold(_ *store.Tx, facts []office.Fact) {
	for _, f := range facts {
		x.withheld = append(x.withheld, f.Key)
	}
}

// keys are what people were told, in the order in which they were.
func (x *teller) keys() (keys []string) {
	for _, f := range x.told {
		keys = append(keys, f.Key)
	}
	x.told = nil
	return keys
}

// shown are the lines of the activity list, the newest first.
func (x *teller) shown() (lines []string) {
	x.t.Helper()
	all, err := x.Activity(99)
	noErr(x.t, err)
	for _, a := range all {
		lines = append(lines, string(a.Kind)+": "+a.Text.String())
	}
	return lines
}

func (x *teller) event(id string) (ev office.Event, known bool, err error) {
	err = x.Data.Update(func(tx *store.Tx) (err error) {
		ev, known, err = tx.Event(id)
		return err
	})
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
		"sent":                 {lease, `"action":"package_sent"`, "“Lease” was sent", message.Message{}},
		"sent by us":           {ours, `"action":"package_sent"`, "", message.Message{}},
		"executed, ours":       {ours, `"action":"package_executed"`, "Everyone has signed “Lease”", message.Message{}},
		"withdrawn":            {lease, `"action":"package_rescinded"`, "“Lease” was withdrawn", message.Message{}},
		"withdrawn by us, which its status tells": {wished, `"action":"package_rescinded"`, "", message.Message{}},
		"unknown":               {lease, `"action":"package_teleported"`, "package_teleported", message.EventUnknown()},
		"a document without id": {lease, `"action":"package_executed","documentId":"../d"`, "Everyone has signed “Lease”", message.EventDocumentUnusable()},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := tells(t)
			c.known.Created = x.Now().Add(-time.Hour)
			noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(c.known) }))
			ev := office.Event{ID: "e", PackageID: "p", Received: x.Now(), Body: []byte(`{"eventId":"e","packageId":"p",` + c.body + `}`)}
			noErr(t, x.Data.Update(func(tx *store.Tx) error { _, err := tx.AddEvent(ev); return err }))
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
			p, _, err := x.Data.Package("p")
			if err != nil || p.Events != 1 || p.NextCheck.After(x.Now().Add(x.Pace.Retry)) || x.woken < 1 {
				t.Errorf("known: %+v, %v", p, err)
			}
			expect(t, p.NextCheck.Equal(office.AtOnce), strings.HasPrefix(c.line, "Someone signed") || p.State == office.PackageExecuted, "people wait for its status: %v")
		})
	}
}

// Of the time that a backup does not know people were told then.
func TestAnEventFromBeforeTheStateWasRestoredIsNotToldAgain(t *testing.T) {
	for name, before := range map[string]bool{"before": true, "since": false} {
		x := tells(t)
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

// What the record calls the documents is told where nobody else has, and takes nothing back.
func TestARecordNamesDocumentsThatHaveNoName(t *testing.T) {
	x := tells(t)
	p := office.Package{ID: "p", Name: "Lease", State: office.PackageOpen, Inquiry: office.Inquiry{RecordPending: x.Now()},
		Documents: []office.Document{{ID: "d"}, {ID: "named", Name: "Annex", FileName: "annex.pdf"}}}
	noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) }))
	record := esign.Status{PackageID: "p", Documents: []esign.Document{{ID: "d", Name: "Rent", FileName: "rent.pdf"}, {ID: "named", Name: "Other", FileName: "other.pdf"}, {ID: "more", Name: "More"}}}
	noErr(t, x.noteRecord(recordQuestion{id: "p"}, &record))
	var names []string
	for _, d := range x.now().Documents {
		names = append(names, d.Name+" "+d.FileName)
	}
	expect(t, names, []string{"Rent rent.pdf", "Annex annex.pdf"}, "its documents are %q")
}

func TestAnEventThatNothingCanBeDoneWithIsKeptWhereItIsSeen(t *testing.T) {
	for body, want := range map[string]message.Message{
		`{"eventId":"e","action":"package_sent"}`: message.EventNamesNone(), `nonsense`: message.EventUnreadable(),
		`{"eventId":"e","action":"package_sent","packageId":"../p"}`: message.EventPackageUnusable(),
		`{"eventId":"e","action":"package_sent","packageId":"p"}`:    message.EventUnhandled(),
	} {
		x := tells(t)
		x.deps.Claim = func(*store.Tx, *office.Package, json.RawMessage) { panic("a bug") }
		x.sweep.wanted = false
		ev := office.Event{ID: "e", Received: x.Now(), Body: []byte(body)}
		noErr(t, x.Data.Update(func(tx *store.Tx) error { _, err := tx.AddEvent(ev); return err }))
		noErr(t, x.takeEvent(ev))
		stored, _, err := x.event("e")
		if err != nil || stored.Outcome != office.EventUnprocessable || stored.Reason != want || x.LeftAlone("event e") || !slices.Equal(x.shown(), []string{"problem: " + want.String()}) ||
			x.sweep.isWanted() != (want == message.EventNamesNone() || want == message.EventUnreadable()) {
			t.Errorf("%s: %+v, %v, shown %q", body, stored, err, x.shown())
		}
	}
	x := tells(t)
	noErr(t, x.Data.Close())
	if err := x.takeEvent(office.Event{ID: "e", Body: []byte(`{}`)}); err == nil {
		t.Error("an event that could not be recorded is taken for handled")
	}
}

// What had happened when the office first signed in is no news, and neither is what is old as a whole.
func TestWhatEndedIsToldOnceUnlessItIsOld(t *testing.T) {
	declined := func(at time.Time) []esign.Signer {
		return []esign.Signer{{ID: "s", Declined: true, DeclinedAt: at, StateTold: true}}
	}
	for name, c := range map[string]struct {
		change         func(x *teller, p *office.Package)
		status         func(now time.Time) esign.Status
		told, withheld []string
	}{
		"declined": {nil, func(now time.Time) esign.Status { return esign.Status{State: "open", Signers: declined(now)} }, []string{"declined s"}, nil},
		"declined long ago": {func(x *teller, _ *office.Package) { x.since = x.Now().Add(-time.Minute) }, func(now time.Time) esign.Status {
			return esign.Status{State: "open", Signers: declined(now.Add(-time.Hour))}
		}, nil, []string{"declined s"}},
		"expired":             {nil, func(time.Time) esign.Status { return esign.Status{State: "expired"} }, []string{"expired"}, nil},
		"expired long ago":    {func(x *teller, p *office.Package) { x.since, p.Due = x.Now(), x.Now().Add(-time.Hour) }, func(time.Time) esign.Status { return esign.Status{State: "expired"} }, nil, []string{"expired"}},
		"was expired before":  {func(_ *teller, p *office.Package) { p.State = office.PackageExpired }, func(time.Time) esign.Status { return esign.Status{State: "expired"} }, nil, nil},
		"of a backup":         {func(x *teller, p *office.Package) { p.Restored = x.Now() }, func(now time.Time) esign.Status { return esign.Status{State: "open", Signers: declined(now)} }, nil, []string{"declined s"}},
		"a year old, and new": {func(x *teller, p *office.Package) { p.Checked, p.Created = time.Time{}, x.Now().AddDate(-1, 0, 0) }, func(now time.Time) esign.Status { return esign.Status{State: "open", Signers: declined(now)} }, nil, []string{"declined s"}},
		"the wish came late":  {func(_ *teller, p *office.Package) { p.Withdrawal = &office.Withdrawal{State: office.WithdrawAsked} }, func(time.Time) esign.Status { return esign.Status{State: office.PackageExecuted} }, []string{"not withdrawn"}, nil},
		"the wish is done": {func(_ *teller, p *office.Package) {
			p.Withdrawal = &office.Withdrawal{State: office.WithdrawAsked, By: "ana"}
		}, func(time.Time) esign.Status { return esign.Status{State: "rescinded"} }, nil, nil},
		"nothing has happened": {nil, func(time.Time) esign.Status { return esign.Status{State: "open"} }, nil, nil},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			x := tells(t)
			time.Sleep(400 * 24 * time.Hour)
			p := office.Package{ID: "p", Name: "Lease", State: office.PackageOpen, Created: x.Now().Add(-time.Hour),
				Inquiry: office.Inquiry{Checked: x.Now().Add(-time.Minute)}, Signers: []office.Signer{{ID: "s", FirstName: "Ana"}}}
			if c.change != nil {
				c.change(x, &p)
			}
			noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) }))
			status := c.status(x.Now())
			status.PackageID = "p"
			for range 2 {
				asked, _, err := x.Data.Package("p")
				noErr(t, err)
				if noted, err := x.applyCheck(asked, status, true, false); err != nil || !noted {
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
			if after, _, err := x.Data.Package("p"); err != nil || after.Checked.IsZero() || !after.NextCheck.After(after.Checked) || !after.Restored.IsZero() || after.Withdrawal.Pending() {
				t.Errorf("%+v, %v", after, err)
			}
		})
	}
}

func TestAPackageThatIsDueSoonIsToldOnceEverAndOwedWhilePeopleWantToHearNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := tells(t)
		x.settings.DueDays = 3
		for id, days := range map[string]int{"soon": 10, "later": 30, "signed": 10, "archived": 10, "none": 0} {
			p := office.Package{ID: id, Name: "Lease", State: office.PackageOpen, Created: x.Now(), Signers: []office.Signer{{ID: "s"}}}
			if days > 0 {
				p.Due = x.Now().AddDate(0, 0, days)
			}
			if id == "archived" {
				p.Archived = &office.Archived{}
			}
			if id == "signed" {
				p.State = office.PackageExecuted
			}
			noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) }))
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
			x := tells(t)
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
	x := tells(t)
	shown := 0
	x.Signal = func(c office.Change) {
		if c == office.PackagesChanged {
			shown++
		}
	}
	p := office.Package{ID: "p", State: office.PackageOpen, Signers: []office.Signer{{ID: "s", FirstName: "Ana", Email: "ana@example.com"}}}
	noErr(t, x.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) }))
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
