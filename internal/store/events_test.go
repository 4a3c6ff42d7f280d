package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/internal/message"
	"countersign/internal/office"
)

func addEvent(t *testing.T, s *Store, e office.Event) bool {
	t.Helper()
	var added bool
	update(t, s, func(tx *Tx) (err error) {
		added, err = tx.AddEvent(e)
		return err
	})
	return added
}

func event(t *testing.T, s *Store, id string) office.Event {
	t.Helper()
	return read(t, s, func(tx *Tx) (office.Event, error) {
		e, ok, err := tx.Event(id)
		if !ok {
			t.Fatalf("event %s is not there", id)
		}
		return e, err
	})
}

func ids(events []office.Event) string {
	return names(events, func(e office.Event) string { return e.ID })
}

func TestAnEventComesBackAsItArrived(t *testing.T) {
	s := newTest(t)
	east := time.FixedZone("", 3600)
	body := []byte("{\"a\": \"\xff\x00 <raw>\"}\r\n")
	want := office.Event{ID: "e1", Action: "package_executed", PackageID: "p", Time: day.In(east), Received: day.Add(time.Nanosecond).In(east),
		Body: body, URL: "https://x/y/", Extra: []byte(`{"x":1}`)}
	if !addEvent(t, s, want) {
		t.Fatal("not added")
	}
	want.Time, want.Received = want.Time.UTC(), want.Received.UTC()
	if got := event(t, s, "e1"); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestADuplicateIsCountedAndChangesNothingElse(t *testing.T) {
	s := newTest(t)
	addEvent(t, s, office.Event{ID: "e", Body: []byte("first")})
	for range 3 {
		if addEvent(t, s, office.Event{ID: "e", Body: []byte("again")}) {
			t.Error("added again")
		}
	}
	if e := event(t, s, "e"); e.Copies != 3 || !bytes.Equal(e.Body, []byte("first")) || !e.Received.Equal(day) {
		t.Errorf("%+v", e)
	}
	if c := read(t, s, (*Tx).EventCounts); c != (EventCounts{Received: 1, Duplicates: 3, Pending: 1}) {
		t.Errorf("%+v", c)
	}
}

func TestACopyThatArrivesWhileAnEventIsHandledIsNotForgotten(t *testing.T) {
	s := newTest(t)
	addEvent(t, s, office.Event{ID: "e"})
	working := event(t, s, "e")
	addEvent(t, s, office.Event{ID: "e"})
	working.Outcome, working.Handled = office.EventHandled, day
	update(t, s, func(tx *Tx) error { return tx.SetEvent(working) })
	if e := event(t, s, "e"); e.Copies != 1 || e.Outcome != office.EventHandled {
		t.Errorf("%+v", e)
	}
}

func TestPendingEventsComeOldestFirstUntilHandled(t *testing.T) {
	s := newTest(t)
	for i, id := range []string{"c", "a", "b", "d"} {
		addEvent(t, s, office.Event{ID: id, Received: at0(time.Duration(i) * time.Second)})
	}
	set := func(id string, o office.Outcome) {
		e := event(t, s, id)
		e.Outcome = o
		update(t, s, func(tx *Tx) error { return tx.SetEvent(e) })
	}
	set("a", office.EventHandled)
	set("b", office.EventUnprocessable)
	pending := func(limit int) string {
		return ids(read(t, s, func(tx *Tx) ([]office.Event, error) { l, _, err := tx.PendingEvents("", limit); return l, err }))
	}
	if got := pending(10); got != "c d" {
		t.Errorf("pending: %s", got)
	}
	if got := pending(1); got != "c" {
		t.Errorf("first pending: %s", got)
	}
	if c := read(t, s, (*Tx).EventCounts); c != (EventCounts{Received: 4, Pending: 2, Odd: 1}) {
		t.Errorf("%+v", c)
	}
	set("b", office.EventPending) // a person tries again
	if got := pending(10); got != "c b d" {
		t.Errorf("pending: %s", got)
	}
}

func TestEventsAreReadPageByPageWhileMoreArrive(t *testing.T) {
	s := newTest(t)
	for i := range 7 {
		addEvent(t, s, office.Event{ID: fmt.Sprint(i), Received: day}) // all at once: arrival decides
	}
	var got []string
	var cursor office.Cursor
	for {
		view(t, s, func(tx *Tx) error {
			page, next, err := tx.Events(cursor, 3)
			got = append(got, ids(page))
			cursor = next
			return err
		})
		if cursor == "" {
			break
		}
		addEvent(t, s, office.Event{ID: fmt.Sprint("new", len(got)), Received: day.Add(time.Hour)})
	}
	if pages := strings.Join(got, " | "); pages != "6 5 4 | 3 2 1 | 0" {
		t.Errorf("pages %s", pages)
	}
	if err := s.View(func(tx *Tx) error { _, _, err := tx.Events("not a cursor!", 1); return err }); err == nil {
		t.Error("a wrong cursor was accepted")
	}
}

func TestStrangeIdentifiersAreKeptApart(t *testing.T) {
	s := newTest(t)
	strange := []string{" ", "../../etc/passwd", "\x00", "a/b", strings.Repeat("x", office.MaxID), strings.Repeat("x", 100_000), strings.Repeat("x", 100_001)}
	for _, id := range strange {
		if !addEvent(t, s, office.Event{ID: id, Body: []byte(id)}) {
			t.Errorf("%.20q was taken for another", id)
		}
	}
	for _, id := range strange {
		if e := event(t, s, id); string(e.Body) != id {
			t.Errorf("%.20q holds the body of %.20q", id, e.Body)
		}
	}
	for _, id := range []string{"", "\xff\xfe"} {
		if err := s.Update(func(tx *Tx) error { _, err := tx.AddEvent(office.Event{ID: id}); return err }); !errors.Is(err, ErrBadID) {
			t.Errorf("id %q: %v, want ErrBadID", id, err)
		}
	}
	if err := s.Update(func(tx *Tx) error { return tx.SetEvent(office.Event{ID: "unknown"}) }); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown id: %v", err)
	}
}

func TestExtremeTimesKeepTheirOrder(t *testing.T) {
	s := newTest(t)
	for i, at := range []time.Time{
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), day, time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		addEvent(t, s, office.Event{ID: fmt.Sprint(i), Received: at})
		if e := event(t, s, fmt.Sprint(i)); !e.Received.Equal(at) {
			t.Errorf("%v came back as %v", at, e.Received)
		}
	}
	got := ids(read(t, s, func(tx *Tx) ([]office.Event, error) { e, _, err := tx.Events("", 10); return e, err }))
	if got != "0 2 3 1" { // those before 1970 by arrival
		t.Errorf("order %s", got)
	}
}

// countDays counts so many days from the first on, and returns the day after the last.
func countDays(t testing.TB, s *Store, from time.Time, days int) time.Time {
	t.Helper()
	for range days {
		update(t, s, func(tx *Tx) error {
			counted, err := tx.CountDay(from)
			if err == nil && !counted {
				return fmt.Errorf("%v was counted before", from)
			}
			return err
		})
		from = from.AddDate(0, 0, 1)
	}
	return from
}

func forget(t testing.TB, s *Store, keep int) (forgotten int) {
	t.Helper()
	update(t, s, func(tx *Tx) (err error) {
		forgotten, err = tx.ForgetEvents(keep, 100)
		return err
	})
	return forgotten
}

// arrive stores events that end as the outcome says.
func arrive(t testing.TB, s *Store, outcome office.Outcome, ids ...string) {
	t.Helper()
	for _, id := range ids {
		update(t, s, func(tx *Tx) error {
			e := office.Event{ID: id, PackageID: "p", Body: []byte("{}")}
			if _, err := tx.AddEvent(e); err != nil {
				return err
			}
			e.Outcome = outcome
			return tx.SetEvent(e)
		})
	}
}

func TestAHandledEventIsForgottenInTimeAndItsCopyIsStillACopy(t *testing.T) {
	s := newTest(t)
	tomorrow := countDays(t, s, day, 1)
	arrive(t, s, office.EventHandled, "a", "b")
	arrive(t, s, office.EventUnprocessable, "odd")
	arrive(t, s, office.EventPending, "waits")
	update(t, s, func(tx *Tx) error {
		_, err := tx.AddEvent(office.Event{ID: "b"})
		return errors.Join(err, func() error {
			_, err := tx.AddEvent(office.Event{ID: "unreadable", Outcome: office.EventUnprocessable})
			return err
		}())
	})
	before := read(t, s, (*Tx).EventCounts)
	tomorrow = countDays(t, s, tomorrow, 90)
	if n := forget(t, s, 90); n != 0 {
		t.Errorf("%d events were forgotten a day too early", n)
	}
	countDays(t, s, tomorrow, 1)
	if n := forget(t, s, 90); n != 3 {
		t.Errorf("%d events were forgotten, want 3", n)
	}
	view(t, s, func(tx *Tx) error {
		left, _, err := tx.Events("", 10)
		if len(left) != 2 {
			t.Errorf("left are %+v", left)
		}
		if _, known, err := tx.Event("a"); known || err != nil {
			t.Errorf("a is still there, or %v", err)
		}
		return err
	})
	update(t, s, func(tx *Tx) error {
		for _, id := range []string{"a", "b", "odd", "waits", "unreadable"} {
			if added, err := tx.AddEvent(office.Event{ID: id, Body: []byte("{}")}); added || err != nil {
				t.Errorf("a copy of %s is taken for new, or %v", id, err)
			}
		}
		if err := tx.SetEvent(office.Event{ID: "a"}); !errors.Is(err, ErrNotFound) {
			t.Errorf("a forgotten event is set: %v", err)
		}
		return nil
	})
	after := read(t, s, (*Tx).EventCounts)
	if after.Received != before.Received || after.Duplicates != before.Duplicates+5 || after.Pending != 1 || after.Odd != 1 {
		t.Errorf("counted %+v, then %+v", before, after)
	}
	recount(t, s)
}

// A clock that is a year fast, or that goes back and forth with every start, must not cost what is fresh.
func TestAClockThatJumpsForgetsNothingFresh(t *testing.T) {
	s := newTest(t)
	countDays(t, s, day, 1)
	arrive(t, s, office.EventHandled, "fresh")
	for start := range 200 {
		for _, clock := range []time.Time{day, day.AddDate(10, 0, 0), day.AddDate(-10, 0, 0), {}, day.Add(time.Duration(start) * time.Minute)} {
			update(t, s, func(tx *Tx) error { _, err := tx.CountDay(clock); return err })
			if n := forget(t, s, 5); n != 0 {
				t.Fatalf("forgotten at start %d, at %v", start, clock)
			}
		}
	}
}

func TestAnEventThatIsHandledAgainIsFreshAgain(t *testing.T) {
	s := newTest(t)
	next := countDays(t, s, day, 1)
	arrive(t, s, office.EventHandled, "a")
	next = countDays(t, s, next, 8)
	update(t, s, func(tx *Tx) error { return tx.SetEvent(office.Event{ID: "a", PackageID: "p"}) })
	next = countDays(t, s, next, 8)
	if n := forget(t, s, 5); n != 0 {
		t.Error("an event that waits was forgotten")
	}
	update(t, s, func(tx *Tx) error {
		return tx.SetEvent(office.Event{ID: "a", PackageID: "p", Outcome: office.EventHandled})
	})
	next = countDays(t, s, next, 5)
	if n := forget(t, s, 5); n != 0 {
		t.Error("forgotten too early")
	}
	countDays(t, s, next, 1)
	if n := forget(t, s, 5); n != 1 {
		t.Error("not forgotten")
	}
}

func TestForgettingNothingWritesNothing(t *testing.T) {
	s := newTest(t)
	countDays(t, s, day, 10)
	arrive(t, s, office.EventHandled, "a")
	before := readFile(t, s.Path())
	update(t, s, func(tx *Tx) error {
		if _, err := tx.CountDay(day); err != nil {
			return err
		}
		_, err := tx.ForgetEvents(90, 100)
		return err
	})
	if string(before) != string(readFile(t, s.Path())) {
		t.Error("the file was written")
	}
}

// practice is an office that sends and saves packages, day after day, on a clock of its own.
type practice struct {
	t   testing.TB
	s   *Store
	rng *rand.Rand
	now time.Time

	lastSaved time.Time // when the last file was
}

func newPractice(t testing.TB) *practice {
	t.Helper()
	o := &practice{t: t, rng: rand.New(rand.NewPCG(8, 19)), now: day}
	o.open(filepath.Join(t.TempDir(), "state.db"))
	return o
}

// open opens the file without waiting for the disk: what is measured is its size.
func (o *practice) open(path string) {
	o.t.Helper()
	s, err := Open(path, Options{Now: func() time.Time { return o.now }})
	must(o.t, err)
	s.db.NoSync = true
	o.s = s
}

func (o *practice) id() string {
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", o.rng.Uint32(), o.rng.IntN(1<<16), o.rng.IntN(1<<12), o.rng.IntN(1<<12), o.rng.Int64N(1<<48))
}

func (o *practice) event(action, packageID, documentID, signerID string) office.Event {
	id := o.id()
	body, err := json.Marshal(map[string]any{
		"action": action, "packageId": packageID, "documentId": documentID, "signerId": signerID, "eventId": id,
		"externalData":             map[string]any{"countersign": map[string]string{"draft": o.id(), "office": o.id()}},
		"eventOwnerOrganizationId": o.id(), "eventOwnerMemberId": o.id(), "eventTime": o.now.Format(time.RFC3339Nano),
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return office.Event{ID: id, Action: action, PackageID: packageID, Time: o.now, Received: o.now, Body: body,
		URL: "https://office.example.ngrok.app/webhook/" + packageID}
}

// parcel is one package from the draft to the saved file, as the agent records it: two people, one document.
func (o *practice) parcel() {
	p := office.Package{ID: o.id(), Name: "Lease Sonnenweg 4, second floor", Origin: office.MadeHere, DraftID: o.id(), OrganizationID: o.id(), MemberID: o.id(),
		State: "open", Created: o.now, NextCheck: o.now.Add(time.Hour), SignersTotal: 2,
		Signers:   []office.Signer{{ID: o.id(), FirstName: "Ana", LastName: "Ruiz", Email: "ana.ruiz@example.com"}, {ID: o.id(), FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"}},
		Documents: []office.Document{{ID: o.id(), Name: "Lease Sonnenweg 4", FileName: "Lease Sonnenweg 4.pdf", ExternalID: o.id()}}}
	p.ExternalData = json.RawMessage(`{"countersign":{"draft":"` + p.DraftID + `"}}`)
	doc := p.Documents[0].ID
	d := office.Draft{ID: p.DraftID, Name: p.Name, Message: "This is the lease that we talked about on Monday.", Signers: p.Signers, State: office.DraftQueued,
		Files: []office.DraftFile{{Path: `C:\Users\office\Documents\Leases\Lease Sonnenweg 4.pdf`, Name: "Lease Sonnenweg 4.pdf", Size: 123456, SHA256: fmt.Sprintf("%064x", 1), ExternalID: p.Documents[0].ExternalID}}}
	tell := func(e office.Event, key, what string) func(tx *Tx) error {
		return func(tx *Tx) error {
			if _, err := tx.AddEvent(e); err != nil {
				return err
			}
			e.Outcome, e.Handled = office.EventHandled, o.now
			if err := tx.SetEvent(e); err != nil {
				return err
			}
			if _, err := tx.Once(key); err != nil {
				return err
			}
			p.History = append(p.History, office.HistoryEntry{Time: office.When{Time: o.now}, What: what, Who: e.PackageID, Ref: doc})
			if err := tx.AddActivity(office.Activity{Time: o.now, Kind: "event", PackageID: p.ID, Text: message.Signed("Ana Ruiz", "Lease Sonnenweg 4, second floor")}); err != nil {
				return err
			}
			return tx.PutPackage(p)
		}
	}
	j := office.Job{PackageID: p.ID, DocumentID: doc, Kind: "executed", Folder: `C:\Users\office\Documents\Signed`,
		Target: "Lease Sonnenweg 4, second floor - Lease Sonnenweg 4 " + p.ID[24:] + ".pdf", Planned: o.now}
	for _, step := range []func(tx *Tx) error{
		func(tx *Tx) error { return tx.PutDraft(d) },
		func(tx *Tx) error {
			d.State, d.PackageID, d.Files[0].FileID, d.Files[0].Uploaded = office.DraftSent, p.ID, o.id(), o.now
			if err := tx.PutDraft(d); err != nil {
				return err
			}
			return tx.PutPackage(p)
		},
		tell(o.event("package_sent", p.ID, "", ""), "sent/"+p.ID, "sent"),
		tell(o.event("document_signed", p.ID, doc, p.Signers[0].ID), "signed/"+doc+"/"+p.Signers[0].ID, "signed"),
		tell(o.event("document_signed", p.ID, doc, p.Signers[1].ID), "signed/"+doc+"/"+p.Signers[1].ID, "signed"),
		tell(o.event("document_executed", p.ID, doc, ""), "executed/"+doc, "document_executed"),
		func(tx *Tx) error {
			p.State, p.Executed, p.Planned = "executed", office.When{Time: o.now}, true
			_, err := tx.PlanJob(j)
			return err
		},
		tell(o.event("package_executed", p.ID, "", ""), "executed/"+p.ID, "executed"),
		func(tx *Tx) error {
			j.State, j.Done, j.Size, j.Digest = office.JobDone, o.now, 234567, fmt.Sprintf("%064x", 2)
			if err := tx.PutJob(j); err != nil {
				return err
			}
			p.Saved, o.lastSaved = true, o.now
			return tx.PutPackage(p)
		},
	} {
		o.now = o.now.Add(time.Second)
		update(o.t, o.s, step)
	}
}

// work is so many days with so many packages each, after which events are forgotten that were done before the last keep
// of them.
func (o *practice) work(days, packages, keep int) {
	for range days {
		morning := o.now
		update(o.t, o.s, func(tx *Tx) error { _, err := tx.CountDay(o.now); return err })
		for forget(o.t, o.s, keep) > 0 {
		}
		for range packages {
			o.parcel()
		}
		o.now = morning.Add(24 * time.Hour)
	}
}

func (o *practice) size() int64 {
	o.t.Helper()
	info, err := os.Stat(o.s.path)
	must(o.t, err)
	return info.Size()
}

// shares is how many bytes each bucket takes on the disk.
func (o *practice) shares() map[string]int {
	out := map[string]int{}
	err := o.s.db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			st := b.Stats()
			out[string(name)] = st.LeafAlloc + st.BranchAlloc
			return nil
		})
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return out
}

func TestEventsTakeNoMoreRoomAfterTheirTime(t *testing.T) {
	o := newPractice(t)
	defer o.s.Close()
	o.work(60, 4, 20)
	before := o.shares()["events"]
	o.work(120, 4, 20)
	if after := o.shares()["events"]; after > before*5/4 {
		t.Errorf("events took %d bytes after 60 days and %d after 180", before, after)
	}
}

func TestTheListOfWhatWasSavedDoesNotGrow(t *testing.T) {
	o := newPractice(t)
	defer o.s.Close()
	o.work(1, mostRecent, 90)
	before := o.shares()[bucketJobsDone]
	o.work(5, mostRecent, 90)
	if after := o.shares()[bucketJobsDone]; after > before*3/2 {
		t.Errorf("it took %d bytes after %d files and %d after six times as many", before, mostRecent, after)
	}
	saved := read(t, o.s, func(tx *Tx) ([]office.Job, error) { return tx.RecentSaved(2 * mostRecent) })
	if len(saved) != mostRecent || !saved[0].Done.Equal(o.lastSaved) {
		t.Errorf("%d files, the newest of %v, not %v", len(saved), saved[0].Done, o.lastSaved)
	}
}

// BenchmarkAYear measures what an office of 200 packages a day leaves on the disk in a year, and what a copy of what is in
// use costs.
func BenchmarkAYear(b *testing.B) {
	days := 365
	if testing.Short() {
		days = 36
	}
	for b.Loop() {
		o := newPractice(b)
		o.work(days, 200, 90)
		b.ReportMetric(float64(o.size())/(1<<20), "MiB")
		for name, n := range o.shares() {
			if n > 1<<20 {
				b.ReportMetric(float64(n)/(1<<20), name+"-MiB")
			}
		}
		began, small := time.Now(), o.s.Path()+".compact"
		must(b, o.s.copyTo(small, time.Second))
		b.ReportMetric(time.Since(began).Seconds(), "s-to-copy")
		b.ReportMetric(float64(len(readFile(b, small)))/(1<<20), "MiB-copied")
		o.s.Close()
	}
}
