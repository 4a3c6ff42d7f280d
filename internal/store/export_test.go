package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
)

func opened(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// exported is everything that a store keeps.
func exported(t *testing.T, s *Store) (list []Record) {
	t.Helper()
	err := s.View(func(tx *Tx) error {
		return tx.Export(func(r Record) error {
			b, err := json.Marshal(r)
			if err != nil {
				return err
			}
			var kept Record
			list = append(list, kept)
			return json.Unmarshal(b, &list[len(list)-1])
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestWhatIsExportedAndImportedIsAllThatWasKept(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "state.db"))
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	err := s.Update(func(tx *Tx) error {
		err := errors.Join(tx.UseService("here"),
			tx.PutPackage(office.Package{ID: "a", Name: "Lease", Created: at, State: office.PackageExecuted}),
			tx.PutPackage(office.Package{ID: "b", Created: at.Add(time.Hour), Service: "elsewhere"}),
			tx.PutDraft(office.Draft{ID: "d", State: office.DraftUnknown, Created: at}),
			tx.PutDoc("people", []string{"Ana"}), tx.PutSealed("token", []byte{0, 1, 0xff}), tx.AddActivity(office.Activity{Time: at, Kind: "sent"}))
		_, err1 := tx.PlanJob(office.Job{PackageID: "a", Kind: office.FileSigned, Folder: "/signed", Target: "Lease.pdf"})
		_, err2 := tx.AddEvent(office.Event{ID: "1", Received: at, Body: []byte("{}"), Outcome: office.EventPending})
		_, err3 := tx.AddEvent(office.Event{ID: "2", Received: at, Outcome: office.EventHandled})
		_, err4 := tx.Once("told")
		_, err5 := tx.CountDay(at)
		_, err6 := tx.CountDay(at.Add(48 * time.Hour))
		return errors.Join(err, err1, err2, err3, err4, err5, err6)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Update(func(tx *Tx) error {
		n, err := tx.ForgetEvents(1, 10)
		if n != 1 {
			t.Errorf("%d events are forgotten", n)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := exported(t, s)
	other := opened(t, filepath.Join(t.TempDir(), "state.db"))
	if err := other.Update(func(tx *Tx) error { return tx.PutPackage(office.Package{ID: "of before"}) }); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("not now")
	bring := func(also error) error {
		return other.Update(func(tx *Tx) error {
			err := tx.Clear()
			for _, r := range want {
				if err == nil {
					err = tx.Import(r)
				}
			}
			return errors.Join(err, also)
		})
	}
	if err := bring(refused); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if left := exported(t, other); len(left) != 2 {
		t.Errorf("a change that was refused left %d records", len(left))
	}
	if err := bring(nil); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(want)
	if b, _ := json.Marshal(exported(t, other)); !bytes.Equal(a, b) {
		t.Errorf("kept was   %s\nimported is %s", a, b)
	}
	err = other.View(func(tx *Tx) error {
		packages, err1 := tx.PackageCounts()
		events, err2 := tx.EventCounts()
		pending, err3 := tx.PendingJobs()
		b, _, err4 := tx.Package("b")
		_, of, err5 := tx.Package("of before")
		if packages.Total != 2 || packages.Executed != 1 || events.Received != 2 || events.Pending != 1 || len(pending) != 1 || !b.Away || of || !tx.Told("told") {
			t.Errorf("%+v, %+v, %d jobs, away %v, of before %v", packages, events, len(pending), b.Away, of)
		}
		return errors.Join(err1, err2, err3, err4, err5)
	})
	if err != nil {
		t.Error(err)
	}
	if err := other.Update(func(tx *Tx) error {
		added, err := tx.AddEvent(office.Event{ID: "2"})
		if added {
			t.Error("an event that was forgotten is taken for a new one")
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

func TestARecordThatExportDoesNotWriteIsNotImported(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "state.db"))
	for _, r := range []Record{
		{}, {Kind: "other"}, {Kind: KindPackage}, {Kind: KindPackage, JSON: []byte(`{}`)}, {Kind: KindPackage, JSON: []byte(`[]`)},
		{Kind: KindJob, JSON: []byte(`{}`)}, {Kind: KindDraft, JSON: []byte(`{}`)}, {Kind: KindEvent, JSON: []byte(`{}`)},
		{Kind: KindForgotten, Key: []byte("1"), Bytes: make([]byte, rowLength)}, {Kind: KindForgotten, Bytes: []byte{1}},
		{Kind: KindFact, Key: []byte("short")}, {Kind: KindDoc, Key: []byte("a"), JSON: []byte("{")}, {Kind: KindDoc, JSON: []byte("{}")},
		{Kind: KindSealed, Bytes: []byte("x")}, {Kind: KindActivity, JSON: []byte(`{"time":1}`)},
	} {
		if err := s.Update(func(tx *Tx) error { return tx.Import(r) }); err == nil {
			t.Errorf("%+v is imported", r)
		}
	}
	if left := exported(t, s); len(left) != 1 { // the service
		t.Errorf("%+v", left)
	}
}

// smallGain makes files of a few hundred KiB worth copying.
const smallGain = 64 << 10

// roomy returns the bytes of a file of which most is free, and what is in it.
func roomy(t *testing.T) (file, content []byte) {
	t.Helper()
	s := newTest(t)
	next := countDays(t, s, day, 1)
	update(t, s, fillEverything)
	for part := range 6 {
		update(t, s, func(tx *Tx) error {
			for n := range 100 {
				id := fmt.Sprint(part, "-", n)
				e := office.Event{ID: id, PackageID: "p", Outcome: office.EventHandled, Body: bytes.Repeat([]byte("b"), 2000)}
				if _, err := tx.AddEvent(e); err != nil {
					return err
				}
				if _, err := tx.Once(id); err != nil {
					return err
				}
			}
			return nil
		})
	}
	countDays(t, s, next, 10)
	for forget(t, s, 5) > 0 {
	}
	content = asJSON(t, read(t, s, readEverything))
	must(t, s.Close())
	return readFile(t, s.Path()), content
}

// openCompact opens the file as a start does.
func openCompact(t *testing.T, path string, o Options) *Store {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return day }
	}
	o.Compact, o.compactGain = true, smallGain
	s, err := Open(path, o)
	must(t, err)
	return s
}

// wantWhole checks that a file holds everything, that it can be written, and that nothing lies beside it.
func wantWhole(t *testing.T, s *Store, content []byte) {
	t.Helper()
	if got := asJSON(t, read(t, s, readEverything)); !bytes.Equal(got, content) {
		t.Errorf("it holds\n%s", got)
	}
	recount(t, s)
	update(t, s, func(tx *Tx) error {
		if added, err := tx.AddEvent(office.Event{ID: "3-50"}); added || err != nil {
			t.Errorf("a copy of a forgotten event is taken for new, or %v", err)
		}
		if first, err := tx.Once("5-99"); first || err != nil {
			t.Errorf("a fact is told again, or %v", err)
		}
		return nil
	})
	err := s.db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			t.Error(err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(s.Path() + "?*"); len(left) > 0 {
		t.Errorf("beside it lies %q", left)
	}
}

func TestAFileThatIsMostlyFreeIsMadeSmaller(t *testing.T) {
	file, content := roomy(t)
	path := filepath.Join(t.TempDir(), "state.db")
	must(t, os.WriteFile(path, file, 0o600))
	must(t, openCompact(t, path, Options{compactMost: 10_000}).Close())
	if len(readFile(t, path)) < len(file) {
		t.Error("so much is in use that its copy holds up a start, and it is made")
	}
	for range 2 { // also where a start was ended in the middle of its copy
		must(t, os.WriteFile(path, file, 0o600))
		s := openCompact(t, path, Options{})
		if after := len(readFile(t, path)); after*2 > len(file) {
			t.Errorf("%d bytes, of %d", after, len(file))
		}
		wantWhole(t, s, content)
		must(t, s.Close())
		small := readFile(t, path)
		if err := openCompact(t, path, Options{}).Close(); err != nil || !bytes.Equal(small, readFile(t, path)) {
			t.Errorf("a file that is full is written again, or %v", err)
		}
		must(t, os.WriteFile(path+".compact", file[:len(file)/2], 0o600))
	}
}

// Whoever waits for the lock of the file that is replaced must get the new one, and never write to one without a name.
func TestAWaitingStartGetsTheFileThatHasTheName(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // a file that is open cannot be replaced there
	}
	path := filepath.Join(t.TempDir(), "state.db")
	first := openTest(t, path)
	other := openTest(t, filepath.Join(t.TempDir(), "state.db"))
	update(t, other, putDoc("the new one"))
	must(t, other.Close())
	waiting := make(chan *Store)
	go func() {
		s := &Store{path: path, log: slog.New(slog.DiscardHandler)}
		if err := s.lockFile(time.Minute); err != nil {
			t.Error(err)
		}
		waiting <- s
	}()
	time.Sleep(200 * time.Millisecond) // it has opened the old file
	must(t, disk.Rename(other.Path(), path))
	must(t, first.Close())
	s := <-waiting
	defer s.release()
	view(t, s, func(tx *Tx) error {
		var v any
		if ok, err := tx.GetDoc("the new one", &v); !ok || err != nil {
			t.Errorf("it has the file that lost its name (%v)", err)
		}
		return nil
	})
}

// What nobody asked for yet must not keep the program from starting: a damaged page is met when it is needed.
func TestDamageInTheMiddleKeepsAFileAsItIs(t *testing.T) {
	file, _ := roomy(t)
	rng := rand.New(rand.NewPCG(1, 8))
	page := os.Getpagesize()
	dir := t.TempDir()
	for n := range 40 {
		b := bytes.Clone(file)
		from := (2 + rng.IntN(len(b)/page-2)) * page
		clear(b[from : from+page])
		path := filepath.Join(dir, fmt.Sprint(n), "state.db")
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, b, 0o600))
		plain, plainErr := Open(path, Options{})
		if plainErr == nil {
			plain.Close()
		}
		s, err := Open(path, Options{Compact: true, compactGain: smallGain})
		if (err == nil) != (plainErr == nil) {
			t.Errorf("page %d: open says %v, and %v where it compacts", from/page, plainErr, err)
		}
		if err == nil {
			s.Close()
		}
	}
}

const compactEnv = "COUNTERSIGN_TEST_COMPACT"

// compactUntilKilled is the child of TestACompactionThatIsKilledLosesNothing.
func compactUntilKilled(path string) {
	fmt.Println("begin")
	s, err := Open(path, Options{Compact: true, compactGain: smallGain})
	if err != nil {
		fmt.Println("open", err)
		os.Exit(1)
	}
	s.Close()
	os.Exit(0)
}

func TestACompactionThatIsKilledLosesNothing(t *testing.T) {
	file, content := roomy(t)
	path := filepath.Join(t.TempDir(), "state.db")
	rng := rand.New(rand.NewPCG(2, 19))
	whole := 0
	for range 30 {
		must(t, os.WriteFile(path, file, 0o600))
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), compactEnv+"="+path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if _, err := io.ReadFull(out, make([]byte, 6)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rng.IntN(30_000)) * time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if len(readFile(t, path)) == len(file) {
			whole++
		}
		s := openCompact(t, path, Options{})
		wantWhole(t, s, content)
		must(t, s.Close())
	}
	t.Logf("of 30 kills %d came before the new file had its name", whole)
}

// everything is what the methods of Tx read, of every kind of record.
type everything struct {
	Events, Pending               []office.Event
	Packages, Open, Due, Withheld []office.Package
	Lines                         []office.PackageLine
	OfDraft                       office.Package
	Jobs, JobsDue, Failed, Recent []office.Job
	Refused                       []office.Job
	Withdrawals                   []office.Package `json:",omitempty"`
	Drafts, DraftsDue             []office.Draft
	Activities                    []office.Activity
	EventCounts                   EventCounts
	PackageCounts                 PackageCounts
	JobCounts                     JobCounts
	DraftCounts                   DraftCounts
	NextJob, NextDraft, NextCheck time.Time
	Sealed                        []byte
	Doc                           map[string]any
}

func readEverything(tx *Tx) (e everything, err error) {
	var failed []error
	keep := func(err error) { failed = append(failed, err) }
	e.Events, _, err = tx.Events("", 100)
	keep(err)
	e.Pending, _, err = tx.PendingEvents("", 100)
	keep(err)
	keep(tx.Packages(func(p office.Package) bool { e.Packages = append(e.Packages, p); return true }))
	keep(tx.PackageLines(func(l office.PackageLine) bool { e.Lines = append(e.Lines, l); return true }))
	e.Open, err = tx.AllOpen()
	keep(err)
	e.Due, err = tx.PackagesDue(Due{Now: at0(2 * time.Hour)}, 100)
	keep(err)
	e.OfDraft, _, err = tx.PackageByDraft("draft-sent")
	keep(err)
	e.Jobs, err = tx.JobsOf("package-executed")
	keep(err)
	e.JobsDue, err = tx.JobsDue(Due{Now: at0(2 * time.Hour)}, 100, nil)
	keep(err)
	e.Failed, err = tx.FailedJobs()
	keep(err)
	e.Withheld, err = tx.PackagesRefused(at0(2 * time.Hour))
	keep(err)
	e.Refused, err = tx.JobsRefused(at0(2 * time.Hour))
	keep(err)
	e.Withdrawals, err = tx.WithdrawalsDue(Due{Now: at0(2 * time.Hour)})
	keep(err)
	e.Recent, err = tx.RecentSaved(10)
	keep(err)
	e.Drafts, err = tx.Drafts()
	keep(err)
	e.DraftsDue, err = tx.DraftsDue(Due{Now: at0(2 * time.Hour)})
	keep(err)
	e.Activities, _, err = tx.Activities("", 100)
	keep(err)
	e.EventCounts, err = tx.EventCounts()
	keep(err)
	e.PackageCounts, err = tx.PackageCounts()
	keep(err)
	e.JobCounts, err = tx.JobCounts()
	keep(err)
	e.DraftCounts, err = tx.DraftCounts()
	keep(err)
	e.NextJob, err = tx.NextJob()
	keep(err)
	e.NextDraft, err = tx.NextDraft()
	keep(err)
	e.NextCheck, err = tx.NextPackageCheck()
	keep(err)
	e.Sealed, _ = tx.Sealed("refresh token")
	_, err = tx.GetDoc("settings", &e.Doc)
	keep(err)
	return e, errors.Join(failed...)
}

// fillEverything writes one record of every kind in every state, with every field that people could miss.
func fillEverything(tx *Tx) error {
	var failed []error
	keep := func(err error) { failed = append(failed, err) }
	ana := office.Signer{ID: "s1", FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}
	jan := office.Signer{ID: "s2", FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"}
	lease := office.Document{ID: "d1", Name: "Lease", FileName: "lease.pdf", ExternalID: "x1", Executed: true, SignedBy: []string{"s1", "s2"}}
	for i, outcome := range []office.Outcome{office.EventPending, office.EventHandled, office.EventUnprocessable} {
		_, err := tx.AddEvent(office.Event{ID: fmt.Sprint("event-", i), Action: "package_executed", PackageID: "package-executed",
			Time: at0(time.Minute), Received: at0(time.Duration(i) * time.Hour), Body: []byte(`{"eventId":"1"}`),
			URL: "https://example.com/hook", Outcome: outcome, Reason: message.EventUnreadable(), Copies: i})
		keep(err)
	}
	keep(tx.PutPackage(office.Package{ID: "package-open", Name: "Öffnung", Origin: office.MadeHere, DraftID: "draft-sent", State: "open",
		Sequential: true, Signers: []office.Signer{ana, jan}, NextSigners: []string{"s2"}, Documents: []office.Document{lease},
		ExternalData: json.RawMessage(`{"a":1}`), Created: day, Due: at0(time.Hour), NextCheck: at0(time.Hour),
		Reference: "R-1", SignersDone: 1, SignersTotal: 2, History: []office.HistoryEntry{{Time: office.When{Time: day}, What: "signed", Who: "s1", Ref: "d1"}}}))
	keep(tx.PutPackage(office.Package{ID: "package-executed", Name: "Lease", Origin: office.MadeElsewhere, State: "executed", OrganizationID: "o",
		MemberID: "m", Signers: []office.Signer{ana}, Documents: []office.Document{lease}, Created: at0(time.Minute), Executed: office.When{Time: at0(time.Hour)},
		Checked: at0(time.Hour), Planned: true, Saved: true}))
	keep(tx.PutPackage(office.Package{ID: "package-gone", Origin: office.MadeElsewhere, Created: at0(time.Hour), Gone: true, Problem: message.ServiceKnowsNot()}))
	keep(tx.PutPackage(office.Package{ID: "package-withheld", Origin: office.MadeHere, State: "executed", Created: at0(time.Hour), Executed: office.When{Time: at0(time.Hour)},
		Refused: at0(time.Hour)}))
	keep(tx.PutPackage(office.Package{ID: "package-withdrawn", Origin: office.MadeHere, State: "open", Created: at0(2 * time.Hour), NextCheck: at0(9 * time.Hour),
		Withdrawal: &office.Withdrawal{State: office.WithdrawAsked, Message: "The rent was wrong.", By: "ana@example.com", Asked: day, NextTry: at0(time.Hour)}}))
	unwilling := jan
	unwilling.Declined, unwilling.DeclineReason = office.When{Time: at0(time.Hour)}, "The rent is wrong."
	keep(tx.PutPackage(office.Package{ID: "package-declined", Origin: office.MadeHere, State: "open", Created: at0(3 * time.Hour), NextCheck: at0(9 * time.Hour),
		Signers: []office.Signer{ana, unwilling}}))
	for _, j := range []office.Job{
		{Kind: "executed", DocumentID: "d1", Target: "Lease/Lease - signed.pdf", State: office.JobDone, Size: 123, Digest: "ab", Done: at0(time.Hour)},
		{Kind: "cac", DocumentID: "d1", Target: "Lease/Lease - certificate.pdf", State: office.JobFailed, Tries: 9, Problem: message.DiskFull("Signed"), Refused: day},
		{Kind: "masterfile", Target: "Lease/master file.pdf", Wanted: "Lease/master.pdf", State: office.JobPending, NextTry: at0(time.Hour)},
	} {
		j.PackageID, j.Folder, j.Planned = "package-executed", "/srv/signed", day
		_, err := tx.PlanJob(j)
		keep(err)
	}
	for _, state := range []office.DraftState{office.DraftQueued, office.DraftAdding, office.DraftUnknown, office.DraftSent, office.DraftFailed, office.DraftCancelled} {
		keep(tx.PutDraft(office.Draft{ID: "draft-" + string(state), Name: "Offer", Message: "Please.", Due: at0(time.Hour),
			ExternalData: json.RawMessage(`{"b":2}`), Signers: []office.Signer{ana, jan}, State: state, Created: day, Tries: 1,
			NextTry: at0(time.Hour), Problem: message.ServiceRefused(), PackageID: "package-open",
			Files: []office.DraftFile{{Path: "/a.pdf", Name: "a.pdf", Size: 1, SHA256: "cd", ExternalID: "x", FileID: "f", Uploaded: day}}}))
	}
	keep(tx.AddActivity(office.Activity{Time: day, Kind: "saved", PackageID: "package-executed", Text: message.Saved("Lease.pdf", "/home/office/Signed")}))
	_, err := tx.Once("notified package-executed")
	keep(err)
	keep(tx.PutSealed("refresh token", []byte{1, 2, 3, 0xff}))
	keep(tx.PutDoc("settings", map[string]any{"save_to": "/srv/signed"}))
	return errors.Join(failed...)
}

// asJSON is everything in a form that does not depend on how a field is empty.
func asJSON(t *testing.T, e everything) []byte {
	t.Helper()
	b, err := json.MarshalIndent(e, "", "\t")
	must(t, err)
	return append(b, '\n')
}
