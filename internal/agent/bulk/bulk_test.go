package bulk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/table"
	"countersign/internal/trytest"
)

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// desk is an office whose outbox stores drafts, and fails when the test wants that: before the commit or after it, as a kill does.
type desk struct {
	*Service
	t      *testing.T
	tools  loop.Base
	sender string
	lists  int
	most   int // drafts that waited at once
	refuse message.Message
	kill   func(committed bool) bool
}

var errKilled = errors.New("killed")

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, tools: looptest.Base(t, func() {}), sender: "olivia", kill: func(bool) bool { return false }}
	d.restart()
	return d
}

// restart forgets what is not on disk.
func (d *desk) restart() {
	keep := func(draft office.Draft, also func(*store.Tx, *office.Draft) error) error {
		if d.kill(false) {
			return errKilled
		}
		err := d.tools.Data.Update(func(tx *store.Tx) error { return errors.Join(also(tx, &draft), tx.PutDraft(draft)) })
		if err == nil && d.kill(true) {
			err = errKilled
		}
		return err
	}
	d.Service = New(d.tools, Deps{
		Read: func(_ context.Context, file *os.File) ([]byte, error) {
			var out bytes.Buffer
			err := table.Serve(file, &out)
			return out.Bytes(), err
		},
		Sums:   func(context.Context, office.NewPackage) ([]string, error) { return []string{"sum"}, nil },
		Sender: func() string { return d.sender },
		Keep: func(_ context.Context, p office.NewPackage, _ []string, also func(*store.Tx, *office.Draft) error) error {
			d.lists++
			return keep(office.Draft{ID: fmt.Sprint("list ", d.lists), State: office.DraftList, By: d.sender}, also)
		},
		Send: func(_ context.Context, common office.Draft, id string, p office.NewPackage, also func(*store.Tx, *office.Draft) error) error {
			if !d.refuse.IsZero() {
				return message.Error(d.refuse, nil)
			}
			return keep(office.Draft{ID: id, Name: p.Name, Signers: p.Signers, State: office.DraftQueued, By: common.By}, also)
		},
		TakeBack: func(tx *store.Tx, id string) (back []string, err error) {
			waiting, err := tx.Drafts(office.DraftQueued)
			for _, x := range waiting {
				if x.List == id {
					back = append(back, x.ID)
					err = errors.Join(err, tx.PutDraft(office.Draft{ID: x.ID, List: id, State: office.DraftCancelled}))
				}
			}
			return back, err
		},
		TookBack: func() {},
		LetGo: func(tx *store.Tx, id string) error {
			return tx.PutDraft(office.Draft{ID: id, State: office.DraftCancelled})
		},
		Refused: func(err error) (message.Message, bool, bool) { m, ok := message.Of(err); return m, false, ok },
	})
}

// drafts are those of lines.
func (d *desk) drafts(states ...office.DraftState) (list []office.Draft) {
	d.t.Helper()
	noErr(d.t, d.tools.Data.Store.View(func(tx *store.Tx) (err error) { list, err = tx.Drafts(states...); return err }))
	var lines []office.Draft
	for _, x := range list {
		if x.List != "" {
			lines = append(lines, x)
		}
	}
	return lines
}

// end has up to n drafts that wait come to an end.
func (d *desk) end(state office.DraftState, n int) error {
	waiting := d.drafts(office.DraftQueued)
	d.most = max(d.most, len(waiting))
	for _, x := range waiting {
		if n > 0 {
			n--
			x.State, x.PackageID, x.Problem = state, "package "+x.ID, message.MayNotSendDocuments()
			noErr(d.t, d.tools.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(x) }))
		}
	}
	return nil
}

// work sends until nothing is left that can be sent.
func (d *desk) work(end office.DraftState) {
	d.t.Helper()
	for {
		must(d.feed(d.t.Context()))
		if len(d.drafts(office.DraftQueued)) == 0 {
			return
		}
		noErr(d.t, d.end(end, 9))
	}
}

func (d *desk) prepare(lines ...string) office.BulkList {
	d.t.Helper()
	path := filepath.Join(d.t.TempDir(), "people.csv")
	noErr(d.t, os.WriteFile(path, []byte("E-mail;Flat\n"+strings.Join(lines, "\n")), 0o600))
	l := must(d.Prepare(d.t.Context(), path, office.NewPackage{Name: "Lease {flat}"}, ""))
	if len(l.Wrong) > 0 {
		d.t.Fatalf("%+v", l)
	}
	return l
}

func (d *desk) send(l office.BulkList) string {
	d.t.Helper()
	id := must(d.Send(d.t.Context(), l, false, 0))
	return id
}

func (d *desk) progress(id string) office.BulkProgress {
	d.t.Helper()
	p, _, known, err := d.List(id)
	if noErr(d.t, err); !known {
		d.t.Fatal("the list is gone")
	}
	return p
}

func people(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("p%d@example.com;%d", i, i))
	}
	return lines
}

// oneFor are lines for the same person.
func oneFor(from, to int) (lines []string) {
	for i := from; i < to; i++ {
		lines = append(lines, fmt.Sprintf("ana@example.com;%d", i))
	}
	return lines
}

// before says of each line whether it was sent before.
func before(l office.BulkList) (said string) {
	for _, x := range l.Lines {
		said += map[office.Before]string{"": "n", office.BeforeSame: "s", office.BeforeWaiting: "w", office.BeforeChanged: "c"}[x.Before]
	}
	return said
}

func TestALineIsSentOnceWhateverIsInterrupted(t *testing.T) {
	for seed := range uint64(6) {
		d, chance := newDesk(t), rand.New(rand.NewPCG(seed, 31))
		people := people
		if seed%2 == 1 {
			people = func(n int) []string { return oneFor(0, n) }
		}
		ids := []string{d.send(d.prepare(people(40)...))}
		kill := func(bool) bool { return chance.IntN(5) == 0 }
		open := func(id string) bool { return !d.progress(id).Over() }
		runs := func(id string) bool { return d.progress(id).State == office.BulkRunning }
		for d.kill = kill; slices.ContainsFunc(ids, open); {
			id := ids[chance.IntN(len(ids))]
			switch chance.IntN(8) {
			case 0:
				d.restart()
			case 1:
				if runs(id) {
					noErr(t, errors.Join(d.Decide(id, office.BulkPaused), d.Decide(id, office.BulkRunning)))
				}
			case 2: // stopped, begun anew with another list in part or not, and resumed
				if !runs(id) {
					continue
				}
				d.kill = func(bool) bool { return false }
				noErr(t, d.Decide(id, office.BulkStopped))
				if rest := d.prepare(people(1 + chance.IntN(39))...); len(rest.Left(false)) > 0 && len(ids) < 4 {
					ids = append(ids, d.send(rest))
				}
				noErr(t, d.Decide(id, office.BulkRunning))
				d.kill = kill
			default:
				if _, err := d.feed(t.Context()); err != nil && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				noErr(t, d.end(office.DraftSent, chance.IntN(3)))
			}
			if p := d.progress(id); p.State == office.BulkDone {
				noErr(t, d.end(office.DraftSent, 99))
			}
		}
		names, sent := map[string]int{}, 0
		for _, x := range d.drafts(office.DraftSent) {
			names[x.Name]++
		}
		for _, id := range ids {
			sent += d.progress(id).Sent
		}
		if len(names) != 40 || len(d.drafts(office.DraftSent, office.DraftQueued)) != 40 || sent != 40 || d.most > ahead*len(ids) {
			t.Errorf("seed %d: %d packages of %d drafts, %d at once, %d sent of %d lists", seed, len(names), len(d.drafts()), d.most, sent, len(ids))
		}
	}
}

func TestWhatWasSentIsKnownInAChangedListAndAnotherOne(t *testing.T) {
	d := newDesk(t)
	first := d.prepare("ana@example.com;1", "ana@example.com;2", "jan@example.com;3", "eva@example.com;4")
	id := d.send(first)
	if _, err := d.Send(t.Context(), first, false, 0); err == nil {
		t.Error("a list that was looked at before another one was stored is sent all the same")
	}
	d.work(office.DraftSent)
	for _, c := range []struct{ lines, want string }{
		{"ana@example.com;1|ana@example.com;2|jan@example.com;3|eva@example.com;4", "ssss"},
		{"zoe@example.com;9|eva@example.com;4|ana@example.com;2", "nss"}, // shorter, and in another order
		{"jan@example.com;33", "c"},                                                         // corrected since
		{"ana@example.com;1|ana@example.com;2|ana@example.com;5", "ssn"},                    // one more for the same person
		{"ana@example.com;5|ana@example.com;1", "cs"},                                       // it may be what became of the other
		{"ana@example.com;5|ana@example.com;6|ana@example.com;7|ana@example.com;1", "cnns"}, // one was changed, two came
	} {
		if got := before(d.prepare(strings.Split(c.lines, "|")...)); got != c.want {
			t.Errorf("%s: %s, want %s", c.lines, got, c.want)
		}
	}
	if l := d.prepare("jan@example.com;3"); len(l.Left(false)) != 0 || len(l.Left(true)) != 1 {
		t.Error("it is sent again without a word, or not even then")
	}
	if p := d.progress(id); p.Sent != 4 || p.State != office.BulkDone {
		t.Errorf("%+v", p)
	}
}

func TestALineThatWaitsInAnotherListIsNotSentAgain(t *testing.T) {
	d := newDesk(t)
	looked := d.prepare(people(3)...)
	d.send(d.prepare(people(3)...))
	if l := d.prepare(people(4)...); before(l) != "wwwn" || len(l.Left(true)) != 1 {
		t.Errorf("known as %s, with again %d would be sent", before(l), len(l.Left(true)))
	}
	for name, l := range map[string]office.BulkList{"looked at before": looked, "looked at afterwards": d.prepare(people(3)...)} {
		if _, err := d.Send(t.Context(), l, true, 0); err == nil {
			t.Errorf("%s: it is sent a second time", name)
		}
	}
	must(d.feed(t.Context()))
	expect(t, before(d.prepare(people(3)...)), "www", "in the outbox they are known as %s")
	d.work(office.DraftSent)
	if n := len(d.drafts()); n != 3 {
		t.Errorf("3 lines become %d packages", n)
	}
}

func TestAStoppedListContinuesWithoutTheVeryLinesThatAnotherOneSent(t *testing.T) {
	for name, c := range map[string]struct {
		again  bool
		others []string
		left   string
	}{
		"one of the remaining lines":        {false, oneFor(6, 7), "4 5 7 8 9"},
		"the remaining lines, one changed":  {false, append(oneFor(4, 9), "ana@example.com;99"), "9"}, // nobody knows which of them
		"lines sent before, once more":      {true, oneFor(0, 4), "4 5 6 7 8 9"},
		"all of it, and what was sent also": {true, oneFor(0, 10), ""},
	} {
		d := newDesk(t)
		id := d.send(d.prepare(oneFor(0, 10)...))
		must(d.feed(t.Context()))
		noErr(t, errors.Join(d.end(office.DraftSent, ahead), d.Decide(id, office.BulkStopped)))
		l := d.prepare(c.others...)
		other := must(d.Send(t.Context(), l, c.again || strings.Contains(before(l), "c"), 0))
		d.work(office.DraftSent)
		noErr(t, d.Decide(id, office.BulkRunning))
		d.work(office.DraftSent)
		var left []string
		_, lines, _, err := d.List(id)
		noErr(t, err)
		for _, x := range lines[ahead:] {
			if x.State == office.DraftSent {
				left = append(left, x.Cells[1])
			}
		}
		if got := strings.Join(left, " "); got != c.left || d.progress(other).Sent != len(c.others) {
			t.Errorf("%s: of the rest %q were sent, want %q", name, got, c.left)
		}
	}
}

func TestWhatCannotBeReadIsNotTakenForWhatWasNeverSentNorForSent(t *testing.T) {
	d := newDesk(t)
	id := d.send(d.prepare("ana@example.com;1", "ana@example.com;2"))
	d.work(office.DraftSent)
	looptest.Spoil(t, &d.tools, "", "drafts")
	d.restart()
	if p := d.progress(id); p.Sent != 0 || p.Unknown != 2 {
		t.Errorf("of drafts that cannot be read: %+v", p)
	}
	looptest.Spoil(t, &d.tools, `"list":"`, "docs")
	d.restart()
	if got := before(d.prepare("ana@example.com;1", "ana@example.com;2", "eva@example.com;3")); got != "ccn" {
		t.Errorf("of lines whose mark cannot be read: %s", got)
	}
}

func TestWhatWasNotSentComesWithTheNextDrop(t *testing.T) {
	d := newDesk(t)
	id := d.send(d.prepare(people(20)...))
	must(d.feed(t.Context()))
	if got := before(d.prepare(people(20)...)); got != strings.Repeat("w", 20) { // in the outbox, or for their turn
		t.Errorf("while it runs: %s", got)
	}
	noErr(t, errors.Join(d.end(office.DraftSent, 2), d.end(office.DraftFailed, 1), d.Decide(id, office.BulkStopped)))
	l := d.prepare(people(20)...)
	if n := strings.Count(before(l), "s"); n != 2 || d.progress(id).Sent != 2 || !d.progress(id).Over() {
		t.Errorf("once it was stopped: %s, %+v", before(l), d.progress(id))
	}
	second := d.send(l)
	must(d.feed(t.Context()))
	_, lines, _, err := d.List(second)
	noErr(t, err)
	replaces := 0
	noErr(t, d.tools.Data.Store.View(func(tx *store.Tx) error {
		for n := range lines {
			var x line
			_, _ = tx.GetDoc(lineDoc(second, n), &x)
			replaces += len(x.Package.Replaces)
		}
		return nil
	}))
	expect(t, replaces, 1, "%d drafts that were refused are replaced")
	noErr(t, errors.Join(d.Decide(second, office.BulkStopped), d.Decide(id, office.BulkRunning)))
	d.work(office.DraftSent)
	noErr(t, d.Decide(second, office.BulkRunning)) // of which the first one has sent everything by now
	d.work(office.DraftSent)
	if a, b := d.progress(id), d.progress(second); a.Sent+b.Sent != 20 || b.State != office.BulkDone || len(d.drafts(office.DraftSent)) != 20 {
		t.Errorf("resumed one after the other: %+v, %+v", a, b)
	}
}

func TestAListPausesByItself(t *testing.T) {
	d := newDesk(t)
	id := d.send(d.prepare(slices.Insert(people(30), 1, "nobody;31")...))
	d.work(office.DraftFailed)
	p := d.progress(id)
	if p.State != office.BulkPaused || p.Problem.IsZero() || p.Wrong > 1+stalled+ahead {
		t.Fatalf("after packages that were refused: %+v", p)
	}
	noErr(t, d.Decide(id, office.BulkRunning))
	d.work(office.DraftSent)
	var said []string
	noErr(t, d.tools.Data.Store.View(func(tx *store.Tx) error {
		all, _, err := tx.Activities("", 9)
		for _, x := range all {
			if said = append(said, x.Text.ID()); x.List != id {
				t.Errorf("%q is of the list %q", x.Text, x.List)
			}
		}
		return err
	}))
	if want := []string{"list.list-continued", "list.list-stalled", "list.list-begun"}; !slices.Equal(said, want) {
		t.Errorf("the activity says %q", said)
	}
	if _, lines, _, err := d.List(id); err != nil || lines[1].Line != 3 || lines[1].State != office.DraftFailed || lines[1].Problem.IsZero() {
		t.Errorf("a line with a mistake: %+v, %v", lines[1], err)
	}
	if p := d.progress(id); p.State != office.BulkDone || p.Lines != 31 || p.Sent != 31-p.Wrong {
		t.Errorf("once it went on: %+v", p)
	}

	other := d.send(d.prepare("x1@example.com;1", "x2@example.com;2"))
	noErr(t, d.tools.Data.Update(func(tx *store.Tx) error { Doubt(tx); return nil }))
	d.work(office.DraftSent)
	if p := d.progress(other); p.State != office.BulkPaused || p.Next != 0 {
		t.Errorf("after a restore: %+v", p)
	}
	d.sender = "somebody else"
	noErr(t, d.Decide(other, office.BulkRunning))
	d.work(office.DraftSent)
	if p := d.progress(other); p.Next != 0 || p.State != office.BulkPaused || p.Problem != message.ListOfAnotherAccount(p.File) {
		t.Errorf("another account sends: %+v", p)
	}
	d.sender = ""
	d.work(office.DraftSent)
	d.sender, d.refuse = "somebody else", message.DueDatePassed()
	noErr(t, d.Decide(other, office.BulkRunning))
	d.work(office.DraftSent)
	if p := d.progress(other); p.Wrong != 2 || !p.Over() {
		t.Errorf("what cannot be a package: %+v", p)
	}
}

func TestAListGoesOnOnceItsAccountIsBackUnlessItWasStopped(t *testing.T) {
	for _, stop := range []bool{false, true} {
		d := newDesk(t)
		id := d.send(d.prepare(people(2)...))
		for _, d.sender = range []string{"somebody else", ""} {
			d.work(office.DraftSent)
		}
		if p := d.progress(id); p.State != office.BulkPaused {
			t.Fatalf("another account is signed in: %+v", p)
		}
		if stop {
			noErr(t, d.Decide(id, office.BulkStopped))
		}
		d.sender = "olivia"
		d.work(office.DraftSent)
		if p := d.progress(id); stop != (p.Sent == 0) || stop != (p.State == office.BulkStopped) || !p.Problem.IsZero() {
			t.Errorf("stopped %v: %+v", stop, p)
		}
	}
}

func TestAListWaitsUntilItCannotBeUndone(t *testing.T) {
	d := newDesk(t)
	id := must(d.Send(t.Context(), d.prepare(people(2)...), false, 8*time.Second))
	if pause, err := d.feed(t.Context()); err != nil || pause <= 0 || pause > 8*time.Second || len(d.drafts()) != 0 {
		t.Errorf("%v, %v", pause, err)
	}
	noErr(t, d.Decide(id, office.BulkStopped))
	d.tools.Now = func() time.Time { return time.Now().Add(time.Hour) }
	d.restart()
	d.work(office.DraftSent)
	if err := d.Decide(id, office.BulkRunning); err == nil || len(d.drafts()) != 0 || before(d.prepare(people(2)...)) != "nn" {
		t.Error("it is sent though it was taken back")
	}
}

// The last lines are in the outbox when the list has no other ones: it can be stopped until the service has them.
func TestAListIsDoneWhenItsLastPackageIsSentAndNotBefore(t *testing.T) {
	d := newDesk(t)
	id := d.send(d.prepare(people(2)...))
	state := func() office.BulkState { must(d.feed(t.Context())); return d.progress(id).State }
	expect(t, state(), office.BulkRunning, "with two packages to be sent it is %s")
	noErr(t, d.end(office.DraftSent, 1))
	expect(t, state(), office.BulkRunning, "with one package to be sent it is %s")
	noErr(t, d.Decide(id, office.BulkStopped))
	if p := d.progress(id); state() != office.BulkStopped || p.Sent != 1 || len(d.drafts(office.DraftQueued)) != 0 {
		t.Errorf("stopped: %+v", p)
	}
	noErr(t, d.Decide(id, office.BulkRunning))
	state()
	last := d.drafts(office.DraftQueued)[0]
	last.State = office.DraftAdding
	noErr(t, errors.Join(d.tools.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(last) }), d.Decide(id, office.BulkStopped)))
	expect(t, state(), office.BulkStopped, "while the service is asked it is %s")
	back := func() (stopped bool) { // the service did not take it
		last.State = office.DraftQueued
		noErr(t, d.tools.Data.Update(func(tx *store.Tx) (err error) {
			tx.PutDraft(last)
			err = d.Requeued(tx, id)
			now, _, _ := tx.Draft(last.ID)
			stopped = now.State == office.DraftCancelled
			now.State = office.DraftCancelled // its line has another draft by now
			return errors.Join(err, tx.PutDraft(now))
		}))
		return stopped
	}
	if p := d.progress(id); !back() || state() != office.BulkStopped || p.Sent != 1 {
		t.Errorf("stopped while the service was asked: %+v", p)
	}
	noErr(t, d.Decide(id, office.BulkRunning))
	expect(t, state(), office.BulkRunning, "with its last package to be sent again it is %s")
	if waiting := d.drafts(office.DraftQueued); len(waiting) != 1 || waiting[0].ID == last.ID || back() {
		t.Errorf("there wait %+v", waiting)
	}
	noErr(t, d.end(office.DraftSent, 1))
	expect(t, state(), office.BulkDone, "with every package sent it is %s")
}

func TestTheDocumentsOfAListThatWasStoppedLongAgoAreForgotten(t *testing.T) {
	d := newDesk(t)
	id, day := d.send(d.prepare(people(2)...)), time.Now()
	work := func(days int) bool {
		for range days {
			day = day.AddDate(0, 0, 1)
			noErr(t, d.tools.Data.Update(func(tx *store.Tx) error { _, err := tx.CountDay(day); return err }))
			noErr(t, d.Forget())
		}
		return !d.progress(id).Forgotten
	}
	if !work(2 * keep) {
		t.Error("of a list that is being sent")
	}
	noErr(t, d.Decide(id, office.BulkStopped))
	work(keep)
	noErr(t, errors.Join(d.Decide(id, office.BulkRunning), d.Decide(id, office.BulkStopped)))
	if !work(keep+1) || work(1) {
		t.Error("not as long after it was stopped as they are to be kept")
	}
	if err := d.Decide(id, office.BulkRunning); err == nil || before(d.prepare(people(2)...)) != "nn" {
		t.Errorf("%v, %s", err, before(d.prepare(people(2)...)))
	}
}

// After the backup that was restored, more lines went out, of which the service's list told.
func TestWhatWentOutAfterTheBackupIsSentWhateverBecomesOfTheList(t *testing.T) {
	d := newDesk(t)
	id := d.send(d.prepare(people(6)...))
	noErr(t, d.tools.Data.Update(func(tx *store.Tx) (err error) {
		for n := range 2 {
			var x line
			tx.GetDoc(lineDoc(id, n), &x)
			err = errors.Join(err, tx.PutPackage(office.Package{ID: fmt.Sprint("p", n), Source: office.Source{DraftID: x.Draft}}))
		}
		Doubt(tx)
		return err
	}))
	if got := before(d.prepare(people(6)...)); got != "sswwww" {
		t.Errorf("while it is paused: %s", got)
	}
	noErr(t, d.Decide(id, office.BulkStopped))
	_, lines, _, err := d.List(id)
	noErr(t, err)
	if p := d.progress(id); p.Sent != 2 || p.Open != 4 || lines[0].State != office.DraftSent || lines[0].PackageID != "p0" {
		t.Errorf("%+v, %+v", p, lines[0])
	}
	rest := d.prepare(people(6)...)
	if got := before(rest); got != "ssnnnn" {
		t.Errorf("once it was stopped: %s", got)
	}
	other := d.send(rest)
	d.work(office.DraftSent)
	noErr(t, d.Decide(id, office.BulkRunning))
	d.work(office.DraftSent)
	if a, b := d.progress(id), d.progress(other); a.Sent != 2 || b.Sent != 4 || len(d.drafts(office.DraftSent)) != 4 {
		t.Errorf("%+v, %+v", a, b)
	}
}

func TestAnotherComputerKnowsWhatWasSent(t *testing.T) {
	d, now := newDesk(t), newDesk(t)
	id := d.send(d.prepare(append(people(8), oneFor(0, 4)...)...))
	unfinished := func() (file string) {
		noErr(t, d.tools.Data.Store.View(func(tx *store.Tx) (err error) { file, err = Unfinished(tx); return err }))
		return file
	}
	must(d.feed(t.Context()))
	noErr(t, errors.Join(d.end(office.DraftSent, 3), d.end(office.DraftFailed, 1)))
	running := unfinished()
	noErr(t, d.Decide(id, office.BulkPaused))
	paused := unfinished()
	noErr(t, d.Decide(id, office.BulkStopped))
	if stopped := unfinished(); running != "people.csv" || paused != running || stopped != "" {
		t.Errorf("unfinished are %q, %q and %q", running, paused, stopped)
	}
	d.send(d.prepare(oneFor(0, 4)...))
	d.work(office.DraftSent)
	var sent []office.SentLines
	noErr(t, errors.Join(d.tools.Data.Store.View(func(tx *store.Tx) (err error) { sent, err = Sent(tx); return err }),
		now.tools.Data.Update(func(tx *store.Tx) error { Adopt(tx, sent); return nil })))
	if got := before(now.prepare(append(people(8), oneFor(0, 4)...)...)); got != "ssssnnnnssss" {
		t.Errorf("the new computer says %s", got)
	}
}

// A draft whose document is missing is not brought over, and its line was never sent.
func TestALineThatWaitsInTheOutboxIsKnownElsewhereByItsDraftAlone(t *testing.T) {
	d := newDesk(t)
	d.send(d.prepare(people(3)...))
	must(d.feed(t.Context()))
	noErr(t, d.end(office.DraftSent, 1))
	var sent []office.SentLines
	noErr(t, d.tools.Data.Store.View(func(tx *store.Tx) (err error) { sent, err = Sent(tx); return err }))
	var drafts []string
	for _, x := range sent {
		drafts = append(drafts, x.Draft)
	}
	want := []string{""}
	for _, x := range d.drafts(office.DraftQueued) {
		want = append(want, x.ID)
	}
	slices.Sort(drafts)
	slices.Sort(want)
	expect(t, drafts, want, "known by the drafts %q, want %q", want)
}

// The backup that was restored knows a line's first draft, and the service the package of its third one.
func TestALineThatWentOutUnderALaterDraftIsKnown(t *testing.T) {
	d := newDesk(t)
	noErr(t, d.tools.Data.Update(func(tx *store.Tx) error {
		err := tx.PutPackage(office.Package{ID: "p", Source: office.Source{DraftID: nextDraft(nextDraft("first"))}})
		p, ok := packageOf(tx, "first")
		if _, others := packageOf(tx, "other"); !ok || p.ID != "p" || others {
			t.Errorf("%+v, %v, %v", p, ok, others)
		}
		return err
	}))
}

// A line whose packages/add is under way is not sent again by a list.
func TestALineOnItsWayWaits(t *testing.T) {
	d := newDesk(t)
	d.send(d.prepare(people(3)...))
	must(d.feed(t.Context()))
	noErr(t, d.end(office.DraftAdding, 3))
	if l := d.prepare(people(3)...); before(l) != "www" || len(l.Left(true)) > 0 {
		t.Errorf("known as %s; with again %d go out a second time", before(l), len(l.Left(true)))
	}
}

// A line that was sent, and waits to be sent once more, waits.
func TestALineThatWaitsToBeSentOnceMoreIsNotSentAThirdTime(t *testing.T) {
	d := newDesk(t)
	d.send(d.prepare(people(3)...))
	d.work(office.DraftSent)
	must(d.Send(t.Context(), d.prepare(people(3)...), true, 0))
	l := d.prepare(people(3)...)
	if before(l) != "www" || len(l.Left(true)) != 0 {
		t.Errorf("3 lines wait in the second list, and are known as %s; with again %d of them go out", before(l), len(l.Left(true)))
	}
	if _, err := d.Send(t.Context(), l, true, 0); err == nil {
		t.Error("they are sent a third time, though they wait in the second list")
	}
	d.work(office.DraftSent)
	if n := len(d.drafts()); n != 6 {
		t.Errorf("3 lines, sent and once more, become %d packages", n)
	}
}
