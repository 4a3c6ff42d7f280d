package packages

import (
	"context"
	"fmt"
	"image"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/outbox"
	"countersign/ui/screentest"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// many is an office with n open packages.
func many(n int) *officetest.Office {
	o := officetest.Busy()
	o.Rows = make([]office.PackageRow, n)
	for i := range o.Rows {
		o.Rows[i].Package = office.Package{ID: fmt.Sprint("n", i), Name: fmt.Sprintf("Package %d", i), State: "open", Created: officetest.Now.Add(-time.Duration(i) * time.Hour)}
	}
	return o
}

func TestAReloadMovesNeitherTheChoiceNorTheView(t *testing.T) {
	b := newBench(t, many(200))
	s := b.screen
	s.list.Select(100)
	b.Settle()
	s.list.ScrollTo(60)
	top, hidden := s.list.Top()
	b.Office.Change(office.PackagesChanged, func(o *officetest.Office) {
		o.Rows = append(many(3).Rows, o.Rows...)
		for i := range 3 {
			o.Rows[i].ID = fmt.Sprint("new", i)
		}
	})
	b.Reload()
	newTop, newHidden := s.list.Top()
	if newTop != top+3 || newHidden-hidden > 1 || hidden-newHidden > 1 {
		t.Errorf("the view moved from row %d to %d, three rows came in front", top, newTop)
	}
	if s.chosen != "n100" || s.list.At() != 103 || s.record.row.ID != "n100" {
		t.Errorf("chosen %s in row %d, shown %s", s.chosen, s.list.At(), s.record.row.ID)
	}
}

// The documents of a list all have one name.
func TestAWaitingDraftSaysForWhomItIs(t *testing.T) {
	o := scanned()
	o.Waiting[1].State, o.Waiting[1].Folder = office.DraftQueued, ""
	b := showing(t, o, outbox.RowID(o.Waiting[1].ID))
	b.Settle()
	for i, want := range []string{"Ana Ruiz and Jan Weber · Waiting to be sent", "Ana Ruiz · Waiting for your OK"} {
		screentest.Equal(t, "the row says", textOf(officetest.Now, 0, b.screen.at(i)), want)
	}
	b.screen.ShowStatus(agent.Status{Health: []agent.Issue{{ID: agent.IssueSignIn, Message: message.NotSignedIn()}}})
	if !strings.Contains(screentest.Text(b.screen.sheet), "You are not signed in.") {
		t.Error("it does not say why it waits")
	}
	b.screen.ShowStatus(agent.Status{})
	if !shows(b, "Waiting to be sent") {
		t.Error("signed in, it says something else")
	}
}

func TestARefusedDocumentIsShownInItsFolder(t *testing.T) {
	for folder, want := range map[string]string{"": "folder of /home/office/Scans/Lease.pdf", "f": "file " + filepath.Join("/home/office/Scans", office.HotProblems)} {
		o := scanned()
		o.Waiting = o.Waiting[:1]
		o.Waiting[0].State, o.Waiting[0].Folder = office.DraftFailed, folder
		b := showing(t, o, outbox.RowID(o.Waiting[0].ID))
		b.Press(b.screen.detail, "Show in folder")
		b.Settle()
		screentest.Equal(t, "opened", b.System.Opened, []string{want})
	}
}

func TestWhatIsBeingSentAgainIsNoProblem(t *testing.T) {
	o := scanned()
	o.Waiting = o.Waiting[:1]
	o.Waiting[0].State, o.Waiting[0].Decision = office.DraftFailed, office.Decision{Send: true, At: officetest.Now}
	b := newBench(t, o)
	b.turn(tabAll)
	if b.screen.counts[tabProblems] != 0 || b.screen.at(0).stage == i18n.Wrong {
		t.Errorf("%d problems", b.screen.counts[tabProblems])
	}
}

func TestAtTheTopTheNewestIsSeen(t *testing.T) {
	b := newBench(t, many(200))
	b.Office.Change(office.PackagesChanged, func(o *officetest.Office) {
		o.Rows = append([]office.PackageRow{{Package: office.Package{ID: "new", State: "open"}}}, o.Rows...)
	})
	b.Reload()
	if top, hidden := b.screen.list.Top(); top != 0 || hidden != 0 || b.screen.chosen != "n0" {
		t.Errorf("at row %d, %s is chosen", top, b.screen.chosen)
	}
}

func TestAPackageThatIsSignedMeanwhileStaysInView(t *testing.T) {
	for name, id := range map[string]string{"chosen": "p1", "shown as the first": "p2"} {
		b := newBench(t, officetest.Busy())
		if name == "chosen" {
			b.show(id)
		}
		screentest.Equal(t, name, b.lit(), id)
		b.Office.Change(office.PackagesChanged, func(o *officetest.Office) {
			for i := range o.Rows {
				if o.Rows[i].ID == id {
					o.Rows[i].State = "executed"
				}
			}
		})
		b.Reload()
		if b.screen.chosen != id || b.screen.record.row.State != "executed" || b.screen.list.At() != -1 {
			t.Errorf("%s: chosen %s, row %d", name, b.screen.chosen, b.screen.list.At())
		}
		b.turn(tabDone)
		screentest.Equal(t, name+": in its new tab, lit is", b.lit(), id)
	}
}

func TestAPackageCanBeShownBeforeItIsListed(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.search.SetText("offer")
	b.show("late")
	late := office.PackageRow{Package: office.Package{ID: "late", Name: "Late", State: "executed"}}
	b.Office.Change(office.PackagesChanged, func(o *officetest.Office) { o.Rows = append([]office.PackageRow{late}, o.Rows...) })
	b.Reload()
	if b.screen.record.row.ID != "late" || b.screen.tabs.Chosen() != tabDone || b.screen.list.At() != 0 {
		t.Errorf("shown %q in tab %d, row %d", b.screen.record.row.ID, b.screen.tabs.Chosen(), b.screen.list.At())
	}
}

func TestHoldingAnArrowKeyReadsOnlyWhereItEnds(t *testing.T) {
	b := newBench(t, many(200))
	counted := &counting{Office: b.Office}
	b.screen.office = counted
	for range 100 {
		b.screen.search.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	}
	b.Settle()
	if b.screen.record.row.ID != "n100" || counted.read > 3 {
		t.Errorf("shows %s after %d readings", b.screen.record.row.ID, counted.read)
	}
}

// counting counts how often all packages are listed, and how many are read whole. The pool reads one at a time here.
type counting struct {
	Office
	listed, read int
}

func (c *counting) LinesSince(since uint64) (office.Lines, error) {
	c.listed++
	return c.Office.LinesSince(since)
}

func (c *counting) Package(id string) (office.PackageRow, bool, error) {
	c.read++
	return c.Office.Package(id)
}

// A key is searched for in what was read before, and draws the rows in view. How long that takes, BenchmarkKeyIn50000
// measures.
func TestAKeyDoesAsMuchInALargeOfficeAsInASmallOne(t *testing.T) {
	type work struct{ listed, read, made, drawn int }
	workOf := func(n int) (w work) {
		b := newBench(t, many(n))
		s := b.screen
		counted := &counting{Office: b.Office}
		s.office = counted
		create, update := s.list.CreateItem, s.list.UpdateItem
		s.list.CreateItem = func() fyne.CanvasObject { w.made++; return create() }
		s.list.UpdateItem = func(id int, o fyne.CanvasObject) { w.drawn++; update(id, o) }
		all := s.all
		for _, key := range []string{"4", "2"} {
			test.Type(s.search, key)
			b.Settle()
		}
		if got := s.Listed(); s.all != all || got[0] != "n42" || s.record.row.ID != "n42" {
			t.Errorf("of %d packages %v are found, %s is shown", n, got[0], s.record.row.ID)
		}
		w.listed, w.read = counted.listed, counted.read
		return w
	}
	small, large := workOf(500), workOf(5_000) // each finds more than fits into the window
	if large != small || large.listed > 0 || large.read > 2 || large.drawn == 0 {
		t.Errorf("a large o costs %+v, a small one %+v", large, small)
	}
}

// Of a package that somebody declined nobody else is led to the page for signing, though it would be their turn.
func TestOnlyWhoStillSignsIsLedToThePage(t *testing.T) {
	b := showing(t, officetest.Busy(), "p1")
	links := func(row office.PackageRow) (n int) {
		for _, o := range test.LaidOutObjects(b.screen.signersOf(record{row: row})) {
			switch o.(type) {
			case *widgets.Tappable, *widgets.Button: // for one who is next, and for several
				n++
			}
		}
		return n
	}
	row := b.screen.record.row
	row.Sequential, row.Signers = false, slices.Clone(row.Signers)
	if links(row) == 0 {
		t.Fatal("whoever signs next gets no link")
	}
	row.Signers[2].Declined = office.When{Time: officetest.Now}
	if n := links(row); n != 0 {
		t.Errorf("of a declined package there are %d links", n)
	}
}

func TestSendAgainTakesEverythingButTheDueDate(t *testing.T) {
	b := showing(t, officetest.Busy(), "p1")
	b.actions()["Duplicate"]()
	b.Settle()
	if len(b.Like) != 1 || len(b.Like[0].Files) != 1 || len(b.Like[0].Signers) != 3 || !b.Like[0].Sequential || !b.Like[0].Due.IsZero() {
		t.Errorf("began %+v", b.Like)
	}
}

func TestADraftIsOpenedInTheServicesEditor(t *testing.T) {
	o := officetest.Busy()
	o.Rows[0].State = "draft"
	b := showing(t, o, "p2")
	b.actions()["Finish in the browser…"]()
	b.Settle()
	if len(b.System.Opened) != 0 || len(b.Notices) != 1 || b.Notices[0] != message.ServiceKnowsNot().String() {
		t.Errorf("opened %v, said %q", b.System.Opened, b.Notices)
	}
	o.Pages = map[string]string{"p2": "https://sign.example.com/edit/p2"}
	b.actions()["Finish in the browser…"]()
	b.Settle()
	if len(b.System.Opened) != 1 || b.System.Opened[0] != "address https://sign.example.com/edit/p2" {
		t.Errorf("opened %v", b.System.Opened)
	}
}

func TestFilesThatAreGoneAreSaidAndSavedAgain(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.System.Lost = map[string]bool{b.Office.Rows[1].Files[0].Path: true}
	b.show("p3")
	if len(b.screen.record.missing) != 1 || len(b.screen.picturesOf(b.screen.record)) != 1 {
		t.Errorf("missing %v, pages of %v", b.screen.record.missing, b.screen.picturesOf(b.screen.record))
	}
	b.actions()["Save again"]()
	b.Settle()
	screentest.Equal(t, "saved again", b.Office.Done, []string{"save again p3"})
	screentest.Equal(t, "notices", len(b.Notices), 1)
}

func TestWhatIsKnownToBeMissingIsNeitherRedNorGreen(t *testing.T) {
	o := officetest.Busy()
	row := &o.Rows[1]
	row.Saved, row.Sealed, row.Astray = true, true, true
	row.Files[0].Problem, row.Files[0].Read = message.FileLost(filepath.Base(row.Files[0].Path), "/Signed"), true
	b := newBench(t, o)
	b.System.Lost = map[string]bool{row.Files[0].Path: true}
	b.show("p3")
	if r := b.screen.listed(b.screen.record); r.mark() != theme.MarkEnded || !strings.HasPrefix(textOf(b.screen.env.Now(), 0, r), "Saved files missing or changed") {
		t.Errorf("the row says %s %s", r.mark(), textOf(b.screen.env.Now(), 0, r))
	}
	if f := b.screen.record.file(row.Files[0]); f.mark != theme.MarkEnded {
		t.Errorf("the file is marked %s", f.mark)
	}
}

// slow is an office whose pictures take until they are let go.
type slow struct {
	Office
	asked chan string
	let   chan image.Image
}

func (s *slow) Preview(ctx context.Context, path string, _ int) (image.Image, error) {
	s.asked <- path
	select {
	case picture := <-s.let:
		return picture, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestAPictureThatIsLeftIsNotWaitedFor(t *testing.T) {
	b := newBench(t, officetest.Busy())
	o := &slow{Office: b.Office, asked: make(chan string, 8), let: make(chan image.Image, 8)}
	b.screen.office = o
	b.screen.Show("p3")
	b.Until(func() bool { return b.screen.record.row.ID == "p3" && b.screen.record.known })
	<-o.asked
	b.screen.Show("p5") // has no files; the pictures of p3 are given up
	b.Settle()
	if b.screen.record.row.ID != "p5" || len(b.screen.pictures) != 0 {
		t.Errorf("shows %s, keeps %v", b.screen.record.row.ID, b.screen.pictures)
	}
	b.screen.Show("p3")
	b.Until(func() bool { return b.screen.record.row.ID == "p3" })
	b.screen.Show("p5")
	b.screen.Show("p3") // before it is known that the pictures were given up
	for range 8 {
		o.let <- officetest.Page()
	}
	b.Settle()
	screentest.Equal(t, "the second time the pictures come", len(b.screen.pictures), 2)
}

func TestEveryRowSaysWhereItsPackageStands(t *testing.T) {
	rows := map[string]listed{}
	x := newIndex(time.Time{}, 0, newestFirst, nil, officetest.Must(officetest.World().LinesSince(0)).Lines)
	for id, place := range x.places {
		rows[id] = x.listed(place)
	}
	for id, want := range map[string]string{
		"p2": "Waiting for Thomas Keller and Irena Novák",
		"w2": "7 of 12 signed · waiting for Thomas Keller and Irena Novák",
		"w3": "Waiting · created elsewhere",
		"p5": "Withdrawn · Thomas Keller",
		"p3": "Saved, seal intact · Irena Novák and Thomas Keller",
	} {
		screentest.Equal(t, fmt.Sprintf("%s says", id), textOf(officetest.Now, office.DueDays, rows[id]), want)
	}
	for id, want := range map[string]string{"p1": "Ana Ruiz", "w2": "Thomas Keller", "p3": ""} {
		screentest.Equal(t, id+" shows", rows[id].who(), want)
	}
}

func TestHistoryTellsWhenAFileWasSavedFoundChangedAndSavedAgain(t *testing.T) {
	b := newBench(t, officetest.Busy())
	p := office.PackageRow{Package: office.Package{}}
	for _, m := range []struct {
		minute    int
		what, ref string
	}{{0, office.EntrySaved, "a.pdf"}, {0, office.EntrySaved, "b.pdf"}, {6, office.EntryChanged, "a.pdf"}, {6, office.EntryMissing, "b.pdf"},
		{7, office.EntryAgain, "a (2).pdf"}, {7, office.EntryAgain, "b.pdf"}, {9, office.EntryAgain, "b.pdf"}} {
		p.History = append(p.History, office.HistoryEntry{Time: office.When{Time: officetest.Now.Add(time.Duration(m.minute) * time.Minute)}, What: m.what, Ref: m.ref})
	}
	at := func(minute int) string {
		return i18n.When(b.screen.env.Now(), office.When{Time: officetest.Now.Add(time.Duration(minute) * time.Minute)})
	}
	want := strings.Join([]string{"History", at(9), "Saved again as b.pdf", at(7), "2 files saved again", at(6), "No longer in its folder: b.pdf",
		at(6), "Changed since it was saved: a.pdf", at(0), "2 files saved"}, "")
	screentest.Equal(t, "it tells", strings.Join(strings.Fields(screentest.Text(b.screen.timelineOf(p))), ""), strings.ReplaceAll(want, " ", ""))
}

func TestAPackageSaysWhatWasWrittenToTheSignersAndWhoHasItWithdrawn(t *testing.T) {
	o := withdrawn(office.Withdrawal{State: office.WithdrawWanted, Message: "We met in person."})
	o.Rows[2].History = append(slices.Clone(o.Rows[2].History), office.HistoryEntry{Time: office.When{Time: officetest.Now}, What: office.EntryWished, Ref: "olivia@example.com"})
	b := showing(t, o, "p1")
	said := screentest.Text(b.screen.detail)
	for _, want := range []string{"Being withdrawn", "As discussed.", "Withdrawal requested by olivia@example.com", "We met in person.", "Do not withdraw"} {
		if !strings.Contains(said, want) {
			t.Errorf("it lacks %q: %s", want, said)
		}
	}
	if strings.Contains(said, "Waiting for Ana Ruiz") {
		t.Errorf("it waits for somebody still: %s", said)
	}
}

// widest is how wide the chosen package must be, and how wide it is shown.
func (b *bench) widest() (least, shown float32) {
	scroll := b.screen.detail.Objects[0].(*container.Scroll)
	return scroll.Content.MinSize().Width, scroll.Size().Width
}

func TestNothingRunsOverTheEdgeInAnyLanguage(t *testing.T) {
	for _, language := range i18n.Languages() {
		screentest.Speak(t, language)
		for name, o := range map[string]*officetest.Office{"wrong": officetest.Wrong(), "world": signable(officetest.World())} {
			b := newBench(t, o)
			b.Window.Resize(little)
			if least := b.screen.Content().MinSize(); least.Width > 620-194 { // the smallest window, without its sidebar
				t.Errorf("%s, %s: the screen is at least %v wide", language, name, least.Width)
			}
			for _, row := range o.Rows {
				b.show(row.ID)
				if least, shown := b.widest(); least > shown {
					t.Errorf("%s, %s: %q needs %v, there are %v", language, name, row.Name, least, shown)
				}
			}
		}
	}
}

func TestThePicturesHaveTheirRoomBeforeTheyCome(t *testing.T) {
	b := newBench(t, officetest.Busy())
	o := &slow{Office: b.Office, asked: make(chan string, 8), let: make(chan image.Image, 8)}
	b.screen.office = o
	b.screen.Show("p3")
	b.Until(func() bool { return b.screen.record.known && b.screen.record.row.ID == "p3" })
	before := b.screen.detail.Objects[0].(*container.Scroll).Content.MinSize()
	o.let <- officetest.Page()
	o.let <- officetest.Page()
	b.Settle()
	if after := b.screen.detail.Objects[0].(*container.Scroll).Content.MinSize(); after != before || len(b.screen.pictures) != 2 {
		t.Errorf("%v became %v when %d pictures came", before, after, len(b.screen.pictures))
	}
}

func TestTheSignedDocumentIsFirst(t *testing.T) {
	b := showing(t, officetest.Busy(), "p3")
	p := b.screen.record
	first := screentest.All[*widgets.Button](b.screen.sheet)[0]
	if first.Text != "Open signed document" || first.Importance != widget.HighImportance {
		t.Fatalf("the first button is %q", first.Text)
	}
	first.OnTapped()
	b.Settle()
	if leaves := p.files(); len(leaves) != 2 || len(b.System.Opened) != 1 || !strings.HasSuffix(b.System.Opened[0], leaves[0].name) || leaves[0].name != "Mandate Keller - Letter of mandate.pdf" {
		t.Errorf("opened %v of %+v", b.System.Opened, leaves)
	}
	for id, want := range map[string]string{"p1": "Lease Sonnenweg 4: 1 of 3 signed|House rules: 1 of 3 signed",
		"p4": "Mandate Keller - Letter of mandate.pdf: Signed document|Mandate Keller - certificate.pdf: Certificate · waiting to be saved"} {
		b.show(id)
		var got []string
		for _, l := range b.screen.record.files() {
			got = append(got, l.name+": "+l.note)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s has %q", id, got)
		}
	}
}

func TestWhateverIsWrongIsListedUnderProblems(t *testing.T) {
	b := newBench(t, officetest.Wrong())
	b.turn(tabProblems)
	if got := strings.Join(b.screen.Listed(), ", "); got != "draft x, draft y, p3, p2" && got != "draft y, draft x, p3, p2" {
		t.Errorf("under Problems: %s", got)
	}
	b.show("draft y")
	b.Press(b.screen.detail, "Edit")
	screentest.Equal(t, "went", b.Went[len(b.Went)-1], "edit y")
	b.Press(b.screen.detail, "Discard")
	b.Reload()
	b.Settle()
	if len(officetest.Must(b.Office.Drafts())) != 1 || b.screen.list.At() >= 0 || shows(b, "Discard") {
		t.Errorf("left are %v, shown is %s", officetest.Must(b.Office.Drafts()), screentest.Text(b.screen.detail))
	}
	b.Office.Rows, b.Office.Waiting = nil, nil
	b.Reload()
	if got := b.screen.rows(); got != 0 || !shows(b, "or choose one from a folder") {
		t.Errorf("%d rows are left", got)
	}
}

// shows says whether a text is in sight.
func shows(b *bench, text string) bool {
	return slices.ContainsFunc(screentest.All[*canvas.Text](b.screen.Content()), func(t *canvas.Text) bool { return t.Text == text })
}

func TestTheRightSideIsNeverEmpty(t *testing.T) {
	b := newBench(t, officetest.Empty())
	if !shows(b, "or choose one from a folder") || shows(b, "Waiting") {
		t.Error("an empty office is not shown where to drop a document, and that alone")
	}
	b.Press(b.screen.Content(), "New package")
	screentest.Equal(t, "went", len(b.Went), 1)
	b = newBench(t, officetest.Busy())
	b.screen.search.SetText("nothing is called like this")
	b.Settle()
	if !shows(b, "Recently saved") || b.screen.rows() != 0 {
		t.Fatal("the right side is empty")
	}
	screentest.All[*tile](b.screen.sheet)[0].Tapped(nil)
	b.Settle()
	screentest.Equal(t, "what was saved last leads to", b.screen.chosen, "p3")
}

func TestWhatASearchHidIsChosenAgainAfterwards(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.turn(tabAll)
	s := b.screen
	ids := s.Listed()
	second := ids[1]
	s.list.Select(1)
	b.Settle()
	for _, c := range []struct{ search, chosen string }{{"nothing is called like this", ""}, {"", second}} {
		s.search.SetText(c.search)
		b.Settle()
		screentest.Equal(t, "chosen with "+c.search, s.chosen, c.chosen)
	}
	s.search.SetText("nothing is called like this")
	s.Show(ids[0])
	b.Settle()
	s.search.SetText("")
	b.Settle()
	screentest.Equal(t, "chosen by the person meanwhile", s.chosen, ids[0])
}

func TestAPackageCanBeArchivedAndBroughtBack(t *testing.T) {
	b := showing(t, officetest.Busy(), "p3")
	b.Press(b.screen.detail, "Archive")
	if got := strings.Join(b.screen.Listed(), ", "); got != "p4" || b.screen.chosen != "p4" {
		t.Errorf("listed %s, chosen %s", got, b.screen.chosen)
	}
	b.turn(tabArchived)
	screentest.Equal(t, "the archive has", strings.Join(b.screen.Listed(), ", "), "p3")
	b.Press(b.screen.detail, "Move back to the list")
	b.screen.tabs.Choose(tabAll)
	if !shows(b, "Mandate Keller") {
		t.Error("All leaves it out")
	}
	b.screen.tabs.Choose(tabDone)
	for _, action := range b.menuOf("p3") {
		if action.Name == "Archive" {
			action.Do()
		}
	}
	b.Settle()
	if b.screen.rowOf("p3") >= 0 {
		t.Error("the menu archives, too")
	}
	b.Deeds[len(b.Deeds)-1].Undone()
	b.Settle()
	if b.screen.rowOf("p3") < 0 || b.screen.chosen != "p3" {
		t.Error("it was not undone")
	}
}

func TestAskingNowShowsThatItHappens(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.CheckNow()
	b.Settle()
	screentest.Equal(t, "asked", b.Office.Asked("check"), 1)
	for want, last := range map[string]time.Time{"Check now": {}, "checked 13:02": officetest.Now.Add(-time.Hour)} {
		b.screen.ShowStatus(agent.Status{SignedIn: true, Checked: last, Checking: true})
		if !shows(b, "Checking…") {
			t.Error("that it is being asked cannot be seen")
		}
		if b.screen.ShowStatus(agent.Status{SignedIn: true, Checked: last}); !shows(b, want) {
			t.Errorf("%q cannot be seen", want)
		}
	}
	b.Office.State.SignedIn = false
	b.screen.CheckNow()
	b.Settle()
	if len(b.Notices) != 1 {
		t.Errorf("said %q", b.Notices)
	}
}

func TestThatTheServiceIsAwayIsSaidToWhoAsks(t *testing.T) {
	b := newBench(t, officetest.Busy())
	away := agent.Status{SignedIn: true, Checked: officetest.Now, Health: []agent.Issue{{ID: agent.IssueService, Message: message.ServiceUnreachable()}}}
	b.screen.ShowStatus(away) // nobody has asked
	b.screen.CheckNow()
	b.Settle()
	under := away
	under.Checking = true
	for _, status := range []agent.Status{under, away, away} {
		b.screen.ShowStatus(status)
	}
	screentest.Equal(t, "said", b.Notices, []string{"The signing service could not be reached."})
}

// What is wrong anywhere is green nowhere.
func TestASignedPackageThatCannotBeSavedIsNotGreen(t *testing.T) {
	o := officetest.Busy()
	o.Rows[0] = office.PackageRow{Package: office.Package{ID: "full", Name: "Full", State: office.PackageExecuted, Created: officetest.Now}}
	b := showing(t, o, "full")
	folder := []agent.Issue{{ID: agent.IssueFolder, Message: message.DiskFull("Signed")}}
	for _, c := range []struct {
		health []agent.Issue
		held   string
		tab    int
		mark   theme.Mark
		says   string
	}{
		{folder, "full", tabProblems, theme.MarkProblem, "Completed, files not saved yet. The disk with “Signed” is full."},
		{folder, "another", tabDone, theme.MarkSigned, "Signed"},
		{[]agent.Issue{{ID: agent.IssueData, Message: message.OwnDiskFull()}}, "", tabProblems, theme.MarkProblem, "Completed, files not saved yet."},
		{nil, "", tabDone, theme.MarkSigned, "Signed"},
	} {
		o.Change("", func(o *officetest.Office) { o.Unsaved = map[string]bool{c.held: true} })
		b.screen.ShowStatus(agent.Status{Health: c.health})
		b.screen.Reload()
		b.Settle()
		r := b.screen.all.listed(b.screen.all.places["full"])
		screentest.Equal(t, "in its tab, marked", []any{r.tab(), r.mark()}, []any{c.tab, c.mark})
		if said := screentest.Text(b.screen.detail); !strings.Contains(said, c.says) {
			t.Errorf("the head lacks %q: %s", c.says, said)
		}
	}
}

func TestDetailsNeverStandBesideTheRowOfAnotherPackage(t *testing.T) {
	b := showing(t, officetest.Busy(), "p1")
	for _, id := range []string{"p3", "not listed yet"} {
		b.screen.Show(id) // and nothing is read
		if b.screen.record.row.ID != id || b.screen.record.known {
			t.Errorf("%s is chosen beside the details of %s", id, b.screen.record.row.ID)
		}
		b.Settle()
	}
}

func TestCancellingCanBeUndone(t *testing.T) {
	o := sending()
	b := showing(t, o, "draft w")
	b.Press(b.screen.detail, "Cancel sending")
	b.Reload()
	b.Settle()
	if left := officetest.Must(o.Drafts()); len(left) != 1 || left[0].State != office.DraftHeld {
		t.Fatalf("left are %+v", left)
	}
	if _, said := outbox.State(officetest.Must(o.Drafts())[0]); said != "Not sent: you cancelled it." {
		t.Errorf("it says %q", said)
	}
	b.Press(b.screen.detail, "Send")
	if left := officetest.Must(o.Drafts()); len(left) != 1 || left[0].State != office.DraftQueued {
		t.Errorf("sent after all: %+v", left)
	}
}

func TestWhatIsSentIsFollowedUntilItIsAPackage(t *testing.T) {
	o := sending()
	b := newBench(t, o)
	uploading(b)
	if part := b.screen.upload.arc.Done; part < 0.6 || part > 0.7 || !shows(b, "Uploading… 60 KB / 96 KB") {
		t.Errorf("of the files %v is sent", part)
	}
	early := newBench(t, sending())
	uploading(early)
	early.screen.Follow(office.SendState{DraftID: "w", State: office.DraftSent, PackageID: "p1"})
	if shows(early, "Cancel sending") {
		t.Error("what was sent can be cancelled until it is read")
	}
	o.Change(office.OutboxChanged, func(o *officetest.Office) { o.Waiting = nil })
	b.Reload()
	b.screen.Follow(office.SendState{DraftID: "w", State: office.DraftSent, PackageID: "p1"})
	screentest.Equal(t, "chosen", b.screen.chosen, "p1")
	b.press("p2", 0)
	b.screen.Follow(office.SendState{DraftID: "w", State: office.DraftSent, PackageID: "p1"})
	screentest.Equal(t, "whoever has gone on stays at", b.screen.chosen, "p2")
}

func TestTheChoiceFollowsADraftThatTheOfficeSendsByItself(t *testing.T) {
	for name, sent := range map[string]bool{"sent": true, "discarded elsewhere": false} {
		b, c := newChanging(t, 3)
		p := c.lines[1]
		b.Office.Change(office.OutboxChanged, func(o *officetest.Office) { o.Waiting = sending().Waiting })
		b.Reload()
		b.show("draft w")
		c.change(p)
		b.Office.Change(office.OutboxChanged, func(o *officetest.Office) {
			o.Waiting = nil
			if sent {
				o.Origins = map[string]office.Draft{p.ID: {ID: "w"}}
			}
		})
		b.Reload()
		b.Settle()
		want := map[bool]string{true: p.ID}[sent]
		for range 2 {
			screentest.Equal(t, name+": lit", b.lit(), want)
			if shows(b, "Cancel sending") {
				t.Errorf("%s: the draft is still shown", name)
			}
			b.Reload()
			b.Settle()
		}
	}
}

// lit returns the id of the row that is lit as chosen; empty for none.
func (b *bench) lit() string {
	if at := b.screen.list.At(); at >= 0 {
		return b.screen.at(at).line.ID
	}
	return ""
}

// Another client's document with its Send button never comes under the mouse by itself, whether the row was pressed or is the first.
func TestNothingTakesThePlaceOfADraftThatEnds(t *testing.T) {
	for name, pressed := range map[string]string{"shown as the first": "", "pressed": "draft b"} {
		o := officetest.Busy()
		for _, id := range []string{"a", "b"} {
			o.Waiting = append(o.Waiting, office.Draft{ID: id, Name: "Offer", State: office.DraftHeld, Created: officetest.Now, Folder: "f", Signers: o.Rows[2].Signers})
		}
		b := newBench(t, o)
		if pressed != "" {
			b.press(pressed, 0)
		}
		if b.lit() != "draft b" || !shows(b, "Send") {
			t.Fatalf("%s: lit is %q", name, b.lit())
		}
		o.Change(office.OutboxChanged, func(o *officetest.Office) { o.Waiting = o.Waiting[:1] })
		b.Reload()
		b.Settle()
		if b.lit() != "" || shows(b, "Send") || shows(b, "Discard") {
			t.Errorf("%s: in its place is %q", name, b.lit())
		}
		b.turn(tabAll)
		screentest.Equal(t, name+": once the person lists others, lit is", b.lit(), "draft a")
	}
}

func TestWhoeverSearchesIsNotTakenToWhatWasSent(t *testing.T) {
	o := sending()
	b := newBench(t, o)
	uploading(b)
	o.Change(office.OutboxChanged, func(o *officetest.Office) { o.Waiting = nil })
	b.Reload()
	b.Settle()
	b.screen.search.SetText("lease")
	b.Settle()
	b.screen.Follow(office.SendState{DraftID: "w", State: office.DraftSent, PackageID: "p4"})
	b.Settle()
	screentest.Equal(t, "searched and lit", []string{b.screen.search.Text, b.lit()}, []string{"lease", "p1"})
}

// What was on its way and is not any more is not said to be.
func TestWhatWaitsIsNotSaidToBeOnItsWay(t *testing.T) {
	o := sending()
	b := newBench(t, o)
	uploading(b)
	o.Change(office.OutboxChanged, func(o *officetest.Office) { o.Waiting[0].Problem = message.ServiceSilent() })
	b.Reload()
	b.Settle()
	if waits := message.ServiceSilent().String(); shows(b, "Uploading… 60 KB / 96 KB") || !strings.Contains(screentest.Text(b.screen.detail), waits) || b.screen.upload.arc.Done > 0 {
		t.Errorf("it says %q", screentest.Text(b.screen.detail))
	}
	uploading(b)
	if !shows(b, "Uploading… 60 KB / 96 KB") {
		t.Errorf("it goes on, and it says %q", screentest.Text(b.screen.detail))
	}
	b.screen.Follow(office.SendState{DraftID: "w", State: office.DraftQueued, Total: 96_422})
	if shows(b, "Uploading… 60 KB / 96 KB") || b.screen.upload.arc.Done > 0 {
		t.Errorf("it has stopped, and it says %q", screentest.Text(b.screen.detail))
	}
}

func TestWhatCannotBeReadIsNotShownAsNothing(t *testing.T) {
	o := many(3)
	o.Unread = message.Error(message.DataDamagedNow(), nil)
	b := newBench(t, o)
	if got := screentest.Text(b.screen.side); !strings.Contains(got, "data file is damaged") {
		t.Fatalf("the list says %q", got)
	}
	b.Office.Change(office.StatusChanged, func(o *officetest.Office) { o.Unread = nil })
	b.Reload()
	if len(b.screen.Listed()) != 3 || b.screen.side.Objects[0] != b.screen.list {
		t.Fatalf("%q are listed", b.screen.Listed())
	}
	b.Office.Change(office.StatusChanged, func(o *officetest.Office) { o.Unread = message.Error(message.RecordNotRead(), nil) })
	b.Reload()
	screentest.Equal(t, "what was read before is gone", len(b.screen.Listed()), 3)
	b.show("n2")
	if got := screentest.Text(b.screen.detail); !strings.Contains(got, "could not read its own record") {
		t.Errorf("the package says %q", got)
	}
}

func TestADraftFromATemplateShowsWhatTheTemplateBrings(t *testing.T) {
	o := officetest.Busy()
	lease := officetest.Templates()[0]
	lease.Documents[1].File = "/x/Our rules.pdf"
	o.Waiting = []office.Draft{{ID: "w", Name: "Flat 4", State: office.DraftQueued, Created: officetest.Now, Template: &lease,
		Files: []office.DraftFile{{Path: "/x/Our rules.pdf", Name: "Our rules.pdf", Original: 2}}}}
	b := showing(t, o, "draft w")
	text := screentest.Text(b.screen.Content())
	if !strings.Contains(text, "from the template") || !strings.Contains(text, "Our rules.pdf") || strings.Count(text, "House rules") != 1 || !strings.Contains(text, "In place of “House rules”") ||
		!strings.Contains(text, "Waiting to be sent") || !strings.Contains(text, "Outbox") {
		t.Errorf("it shows\n%s", text)
	}
	if n := strings.Count(text, "No preview"); n != 2 { // of the template's own document, and of the file that is not there
		t.Errorf("of %d documents it says that there is no preview", n)
	}
	b.screen.search.SetText("lease agree")
	b.Settle()
	if got := strings.Join(b.screen.Listed(), ", "); !strings.Contains(got, "draft w") {
		t.Errorf("the search finds %s", got)
	}
}

func TestADocumentInPlaceOfATemplatesIsShownAtItsPlaceWithItsOwnPage(t *testing.T) {
	o := officetest.Busy()
	lease, row := officetest.Templates()[0], &o.Rows[2]
	lease.Documents[0].File = "/x/Our lease.pdf"
	sent := office.Draft{ID: "t", Template: &lease, Files: []office.DraftFile{{Path: "/x/Our lease.pdf", Name: "Our lease.pdf", ExternalID: "ours", Original: 1}}}
	row.Documents = []office.Document{{ID: "1", Name: "Lease agreement", ExternalID: "ours"}, {ID: "2", Name: "House rules"}}
	waiting := sent
	waiting.ID, waiting.State = "w", office.DraftQueued
	o.Origins[row.ID], o.Waiting, o.Pictures = sent, []office.Draft{waiting}, map[string]image.Image{"Our lease.pdf": officetest.Page()}
	for _, id := range []string{row.ID, outbox.RowID("w")} {
		b := showing(t, o, id)
		text := screentest.Text(b.screen.sheet)
		lease, rules := strings.Index(text, "Our lease.pdf"), strings.Index(text, "House rules")
		if lease < 0 || rules < lease || !strings.Contains(text, "In place of “Lease agreement”") || strings.Count(text, "No preview") != 1 {
			t.Errorf("%s shows\n%s", id, text)
		}
	}
}

func TestAPackageFromATemplateSaysWhoHasWhichRole(t *testing.T) {
	o := officetest.Busy()
	row := &o.Rows[0]
	o.Origins[row.ID] = office.Draft{Signers: []office.Signer{{Email: strings.ToUpper(row.Signers[0].Email), Role: "Landlord"}}}
	b := showing(t, o, row.ID)
	if text := screentest.Text(b.screen.detail); !strings.Contains(text, "Landlord · "+row.Signers[0].Email) {
		t.Errorf("it shows\n%s", text)
	}
}

func TestEnterOpensWhatIsSavedAndElseLeadsToWhatCanBeDone(t *testing.T) {
	b := newBench(t, officetest.Wrong())
	s := b.screen
	enter := func(id string) fyne.Focusable {
		s.Show(id)
		b.Settle()
		s.FocusList()
		s.list.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
		b.Settle()
		return b.Window.Canvas().Focused()
	}
	if enter("p3"); len(b.System.Opened) != 1 || !strings.HasPrefix(b.System.Opened[0], "file ") || b.Window.Canvas().Focused() != fyne.Focusable(s.list) {
		t.Errorf("opened %q", b.System.Opened)
	}
	if first, ok := enter("p1").(*widgets.Button); !ok || first.Text != "Remind" || len(b.System.Opened) != 1 {
		t.Errorf("of a package that waits, the focus is on %T", b.Window.Canvas().Focused())
	}
}

func TestWhoComesBackToTheListSeesWhatThereWas(t *testing.T) {
	b := newBench(t, many(200))
	s := b.screen
	s.search.SetText("Package 1")
	s.list.Select(20)
	b.Settle()
	s.list.ScrollTo(70) // by the wheel
	top, hidden := s.list.Top()
	chosen := s.chosen
	b.Window.Canvas().Focus(widgets.FirstIn(s.detail))
	s.FocusList()
	if newTop, newHidden := s.list.Top(); newTop != top || newHidden != hidden || s.chosen != chosen || s.list.At() != 20 || s.search.Text != "Package 1" {
		t.Errorf("row %d is at the edge in place of %d; %s in row %d is chosen", newTop, top, s.chosen, s.list.At())
	}
	if b.Window.Canvas().Focused() != fyne.Focusable(s.list) {
		t.Errorf("the focus is on %T", b.Window.Canvas().Focused())
	}
	s.search.SetText("none of them")
	s.FocusList()
	if b.Window.Canvas().Focused() != fyne.Focusable(s.search) {
		t.Error("an empty list takes no key")
	}
}

// changing is an office whose packages change, and which tells what has changed, as the agent does.
type changing struct {
	Office
	lines   []office.PackageLine // the newest first
	changed []string             // ids, one for each version after the first
	whole   int                  // how often all were asked for
}

func (c *changing) LinesSince(since uint64) (office.Lines, error) {
	version := uint64(len(c.changed)) + 1
	if since == 0 {
		c.whole++
		return office.Lines{Version: version, All: true, Lines: packed(c.lines)}, nil
	}
	changes := office.Lines{Version: version}
	for _, l := range c.lines {
		if slices.Contains(c.changed[since-1:], l.ID) {
			changes.Lines = append(changes.Lines, l.Pack())
		}
	}
	return changes, nil
}

func (c *changing) Package(id string) (office.PackageRow, bool, error) {
	return office.PackageRow{}, false, nil
}

// change makes a package anew, or another one of what is there.
func (c *changing) change(l office.PackageLine) {
	if i := slices.IndexFunc(c.lines, func(x office.PackageLine) bool { return x.ID == l.ID }); i >= 0 {
		c.lines[i] = l
	} else {
		c.lines = slices.Insert(c.lines, 0, l)
	}
	c.changed = append(c.changed, l.ID)
}

func newChanging(t testing.TB, n int) (*bench, *changing) {
	c := &changing{lines: lines(n)}
	b := &bench{Bench: screentest.New(t, officetest.Busy())}
	c.Office = b.Office
	b.screen = New(b.Env, c)
	b.Open(b.screen, b.Window.Canvas().Size())
	return b, c
}

func TestChangesAreShownAsIfAllWereReadAnew(t *testing.T) {
	for _, o := range orders {
		t.Run(string(o), func(t *testing.T) { changesAreShown(t, o) })
	}
}

func changesAreShown(t *testing.T, o order) {
	b, c := newChanging(t, 60)
	s := b.screen
	s.sortBy(o)
	b.Settle()
	read := c.whole
	random := rand.New(rand.NewPCG(1, 2))
	states := []office.PackageState{"open", "executed", "expired", "rescinded"}
	for i := range 60 {
		switch random.IntN(7) {
		case 0:
			s.tabs.Choose(random.IntN(tabCount))
			s.refilter()
		case 1:
			s.search.SetText([]string{"", "akes", "ana", "sonnenweg 1", "new"}[random.IntN(5)])
		case 2:
			c.change(office.PackageLine{ID: fmt.Sprint("new", i), Name: fmt.Sprint("New ", i), State: "open", Created: time.Unix(int64(1_790_000_000+i), 0)})
		case 3:
			s.narrow(narrowing{person: []string{"", "björn", "ruiz"}[random.IntN(3)], origin: []office.Origin{"", office.MadeHere}[random.IntN(2)]})
		default:
			l := c.lines[random.IntN(len(c.lines))]
			l.State, l.Archived = states[random.IntN(4)], random.IntN(5) == 0
			l.People = []string{"Ana Ruiz", "Björn Åkesson"}[random.IntN(2)]
			l.Name = fmt.Sprint("Lease Sonnenweg ", random.IntN(20))
			l.Origin = []office.Origin{office.MadeElsewhere, office.MadeHere}[random.IntN(2)]
			l.Due = []time.Time{{}, time.Unix(1_790_000_000, 0).AddDate(0, 0, random.IntN(9))}[random.IntN(2)]
			c.change(l)
		}
		b.Reload()
		chosen, wanted := s.tabs.Chosen(), strings.Fields(office.Fold(s.search.Text))
		q := office.Query{Archived: true, Person: s.narrowed.person, Origin: s.narrowed.origin, Sort: map[order]office.Order{byName: office.ByName, byDue: office.ByDue}[o]}
		var match counts
		var want []string
		list := q.Choose(c.lines)
		if o == oldestFirst {
			slices.Reverse(list)
		}
		for _, l := range list {
			r := newIndex(time.Time{}, 0, newestFirst, nil, packed([]office.PackageLine{l})).rows[0].sorted
			r.due = i18n.IsLate(officetest.Now, l.Due, office.DueDays)
			if !office.HasWords(office.Fold(l.SearchText()), wanted) {
				continue
			}
			match.add(r, 1)
			if r.in(chosen) {
				want = append(want, l.ID)
			}
		}
		if got := s.Listed()[len(s.heads):]; !slices.Equal(got, want) || s.match != match {
			t.Fatalf("change %d: %v %v, read anew %v %v", i, got, s.match, want, match)
		}
		for row, id := range s.Listed() {
			if s.rowOf(id) != row {
				t.Fatalf("change %d: %s is found in row %d, not in %d", i, id, s.rowOf(id), row)
			}
		}
	}
	if c.whole != read {
		t.Errorf("all were read %d times more", c.whole-read)
	}
}

func TestAListThatRestsFollowsTheOfficeAndIsSearchedAgain(t *testing.T) {
	b, c := newChanging(t, 60)
	s := b.screen
	s.tabs.Choose(tabAll)
	s.Rest()
	if s.all.texts.of() != nil {
		t.Error("it holds the texts for the search")
	}
	for i := range 3 {
		c.change(office.PackageLine{ID: fmt.Sprint("new", i), Name: fmt.Sprint("Harbour ", i), State: "open", Created: time.Unix(int64(1_790_000_100+i), 0)})
		l := c.lines[10+2*i]
		l.Name = "Harbour"
		c.change(l)
		b.Reload()
	}
	if ids := s.Listed(); len(ids) != 63 || ids[0] != "new2" || c.whole != 1 || s.all.texts.of() != nil {
		t.Errorf("%d packages are listed, %s first, after %d readings of all", len(ids), ids[0], c.whole)
	}
	s.Return()
	b.Settle()
	if s.all.texts.of() == nil {
		t.Error("the texts for the search are not there before somebody types")
	}
	if s.search.SetText("harbour"); len(s.Listed()) != 6 {
		t.Errorf("found are %q", s.Listed())
	}
	c.change(office.PackageLine{ID: "last", Name: "Harbour", State: "open", Created: time.Unix(1_790_000_200, 0)})
	b.Reload()
	if len(s.Listed()) != 7 || c.whole != 1 {
		t.Errorf("found are %q after %d readings of all", s.Listed(), c.whole)
	}
}

func TestAListThatRestsIsSearchedAllTheSame(t *testing.T) {
	b, c := newChanging(t, 60)
	b.screen.tabs.Choose(tabAll)
	b.screen.search.SetText("akesson")
	found := len(b.screen.Listed())
	b.screen.Rest()
	l := c.lines[1]
	l.People = "Björn Åkesson"
	c.change(l)
	b.Reload()
	b.Settle()
	if got := len(b.screen.Listed()); got != found+1 || found == 0 {
		t.Errorf("%d were found, and then %d", found, got)
	}
}

func TestAnOldPackageThatBecomesKnownIsInItsPlace(t *testing.T) {
	b, c := newChanging(t, 10)
	b.screen.tabs.Choose(tabAll)
	old := c.lines[5]
	old.ID, old.Name = "found", "Found"
	c.lines = slices.Insert(c.lines, 6, old)
	c.changed = append(c.changed, old.ID)
	old.Created = old.Created.Add(-time.Millisecond)
	c.change(old)
	b.Reload()
	b.Settle()
	if ids := b.screen.Listed(); slices.Index(ids, "found") != 6 || c.whole != 2 {
		t.Errorf("%v after %d readings of all", ids, c.whole)
	}
}

// BenchmarkChangeIn50000 is what a change costs in a window that shows 50,000 packages, of which it is one.
func BenchmarkChangeIn50000(b *testing.B) {
	for _, n := range []int{500, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			bench, c := newChanging(b, n)
			lines := c.lines
			for i := 0; b.Loop(); i++ {
				l := lines[i%len(lines)]
				l.SignersDone = i
				c.lines, c.changed = []office.PackageLine{l}, append(c.changed, l.ID)
				bench.Reload()
			}
			if c.whole != 1 {
				b.Errorf("all were read %d times", c.whole)
			}
		})
	}
}

// late is an office in which one package is overdue, one due tomorrow and one has time.
func late() *officetest.Office {
	o := officetest.Busy()
	row := func(id, name string, due time.Duration) office.PackageRow {
		ana := office.Signer{ID: "s", FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}
		return office.PackageRow{Package: office.Package{ID: id, Name: name, State: office.PackageOpen, Created: officetest.Now.Add(-time.Hour),
			Due: officetest.Now.Add(due), Documents: []office.Document{{ID: "d", Name: "Lease"}}, Signing: office.Signing{SignersTotal: 1,
				NextSigners: []string{"s"}},
			Signers: []office.Signer{ana}}}
	}
	o.Rows = []office.PackageRow{row("past", "Offer", -time.Hour), row("soon", "Lease", 24*time.Hour), row("time", "Mandate", 10*24*time.Hour)}
	return o
}

func TestWhatIsDueHasATabAndSaysSoInWords(t *testing.T) {
	b := newBench(t, late())
	b.screen.tabs.Choose(tabDue)
	screentest.Equal(t, "listed", b.screen.Listed(), []string{"past", "soon"})
	for i, want := range []string{"Overdue · waiting for Ana Ruiz", "Due soon · waiting for Ana Ruiz"} {
		if got := textOf(officetest.Now, office.DueDays, b.screen.at(i)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	b.screen.tabs.Choose(tabWaiting)
	if got := textOf(officetest.Now, office.DueDays, b.screen.at(2)); got != "Waiting for Ana Ruiz" || len(b.screen.Listed()) != 3 {
		t.Errorf("%q of %q", got, b.screen.Listed())
	}
	b.screen.Show("soon")
	screentest.Equal(t, "it is where it was", b.screen.tabs.Chosen(), tabWaiting)
}

func TestWhatIsDueSoonIsWhatPeopleAreToldBefore(t *testing.T) {
	o := late() // with a package that is due in ten days
	b := newBench(t, o)
	for _, c := range []struct {
		days int
		due  []string
	}{{10, []string{"past", "soon", "time"}}, {9, []string{"past", "soon"}}, {office.NoDueDays, []string{"past"}}} {
		o.Kept.DueDays = c.days
		b.Reload()
		b.screen.tabs.Choose(tabDue)
		b.screen.refilter()
		screentest.Equal(t, fmt.Sprintf("told %d days before: listed", c.days), b.screen.Listed(), c.due)
	}
}

// way presses one of the ways to the page of the chosen package's first signer.
func (b *bench) way(t *testing.T, name string) {
	t.Helper()
	for _, way := range b.screen.waysOf(b.screen.record.row, b.screen.record.row.Signers[0]) {
		if way.Name == name {
			way.Do()
			b.Settle()
			return
		}
	}
	t.Fatalf("there is no way %q", name)
}

func TestALinkToSignIsAskedForWhenItIsUsed(t *testing.T) {
	const page = "https://sign.example.com/link/secret"
	o := late()
	b := showing(t, o, "soon")
	o.Pages = map[string]string{"s": page} // only now
	b.way(t, "Copy link")
	screentest.Equal(t, "copied", b.Copied, []string{page})
	b.way(t, "Sign here…")
	o.Rows[1].Signers[0].Locale = "de-DE"
	b.screen.Reload()
	b.Settle()
	b.screen.remind([]string{"soon"})
	b.Settle()
	if len(b.System.Opened) != 2 || b.System.Opened[0] != "address "+page {
		t.Fatalf("opened %q", b.System.Opened)
	}
	u, err := url.Parse(strings.TrimPrefix(b.System.Opened[1], "address "))
	if err != nil || u.Scheme != "mailto" || u.Opaque != "ana@example.com" {
		t.Fatalf("%v, %v", u, err)
	}
	q := u.Query()
	if !strings.HasPrefix(q.Get("subject"), "Ihre Unterschrift wird gebraucht: „Lease“") || !strings.Contains(q.Get("body"), "Guten Tag Ana Ruiz,\r\n") || !strings.Contains(q.Get("body"), "\r\n"+page+"\r\n") ||
		!strings.Contains(q.Get("body"), "Die Frist endet morgen.") {
		t.Errorf("the letter: %q", q)
	}
	for _, n := range b.Notices {
		if strings.Contains(n, page) {
			t.Errorf("a notice shows the link: %q", n)
		}
	}
}

func TestALetterDoesNotSayThatAPackageWaitsForWhoseTurnHasNotCome(t *testing.T) {
	o := late()
	o.Pages = map[string]string{"s": "https://sign.example.com/link/secret"}
	o.Rows[1].Sequential, o.Rows[1].Signers = true, append(o.Rows[1].Signers, office.Signer{ID: "before"})
	o.Rows[1].NextSigners = []string{"before"}
	b := showing(t, o, "soon")
	b.way(t, "Remind")
	if len(b.System.Opened) != 1 {
		t.Fatalf("opened %q", b.System.Opened)
	}
	letter, err := url.QueryUnescape(b.System.Opened[0])
	if err != nil || strings.Contains(letter, "waiting for your signature") || !strings.Contains(letter, "once those before you have signed") {
		t.Errorf("the letter: %q, %v", letter, err)
	}
}

func TestAServiceWithoutLinksIsSaidInPlaceOfTheWaysUntilItIsAskedAgain(t *testing.T) {
	b := showing(t, late(), "soon")
	b.way(t, "Copy link")
	if len(b.Notices) != 1 || b.Notices[0] != message.NoLinks().String() || shows(b, "Copy link") {
		t.Errorf("said %q", b.Notices)
	}
	if len(b.Copied) != 0 {
		t.Errorf("copied %q", b.Copied)
	}
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) { o.Lacks = nil }) // later, or at another service
	b.show("soon")
	if !shows(b, "Copy link") {
		t.Error("nobody can ask for a link again")
	}
}

// Who corrects what was declined withdraws it: both are said, as in the list.
func TestTheHeadOfAWithdrawnPackageSaysThatItWasDeclined(t *testing.T) {
	o := declined()
	o.Rows[2].State = office.PackageRescinded
	b := showing(t, o, "p1")
	if text := screentest.Text(b.screen.detail); !strings.Contains(text, "Withdrawn · Ana Ruiz declined to sign.") {
		t.Errorf("it says %q", text)
	}
}

func TestDeclinedAndExpiredPackagesAreToldToTheTray(t *testing.T) {
	o := late()
	o.Rows[0].State = office.PackageExpired
	o.Rows[1].Signers = []office.Signer{{ID: "s", FirstName: "Ana", LastName: "Ruiz", Declined: office.When{Time: officetest.Now}, DeclineReason: "The rent is wrong."}}
	b := newBench(t, o)
	if got := b.screen.Stuck(); got.Count != 2 || got.First.ID != "past" {
		t.Errorf("%+v", got)
	}
	if got := textOf(officetest.Now, office.DueDays, b.screen.all.listed(1)); got != "Ana Ruiz declined to sign. Reason: The rent is wrong." {
		t.Errorf("%q", got)
	}
	b.screen.ShowStuck()
	screentest.Equal(t, "listed", b.screen.Listed(), []string{"past", "soon"})
}

func TestTheAgesOfTheRowsGoOn(t *testing.T) {
	b := newBench(t, many(3))
	b.Env.Now = func() time.Time { return officetest.Now.Add(2 * time.Minute) }
	if b.Pass(); !strings.Contains(screentest.Text(b.screen.list), "2 min") {
		t.Errorf("two minutes later the list shows\n%s", screentest.Text(b.screen.list))
	}
}

func TestWhatIsDueIsJudgedAnewAtMidnight(t *testing.T) {
	for how, midnight := range map[string]func(*bench){
		"awake":              func(b *bench) { b.Pass() },
		"slept, told later":  func(b *bench) { b.screen.ShowStatus(agent.Status{Checking: true}); b.Settle() },
		"slept, then a news": func(b *bench) { b.Reload() },
	} {
		b := newBench(t, late())
		b.Office.Rows[2].Due = officetest.Now.AddDate(0, 0, office.DueDays+1)
		b.Reload()
		now := officetest.Now
		b.Env.Now = func() time.Time { return now }
		midnight(b)
		if got := b.screen.counts[tabDue]; got != 2 {
			t.Errorf("%s: on the same day %d are due", how, got)
		}
		now = time.Date(2026, 11, 22, 0, 0, 1, 0, now.Location())
		midnight(b)
		if got := b.screen.counts[tabDue]; got != 3 {
			t.Errorf("%s: a second after midnight %d are due", how, got)
		}
	}
}

func TestNobodyWaitsForTheDocumentsOfWhatIsOver(t *testing.T) {
	for state, want := range map[office.PackageState]theme.Mark{office.PackageOpen: theme.MarkNext, office.PackageRescinded: theme.MarkEnded,
		office.PackageExpired: theme.MarkEnded, "declined": theme.MarkEnded} {
		p := record{known: true, row: office.PackageRow{Package: office.Package{State: state, Documents: []office.Document{{ID: "d", Name: "Lease"}, {ID: "e", Executed: true}}}}}
		if files := p.files(); files[0].mark != want || files[1].mark != theme.MarkSigned {
			t.Errorf("%s: %v and %v", state, files[0].mark, files[1].mark)
		}
	}
}

func TestTwoOfOneNameSayWhenTheyWereMade(t *testing.T) {
	o := officetest.Busy()
	for i := range o.Rows {
		o.Rows[i].Name, o.Rows[i].Reference = "Lease", map[bool]string{true: "A", false: "B"}[i < 2]
	}
	b := newBench(t, o)
	b.turn(tabAll)
	for row := range b.screen.rows() {
		screentest.Equal(t, "is a twin: "+b.screen.at(row).line.ID, b.screen.twin(row), true)
	}
	o.Rows[0].Reference = "C"
	b.screen.Reload()
	b.Settle()
	alone := b.screen.rowOf(o.Rows[0].ID)
	screentest.Equal(t, "its reference is its own", b.screen.twin(alone), false)
	row := newItem()
	row.show(officetest.Now, 0, b.screen.at(alone), newestFirst, true)
	screentest.Equal(t, "says", row.reference.Text, i18n.Clock(officetest.Now, o.Rows[0].Created))
}

// narrow is how wide a row is in the smallest window.
const narrow = 300

func TestARowWithADueDateSaysForWhomItWaits(t *testing.T) {
	for _, language := range []string{"en", "de", "fr", "es"} {
		screentest.Speak(t, language)
		b := newBench(t, officetest.Busy())
		row := newItem()
		lease := b.screen.all.listed(b.screen.all.places["p1"])
		for _, late := range []bool{false, true} {
			if late {
				lease.line.Due = officetest.Now.AddDate(0, 0, -1)
			}
			row.show(officetest.Now, office.DueDays, lease, newestFirst, false)
			b.Show(row, fyne.NewSize(narrow, 60))
			row.Resize(fyne.NewSize(narrow, row.MinSize().Height))
			shown := func(o fyne.CanvasObject) string {
				return test.WidgetRenderer(o.(fyne.Widget)).Objects()[0].(*canvas.Text).Text
			}
			if text := shown(row.line); !strings.Contains(text, "Ana Ruiz") || strings.Contains(text, "…") {
				t.Errorf("in %s it says %q", language, text)
			}
			if shown(row.name) != "Lease Sonnenweg 4" || !row.due.Visible() || shown(row.when) != i18n.Date(officetest.Now, lease.line.Due) {
				t.Errorf("in %s it says %q, due %q", language, shown(row.name), shown(row.when))
			}
		}
	}
}

// leases is an office with n packages of all kinds, which have people and documents.
func leases(n int) *officetest.Office {
	o := many(n)
	like := officetest.Busy().Rows[2]
	states := []office.PackageState{"open", "executed", "expired", "rescinded"}
	for i := range o.Rows {
		r := &o.Rows[i]
		r.Name, r.State = fmt.Sprintf("Lease Sonnenweg %d, second floor", i), states[i%4]
		r.Signers, r.Documents = like.Signers, like.Documents
	}
	return o
}

// BenchmarkKeyIn50000 types and deletes a word in the search of windows that show 50,000 packages, as fast as they take it: what
// a person waits for before the next letter, the first key after a window has opened included. The floor beside it, measured in
// turns, is to look for a word in each of the texts.
func BenchmarkKeyIn50000(b *testing.B) {
	const windows, words, word = 5, 20, "Lease 4"
	var floor, first, keys []time.Duration
	o := leases(50_000)
	for b.Loop() {
		for range windows {
			bench := newBench(b, o)
			search := bench.screen.search
			bench.Window.Canvas().Focus(search)
			runtime.GC() // a person is slower to type than the window to open
			key := func(press func()) time.Duration {
				floor = append(floor, timeOf(func() {
					for _, text := range bench.screen.all.texts.of() {
						sink = strings.Contains(text, "sonnenallee")
					}
				}))
				took := timeOf(func() { press(); bench.Run() })
				keys = append(keys, took)
				return took
			}
			for n := range words {
				for i, letter := range word {
					if took := key(func() { search.TypedRune(letter) }); n+i == 0 {
						first = append(first, took)
					}
				}
				for range word {
					key(func() { search.TypedKey(&fyne.KeyEvent{Name: fyne.KeyBackspace}) })
				}
			}
			bench.Settle()
		}
	}
	share := func(of []time.Duration, hundredths int) float64 {
		slices.Sort(of)
		return float64(of[(len(of)-1)*hundredths/100]) / float64(time.Millisecond)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(share(floor, 50), "ms-floor")
	b.ReportMetric(share(keys, 50), "ms/key")
	b.ReportMetric(share(first, 100), "ms/slowest-first-key")
	b.ReportMetric(share(keys, 99), "ms/99th-of-100-keys")
	b.ReportMetric(share(keys, 100), "ms/slowest-key")
}

func timeOf(work func()) time.Duration {
	began := time.Now()
	work()
	return time.Since(began)
}

// sink keeps the compiler from leaving out what nobody asks for.
var sink bool

// Listed are the ids of what tab and search leave, in their order.
func (s *Screen) Listed() (ids []string) {
	for i := range s.rows() {
		ids = append(ids, s.at(i).line.ID)
	}
	return ids
}

func TestTheSignersOfManyDocumentsAreInSightAndEachDocumentHasItsPageOnceItIsAskedFor(t *testing.T) {
	o := officetest.Busy()
	row := &o.Rows[2]
	row.Documents, row.DraftID = nil, "many"
	draft := office.Draft{ID: "many", State: office.DraftSent}
	o.Pictures = map[string]image.Image{}
	for i := range 40 {
		name := fmt.Sprintf("Annex %d.pdf", i)
		o.Pictures[name] = officetest.Page()
		row.Documents = append(row.Documents, office.Document{ID: fmt.Sprint("x", i), Name: name, ExternalID: fmt.Sprint("e", i)})
		draft.Files = append(draft.Files, office.DraftFile{Name: name, Path: "/home/office/" + name, ExternalID: fmt.Sprint("e", i)})
	}
	waiting := draft
	waiting.ID, waiting.State = "waiting", office.DraftQueued
	o.Origins, o.Waiting = map[string]office.Draft{row.ID: draft}, []office.Draft{waiting}
	for _, id := range []string{row.ID, outbox.RowID("waiting")} {
		b := showing(t, o, id)
		b.Settle()
		if !shows(b, "Annex 0.pdf") || shows(b, "Annex 39.pdf") || !shows(b, "jan.weber@example.com") && id == row.ID {
			t.Errorf("%s is not folded: %s", id, screentest.Text(b.screen.sheet))
		}
		page := func(i int) image.Image {
			return b.screen.pictures[pictureOf(map[bool]office.Draft{true: draft, false: waiting}[id == row.ID], i)]
		}
		if page(firstPages-1) == nil || page(firstPages) != nil {
			t.Errorf("%s: not the pages shown are drawn", id)
		}
		for _, link := range screentest.All[*widgets.Tappable](b.screen.sheet) {
			if widgets.Words(link.Content) == fmt.Sprintf("Show %d more documents", 40-firstPages) {
				link.Tapped(nil)
			}
		}
		b.Settle()
		if !shows(b, "Annex 39.pdf") || shows(b, "No preview") {
			t.Errorf("%s is folded: %s", id, screentest.Text(b.screen.sheet))
		}
		for i := range 40 {
			if page(i) == nil || page(i).Bounds().Empty() {
				t.Errorf("%s: document %d has no page", id, i)
			}
		}
	}
}

// Of a page with two hundred people all are laid out anew with each change.
func TestManySignersAreListedOnRequest(t *testing.T) {
	o := officetest.Busy()
	row := &o.Rows[2]
	for i := range 200 {
		row.Signers = append(slices.Clip(row.Signers), office.Signer{FirstName: fmt.Sprint("Person ", i)})
	}
	b := showing(t, o, "p1")
	if last := fmt.Sprint("Person ", mostSigners-len(officetest.Busy().Rows[2].Signers)-1); !shows(b, last) || shows(b, "Person 199") {
		t.Error("not the first of them are shown")
	}
	for _, link := range screentest.All[*widgets.Tappable](b.screen.sheet) {
		if widgets.Words(link.Content) == fmt.Sprintf("Show %d more signers", len(row.Signers)-mostSigners) {
			link.OnPress()
			break
		}
	}
	if !shows(b, "Person 199") {
		t.Error("not all of them are shown")
	}
}

// In a narrow window the package takes the place of the list.
func TestInANarrowWindowAPackageTakesTheListsPlace(t *testing.T) {
	b := newBench(t, officetest.Busy())
	s := b.screen
	b.Window.Resize(fyne.NewSize(440, 400))
	sees := func(list, page bool) {
		t.Helper()
		if s.side.Size().Width == 0 || s.pair.Content.Objects[0].Visible() != list || s.pair.Content.Objects[2].Visible() != page {
			t.Errorf("the list is seen: %v, the package: %v", s.pair.Content.Objects[0].Visible(), s.pair.Content.Objects[2].Visible())
		}
	}
	sees(true, false)
	b.press("p1", 0) // as the arrows do
	sees(true, false)
	s.list.OnEnter()
	b.Settle()
	sees(false, true)
	screentest.Equal(t, "Enter opened", b.System.Opened, nil)
	s.Leave()
	sees(true, false)
	b.show("p2")
	sees(false, true)
	for _, o := range screentest.All[*widgets.Tappable](s.pair.Content.Objects[3]) {
		o.Tapped(&fyne.PointEvent{})
	}
	sees(true, false)
	b.press("p1", 0)
	b.press("p2", shift)
	s.list.OnPress()
	sees(true, false) // more may be marked
	b.Window.Resize(large)
	sees(true, true)
}

func TestAPackageThatIsListedLateTurnsNoTabOfWhoHasGoneOn(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.show("late")
	b.turn(tabDone)
	b.screen.list.Select(0)
	b.Settle()
	chosen := b.screen.chosen
	b.Office.Change(office.PackagesChanged, func(o *officetest.Office) {
		o.Rows = append([]office.PackageRow{{Package: office.Package{ID: "late", Name: "Late", State: "open", Created: officetest.Now}}}, o.Rows...)
	})
	b.Reload()
	if b.screen.tabs.Chosen() != tabDone || b.screen.chosen != chosen {
		t.Errorf("tab %d, chosen %s instead of %s", b.screen.tabs.Chosen(), b.screen.chosen, chosen)
	}
}
