package packages

import (
	"context"
	"fmt"
	"image"
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
	"countersign/ui/env"
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
	b := newBench(t, officetest.Busy())
	b.screen.Show("p1")
	b.Settle()
	b.Office.Change(office.PackagesChanged, func(o *officetest.Office) { o.Rows[2].State = "executed" })
	b.Reload()
	if b.screen.chosen != "p1" || b.screen.record.row.State != "executed" || b.screen.list.At() != -1 {
		t.Errorf("chosen %s, row %d", b.screen.chosen, b.screen.list.At())
	}
	b.screen.tabs.Choose(tabDone)
	b.Settle()
	if b.screen.list.At() < 0 {
		t.Error("in its new tab it is the chosen row")
	}
}

func TestAPackageCanBeShownBeforeItIsListed(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.search.SetText("offer")
	b.screen.Show("late")
	b.Settle()
	late := office.PackageRow{Package: office.Package{ID: "late", Name: "Late", State: "executed"}}
	b.Office.Change(office.PackagesChanged, func(o *officetest.Office) { o.Rows = append([]office.PackageRow{late}, o.Rows...) })
	b.Reload()
	if b.screen.record.row.ID != "late" || b.screen.tabs.Chosen() != tabAll || b.screen.list.At() != 0 {
		t.Errorf("shown %q in tab %d, row %d", b.screen.record.row.ID, b.screen.tabs.Chosen(), b.screen.list.At())
	}
}

func TestHoldingAnArrowKeyReadsOnlyWhereItEnds(t *testing.T) {
	b := newBench(t, many(200))
	counted := &counting{Office: b.Office}
	b.screen.env.Office = counted
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
	env.Office
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
		s.env.Office = counted
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
	small, large := workOf(500), workOf(50_000) // each finds more than fits into the window
	if large != small || large.listed > 0 || large.read > 2 || large.drawn == 0 {
		t.Errorf("a large o costs %+v, a small one %+v", large, small)
	}
}

func TestSendAgainTakesEverythingButTheDueDate(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.Show("p1")
	b.Settle()
	press(t, b.screen.actionsOf(b.screen.record), "Use for a new package")
	b.Settle()
	if len(b.Like) != 1 || len(b.Like[0].Files) != 1 || len(b.Like[0].Signers) != 3 || !b.Like[0].Sequential || !b.Like[0].Due.IsZero() {
		t.Errorf("began %+v", b.Like)
	}
}

// press presses the button of a text.
func press(t *testing.T, objects []fyne.CanvasObject, text string) {
	t.Helper()
	for _, o := range objects {
		if button, ok := o.(*widgets.Button); ok && button.Text == text {
			button.OnTapped()
			return
		}
	}
	t.Fatalf("there is no button %q", text)
}

func TestADraftIsOpenedInTheServicesEditor(t *testing.T) {
	o := officetest.Busy()
	o.Rows[0].State = "draft"
	b := newBench(t, o)
	b.screen.Show("p2")
	b.Settle()
	press(t, b.screen.actionsOf(b.screen.record), "Finish in the browser…")
	b.Settle()
	if len(b.System.Opened) != 0 || len(b.Notices) != 1 || b.Notices[0] != message.ServiceKnowsNot().String() {
		t.Errorf("opened %v, said %q", b.System.Opened, b.Notices)
	}
	o.Pages = map[string]string{"p2": "https://sign.example.com/edit/p2"}
	press(t, b.screen.actionsOf(b.screen.record), "Finish in the browser…")
	b.Settle()
	if len(b.System.Opened) != 1 || b.System.Opened[0] != "address https://sign.example.com/edit/p2" {
		t.Errorf("opened %v", b.System.Opened)
	}
}

func TestFilesThatAreGoneAreSaidAndSavedAgain(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.System.Lost = map[string]bool{b.Office.Rows[1].Files[0].Path: true}
	b.screen.Show("p3")
	b.Settle()
	if len(b.screen.record.missing) != 1 || len(b.screen.record.pages()) != 1 {
		t.Errorf("missing %v, pages of %v", b.screen.record.missing, b.screen.record.pages())
	}
	press(t, b.screen.actionsOf(b.screen.record), "Save again")
	b.Settle()
	if len(b.Office.SavedAgain) != 1 || b.Office.SavedAgain[0] != "p3" || len(b.Notices) != 1 {
		t.Errorf("saved %v again, said %q", b.Office.SavedAgain, b.Notices)
	}
}

// slow is an office whose pictures take until they are let go.
type slow struct {
	env.Office
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
	b.screen.env.Office = o
	b.screen.Show("p3")
	b.Until(func() bool { return b.screen.record.row.ID == "p3" && b.screen.record.known })
	<-o.asked
	b.screen.Show("p5") // has no files; the pictures of p3 are given up
	b.Settle()
	if b.screen.record.row.ID != "p5" || len(b.screen.pictures) != 0 {
		t.Errorf("shows %s, keeps %v", b.screen.record.row.ID, b.screen.pictures)
	}
	o.let <- officetest.Page()
	o.let <- officetest.Page()
	b.screen.Show("p3")
	b.Settle()
	if len(b.screen.pictures) != 2 {
		t.Error("the second time the pictures come")
	}
}

func TestEveryRowSaysWhereItsPackageStands(t *testing.T) {
	rows := map[string]listed{}
	x := newIndex(officetest.Must(officetest.World().LinesSince(0)).Lines)
	for id, place := range x.places {
		rows[id] = x.listed(place)
	}
	for id, want := range map[string]string{
		"p2": "waiting for Thomas Keller and Irena Novák",
		"w2": "7 of 12 signed · waiting for Thomas Keller and Irena Novák",
		"w3": "waiting · created elsewhere",
		"p5": "withdrawn",
	} {
		if got := textOf(officetest.Now, office.DueDays, rows[id]); got != want {
			t.Errorf("%s says %q, want %q", id, got, want)
		}
	}
	if got := fmt.Sprint(marksOf(rows["p1"])); got != fmt.Sprint([]theme.Mark{theme.MarkSigned, theme.MarkNext, theme.MarkLater}) {
		t.Errorf("the lease has the shapes %s", got)
	}
	if got := len(marksOf(rows["w2"])); got != 1 {
		t.Errorf("twelve signers have %d shapes", got)
	}
}

// widest is how wide the chosen package must be, and how wide it is shown.
func (b *bench) widest() (least, shown float32) {
	scroll := b.screen.detail.Objects[0].(*container.Scroll)
	return scroll.Content.MinSize().Width, scroll.Size().Width
}

func TestNothingRunsOverTheEdgeInAnyLanguage(t *testing.T) {
	t.Cleanup(func() { i18n.Use("en") })
	for _, language := range i18n.Languages() {
		i18n.Use(language)
		for name, o := range map[string]*officetest.Office{"busy": signable(officetest.Busy()), "wrong": officetest.Wrong(), "world": officetest.World()} {
			b := newBench(t, o)
			b.Window.Resize(little)
			if least := b.screen.Content().MinSize(); least.Width > little.Width {
				t.Errorf("%s, %s: the screen is at least %v wide", language, name, least.Width)
			}
			for _, row := range o.Rows {
				b.screen.Show(row.ID)
				b.Settle()
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
	b.screen.env.Office = o
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
	b := newBench(t, officetest.Busy())
	b.screen.Show("p3")
	b.Settle()
	p := b.screen.record
	first := b.screen.actionsOf(p)[0].(*widgets.Button)
	if first.Text != "Open signed document" || first.Importance != widget.HighImportance {
		t.Fatalf("the first button is %q", first.Text)
	}
	first.OnTapped()
	if leaves := p.files(); len(leaves) != 2 || len(b.System.Opened) != 1 || !strings.HasSuffix(b.System.Opened[0], leaves[0].name) || leaves[0].name != "Mandate Keller - Letter of mandate.pdf" {
		t.Errorf("opened %v of %+v", b.System.Opened, leaves)
	}
	for id, want := range map[string]string{"p1": "Lease Sonnenweg 4: 1 of 3 signed|House rules: 1 of 3 signed",
		"p4": "Mandate Keller - Letter of mandate.pdf: Signed document · saved in Signed|Mandate Keller - certificate.pdf: Certificate · waiting to be saved"} {
		b.screen.Show(id)
		b.Settle()
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
	b.screen.ShowHealth(b.Office.State.Health)
	b.screen.tabs.Choose(tabProblems)
	b.Settle()
	if got := strings.Join(b.screen.Listed(), ", "); got != "issue signin, issue tunnel, draft x, draft y, p3, p2" && got != "issue signin, issue tunnel, draft y, draft x, p3, p2" {
		t.Errorf("under Problems: %s", got)
	}
	b.screen.ShowProblem("signin")
	b.Settle()
	pressIn(t, b, "Sign in")
	if got := strings.Join(b.Went, ", "); got != "act signin" {
		t.Errorf("went %s", got)
	}
	b.screen.Show("draft y")
	b.Settle()
	pressIn(t, b, "Edit")
	if got := b.Went[len(b.Went)-1]; got != "edit y" {
		t.Errorf("went %s", got)
	}
	pressIn(t, b, "Discard")
	b.Settle()
	b.Reload()
	if len(officetest.Must(b.Office.Drafts())) != 1 || b.screen.chosen == "draft y" {
		t.Errorf("left are %v, chosen is %s", officetest.Must(b.Office.Drafts()), b.screen.chosen)
	}
	b.Office.Rows, b.Office.Waiting = nil, nil
	b.screen.ShowHealth(nil)
	b.Reload()
	if got := b.screen.rows(); got != 0 || !shows(b, "There are no problems.") {
		t.Errorf("%d rows are left", got)
	}
	b.screen.ShowHealth(officetest.Wrong().State.Health)
	b.Settle()
	if shows(b, "There are no problems.") || b.screen.rows() != 2 {
		t.Error("there are no problems, it says, under a strip")
	}
}

func TestADraftThatWasNotConfirmedIsOneProblem(t *testing.T) {
	b := newBench(t, officetest.Wrong())
	b.screen.ShowHealth([]agent.Issue{{ID: "outbox", Severity: agent.Warning, Message: message.OutcomeUnknown("Offer 2026-119"), Action: agent.ActReview}})
	b.screen.tabs.Choose(tabProblems)
	b.Settle()
	if got := strings.Join(b.screen.Listed(), ", "); strings.Contains(got, "issue") || !strings.Contains(got, "draft x") {
		t.Errorf("under Problems: %s", got)
	}
	b.screen.ShowProblem("outbox")
	b.Settle()
	if b.screen.chosen != "draft x" {
		t.Errorf("chosen is %q", b.screen.chosen)
	}
}

// pressIn presses a button of what is shown on the right.
func pressIn(t *testing.T, b *bench, text string) {
	t.Helper()
	for _, o := range test.LaidOutObjects(b.screen.detail) {
		if button, ok := o.(*widgets.Button); ok && button.Text == text {
			button.OnTapped()
			return
		}
	}
	t.Fatalf("there is no button %q", text)
}

// shows says whether a text is in sight.
func shows(b *bench, text string) bool {
	for _, o := range test.LaidOutObjects(b.screen.Content()) {
		if shown, ok := o.(*canvas.Text); ok && shown.Text == text {
			return true
		}
	}
	return false
}

func TestTheRightSideIsNeverEmpty(t *testing.T) {
	for name, o := range map[string]*officetest.Office{"nothing sent": officetest.Empty(), "busy": officetest.Busy()} {
		b := newBench(t, o)
		b.screen.search.SetText("nothing is called like this")
		b.Settle()
		if !shows(b, "Overview") || b.screen.rows() != 0 {
			t.Errorf("%s: the right side is empty", name)
		}
		pressIn(t, b, "New package")
		if len(b.Went) != 1 {
			t.Errorf("went %v", b.Went)
		}
	}
}

func TestAPackageCanBeArchivedAndBroughtBack(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.Show("p3")
	b.Settle()
	pressIn(t, b, "Archive")
	b.Settle()
	if got := strings.Join(b.screen.Listed(), ", "); got != "p2, p1, p4, p5" || b.screen.chosen != "p1" {
		t.Errorf("listed %s, chosen %s", got, b.screen.chosen)
	}
	b.screen.tabs.Choose(tabArchived)
	b.Settle()
	if got := strings.Join(b.screen.Listed(), ", "); got != "p3" {
		t.Errorf("the archive has %s", got)
	}
	pressIn(t, b, "Move back to the list")
	b.Settle()
	b.screen.tabs.Choose(tabAll)
	for _, item := range b.screen.menuOf(b.screen.at(b.screen.rowOf("p3"))).Items {
		if item.Label == "Archive" {
			item.Action()
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
	if b.Office.Asked != 1 {
		t.Fatalf("asked %d times", b.Office.Asked)
	}
	for want, last := range map[string]time.Time{"Check now": {}, "checked 13:02": officetest.Now.Add(-time.Hour)} {
		b.screen.ShowChecked(last, true)
		if !shows(b, "Checking…") {
			t.Error("that it is being asked cannot be seen")
		}
		if b.screen.ShowChecked(last, false); !shows(b, want) {
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

func TestDetailsNeverStandBesideTheRowOfAnotherPackage(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.Show("p1")
	b.Settle()
	for _, id := range []string{"p3", "not listed yet"} {
		b.screen.Show(id) // and nothing is read
		if b.screen.record.row.ID != id || b.screen.record.known {
			t.Errorf("%s is chosen beside the details of %s", id, b.screen.record.row.ID)
		}
		b.Settle()
	}
}

func TestCancellingCanBeUndone(t *testing.T) {
	o := officetest.Busy()
	o.Waiting = []office.Draft{{ID: "w", Name: "Offer 2026-120", State: office.DraftQueued, Created: officetest.Now}}
	b := newBench(t, o)
	b.screen.Show("draft w")
	b.Settle()
	pressIn(t, b, "Cancel sending")
	b.Settle()
	b.Reload()
	b.Settle()
	if left := officetest.Must(o.Drafts()); len(left) != 1 || left[0].State != office.DraftHeld {
		t.Fatalf("left are %+v", left)
	}
	if _, said := outbox.State(officetest.Must(o.Drafts())[0]); said != "Not sent: you cancelled it." {
		t.Errorf("it says %q", said)
	}
	pressIn(t, b, "Send")
	b.Settle()
	if left := officetest.Must(o.Drafts()); len(left) != 1 || left[0].State != office.DraftQueued {
		t.Errorf("sent after all: %+v", left)
	}
}

func TestWhatCannotBeReadIsNotShownAsNothing(t *testing.T) {
	o := many(3)
	o.Unread = message.Error(message.DataDamagedNow(), nil)
	b := newBench(t, o)
	if got := screentest.Text(b.screen.left); !strings.Contains(got, "data file is damaged") {
		t.Fatalf("the list says %q", got)
	}
	b.Office.Change(office.StatusChanged, func(o *officetest.Office) { o.Unread = nil })
	b.Reload()
	if len(b.screen.Listed()) != 3 || b.screen.left.Objects[0] != b.screen.list {
		t.Fatalf("%q are listed", b.screen.Listed())
	}
	b.Office.Change(office.StatusChanged, func(o *officetest.Office) { o.Unread = message.Error(message.RecordNotRead(), nil) })
	b.Reload()
	if len(b.screen.Listed()) != 3 {
		t.Error("what was read before is gone")
	}
	b.screen.Show("n2")
	b.Settle()
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
	b := newBench(t, o)
	b.screen.Show("draft w")
	b.Settle()
	text := screentest.Text(b.screen.Content())
	if !strings.Contains(text, "from the template") || !strings.Contains(text, "Our rules.pdf") || strings.Contains(text, "House rules") ||
		!strings.Contains(text, "waiting to be sent, 2 documents") {
		t.Errorf("it shows\n%s", text)
	}
	b.screen.search.SetText("lease agree")
	b.Settle()
	if got := strings.Join(b.screen.Listed(), ", "); !strings.Contains(got, "draft w") {
		t.Errorf("the search finds %s", got)
	}
}

func TestEnterOpensWhatIsSavedAndElseLeadsToWhatCanBeDone(t *testing.T) {
	b := newBench(t, officetest.Wrong())
	s := b.screen
	s.ShowHealth(officetest.Must(b.Office.Status()).Health)
	enter := func(id string) fyne.Focusable {
		s.Show(id)
		b.Settle()
		s.FocusList()
		s.list.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
		return b.Window.Canvas().Focused()
	}
	if enter("p3"); len(b.System.Opened) != 1 || !strings.HasPrefix(b.System.Opened[0], "file ") || b.Window.Canvas().Focused() != fyne.Focusable(s.list) {
		t.Errorf("opened %q", b.System.Opened)
	}
	if first, ok := enter("p1").(*widgets.Button); !ok || first.Text != "Withdraw…" || len(b.System.Opened) != 1 {
		t.Errorf("of a package that waits, the focus is on %T", b.Window.Canvas().Focused())
	}
	if first, ok := enter(s.issues[0].line.ID).(*widgets.Button); !ok || first.Text == "" {
		t.Errorf("of a problem, the focus is on %T", b.Window.Canvas().Focused())
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
