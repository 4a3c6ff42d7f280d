package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/record"
	"countersign/internal/trytest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// day is the time in tests that do not use their own clock.
var day = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func at0(offset time.Duration) time.Time { return day.Add(offset) }

func openTest(t testing.TB, path string) *Store {
	t.Helper()
	s := must(Open(path, Options{Now: func() time.Time { return day }}))
	t.Cleanup(func() {
		noErr(t, s.Close())
	})
	return s
}

func newTest(t testing.TB) *Store {
	t.Helper()
	return openTest(t, filepath.Join(t.TempDir(), "state.db"))
}

func update(t testing.TB, s *Store, fn func(*Tx) error) {
	t.Helper()
	noErr(t, s.Update(fn))
}

func view(t testing.TB, s *Store, fn func(*Tx) error) {
	t.Helper()
	noErr(t, s.View(fn))
}

// refused makes a change that must fail with this error.
func refused(t testing.TB, s *Store, want error, fn func(*Tx) error) {
	t.Helper()
	if err := s.Update(fn); !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
}

// read returns what one method of Tx returns.
func read[T any](t testing.TB, s *Store, fn func(*Tx) (T, error)) (out T) {
	t.Helper()
	view(t, s, func(tx *Tx) (err error) {
		out, err = fn(tx)
		return err
	})
	return out
}

// names are the names of a list's elements, in order.
func names[T any](list []T, name func(T) string) string {
	var all []string
	for _, x := range list {
		all = append(all, name(x))
	}
	return strings.Join(all, " ")
}

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

func someID(rng *rand.Rand, n int) string { return fmt.Sprintf("%04d", rng.IntN(n)) }

func someTime(rng *rand.Rand) time.Time {
	if rng.IntN(5) == 0 {
		return time.Time{}
	}
	return at0(time.Duration(rng.IntN(200)-100) * time.Minute)
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

func somePackage(rng *rand.Rand) office.Package {
	return office.Package{
		ID:      someID(rng, 300),
		Name:    "Lease agreement",
		State:   pick[office.PackageState](rng, "open", "executed", "expired", "rescinded", "", "EXECUTED", "brand-new"),
		Source:  office.Source{DraftID: pick(rng, "", someID(rng, 20))},
		Signers: []office.Signer{{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}},
		Created: someTime(rng),
		Inquiry: office.Inquiry{NextCheck: someTime(rng), Gone: rng.IntN(9) == 0},
		Saving:  office.Saving{Planned: rng.IntN(2) == 0, Saved: rng.IntN(3) == 0, Refused: someTime(rng)},

		Withdrawal: pick(rng, nil, &office.Withdrawal{State: pick(rng, office.WithdrawWanted, office.WithdrawAsked, office.WithdrawDone), NextTry: someTime(rng)}),
	}
}

func someJob(rng *rand.Rand) office.Job {
	return office.Job{
		PackageID: someID(rng, 30), DocumentID: pick(rng, "", "d1", "d2"), Kind: pick(rng, office.FileSigned, office.FileCertificate),
		Folder: pick(rng, "/f", "/F", "/g"), Target: pick(rng, "a/", "A/", "b/") + someID(rng, 40) + ".pdf",
		State: pick(rng, office.JobPending, office.JobDone,
			office.JobFailed), NextTry: someTime(rng), Planned: someTime(rng), SavedFile: office.SavedFile{Done: someTime(rng)}, Refused: someTime(rng),
	}
}

// step makes one random change; documented refusals are allowed.
func step(tx *Tx, rng *rand.Rand) error {
	switch rng.IntN(11) {
	case 0, 1:
		_, err := tx.AddEvent(office.Event{ID: someID(rng, 200), Received: someTime(rng), Body: []byte("{}"), PackageID: pick(rng, "", "p")})
		return err
	case 2:
		e, ok, err := tx.Event(someID(rng, 200))
		if err != nil || !ok {
			return err
		}
		e.Outcome, e.Received = pick(rng, office.EventPending, office.EventHandled, office.EventUnprocessable), someTime(rng)
		return tx.SetEvent(e)
	case 3, 4:
		return tx.PutPackage(somePackage(rng))
	case 5:
		_, err := tx.PlanJob(someJob(rng))
		return err
	case 6:
		return tx.PutJob(someJob(rng))
	case 7:
		return tx.PutDraft(office.Draft{ID: someID(rng, 50), Delivery: office.Delivery{NextTry: someTime(rng)},
			State: pick(rng, office.DraftQueued, office.DraftAdding, office.DraftUnknown, office.DraftSent, office.DraftFailed, office.DraftCancelled)})
	case 8:
		_, err := tx.CountDay(day.AddDate(0, 0, rng.IntN(30)))
		return err
	case 9:
		_, err := tx.ForgetEvents(rng.IntN(20), 5)
		return err
	default:
		return tx.AddActivity(office.Activity{Time: someTime(rng), Text: message.Stopped()})
	}
}

func TestCountersAndIndexesEqualARecount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 7))
		s := must(Open(path, Options{Now: func() time.Time { return day }}))
		for range 60 {
			_ = s.Update(func(tx *Tx) error { // changes rolled back must not show either
				for range rng.IntN(20) {
					if err := step(tx, rng); err != nil && rng.IntN(3) == 0 {
						return err
					}
				}
				return nil
			})
		}
		recount(t, s)
		noErr(t, s.Close())
	}
}

// recount computes every counter and index from the records alone and compares them.
func recount(t *testing.T, s *Store) {
	t.Helper()
	var facts []record.Fact
	view(t, s, func(tx *Tx) error {
		want := map[string]int64{}
		index := map[string]map[string]string{}
		entry := func(bucket string, key, value []byte) {
			if index[bucket] == nil {
				index[bucket] = map[string]string{}
			}
			index[bucket][string(key)] = string(value)
		}
		expect := func(f facets) {
			for _, own := range f.facts {
				facts = append(facts, own.fact())
			}
			for _, c := range f.counts {
				want[c.name] += c.n
			}
			for _, e := range f.entries {
				entry(e.bucket, e.key, e.value)
			}
		}
		all := func(bucket string, each func(key, value []byte) error) {
			noErr(t, tx.bucket(bucket).ForEach(each))
		}
		own := func(ids, id string, row []byte) {
			if got := tx.get(ids, []byte(id)); string(got) != string(row) {
				t.Errorf("%s %s leads to %x, not %x", ids, id, got, row)
			}
			entry(ids, []byte(id), row)
		}
		all(bucketEventIDs, func(id, left []byte) error {
			if len(left) != rowLength {
				copies, _ := binary.Uvarint(left)
				expect(forgottenFacets(int(copies)))
				entry(bucketEventIDs, id, left)
			}
			return nil
		})
		eachIn(t, tx, bucketEvents, func(e office.Event, row []byte) { expect(eventFacets(e, row)); own(bucketEventIDs, e.ID, row) })
		eachIn(t, tx, bucketPackages, func(p office.Package, row []byte) { expect(packageFacets(p, row)); own(bucketPackageIDs, p.ID, row) })
		eachIn(t, tx, bucketDrafts, func(d office.Draft, row []byte) { expect(draftFacets(d, row)); own(bucketDraftIDs, d.ID, row) })
		eachIn(t, tx, bucketJobs, func(j office.Job, _ []byte) { expect(jobFacets(j)) })
		all(bucketActivity, func(_, _ []byte) error { want["activity"]++; return nil })

		all(bucketCounts, func(name, value []byte) error {
			if got := decodeCount(value); got != want[string(name)] {
				t.Errorf("counter %s is %d, recount says %d", name, got, want[string(name)])
			}
			delete(want, string(name))
			return nil
		})
		for name, n := range want {
			if n != 0 {
				t.Errorf("counter %s is missing, recount says %d", name, n)
			}
		}
		for _, bucket := range []string{bucketEventIDs, bucketEventsPending, bucketEventsOld, bucketPackageIDs, bucketPackageLines,
			bucketPackagesDue, bucketPackagesRefused, bucketPackagesByDraft, bucketWithdrawalsDue, bucketJobsDue, bucketJobsRefused, bucketJobsFailed, bucketJobsDone, bucketJobsUnproven, bucketJobsWrong, bucketTargets,
			bucketDraftIDs, bucketDraftStates, bucketDraftsDue} {
			all(bucket, func(key, value []byte) error {
				wanted, ok := index[bucket][string(key)]
				if !ok || wanted != string(value) {
					t.Errorf("%s has a wrong entry %x", bucket, key)
				}
				delete(index[bucket], string(key))
				return nil
			})
			if n := len(index[bucket]); n != 0 {
				t.Errorf("%s lacks %d entries", bucket, n)
			}
		}
		return nil
	})
	logged := map[string]bool{}
	for _, f := range lineCheck(t, s) {
		logged[unlike(f)] = true
	}
	for _, f := range facts {
		if !logged[unlike(f)] {
			t.Errorf("it is not logged: %s", unlike(f))
		}
	}
}

// eachIn calls take with every record of a bucket.
func eachIn[T any](t *testing.T, tx *Tx, bucket string, take func(record T, key []byte)) {
	t.Helper()
	noErr(t, tx.bucket(bucket).ForEach(func(key, value []byte) error {
		r, err := decode[T](bucket, key, value)
		take(r, key)
		return err
	}))
}

// unlike identifies a fact, ignoring its time and what the records forget.
func unlike(f record.Fact) string {
	f.At = time.Time{}
	if f.Event != nil {
		return "event " + f.Event.ID
	}
	if f.File != nil { // a file may be renamed
		f.File.Name = ""
	}
	text, _ := f.Line()
	return string(text)
}

// Wherever a transaction fails: unread data does not count as absent, and unwritten data does not count as written.
func TestAnAccessThatFailsIsNotTakenForMade(t *testing.T) {
	errFault := errors.New("the disk cannot be read")
	event := func(id string) office.Event {
		return office.Event{ID: id, PackageID: "p", Received: day, Body: []byte("{}")}
	}
	add := func(e office.Event) func(tx *Tx) { return func(tx *Tx) { tx.AddEvent(e) } }
	open := office.Package{ID: "p", Name: "Lease", State: office.PackageOpen, Created: day, Source: office.Source{DraftID: "d"},
		Inquiry: office.Inquiry{NextCheck: day}, Withdrawal: &office.Withdrawal{State: office.WithdrawWanted}}
	signed := office.Package{ID: "q", State: office.PackageExecuted, Created: day, Inquiry: office.Inquiry{NextCheck: day}, Saving: office.Saving{Refused: day}}
	job := office.Job{PackageID: "q", DocumentID: "d", Kind: office.FileSigned, Folder: "/f", Target: "Lease.pdf", NextTry: day, Refused: day}
	draft := office.Draft{ID: "d", State: office.DraftQueued, Delivery: office.Delivery{NextTry: day}}
	s := newTest(t)
	update(t, s, func(tx *Tx) error {
		tx.UseService("one")
		tx.PutPackage(open)
		tx.PutPackage(signed)
		tx.PutPackage(office.Package{ID: "over", State: office.PackageRescinded})
		tx.PutDraft(draft)
		tx.PutDoc("doc", 1)
		tx.PutSealed("secret", []byte("x"))
		tx.PlanJob(job)
		tx.AddEvent(event("e"))
		tx.AddEvent(event("handled"))
		for n, _ := tx.Log().Size(); n%packed != packed-1; n, _ = tx.Log().Size() { // so that the next fact causes packing
			noErr(t, tx.AddFact(record.Fact{Kind: record.Key, Key: fmt.Sprint(n)}))
		}
		done := event("handled")
		done.Outcome, done.Handled = office.EventHandled, day
		return tx.SetEvent(done)
	})
	changed, saved, other, sent := open, job, job, draft
	other.DocumentID, other.Target = "d2", "Other.pdf"
	changed.State, changed.Withdrawal, changed.Archived = office.PackageExecuted, nil, &office.Archived{}
	saved.State, saved.Digest, saved.Done = office.JobDone, "blake3:00", day
	sent.State, sent.PackageID = office.DraftSent, "p"
	handled := event("e")
	handled.Outcome = office.EventHandled
	for _, c := range []struct {
		name string
		do   func(tx *Tx)
	}{
		{"lines since then", func(tx *Tx) { tx.LinesSince(1) }},
		{"all lines", func(tx *Tx) { tx.LinesSince(0) }},
		{"packages that are due", func(tx *Tx) { tx.PackagesDue(Due{Now: day}, 9) }},
		{"unfinished packages", func(tx *Tx) { tx.Unfinished() }},
		{"refused packages", func(tx *Tx) { tx.PackagesRefused(at0(1)) }},
		{"the package of a draft", func(tx *Tx) { tx.PackageByDraft("d") }},
		{"how many packages", func(tx *Tx) { tx.PackageCounts() }},
		{"withdrawals that are due", func(tx *Tx) { tx.WithdrawalsDue(Due{Now: day}) }},
		{"files of a package", func(tx *Tx) { tx.JobsOf("q") }},
		{"files that are due", func(tx *Tx) { tx.JobsDue(Due{Now: day}, 9, nil) }},
		{"unfinished files", func(tx *Tx) { tx.UnfinishedJobs() }},
		{"refused files", func(tx *Tx) { tx.JobsRefused(at0(1)) }},
		{"whose name it is", func(tx *Tx) { tx.JobAt("/f", "Lease.pdf") }},
		{"files in order", func(tx *Tx) { tx.JobsAfter("", math.MaxInt, func(office.Job) bool { return true }) }},
		{"how many files", func(tx *Tx) { tx.JobCounts() }},
		{"drafts", func(tx *Tx) { tx.Drafts(office.DraftQueued) }},
		{"drafts that are due", func(tx *Tx) { tx.DraftsDue(Due{Now: day}) }},
		{"events that wait", func(tx *Tx) { tx.PendingEvents("", 9) }},
		{"events", func(tx *Tx) { tx.Events("", 9) }},
		{"how many events", func(tx *Tx) { tx.EventCounts() }},
		{"documents", func(tx *Tx) { tx.DocNames("d") }},
		{"secrets", func(tx *Tx) { tx.SealedNames() }},
		{"all there is", func(tx *Tx) { tx.Export(func(Record) error { return nil }) }},
		{"an event", add(event("new"))},
		{"an event once more", add(event("e"))},
		{"an event that is handled", func(tx *Tx) { tx.SetEvent(handled) }},
		{"a day", func(tx *Tx) { tx.CountDay(at0(48 * time.Hour)) }},
		{"old events", func(tx *Tx) { tx.ForgetEvents(-1, 10) }},
		{"a forgotten event once more", add(event("handled"))},
		{"a package", func(tx *Tx) { tx.PutPackage(office.Package{ID: "new", Created: day}) }},
		{"another one of it", func(tx *Tx) { tx.PutPackage(changed) }},
		{"a planned file", func(tx *Tx) { tx.PlanJob(other) }},
		{"a saved file", func(tx *Tx) { tx.PutJob(saved) }},
		{"a draft", func(tx *Tx) { tx.PutDraft(sent) }},
		{"a line of the activity", func(tx *Tx) { tx.AddActivity(office.Activity{Time: day}) }},
		{"a fact", func(tx *Tx) { tx.AddFact(record.Fact{Kind: record.Key, Key: "k"}) }},
		{"another service", func(tx *Tx) { tx.UseService("other") }},
		{"something once", func(tx *Tx) { tx.Once("told") }},
	} {
		for n := 1; ; n++ {
			accesses := 0
			s.Fault = func() error {
				if accesses++; accesses == n {
					return errFault
				}
				return nil
			}
			err := s.Update(func(tx *Tx) error { c.do(tx); return nil }) // which loses the error
			if s.Fault = nil; accesses < n {
				noErr(t, err)
				break
			}
			if !errors.Is(err, errFault) {
				t.Errorf("%s: access %d failed, and it said %v", c.name, n, err)
			}
		}
	}
	update(t, s, func(tx *Tx) error {
		for _, first := range []bool{true, false} {
			if got, err := tx.Once("told twice"); got != first || err != nil || !tx.Told("told twice") {
				t.Errorf("told the first time: %v, %v", got, err)
			}
		}
		return nil
	})
	for _, d := range read(t, s, func(tx *Tx) ([]office.Draft, error) { return tx.Drafts() }) {
		if !d.Away {
			t.Errorf("another service is used, and there is %+v", d)
		}
	}
	size := read(t, s, func(tx *Tx) (int64, error) { return tx.Log().Size() })
	if plain := len(dump(t, s, bucketLog)); size < packed || int64(plain) != size%packed {
		t.Errorf("of %d lines of the record %d are not packed", size, plain)
	}
	if all := read(t, s, (*Tx).Unfinished); slices.ContainsFunc(all, office.Package.Final) || len(all) != 3 {
		t.Errorf("unfinished are %+v", all)
	}
}
