package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
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
