package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/issuer"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/store"
)

const password = "correct horse battery"

// ahead is how far the service's clock is.
var ahead atomic.Int64

// aMinuteLater is a moment in which the service accepts no token again that was used before.
func aMinuteLater() { ahead.Add(int64(2 * time.Minute)) }

// newComputer is a computer of its own, with the same service.
func (o *testOffice) newComputer() *testOffice {
	o.t.Helper()
	n := &testOffice{t: o.t, keeper: secret.Memory(), data: o.t.TempDir(), folder: o.folder, adjust: quick, service: o.service}
	n.open()
	n.run()
	o.t.Cleanup(func() { n.stop() })
	return n
}

// queue has a draft wait for the service, which takes no file until heal.
func (o *testOffice) queue() (draftID string, heal func()) {
	o.t.Helper()
	fault := o.service.Inject(sandbox.Fault{Path: "/files/upload", Status: 503})
	id, err := o.Hold(o.draft())
	noErr(o.t, err)
	noErr(o.t, o.Resolve(id, true))
	return id, func() { o.service.Heal(fault) }
}

// movable has a saved package, an open one, a draft that waits, and one that is held.
func movable(t *testing.T) (o *testOffice, open, queued string, heal func()) {
	t.Helper()
	o = newOfficeWith(t, quick, sandbox.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	t.Cleanup(func() { ahead.Store(0) })
	early := o.send()
	signAll(o, early)
	open = o.send()
	o.eventually("told", func() bool { return o.Status().Packages.Saved == 1 && o.count(everyone) == 1 })
	_, err := o.Hold(o.draft())
	noErr(t, err)
	queued, heal = o.queue()
	return o, open, queued, heal
}

// noLeftovers fails when there are copies of the state or of documents that nobody needs.
func (o *testOffice) noLeftovers() {
	o.t.Helper()
	for _, name := range []string{"arriving", "moving.new", filepath.Join("backups", "unpacking")} {
		if _, err := os.Lstat(filepath.Join(o.data, name)); err == nil {
			o.t.Errorf("%s is left", name)
		}
	}
}

// quiet fails when the old computer does anything.
func (o *testOffice) quiet() {
	o.t.Helper()
	if _, online := o.account.Online(); online {
		o.t.Error("the old computer calls the service")
	}
	if _, err := o.Hold(o.draft()); err == nil {
		o.t.Error("the old computer takes a draft")
	}
	if s := o.Status(); s.Tunnel.State == "up" {
		o.t.Errorf("the old computer's address is open: %+v", s.Tunnel)
	}
	if i := o.issue("moved"); i == nil || i.Action != ActTakeBack {
		o.t.Errorf("the old computer says nothing: %+v", o.Status().Health)
	}
	if err := o.SignIn(o.t.Context(), SignInOptions{}, visit); err == nil {
		o.t.Error("somebody signed in on the old computer")
	}
}

func TestAnOfficeMovesAndTheOldComputerStaysQuiet(t *testing.T) {
	old, open, queued, heal := movable(t)
	old.KeepForm(office.Form{Name: "Lease"})
	file := filepath.Join(t.TempDir(), "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	old.quiet()
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if err := old.MoveOut(t.Context(), file+"2", password); err == nil || Message(err) != message.MovingNow() {
		t.Errorf("it moved twice: %v", err)
	}

	now := old.newComputer()
	heal()
	b, err := now.MoveIn(t.Context(), file, password, "")
	if err != nil || !b.Waits.IsZero() || b.Computer == "" {
		t.Fatalf("%+v, %v", b, err)
	}
	if typed := now.Form().Name; typed != "Lease" {
		t.Errorf("what was typed is %q", typed)
	}
	now.eventually("what waited is sent", func() bool { return now.draftNow(queued).State == office.DraftSent })
	signAll(now, open)
	now.eventually("and what is signed is saved", func() bool { return now.Status().Packages.Saved == 2 })
	if n := len(now.service.Packages()); n != 3 {
		t.Errorf("%d packages at the service", n)
	}
	if got := now.Status(); !got.SignedIn || got.Packages.Total != 3 || now.Settings().SaveTo != old.folder {
		t.Errorf("%+v", got)
	}
	now.eventually("told, of the one that was signed here alone", func() bool { return now.count(everyone) == 1 })
	if n := old.count(everyone); n != 1 {
		t.Errorf("the old computer told: %q", old.notifications())
	}
	old.restart()
	old.quiet()
	aMinuteLater()
	if err := old.Act(t.Context(), *old.issue("moved")); err == nil {
		t.Error("the old computer took the office back from the new one")
	}
	old.quiet()
}

func TestAFileThatIsBroughtOverTwiceWithinAMinuteSendsWhatWaitedOnce(t *testing.T) {
	old, _, queued, heal := movable(t)
	file := filepath.Join(t.TempDir(), "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	first, second := old.newComputer(), old.newComputer()
	for _, o := range []*testOffice{first, second} {
		b, err := o.MoveIn(t.Context(), file, password, "")
		if err != nil || !b.Waits.IsZero() || !o.Status().SignedIn {
			t.Fatalf("%+v, %v, %+v", b, err, o.Status())
		}
	}
	second.stop()
	heal()
	first.eventually("what waited is sent", func() bool { return first.draftNow(queued).State == office.DraftSent })
	second.open()
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { second.Run(ctx, PartOutbox) })
	t.Cleanup(func() { end(); running.Wait() })
	second.eventually("and found", func() bool { return second.draftNow(queued).State == office.DraftSent })
	if n := len(old.service.Packages()); n != 3 {
		t.Errorf("%d packages at the service", n)
	}
}

func TestAFileIsBroughtOverOnceByTwoWhoDoItTogether(t *testing.T) {
	old, _, _, _ := movable(t)
	file := filepath.Join(t.TempDir(), "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	now := old.newComputer()
	results := make(chan error)
	for range 2 {
		go func() {
			_, err := now.MoveIn(t.Context(), file, password, "")
			results <- err
		}()
	}
	one, other := <-results, <-results
	if one != nil {
		one, other = other, one
	}
	if one != nil || other == nil || Message(other) != message.OfficeHere() {
		t.Errorf("%v, %v", one, other)
	}
	if s := now.Status(); !s.SignedIn || s.Packages.Total != 2 {
		t.Errorf("%+v", s)
	}
}

func TestAnOfficeThatWasNeverBroughtOverIsTakenBack(t *testing.T) {
	old, open, queued, heal := movable(t)
	file := filepath.Join(t.TempDir(), "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	heal()
	noErr(t, old.Act(t.Context(), *old.issue("moved")))
	if old.issue("moved") != nil {
		t.Errorf("health: %+v", old.Status().Health)
	}
	signAll(old, open)
	old.eventually("it works", func() bool { return old.Status().Packages.Saved == 2 })
	if d := old.draftNow(queued); d.State != office.DraftUnknown {
		t.Errorf("what waited is %s", d.State)
	}
	// Whoever brings the file over now comes second: nothing is sent twice.
	aMinuteLater()
	late := old.newComputer()
	b, err := late.MoveIn(t.Context(), file, password, "")
	if err != nil || !b.Waits.IsZero() {
		t.Fatalf("%+v, %v", b, err)
	}
	if s := late.Status(); s.SignedIn || late.draftNow(queued).State != office.DraftUnknown {
		t.Errorf("signed in %v, what waited is %s", s.SignedIn, late.draftNow(queued).State)
	}
	if !old.Status().SignedIn { // the service takes a token that comes again for a stolen one
		noErr(t, old.SignIn(t.Context(), SignInOptions{}, visit))
	}
	noErr(t, old.Resolve(queued, true))
	old.eventually("at a person's word it is sent", func() bool {
		if !old.Status().SignedIn {
			noErr(t, old.SignIn(t.Context(), SignInOptions{}, visit))
		}
		return old.draftNow(queued).State == office.DraftSent
	})
	noErr(t, late.SignIn(t.Context(), SignInOptions{}, visit))
	late.eventually("where it is found", func() bool { return late.draftNow(queued).State == office.DraftSent })
	if n := len(old.service.Packages()); n != 3 {
		t.Errorf("%d packages at the service", n)
	}
}

func TestAnOfficeIsTakenBackFromAComputerThatIsOutOfUse(t *testing.T) {
	old, _, queued, heal := movable(t)
	file := filepath.Join(t.TempDir(), "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	now := old.newComputer()
	heal()
	_, err := now.MoveIn(t.Context(), file, password, "")
	noErr(t, err)
	now.eventually("what waited is sent", func() bool { return now.draftNow(queued).State == office.DraftSent })
	now.stop()
	aMinuteLater()
	if err := old.Act(t.Context(), *old.issue("moved")); err == nil || !strings.Contains(Message(err).String(), "another computer") {
		t.Error(err)
	}
	noErr(t, old.Act(t.Context(), *old.issue("moved")))
	if old.Status().SignedIn || old.issue("moved") != nil {
		t.Errorf("%+v", old.Status())
	}
	noErr(t, old.SignIn(t.Context(), SignInOptions{}, visit))
	old.eventually("what the other one sent is found", func() bool { return old.draftNow(queued).State == office.DraftSent })
	if n := len(old.service.Packages()); n != 3 {
		t.Errorf("%d packages at the service", n)
	}
}

func TestAMoveThatIsKilledLeavesOneOfficeThatWorks(t *testing.T) {
	old, _, queued, heal := movable(t)
	file := filepath.Join(t.TempDir(), "office.move")
	old.stop()
	kills := old.killedAt("move")
	old.open()
	old.run()
	noErr(t, old.MoveOut(t.Context(), file, password))
	old.stop()
	old.adjust = quick
	for point, works := range map[string]bool{"move leaving": true, "move written": true, "move left": false, "move named": false} {
		if kills[point] == "" {
			t.Errorf("not killed at %q", point)
			continue
		}
		old.data = kills[point]
		old.open()
		old.noLeftovers()
		old.stop() // a start that ends at once
		old.open()
		if parted, _ := old.Parted(); !works && !parted {
			t.Errorf("killed at %q, it works", point)
		}
		old.run()
		if works {
			old.eventually(point+": it goes on", func() bool { parted, _ := old.Parted(); return !parted && old.Status().SignedIn })
			if old.draftNow(queued).State != office.DraftQueued {
				t.Errorf("killed at %q, what waited is %s", point, old.draftNow(queued).State)
			}
		} else {
			old.quiet()
			old.stop()
			noErr(t, os.Remove(locations.State(old.data))) // nor does a lost state forget it
			old.open()
			old.run()
			old.quiet()
		}
		old.stop()
	}
	heal()
}

func TestBringingOverThatIsKilledIsTakenUpByTheNextStart(t *testing.T) {
	old, _, queued, heal := movable(t)
	file := filepath.Join(t.TempDir(), "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	now := old.newComputer()
	now.stop()
	kills := now.killedAt("move")
	now.open()
	_, err := now.MoveIn(t.Context(), file, password, "")
	noErr(t, err)
	now.stop()
	now.adjust = quick
	heal()
	for _, point := range []string{"move unpacked", "move adopted", "move renewed"} {
		if kills[point] == "" {
			t.Errorf("not killed at %q", point)
			continue
		}
		now.data = kills[point]
		now.open()
		now.noLeftovers()
		now.run()
		if point == "move unpacked" {
			if s := now.Status(); s.Packages.Total != 0 || now.Settings().Configured() {
				t.Errorf("killed at %q: %+v", point, s)
			}
			_, err := now.MoveIn(t.Context(), file, password, "")
			noErr(t, err)
		}
		now.eventually(point+": it arrives", func() bool {
			parted, _ := now.Parted()
			return !parted && now.Status().Packages.Total >= 2 && (now.draftNow(queued).State == office.DraftSent || now.draftNow(queued).State == office.DraftUnknown)
		})
		now.stop()
		aMinuteLater() // the next one is another life of the same office
	}
	if n := len(old.service.Packages()); n != 3 {
		t.Errorf("%d packages at the service", n)
	}
}

func TestAFileThatCannotBeBroughtOverChangesNothing(t *testing.T) {
	old, _, _, heal := movable(t)
	defer heal()
	dir := t.TempDir()
	file := filepath.Join(dir, "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	whole := mustRead(t, file)
	now := old.newComputer()
	before := now.Activity(10)
	written := func(b []byte) string {
		path := filepath.Join(dir, "other.move")
		noErr(t, os.WriteFile(path, b, 0o600))
		return path
	}
	changed := append([]byte(nil), whole...)
	changed[len(changed)-100] ^= 1
	for name, c := range map[string]struct {
		path, password, want string
	}{
		"wrong password": {file, password + "!", "password does not open"},
		"cut":            {written(whole[:len(whole)/2]), password, "damaged or incomplete"},
		"altered":        {"", password, "damaged or incomplete"},
		"another file":   {"", password, "was not made by Countersign"},
		"newer":          {"", password, "newer version"},
		"missing":        {filepath.Join(dir, "none"), password, "could not be read"},
		"a folder":       {dir, password, "was not made by Countersign"},
	} {
		switch name {
		case "cut":
			c.path = written(whole[:len(whole)/2])
		case "altered":
			c.path = written(changed)
		case "another file":
			c.path = written([]byte("%PDF-1.7\n"))
		case "newer":
			c.path = written([]byte(strings.Replace(string(whole), "sealed file 1\n", "sealed file 9\n", 1)))
		}
		_, err := now.MoveIn(t.Context(), c.path, c.password, "")
		if err == nil || !strings.Contains(Message(err).String(), c.want) {
			t.Errorf("%s: %v", name, Message(err).String())
		}
	}
	left, err := filepath.Glob(filepath.Join(now.data, "arriving*"))
	if s := now.Status(); err != nil || len(left) > 0 || s.Packages.Total > 0 || now.Settings().Configured() || len(now.kept()) > 0 || len(now.Activity(10)) != len(before) {
		t.Errorf("something was changed: %+v, %q", s, left)
	}
	usual := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData", "LocalAppData"} {
		t.Setenv(name, usual)
	}
	data, err := locations.Default()
	noErr(t, err)
	var config *ConfigError
	if _, err := now.MoveIn(t.Context(), file, password, filepath.Join(data, "Signed")); !errors.As(err, &config) || config.Fields[0].Text != message.FolderHoldsData() {
		t.Errorf("documents beside the program's own data: %v", err)
	}
	_, err = now.MoveIn(t.Context(), file, password, "")
	noErr(t, err)
	if _, err := now.MoveIn(t.Context(), file, password, ""); err == nil || !strings.Contains(Message(err).String(), "set up on this computer already") {
		t.Errorf("brought over twice: %v", err)
	}
}

func TestFoldersThatAreNotHereAreAskedForAndNotMade(t *testing.T) {
	old, open, _, heal := movable(t)
	heal()
	send := t.TempDir()
	_, err := old.PutHotFolder(office.HotFolder{Path: send, Signers: []office.Signer{{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}}})
	noErr(t, err)
	file := filepath.Join(t.TempDir(), "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	there := filepath.Join(t.TempDir(), "copied")
	noErr(t, os.Rename(old.folder, there)) // as somebody who copies the documents
	noErr(t, os.RemoveAll(send))
	now := old.newComputer()
	now.folder = there
	var missing *MissingFolderError
	if _, err := now.MoveIn(t.Context(), file, password, ""); !errors.As(err, &missing) || missing.Folder != old.folder {
		t.Fatal(err)
	}
	b, err := now.MoveIn(t.Context(), file, password, there)
	if err != nil || len(b.Paused) != 1 {
		t.Fatalf("%+v, %v", b, err)
	}
	for _, path := range []string{old.folder, send} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was made", path)
		}
	}
	if list := must(now.HotFolders()); len(list) != 1 || !list[0].Paused {
		t.Errorf("%+v", list)
	}
	signAll(now, open)
	now.eventually("saved in the folder of here", func() bool { return now.Status().Packages.Saved == 2 })
	for _, j := range must(now.Saved(10)) {
		if j.Folder != there {
			t.Errorf("a saved file is thought to be in %s", j.Folder)
		}
	}
}

func TestAMoveThatCannotBeWrittenChangesNothing(t *testing.T) {
	old, open, _, heal := movable(t)
	heal()
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	noErr(t, os.WriteFile(taken, []byte("somebody's"), 0o600))
	for path, want := range map[string]string{
		filepath.Join(dir, "none", "office.move"): "could not be written",
		taken: "already",
	} {
		if err := old.MoveOut(t.Context(), path, password); err == nil || !strings.Contains(Message(err).String(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := old.MoveOut(t.Context(), filepath.Join(dir, "short"), "secret"); err == nil || !strings.Contains(Message(err).String(), "too short") {
		t.Error(err)
	}
	if string(mustRead(t, taken)) != "somebody's" {
		t.Error("a file was replaced")
	}
	signAll(old, open)
	old.eventually("it works on", func() bool { return old.Status().Packages.Saved == 2 })
	if parted, _ := old.Parted(); parted {
		t.Error("it is parted")
	}
}

func TestTheFileOfAMoveShowsNothingAndIsSealedAnew(t *testing.T) {
	old, _, _, heal := movable(t)
	defer heal()
	file := filepath.Join(t.TempDir(), "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	whole := string(mustRead(t, file))
	for _, s := range []string{"Offer", "ana@example.com", sandbox.DemoClient().Secret, password, old.folder} {
		if strings.Contains(whole, s) {
			t.Errorf("the file holds %q", s)
		}
	}
	now := old.newComputer()
	_, err := now.MoveIn(t.Context(), file, password, "")
	noErr(t, err)
	if now.installation == old.installation {
		t.Error("both computers have one name for their temporary files")
	}
	key := func(o *testOffice) (id string) {
		noErr(t, o.Data.Store.View(func(tx *store.Tx) error { _, err := tx.GetDoc(account.DocKeyID, &id); return err }))
		return id
	}
	if key(now) == key(old) {
		t.Error("it is sealed with the key of the old computer")
	}
	if b, err := now.account.Vault().Get(issuer.ClientSecret.Of(issuer.Of(now.Settings()))); err != nil || string(b) != sandbox.DemoClient().Secret {
		t.Errorf("the client secret: %v", err)
	}
}
