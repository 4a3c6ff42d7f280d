package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/record"

	"golang.org/x/mod/sumdb/tlog"
)

// lineCheck rebuilds the tree from the lines alone, and returns the facts.
func lineCheck(t *testing.T, s *Store) (facts []record.Fact) {
	t.Helper()
	view(t, s, func(tx *Tx) error {
		var tree record.Tree
		seen := map[string]bool{}
		noErr(t, tx.Log().From(0, func(_ int64, line []byte) bool {
			var f record.Fact
			noErr(t, json.Unmarshal(line, &f))
			facts = append(facts, f)
			if f.Event != nil && seen[f.Event.ID] {
				t.Errorf("event %s is logged twice", f.Event.ID)
			}
			seen[fmt.Sprint(f.Event)] = f.Event != nil
			tree.Add(line)
			return true
		}))
		head, err := tx.Log().Head()
		if err != nil || head.N != int64(len(facts)) {
			return fmt.Errorf("the head is of %d lines, %d are there: %w", head.N, len(facts), err)
		}
		if want := tree.Head(); head != want {
			t.Errorf("the head of %d lines is %v, they have %v", head.N, head.Hash, want.Hash)
		}
		return nil
	})
	return facts
}

func TestWhatHappensIsLoggedOnce(t *testing.T) {
	s := newTest(t)
	event := office.Event{ID: "e", PackageID: "p", Action: "signed", Body: []byte("{}"), URL: "https://example.com/e", Signature: "c2ln"}
	draft := office.Draft{ID: "d", State: office.DraftQueued, Files: []office.DraftFile{{Name: "a.pdf", Size: 3, SHA256: "ab"}}}
	job := office.Job{PackageID: "p", DocumentID: "x", Kind: office.FileSigned, Folder: "/f", Target: "a.pdf"}
	update(t, s, func(tx *Tx) error {
		tx.AddEvent(event)
		tx.AddEvent(event)
		tx.PutDraft(draft)
		tx.PlanJob(job)
		return nil
	})
	draft.State, draft.PackageID = office.DraftSent, "p"
	job.State, job.Digest, job.Size = office.JobDone, "blake3:cd", 7
	for range 2 {
		update(t, s, func(tx *Tx) error {
			e, _, _ := tx.Event("e")
			e.Outcome = office.EventHandled
			tx.SetEvent(e)
			tx.PutDraft(draft)
			return tx.PutJob(job)
		})
	}
	job.Seal = office.Seal{State: office.SealNone, SHA256: "ef"}
	update(t, s, func(tx *Tx) error { return tx.PutJob(job) })
	job.Seal.Read = true
	update(t, s, func(tx *Tx) error { return tx.PutJob(job) })
	var kinds []string
	facts := lineCheck(t, s)
	for _, f := range facts {
		kinds = append(kinds, string(f.Kind))
	}
	if got := strings.Join(kinds, " "); got != "event sent saved seal" {
		t.Fatalf("logged are %s", got)
	}
	for i, want := range []record.Fact{
		{Kind: record.Received, Event: &record.Event{ID: "e", Action: "signed", SHA256: record.Sum([]byte("{}")), Signature: "c2ln", URL: "https://example.com/e"}},
		{Kind: record.Sent, Draft: "d", Files: []record.File{{Name: "a.pdf", Size: 3, SHA256: "ab"}}},
		{Kind: record.Saved, File: &record.File{Document: "x", Kind: "executed", Name: "a.pdf", Size: 7, BLAKE3: "cd"}},
		{Kind: record.Examined, File: &record.File{Document: "x", Kind: "executed", Name: "a.pdf", Size: 7, BLAKE3: "cd", SHA256: "ef"}, Seal: &record.Seal{State: "none"}},
	} {
		want.At, want.Package = day, "p"
		expect(t, facts[i], want, "logged is %+v, want %+v", want)
	}
}

// Lines survive being packed into blocks, and a backup.
func TestALogOfManyLinesIsWhole(t *testing.T) {
	s, restored := newTest(t), newTest(t)
	var tree record.Tree
	add := func(until int64) (head record.Head) {
		update(t, s, func(tx *Tx) error {
			for n, _ := tx.Log().Size(); n < until; n++ {
				line := fmt.Appendf(nil, `{"key":"%d"}`, n)
				tree.Add(line)
				tx.addLine(line)
			}
			head = must(tx.Log().Head())
			expect(t, head, tree.Head(), "the head of the lines is %v")
			return nil
		})
		return head
	}
	early := add(2*packed + 88)
	update(t, restored, func(to *Tx) error {
		return s.View(func(from *Tx) error { return from.Export(to.Import) })
	})
	if facts := lineCheck(t, restored); len(facts) != 2*packed+88 || facts[300].Key != "300" {
		t.Fatalf("%d lines are there", len(facts))
	}
	add(packed*packed + packed + 3)
	view(t, s, func(tx *Tx) error {
		expect(t, must(record.HeadOf(tx.Log(), early.N)), early, "the first lines were %[2]v, now they are %[1]v", early)
		proof := must(tlog.ProveRecord(early.N, 17, record.Hashes(tx.Log())))
		line := must(tx.Log().Line(17))
		return tlog.CheckRecord(proof, early.N, early.Hash, 17, tlog.RecordHash(line))
	})
}

// BenchmarkLog commits an event and a saved file, each in its own transaction, and compares that with the same without the
// log.
func BenchmarkLog(b *testing.B) {
	body := []byte(strings.Repeat("{\"eventId\":\"0b87e9e2-5a2c-4f5e-9d3e-3a2b1c0d9e8f\"}", 20))
	for _, logged := range []bool{false, true} {
		for _, what := range []string{"event", "file"} {
			b.Run(fmt.Sprintf("%s/log=%v", what, logged), func(b *testing.B) {
				s := must(Open(filepath.Join(b.TempDir(), "state.db"), Options{}))
				defer s.Close()
				n := 0
				for b.Loop() {
					n++
					id := fmt.Sprintf("0b87e9e2-5a2c-4f5e-9d3e-%012d", n)
					noErr(b, s.UpdateFirst(func(tx *Tx) error {
						tx.importing = !logged
						if what == "event" {
							_, err := tx.AddEvent(office.Event{ID: id, PackageID: id, Action: "package_signed", Body: body, URL: "https://office.example.com/events", Signature: record.Sum(nil)[:44]})
							return err
						}
						j := office.Job{PackageID: id, DocumentID: id, Kind: office.FileSigned, Folder: "/home/office", Target: "Lease " + id + ".pdf"}
						tx.PlanJob(j)
						j.State, j.Digest, j.Size = office.JobDone, "blake3:"+record.Sum([]byte(id)), 200_000
						return tx.PutJob(j)
					}))
				}
				var size int64
				noErr(b, s.View(func(tx *Tx) error { size = tx.bolt.Size(); return nil }))
				b.ReportMetric(float64(size)/float64(n), "B/commit")
			})
		}
	}
}

// known is the state of a reader that reads the lines once and afterwards only changes.
type known struct {
	version uint64
	lines   map[string]office.PackageLine
	whole   int // how often it read all lines
}

func (k *known) read(t *testing.T, s *Store) {
	t.Helper()
	lines := read(t, s, func(tx *Tx) (office.Lines, error) { return tx.LinesSince(k.version) })
	if lines.All {
		k.whole++
		k.lines = map[string]office.PackageLine{}
	}
	for _, packed := range lines.Lines {
		l, _ := packed.Unpack()
		k.lines[l.ID] = l
	}
	k.version = lines.Version
}

// compare reads the changes, and compares the result with all lines; so far all should have been read that often.
func (k *known) compare(t *testing.T, s *Store, whole int) {
	t.Helper()
	k.read(t, s)
	expect(t, k.whole, whole, "all were read %d times, want %d", whole)
	all := known{}
	all.read(t, s)
	if !maps.Equal(k.lines, all.lines) {
		t.Fatalf("known are %v, there are %v", k.lines, all.lines)
	}
}

func putPackage(id, name string, created time.Time) func(*Tx) error {
	return func(tx *Tx) error { return tx.PutPackage(office.Package{ID: id, Name: name, Created: created}) }
}

func TestWhatHasChangedSinceAReadingIsAllThatIsDifferent(t *testing.T) {
	path := t.TempDir() + "/state.db"
	s := openTest(t, path)
	created := func(i int) time.Time { return time.Unix(int64(1_790_000_000+i), 0) }
	for i := range 100 {
		update(t, s, putPackage(fmt.Sprint("p", i), "before", created(i)))
	}
	var k known
	k.compare(t, s, 1)
	k.compare(t, s, 1)
	for i := range 20 {
		update(t, s, putPackage(fmt.Sprint("p", i), "changed", created(i)))
		update(t, s, putPackage(fmt.Sprint("new", i), "new", created(1000+i)))
		update(t, s, putDoc("something else"))
		if i%3 == 0 {
			k.compare(t, s, 1)
		}
	}
	rolledBack := errors.New("rolled back")
	refused(t, s, rolledBack, func(tx *Tx) error { return errors.Join(putPackage("p1", "never", created(1))(tx), rolledBack) })
	k.compare(t, s, 1)
	update(t, s, putPackage("p7", "somewhere else in the order", created(50)))
	k.compare(t, s, 2)
	update(t, s, func(tx *Tx) error {
		for i := range 2*leastChanges + 1 {
			putPackage(fmt.Sprint("many", i), "many", created(2000+i))(tx)
		}
		return nil
	})
	k.compare(t, s, 3)
	noErr(t, s.Close())
	s = openTest(t, path)
	k.compare(t, s, 3)
	k.version += 1000 // like the version of another file
	k.compare(t, s, 4)
}

func TestNoChangeIsMissedThatIsCommittedWhileSomebodyReads(t *testing.T) {
	s := newTest(t)
	var k known
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for j := range 50 {
				update(t, s, putPackage(fmt.Sprint("p", i), fmt.Sprint(j), time.Unix(int64(1_790_000_000+i), 0)))
			}
		})
	}
	ended := make(chan struct{})
	go func() { writers.Wait(); close(ended) }()
	for {
		k.read(t, s)
		select {
		case <-ended:
			k.compare(t, s, 1)
			expect(t, len(k.lines), 4, "%d lines")
			return
		default:
		}
	}
}

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
		Body: body, URL: "https://x/y/"}
	if !addEvent(t, s, want) {
		t.Fatal("not added")
	}
	want.Time, want.Received = want.Time.UTC(), want.Received.UTC()
	if got := event(t, s, "e1"); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
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
	pending := func(limit int) (got string) { // that many at a time
		for at, more := office.Cursor(""), true; more; {
			view(t, s, func(tx *Tx) error {
				l, last, err := tx.PendingEvents(at, limit)
				if more = len(l) > 0; more {
					at, got = last, got+" "+ids(l)
				}
				return err
			})
		}
		return got
	}
	set("a", office.EventHandled)
	set("b", office.EventUnprocessable)
	expect(t, pending(10), " c d", "pending: %s")
	expect(t, pending(1), " c d", "one after the other: %s")
	expect(t, read(t, s, (*Tx).EventCounts), EventCounts{Received: 4, Pending: 2, Unprocessable: 1}, "%+v")
	set("b", office.EventPending) // a person retries
	expect(t, pending(10), " c b d", "pending: %s")
}

func TestEventsAreReadPageByPageWhileMoreArrive(t *testing.T) {
	s := newTest(t)
	for i := range 7 {
		addEvent(t, s, office.Event{ID: fmt.Sprint(i), Received: day}) // at the same time: the order of arrival decides
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
	expect(t, strings.Join(got, " | "), "6 5 4 | 3 2 1 | 0", "pages %s")
	if err := s.View(func(tx *Tx) error { _, _, err := tx.Events("not a cursor!", 1); return err }); err == nil {
		t.Error("a wrong cursor was accepted")
	}
}

func TestStrangeIdentifiersAreKeptApart(t *testing.T) {
	s := newTest(t)
	strange := []string{" ", "../../etc/passwd", "\x00", "a/b", strings.Repeat("x", office.MaxID), strings.Repeat("x", 100_000), strings.Repeat("x", 100_001)}
	for _, id := range strange {
		expect(t, addEvent(t, s, office.Event{ID: id, Body: []byte(id)}), true, "%[2].20q is new: %[1]v", id)
	}
	for _, id := range strange {
		expect(t, string(event(t, s, id).Body), id, "%[2].20q holds the body of %.20[1]q", id)
	}
	for _, id := range []string{"", "\xff\xfe"} {
		refused(t, s, ErrBadID, func(tx *Tx) error { _, err := tx.AddEvent(office.Event{ID: id}); return err })
	}
	refused(t, s, ErrNotFound, func(tx *Tx) error { return tx.SetEvent(office.Event{ID: "unknown"}) })
}

func TestExtremeTimesKeepTheirOrder(t *testing.T) {
	s := newTest(t)
	for i, at := range []time.Time{
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), day, time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		addEvent(t, s, office.Event{ID: fmt.Sprint(i), Received: at})
		expect(t, event(t, s, fmt.Sprint(i)).Received, at, "%[2]v came back as %[1]v", at)
	}
	got := ids(read(t, s, func(tx *Tx) ([]office.Event, error) { e, _, err := tx.Events("", 10); return e, err }))
	expect(t, got, "0 2 3 1", "order %s") // those before 1970 in order of arrival
}

// countDays counts that many days, beginning with from, and returns the next one.
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

func arrive(t testing.TB, s *Store, outcome office.Outcome, ids ...string) {
	t.Helper()
	for _, id := range ids {
		update(t, s, func(tx *Tx) error {
			e := office.Event{ID: id, PackageID: "p", Body: []byte("{}")}
			tx.AddEvent(e)
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
	addEvent(t, s, office.Event{ID: "b"})
	addEvent(t, s, office.Event{ID: "unreadable", Outcome: office.EventUnprocessable})
	before := read(t, s, (*Tx).EventCounts)
	tomorrow = countDays(t, s, tomorrow, 90)
	expect(t, forget(t, s, 90), 0, "%d events were forgotten a day too early")
	countDays(t, s, tomorrow, 1)
	expect(t, forget(t, s, 90), 3, "%d events were forgotten, want 3")
	view(t, s, func(tx *Tx) error {
		left, _, err := tx.Events("", 10)
		expect(t, ids(left), "unreadable waits", "left are %s")
		if _, known, err := tx.Event("a"); known || err != nil {
			t.Errorf("a is still there, or %v", err)
		}
		return err
	})
	for _, id := range []string{"a", "b", "odd", "waits", "unreadable"} {
		expect(t, addEvent(t, s, office.Event{ID: id, Body: []byte("{}")}), false, "a copy of %[2]s is taken for new: %[1]v", id)
	}
	refused(t, s, ErrNotFound, func(tx *Tx) error { return tx.SetEvent(office.Event{ID: "a"}) })
	after := read(t, s, (*Tx).EventCounts)
	if after.Received != before.Received || after.Duplicates != before.Duplicates+5 || after.Pending != 1 || after.Unprocessable != 1 {
		t.Errorf("counted %+v, then %+v", before, after)
	}
	recount(t, s)
}

func TestAnotherEventUnderAKnownIDIsToldFromACopy(t *testing.T) {
	s := newTest(t)
	tomorrow := countDays(t, s, day, 1)
	arrive(t, s, office.EventHandled, "a")
	knows := func(id, body string, wantKnown, wantOther bool) {
		t.Helper()
		view(t, s, func(tx *Tx) error {
			known, other, err := tx.KnowsEvent(id, []byte(body))
			if known != wantKnown || other != wantOther {
				t.Errorf("%s %s: known %v, another %v", id, body, known, other)
			}
			return err
		})
	}
	both := func() {
		t.Helper()
		knows("a", "{}", true, false)
		knows("a", `{"x":1}`, true, true)
		knows("b", "{}", false, false)
	}
	both()
	addEvent(t, s, office.Event{ID: "c", Body: []byte(`{"x":1,"y":[2]}`)})
	knows("c", `{"y": [2], "x": 1}`, true, false)
	knows("c", `{"y":[1],"x":1}`, true, true)
	countDays(t, s, tomorrow, 91)
	expect(t, forget(t, s, 90), 1, "%d were forgotten")
	both()
	addEvent(t, s, office.Event{ID: "a", Body: []byte("{}")})
	both()
	update(t, s, func(tx *Tx) error { tx.putForgotten("a", 1, nil); return nil }) // forgotten before marks were kept
	knows("a", `{"x":1}`, true, false)
}

func TestEventsThatCannotBeReadAreNotCountedAsForgotten(t *testing.T) {
	s := newTest(t)
	tomorrow := countDays(t, s, day, 1)
	arrive(t, s, office.EventHandled, "a", "b", "c")
	countDays(t, s, tomorrow, 91)
	update(t, s, func(tx *Tx) error {
		for _, id := range []string{"a", "b"} {
			tx.put(bucketEvents, tx.get(bucketEventIDs, []byte(id)), []byte("{"))
		}
		return nil
	})
	for _, want := range []int{1, 0} {
		update(t, s, func(tx *Tx) error {
			n, err := tx.ForgetEvents(90, 1)
			expect(t, n, want, "%d events were forgotten, want %d")
			return err
		})
	}
}

// A clock that is a year fast, or that jumps back and forth at every start, must not cause recent events to be forgotten.
func TestAClockThatJumpsForgetsNothingFresh(t *testing.T) {
	s := newTest(t)
	countDays(t, s, day, 1)
	arrive(t, s, office.EventHandled, "fresh")
	for start := range 200 {
		for _, clock := range []time.Time{day, day.AddDate(10, 0, 0), day.AddDate(-10, 0, 0), {}, day.Add(time.Duration(start) * time.Minute)} {
			update(t, s, func(tx *Tx) error { _, err := tx.CountDay(clock); return err })
			expect(t, forget(t, s, 5), 0, "%d are forgotten at start %d, at %v", start, clock)
		}
	}
}

func TestAnEventThatIsHandledAgainIsFreshAgain(t *testing.T) {
	s := newTest(t)
	next := countDays(t, s, day, 1)
	set := func(o office.Outcome) {
		update(t, s, func(tx *Tx) error { return tx.SetEvent(office.Event{ID: "a", PackageID: "p", Outcome: o}) })
	}
	arrive(t, s, office.EventHandled, "a")
	next = countDays(t, s, next, 8)
	set(office.EventPending)
	next = countDays(t, s, next, 8)
	expect(t, forget(t, s, 5), 0, "%d events that wait were forgotten")
	set(office.EventHandled)
	next = countDays(t, s, next, 5)
	expect(t, forget(t, s, 5), 0, "%d were forgotten too early")
	countDays(t, s, next, 1)
	expect(t, forget(t, s, 5), 1, "%d were forgotten")
}
