package compose

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

func TestAListBesideADocumentIsShownCellByCellAndSent(t *testing.T) {
	o := officetest.Busy()
	b := newBench(t, told(o))
	b.screen.Add([]string{"/x/Mieter.csv"})
	b.Settle()
	if s := b.screen; s.lists.panel != nil || len(s.docs) != 0 || len(b.Notices) != 1 || s.form().List.Path != "/x/Mieter.csv" {
		t.Fatalf("a list without a document: %q", b.Notices)
	}
	b = listed(t, o)
	p := b.screen.lists.panel
	cell := func(row, column int) string {
		c := p.newCell().(*listCell)
		p.cell(widget.TableCellID{Row: row, Col: column}, c)
		return c.line.Text + "|" + c.More
	}
	const noAddress = "The e-mail address is missing or incomplete: “Ana Ruiz”."
	for at, want := range map[[2]int]string{
		{0, 0}: "2|", {0, 1}: "Ready|", {1, 1}: noAddress + "|" + noAddress, {1, 3}: "ana@|" + noAddress, {2, 1}: "Already sent|",
		{4, 5}: "#BEZUG!|The spreadsheet shows an error here: “#BEZUG!”.", {5, 4}: "31.12.2026|",
	} {
		if got := cell(at[0], at[1]); got != want {
			t.Errorf("cell %v: %q, want %q", at, got, want)
		}
	}
	if p.title.Text != "Lease Sonnenweg 4" || p.bar.send.Text != "Send 3 packages" || !strings.HasPrefix(p.bar.text.Text, "2 lines contain errors") {
		t.Errorf("%q, %q, %q", p.title.Text, p.bar.send.Text, p.bar.text.Text)
	}
	p.again.SetChecked(true)
	if got := cell(2, 1); p.bar.send.Text != "Send 5 packages" || got != "Will be sent again|" {
		t.Errorf("with those that were sent before: %q, %q", p.bar.send.Text, got)
	}
	p.tabs.Choose(1)
	if !slices.Equal(p.rows, []int{1, 4}) {
		t.Errorf("lines with mistakes: %v", p.rows)
	}
	p.table.Select(widget.TableCellID{Col: 3})
	if p.bar.text.Text != "2 lines contain errors and will not be sent. Correct the file and add it again.\n"+noAddress {
		t.Errorf("of the chosen cell it says %q", p.bar.text.Text)
	}
	b.screen.Leave()
	if s := b.screen; s.lists.panel != nil || !s.lists.row.Visible() || s.Leave() {
		t.Error("a list that was left is not in the form")
	}
	b.screen.Send() // shows it again
	b.Settle()
	b.screen.Send() // Ctrl+Enter
	b.Settle()
	if p = b.screen.lists.panel; p.note.Text != "Mieter Sonnenweg.csv · 1 of 7 packages sent · 3 not sent" || len(b.screen.docs) != 0 || p.bar.send.Visible() {
		t.Errorf("while it is sent: %q", p.note.Text)
	}
	b.Tap(p.stop)
	b.Settle()
	if o.Bulk[0].State != office.BulkStopped || p.bar.send.Text != "Send 1 package" || p.stop.Visible() || !strings.HasSuffix(p.note.Text, "stopped") {
		t.Errorf("stopped: %+v, %q, %q", o.Bulk[0], p.bar.send.Text, p.note.Text)
	}
	b.Tap(p.bar.send)
	b.Settle()
	if o.Bulk[0].State != office.BulkRunning || p.bar.send.Visible() {
		t.Errorf("resumed: %+v", o.Bulk[0])
	}
	b.screen.Drop([]string{"/x/Next.csv"}, fyne.NewPos(100, 100))
	b.Settle()
	b.screen.Reload()
	b.Settle()
	if b.screen.lists.panel != nil || b.screen.lists.button.Hidden {
		t.Error("the list cannot be found again")
	}
}

func TestLinesThatWaitInAnotherListAreSaidToWait(t *testing.T) {
	b := listed(t, officetest.Busy())
	p := b.screen.lists.panel
	for i := range p.list.Lines {
		p.list.Lines[i].Wrong, p.list.Lines[i].Before = nil, office.BeforeWaiting
	}
	p.list.Lines[0].Before = office.BeforeSame
	p.refresh()
	if p.bar.text.Text != "All lines are waiting in another list or have already been sent." || p.again.Text != "Resend the 1 line already sent" {
		t.Errorf("it says %q, and offers %q", p.bar.text.Text, p.again.Text)
	}
	p.again.SetChecked(true)
	if says, _, _ := p.stand(1); p.bar.send.Text != "Send 1 package" || says != "In another list" {
		t.Errorf("ticked, it offers %q, and says of a line that waits %q", p.bar.send.Text, says)
	}
	p.list.Lines[0].Before = office.BeforeWaiting
	p.again.SetChecked(false)
	if p.refresh(); p.again.Visible() {
		t.Errorf("where every line waits, it offers %q", p.again.Text)
	}
}

// What is added while a list covers the form would not be sent, and go with the rest.
func TestWhatIsAddedIsSeenInThePlaceOfAList(t *testing.T) {
	for name, add := range map[string]func(*bench){
		"a document": func(b *bench) { b.screen.Add([]string{"/x/More.pdf"}) },
		"a package":  func(b *bench) { b.screen.begin(office.Form{Name: "Other"}) },
	} {
		b := listed(t, officetest.Busy())
		add(b)
		b.Settle()
		if b.screen.lists.panel != nil {
			t.Errorf("%s is hidden", name)
		}
	}
}

// What was typed for a list that is undone is there again, with the list and the picture of its document, wherever the list was
// opened.
func TestALineThatWasSentLeadsToItsPackage(t *testing.T) {
	b := sending(t, officetest.Busy())
	for row := range 2 { // the second one was not sent
		for _, column := range []int{ownColumns - 1, ownColumns} {
			b.screen.lists.panel.table.Select(widget.TableCellID{Row: row, Col: column})
		}
	}
	screentest.Equal(t, "it leads to", b.Went, []string{"package sent-1", "package sent-1"})
	b.screen.Enter()
	if b.screen.lists.panel != nil {
		t.Error("it covers the form for the next package")
	}
}

// Somebody may send again what was refused, elsewhere, while the page is open or hidden.
func TestThePageOfAListFollowsWhatBecomesOfItsLines(t *testing.T) {
	o := officetest.Busy()
	b := sending(t, o)
	p := b.screen.lists.panel
	turn := func(line int, state office.DraftState) {
		o.Change(office.OutboxChanged, func(o *officetest.Office) {
			o.Bulk[0].State, o.Bulk[0].Open = office.BulkDone, 0
			for i := range o.Results {
				if o.Results[i].State == "" || i == line {
					o.Results[i].State = state
				}
			}
		})
		b.screen.Reload()
		b.Settle()
	}
	turn(-1, office.DraftFailed)
	p.reader.Ask()
	b.Settle()
	p.soon = false // the last look at a list that was running
	turn(1, office.DraftSent)
	if says, _, _ := p.stand(1); says != "Sent" {
		t.Errorf("a line that was sent meanwhile says %q", says)
	}
}

func TestAListSaysThatItWaitsForASignIn(t *testing.T) {
	o := officetest.Busy()
	b := sending(t, o)
	p := b.screen.lists.panel
	o.Change(office.OutboxChanged, func(o *officetest.Office) { o.Bulk[0].Open, o.Results[0].State = 1, office.DraftQueued })
	p.follow(p.id)
	b.Settle()
	b.screen.ShowStatus(agent.Status{Health: []agent.Issue{{ID: agent.IssueSignIn, Message: message.NotSignedIn()}}})
	if text := p.bar.text.Text; !strings.HasPrefix(text, "You are not signed in.") || !p.bar.content.Visible() {
		t.Errorf("signed out, it says %q", text)
	}
	if says, _, _ := p.stand(0); says != "Waiting" {
		t.Errorf("of a line that waits for that it says %q", says)
	}
	b.screen.ShowStatus(agent.Status{})
	screentest.Equal(t, "signed in, it says", p.bar.text.Text, "")
}

func TestAListThatWasCorrectedIsReadAgainWhenTheScreenIsOpened(t *testing.T) {
	o := officetest.Busy()
	b := listed(t, o)
	shown := b.screen.lists.panel
	b.screen.Enter()
	b.Settle()
	if b.screen.lists.panel != shown {
		t.Error("a list that is what it was is shown anew")
	}
	o.Table = slices.Clone(people)
	o.Table = o.Table[:2]
	b.screen.Enter()
	b.Settle()
	if p := b.screen.lists.panel; p == nil || p.lines() != 1 {
		t.Errorf("it shows %+v", p)
	}
}

// What is shown is what is sent: while the file is read again, the page shows what the file may no longer hold.
func TestAListIsNotSentWhileItsFileIsReadAgain(t *testing.T) {
	o := officetest.Busy()
	b := listed(t, o)
	slow := &copying{b.Office, make(chan struct{})}
	b.screen.office = slow
	o.Table = slices.Clone(people)[:2]
	b.screen.Enter()
	b.screen.Enter()
	b.screen.Send() // Ctrl+Enter
	if p := b.screen.lists.panel; !p.bar.send.Disabled() || p.bar.text.Text != "Loading…" || b.screen.Busy() {
		t.Fatalf("the list as it was can be sent, and it says %q", p.bar.text.Text)
	}
	close(slow.let)
	b.Settle()
	if p := b.screen.lists.panel; p.lines() != 1 || p.bar.send.Disabled() || len(o.Bulk) > 0 {
		t.Errorf("read again, it shows %d lines, can be sent: %v", p.lines(), !p.bar.send.Disabled())
	}
	b.screen.Enter() // nobody has changed it
	b.Settle()
	if b.screen.lists.panel.bar.send.Disabled() {
		t.Error("read again and the same, it cannot be sent")
	}
	o.Unread = errors.New("it is gone")
	b.screen.Enter()
	b.Settle()
	if b.screen.lists.panel.bar.send.Disabled() {
		t.Error("not read again, what is shown cannot be sent")
	}
}

func TestWhoLeavesAListThatIsBeingReadStaysThere(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(*bench)
		shown string // id of the list
	}{
		"for the form": {func(b *bench) { b.screen.Leave() }, ""},
		"for another one": {func(b *bench) {
			b.screen.ShowList("list-1", "", nil)
			b.Until(func() bool { return b.screen.lists.panel.id != "" })
		}, "list-1"},
	} {
		b := listed(t, officetest.Busy())
		b.Office.Bulk = []office.BulkProgress{{Bulk: office.Bulk{ID: "list-1", State: office.BulkDone}}}
		slow := &copying{b.Office, make(chan struct{})}
		b.screen.office = slow
		b.screen.Enter()
		c.leave(b)
		close(slow.let)
		b.Settle()
		shown := b.screen.lists.panel
		if (shown == nil) != (c.shown == "") || shown != nil && shown.id != c.shown || b.screen.lists.draft.Path == "" {
			t.Errorf("%s: the list covers what the person went to", name)
		}
	}
}

// Its package is that of the form alone.
func TestAListThatIsAddedWhileTheFormIsSentIsForTheNextForm(t *testing.T) {
	b, read := readingSlowly(t)
	b.screen.people[0].fill(office.Signer{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"})
	b.screen.openList(office.FormFile{Path: "/x/People.csv"})
	b.screen.handing = &handing{passed: true, parcels: []*parcel{{}}}
	read()
	if b.screen.lists.panel != nil || b.screen.lists.draft.Path != "" {
		t.Error("the list is that of the form that is being sent")
	}
	b.screen.free()()
	b.Settle()
	screentest.Equal(t, "the list of the next form", b.screen.lists.draft.Path, "/x/People.csv")
}

func TestTheHeadsOfAListAreWhole(t *testing.T) {
	for _, code := range []string{"en", "de", "fr", "es"} {
		screentest.Speak(t, code)
		p := listed(t, officetest.Busy()).screen.lists.panel
		head := p.table.CreateHeader()
		p.table.UpdateHeader(widget.TableCellID{Row: -1, Col: 0}, head)
		line := head.(*fyne.Container).Objects[0].(*widgets.Line)
		line.Shorten = false
		if needs := head.MinSize().Width; needs > p.width(-ownColumns) {
			t.Errorf("%s: %q needs %v of %v", code, line.Text, needs, p.width(-ownColumns))
		}
	}
}

func TestTheBarSaysThatAListIsBeingSent(t *testing.T) {
	b := listed(t, officetest.Busy())
	p := b.screen.lists.panel
	p.send()
	screentest.Equal(t, "the bar says", p.bar.text.Text, "Sending…")
	b.Settle()
	screentest.Equal(t, "can be undone since", b.Deeds[0].Since, time.Time{})
}

func TestAListThatIsUndoneIsTheDraftThatItWas(t *testing.T) {
	for _, fromMenu := range []bool{false, true} {
		o := officetest.Busy()
		b := sending(t, o)
		if fromMenu {
			b.screen.Leave()
			b.screen.ShowList("list-1", "", nil)
			b.Settle()
		}
		b.screen.Reload()
		b.Settle()
		page := b.screen.lists.panel.page.Objects
		o.Pictures = nil // until it is drawn anew
		o.Change(office.OutboxChanged, func(o *officetest.Office) { o.Bulk[0].Undone = true })
		b.screen.lists.panel.halt()
		b.Settle()
		p := b.screen.lists.panel
		if p == nil || p.id != "" || !slices.Equal(b.names(), []string{"Lease Sonnenweg 4.pdf"}) || b.screen.message.Text == "" {
			t.Fatalf("undone: %+v", b.screen.form())
		}
		if len(page) != 1 || len(p.page.Objects) != 1 || b.screen.docs[0].page == nil {
			t.Error("there is no picture of the document")
		}
		if b.screen.lists.button.Visible() {
			t.Error("it is among those that were sent")
		}
	}
}

// Its outcome is read every few seconds, and once more when it is stopped.
func TestAListThatIsUndoneIsInTheFormOnce(t *testing.T) {
	o := officetest.Busy()
	b := sending(t, o)
	p := b.screen.lists.panel
	o.Change(office.OutboxChanged, func(o *officetest.Office) { o.Bulk[0].Undone = true })
	p.follow(p.id)
	p.halt()
	b.Settle()
	if b.Window.Canvas().Overlays().Top() != nil || len(b.names()) != 1 {
		t.Errorf("the form has %q, and it asks whether to replace that", b.names())
	}
}

func TestAListSendsNoDocumentThatCannotBeSent(t *testing.T) {
	for name, says := range map[string]string{"Offer.pdf": "password", "Floor plans.pdf": "a while"} {
		b := newBench(t, told(officetest.Busy()))
		b.Office.Table = people
		slow := &reading{b.Office, make(chan struct{}), make(chan struct{})}
		b.screen.office = slow
		b.screen.Add([]string{"/x/" + name, "/x/People.csv"})
		b.Until(func() bool { return b.screen.lists.panel != nil })
		bar := b.screen.lists.panel.bar
		if !bar.send.Disabled() {
			t.Errorf("%s is sent before it is loaded", name)
		}
		close(slow.let)
		close(slow.draw)
		if b.Settle(); bar.send.Disabled() != (name == "Offer.pdf") || !strings.Contains(bar.text.Text, says) {
			t.Errorf("with %s it says %q, and can be sent: %v", name, bar.text.Text, !bar.send.Disabled())
		}
	}
}

// copying is an office that accepts a list when it is let.
type copying struct {
	Office
	let chan struct{}
}

func (c *copying) SendList(ctx context.Context, l office.BulkList, again bool, undo time.Duration) (string, error) {
	<-c.let
	return c.Office.SendList(ctx, l, again, undo)
}

func (c *copying) PrepareList(ctx context.Context, path string, common office.NewPackage, order string) (office.BulkList, error) {
	l, err := c.Office.PrepareList(ctx, path, common, order)
	<-c.let
	return l, err
}

func TestAListIsNotReadForADocumentThatCannotBeSent(t *testing.T) {
	b := newBench(t, told(officetest.Busy()))
	b.screen.Add([]string{"/x/Mieter.csv"})
	b.Settle()
	b.add("Offer.pdf")
	b.Notices = nil
	b.Tap(b.screen.bar.send)
	if fresh := b.screen.lists.panel == nil && len(b.Notices) == 1; !fresh || b.Notices[0] != "The marked documents cannot be sent." || b.focused() != fyne.Focusable(b.screen.sweep) {
		t.Errorf("said %q, the cursor is at %T", b.Notices, b.focused())
	}
}

// readingSlowly is a form with a document, whose office reads a list only once read is called.
func readingSlowly(t *testing.T) (b *bench, read func()) {
	b = newBench(t, told(officetest.Busy()))
	b.Office.Table = people
	b.add("Lease Sonnenweg 4.pdf")
	slow := &copying{b.Office, make(chan struct{})}
	b.screen.office = slow
	return b, func() { close(slow.let); b.Settle() }
}

func TestAListHasWhatWasTypedWhileItWasRead(t *testing.T) {
	b, read := readingSlowly(t)
	b.screen.openList(office.FormFile{Path: "/x/People.csv"})
	b.screen.message.SetText("hello")
	read()
	screentest.Equal(t, "the message", b.screen.lists.panel.list.Common.Message, "hello")
}

func TestAListThatIsRemovedWhileItIsReadStaysAway(t *testing.T) {
	b, read := readingSlowly(t)
	b.screen.setList(office.FormFile{Path: "/x/People.csv"})
	b.screen.Send()
	b.screen.setList(office.FormFile{})
	read()
	if b.screen.lists.draft.Path != "" || b.screen.lists.panel != nil {
		t.Errorf("the form is for %q", b.screen.lists.draft.Path)
	}
}

func TestAListIsSentOnceAndTakesNothingElseWithIt(t *testing.T) {
	b := listed(t, officetest.Busy())
	slow := &copying{b.Office, make(chan struct{})}
	b.screen.office = slow
	p := b.screen.lists.panel
	p.send()
	p.again.SetChecked(true)
	if !p.bar.send.Disabled() {
		t.Error("it can be sent twice")
	}
	b.screen.Leave()
	b.screen.Add([]string{"/x/Offer 2026.pdf"})
	b.Until(func() bool { return len(b.screen.docs) == 2 })
	if !b.screen.message.Disabled() {
		t.Error("the form of a list that is being sent can be changed")
	}
	close(slow.let)
	b.Settle()
	if !slices.Equal(b.names(), []string{"Offer 2026.pdf"}) || b.screen.message.Disabled() || b.screen.message.Text != "" {
		t.Errorf("the form has %q", b.names())
	}
}

func TestTheWayBackFromAListLeadsToWhereItWasOpened(t *testing.T) {
	b := sending(t, officetest.Busy())
	b.screen.Leave()
	left := 0
	open := func() { b.screen.ShowList("list-1", "Activity", func() { left++ }); b.Settle() }
	open()
	for _, link := range screentest.All[*widgets.Tappable](b.screen.Content()) {
		if screentest.Text(link) == "‹ Activity" {
			link.Tapped(nil)
		}
	}
	if open(); left != 1 || !b.screen.Leave() || left != 2 || b.screen.lists.panel != nil {
		t.Errorf("of the link and Escape %d lead back to it", left)
	}
	open()
	b.screen.Add([]string{"/x/Offer 2026.pdf"}) // which belongs to the form
	b.Settle()
	screentest.Equal(t, "for the form it is left", left, 2)
}

func TestAListThatSomebodyElseHasUndoneLeavesTheFormAlone(t *testing.T) {
	o := officetest.Busy()
	b := sending(t, o)
	b.screen.lists.sent = sentList{} // it was sent before the program was started again
	b.screen.Leave()
	b.add("Offer 2026.pdf")
	b.screen.ShowList("list-1", "", nil)
	b.Settle()
	o.Change(office.OutboxChanged, func(o *officetest.Office) { o.Bulk[0].Undone = true })
	b.screen.lists.panel.halt()
	b.Settle()
	if b.screen.lists.panel != nil || !slices.Equal(b.names(), []string{"Offer 2026.pdf"}) || len(b.Notices) != 1 {
		t.Errorf("the form has %q, it says %q", b.names(), b.Notices)
	}
}

func TestThePictureOfADocumentIsShownOnceItIsDrawn(t *testing.T) {
	b := newBench(t, told(officetest.Busy()))
	o := b.Office
	o.Table, o.Pictures = people, nil
	b.add("Lease Sonnenweg 4.pdf")
	b.screen.Add([]string{"/x/People.csv"})
	b.Settle()
	page := b.screen.lists.panel.page
	room := page.MinSize()
	told(o)
	b.screen.inspect(b.screen.docs)
	b.Settle()
	if len(screentest.All[*canvas.Image](page)) != 1 || page.MinSize() != room {
		t.Errorf("a list has no picture of what it sends, or it moves the rest: %v, before %v", page.MinSize(), room)
	}
	d := b.screen.docs[0]
	d.path, d.sight = "/x/of another drop/Lease Sonnenweg 4.pdf", nil
	b.screen.preview(t.Context(), d, "/x/Lease Sonnenweg 4.pdf")
	if b.Settle(); d.sight != nil {
		t.Error("a document that was added again is shown as it was before")
	}
}

// A workbook may be the document.
func TestAWorkbookIsAListOnlyIfSomebodySaysSo(t *testing.T) {
	b := newBench(t, told(officetest.Busy()))
	b.Office.Table = people
	b.add("Prices.xlsx")
	b.screen.Add([]string{"/x/People.xlsx"})
	b.Settle()
	if len(b.screen.docs) != 1 || b.Window.Canvas().Overlays().Top() == nil {
		t.Fatalf("it is not asked: %q", b.names())
	}
	b.Press(screentest.Top(b.Window), "Add as a document")
	b.Settle()
	if !slices.Equal(b.names(), []string{"Prices.xlsx", "People.xlsx"}) || b.screen.lists.panel != nil {
		t.Errorf("as a document: %q", b.names())
	}
}
