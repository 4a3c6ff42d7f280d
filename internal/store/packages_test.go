package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
)

func putPackages(t *testing.T, s *Store, all ...office.Package) {
	t.Helper()
	update(t, s, func(tx *Tx) error {
		for _, p := range all {
			if err := tx.PutPackage(p); err != nil {
				return err
			}
		}
		return nil
	})
}

func pack(t *testing.T, s *Store, id string) office.Package {
	t.Helper()
	return read(t, s, func(tx *Tx) (office.Package, error) { p, _, err := tx.Package(id); return p, err })
}

func packageIDs(all []office.Package) string {
	return names(all, func(p office.Package) string { return p.ID })
}

func TestAPackageComesBackAsItWasPut(t *testing.T) {
	s := newTest(t)
	want := office.Package{
		ID: "p", Name: "Müller \u202e & Söhne", Origin: office.MadeHere, Source: office.Source{DraftID: "d",
			ExternalData: []byte(`null`)}, State: "open", Sequential: true,
		Signers:   []office.Signer{{ID: "s1", FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}},
		Documents: []office.Document{{ID: "d1", SignedBy: []string{"s1"}}}, Signing: office.Signing{NextSigners: []string{"s1"}},
		Created: day, Due: at0(time.Hour), Inquiry: office.Inquiry{Checked: day,
			NextCheck: at0(time.Minute)}, History: []office.HistoryEntry{{Time: office.When{Time: day}, What: "sent"}},
	}
	putPackages(t, s, want)
	want.Name, want.SignersDone, want.SignersTotal = "Müller & Söhne", 1, 1 // office.Package.Derived
	got := pack(t, s, "p")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if ok := read(t, s, func(tx *Tx) (bool, error) { _, ok, err := tx.Package("other"); return ok, err }); ok {
		t.Error("an unknown package is known")
	}
}

func TestPackagesComeNewestFirstAndStopWhenTold(t *testing.T) {
	s := newTest(t)
	for i, id := range []string{"b", "c", "a"} {
		putPackages(t, s, office.Package{ID: id, Created: at0(time.Duration(i) * time.Hour)})
	}
	putPackages(t, s, office.Package{ID: "b", Name: "changed", Created: day}) // a change does not move it
	list := func(limit int) string {
		var got []office.Package
		view(t, s, func(tx *Tx) error {
			return tx.Packages(func(p office.Package) bool { got = append(got, p); return len(got) < limit })
		})
		return packageIDs(got)
	}
	expect(t, list(10), "a c b", "order %s")
	expect(t, list(2), "a c", "first two %s")
}

func TestAStoredStateHasOneFormHoweverItWasSpelled(t *testing.T) {
	s := newTest(t)
	putPackages(t, s, office.Package{ID: "p", State: " Executed", Created: day})
	// Another computer may have written it like this.
	var old office.Package
	if err := json.Unmarshal([]byte(`{"id":"q","state":"EXPIRED "}`), &old); err != nil || old.State != office.PackageExpired || !old.Final() {
		t.Errorf("%+v, %v", old, err)
	}
	line, err := decodeLine(encodeLine(office.PackageLine{ID: "q", State: "Rescinded"}))
	if err != nil || line.State != office.PackageRescinded {
		t.Errorf("%+v, %v", line, err)
	}
	if p := pack(t, s, "p"); p.State != office.PackageExecuted {
		t.Errorf("%+v", p)
	}
	if c := read(t, s, (*Tx).PackageCounts); c != (PackageCounts{Total: 1, Executed: 1}) {
		t.Errorf("%+v", c)
	}
}

// Nobody can complete a package that somebody declined: it is not waiting for signatures.
func TestADeclinedPackageIsNotCountedAsWaiting(t *testing.T) {
	s := newTest(t)
	jan := office.Signer{ID: "j", Declined: office.When{Time: day}}
	gone := office.Package{ID: "gone", State: "open", Inquiry: office.Inquiry{Gone: true}, Signers: []office.Signer{jan}, Created: day}
	archived := office.Package{ID: "archived", State: "open", Signers: []office.Signer{jan}, Created: day}
	archived.Archive(true)
	putPackages(t, s,
		office.Package{ID: "waits", State: "open", Created: day},
		office.Package{ID: "declined", State: "open", Signers: []office.Signer{jan}, Created: day},
		office.Package{ID: "told by the state", State: "declined", Created: day},
		office.Package{ID: "signed in the end", State: "executed", Signers: []office.Signer{jan}, Created: day},
		office.Package{ID: "expired", State: "expired", Signers: []office.Signer{jan}, Created: day},
		gone, archived)
	want := PackageCounts{Total: 7, Open: 1, Declined: 2, Executed: 1}
	if c := read(t, s, (*Tx).PackageCounts); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	putPackages(t, s, office.Package{ID: "declined", State: "open", Created: day}) // a person who is asked again no longer counts as declined
	want.Open, want.Declined = 2, 1
	if c := read(t, s, (*Tx).PackageCounts); c != want {
		t.Errorf("after one is asked again: %+v, want %+v", c, want)
	}
}

func TestWhoAsksForOpenPackagesGetsThoseAlone(t *testing.T) {
	s := newTest(t)
	putPackages(t, s,
		office.Package{ID: "waits", State: "open", Created: day},
		office.Package{ID: "is gone", State: "open", Inquiry: office.Inquiry{Gone: true}, Created: day},
		office.Package{ID: "to be saved", State: "executed", Created: day},
		office.Package{ID: "saved", State: "executed", Saving: office.Saving{Planned: true, Saved: true}, Created: day},
		office.Package{ID: "expired", State: "expired", Created: day},
	)
	var got []string
	view(t, s, func(tx *Tx) error { return tx.OpenLines(func(l office.PackageLine) { got = append(got, l.ID) }) })
	slices.Sort(got)
	if want := []string{"is gone", "to be saved", "waits"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestOnlyPackagesThatAreNotFinalAreAskedAbout(t *testing.T) {
	cases := []struct {
		p     office.Package
		final bool
	}{
		{office.Package{State: "open"}, false},
		{office.Package{State: ""}, false},
		{office.Package{State: "something-new"}, false},
		{office.Package{State: "executed"}, false},
		{office.Package{State: "executed", Saving: office.Saving{Planned: true}}, true},
		{office.Package{State: "Executed", Saving: office.Saving{Planned: true}}, true},
		{office.Package{State: "open", Saving: office.Saving{Planned: true}}, false},
		{office.Package{State: "expired"}, true},
		{office.Package{State: "rescinded"}, true},
		{office.Package{State: "open", Inquiry: office.Inquiry{Gone: true}}, false},
		{office.Package{State: "executed", Inquiry: office.Inquiry{Gone: true}}, false},
		{office.Package{State: "executed", Inquiry: office.Inquiry{Gone: true}, Saving: office.Saving{Planned: true}}, true},
		{office.Package{State: "expired", Inquiry: office.Inquiry{Gone: true}}, true},
	}
	s := newTest(t)
	var want []string
	for i, c := range cases {
		c.p.ID = fmt.Sprint("p", i)
		c.p.NextCheck = at0(-time.Duration(i) * time.Minute) // later ones are longer overdue
		putPackages(t, s, c.p)
		if got := pack(t, s, c.p.ID); got.Final() != c.final {
			t.Errorf("%+v: final %v, want %v", got, got.Final(), c.final)
		}
		if !c.final {
			want = append([]string{c.p.ID}, want...)
		}
	}
	due := func(at time.Time, limit int) string {
		return packageIDs(read(t, s, func(tx *Tx) ([]office.Package, error) { return tx.PackagesDue(Due{Now: at}, limit) }))
	}
	if got := due(day, 100); got != strings.Join(want, " ") {
		t.Errorf("due: %s, want %v", got, want)
	}
	if got := due(day.Add(-time.Second), 100); strings.Contains(got+" ", "p0 ") {
		t.Errorf("due a second early: %s", got)
	}
	if got := due(day, 2); got != strings.Join(want[:2], " ") {
		t.Errorf("the two longest due: %s", got)
	}
	if got := packageIDs(read(t, s, (*Tx).AllOpen)); got != strings.Join(want, " ") {
		t.Errorf("all open: %s", got)
	}
	if c := read(t, s, (*Tx).PackageCounts); c != (PackageCounts{Total: 13, Open: 5, Executed: 5}) {
		t.Errorf("%+v", c)
	}
}

func TestWhatTheServiceDoesNotHandOutIsFoundByHowLong(t *testing.T) {
	s := newTest(t)
	putPackages(t, s,
		office.Package{ID: "long", State: "executed", Saving: office.Saving{Refused: at0(-2 * time.Hour)}},
		office.Package{ID: "short", State: "executed", Saving: office.Saving{Refused: at0(-time.Minute)}},
		office.Package{ID: "never", State: "executed"},
		office.Package{ID: "planned", State: "executed", Saving: office.Saving{Planned: true, Refused: at0(-2 * time.Hour)}},
		office.Package{ID: "open", State: "open", Saving: office.Saving{Refused: at0(-2 * time.Hour)}})
	for id, refused := range map[string]time.Duration{"long": -3 * time.Hour, "short": -time.Minute, "done": -3 * time.Hour} {
		j := office.Job{PackageID: id, Kind: "executed", Folder: "/f", Target: id, Refused: at0(refused)}
		plan(t, s, j)
		if j.State = office.JobFailed; id == "done" {
			j.State = office.JobDone
		}
		putJob(t, s, j)
	}
	for since, want := range map[time.Duration]string{-time.Hour: "long", 0: "long short", -4 * time.Hour: ""} {
		if got := packageIDs(read(t, s, func(tx *Tx) ([]office.Package, error) { return tx.PackagesRefused(at0(since)) })); got != want {
			t.Errorf("refused since %v: packages %q, want %q", since, got, want)
		}
		jobs := read(t, s, func(tx *Tx) ([]office.Job, error) { return tx.JobsRefused(at0(since)) })
		if got := names(jobs, func(j office.Job) string { return j.PackageID }); got != want {
			t.Errorf("refused since %v: jobs %q, want %q", since, got, want)
		}
	}
}

func TestTheNextCheckIsKnownWithoutPolling(t *testing.T) {
	s := newTest(t)
	next := func() time.Time { return read(t, s, (*Tx).NextPackageCheck) }
	if got := next(); !got.IsZero() {
		t.Errorf("nothing to check, but next is %v", got)
	}
	putPackages(t, s, office.Package{ID: "a", Inquiry: office.Inquiry{NextCheck: at0(2 * time.Hour)}},
		office.Package{ID: "b", Inquiry: office.Inquiry{NextCheck: at0(time.Hour)}}, office.Package{ID: "c", State: "expired",
			Inquiry: office.Inquiry{NextCheck: day}})
	if got := next(); !got.Equal(at0(time.Hour)) {
		t.Errorf("next is %v", got)
	}
	putPackages(t, s, office.Package{ID: "d"})
	if got := next(); got.IsZero() || got.After(day) {
		t.Errorf("one is due at once, but next is %v", got)
	}
}

func TestAPackageIsFoundByItsDraft(t *testing.T) {
	s := newTest(t)
	byDraft := func(id string) string {
		p, ok := office.Package{}, false
		view(t, s, func(tx *Tx) (err error) { p, ok, err = tx.PackageByDraft(id); return err })
		if ok != (p.ID != "") {
			t.Errorf("found %v, %q", ok, p.ID)
		}
		return p.ID
	}
	putPackages(t, s, office.Package{ID: "p1", Source: office.Source{DraftID: "d"}}, office.Package{ID: "p2", Source: office.Source{DraftID: "d\x00"}},
		office.Package{ID: "p3"})
	for draft, want := range map[string]string{"d": "p1", "d\x00": "p2", "": "", "x": ""} {
		if got := byDraft(draft); got != want {
			t.Errorf("draft %q: %q, want %q", draft, got, want)
		}
	}
	putPackages(t, s, office.Package{ID: "p1"})
	expect(t, byDraft("d"), "", "the link was taken back, but draft d still leads to %q")
}

func draftIDs(drafts []office.Draft) string {
	return names(drafts, func(d office.Draft) string { return d.ID })
}

func TestDraftsAreFoundByStateAndOnlyQueuedOnesAreDue(t *testing.T) {
	s := newTest(t)
	for i, state := range []office.DraftState{"", office.DraftQueued, office.DraftAdding, office.DraftUnknown, office.DraftSent, office.DraftFailed, office.DraftCancelled} {
		d := office.Draft{ID: fmt.Sprint(i), State: state, Created: at0(time.Duration(i) * time.Second),
			Delivery: office.Delivery{NextTry: at0(-time.Duration(i) * time.Minute)}}
		update(t, s, func(tx *Tx) error { return tx.PutDraft(d) })
	}
	lists := map[string]func(tx *Tx) ([]office.Draft, error){
		"6 5 4 3 2 1 0": func(tx *Tx) ([]office.Draft, error) { return tx.Drafts() },
		"5 1 0": func(tx *Tx) ([]office.Draft, error) {
			return tx.Drafts(office.DraftQueued, office.DraftFailed, office.DraftQueued)
		},
		"1 0": func(tx *Tx) ([]office.Draft, error) { return tx.DraftsDue(Due{Now: day}) },
		"1":   func(tx *Tx) ([]office.Draft, error) { return tx.DraftsDue(Due{Now: at0(-time.Second)}) },
	}
	for want, list := range lists {
		expect(t, draftIDs(read(t, s, list)), want, "got %q, want %q", want)
	}
	if n := read(t, s, func(tx *Tx) (int, error) { return tx.CountDrafts(office.DraftQueued, office.DraftFailed) }); n != 3 {
		t.Errorf("%d drafts are queued or have failed", n)
	}
	if next := read(t, s, (*Tx).NextDraft); !next.Equal(at0(-time.Minute)) {
		t.Errorf("next at %v", next)
	}
	update(t, s, func(tx *Tx) error {
		d, _, err := tx.Draft("1")
		if err != nil {
			return err
		}
		d.State, d.PackageID = office.DraftSent, "p"
		return tx.PutDraft(d)
	})
	expect(t, draftIDs(read(t, s, func(tx *Tx) ([]office.Draft, error) { return tx.Drafts(office.DraftSent) })), "4 1", "sent: %s")
}

func TestTheActivityListKeepsItsNewestLines(t *testing.T) {
	s := newTest(t)
	const extra = 25
	line := func(i int) string { return message.PackageSent(fmt.Sprint(i)).String() }
	update(t, s, func(tx *Tx) error {
		for i := range maxActivities + extra {
			if err := tx.AddActivity(office.Activity{Time: at0(time.Duration(i) * time.Second), Kind: "saved", Text: message.PackageSent(fmt.Sprint(i))}); err != nil {
				return err
			}
		}
		return nil
	})
	var all []string
	var cursor office.Cursor
	for {
		view(t, s, func(tx *Tx) error {
			lines, next, err := tx.Activities(cursor, 3000)
			for _, a := range lines {
				all = append(all, a.Text.String())
			}
			cursor = next
			return err
		})
		if cursor == "" {
			break
		}
	}
	if len(all) != maxActivities || all[0] != line(maxActivities+extra-1) || all[len(all)-1] != line(extra) {
		t.Errorf("%d lines from %s to %s", len(all), all[0], all[len(all)-1])
	}
}

func TestSealedValuesAreKeptReplacedAndForgotten(t *testing.T) {
	s := newTest(t)
	value := []byte("sealed")
	update(t, s, func(tx *Tx) error {
		err := tx.PutSealed("token", value)
		clear(value) // the store must have its own copy
		return errors.Join(err, tx.PutSealed("empty", []byte{}))
	})
	get := func(name string) string {
		var got []byte
		ok := false
		view(t, s, func(tx *Tx) (err error) { got, err = tx.Sealed(name); ok = got != nil; return err })
		return fmt.Sprintf("%s %v", got, ok) // used after the transaction
	}
	for name, want := range map[string]string{"token": "sealed true", "empty": " true", "none": " false", "": " false"} {
		expect(t, get(name), want, name+": %q, want %q", want)
	}
	update(t, s, func(tx *Tx) error { return tx.PutSealed("token", nil) })
	expect(t, get("token"), " false", "forgotten: %q")
}

func TestADocumentComesBackAndOneThatCannotBeReadIsNone(t *testing.T) {
	s := newTest(t)
	type settings struct{ Folder string }
	update(t, s, func(tx *Tx) error { return tx.PutDoc("settings", settings{"/f"}) })
	var got settings
	if ok := read(t, s, func(tx *Tx) (bool, error) { return tx.GetDoc("settings", &got) }); !ok || got.Folder != "/f" {
		t.Errorf("%v %+v", ok, got)
	}
	for name, value := range map[string]string{"another type": `7`, "cut": `{"Folder":"/g`, "half of another": `{"Folder":"/g","More":[],"Folder":{}}`, "no JSON": "\x00"} {
		update(t, s, func(tx *Tx) error { tx.put(bucketDocs, []byte("settings"), []byte(value)); return nil })
		got := settings{"/before"}
		if ok := read(t, s, func(tx *Tx) (bool, error) { return tx.GetDoc("settings", &got) }); ok || got.Folder != "/before" {
			t.Errorf("%s: %v, %+v", name, ok, got)
		}
	}
	if s.Unreadable() == 0 {
		t.Error("nobody can know of it")
	}
	update(t, s, func(tx *Tx) error { return tx.PutDoc("settings", settings{"/h"}) })
	if ok := read(t, s, func(tx *Tx) (bool, error) { return tx.GetDoc("settings", &got) }); !ok || got.Folder != "/h" {
		t.Errorf("written anew: %v %+v", ok, got)
	}
	update(t, s, func(tx *Tx) error { return tx.PutDoc("settings", nil) })
	if ok := read(t, s, func(tx *Tx) (bool, error) { return tx.GetDoc("settings", &got) }); ok {
		t.Error("the deleted document is there")
	}
}

func TestEveryErrorIsOnePlainSentence(t *testing.T) {
	for _, err := range []error{ErrInUse, ErrNewer, &CorruptError{Path: "/x/state.db", Reason: "page 7"}, ErrClosed, ErrTargetTaken, errors.New("bolt: odd")} {
		s := Message(fmt.Errorf("wrapped: %w", err)).String()
		if !strings.HasSuffix(s, ".") || strings.Contains(s, "wrapped") || strings.Contains(s, "bolt") {
			t.Errorf("%v: %q", err, s)
		}
	}
}
