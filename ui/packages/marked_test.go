package packages

import (
	"context"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/officetest"
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

// deedNames are what is offered for all that are marked.
func (b *bench) deedNames() (names []string) {
	for _, d := range b.screen.deedsOf(b.screen.several()) {
		names = append(names, d.name)
	}
	return names
}

const ctrl, shift = fyne.KeyModifierShortcutDefault, fyne.KeyModifierShift

func TestSeveralPackagesAreMarkedAsInOtherLists(t *testing.T) {
	b := newBench(t, many(10))
	b.press("n2", 0)
	b.press("n5", shift)
	if got := b.markedIDs(); got != "n2 n3 n4 n5" {
		t.Errorf("Shift marks %s", got)
	}
	b.press("n1", shift)
	if got := b.markedIDs(); got != "n1 n2" {
		t.Errorf("Shift the other way marks %s", got)
	}
	b.press("n7", ctrl)
	b.press("n2", ctrl)
	if got := b.markedIDs(); got != "n1 n7" {
		t.Errorf("Ctrl marks %s", got)
	}
	if !shows(b, "2 packages selected") {
		t.Error("nobody says how many are selected")
	}
	b.screen.list.TypedKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	if got := b.markedIDs(); got != "" || b.screen.chosen != "n2" || shows(b, "2 packages selected") {
		t.Errorf("after Escape %s are marked, %s is chosen", got, b.screen.chosen)
	}
	b.screen.list.TypedShortcut(&fyne.ShortcutSelectAll{})
	if n := len(b.screen.several()); n != 10 {
		t.Errorf("Ctrl+A marks %d", n)
	}
	b.press("n4", 0)
	if got := b.markedIDs(); got != "" {
		t.Errorf("after a press without either %s are marked", got)
	}
}

func TestWhatWasTakenOutOfTheMarkedStaysOut(t *testing.T) {
	b := newBench(t, many(10))
	b.press("n1", 0)
	b.press("n3", ctrl)
	b.press("n5", ctrl)
	b.press("n3", ctrl)
	b.press("n7", ctrl)
	if got := b.markedIDs(); got != "n1 n5 n7" {
		t.Errorf("%s are marked", got)
	}
}

func TestAPackageThatIsLedToEndsTheMarking(t *testing.T) {
	b := newBench(t, many(10))
	b.screen.markAll()
	b.screen.Show("n5")
	b.Settle()
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
	if got := b.markedIDs(); got != "n2 n4" {
		t.Errorf("marked are %s", got)
	}
	b.screen.search.SetText("Package 2")
	b.Settle()
	if got := b.markedIDs(); got != "" {
		t.Errorf("what the search leaves out is marked: %s", got)
	}
}

func TestTheMarkedPackagesAreWithdrawnAndArchivedTogether(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.tabs.Choose(tabAll)
	b.Settle()
	b.press("p1", 0)
	b.press("p2", ctrl)
	b.press("p3", ctrl)
	if got := b.deedNames(); !slices.Equal(got, []string{"Withdraw…", "Save again", "Export…", "Open folder", "Archive"}) {
		t.Errorf("offered: %q", got)
	}
	menu := b.screen.menuOf(b.screen.at(b.screen.rowOf("p2")))
	if len(menu.Items) != 5 {
		t.Errorf("the menu of a marked one has %d entries", len(menu.Items))
	}
	menu.Items[0].Action()
	enter(b.asked(t))
	b.Settle()
	if got := b.Office.Withdrawn; len(got) != 1 || !slices.Equal(got[0].Packages, []string{"p2", "p1"}) {
		t.Errorf("withdrawn: %+v", got)
	}
	b.press("p1", 0)
	b.press("p2", ctrl)
	pressIn(t, b, "Archive")
	b.Settle()
	if b.screen.rowOf("p1") >= 0 || b.screen.rowOf("p2") >= 0 {
		t.Error("they are not archived")
	}
	b.Deeds[len(b.Deeds)-1].Undone()
	b.Settle()
	if b.screen.rowOf("p1") < 0 || b.screen.rowOf("p2") < 0 {
		t.Error("it was not undone")
	}
}

func TestTheMenuKeyOpensTheMenuOfTheChosenPackage(t *testing.T) {
	for _, key := range []fyne.KeyName{desktop.KeyMenu, fyne.KeyF10} {
		b := newBench(t, officetest.Busy())
		b.press("p1", 0)
		b.screen.list.TypedKey(&fyne.KeyEvent{Name: key})
		if b.Window.Canvas().Overlays().Top() == nil {
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
		return office.PackageRow{Package: office.Package{ID: id, Name: id, State: office.PackageExecuted, Saved: len(files) > 0}, Files: files, FilesDone: len(files), FilesTotal: len(files)}
	}
	o.Rows = []office.PackageRow{row("a", file("/home/office/Signed/A/a.pdf"), file("/home/office/Signed/A/b.pdf")), row("b", file("/home/office/Signed/B/b.pdf")),
		row("c", file("/home/office/Signed/A/c.pdf")), {Package: office.Package{ID: "w", Name: "w", State: office.PackageOpen}}}
	return o
}

// do does what is offered for all that are marked.
func (b *bench) do(t *testing.T, name string) {
	t.Helper()
	for _, d := range b.screen.deedsOf(b.screen.several()) {
		if d.name == name {
			d.do()
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
			"Copied to “Export”: 1 of 4 files. 2 files are no longer where they were saved. " + message.DiskFull("Export").String() + " 2 packages have no saved files."},
	} {
		b.Office.OnExport, b.Notices = c.x, nil
		b.do(t, "Export…")
		if !slices.Equal(b.Notices, []string{c.want}) {
			t.Errorf("said %q, want %q", b.Notices, c.want)
		}
	}
	if b.Office.Exports[0] != "/media/stick/Export: a b c" {
		t.Errorf("exported %q", b.Office.Exports)
	}
}

func TestTheFoldersOfMarkedPackagesAreOpenedEachOnce(t *testing.T) {
	b := newBench(t, busySaved())
	b.screen.tabs.Choose(tabAll)
	b.screen.markAll()
	b.do(t, "Open folder")
	if got := b.System.Opened; !slices.Equal(got, []string{"file /home/office/Signed/A", "file /home/office/Signed/B"}) {
		t.Errorf("opened %q", got)
	}
	b.System.Opened = nil
	for _, folder := range []string{"C", "D"} {
		b.Office.Rows[2].Files = append(b.Office.Rows[2].Files, office.File{Path: "/home/office/Signed/" + folder + "/x.pdf", State: office.JobDone})
	}
	b.do(t, "Open folder")
	if got := b.System.Opened; !slices.Equal(got, []string{"file /home/office/Signed"}) {
		t.Errorf("of four folders it opened %q", got)
	}
	b.System.Opened = nil
	b.System.Lost = map[string]bool{}
	for _, r := range b.Office.Rows {
		for _, f := range r.Files {
			b.System.Lost[f.Path] = true
		}
	}
	b.do(t, "Open folder")
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
	b.screen.tabs.Choose(tabAll)
	if b.screen.rows() != 0 || !shows(b, "Everything is archived.") {
		t.Error("All does not say that everything is archived")
	}
	b.screen.tabs.Choose(tabDone)
	if !shows(b, "All signed packages are archived.") {
		t.Error("Done does not say that what is signed is archived")
	}
}
