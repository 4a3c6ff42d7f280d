package packages

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/outbox"
	"countersign/ui/screentest"
	"countersign/ui/system"
	"countersign/ui/widgets"
)

// press chooses the package of an id with modifiers held.
func (b *bench) press(id string, held fyne.KeyModifier) {
	b.screen.held = func() fyne.KeyModifier { return held }
	b.screen.list.Select(b.screen.rowOf(id))
	b.Settle()
}

func (b *bench) markedIDs() string {
	var ids []string
	for _, r := range b.screen.several() {
		ids = append(ids, r.line.ID)
	}
	return strings.Join(ids, " ")
}

// actionNames are what is offered for all that are marked.
func (b *bench) actionNames() (names []string) {
	actions, _ := b.screen.actionsOf(b.screen.several(), nil)
	return namesOfActions(actions)
}

func namesOfActions(actions []outbox.Action) (names []string) {
	for _, d := range actions {
		names = append(names, d.Name)
	}
	return names
}

// menuOf is what the menu of a row offers.
func (b *bench) menuOf(id string) (offered []outbox.Action) {
	b.screen.actionsFor(b.screen.at(b.screen.rowOf(id)), func(actions []outbox.Action) { offered = actions })
	b.Settle()
	return offered
}

const ctrl, shift = fyne.KeyModifierShortcutDefault, fyne.KeyModifierShift

func TestSeveralPackagesAreMarkedAsInOtherLists(t *testing.T) {
	b := newBench(t, many(10))
	b.press("n2", 0)
	b.press("n5", shift)
	screentest.Equal(t, "Shift marks", b.markedIDs(), "n2 n3 n4 n5")
	b.press("n1", shift)
	screentest.Equal(t, "Shift the other way marks", b.markedIDs(), "n1 n2")
	b.press("n7", ctrl)
	b.press("n2", ctrl)
	screentest.Equal(t, "Ctrl marks", b.markedIDs(), "n1 n7")
	if !shows(b, "2 packages selected") {
		t.Error("nobody says how many are selected")
	}
	b.screen.list.TypedKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	if got := b.markedIDs(); got != "" || b.screen.chosen != "n2" || shows(b, "2 packages selected") {
		t.Errorf("after Escape %s are marked, %s is chosen", got, b.screen.chosen)
	}
	b.screen.list.TypedShortcut(&fyne.ShortcutSelectAll{})
	screentest.Equal(t, "Ctrl+A marks", len(b.screen.several()), 10)
	b.press("n4", 0)
	if got := b.markedIDs(); got != "" {
		t.Errorf("after a press without either %s are marked", got)
	}
	b.press("n5", ctrl)
	b.press("n4", ctrl)
	if s := b.screen; len(s.marked) != 0 || s.chosen != "n5" || s.list.At() != s.rowOf("n5") {
		t.Errorf("of two, one is taken out: %v are marked, %s is chosen, row %d is lit", s.marked, s.chosen, s.list.At())
	}
}

func TestAPackageThatIsLedToEndsTheMarking(t *testing.T) {
	b := newBench(t, many(10))
	b.screen.markAll()
	b.show("n5")
	if got := b.markedIDs(); got != "" || b.screen.Chosen() != "n5" || shows(b, "10 packages selected") {
		t.Errorf("%s are marked, %s is chosen", got, b.screen.Chosen())
	}
}

func TestWhatLeavesTheListIsNotMarkedAnyMore(t *testing.T) {
	b := newBench(t, many(10))
	b.press("n2", 0)
	b.press("n4", shift)
	b.Office.Change(office.PackagesChanged, func(o *officetest.Office) { o.Rows[3].State = "executed" })
	b.Reload()
	screentest.Equal(t, "marked are", b.markedIDs(), "n2 n4")
	b.screen.search.SetText("Package 2")
	b.Settle()
	screentest.Equal(t, "what the search leaves out is marked", b.markedIDs(), "")
}

func TestTheMarkedPackagesAreWithdrawnAndArchivedTogether(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.turn(tabAll)
	b.press("p1", 0)
	b.press("p2", ctrl)
	b.press("p3", ctrl)
	screentest.Equal(t, "offered", b.actionNames(), []string{"Remind (2)", "Withdraw (2)…", "Archive", "Open folder (1)", "Export (1)…", "Save again (1)"})
	menu := b.menuOf("p2")
	screentest.Equal(t, "the menu of a marked one", namesOfActions(menu), b.actionNames())
	menu[1].Do()
	enter(b.asked(t))
	b.Settle()
	if got := b.Office.Withdrawn; len(got) != 1 || !slices.Equal(got[0].Packages, []string{"p2", "p1"}) {
		t.Errorf("withdrawn: %+v", got)
	}
	b.press("p1", 0)
	b.press("p2", ctrl)
	archive := screentest.Button(b.screen.detail, "Archive").OnTapped
	deeds := len(b.Deeds)
	archive()
	archive() // a double click
	b.Settle()
	screentest.Equal(t, "offers to undo it", len(b.Deeds)-deeds, 1)
	archived := func(id string) bool { return b.screen.at(b.screen.rowOf(id)).archived }
	if !archived("p1") || !archived("p2") {
		t.Error("they are not archived")
	}
	b.Deeds[len(b.Deeds)-1].Undone()
	b.Settle()
	if archived("p1") || archived("p2") {
		t.Error("it was not undone")
	}
}

// namesakes is an office with two packages of one name.
func namesakes() *officetest.Office {
	o := officetest.Busy()
	other := o.Rows[0]
	other.ID, other.Name, other.Reference, other.Created = "p9", o.Rows[2].Name, "K-9", officetest.Now.Add(-30*time.Hour)
	o.Rows = append(o.Rows, other)
	return o
}

func TestPackagesOfOneNameAreToldApart(t *testing.T) {
	b := newBench(t, namesakes())
	b.turn(tabAll)
	row := func(id string) string { return textOf(officetest.Now, 0, b.screen.at(b.screen.rowOf(id))) }
	if row("p1") == row("p9") {
		t.Errorf("the list says %q of both", row("p1"))
	}
	for _, c := range []struct {
		press []string
		says  []string
	}{
		{[]string{"p9"}, []string{"Withdraw “Lease Sonnenweg 4”?", "Waiting for Thomas Keller", "sent Fri 08:02", "reference K-9"}},
		{[]string{"p9", "p1", "p2"}, []string{"Withdraw 3 packages?", "reference K-9", "Waiting for Ana Ruiz", "sent Wed 11:02", "Offer 2026-118"}},
	} {
		b.screen.unmark()
		for i, id := range c.press {
			b.press(id, fyne.KeyModifier(min(i, 1))*ctrl)
		}
		b.Press(b.screen.detail, "Withdraw…")
		said := screentest.Text(screentest.Top(b.Window))
		for _, want := range c.says {
			if !strings.Contains(said, want) {
				t.Errorf("the question about %v lacks %q: %s", c.press, want, said)
			}
		}
		widgets.CloseTop(b.Window.Canvas())
	}
	if said := screentest.Text(b.screen.detail); !strings.Contains(said, "reference K-9") {
		t.Errorf("beside what can be done with all of them it says %q", said)
	}
}

func TestAQuestionAboutManyPackagesCountsThoseItDoesNotList(t *testing.T) {
	b := newBench(t, many(17))
	b.screen.markAll()
	b.do(t, "Withdraw…")
	if said := screentest.Text(screentest.Top(b.Window)); !strings.Contains(said, "Package 4") || strings.Contains(said, "Package 5") || !strings.Contains(said, "and 12 more") {
		t.Errorf("it says %q", said)
	}
}

func TestWhoArchivesWhatIsDueIsToldThatNobodyIsReminded(t *testing.T) {
	for id, warns := range map[string]bool{"p1": true, "p2": false} {
		b := showing(t, officetest.Busy(), id)
		b.actions()["Archive"]()
		b.Settle()
		if said := b.Deeds[0].Says; strings.Contains(said, "There will be no reminder before the due date.") != warns {
			t.Errorf("of %s it says %q", id, said)
		}
	}
}

// scanned is an office with two packages from a folder that wait for somebody to say yes.
func scanned() *officetest.Office {
	o := officetest.Busy()
	o.Folders = []office.HotFolderRow{{HotFolder: office.HotFolder{ID: "f", Path: "/home/office/Scans"}}}
	for i, name := range []string{"Lease Sonnenweg 7", "Lease Sonnenweg 9"} {
		o.Waiting = append(o.Waiting, office.Draft{ID: name, Name: name, State: office.DraftHeld, Folder: "f", Created: officetest.Now.Add(-time.Hour),
			Signers: []office.Signer{{FirstName: "Ana", LastName: "Ruiz", Email: "ana.ruiz@example.com"}, {FirstName: "Jan", LastName: "Weber"}}[:i+1],
			Files:   []office.DraftFile{{Name: "Lease Sonnenweg 4.pdf", Path: "/home/office/Scans/Lease.pdf"}}})
	}
	return o
}

func TestWhatWaitsForAnOKIsSentTogether(t *testing.T) {
	b := newBench(t, scanned())
	b.press("draft "+"Lease Sonnenweg 7", 0)
	b.screen.markAll()
	b.Settle()
	screentest.Equal(t, "offered", b.actionNames(), []string{"Send 2 packages", "Discard 2 packages"})
	if !shows(b, "from the folder “Scans”") || len(screentest.All[*canvas.Image](b.screen.sheet)) < 2 {
		t.Error("folder or first pages are not shown")
	}
	b.do(t, "Send 2 packages")
	for _, d := range officetest.Must(b.Office.Drafts()) {
		screentest.Equal(t, d.Name, d.State, office.DraftQueued)
	}
	screentest.Equal(t, "marked are", len(b.screen.marked), 0)
}

func TestWhatAFolderAsksAboutIsShownTogether(t *testing.T) {
	o := scanned()
	other := o.Waiting[0]
	other.ID, other.Folder = "other", "g"
	o.Waiting = append(o.Waiting, other)
	b := newBench(t, o)
	b.screen.search.SetText("Mandate")
	b.turn(tabDone)
	b.screen.ShowForOK("f")
	b.Settle()
	screentest.Equal(t, "offered for one folder", b.actionNames(), []string{"Send 2 packages", "Discard 2 packages"})
	b.screen.ShowForOK("")
	b.Settle()
	screentest.Equal(t, "for all of them", b.actionNames(), []string{"Send 3 packages", "Discard 3 packages"})
	b.screen.ShowForOK("g")
	b.Settle()
	if b.screen.Chosen() != outbox.RowID("other") || b.markedIDs() != "" {
		t.Errorf("for a single one %s is chosen, marked are %s", b.screen.Chosen(), b.markedIDs())
	}
	b.screen.ShowForOK("none")
	screentest.Equal(t, "for none", b.screen.Chosen(), outbox.RowID("other"))
}

// What a press does to only some of what is marked says to how many.
func TestAnActionForSomeOfTheMarkedSaysForHowMany(t *testing.T) {
	o := scanned()
	o.Waiting[1].State = office.DraftQueued
	b := newBench(t, o)
	b.turn(tabAll)
	b.press(outbox.RowID(o.Waiting[0].ID), 0)
	b.press(outbox.RowID(o.Waiting[1].ID), ctrl)
	screentest.Equal(t, "for drafts", b.actionNames(), []string{"Send (1)", "Discard (1)"})
	for _, id := range []string{"p1", "p2", "p3"} {
		b.press(id, ctrl)
	}
	names := b.actionNames()
	screentest.Equal(t, "for a mixture", names[:2], []string{"Send (1)", "Discard (1)"})
	screentest.Equal(t, "in the menu", namesOfActions(b.menuOf("p1")), names)
	for _, name := range names {
		if !strings.HasSuffix(strings.TrimSuffix(name, "…"), ")") {
			t.Errorf("%q concerns no more than 3 of 5", name)
		}
	}
	b.press("p1", 0)
	b.press("p2", ctrl)
	if names := b.actionNames(); !slices.Contains(names, "Archive") {
		t.Errorf("for all of them: %q", names)
	}
}

func TestWhatIsBeingEditedIsNotSentWithoutAQuestion(t *testing.T) {
	b := newBench(t, scanned())
	b.Office.Typed.Replaces = "Lease Sonnenweg 7"
	b.press("draft Lease Sonnenweg 7", 0)
	b.screen.markAll()
	b.Settle()
	sent := func() (n int) {
		for _, d := range officetest.Must(b.Office.Drafts()) {
			if d.State == office.DraftQueued {
				n++
			}
		}
		return n
	}
	b.do(t, "Send 2 packages")
	screentest.Button(b.Env.Window.Canvas().Overlays().Top(), "Continue editing").OnTapped()
	b.Settle()
	screentest.Equal(t, "it leads to", b.Went, []string{"compose"})
	screentest.Equal(t, "sent are", sent(), 0)
	b.do(t, "Send 2 packages")
	screentest.Button(b.Env.Window.Canvas().Overlays().Top(), "Send anyway").OnTapped()
	b.Settle()
	screentest.Equal(t, "sent are", sent(), 2)
}

// onlyFirst makes a method work once.
func onlyFirst(o *officetest.Office, method string) {
	worked := false
	o.Do(method, func() error {
		if worked {
			return message.Error(message.OwnDiskFull(), nil)
		}
		worked = true
		return nil
	})
}

func TestWhatWorkedForSomeCanBeUndone(t *testing.T) {
	b := newBench(t, scanned())
	onlyFirst(b.Office, "Decide")
	b.press("draft "+"Lease Sonnenweg 7", 0)
	b.screen.markAll()
	b.Settle()
	b.do(t, "Send 2 packages")
	screentest.Equal(t, "to undo", b.Deeds[0].Says, "Sending: Lease Sonnenweg 9")
	screentest.Equal(t, "said", b.Notices, []string{message.OwnDiskFull().String()})

	b = newBench(t, officetest.Busy())
	onlyFirst(b.Office, "Archive")
	b.turn(tabAll)
	b.press("p1", 0)
	b.press("p2", ctrl)
	b.press("p3", ctrl)
	b.Press(b.screen.detail, "Archive")
	screentest.Equal(t, "to undo", b.Deeds[0].Says, "1 package is archived. There will be no reminder before the due date.")
	screentest.Equal(t, "said", len(b.Notices), 1)
}

func TestMarkingAsSentSaysSo(t *testing.T) {
	o := scanned()
	o.Waiting[0].State = office.DraftUnknown
	b := showing(t, o, outbox.RowID("Lease Sonnenweg 7"))
	b.Press(b.screen.detail, "Mark as sent")
	screentest.Equal(t, "to undo", b.Deeds[0].Says, "Marking as sent: Lease Sonnenweg 7")
}

// A double click, or a press where the page is not drawn anew yet, is one decision: one offer to undo it, after which nothing is said of it.
func TestADecisionThatIsPressedTwiceIsMadeOnce(t *testing.T) {
	for action, says := range map[string]string{"Send": "Sending…", "Discard": "Discarding…", "Mark as sent": "Marking as sent…"} {
		o := scanned()
		o.Patient = true
		if action == "Mark as sent" {
			o.Waiting[0].State = office.DraftUnknown
		}
		before := o.Waiting[0]
		b := showing(t, o, outbox.RowID(before.ID))
		b.turn(tabAll)
		press := screentest.Button(b.screen.detail, action).OnTapped
		press()
		press()
		b.Settle()
		screentest.Equal(t, "offers to undo "+action, len(b.Deeds), 1)
		for part, o := range map[string]fyne.CanvasObject{"page": b.screen.detail, "row": b.screen.list} {
			if said := screentest.Text(o); !strings.Contains(said, says) {
				t.Errorf("after %s the %s says: %s", action, part, said)
			}
		}
		b.Deeds[0].Undone()
		b.Settle()
		screentest.Equal(t, action+", undone", o.Waiting[0], before)
	}
}

// One mail a person, in the person's language, whatever waits, with the link where there is one.
func TestAPersonIsRemindedOnceOfAllThatWaits(t *testing.T) {
	o := officetest.Busy()
	for i := range o.Rows {
		for n := range o.Rows[i].Signers {
			if o.Rows[i].Signers[n].Email == "ana.ruiz@example.com" {
				o.Rows[i].Signers[n].Locale = "de"
			}
		}
	}
	other := o.Rows[2]
	other.ID, other.Name = "p9", "House rules"
	o.Rows = append([]office.PackageRow{other}, o.Rows...)
	b := newBench(t, signable(o))
	b.turn(tabAll)
	b.press("p1", 0)
	b.press("p9", ctrl)
	b.do(t, "Remind")
	screentest.Equal(t, "mails", len(b.System.Opened), 1)
	mail, err := url.QueryUnescape(b.System.Opened[0])
	if err != nil || !strings.Contains(mail, "mailto:ana.ruiz@example.com") || !strings.Contains(mail, "„Lease Sonnenweg 4“ wartet auf Ihre Unterschrift") ||
		!strings.Contains(mail, "„House rules“ wartet auf Ihre Unterschrift") || !strings.Contains(mail, "https://sign.example.com/ana") {
		t.Errorf("the mail: %q", mail)
	}
	b.Settle()
	screentest.Equal(t, "said", b.Notices, []string{"The e-mail was opened in your mail program. You send it."})
	screentest.Equal(t, "mails noted", [2]int{o.Asked("letter p1 to ana.ruiz@example.com"), o.Asked("letter p9 to ana.ruiz@example.com")}, [2]int{1, 1})
}

func TestWhoRemindsManyPeopleOfOnePackageReadsTheirNamesOnly(t *testing.T) {
	o := officetest.Busy()
	row := &o.Rows[2]
	row.Sequential, row.Signers, row.NextSigners = false, nil, nil
	for i := range 5 {
		row.Signers = append(row.Signers, office.Signer{ID: fmt.Sprint("s", i), FirstName: fmt.Sprint("Person", i), Email: fmt.Sprint(i, "@example.com")})
	}
	b := showing(t, o, row.ID)
	b.screen.remind([]string{row.ID})
	b.Settle()
	if said := screentest.Text(screentest.Top(b.Window)); !strings.Contains(said, "Person0 Person1 ") || strings.Contains(said, row.Name) {
		t.Errorf("it says %q", said)
	}
}

func TestALetterThatNoMailProgramTookIsNotNoted(t *testing.T) {
	b := newBench(t, signable(officetest.Busy()))
	b.System.NoBrowser = errors.New("none")
	b.screen.remind([]string{"p1"})
	b.Settle()
	screentest.Equal(t, "said, noted", [2]int{len(b.Notices), b.Office.Asked("letter p1 to ana.ruiz@example.com")}, [2]int{1, 0})

	to := func(email string) letter {
		return letter{office.Signer{Email: email}, []ask{{b.Office.Rows[2], ""}}}
	}
	b.screen.write(to("ana@example.com"), to("bo@example.com"))
	b.Settle()
	last := b.Copied[len(b.Copied)-1]
	if !strings.Contains(last, "ana@example.com") || !strings.Contains(last, "bo@example.com") || !strings.Contains(b.Notices[len(b.Notices)-1], "2 e-mails were copied") {
		t.Errorf("copied %q, said %q", last, b.Notices)
	}
}

func TestTheMenuKeyOpensTheMenuOfTheChosenPackage(t *testing.T) {
	for _, key := range []fyne.KeyName{desktop.KeyMenu, fyne.KeyF10} {
		b := newBench(t, officetest.Busy())
		b.press("p1", 0)
		b.screen.list.TypedKey(&fyne.KeyEvent{Name: key})
		b.Settle()
		if screentest.Top(b.Window) == nil {
			t.Errorf("%s opens nothing", key)
		}
		widgets.CloseAll(b.Window.Canvas())
	}
}

// busySaved is an office with three packages that are saved in two folders, and one that waits.
func busySaved() *officetest.Office {
	o := officetest.Busy()
	file := func(path string) office.File {
		return office.File{Path: path, Kind: office.FileSigned, State: office.JobDone}
	}
	row := func(id string, files ...office.File) office.PackageRow {
		return office.PackageRow{Package: office.Package{ID: id, Name: id, State: office.PackageExecuted, Saving: office.Saving{Saved: len(files) > 0}},
			Files: files, FilesDone: len(files), FilesTotal: len(files)}
	}
	o.Rows = []office.PackageRow{row("a", file("/home/office/Signed/A/a.pdf"), file("/home/office/Signed/A/b.pdf")), row("b", file("/home/office/Signed/B/b.pdf")),
		row("c", file("/home/office/Signed/A/c.pdf")), {Package: office.Package{ID: "w", Name: "w", State: office.PackageOpen}}}
	return o
}

// do does what is offered for all that are marked.
func (b *bench) do(t *testing.T, name string) {
	t.Helper()
	actions, _ := b.screen.actionsOf(b.screen.several(), nil)
	for _, d := range actions {
		if d.Name == name {
			d.Do()
			b.Settle()
			return
		}
	}
	t.Fatalf("%q is not offered", name)
}

func TestTheFilesOfMarkedPackagesAreExportedAndThatIsSaid(t *testing.T) {
	b := newBench(t, busySaved())
	b.System.OnChoose = func(context.Context, system.FileDialog) ([]string, error) {
		return []string{"/media/stick/Export"}, nil
	}
	b.screen.tabs.Choose(tabAll)
	b.screen.markAll()
	for _, c := range []struct {
		x    office.Exported
		want string
	}{
		{office.Exported{Packages: 3, Files: 4, Copied: 4}, "Copied to “Export”: 4 files. 1 package has no saved files."},
		{office.Exported{Packages: 2, Files: 4, Copied: 1, Lost: 2, Problem: message.DiskFull("Export")},
			"Copied to “Export”: 1 of 4 files. 2 files are missing or were changed. " + message.DiskFull("Export").String() + " 2 packages have no saved files."},
	} {
		b.Office.Exported, b.Notices = c.x, nil
		b.do(t, "Export (3)…")
		if !slices.Equal(b.Notices, []string{c.want}) {
			t.Errorf("said %q, want %q", b.Notices, c.want)
		}
	}
	screentest.Equal(t, "exported", b.Office.Done[0], "export a b c to /media/stick/Export")
}

func TestTheFoldersOfMarkedPackagesAreOpenedEachOnce(t *testing.T) {
	b := newBench(t, busySaved())
	b.screen.tabs.Choose(tabAll)
	b.screen.markAll()
	b.do(t, "Open folder (3)")
	slices.Sort(b.System.Opened)
	screentest.Equal(t, "opened", b.System.Opened, []string{"file /home/office/Signed/A", "file /home/office/Signed/B"})
	b.System.Opened = nil
	for _, folder := range []string{"C", "D"} {
		b.Office.Rows[2].Files = append(b.Office.Rows[2].Files, office.File{Path: "/home/office/Signed/" + folder + "/x.pdf", State: office.JobDone})
	}
	b.do(t, "Open folder (3)")
	screentest.Equal(t, "of four folders it opened the one around them", b.System.Opened, []string{"file /home/office/Documents/Signed"})
	b.System.Opened = nil
	b.System.Lost = map[string]bool{}
	for _, r := range b.Office.Rows {
		for _, f := range r.Files {
			b.System.Lost[f.Path] = true
		}
	}
	b.do(t, "Open folder (3)")
	if len(b.System.Opened) != 0 || len(b.Notices) != 1 || b.Notices[0] != "The files are no longer where they were saved." {
		t.Errorf("opened %q, said %q", b.System.Opened, b.Notices)
	}
}

func TestAnEmptyTabSaysThatTheRestIsArchived(t *testing.T) {
	o := busySaved()
	for i := range o.Rows {
		o.Rows[i].Archived = &office.Archived{}
	}
	b := newBench(t, o)
	b.screen.tabs.Choose(tabDone)
	if !shows(b, "All signed packages are archived.") {
		t.Error("Done does not say that what is signed is archived")
	}
}

// savedPackage shows a package whose files are saved, and returns the paths.
func savedPackage(t *testing.T) (b *bench, paths []string) {
	t.Helper()
	b = newBench(t, officetest.Busy())
	for _, row := range b.Office.Rows {
		if row.FilesDone > 1 && row.FilesDone == row.FilesTotal {
			b.show(row.ID)
			return b, pathsOf(b.screen.record.saved())
		}
	}
	t.Fatal("no package has files")
	return nil, nil
}

// item is what a menu offers under a name.
func itemOf(t *testing.T, m *fyne.Menu, name string) *fyne.MenuItem {
	t.Helper()
	at := slices.IndexFunc(m.Items, func(i *fyne.MenuItem) bool { return i.Label == name })
	if at < 0 {
		t.Fatalf("there is no %q", name)
	}
	return m.Items[at]
}

func TestFilesLeaveTheWindow(t *testing.T) {
	b, paths := savedPackage(t)
	actions, _ := b.screen.actionsOf([]listed{b.screen.listed(b.screen.record)}, &b.screen.record)
	one, all := b.screen.menuOfFile(b.screen.record.row, paths[0]), menu(actions)
	every, to := strings.Join(paths, " "), ", to novak@example.com keller@example.com: Mandate Keller"
	for _, c := range []struct {
		menu *fyne.Menu
		name string
		want string
		says string
	}{
		{one, "Open", "file " + paths[0], ""},
		{one, "Show in folder", "folder of " + paths[0], ""},
		{one, "Copy file", "copied " + paths[0], "1 file copied."},
		{one, "Attach to a mail…", "mailed " + paths[0] + to, ""},
		{one, "Print", "printed " + paths[0], "1 file sent to the printer."},
		{all, "Copy all files", "copied " + every, "files copied."},
		{all, "Attach all files to a mail…", "mailed " + every + to, ""},
		{all, "Print all files", "printed " + every, "files sent to the printer."},
	} {
		b.System.Opened, b.Notices = nil, nil
		itemOf(t, c.menu, c.name).Action()
		b.Settle()
		if !slices.Equal(b.System.Opened, []string{c.want}) || !strings.Contains(strings.Join(b.Notices, " "), c.says) || c.says == "" && len(b.Notices) > 0 {
			t.Errorf("%s: did %q, said %q", c.name, b.System.Opened, b.Notices)
		}
	}
	b.System.NoPrinter = message.Error(message.NotPrinted("x.pdf"), nil)
	b.Notices = nil
	itemOf(t, one, "Print").Action()
	b.Settle()
	if len(b.Notices) != 1 || !strings.Contains(b.Notices[0], "could not be printed") {
		t.Errorf("without a printer it says %q", b.Notices)
	}
}

func TestTheMenusOfFilesOpenByKeysAndByTheOtherMouseButton(t *testing.T) {
	b, paths := savedPackage(t)
	tiles := screentest.All[*tile](b.screen.detail)
	screentest.Equal(t, "files that can be opened", len(tiles), len(paths))
	canvas := b.Env.Window.Canvas()
	for how, open := range map[string]func(){
		"the menu key":           func() { tiles[0].TypedKey(&fyne.KeyEvent{Name: desktop.KeyMenu}) },
		"the other mouse button": func() { tiles[0].TappedSecondary(&fyne.PointEvent{}) },
	} {
		b.System.Opened = nil
		canvas.Focus(tiles[0])
		open()
		menu := canvas.Focused()
		if _, ok := menu.(*widget.PopUpMenu); !ok {
			t.Fatalf("%s opens no menu: the focus is at %T", how, menu)
		}
		menu.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
		menu.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
		b.Settle()
		screentest.Equal(t, how+": the first entry", b.System.Opened, []string{"file " + paths[0]})
	}
	b.System.Opened = nil
	tiles[1].TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	b.Settle()
	screentest.Equal(t, "Enter", b.System.Opened, []string{"file " + paths[1]})
}

func TestAnOriginalOpensOnlyWhileItIsWhatWasSent(t *testing.T) {
	o := scanned()
	lease := slices.IndexFunc(o.Rows, func(r office.PackageRow) bool { return r.ID == "p1" })
	o.Rows[lease].Documents = []office.Document{{ID: "d", Name: "Lease Sonnenweg 4"}}
	for id, f := range map[string]office.DraftFile{"p1": o.Origins["p1"].Files[0], outbox.RowID("Lease Sonnenweg 7"): o.Waiting[0].Files[0]} {
		o.Lacks = nil
		b := showing(t, o, id)
		if len(screentest.All[*canvas.Image](b.screen.sheet)) == 0 {
			t.Errorf("%s: what was sent is not shown", id)
		}
		use := func(do func(*tile)) (opened []string, menu bool) {
			b.System.Opened = nil
			do(screentest.All[*tile](b.screen.detail)[0])
			b.Settle()
			menu = screentest.Top(b.Window) != nil
			b.Window.Canvas().Overlays().Remove(screentest.Top(b.Window))
			return b.System.Opened, menu
		}
		press, second := func(x *tile) { x.OnPress() }, func(x *tile) { x.TappedSecondary(&fyne.PointEvent{}) }
		opened, _ := use(press)
		screentest.Equal(t, id+" opens", opened, []string{"file " + f.Path})
		if _, menu := use(second); !menu {
			t.Errorf("%s: it has no menu", id)
		}
		b.Office.Change("", func(o *officetest.Office) { o.Lacks = []string{f.Path} }) // it is filled in for the next client
		opened, _ = use(press)
		_, menu := use(second)
		if said := message.OriginalChanged(f.Name).String(); len(opened) > 0 || menu || !slices.Equal(b.Notices, []string{said, said}) {
			t.Errorf("%s: of another document, opened is %q, a menu %v; said is %q", id, opened, menu, b.Notices)
		}
	}
}

// slowRow is an office whose package p2 is read once it is let go.
type slowRow struct {
	Office
	gate chan struct{}
}

func (s slowRow) Package(id string) (office.PackageRow, bool, error) {
	if id == "p2" {
		<-s.gate
	}
	return s.Office.Package(id)
}

func TestWhatOpensLateOpensOnlyWhereItIsStillWanted(t *testing.T) {
	for name, meanwhile := range map[string]func(b *bench){
		"another screen is shown":  func(b *bench) { b.screen.content.Hide() },
		"another menu is open":     func(b *bench) { b.screen.askMenu(b.screen.rowOf("p1"), fyne.Position{}) },
		"the differences are open": func(b *bench) { b.screen.showDifferences("p3", office.File{}) },
		"a question is asked":      func(b *bench) { widgets.Ask(b.Window.Canvas(), widgets.Question{}) },
	} {
		b := showing(t, officetest.Busy(), "p1")
		gate := make(chan struct{})
		b.screen.office = slowRow{b.Office, gate}
		b.screen.askMenu(b.screen.rowOf("p2"), fyne.Position{})
		meanwhile(b)
		open := func() int { return len(b.Window.Canvas().Overlays().List()) }
		b.Until(func() bool { return open() == 1 || !b.screen.content.Visible() })
		before := open()
		close(gate)
		b.Settle()
		screentest.Equal(t, name+": open are", open(), before)
	}
	b := showing(t, officetest.Busy(), "p3")
	b.screen.showDifferences("p3", office.File{})
	b.screen.showDifferences("p3", office.File{})
	b.Settle()
	screentest.Equal(t, "open after two presses are", len(b.Window.Canvas().Overlays().List()), 1)
}

// actions are what can be done with the chosen package, by their names.
func (b *bench) actions() map[string]func() {
	all := map[string]func(){}
	actions, _ := b.screen.actionsOf([]listed{b.screen.listed(b.screen.record)}, &b.screen.record)
	for _, d := range actions {
		all[d.Name] = d.Do
	}
	return all
}

// asked is the dialog's field for words, in which the cursor stands.
func (b *bench) asked(t *testing.T) *widgets.Entry {
	t.Helper()
	words, ok := b.Window.Canvas().Focused().(*widgets.Entry)
	if !ok {
		t.Fatalf("the cursor is in %T", b.Window.Canvas().Focused())
	}
	return words
}

func enter(words *widgets.Entry) {
	words.TypedShortcut(&desktop.CustomShortcut{KeyName: fyne.KeyReturn, Modifier: fyne.KeyModifierShortcutDefault})
}

func TestAWithdrawalThatNobodyConfirmsIsLetGo(t *testing.T) {
	o := officetest.Busy()
	i := slices.IndexFunc(o.Rows, func(r office.PackageRow) bool { return r.ID == "p1" })
	o.Rows[i].Withdrawal = &office.Withdrawal{State: office.WithdrawAsked, Asked: officetest.Now.Add(-2 * time.Hour), Tries: 9, Problem: message.ServiceSilent()}
	b := showing(t, o, "p1")
	b.Press(b.screen.Content(), "Stop waiting")
	if w := b.Office.Rows[i].Withdrawal; w.State != office.WithdrawUnknown {
		t.Errorf("%+v", w)
	}
	if b.button("Stop waiting") != nil || b.actions()["Withdraw…"] == nil {
		t.Error("it cannot be withdrawn again")
	}
}

// button is a button that is shown anywhere on the screen, nil for none.
func (b *bench) button(text string) *widgets.Button {
	return screentest.Button(b.screen.Content(), text)
}

func TestAPackageIsWithdrawnWithWordsAfterSomeSecondsToUndo(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.Office.Patient = true
	b.show("p1")
	press := func() {
		actions := len(b.Deeds)
		b.actions()["Withdraw…"]()
		words := b.asked(t)
		words.SetText("The rent was wrong.")
		enter(words)
		b.Until(func() bool {
			return len(b.Deeds) > actions && officetest.Must2(b.Office.Package("p1")).Withdrawal.Pending()
		})
		if screentest.Top(b.Window) != nil || len(b.Office.Withdrawn) != 0 {
			t.Fatalf("withdrawn at once: %+v", b.Office.Withdrawn)
		}
	}
	press()
	b.Deeds[0].Undone()
	b.Until(func() bool { return officetest.Must2(b.Office.Package("p1")).Withdrawal == nil })
	b.Office.Pass()
	b.Settle()
	if p := officetest.Must2(b.Office.Package("p1")); p.State == office.PackageRescinded || len(b.Notices) != 0 {
		t.Fatalf("what was undone is %s, said %q", p.State, b.Notices)
	}
	b.Office.Withdrawn = nil
	b.Reload()
	press()
	b.Office.Pass()
	b.Settle()
	want := office.NewWithdrawal{Packages: []string{"p1"}, Message: "The rent was wrong.", Patience: withdrawPatience + widgets.UndoTime}
	if len(b.Office.Withdrawn) != 1 || !equalWithdrawals(b.Office.Withdrawn[0], want) || b.Office.Withdrawn[0].Undo != widgets.UndoTime {
		t.Errorf("withdrawn: %+v", b.Office.Withdrawn)
	}
	if !slices.Contains(b.Notices, "“Lease Sonnenweg 4” is withdrawn.") {
		t.Errorf("said: %q", b.Notices)
	}
	b.turn(tabWithdrawn)
	if ids := b.screen.Listed(); !slices.Contains(ids, "p1") || b.actions()["Withdraw…"] != nil {
		t.Errorf("listed as withdrawn: %q", ids)
	}
}

func TestWhoTellsNobodyHasNoMessageToWrite(t *testing.T) {
	b := showing(t, officetest.Busy(), "p1")
	b.Press(b.screen.detail, "Withdraw…")
	words := b.asked(t)
	words.SetText("Sorry")
	screentest.All[*widgets.Check](screentest.Top(b.Window))[0].SetChecked(false)
	if !words.Disabled() {
		t.Error("it asks for one")
	}
	enter(words)
	b.Settle()
	if got := b.Office.Withdrawn[0]; !got.Quiet || got.Message != "" {
		t.Errorf("withdrawn: %+v", got)
	}
}

func equalWithdrawals(a, b office.NewWithdrawal) bool {
	return slices.Equal(a.Packages, b.Packages) && a.Message == b.Message && a.Quiet == b.Quiet && a.Patience == b.Patience
}

func TestCorrectingWithdrawsAndOpensSendFilledIn(t *testing.T) {
	o := officetest.Busy()
	due := officetest.Now.Add(9 * 24 * time.Hour)
	lease := o.Origins["p1"]
	lease.Due = due
	o.Origins["p1"] = lease
	b := showing(t, o, "p1")
	b.actions()["Correct and send again…"]()
	enter(b.asked(t))
	b.Settle()
	if len(b.Like) != 1 || len(b.Office.Withdrawn) != 1 {
		t.Fatalf("sent like %+v, withdrawn %+v", b.Like, b.Office.Withdrawn)
	}
	like := b.Like[0]
	if like.Corrects != "p1" || !like.Due.Equal(due) || len(like.Files) != 1 || len(like.Signers) != 3 || !like.Sequential || like.Message != "As discussed." {
		t.Errorf("sent like %+v", like)
	}
}

func TestWhatKeptAPackageFromBeingWithdrawnIsSaid(t *testing.T) {
	o := officetest.Busy()
	o.Fail("Withdraw", message.Error(message.SignedBeforeWithdrawn(), nil))
	b := newBench(t, o)
	b.screen.withdraw(office.NewWithdrawal{Packages: []string{"p1"}}, []string{"Lease Sonnenweg 4"})
	b.Settle()
	if said := strings.Join(b.Notices, "\n"); !strings.Contains(said, "“Lease Sonnenweg 4” was not withdrawn.") || !strings.Contains(said, "It was completed before it could be withdrawn.") {
		t.Errorf("said: %q", said)
	}
}

func TestOnlyWhatWaitsIsOfferedToBeWithdrawn(t *testing.T) {
	b := newBench(t, officetest.Busy())
	for id, offered := range map[string]bool{"p1": true, "p2": true, "p3": false, "p4": false, "p5": false} {
		b.show(id)
		screentest.Equal(t, fmt.Sprintf("%s: offered", id), b.actions()["Withdraw…"] != nil, offered)
		inMenu := slices.Contains(namesOfActions(b.menuOf(id)), "Withdraw…")
		screentest.Equal(t, fmt.Sprintf("%s: in the menu", id), inMenu, offered)
	}
	b.Office.Change(office.StatusChanged, func(o *officetest.Office) { o.Lacks = []string{"withdrawals"} })
	b.screen.Show("p1")
	b.Reload()
	if b.actions()["Withdraw…"] != nil || b.screen.withdrawalOf(b.screen.record) == nil {
		t.Error("a service that cannot is asked to, or nobody says that it cannot")
	}
}

func TestAWishCanBeTakenBackInThePackage(t *testing.T) {
	b := newBench(t, withdrawn(office.Withdrawal{State: office.WithdrawWanted}))
	b.screen.keepPackage("p1")
	b.Settle()
	if b.Office.Rows[2].Withdrawal != nil || len(b.Notices) != 0 {
		t.Errorf("the wish: %+v, said %q", b.Office.Rows[2].Withdrawal, b.Notices)
	}
	b.screen.keepPackage("p1")
	b.Settle()
	if len(b.Notices) != 1 {
		t.Errorf("said: %q", b.Notices)
	}
}
