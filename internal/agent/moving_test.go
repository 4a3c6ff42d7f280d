package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/bulk"
	"countersign/internal/agent/form"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/transfer"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/private"
	"countersign/internal/safe"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/store"

	"github.com/google/uuid"
)

const password = "correct horse battery"

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
	id := must(o.Hold(o.draft()))
	must(o.Decide(id, true, 0))
	return id, func() { o.service.Heal(fault) }
}

// movable has a saved package, an open one, a draft that waits, and one that is held.
func movable(t *testing.T) (o *testOffice, open, queued string, heal func()) {
	t.Helper()
	o = newOfficeWith(t, quick, sandbox.Options{})
	o.sendSigned()
	open = o.send()
	o.toldOf(1)
	must(o.Hold(o.draft()))
	queued, heal = o.queue()
	return o, open, queued, heal
}

// arrive brings over what is in a file, as somebody who looked at it and said yes.
func (o *testOffice) arrive(file string) error {
	x, err := o.ReadMove(o.t.Context(), file, password)
	if err != nil {
		return err
	}
	return o.MoveIn(o.t.Context(), file, password, x.Digest, o.folder)
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

// workHere signs somebody in, and has what waits sent.
func (o *testOffice) workHere(queued string) {
	o.t.Helper()
	noErr(o.t, o.SignIn(o.t.Context(), SignInOptions{}, visit))
	o.registered()
	must(o.Decide(queued, true, 0))
	o.eventually("at a person's word it is sent", func() bool { return o.draftNow(queued).State == office.DraftSent })
}

func TestAnOfficeMovesAndTheOldComputerStaysQuiet(t *testing.T) {
	old, open, queued, heal := movable(t)
	old.KeepForm(office.Form{Name: "Lease"})
	for _, name := range []string{"Sellers", "Keller", "keller"} {
		noErr(t, old.KeepFormPreset(office.FormPreset{Name: name, Form: office.Form{Message: "For " + name, Recipients: []office.Recipient{{Email: "x@example.com", Blind: true}}}}))
	}
	revoked := calls(old.service, "POST /connect/revoke")
	record := must(old.RecordState())
	file := filepath.Join(t.TempDir(), "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	old.quiet()
	if known, tried := old.Connection(t.Context()), old.TryEverything(t.Context(), nil); known == nil || len(known)+len(tried) > 0 {
		t.Errorf("there is something to check: %v, %v", known, tried)
	}
	if n := calls(old.service, "POST /connect/revoke") - revoked; n == 0 {
		t.Error("the sign-in of the old computer is not revoked")
	}
	f := must(os.Open(file))
	if err := errors.Join(private.OpenToOthers(f), f.Close()); err != nil {
		t.Errorf("the file: %v", err)
	}
	whole := string(mustRead(t, file))
	for _, s := range []string{"Offer", "ana@example.com", sandbox.DemoClient().Secret, password, old.folder, "%PDF"} {
		if strings.Contains(whole, s) {
			t.Errorf("the file holds %q", s)
		}
	}
	if err := old.MoveOut(t.Context(), file+"2", password); err == nil || Message(err) != message.MovingNow() {
		t.Errorf("it moved twice: %v", err)
	}

	now := old.newComputer()
	heal()
	x, err := now.ReadMove(t.Context(), file, password)
	if err != nil || x.SignIn == "" || x.Folder != old.folder || x.Account == "" || x.Packages != 2 || x.Drafts != 2 || x.Computer == "" {
		t.Errorf("it says %+v, %v", x, err)
	}
	if s := now.Status(); s.Packages.Total != 0 || now.Settings().Configured() || len(now.kept()) != 0 {
		t.Errorf("it was looked at, and did %+v", s)
	}
	noErr(t, now.arrive(file))
	if said, fits, err := now.CheckRecord(record.Line); err != nil || !fits || record.Size == 0 {
		t.Errorf("of a line of %d facts of the old computer it says %v (%v)", record.Size, said, err)
	}
	want := []office.FormPreset{{Name: "keller", Form: office.Form{Message: "For keller"}}, {Name: "Sellers", Form: office.Form{Message: "For Sellers"}}}
	if kept, err := now.FormPresets(); err != nil || !reflect.DeepEqual(kept, want) {
		t.Errorf("kept are %+v, %v", kept, err)
	}
	if now.Form().Name != "Lease" || now.installation == old.installation {
		t.Errorf("what was typed is %q; both computers have one name for their temporary files: %v", now.Form().Name, now.installation == old.installation)
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
	if s := now.Status(); s.SignedIn || now.draftNow(queued).State != office.DraftUnknown {
		t.Errorf("signed in %v, what waited is %s", s.SignedIn, now.draftNow(queued).State)
	}
	now.signAll(open) // whose event the new computer does not get
	now.workHere(queued)
	now.hasSaved(2)
	expect(t, len(now.service.Packages()), 3, "%d packages at the service")
	if got := now.Status(); got.Packages.Total != 3 || now.Settings().SaveTo != now.folder {
		t.Errorf("%+v", got)
	}
	if n := old.count(everyone); n != 1 {
		t.Errorf("the old computer told: %q", old.notifications())
	}
	now.eventually("people are told of what was signed meanwhile", func() bool { return now.count(everyone) == 1 })
	old.restart()
	old.quiet()
}

func TestTheRecordGoesOnWithItsStampsThoughAFingerprintWasCopiedOnTheNewComputer(t *testing.T) {
	old := newOfficeWith(t, quick, sandbox.Options{})
	old.sendSigned() // of which the record has lines
	noErr(t, old.Data.Update(func(tx *store.Tx) error {
		return tx.PutDoc("record-stamp/000000000000002", map[string]any{"size": 2, "by": "Stamps", "token": []byte("x")})
	}))
	before := must(old.RecordState())
	file := filepath.Join(t.TempDir(), "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	now := old.newComputer()
	must(now.RecordState())
	noErr(t, now.arrive(file))
	if said, fits, err := now.CheckRecord(before.Line); err != nil || !fits {
		t.Errorf("of the old computer's line it says %v, %v", said, err)
	}
	r := must(now.RecordState())
	expect(t, r.Stamped, int64(2), "it is stamped up to %d")
	expect(t, r.Head != "", true, "it is signed: %v")
}

func TestAFileIsBroughtOverOnceByTwoWhoDoItTogether(t *testing.T) {
	old, _, _, _ := movable(t)
	file := filepath.Join(t.TempDir(), "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	now := old.newComputer()
	results := make(chan error)
	for range 2 {
		go func() { results <- now.arrive(file) }()
	}
	one, other := <-results, <-results
	if one != nil {
		one, other = other, one
	}
	if one != nil || other == nil || Message(other) != message.OfficeHere() {
		t.Errorf("%v, %v", one, other)
	}
	if s := now.Status(); s.Packages.Total != 2 {
		t.Errorf("%+v", s)
	}
}

// What puts the administrator's decisions to use is among what works, as is whatever changes the settings.
func TestBringingOverWaitsForWhatChangesTheSettingsWithoutHoldingItUp(t *testing.T) {
	o := &testOffice{t: t, keeper: secret.Memory(), data: t.TempDir(), folder: t.TempDir()}
	o.open()
	defer o.stop()
	working, ended := o.gate.enter(t.Context())
	brought := make(chan error)
	go func() { brought <- o.MoveIn(t.Context(), filepath.Join(t.TempDir(), "none"), password, "", o.folder) }()
	<-working.Done() // it waits for the work to end
	if o.configuring.TryLock() {
		o.configuring.Unlock()
	} else {
		t.Error("it keeps the settings to itself while it waits for what changes them: both wait for ever")
	}
	ended()
	if err := <-brought; err == nil || !strings.Contains(Message(err).String(), "could not be read") {
		t.Error(err)
	}
}

func TestAnOfficeThatIsTakenBackSendsNothingTwice(t *testing.T) {
	old, open, queued, heal := movable(t)
	file := filepath.Join(t.TempDir(), "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	heal()
	old.signAll(open)
	noErr(t, old.Act(t.Context(), *old.issue("moved")))
	if old.issue("moved") != nil || old.Status().SignedIn {
		t.Errorf("health: %+v", old.Status().Health)
	}
	if d := old.draftNow(queued); d.State != office.DraftUnknown {
		t.Errorf("what waited is %s", d.State)
	}
	late := old.newComputer() // the file was brought over all the same
	noErr(t, late.arrive(file))
	old.workHere(queued)
	old.hasSaved(2)
	old.toldOf(2)
	noErr(t, late.SignIn(t.Context(), SignInOptions{}, visit))
	late.eventually("where it is found", func() bool { return late.draftNow(queued).State == office.DraftSent })
	expect(t, len(old.service.Packages()), 3, "%d packages at the service")
}

func TestAMoveThatFailsOnceTheOfficeHasLeftSaysWhatIsToBeDone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "office.move")
	old := newOfficeWith(t, func(p *Params) {
		quick(p)
		p.Crash = func(point string) {
			if point == "move left" {
				noErr(t, os.WriteFile(file, nil, 0o600))
			}
		}
	}, sandbox.Options{})
	if err := old.MoveOut(t.Context(), file, password); err == nil || Message(err) != message.MoveFileNotNamed("office.move") || old.Status().SignedIn {
		t.Errorf("signed in %v, %v", old.Status().SignedIn, err)
	}
}

func TestAMoveThatIsKilledLeavesOneOfficeThatWorks(t *testing.T) {
	old, _, queued, heal := movable(t)
	file := filepath.Join(t.TempDir(), "office.move")
	old.stop()
	kills := old.killedAt("move")
	old.open()
	old.run()
	lasting := old.service.Inject(sandbox.Fault{Path: "/connect/revoke", Status: 503}) // a killed program has revoked nothing
	noErr(t, old.MoveOut(t.Context(), file, password))
	noErr(t, old.TakeBack(t.Context()))
	if m, _ := message.Of(old.TakeBack(t.Context())); m != message.NotMoved() {
		t.Errorf("of an office that is here, taking it back says %v", m)
	}
	old.stop()
	old.service.Heal(lasting)
	old.adjust = quick
	for _, point := range []string{"move written", "move left", "move named", "move returned"} { // the first before the others revoke its sign-in
		works := point == "move written" || point == "move returned"
		if kills[point] == "" {
			t.Errorf("not killed at %q", point)
			continue
		}
		old.data = kills[point]
		old.open()
		old.stop() // a start that ends at once
		old.open()
		if _, away := old.movedAway(); away == works {
			t.Errorf("killed at %q, it works: %v", point, !away)
		}
		old.run()
		switch {
		case point == "move written":
			old.eventually(point+": it goes on", func() bool { return old.Status().SignedIn })
			if old.draftNow(queued).State != office.DraftQueued {
				t.Errorf("killed at %q, what waited is %s", point, old.draftNow(queued).State)
			}
		case works:
			if s := old.draftNow(queued).State; s != office.DraftUnknown || old.Status().SignedIn {
				t.Errorf("killed at %q, what waited is %s", point, s)
			}
		default:
			old.quiet()
			owed := func() bool { list, err := old.owed(); return err == nil && len(list) == 0 }
			old.eventually("the sign-in is revoked by the next start", owed)
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

func TestBringingOverThatIsKilledIsDoneOrNot(t *testing.T) {
	old, _, queued, heal := movable(t)
	file := filepath.Join(t.TempDir(), "office.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	heal()
	now := old.newComputer()
	now.stop()
	kills := now.killedAt("move")
	now.open()
	noErr(t, now.arrive(file))
	now.stop()
	now.adjust = quick
	if len(kills) != 2 {
		t.Fatalf("killed at %v", kills)
	}
	now.data = kills["move unpacked"]
	now.open()
	now.run()
	if s := now.Status(); s.Packages.Total != 0 || now.Settings().Configured() {
		t.Errorf("killed before it was adopted: %+v", s)
	}
	now.eventually("what was unpacked is removed", func() bool { now.outbox.Wake(); return len(now.kept()) == 0 })
	noErr(t, now.arrive(file))
	now.workHere(queued)
	now.stop()
	now.data = kills["move adopted"]
	now.open()
	if s := now.Status(); s.Packages.Total != 2 || now.draftNow(queued).State != office.DraftUnknown {
		t.Errorf("killed once it was adopted: %+v", s)
	}
	if !slices.ContainsFunc(now.Activity(10), func(x office.Activity) bool { return x.Kind == "moved" }) {
		t.Errorf("killed once it was adopted, and nobody is told: %+v", now.Activity(10))
	}
	now.stop()
}

func TestAFileThatCannotBeBroughtOverChangesNothing(t *testing.T) {
	old, _, _, heal := movable(t)
	defer heal()
	dir := t.TempDir()
	file, cut := filepath.Join(dir, "office.move"), filepath.Join(dir, "cut.move")
	noErr(t, old.MoveOut(t.Context(), file, password))
	whole := mustRead(t, file)
	noErr(t, os.WriteFile(cut, whole[:len(whole)/2], 0o600))
	now := old.newComputer()
	before := now.Activity(10)
	for path, want := range map[string]string{cut: "damaged or incomplete", filepath.Join(dir, "none"): "could not be read", dir: "was not made by Countersign"} {
		if _, err := now.ReadMove(t.Context(), path, password); err == nil || !strings.Contains(Message(err).String(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := now.ReadMove(t.Context(), file, password+"!"); err == nil || !strings.Contains(Message(err).String(), "password does not open") {
		t.Errorf("with another password: %v", err)
	}
	usual := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData", "LocalAppData"} {
		t.Setenv(name, usual)
	}
	data := must(locations.Default())
	x := must(now.ReadMove(t.Context(), file, password))
	bring := func(digest, saveTo string) error { return now.MoveIn(t.Context(), file, password, digest, saveTo) }
	var config *ConfigError
	if err := bring(x.Digest, filepath.Join(data, "Signed")); !errors.As(err, &config) || config.Fields[0].Text != message.FolderHoldsData() {
		t.Errorf("documents beside the program's own data: %v", err)
	}
	if err := bring("another", now.folder); err == nil || !strings.Contains(Message(err).String(), "has changed") {
		t.Errorf("a file that nobody has looked at: %v", err)
	}
	if err := bring(x.Digest, ""); err == nil || Message(err) != message.ChooseFolder() {
		t.Errorf("without a folder: %v", err)
	}
	if s := now.Status(); s.Packages.Total > 0 || now.Settings().Configured() || len(now.Activity(10)) != len(before) {
		t.Errorf("something was changed: %+v", s)
	}
	noErr(t, bring(x.Digest, now.folder))
	if err := bring(x.Digest, now.folder); err == nil || !strings.Contains(Message(err).String(), "set up on this computer already") {
		t.Errorf("brought over twice: %v", err)
	}
}

// Somebody who knows its password can make a file that says anything.
func TestAFileThatCannotBeKeptIsNotBroughtOver(t *testing.T) {
	now := (&testOffice{t: t}).newComputer()
	for name, p := range map[string]office.Package{"odd.move": {ID: "../../status"},
		"late.move": {ID: "late", Created: time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -12*60*60))}} {
		f := must(os.Create(filepath.Join(t.TempDir(), name)))
		o := transfer.Office{Header: transfer.Header{Made: time.Now()}, Settings: now.Settings(), Packages: []office.Package{p}}
		noErr(t, errors.Join(transfer.WriteMove(f, safe.Password(password), o, nil), f.Close()))
		if m, ok := message.Of(now.arrive(f.Name())); !ok || m != message.SealedDamaged(name) {
			t.Errorf("%s: %v", name, m)
		}
	}
	expect(t, now.Status().Packages.Total, 0, "%d packages are known")
}

func TestAnOfficeMovesOnceItsListsAreSentOrStoppedAndKnowsWhatWasSent(t *testing.T) {
	old := newOfficeWith(t, quick, sandbox.Options{})
	file := filepath.Join(t.TempDir(), "office.move")
	seen := []office.SeenFile{{SHA256: strings.Repeat("ab", 32), Name: "Lease.pdf"}}
	noErr(t, old.Data.Update(func(tx *store.Tx) error {
		bulk.Adopt(tx, []office.SentLines{{Who: "ab", Whats: []string{"lease"}}})
		hotfolder.AdoptSeen(tx, seen, time.Now())
		for n, files := range [][]office.DraftFile{{{Name: "Lease.pdf", SHA256: "ab"}}, nil} { // two lines were refused, of which one has no copy any more
			d := office.Draft{ID: uuid.NewString(), State: office.DraftFailed, Files: files}
			tx.PutDoc(fmt.Sprintf("bulk line/l/%06d", n), map[string]any{"draft": d.ID, "handed": true})
			tx.PutDoc(fmt.Sprintf("bulk sent/%02d", n), []map[string]any{{"what": "offer", "list": "l", "line": n}})
			tx.PutDraft(d)
		}
		return tx.PutDoc("bulk/l", office.Bulk{ID: "l", File: "people.csv", Lines: 100, Next: 40, State: office.BulkPaused})
	}))
	if err := old.MoveOut(t.Context(), file, password); err == nil || Message(err) != message.ListsUnfinished("people.csv") {
		t.Errorf("with a list of which lines are left: %v", err)
	}
	noErr(t, old.DecideList("l", office.BulkStopped))
	f := must(old.PutHotFolder(office.HotFolder{Path: filepath.Join(t.TempDir(), "Scans"), Signers: []office.Signer{{Email: "ana@example.com"}}, Paused: true}))
	noErr(t, old.Data.Update(func(tx *store.Tx) error {
		return tx.PutDoc("hot-folder-intake/i", office.Intake{ID: "i", Folder: f.ID, Path: f.Path, Real: f.Real, Name: "Lease.pdf", At: "Waiting/1/Lease.pdf"})
	}))
	if err := old.MoveOut(t.Context(), file, password); err == nil || Message(err) != message.FolderUnfinished("Scans") {
		t.Errorf("with a document that a watched folder has taken: %v", err)
	}
	must(old.RemoveHotFolder(f.ID))
	noErr(t, old.MoveOut(t.Context(), file, password))
	now := old.newComputer()
	noErr(t, now.arrive(file))
	var known []office.SentLines
	var files []office.SeenFile
	noErr(t, now.Data.Store.View(func(tx *store.Tx) (err error) { known, err = bulk.Sent(tx); files = hotfolder.Seen(tx); return err }))
	expect(t, files, seen, "of what watched folders sent it knows %v")
	expect(t, known, []office.SentLines{{Who: "01", Whats: []string{"offer"}}, {Who: "ab", Whats: []string{"lease"}}}, "of lines it knows %+v")
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
	noErr(t, old.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(form.DocPresets, make([]office.FormPreset, 5000)) }))
	if err := old.MoveOut(t.Context(), filepath.Join(dir, "large"), password); err == nil || Message(err) != message.MoveTooLarge() {
		t.Errorf("with more than can be read: %v", err)
	}
	old.signAll(open)
	old.hasSaved(2)
	if _, away := old.movedAway(); away {
		t.Error("it has moved")
	}
}
