package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/agent/transfer"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/private"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/store"
)

// everyone is what people are told of a package that is saved.
const everyone = "Everyone has signed “Offer”"

// backedUpOffice has a saved package, an open one, a held draft, and a backup of all that.
func backedUpOffice(t *testing.T) (o *testOffice, open, held string) {
	t.Helper()
	o = newOfficeWith(t, quick, sandbox.Options{})
	o.sendSigned()
	open = o.send()
	held = must(o.Hold(o.draft()))
	o.toldOf(1)
	noErr(t, o.backups.Make())
	return o, open, held
}

// toldOf waits until so many packages are saved, and people told of them.
func (o *testOffice) toldOf(n int) {
	o.t.Helper()
	o.eventually("told", func() bool { return o.Status().Packages.Saved == n && o.count(everyone) == n })
}

// loseData ends the program and takes the data file away.
func (o *testOffice) loseData() {
	o.t.Helper()
	o.stop()
	noErr(o.t, os.Remove(locations.State(o.data)))
}

// A kill while the second file is written leaves what was written of it: at most until the next start.
func TestWhatIsLeftOfTheSecondFileGoesWithTheNextStart(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.stop()
	left := filepath.Join(o.data, ".countersign-1"+private.Temporary)
	noErr(t, os.WriteFile(left, nil, 0o600))
	o.open()
	o.run()
	if _, err := os.Lstat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func (o *testOffice) draftNow(id string) (d office.Draft) {
	o.t.Helper()
	noErr(o.t, o.Data.Store.View(func(tx *store.Tx) (err error) {
		d, _, err = tx.Draft(id)
		return err
	}))
	return d
}

func TestALostStateComesBackFromTheBackupAndNothingIsSentSavedOrToldAgain(t *testing.T) {
	o, open, held := backedUpOffice(t)
	o.signAll(open)
	o.toldOf(2)
	o.signAll(o.send()) // of which the backup knows nothing
	o.toldOf(3)
	files, told, sent := o.files(), len(o.notifications()), o.service.Packages()
	record := must(o.RecordState())
	o.loseData()

	o.open()
	if said, fits, err := o.CheckRecord(record.Line); err != nil || fits || !strings.Contains(said.String(), "missing here") {
		t.Errorf("of a line that is later than the backup it says %v (%v)", said, err)
	}
	restored := false
	noErr(t, o.Data.Store.View(func(tx *store.Tx) error {
		return tx.Log().From(0, func(_ int64, line []byte) bool {
			restored = restored || bytes.Contains(line, []byte(`"fact":"restored"`))
			return true
		})
	}))
	if !restored {
		t.Error("that it was restored is not recorded")
	}
	o.run()
	o.hasSaved(3)
	o.eventually("everything was asked about", func() bool { s := o.Status(); return !s.Checked.IsZero() && !s.Checking })
	if i := o.issue("data-restored"); i == nil || !strings.Contains(i.Text(), "The backup of ") {
		t.Errorf("health: %+v", o.Status().Health)
	}
	if !o.Status().SignedIn {
		t.Error("nobody is signed in")
	}
	if d := o.draftNow(held); d.State != office.DraftHeld || d.Problem != message.DraftOfBefore() {
		t.Errorf("the held draft: %+v", d)
	}
	if len(o.kept()) != 1 {
		t.Errorf("the copies: %q", o.kept())
	}
	if now := o.files(); len(now) != len(files) {
		t.Errorf("files were saved again: %q, before %q", now, files)
	}
	if now := o.service.Packages(); len(now) != len(sent) {
		t.Errorf("%d packages at the service, before %d", len(now), len(sent))
	}
	var again []string
	if like := must(o.Send(t.Context(), o.draft(), nil)); like.State != office.DraftUnknown || like.Problem != message.DraftOfBefore() {
		t.Errorf("what was sent since the backup is sent again: %+v", like)
	}
	o.signAll(o.send())
	o.toldOf(4) // work goes on
	if !slices.ContainsFunc(o.Status().Health, func(i Issue) bool { return i.Message == message.DraftsOfBefore(1) }) {
		t.Errorf("that a person has to decide is not said: %+v", o.Status().Health)
	}
	expect(t, o.Status().Outbox, OutboxCounts{Held: 2}, "both drafts wait for a person, and the status counts %+v")
	for _, n := range o.notifications()[told:] {
		if strings.Contains(n, "igned") && !strings.Contains(n, "backup") {
			again = append(again, n)
		}
	}
	if len(again) != 2 { // the first, and that everyone has
		t.Errorf("people were told again: %q", again)
	}
	o.backups.Wake()
	o.eventually("the next backup is made at once", func() bool {
		files, err := transfer.List(locations.Backups(o.data))
		return err == nil && len(files) == 2
	})
}

// What was sent since the backup is not known here, so people send it again.
func TestWhatWasSentSinceTheBackupGoesOutAgainOnlyIfAPersonSaysSo(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	noErr(t, o.backups.Make())
	o.send()
	list := func(again bool) string {
		common := office.NewPackage{Name: "Lease", Files: []string{o.sample()}}
		rows := []office.ListRow{{Line: 1, Cells: []string{"E-mail"}}}
		for n := range 12 {
			rows = append(rows, office.ListRow{Line: n + 2, Cells: []string{fmt.Sprintf("tenant%d@example.com", n)}})
		}
		l := office.ReadList("leases.csv", rows, common, must(o.outbox.Sums(t.Context(), common)), time.Now(), "")
		return must(o.SendList(t.Context(), l, again, 0))
	}
	became := func(id string, state office.BulkState, sent int) func() bool {
		return func() bool {
			p, _, _, err := o.SentList(id)
			noErr(t, err)
			return p.State == state && p.Sent == sent
		}
	}
	o.eventually("the list is sent", became(list(false), office.BulkDone, 12))
	o.loseData()
	o.open()
	o.run()

	like := must(o.Send(t.Context(), o.draft(), nil))
	if like.State != office.DraftUnknown || like.Problem != message.DraftOfBefore() {
		t.Errorf("it is sent again: %+v", like)
	}
	paused := list(false)
	o.eventually("the list waits for a person", became(paused, office.BulkPaused, 0))
	for _, other := range []func(*office.NewPackage){
		func(d *office.NewPackage) { d.Name = "Offer 2" },
		func(d *office.NewPackage) { d.Signers = d.Signers[1:] },
	} {
		d := o.draft()
		if other(&d); must(o.Send(t.Context(), d, nil)).State != office.DraftSent {
			t.Errorf("what is new waits: %q to %v", d.Name, d.Signers)
		}
	}
	expect(t, len(o.service.Packages()), 15, "%d packages at the service")
	must(o.Decide(like.DraftID, true, 0))
	o.eventually("a person sends it", func() bool { return o.draftNow(like.DraftID).State == office.DraftSent })
	o.send()                                           // people are asked once
	noErr(t, o.DecideList(paused, office.BulkStopped)) // its lines do not wait there any more
	o.eventually("a person sends the list", became(list(true), office.BulkDone, 12))
}

// copyData is the data folder as a kill at this moment leaves it.
func copyData(t *testing.T, from string) string {
	to := t.TempDir()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case !e.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
	if err != nil {
		t.Error(err)
	}
	return to
}

// killedAt has copies taken of the data folder as a kill at each point that begins so would leave it, from the next start on.
func (o *testOffice) killedAt(begins string) map[string]string {
	kills := map[string]string{}
	o.adjust = func(p *Params) {
		quick(p)
		p.Crash = func(point string) {
			if strings.HasPrefix(point, begins) {
				kills[point] = copyData(o.t, o.data)
			}
		}
	}
	return kills
}

func TestRestoringThatIsKilledIsTakenUpByTheNextStart(t *testing.T) {
	o, _, held := backedUpOffice(t)
	o.loseData()
	kills := o.killedAt("restore")
	o.open()
	o.stop()
	o.adjust = quick
	if len(kills) != 2 {
		t.Fatalf("killed at %v", kills)
	}
	for point, data := range kills {
		o.data = data
		o.open()
		if d := o.draftNow(held); d.State != office.DraftHeld || len(o.kept()) != 1 || o.Status().Packages.Total != 2 || !o.Status().SignedIn || o.restorePending() {
			t.Errorf("killed at %q: %+v, copies %q, %+v", point, d, o.kept(), o.Status().Packages)
		}
		if i := o.issue("data-restored"); i == nil || !strings.Contains(i.Text(), "The backup of ") {
			t.Errorf("killed at %q: health %+v", point, o.Status().Health)
		}
		o.stop()
	}
}

// lostBehindLock loses the data and starts the office again with its keyring locked.
func (o *testOffice) lostBehindLock() *ringOf {
	o.t.Helper()
	o.loseData()
	ring := &ringOf{keeper: o.keeper, locked: secret.Locked}
	o.keeper = ring
	o.open()
	o.run()
	o.eventually("it says what it waits for", func() bool { i := o.issue("data-restored"); return i != nil && i.Action == ActUnlock })
	return ring
}

// restoredBy unlocks the keyring, and has it restored.
func (o *testOffice) restoredBy(ring *ringOf) {
	o.t.Helper()
	ring.unlock()
	noErr(o.t, o.Act(o.t.Context(), *o.issue("data-restored")))
	o.eventually("it is restored, and said", func() bool {
		i := o.issue("data-restored")
		return o.Status().Packages.Total == 2 && i != nil && i.Action == ActDismiss
	})
}

func TestRestoringWaitsForTheKeyAndNothingIsBegunMeanwhile(t *testing.T) {
	o, _, held := backedUpOffice(t)
	ring := o.lostBehindLock()
	if o.Settings().SaveTo != o.folder {
		t.Error("the settings are not there") // the window would show the first run
	}
	if _, err := o.Hold(o.draft()); err == nil {
		t.Error("a draft was taken that the restoring takes away")
	}
	o.restoredBy(ring)
	expect(t, o.draftNow(held).State, office.DraftHeld, "the draft is %s")
	expect(t, o.Status().Outbox.Held, 1, "%d drafts wait for a person")
	o.signAll(o.send())
	o.hasSaved(2)
}

func TestAComputerThatAnOfficeHasLeftStaysQuietAfterRestoringLate(t *testing.T) {
	o, _, _ := backedUpOffice(t)
	noErr(t, o.MoveOut(t.Context(), filepath.Join(t.TempDir(), "office.move"), password))
	o.restoredBy(o.lostBehindLock())
	o.quiet()
}

func TestABackupOfAnotherKeyIsLeftAloneAndSaid(t *testing.T) {
	o, _, _ := backedUpOffice(t)
	o.loseData()
	o.keeper = secret.Memory()
	o.open()
	if i := o.issue("data-restored"); i == nil || !strings.Contains(i.Text(), "does not open them") {
		t.Errorf("health: %+v", o.Status().Health)
	}
	if files, err := transfer.List(locations.Backups(o.data)); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	o.stop()
}

// The form has what was taken back of the outbox; a kill must not find it in neither.
func TestTheFormIsOnDiskBeforeADraftIsCancelled(t *testing.T) {
	o, _, held := backedUpOffice(t)
	o.KeepForm(office.Form{Name: "Lease"})
	must(o.Cancel(held))
	kept, _, err := data.Doc[office.Form](o.Data, "form")
	noErr(t, err)
	if kept.Name != "Lease" {
		t.Errorf("on disk is %+v", kept)
	}
}

func TestTheNewestBackupThatCanBeReadIsRestored(t *testing.T) {
	o, _, held := backedUpOffice(t)
	must(o.Cancel(held))
	noErr(t, o.backups.Make())
	files := must(transfer.List(locations.Backups(o.data)))
	noErr(t, os.Truncate(files[0].Path, 3000))
	o.loseData()
	o.open()
	if o.draftNow(held).State != office.DraftHeld || o.issue("data-restored") == nil {
		t.Errorf("health: %+v", o.Status().Health)
	}
	o.stop()
}

func TestABackupOfTheTimeBeforeAnOfficeWasBroughtOverTakesNothingFromIt(t *testing.T) {
	old, _, _, _ := movable(t)
	file := filepath.Join(t.TempDir(), "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	now := old.newComputer()
	noErr(t, now.backups.Make()) // while nothing was here
	noErr(t, now.arrive(file))
	noErr(t, now.SignIn(t.Context(), SignInOptions{}, visit))
	now.loseData()
	now.open()
	now.run()
	if s := now.Status(); !s.SignedIn || now.Settings().SaveTo != old.folder {
		t.Errorf("%+v, %+v", s, now.Settings())
	}
	noErr(t, now.MoveOut(t.Context(), file+"2", password))
	now.loseData()
	now.open()
	now.run()
	now.quiet()
}

func TestABackupThatWasChosenInVainIsNotChosenLater(t *testing.T) {
	o, _, held := backedUpOffice(t)
	must(o.Cancel(held))
	noErr(t, o.backups.Make())
	o.stop()
	files := must(transfer.List(locations.Backups(o.data)))
	aside := must(PrepareRestore(t.Context(), o.keeper, o.data, files[1].Path))
	noErr(t, os.Rename(aside, locations.State(o.data))) // it was killed before
	o.open()
	o.loseData()
	o.open()
	expect(t, o.draftNow(held).State, office.DraftCancelled, "an older backup was restored: what was cancelled is %s")
	o.stop()
}

func TestWhoAskedForABackupIsNotToldThatTheDataWasMissing(t *testing.T) {
	o, _, _ := backedUpOffice(t)
	o.stop()
	must(PrepareRestore(t.Context(), o.keeper, o.data, ""))
	o.open()
	for _, i := range o.Status().Health {
		if i.ID == IssueRestored && strings.HasPrefix(i.Text(), "The data file was put aside. The backup of ") {
			o.stop()
			return
		}
	}
	t.Errorf("it says %v", o.Status().Health)
	o.stop()
}

func TestNothingIsWithdrawnAtAServiceThatIsUsedAgainAfterRestoring(t *testing.T) {
	tools := looptest.Base(t, func() {})
	noErr(t, tools.Data.Update(func(tx *store.Tx) error {
		p := office.Package{ID: "p", State: office.PackageOpen, Withdrawal: &office.Withdrawal{State: office.WithdrawWanted}}
		tx.UseService("one")
		tx.PutPackage(p)
		tx.UseService("other")
		(&Agent{}).forgetWithdrawals(tx, tools.Now())
		lines, _, _ := tx.Activities("", 9)
		p, _, err := tx.Package("p")
		if w := p.Withdrawal; w.Pending() || w == nil || w.State != office.WithdrawUnknown || len(lines) != 1 { // the next wish asks first
			t.Errorf("it is still to be withdrawn: %+v, and said is %v", p.Withdrawal, lines)
		}
		return err
	}))
}

func TestABackupThatCannotBeRestoredChangesNothingAndIsNamed(t *testing.T) {
	o, _, _ := backedUpOffice(t)
	noErr(t, o.backups.Make())
	o.stop()
	files := must(transfer.List(locations.Backups(o.data)))
	copied := filepath.Join(t.TempDir(), filepath.Base(files[1].Path))
	noErr(t, os.WriteFile(copied, mustRead(t, files[1].Path), 0o600))
	noErr(t, os.Truncate(files[0].Path, 900))
	for file, want := range map[string]string{
		files[0].Path:                    "is damaged or was made with another key",
		filepath.Join(o.data, "missing"): "There is no file",
		copied:                           "is not one of the backups",
	} {
		if _, err := PrepareRestore(t.Context(), o.keeper, o.data, file); err == nil || !strings.Contains(Message(err).String(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := PrepareRestore(t.Context(), secret.Memory(), o.data, ""); err == nil || !strings.Contains(Message(err).String(), "does not open them") {
		t.Errorf("with another key: %v", err)
	}
	if _, err := os.Stat(locations.State(o.data)); err != nil {
		t.Errorf("the data was put aside all the same: %v", err)
	}
}
