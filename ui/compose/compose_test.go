package compose

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/system"
)

var big, small = fyne.NewSize(905, 720), fyne.NewSize(665, 560) // what the window leaves beside the sidebar

func TestChosenDocumentsAreAddedAndTheirFolderIsRemembered(t *testing.T) {
	b := newBench(t, officetest.Busy())
	var began []string
	b.System.OnChoose = func(_ context.Context, d system.FileDialog) ([]string, error) {
		began = append(began, d.Folder)
		return []string{filepath.Join("/leases", fmt.Sprint(len(began), ".pdf")), filepath.Join("/offers", "Offer.pdf")}, nil
	}
	for range 2 {
		b.screen.add.OnTapped()
		b.Settle()
	}
	if got := b.names(); !slices.Equal(got, []string{"1.pdf", "Offer.pdf", "2.pdf"}) || !slices.Equal(began, []string{"", "/offers"}) {
		t.Errorf("added %q, and began in %q", got, began)
	}
}

func TestAPackageIsSentByKeysAlone(t *testing.T) {
	o := officetest.Busy()
	o.Known = []office.Signer{jan, ana}
	b := newBench(t, o)
	b.add("b.pdf", "Lease.pdf") // as the program's arguments
	b.Window.Canvas().Focus(b.screen.docs[0].dragHandle)
	b.alt(fyne.KeyDown) // Lease.pdf comes first
	b.tab(6)            // remove, add, the templates, one package or one for each
	if b.focused() != fyne.Focusable(b.screen.name) {
		t.Fatalf("Tab should have come to the name, is at %T", b.focused())
	}
	b.tab(1)
	b.write("an")
	b.key(fyne.KeyDown)
	b.key(fyne.KeyReturn) // takes Ana, does not send
	if len(o.Sent) != 0 || b.screen.people[0].signer() != ana {
		t.Fatalf("sent %d, the signer is %+v", len(o.Sent), b.screen.people[0].signer())
	}
	b.key(fyne.KeyReturn)
	b.Settle()
	if len(o.Sent) != 0 || b.focused() == fyne.Focusable(b.screen.people[0].email) {
		t.Fatal("Enter goes to the next field, and sends nothing")
	}
	b.tab(2) // past the buttons that add a signer and a copy
	b.write("Hello")
	b.tab(1) // also out of a field of several lines
	b.write("2026-11-30")
	b.tab(1) // its calendar
	b.tab(1)
	b.write("K-7")
	b.Window.Canvas().Focus(b.screen.people[0].email)
	b.screen.Send() // as the window does for Ctrl+Enter
	b.Settle()
	if len(o.Sent) != 1 {
		t.Fatalf("sent %d; the bar says %q", len(o.Sent), b.screen.bar.text.Text)
	}
	got := o.Sent[0]
	if got.Name != "Lease" || got.Message != "Hello" || !slices.Equal(got.Signers, []office.Signer{ana}) || string(got.ExternalData) != `{"reference":"K-7"}` ||
		got.Due.Format(time.DateOnly) != "2026-11-30" || !strings.HasSuffix(got.Files[0], "Lease.pdf") || len(got.Files) != 2 {
		t.Errorf("sent %+v", got)
	}
	if len(b.Went) != 1 || len(b.Notices) != 1 || b.Notices[0] != "“Lease” was sent to 1 person." {
		t.Errorf("shown %v, said %q", b.Went, b.Notices)
	}
}

func TestDraggingMovesDocumentsAndPeople(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.add("a.pdf", "b.pdf", "c.pdf")
	drag := func(g *dragHandle, rows []fyne.CanvasObject, to int) {
		at := fyne.CurrentApp().Driver().AbsolutePositionForObject(rows[to])
		g.Dragged(&fyne.DragEvent{PointEvent: fyne.PointEvent{AbsolutePosition: at.AddXY(0, rows[to].Size().Height*0.6)}})
		g.DragEnd()
	}
	drag(b.screen.docs[0].dragHandle, b.screen.fileBox.Objects, 2)
	if got := fmt.Sprint(b.names()); got != "[b.pdf c.pdf a.pdf]" {
		t.Errorf("got %s", got)
	}
	b.screen.Fill(filled(ana, jan))
	drag(b.screen.people[0].dragHandle, b.screen.peopleBox.Objects, 1)
	if b.screen.people[0].signer() != ana {
		t.Error("where all sign at once there is no order to change")
	}
	b.screen.order.Choose(1)
	drag(b.screen.people[0].dragHandle, b.screen.peopleBox.Objects, 1)
	if b.screen.people[0].signer() != jan {
		t.Error("in sequence, a drag changes the order")
	}
}

func TestTheMouseFindsTheDragHandle(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.add("a.pdf", "b.pdf")
	reached := false
	b.screen.docs[0].dragHandle.place = func(int, int) { reached = true }
	at := fyne.CurrentApp().Driver().AbsolutePositionForObject(b.screen.docs[0].dragHandle).AddXY(10, 10)
	test.Drag(b.Window.Canvas(), at, 0, 5)
	if !reached {
		t.Error("a drag on the handle must reach it")
	}
}

func TestPastingFillsTheFields(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.Window.Canvas().Focus(b.screen.people[0].first)
	b.paste("Ana Ruiz <ana.ruiz@example.com>; Jan Weber <jan.weber@example.com>")
	if got := b.screen.draft().Signers; !slices.Equal(got, []office.Signer{ana, jan}) {
		t.Errorf("got %+v", got)
	}
	b.screen.addSigner(noSigner, true)
	b.paste("Just a name")
	if got := b.screen.people[2].first.Text; got != "Just a name" {
		t.Errorf("words are pasted as they are, got %q", got)
	}
	b.Window.Canvas().Focus(b.screen.people[2].email)
	b.write("Bo Li <bo@example.com>")
	b.tab(1)
	if got := b.screen.people[2].signer(); got != (office.Signer{FirstName: "Bo", LastName: "Li", Email: "bo@example.com"}) {
		t.Errorf("what is typed is taken apart when the field is left, got %+v", got)
	}
}

func TestWhatCannotBeSentSaysSoAtOnce(t *testing.T) {
	o := officetest.Busy()
	o.OnInspect = func(path string) agent.FileInfo {
		return agent.FileInfo{Path: path, Name: "Offer.pdf", Size: 1, Problem: message.FileProtected("Offer.pdf")}
	}
	b := newBench(t, o)
	b.add("Offer.pdf")
	d := b.screen.docs[0]
	if !d.say.Visible() || !strings.HasSuffix(d.say.Text, "add it again.") {
		t.Errorf("said %q", d.say.Text)
	}
	b.screen.Fill(filled(ana))
	b.send()
	b.Settle()
	if len(o.Sent) != 0 {
		t.Error("it must not be sent")
	}
	b.screen.due.SetText("2026-11-20")
	if !b.screen.dueField.IsWrong() {
		t.Error("a day that is over is refused while it is typed")
	}
}

func TestSeveralDocumentsBecomeAPackageEach(t *testing.T) {
	o := officetest.Busy()
	o.OnSend = func(_ context.Context, d office.NewPackage, _ func(office.SendState)) (office.SendState, error) {
		if d.Name == "b" {
			return office.SendState{DraftID: "draft-b", State: office.DraftFailed, Problem: message.ServiceRefused()}, nil
		}
		return office.SendState{State: office.DraftSent, PackageID: d.Name}, nil
	}
	b := newBench(t, o)
	b.add("a.pdf", "b.pdf", "c.pdf")
	b.screen.Fill(filled(ana))
	b.screen.each.Choose(1)
	if got := b.screen.bar.send.Text; got != "Send 3 packages to 1 person" {
		t.Errorf("the button says %q", got)
	}
	b.send()
	b.Settle()
	if len(o.Sent) != 3 || len(o.Sent[0].Files) != 1 {
		t.Fatalf("sent %+v", o.Sent)
	}
	if got := fmt.Sprint(b.names()); got != "[b.pdf]" || b.screen.docs[0].refused != message.ServiceRefused().String() || b.screen.docs[0].draft != "draft-b" {
		t.Errorf("what was refused stays with its reason: %s %+v", got, b.screen.docs[0].refused)
	}
	if b.screen.people[0].signer() != ana {
		t.Error("and so do the people")
	}
}

// slow makes an office whose sending waits for the person.
func slow(o *officetest.Office) (begun <-chan struct{}) {
	began := make(chan struct{})
	o.OnSend = func(ctx context.Context, _ office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
		progress(office.SendState{DraftID: "d1", State: office.DraftQueued, Sent: 60_000, Total: 96_422})
		close(began)
		<-ctx.Done()
		return office.SendState{DraftID: "d1", State: office.DraftQueued}, ctx.Err()
	}
	return began
}

func TestSendingShowsABarForEachFileAndCanGoOnAlone(t *testing.T) {
	o := officetest.Busy()
	begun := slow(o)
	b := newBench(t, o)
	b.add("a.pdf", "b.pdf")
	b.screen.Fill(filled(ana))
	b.send()
	<-begun
	b.Until(func() bool { return b.screen.docs[0].meter.part == 1 })
	if part := b.screen.docs[1].meter.part; part < 0.2 || part > 0.3 {
		t.Errorf("of the second file %v is sent", part)
	}
	b.screen.Add([]string{"/x/c.pdf"})
	if len(b.screen.docs) != 2 {
		t.Error("nothing is added to what is on its way")
	}
	b.screen.Leave()
	b.Settle()
	if len(o.Cancelled) != 0 || len(b.screen.docs) != 0 || b.screen.run != nil {
		t.Error("the o keeps it, and there is room for the next")
	}
	if last := b.Notices[len(b.Notices)-1]; last != "“a” will be sent automatically as soon as possible." {
		t.Errorf("said %q", last)
	}
}

func TestWhileNobodyIsSignedInItSaysWhatItWaitsFor(t *testing.T) {
	o := officetest.Busy()
	o.State.SignedIn = false
	stored := make(chan struct{})
	o.OnSend = func(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
		o.Change(office.OutboxChanged, func(o *officetest.Office) {
			o.Waiting = []office.Draft{{ID: "d1", Name: d.Name, State: office.DraftQueued, Created: officetest.Now, Files: []office.DraftFile{{Path: d.Files[0]}}}}
		})
		progress(office.SendState{DraftID: "d1", State: office.DraftQueued})
		close(stored)
		<-ctx.Done()
		return office.SendState{DraftID: "d1", State: office.DraftQueued}, ctx.Err()
	}
	b := newBench(t, o)
	b.add("a.pdf")
	b.screen.Fill(filled(ana))
	b.send()
	b.Until(func() bool { return strings.HasPrefix(b.screen.bar.text.Text, "You are not signed in.") })
	<-stored
	b.screen.showOutbox(officetest.Must(o.Drafts()))
	if len(b.screen.outbox.Objects) != 0 {
		t.Error("what the bar tells about is not told again beside")
	}
	b.screen.Leave()
	b.Settle()
	if len(b.screen.outbox.Objects) == 0 {
		t.Error("what is left to the office shows as on its way")
	}
}

func TestStoppingTakesBackInTimeOrSaysThatItIsTooLate(t *testing.T) {
	for name, c := range map[string]struct {
		state office.DraftState
		left  int
		said  string
	}{
		"in time":  {office.DraftQueued, 1, "Cancelled. Nothing was sent."},
		"too late": {office.DraftAdding, 0, "Too late to cancel. The signing service already has the package."},
	} {
		t.Run(name, func(t *testing.T) {
			o := officetest.Busy()
			o.Waiting = []office.Draft{{ID: "d1", Name: "a", State: c.state}}
			begun := slow(o)
			b := newBench(t, o)
			b.add("a.pdf")
			b.screen.Fill(filled(ana))
			b.send()
			<-begun
			b.screen.Stop()
			b.Settle()
			if len(b.screen.docs) != c.left || b.screen.bar.text.Text != c.said || len(o.Cancelled) != 1 {
				t.Errorf("%d documents left, said %q", len(b.screen.docs), b.screen.bar.text.Text)
			}
			b.Pass()
			if wrong := b.screen.bar.mark.Visible(); wrong != (b.screen.bar.text.Text != "") {
				t.Errorf("after a while it says %q: what needs nobody goes, what is wrong stays", b.screen.bar.text.Text)
			}
		})
	}
}

func TestDraftsOfAnEarlierStartAreShownAndDecided(t *testing.T) {
	o := officetest.Busy()
	o.Waiting = []office.Draft{
		{ID: "q", Name: "Queued", State: office.DraftQueued, Problem: message.ServiceSilent()},
		{ID: "f", Name: "Refused", State: office.DraftFailed, Problem: message.ServiceRefused(), Signers: []office.Signer{jan}, Files: []office.DraftFile{{Path: "/x/r.pdf"}}},
	}
	b := newBench(t, o)
	b.screen.Edit(o.Waiting[1])
	b.Settle()
	if got := b.screen.draft(); got.Name != "Refused" || len(got.Files) != 1 || !slices.Equal(got.Signers, []office.Signer{jan}) {
		t.Fatalf("brought back %+v", got)
	}
	b.send()
	b.Settle()
	if left := officetest.Must(o.Drafts()); len(left) != 1 || left[0].ID != "q" {
		t.Errorf("what is sent now takes the place of what was refused: %+v", left)
	}
}

func TestAPastPackageIsSentAgainLikeBefore(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.Like(office.NewPackage{Name: "Lease", Message: "hello", Sequential: true, Signers: []office.Signer{ana, jan},
		Due: officetest.Now.Add(-time.Hour), ExternalData: externalData("K-7"), Files: []string{"/x/lease.pdf"}})
	b.Settle()
	got := b.screen.draft()
	if got.Name != "Lease" || got.Message != "hello" || !got.Sequential || len(got.Signers) != 2 || !got.Due.IsZero() || referenceIn(got.ExternalData) != "K-7" || len(got.Files) != 1 {
		t.Errorf("got %+v", got)
	}
	b.screen.Like(office.NewPackage{Name: "Another", Signers: []office.Signer{jan}})
	if b.Window.Canvas().Overlays().Top() == nil || b.screen.name.Text != "Lease" {
		t.Error("it asks before it takes the place of something typed")
	}
}

func TestWhatIsTypedMovesToAScreenInAnotherLanguage(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.add("a.pdf")
	b.screen.name.SetText("My own name")
	b.screen.Fill(office.NewPackage{Message: "hello", Signers: []office.Signer{{Email: "half@"}, jan}, Sequential: true, ExternalData: externalData("K-7")})
	other := newBench(t, b.Office)
	other.Settle()
	if got, want := fmt.Sprint(other.screen.draft()), fmt.Sprint(b.screen.draft()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAPackageThatNeedsItsFieldsPlacedIsNotSaidToBeOnItsWay(t *testing.T) {
	o := officetest.Busy()
	o.OnSend = func(context.Context, office.NewPackage, func(office.SendState)) (office.SendState, error) {
		o.Change(office.PackagesChanged, func(o *officetest.Office) {
			o.Rows = append(o.Rows, office.PackageRow{Package: office.Package{ID: "n1", Name: "a", State: "draft"}})
		})
		return office.SendState{State: office.DraftSent, PackageID: "n1"}, nil
	}
	b := newBench(t, o)
	b.add("a.pdf")
	b.screen.Fill(filled(ana))
	b.send()
	b.Settle()
	if len(b.Went) != 1 || b.Went[0] != "package n1" || !strings.Contains(b.Notices[0], "where each signer signs") {
		t.Errorf("shown %v, said %q", b.Went, b.Notices)
	}
}

func TestAnErrorBeforeAnythingBeganKeepsWhatIsTyped(t *testing.T) {
	o := officetest.Busy()
	o.OnSend = func(context.Context, office.NewPackage, func(office.SendState)) (office.SendState, error) {
		return office.SendState{}, message.Error(message.OwnDiskFull(), nil)
	}
	b := newBench(t, o)
	b.add("a.pdf")
	b.screen.Fill(filled(ana))
	b.send()
	b.Settle()
	if b.screen.bar.text.Text != message.OwnDiskFull().String() || len(b.screen.docs) != 1 {
		t.Errorf("said %q", b.screen.bar.text.Text)
	}
}

func TestTheFootGoesWithTheLastMark(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.add("a.pdf")
	b.screen.Fill(filled(ana))
	b.screen.people[0].email.SetText("nobody")
	b.send()
	if b.screen.bar.text.Text == "" {
		t.Fatal("what is wrong is not said")
	}
	b.screen.people[0].email.SetText(ana.Email)
	if b.screen.bar.text.Text != "" {
		t.Errorf("nothing is marked any more, but the foot says %q", b.screen.bar.text.Text)
	}
}

func TestTheCursorGoesToWhatIsWrongFirst(t *testing.T) {
	b := newBench(t, officetest.Busy())
	wrong := func(where fyne.Focusable, what string) {
		t.Helper()
		if b.screen.Send(); b.focused() != where {
			t.Errorf("%s is wrong, the cursor is in %T", what, b.focused())
		}
	}
	wrong(b.screen.add, "the lack of documents")
	b.add("lease.pdf")
	b.screen.name.SetText("")
	wrong(b.screen.name, "the lack of a name")
	b.screen.name.SetText("Lease")
	ana := b.screen.people[0]
	wrong(ana.first, "the lack of signers")
	ana.email.SetText("ana@example")
	wrong(ana.first, "the lack of her name")
	ana.first.SetText("Ana")
	wrong(ana.email, "her address")
	ana.email.SetText("ana@example.com")
	b.screen.due.SetText("31.02.2027")
	wrong(b.screen.due, "the date")
}

func TestMoreFilesThanAnybodyMeansAreNotAddedAtOnce(t *testing.T) {
	b := newBench(t, officetest.Busy())
	var paths []string
	for i := range mostFiles + 100 {
		paths = append(paths, fmt.Sprintf("/nowhere/%d.pdf", i))
	}
	b.screen.Add(paths)
	b.Settle()
	if got := b.names(); len(got) != mostFiles || got[0] != "0.pdf" {
		t.Errorf("%d documents are added", len(got))
	}
	if len(b.Notices) != 1 || !strings.Contains(b.Notices[0], "500 files") {
		t.Errorf("said %q", b.Notices)
	}
}
