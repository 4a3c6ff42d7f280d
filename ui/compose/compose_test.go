package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/day"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/outbox"
	"countersign/ui/screentest"
	"countersign/ui/system"
	"countersign/ui/widgets"
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
		b.Tap(b.screen.add)
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
	b.tab(5)            // remove, add, the templates, a package for each
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
	b.tab(3) // past the buttons that add a signer and a copy and fill in presets
	b.write("Hello")
	b.tab(1) // also out of a field of several lines
	b.write("2026-11-30")
	b.tab(2) // past its calendar
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
	if len(b.sending) != 1 || len(b.Notices) != 1 || b.Notices[0] != "“Lease” was sent to 1 person." {
		t.Errorf("shown %v, said %q", b.Went, b.Notices)
	}
}

func TestSendShowsTheFirstErrorEvenWhereTheCursorIsAlready(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.add("Lease.pdf")
	b.Window.Resize(fyne.NewSize(700, 300))
	b.Settle()
	b.Window.Canvas().Focus(b.screen.people[0].first)
	b.screen.columns.ScrollToBottom()
	b.screen.Send()
	b.Settle()
	field, seen := placeOf(b.screen.people[0].field), placeOf(b.screen.columns)
	if field.At.Y < seen.At.Y || field.At.Y+field.Size.Height > seen.At.Y+seen.Size.Height {
		t.Errorf("the signer is at %v, %v of %v, %v", field.At, field.Size, seen.At, seen.Size)
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
	b.screen.like(filled(ana, jan))
	drag(b.screen.people[0].dragHandle, b.screen.peopleBox.Objects, 1)
	screentest.Equal(t, "where all sign at once there is no order to change", b.screen.people[0].signer(), ana)
	b.screen.order.SetChecked(true)
	drag(b.screen.people[0].dragHandle, b.screen.peopleBox.Objects, 1)
	screentest.Equal(t, "in sequence, a drag changes the order", b.screen.people[0].signer(), jan)
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
	screentest.Equal(t, "words are pasted as they are", b.screen.people[2].first.Text, "Just a name")
	b.Window.Canvas().Focus(b.screen.people[2].email)
	b.write("Bo Li <bo@example.com>")
	b.tab(1)
	if got := b.screen.people[2].signer(); got != (office.Signer{FirstName: "Bo", LastName: "Li", Email: "bo@example.com"}) {
		t.Errorf("what is typed is taken apart when the field is left, got %+v", got)
	}
}

func TestWhatCannotBeSentSaysSoAtOnce(t *testing.T) {
	o := officetest.Busy()
	o.Infos = map[string]agent.FileInfo{"Offer.pdf": {Size: 1, Problem: message.FileProtected("Offer.pdf")}}
	b := newBench(t, o)
	b.add("Offer.pdf")
	d := b.screen.docs[0]
	if !d.say.Visible() || !strings.HasSuffix(d.say.Text, "add it again.") {
		t.Errorf("said %q", d.say.Text)
	}
	widgets.FirstIn(d.find).TypedKey(&fyne.KeyEvent{Name: fyne.KeySpace})
	b.Settle()
	if len(b.System.Opened) != 1 || !strings.HasPrefix(b.System.Opened[0], "folder of ") {
		t.Errorf("opened %q", b.System.Opened)
	}
	b.screen.like(filled(ana))
	b.sent()
	screentest.Equal(t, "it must not be sent", len(o.Sent), 0)
	screentest.Equal(t, "it names no package", b.screen.name.Text, "")
	screentest.Equal(t, "what the button promises", b.screen.bar.send.Text, "Send")
	if b.focused() != fyne.Focusable(b.screen.sweep) {
		t.Errorf("the cursor is at %T, not where it is removed", b.focused())
	}
	screentest.Equal(t, "said once more below the documents", b.screen.filesField.Said(), "")
	b.add("a.pdf")
	screentest.Equal(t, "what the button promises beside it", b.screen.bar.send.Text, "Send")
	screentest.Equal(t, "what can be sent names it", b.screen.name.Text, "a")
	b.Tap(b.screen.sweep)
	screentest.Equal(t, "what the button promises then", b.screen.bar.send.Text, "Send 1 document to 1 person")
}

// In the smallest window, which is what a small screen has room for at 200 %, everything stands below each other.
func TestNothingAsksForMoreWidthThanTheSmallestWindowHas(t *testing.T) {
	const room = 620 - 194 // beside the sidebar
	for _, language := range i18n.Languages() {
		screentest.Speak(t, language)
		b := ready(t, officetest.Busy())
		b.add("b.pdf")
		b.screen.like(office.NewPackage{Signers: []office.Signer{ana, jan}, Sequential: true, ExternalData: externalData("K-7", nil), Recipients: []office.Recipient{eva}})
		b.Window.Resize(fyne.NewSize(room, 400))
		if least := b.screen.content.MinSize(); least.Width > room {
			t.Errorf("in %s it asks for %v", language, least)
		}
		if column := placeOf(b.screen.peopleField); column.At.X > 20 || column.At.Y < placeOf(b.screen.nameField).At.Y {
			t.Errorf("in %s the signers stand at %v", language, column.At)
		}
	}
}

// reading is an office that looks at documents when it is let, and draws no pictures meanwhile.
type reading struct {
	Office
	let, draw chan struct{}
}

func (r *reading) Preview(ctx context.Context, _ string, _ int) (image.Image, error) {
	select {
	case <-r.draw:
	case <-ctx.Done():
	}
	return officetest.Page(), nil
}

func (r *reading) Inspect(ctx context.Context, path string) agent.FileInfo {
	select {
	case <-r.let:
	case <-ctx.Done():
	}
	return r.Office.Inspect(ctx, path)
}

// One press sends, once, as soon as the documents were looked at, and nothing if one of them cannot be sent, or warns of something
// that nobody has seen.
func TestSendingWaitsForTheDocumentsToBeLoaded(t *testing.T) {
	for name, sent := range map[string]int{"b.pdf": 1, "Offer.pdf": 0, "Floor plans.pdf": 0} {
		o := told(officetest.Busy())
		b := newBench(t, o)
		b.screen.like(filled(ana))
		slow := &reading{b.Office, make(chan struct{}), make(chan struct{})}
		b.screen.office = slow
		b.screen.Add([]string{"/x/a.pdf", "/x/" + name})
		b.Until(func() bool { return len(b.screen.docs) == 2 })
		b.screen.Send()
		b.screen.Send()
		if said := b.screen.bar.text.Text; len(o.Sent) != 0 || b.screen.filesField.IsWrong() || !strings.Contains(said, "loaded") {
			t.Fatalf("while they are loaded, %d are sent, and it says %q", len(o.Sent), said)
		}
		b.screen.cancel.OnTapped()
		if b.screen.handing != nil || b.screen.message.Disabled() || b.screen.cancel.Visible() {
			t.Fatal("who waits cannot cancel")
		}
		b.screen.Send()
		b.screen.content.Hide() // for another screen
		close(slow.let)
		b.Until(func() bool { return b.screen.handing == nil })
		close(slow.draw)
		b.Settle()
		if len(o.Sent) != sent || b.screen.cancel.Visible() || (b.screen.bar.text.Text == "Check the marked fields.") != (name == "Offer.pdf") || strings.Contains(b.screen.bar.text.Text, "loaded") {
			t.Errorf("with %s, %d are sent, and it says %q", name, len(o.Sent), b.screen.bar.text.Text)
		}
		screentest.Equal(t, "who went elsewhere is led to", b.Went, nil)
		if name == "Floor plans.pdf" {
			b.sent()
			screentest.Equal(t, "sent once the warning was seen", len(o.Sent), 1)
		}
	}
}

// Keys still reach what had the focus, and a button may be made anew meanwhile.
func TestWhatIsBeingSentStaysAsItIsShown(t *testing.T) {
	document := func(s *Screen) fyne.Focusable { return s.docs[1].dragHandle }
	signer := func(s *Screen) fyne.Focusable { return s.people[1].dragHandle }
	remove, carry := func(b *bench) { b.key(fyne.KeyDelete) }, func(b *bench) { b.alt(fyne.KeyUp) }
	for name, c := range map[string]struct {
		focus  func(*Screen) fyne.Focusable
		change func(*bench)
	}{
		"a document removed": {document, remove}, "a document moved": {document, carry}, "a signer removed": {signer, remove}, "a signer moved": {signer, carry},
		"a copy refused": {func(s *Screen) fyne.Focusable { return s.copies.turns[clerk.Email] }, func(b *bench) { b.screen.changed(); b.key(fyne.KeySpace) }},
	} {
		o := withStanding()
		b := newBench(t, o)
		slow := &reading{b.Office, make(chan struct{}), make(chan struct{})}
		b.screen.office = slow
		b.screen.Add([]string{"/x/a.pdf", "/x/b.pdf"})
		b.Until(func() bool { return len(b.screen.docs) == 2 })
		d := filled(ana, jan)
		d.Sequential = true
		b.screen.like(d)
		b.Window.Canvas().Focus(c.focus(b.screen))
		b.screen.Send()
		c.change(b)
		shown := b.screen.draft()
		close(slow.let)
		close(slow.draw)
		b.Settle()
		if got := o.Sent[0]; !slices.Equal(got.Files, shown.Files) || !slices.Equal(got.Signers, shown.Signers) || !slices.Equal(got.NoCopy, shown.NoCopy) {
			t.Errorf("%s: sent %+v, shown was %+v", name, got, shown)
		}
	}
}

func TestTypingGoesOnAfterADrop(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.Focus() // where the documents are dropped
	b.add("a.pdf")
	b.write("Ana")
	screentest.Equal(t, "the first name", b.screen.people[0].first.Text, "Ana")
	b.Window.Canvas().Focus(b.screen.message)
	b.add("b.pdf")
	if b.focused() != fyne.Focusable(b.screen.message) {
		t.Errorf("a drop moves the cursor from a field to %T", b.focused())
	}
	b.Window.Canvas().Unfocus()
	b.add("c.pdf")
	if b.focused() != fyne.Focusable(b.screen.people[0].email) {
		t.Errorf("the cursor is at %T", b.focused())
	}
}

func TestADateIsJudgedWhenItIsTyped(t *testing.T) {
	b := newBench(t, officetest.Busy())
	due, field := b.screen.due, b.screen.dueField
	b.Window.Canvas().Focus(due)
	for _, typed := range []string{"2026-11", "2026-11-20"} {
		if due.SetText(typed); field.IsWrong() {
			t.Errorf("in the middle of typing %q it says %q", typed, field.Said())
		}
	}
	b.tab(1)
	screentest.Equal(t, "a day that is over says", field.Said(), "This date has passed.")
	b.Window.Canvas().Focus(due)
	if due.SetText("2026-12-03"); field.IsWrong() || field.Said() != "Thu 3 Dec" {
		t.Errorf("below a good day it says %q", field.Said())
	}
	due.SetText("next week")
	b.tab(1)
	screentest.Equal(t, "what is no day says", field.Said(), "Enter a date, for example 31 Dec 2026.")
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
	b.screen.like(filled(ana))
	b.screen.each.SetChecked(true)
	screentest.Equal(t, "the button says", b.screen.bar.send.Text, "Send 3 packages to 1 person")
	b.sent()
	if len(o.Sent) != 3 || len(o.Sent[0].Files) != 1 {
		t.Fatalf("sent %+v", o.Sent)
	}
	screentest.Equal(t, "said", b.Notices, []string{message.ServiceRefused().String(), "2 of 3 packages sent. The reason is shown next to each of the others."})
	if !b.screen.form().Empty() {
		t.Errorf("typed is %+v", b.screen.form())
	}
}

// slow makes an office whose sending of a draft, d1, takes long.
func slow(o *officetest.Office) (begun <-chan struct{}) {
	began := make(chan struct{})
	o.OnSend = func(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
		o.Change(office.OutboxChanged, func(o *officetest.Office) {
			o.Waiting = append(o.Waiting, office.Draft{ID: "d1", Name: d.Name, State: office.DraftQueued, Created: officetest.Now, Files: []office.DraftFile{{Path: d.Files[0]}}})
		})
		progress(office.SendState{DraftID: "d1", State: office.DraftQueued, Sent: 60_000, Total: 96_422, Undo: true})
		close(began)
		<-ctx.Done()
		return office.SendState{DraftID: "d1", State: office.DraftQueued}, ctx.Err()
	}
	return began
}

// Nobody looks at what Enter leads to: whatever is typed next must not get into what the mailbox has filled.
func TestEnterGoesPastWhatAMailboxHasFilled(t *testing.T) {
	for typed, want := range map[string][]office.Signer{
		"Hans Brandt <hans.brandt@example.com>":                        {{FirstName: "Hans", LastName: "Brandt", Email: "hans.brandt@example.com"}},
		"Hans Brandt <hans.brandt@example.com>, Mia <mia@example.com>": {{FirstName: "Hans", LastName: "Brandt", Email: "hans.brandt@example.com"}, {FirstName: "Mia", Email: "mia@example.com"}},
		"hans.brandt@example.com":                                      {{Email: "hans.brandt@example.com"}},
	} {
		for name, leave := range map[string]func(*bench){"Enter": func(b *bench) { b.key(fyne.KeyReturn) }, "Tab": func(b *bench) { b.tab(1) }} {
			b := newBench(t, officetest.Busy())
			b.Window.Canvas().Focus(b.screen.people[0].first)
			b.write(typed)
			leave(b)
			b.Settle()
			var got []office.Signer
			for _, p := range b.screen.people {
				got = append(got, p.signer())
			}
			screentest.Equal(t, typed+" is, after "+name, got, want)
			last := b.screen.people[len(got)-1]
			next := fyne.Focusable(b.screen.addPerson)
			for _, e := range []*widgets.Entry{last.last, last.first} {
				if e.Text == "" {
					next = e
				}
			}
			if name == "Enter" && b.focused() != next {
				t.Errorf("after %s Enter leads to %T", typed, b.focused())
			}
		}
	}
}

func TestWhatIsSentIsShownInTheOutboxAndMakesRoomForTheNext(t *testing.T) {
	o := officetest.Busy()
	begun := slow(o)
	b := ready(t, o)
	b.send()
	<-begun
	screentest.Equal(t, "went", b.Went, []string{"package draft d1"})
	screentest.Equal(t, "told", b.sending, []office.SendState{{DraftID: "d1", State: office.DraftQueued, Sent: 60_000, Total: 96_422, Undo: true}})
	if !b.screen.form().Empty() || !o.Form().Empty() || b.screen.add.Disabled() {
		t.Errorf("typed is still %+v", b.screen.form())
	}
}

// The office copies the documents, which may take seconds: Undo is counted from then on, and what was sent is listed before the form
// is free.
func TestTheBarSaysThatItIsBeingSentUntilThatIsListed(t *testing.T) {
	o := officetest.Busy()
	begun := slow(o)
	b := ready(t, o)
	var copied atomic.Int64 // how long that takes
	listed := func() {}
	b.Env.Now = func() time.Time { return officetest.Now.Add(time.Duration(copied.Load())) }
	b.screen.List = func(then func()) { listed = then }
	b.screen.Send()
	screentest.Equal(t, "the bar says", b.screen.bar.text.Text, "Sending…")
	copied.Store(int64(6 * time.Second))
	b.Until(func() bool { return len(b.sending) > 0 })
	<-begun
	if len(b.Went)+len(b.Deeds) > 0 || !b.screen.bar.send.Disabled() {
		t.Errorf("went %q, %d to undo, before it is listed", b.Went, len(b.Deeds))
	}
	listed()
	screentest.Equal(t, "went", b.Went, []string{"package draft d1"})
	screentest.Equal(t, "can be undone since", b.Deeds[0].Since, b.Env.Now())
	screentest.Equal(t, "the bar says then", b.screen.bar.text.Text, "")
}

func TestUndoIsNotOfferedForWhatIsOnItsWayOnceItIsListed(t *testing.T) {
	o := officetest.Busy()
	begun := slow(o)
	b := ready(t, o)
	listed := func() {}
	b.screen.List = func(then func()) { listed = then }
	b.screen.Send()
	b.Until(func() bool { return len(b.sending) > 0 })
	<-begun
	h := b.screen.handing
	b.screen.progress(h, h.parcels[0], office.SendState{DraftID: "d1", State: office.DraftQueued, Total: 100, Sent: 50})
	listed()
	if len(b.Deeds) > 0 {
		t.Errorf("undo is offered for %q", b.Deeds[0].Says)
	}
}

func TestWhatWasSentIsTakenBackInTimeOrItSaysThatItIsTooLate(t *testing.T) {
	full := message.OwnDiskFull()
	for name, c := range map[string]struct {
		state   office.DraftState
		refused error
		left    int
		said    []string
	}{
		"in time":           {office.DraftQueued, nil, 1, nil},
		"too late":          {office.DraftAdding, nil, 0, []string{"Too late to cancel. The signing service already has the package."}},
		"it cannot be kept": {office.DraftQueued, message.Error(full, nil), 0, []string{full.String()}},
	} {
		t.Run(name, func(t *testing.T) {
			o := officetest.Busy()
			begun := slow(o)
			b := ready(t, o)
			o.On = map[string]func() error{"Cancel": func() error {
				if o.Form().Empty() {
					t.Error("it is cancelled before the form has it: a kill would lose it")
				}
				return nil
			}, "Stop": func() error { return c.refused }}
			b.send()
			<-begun
			o.Change(office.OutboxChanged, func(o *officetest.Office) { o.Waiting[len(o.Waiting)-1].State = c.state })
			b.Deeds[0].Undone()
			b.Until(func() bool { return len(b.screen.docs) == c.left && len(b.Notices) == len(c.said) })
			screentest.Equal(t, "said", b.Notices, c.said)
			if led := slices.Contains(b.Went, "compose"); led != (c.left > 0) {
				t.Errorf("it leads to the form: %v", led)
			}
		})
	}
}

// What was sent is taken back to the outbox where the form has something else by now: else one of the two would be lost.
func TestWhatIsTakenBackTakesNothingsPlace(t *testing.T) {
	o := officetest.Busy()
	begun := slow(o)
	b := ready(t, o)
	b.send()
	<-begun
	b.screen.like(office.NewPackage{Message: "the next one", Signers: []office.Signer{jan}})
	next := b.screen.form()
	b.Deeds[0].Undone()
	b.Until(func() bool { return len(b.Went) == 2 })
	screentest.Equal(t, "went", b.Went, []string{"package draft d1", "package draft d1"})
	screentest.Equal(t, "typed", b.screen.form(), next)
	d := o.Waiting[len(o.Waiting)-1]
	if d.ID != "d1" || d.State != office.DraftHeld || !d.Stopped || screentest.Top(b.Window) != nil || len(b.Notices) > 0 {
		t.Errorf("it is %+v, said %q", d, b.Notices)
	}
}

func TestUndoTakesBackWhatItNames(t *testing.T) {
	o := officetest.Busy()
	o.OnSend = func(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
		o.Change(office.OutboxChanged, func(o *officetest.Office) {
			o.Waiting = append(o.Waiting, office.Draft{ID: d.Name, Name: d.Name, State: office.DraftQueued})
		})
		progress(office.SendState{DraftID: d.Name, State: office.DraftQueued, Undo: d.Name == "b"}) // a is being uploaded
		<-ctx.Done()
		return office.SendState{DraftID: d.Name, State: office.DraftQueued}, ctx.Err()
	}
	b := newBench(t, o)
	b.add("a.pdf", "b.pdf")
	b.screen.like(filled(ana))
	b.screen.each.SetChecked(true)
	b.send()
	screentest.Equal(t, "undo is offered for", b.Deeds[0].Says, outbox.Sending([]string{"b"}))
	went := len(b.Went)
	b.Deeds[0].Undone()
	b.Until(func() bool { return len(b.Went) > went })
	screentest.Equal(t, "in the form again", b.names(), []string{"b.pdf"})
	if a := o.Waiting[slices.IndexFunc(o.Waiting, func(d office.Draft) bool { return d.ID == "a" })]; a.State != office.DraftQueued || a.Stopped {
		t.Errorf("what is on its way is %+v", a)
	}
}

// Of two packages the office takes one; the other stays typed, also when the first one is taken back.
func TestWhatTheOfficeDidNotTakeStaysWhenTheRestIsTakenBack(t *testing.T) {
	o := officetest.Busy()
	o.OnSend = func(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
		if d.Name == "b" {
			return office.SendState{}, message.Error(message.FileGone("b.pdf"), nil)
		}
		o.Change(office.OutboxChanged, func(o *officetest.Office) {
			o.Waiting = append(o.Waiting, office.Draft{ID: "d1", Name: d.Name, State: office.DraftQueued})
		})
		progress(office.SendState{DraftID: "d1", State: office.DraftQueued, Undo: true})
		<-ctx.Done()
		return office.SendState{DraftID: "d1", State: office.DraftQueued}, ctx.Err()
	}
	b := newBench(t, o)
	b.add("a.pdf", "b.pdf")
	b.screen.like(filled(ana))
	b.screen.each.SetChecked(true)
	b.screen.replaces = "d0"
	b.send()
	screentest.Equal(t, "left", b.names(), []string{"b.pdf"})
	screentest.Equal(t, "the first one took the place of the draft; the other is to take no place", b.screen.replaces, "")
	went := len(b.Went)
	b.Deeds[0].Undone()
	b.Until(func() bool { return len(b.Went) > went })
	screentest.Equal(t, "left after Undo", b.names(), []string{"b.pdf"})
	screentest.Equal(t, "said", b.Notices, nil)
	if d := o.Waiting[len(o.Waiting)-1]; d.ID != "d1" || d.State != office.DraftHeld {
		t.Errorf("what was sent is %+v", d)
	}
}

// Nothing of a package from a template alone is forgotten before the office has it.
func TestATemplateStaysTypedUntilTheOfficeHasIt(t *testing.T) {
	b, o := withTemplates(t)
	b.choose("tenant")
	b.screen.people[0].fill(jan)
	b.screen.people[1].fill(ana)
	for _, x := range b.screen.basis.originals {
		for _, e := range x.entries {
			e.SetText("filled in")
		}
	}
	typed := o.Form()
	goOn := make(chan struct{})
	o.OnSend = func(context.Context, office.NewPackage, func(office.SendState)) (office.SendState, error) {
		<-goOn
		return office.SendState{}, message.Error(message.OwnDiskFull(), nil)
	}
	b.screen.Send()
	b.screen.changed()         // as when the settings are others
	b.screen.cancel.OnTapped() // too late
	if b.screen.handing == nil {
		t.Fatal("it is not sent")
	}
	screentest.Equal(t, "kept while the office takes it over", o.Form(), typed)
	close(goOn)
	b.Settle()
}

func TestDraftsOfAnEarlierStartAreShownAndDecided(t *testing.T) {
	o := officetest.Busy()
	o.Waiting = []office.Draft{
		{ID: "q", Name: "Queued", State: office.DraftQueued, Delivery: office.Delivery{Problem: message.ServiceSilent()}},
		{ID: "f", Name: "Refused", State: office.DraftFailed, Delivery: office.Delivery{Problem: message.ServiceRefused()}, Signers: []office.Signer{jan},
			Files: []office.DraftFile{{Path: "/x/r.pdf"}}},
	}
	b := newBench(t, o)
	b.screen.Edit(o.Waiting[1])
	b.Settle()
	if got := b.screen.draft(); got.Name != "Refused" || len(got.Files) != 1 || !slices.Equal(got.Signers, []office.Signer{jan}) {
		t.Fatalf("brought back %+v", got)
	}
	b.sent()
	if left := officetest.Must(o.Drafts()); len(left) != 1 || left[0].ID != "q" {
		t.Errorf("what is sent now takes the place of what was refused: %+v", left)
	}
}

func TestAPastPackageIsSentAgainLikeBefore(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.Like(office.NewPackage{Name: "Lease", Message: "hello", Sequential: true, Signers: []office.Signer{ana, jan},
		Due: officetest.Now.Add(-time.Hour), ExternalData: externalData("K-7", nil), Files: []string{"/x/lease.pdf"}}, nil)
	b.Settle()
	got := b.screen.draft()
	if got.Name != "Lease" || got.Message != "hello" || !got.Sequential || len(got.Signers) != 2 || !got.Due.IsZero() || office.ReferenceIn(got.ExternalData) != "K-7" || len(got.Files) != 1 || len(b.Notices) != 1 {
		t.Errorf("got %+v", got)
	}
	begun := false
	b.screen.Like(office.NewPackage{Name: "Another", Signers: []office.Signer{jan, ana}, Files: []string{"/x/other.pdf"}}, func() { begun = true })
	question := screentest.Top(b.Window)
	if question == nil || b.screen.name.Text != "Lease" || begun {
		t.Fatal("it asks before it takes the place of something typed")
	}
	screentest.Button(question, "Start over").OnTapped()
	b.Settle()
	if b.screen.name.Text != "Another" || !begun {
		t.Error("it did not begin anew")
	}
	if send := b.screen.bar.send; send.Size().Width < send.MinSize().Width {
		t.Errorf("the button %q is %v wide", send.Text, send.Size().Width)
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
	b := ready(t, o)
	b.sent()
	if b.sending[0].PackageID != "n1" || !strings.Contains(b.Notices[0], "where each signer signs") {
		t.Errorf("shown %v, said %q", b.Went, b.Notices)
	}
}

func TestNothingTypedIsLostWhenSendingFails(t *testing.T) {
	for name, c := range map[string]struct {
		state office.SendState
		err   error
		kept  bool // else the office has it now
		said  string
	}{
		"nothing began": {office.SendState{}, message.Error(message.OwnDiskFull(), nil), true, message.OwnDiskFull().String()},
		"may not send":  {office.SendState{State: office.DraftFailed, Problem: message.MayNotSend()}, nil, false, ""}, // the banner says so
		"refused":       {office.SendState{State: office.DraftFailed, Problem: message.ServiceRefused()}, nil, false, message.ServiceRefused().String()},
		"unknown":       {office.SendState{State: office.DraftUnknown}, nil, false, message.OutcomeUnknown("a").String()},
	} {
		o := officetest.Busy()
		o.OnSend = func(context.Context, office.NewPackage, func(office.SendState)) (office.SendState, error) {
			return c.state, c.err
		}
		b := newBench(t, o)
		b.add("a.pdf")
		b.screen.like(office.NewPackage{Message: "hello", Signers: []office.Signer{ana, jan}, Sequential: true})
		typed := b.screen.form()
		b.sent()
		if c.kept {
			screentest.Equal(t, name, b.screen.form(), typed)
			screentest.Equal(t, "said", b.screen.bar.text.Text, c.said)
		} else if !b.screen.form().Empty() || (c.said == "") != (len(b.Notices) == 0) || c.said != "" && !slices.Contains(b.Notices, c.said) {
			t.Errorf("%s: typed is %+v, said %q", name, b.screen.form(), b.Notices)
		}
	}
}

func TestTheFootGoesWithTheLastMarkAndNothingMoves(t *testing.T) {
	b := ready(t, officetest.Busy())
	places := func() (list []fyne.Position) {
		for _, o := range []fyne.CanvasObject{b.screen.addPerson, b.screen.message, b.screen.name, b.screen.bar.send} {
			list = append(list, fyne.CurrentApp().Driver().AbsolutePositionForObject(o))
		}
		return list
	}
	b.screen.people[0].fill(noSigner)
	before := places()
	b.screen.Send() // without a signer
	screentest.Equal(t, "places", places(), before)
	b.screen.people[0].email.SetText("nobody")
	before = places() // the button promises more
	b.screen.Send()
	screentest.Equal(t, "places", places(), before)
	if b.screen.bar.text.Text == "" {
		t.Fatal("what is wrong is not said")
	}
	b.screen.people[0].email.SetText(ana.Email)
	b.screen.people[0].first.SetText(ana.FirstName)
	screentest.Equal(t, "nothing is marked any more, but the foot says", b.screen.bar.text.Text, "")
	screentest.Equal(t, "places", places(), before)
	b.screen.unfocus()
	b.screen.people[0].first.SetText("")
	b.screen.people[0].last.SetText("")
	screentest.Equal(t, "wrong again", b.screen.people[0].field.IsWrong(), true)
	screentest.Equal(t, "places", places(), before)
}

// TestNobodyIsCalledWrongWhileTyped types a second signer after a press that was refused, whose suggestions open below the name.
func TestNobodyIsCalledWrongWhileTyped(t *testing.T) {
	o := officetest.Busy()
	o.Known = []office.Signer{jan}
	b := newBench(t, o)
	b.screen.Send() // without a document
	b.Window.Canvas().Focus(b.screen.people[0].first)
	b.write("J")
	p := b.screen.people[0]
	if p.field.IsWrong() || !b.screen.over.box.Visible() {
		t.Errorf("said %q, suggested %d", p.field.Said(), len(p.offers.list))
	}
	b.Window.Canvas().Focus(b.screen.name)
	b.Settle()
	if !p.field.IsWrong() {
		t.Error("once it is left, nothing is said")
	}
}

// TestSuggestionsLieOverTheForm opens them, which moves nothing, and presses one, which takes the focus from the field first.
func TestSuggestionsLieOverTheForm(t *testing.T) {
	o := officetest.Busy()
	o.Known = []office.Signer{jan}
	b := newBench(t, o)
	p, box := b.screen.people[0], b.screen.over.box
	before := placeOf(p.email)
	b.Window.Canvas().Focus(p.first)
	b.write("J")
	screentest.Equal(t, "the place of the next field", *placeOf(p.email), *before)
	if at, field := placeOf(box), placeOf(p.first); !box.Visible() || at.At.Y < field.At.Y+field.Size.Height || at.Size.Width <= field.Size.Width {
		t.Errorf("they are shown: %v, at %+v, below the field at %+v", box.Visible(), at, field)
	}
	row := p.offers.rows[0]
	row.MouseDown(nil)
	b.Window.Canvas().Unfocus()
	if !box.Visible() {
		t.Fatal("they are gone before the mouse is up")
	}
	row.MouseUp(nil)
	row.Tapped(nil)
	screentest.Equal(t, "the signer", p.signer(), jan)
	b.write("x")
	b.Window.Canvas().Focus(p.last)
	b.write("x")
	b.Window.Canvas().Unfocus()
	screentest.Equal(t, "they stay over the form", box.Visible(), false)
}

func TestWhatIsRemovedOrReplacedCanBeHadBack(t *testing.T) {
	o := officetest.Busy()
	b := newBench(t, o)
	b.add("a.pdf", "b.pdf")
	b.screen.like(office.NewPackage{Signers: []office.Signer{ana, jan}, Recipients: []office.Recipient{{Email: "boss@example.com"}}, Message: "hello"})
	typed := b.screen.form()
	undo := func() { b.Deeds[len(b.Deeds)-1].Undone(); b.Settle() }
	for name, change := range map[string]func(){
		"a document": func() { b.screen.removeDocument(b.screen.docs[0]) },
		"a signer":   func() { b.screen.removeSigner(b.screen.people[0]) },
		"a copy":     func() { b.screen.copies.remove(b.screen.copies.added[0]) },
		"a template": func() { b.screen.UseTemplate(office.Template{ID: "t", Name: "Mandate", Sequential: true}) },
		"a preset":   func() { b.screen.UsePreset(office.Form{Message: "other", Due: "+3", Sequential: true}) },
	} {
		change()
		if reflect.DeepEqual(b.screen.form(), typed) {
			t.Fatalf("%s changes nothing", name)
		}
		undo()
		screentest.Equal(t, name, b.screen.form(), typed)
	}
	b.screen.UseTemplate(office.Template{ID: "t", Name: "Mandate"})
	b.screen.name.SetText("Other")
	if undo(); screentest.Top(b.Window) == nil || !strings.Contains(screentest.Text(screentest.Top(b.Window)), "Other · 2 documents · 2 people") {
		t.Error("what was typed since goes without a question that names it")
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
	wrong(b.screen.target, "the lack of documents")
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

var (
	eva   = office.Recipient{FirstName: "Eva", LastName: "Klein", Email: "eva@example.com"}
	boss  = office.Recipient{Email: "boss@example.com", Blind: true}
	clerk = office.Recipient{FirstName: "Clerk", Email: "clerk@example.com"}
)

// withStanding is an office in which the clerk and, unseen, the boss get a copy of everything.
func withStanding() *officetest.Office {
	o := officetest.Busy()
	o.Kept.CopyTo, o.Kept.BlindCopyTo = []string{"Clerk <clerk@example.com>"}, []string{"boss@example.com"}
	return o
}

// copies are all who would get a copy.
func (b *bench) copies() []office.Recipient { return b.screen.copies.recipients(b.screen.signers()) }

// Who was taken off in Settings gets nothing more, whatever the form has shown before.
func TestTheFormSendsToThoseWhoGetACopyOfEverythingNow(t *testing.T) {
	o := withStanding()
	b := newBench(t, o)
	b.add("Lease.pdf")
	b.screen.like(filled(ana))
	o.Change(office.SettingsChanged, func(o *officetest.Office) { o.Kept.CopyTo, o.Kept.BlindCopyTo = nil, []string{"eva@example.com"} })
	screentest.Equal(t, "the form shows", b.copies(), []office.Recipient{{Email: eva.Email, Blind: true}})
	b.Reload()
	if len(b.screen.copies.turns) != 1 || b.screen.copies.turns[eva.Email] == nil {
		t.Errorf("it offers to take off %v", b.screen.copies.turns)
	}
	b.sent()
	if len(o.Sent) != 1 || len(o.Sent[0].Recipients) != 0 { // the office adds those of its settings
		t.Errorf("sent %+v", o.Sent)
	}
}

func TestACopyIsAddedByKeysAlone(t *testing.T) {
	o := withStanding()
	o.Known = []office.Signer{jan, ana}
	b := newBench(t, o)
	b.add("Lease.pdf")
	b.screen.like(filled(ana))
	b.Window.Canvas().Focus(b.screen.addCopy)
	b.key(fyne.KeyReturn)
	b.write("ja")
	b.key(fyne.KeyDown)
	b.key(fyne.KeyReturn) // takes Jan
	b.tab(1)
	b.key(fyne.KeyRight) // a blind copy
	b.sent()
	if len(o.Sent) != 1 {
		t.Fatalf("sent %d", len(o.Sent))
	}
	want := []office.Recipient{{FirstName: "Jan", LastName: "Weber", Email: jan.Email, Blind: true}} // beside those of the settings
	if got := o.Sent[0]; !slices.Equal(got.Recipients, want) || len(got.NoCopy) != 0 {
		t.Errorf("copies to %+v, none to %q", got.Recipients, got.NoCopy)
	}
}

func TestWhoCannotGetACopyIsSaidWhileItIsTyped(t *testing.T) {
	b := newBench(t, withStanding())
	b.screen.like(filled(ana))
	said := func(text string) string {
		b.screen.copies.fill(nil, nil)
		b.screen.copies.add()
		b.write(text)
		return b.screen.copies.added[0].field.Said()
	}
	for typed, want := range map[string]string{
		"Ana Ruiz <ANA.RUIZ@Example.com>": "Ana Ruiz signs this package and cannot also get a copy.",
		"Clerk@EXAMPLE.com":               "Clerk@EXAMPLE.com is listed twice to get a copy.",
		"eva@example.com":                 "",
		"ev":                              "", // not complete yet
	} {
		screentest.Equal(t, typed, said(typed), want)
	}
	b.screen.addSigner(noSigner, true)
	said("eva@example.com")
	b.screen.people[1].email.SetText("EVA@example.com") // the other way round
	if got := b.screen.copies.added[0].field.Said(); got == "" {
		t.Error("who comes to sign afterwards keeps the copy")
	}
	b.screen.Send()
	if b.screen.handing != nil {
		t.Error("it was sent")
	}
}

func TestAStandingCopyIsTakenOffOnePackage(t *testing.T) {
	o := withStanding()
	b := newBench(t, o)
	b.add("Lease.pdf")
	b.screen.like(filled(ana, office.Signer{FirstName: "The", LastName: "Boss", Email: "BOSS@example.com"}))
	screentest.Equal(t, "the boss signs; copies to", b.copies(), []office.Recipient{clerk})
	for range 3 { // off, on, off, with the cursor staying where it is
		b.Window.Canvas().Focus(b.screen.copies.turns[clerk.Email])
		b.key(fyne.KeySpace)
		if b.focused() != fyne.Focusable(b.screen.copies.turns[clerk.Email]) {
			t.Fatal("the cursor is lost")
		}
	}
	again := newBench(t, o) // after another start
	if got := again.copies(); len(got) != 0 || len(again.screen.copies.off) != 1 {
		t.Errorf("after a restart, copies to %+v", got)
	}
	b.sent()
	if len(o.Sent) != 1 || len(o.Sent[0].Recipients) != 0 || !slices.Equal(o.Sent[0].NoCopy, []string{clerk.Email}) {
		t.Errorf("sent %+v", o.Sent)
	}
	screentest.Equal(t, "the next package goes to both again", len(b.copies()), 2)
}

func TestADraftComesBackWithWhoGetsACopy(t *testing.T) {
	o := withStanding()
	was := office.Recipient{Email: "was.standing@example.com"} // when the draft was made
	o.Waiting = []office.Draft{{ID: "d", Name: "Lease", Signers: []office.Signer{ana}, Recipients: []office.Recipient{boss, was, eva},
		CopyDefaults: office.CopyDefaults{DefaultRecipients: []string{boss.Email, was.Email}, NoCopy: []string{clerk.Email}}}}
	b := newBench(t, o)
	b.screen.Edit(o.Waiting[0])
	b.Settle()
	screentest.Equal(t, "copies to", b.copies(), []office.Recipient{boss, eva})
	b.screen.clear()
	b.screen.Like(office.NewPackage{Name: "Lease", Signers: []office.Signer{ana}, Recipients: []office.Recipient{eva}}, nil)
	screentest.Equal(t, "a package like it: copies to", b.copies(), []office.Recipient{clerk, boss, eva})
}

func TestSeveralAddressesBecomeSeveralCopies(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.copies.add()
	b.write("eva@example.com, Jan Weber <jan@example.com>")
	b.tab(1)
	if got := b.screen.copies.own(); len(got) != 2 || got[1].LastName != "Weber" {
		t.Errorf("%+v", got)
	}
}

// american is how days are written where the tests play, as far as nothing else is said.
var american = day.Of("")

func TestTheNameIsProposedFromTheFirstFile(t *testing.T) {
	for path, want := range map[string]string{
		"/x/Lease Sonnenweg 4.pdf": "Lease Sonnenweg 4",
		"/x/offer_2026__118.PDF":   "offer 2026 118",
		"/x/.pdf":                  "",
		"/x/Vertrag v1.2.docx":     "Vertrag v1.2",
	} {
		screentest.Equal(t, path, proposedName(path), want)
	}
}

func TestErrorsStandBesideTheirField(t *testing.T) {
	ana := office.Signer{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}
	with := func(change func(*office.Signer)) office.Signer { s := ana; change(&s); return s }
	good := []*document{{path: "/x/a.pdf", looked: true}}
	for name, c := range map[string]struct {
		docs    []*document
		each    bool
		name    string
		signers []office.Signer
		due     string
		want    wrong
	}{
		"fine":            {good, false, "A", []office.Signer{ana}, "2026-11-21", wrong{signer: []wrongSigner{{}}}},
		"nothing":         {nil, false, "", nil, "", wrong{files: "Add at least one document.", signers: "Add at least one signer."}},
		"bad file":        {[]*document{{looked: true, info: agent.FileInfo{Problem: message.FileEmpty("x")}}}, false, "A", []office.Signer{ana}, "", wrong{files: "The marked documents cannot be sent.", signer: []wrongSigner{{}}}},
		"each by itself":  {append(good, good...), true, "", []office.Signer{ana}, "", wrong{signer: []wrongSigner{{}}}},
		"no package name": {good, false, "  ", []office.Signer{ana}, "", wrong{name: "Give the package a name.", signer: []wrongSigner{{}}}},
		"one name is enough": {good, false, "A", []office.Signer{with(func(s *office.Signer) { s.FirstName = "" })}, "",
			wrong{signer: []wrongSigner{{}}}},
		"no name": {good, false, "A", []office.Signer{{Email: "a@b.ch"}}, "", wrong{signer: []wrongSigner{{"Enter a name.", true}}}},
		"no address": {good, false, "A", []office.Signer{with(func(s *office.Signer) { s.Email = "" })}, "",
			wrong{signer: []wrongSigner{{text: "Enter an e-mail address."}}}},
		"half an address": {good, false, "A", []office.Signer{with(func(s *office.Signer) { s.Email = "ana@example" })}, "",
			wrong{signer: []wrongSigner{{text: "This is not an e-mail address."}}}},
		"a name in the address": {good, false, "A", []office.Signer{with(func(s *office.Signer) { s.Email = "Ana <ana@example.com>" })}, "",
			wrong{signer: []wrongSigner{{text: "This is not an e-mail address."}}}},
		"twice": {good, false, "A", []office.Signer{ana, with(func(s *office.Signer) { s.Email = "ANA@example.com" })}, "",
			wrong{signer: []wrongSigner{{}, {text: "This e-mail address is already in the list."}}}},
		"yesterday": {good, false, "A", []office.Signer{ana}, "2026-11-20", wrong{due: "This date has passed.", signer: []wrongSigner{{}}}},
		"no day":    {good, false, "A", []office.Signer{ana}, "next week", wrong{due: "Enter a date, for example 31 Dec 2026.", signer: []wrongSigner{{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := check(c.docs, office.NewPackage{Name: c.name, Signers: c.signers, Due: parseDue(american, c.due, officetest.Now)}, c.each, c.due, american, officetest.Now)
			if got.files != c.want.files || got.signers != c.want.signers || got.name != c.want.name || got.due != c.want.due ||
				!slices.Equal(got.signer, c.want.signer) && len(c.want.signer) > 0 {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestADueDayEndsAtMidnightInTheOffice(t *testing.T) {
	want := time.Date(2026, 11, 30, 22, 59, 59, 0, time.UTC)
	for _, text := range []string{"2026-11-30", " 2026-11-30 ", "30.11.2026", "30. 11. 2026"} {
		if got := parseDue(american, text, officetest.Now); !got.Equal(want) {
			t.Errorf("%q: %v", text, got.UTC())
		}
	}
	if got := parseDue(american, "some day", officetest.Now); !got.IsZero() {
		t.Errorf("got %v", got)
	}
}

func TestTheDueDateShowsWhatWasUnderstood(t *testing.T) {
	t.Cleanup(func() { i18n.Use("en") })
	for code, c := range map[string]struct{ typed, hint, field, asks, waits string }{
		"en": {"+6", "Fri 27 Nov", "27 Nov 2026", "Enter a date, for example 31 Dec 2026.", "For example 31 Dec 2026, or +14 for 14 days from today"},
		"de": {"1.3.", "Mo, 1. März 2027", "01.03.2027", "Geben Sie das Datum als TT.MM.JJJJ ein, zum Beispiel 31.12.2026.", "Zum Beispiel 31.12.2026, oder +14 für heute in 14 Tagen"},
		"fr": {"+14", "sam. 5 déc.", "05/12/2026", "Indiquez la date ainsi\u00a0: 31/12/2026 (jour/mois/année).", "Par exemple 31/12/2026, ou +14 pour dans 14\u00a0jours"},
		"es": {"+14", "sáb 5 dic", "05/12/2026", "Escriba la fecha como día/mes/año, por ejemplo 31/12/2026.", "Por ejemplo 31/12/2026, o +14 para dentro de 14\u00a0días"},
	} {
		t.Run(code, func(t *testing.T) {
			i18n.Use(code)
			b := newBench(t, officetest.Busy())
			due, field := b.screen.due, b.screen.dueField
			b.Window.Canvas().Focus(due)
			screentest.Equal(t, "an empty field asks for", field.Said(), c.waits)
			b.write(c.typed)
			if field.Said() != c.hint || due.Text != c.typed {
				t.Errorf("while it is typed it says %q below %q", field.Said(), due.Text)
			}
			b.tab(1)
			if due.Text != c.field || field.Said() != c.hint {
				t.Errorf("the field reads %q above %q, want %q", due.Text, field.Said(), c.field)
			}
			due.SetText("some day")
			b.screen.Send()
			if field.Said() != c.asks || !field.IsWrong() {
				t.Errorf("it asks with %q, want %q", field.Said(), c.asks)
			}
		})
	}
}

func TestTheCalendarFillsInTheDayAsTheLanguageWritesIt(t *testing.T) {
	screentest.Speak(t, "de")
	b := newBench(t, officetest.Busy())
	b.screen.pickDay() // the cursor is on today
	b.key(fyne.KeyRight)
	b.key(fyne.KeyReturn)
	if got := b.screen.due.Text; got != "22.11.2026" {
		t.Errorf("got %q", got)
	}
}

// A calendar whose days stood under the names of others would have people choose a wrong date.
func TestTheCalendarsWeekBeginsAsInTheCountry(t *testing.T) {
	for country, want := range map[string]string{"": "Mon", "GB": "Mon", "US": "Sun"} {
		b := newBench(t, officetest.Busy())
		b.Env.Country = country
		b.screen.pickDay()
		heads, columns := map[string]float32{}, map[string]float32{}
		for _, o := range test.LaidOutObjects(screentest.Top(b.Window)) {
			at := b.App.Driver().AbsolutePositionForObject(o).X + o.Size().Width/2
			switch o := o.(type) {
			case *widgets.Line:
				heads[o.Text] = at
			case *widgets.Button:
				columns[o.Text] = at
			}
		}
		for name, x := range heads {
			if len(name) == 3 && x < heads[want] {
				t.Errorf("%q: weeks begin on %s", country, name)
			}
		}
		if off := heads["Sat"] - columns["21"]; off < -2 || off > 2 { // today is one
			t.Errorf("%q: the 21st is %v beside Saturday", country, off)
		}
	}
}

func TestMovingKeepsTheOrderOfTheOthers(t *testing.T) {
	for _, c := range []struct {
		from, to int
		want     []int
	}{{0, 2, []int{2, 3, 1, 4}}, {3, 1, []int{1, 4, 2, 3}}, {0, -1, []int{1, 2, 3, 4}}, {3, 4, []int{1, 2, 3, 4}}, {1, 1, []int{1, 2, 3, 4}}} {
		if list := moved([]int{1, 2, 3, 4}, c.from, c.to); !slices.Equal(list, c.want) {
			t.Errorf("%d to %d: got %v, want %v", c.from, c.to, list, c.want)
		}
	}
}

func TestPastedPeopleAreTakenApart(t *testing.T) {
	ana := office.Signer{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}
	jan := office.Signer{FirstName: "Jan Peter", LastName: "Weber", Email: "jan@example.com"}
	for text, want := range map[string][]office.Signer{
		"Ana Ruiz <ana@example.com>":                                          {ana},
		"  \"Ana Ruiz\"   <ana@example.com>\n":                                {ana},
		"Ruiz, Ana <ana@example.com>":                                         {ana},
		"\"Ruiz, Ana\" <ana@example.com>; Weber, Jan Peter <jan@example.com>": {ana, jan},
		"Ana Ruiz <ana@example.com>, Jan Peter Weber <jan@example.com>,":      {ana, jan},
		"Ana Ruiz <ana@example.com>\r\nJan Peter Weber <jan@example.com>":     {ana, jan},
		"ana@example.com": {{Email: "ana@example.com"}},
		"Наталья Соколова <n@example.com>":      {{FirstName: "Наталья", LastName: "Соколова", Email: "n@example.com"}},
		"Cher <cher@example.com>":               {{FirstName: "Cher", Email: "cher@example.com"}},
		"Ana Ruiz":                              nil,
		"Ana <ana@example>":                     nil,
		"Ana <ana@example.com":                  nil,
		"write to ana@example.com":              nil,
		"Ana Ruiz <ana@example.com> and others": nil,
		"":                                      nil,
	} {
		screentest.Equal(t, text, office.ReadPeople(text), want)
	}
}

func TestPeopleAreOfferedByTheBeginningOfANameOrAddress(t *testing.T) {
	known := offersOf(nil, []office.Signer{{FirstName: "Ana", LastName: "Ruiz", Email: "ana.ruiz@example.com"},
		{FirstName: "Jan", LastName: "Weber", Email: "jw@example.com"}, {FirstName: "Anatol", LastName: "van Dam", Email: "avd@example.com"}})
	for text, want := range map[string]int{"an": 2, "ANA R": 1, "ruiz": 1, "jw@": 1, "dam": 1, "uiz": 0, "": 3, "ana.ruiz@example.com": 0} {
		if got := matching(known, text, nil); len(got) != want {
			t.Errorf("%q: got %v, want %d", text, got, want)
		}
	}
	if got := matching(known, "an", map[string]bool{"ana.ruiz@example.com": true}); len(got) != 1 || got[0].name != "Anatol van Dam" {
		t.Errorf("who signs already is not offered again: %v", got)
	}
}

func TestAPresetIsKeptAndFilledInBesideWhatIsTyped(t *testing.T) {
	b := ready(t, officetest.Busy())
	b.screen.Fill(office.Form{Signers: []office.Signer{ana, jan}, Message: "Hello", Sequential: true, Due: "+14", Reference: "K-7", Recipients: []office.Recipient{eva}})
	b.screen.namePreset()
	b.write("Sellers Keller")
	b.key(fyne.KeyReturn)
	b.Settle()
	want := []office.FormPreset{{Name: "Sellers Keller", Form: office.Form{Signers: []office.Signer{ana, jan}, Message: "Hello", Sequential: true, Due: "+14",
		Recipients: []office.Recipient{eva}}}}
	screentest.Equal(t, "kept, without the documents and the reference", b.Office.Presets, want)
	b.screen.clear()
	b.add("b.pdf")
	b.Window.Canvas().Focus(b.screen.people[0].first)
	b.write("sell")
	b.key(fyne.KeyDown)
	b.key(fyne.KeyReturn)
	screentest.Equal(t, "the people are offered together", b.screen.signers(), []office.Signer{ana, jan})
	b.screen.message.SetText("")
	b.screen.UsePreset(want[0].Form)
	want[0].Form.Due, want[0].Form.Files = officetest.Now.AddDate(0, 0, 14).Format(time.DateOnly), b.screen.form().Files
	screentest.Equal(t, "filled in, nobody twice", b.screen.form(), want[0].Form)
	b.screen.deletePreset(want[0])
	b.Settle()
	screentest.Equal(t, "kept are", len(b.Office.Presets), 0)
	b.Deeds[len(b.Deeds)-1].Undone()
	b.Settle()
	screentest.Equal(t, "and after that is undone", len(b.Office.Presets), 1)
}

func TestEachDocumentCanBecomeItsOwnPackage(t *testing.T) {
	docs := []*document{{path: "/x/a_1.pdf"}, {path: "/x/b.pdf"}}
	d := office.NewPackage{Name: "All", Message: "hello"}
	one := pack(docs, d, false)
	if len(one) != 1 || one[0].draft.Name != "All" || !slices.Equal(one[0].draft.Files, []string{"/x/a_1.pdf", "/x/b.pdf"}) {
		t.Errorf("one package: %+v", one[0])
	}
	each := pack(docs, d, true)
	if len(each) != 2 || each[0].draft.Name != "a 1" || each[1].draft.Name != "b" || each[1].draft.Message != "hello" ||
		!slices.Equal(each[1].draft.Files, []string{"/x/b.pdf"}) {
		t.Errorf("a package each: %+v %+v", each[0], each[1])
	}
}

func TestTheReferenceTravelsAsTheStoreReadsIt(t *testing.T) {
	if got := string(externalData(`A "1"`, nil)); got != `{"reference":"A \"1\""}` {
		t.Errorf("got %s", got)
	}
	if externalData("", nil) != nil || office.ReferenceIn(nil) != "" || office.ReferenceIn(externalData("K-7", nil)) != "K-7" {
		t.Error("no reference is no data, and what was sent is read again")
	}
	for given, want := range map[string]string{`{"case":4711}`: `{"case":4711,"reference":"K-7"}`, `{"reference":"A","case":1}`: `{"case":1,"reference":"K-7"}`, `"A"`: `{"reference":"K-7"}`} {
		screentest.Equal(t, given, string(externalData("K-7", json.RawMessage(given))), want)
	}
}

// A program finds its package again by what it gave, although a person has corrected it.
func TestAProgramsDataStaysWithTheDraft(t *testing.T) {
	o := officetest.Busy()
	given := json.RawMessage(`{"case":4711}`)
	b := newBench(t, o)
	b.screen.Like(office.NewPackage{Signers: []office.Signer{jan}, Corrects: "p1", ExternalData: given}, nil)
	b.Settle()
	screentest.Equal(t, "of the corrected one", string(b.screen.draft().ExternalData), string(given))
	screentest.Equal(t, "at the next start", string(b.screen.form().External), string(given))
	b.screen.clear()
	b.screen.Like(office.NewPackage{Signers: []office.Signer{jan}, ExternalData: given}, nil)
	b.Settle()
	screentest.Equal(t, "of another", string(b.screen.draft().ExternalData), "")
}

func TestAHalfFilledFormIsThereAgainAtTheNextStart(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.add("Lease.pdf", "Rules.pdf")
	b.screen.replaces = "refused-before"
	b.screen.like(office.NewPackage{Message: "hello", Signers: []office.Signer{{Email: "half@"}, jan}, Sequential: true, ExternalData: externalData("K-7", nil)})
	b.screen.each.SetChecked(true)
	b.screen.due.SetText("+6")

	next := newBench(t, b.Office)
	if got, want := next.screen.form(), b.screen.form(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if next.screen.due.Text != "27 Nov 2026" || next.screen.name.Text != "Lease" || next.screen.bar.send.Text != "Send 2 packages to 2 people" {
		t.Errorf("the due date reads %q, the name %q, the button %q", next.screen.due.Text, next.screen.name.Text, next.screen.bar.send.Text)
	}
	next.screen.removeDocument(next.screen.docs[0])
	screentest.Equal(t, "a name that was proposed is still one that nobody typed", next.screen.name.Text, "Rules")
	next.screen.name.SetText("My own")
	next.screen.due.SetText("some day")
	if last := newBench(t, b.Office); last.screen.name.Text != "My own" || last.screen.due.Text != "some day" {
		t.Errorf("got %q, %q", last.screen.name.Text, last.screen.due.Text)
	}
}

func TestADayIsTheSameDayInAnotherLanguage(t *testing.T) {
	t.Cleanup(func() { i18n.Use("en") })
	b := newBench(t, officetest.Busy())
	b.screen.due.SetText("3/1/2027") // in March, for Americans
	i18n.Use("fr")
	if other := newBench(t, b.Office); other.screen.due.Text != "01/03/2027" {
		t.Errorf("got %q", other.screen.due.Text)
	}
}

func TestAFileThatIsGoneAtTheNextStartSaysSo(t *testing.T) {
	o := officetest.Busy()
	o.Typed = office.Form{Files: []office.FormFile{{Path: "/x/gone.pdf"}}}
	o.Infos = map[string]agent.FileInfo{"gone.pdf": {Problem: message.FileMayNotBeRead("gone.pdf")}}
	b := newBench(t, o)
	if !b.screen.docs[0].say.Visible() || !strings.Contains(b.screen.docs[0].say.Text, "could not be read") {
		t.Errorf("said %q", b.screen.docs[0].say.Text)
	}
}

// What waits to be sent is a draft of the office: the form would send it once more after a restart.
func TestWhatIsBeingSentIsNotKeptAsTypedAsWell(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.Office.Patient = true
	b.add("a.pdf")
	b.screen.like(filled(ana))
	b.send()
	if !b.Office.Form().Empty() || b.screen.Waiting() {
		t.Errorf("while it can be undone there is %+v", b.Office.Form())
	}
	b.Deeds[0].Undone()
	b.Settle()
	if got := b.Office.Form(); len(got.Files) != 1 || len(got.Signers) != 1 || b.Office.Asked("cancel pressed-1") != 1 || len(b.Office.Sent) != 0 {
		t.Errorf("after Undo there is %+v, taken back %q", got, b.Office.Done)
	}
	b.send()
	b.Office.Pass()
	b.Settle()
	if len(b.Office.Sent) != 1 || !b.Office.Form().Empty() {
		t.Errorf("sent %d; typed is %+v", len(b.Office.Sent), b.Office.Form())
	}
}

// The program may end while the second of two packages is copied: the first is sent at the next start, and typed it would be again.
func TestOfSeveralPackagesThoseThatTheOfficeHasAreNotKeptAsTyped(t *testing.T) {
	o := officetest.Busy()
	o.OnSend = func(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
		if d.Name == "a" {
			progress(office.SendState{DraftID: "draft-a", State: office.DraftHeld, Undo: true})
		}
		<-ctx.Done()
		return office.SendState{}, ctx.Err()
	}
	b := newBench(t, o)
	b.add("a.pdf", "b.pdf")
	b.screen.like(filled(ana))
	b.screen.each.SetChecked(true)
	both := b.Office.Form().Files
	b.screen.Send()
	b.Until(func() bool { return len(b.Office.Form().Files) < 2 })
	if got := b.Office.Form(); len(both) != 2 || !slices.Equal(got.Files, both[1:]) || len(got.Signers) != 1 {
		t.Errorf("typed is %+v of %+v", got, both)
	}
}

// Programs hand out temporary files and remove them at once; the computer may be started anew before anybody presses Send.
func TestATemporaryFileIsKeptWithTheForm(t *testing.T) {
	b := newBench(t, officetest.Busy())
	path := filepath.Join(t.TempDir(), "Offer.pdf")
	for range 2 { // what is added once more is the same document
		if err := os.WriteFile(path, []byte("%PDF-1.7"), 0o600); err != nil {
			t.Fatal(err)
		}
		b.screen.Add([]string{path})
		b.Settle()
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	again := newBench(t, b.Office) // after another start
	files := again.screen.draft().Files
	if len(files) != 1 || files[0] == path || again.names()[0] != "Offer.pdf" {
		t.Fatalf("the form has %q", files)
	}
	if bytes, err := os.ReadFile(files[0]); err != nil || string(bytes) != "%PDF-1.7" {
		t.Errorf("kept is %q, %v", bytes, err)
	}
}

func TestClearEmptiesTheFormAndCanBeUndone(t *testing.T) {
	b := newBench(t, officetest.Busy())
	if b.screen.clearing.Visible() || b.screen.Waiting() {
		t.Error("there is nothing to clear yet")
	}
	waits := false
	b.screen.OnWaiting = func(w bool) { waits = w }
	b.add("a.pdf", "b.pdf")
	b.screen.like(office.NewPackage{Message: "hello", Signers: []office.Signer{ana, jan}, Sequential: true, ExternalData: externalData("K-7", nil)})
	b.screen.due.SetText("12/31/2026")
	before := b.screen.form()
	if !b.screen.clearing.Visible() || !waits {
		t.Error("what is typed can be cleared, and the sidebar says that it waits")
	}
	b.screen.clearing.OnTapped()
	if !b.screen.form().Empty() || len(b.screen.people) != 1 || !b.Office.Form().Empty() || waits || b.screen.clearing.Visible() {
		t.Errorf("left %+v", b.screen.form())
	}
	b.Deeds[0].Undone()
	b.Settle()
	screentest.Equal(t, "undone, there is", b.screen.form(), before)
	b.screen.Clear()
	b.screen.like(filled(jan))
	b.Deeds[1].Undone()
	if screentest.Top(b.Window) == nil || len(b.screen.docs) != 0 {
		t.Error("Undo asks before it takes the place of something typed since")
	}
}

// The office may refuse what it is given, which then stays in the form; else that is cleared for the next one.
func TestNothingTakesThePlaceOfWhatIsBeingSent(t *testing.T) {
	b, o := withTemplates(t)
	b.add("Contract.pdf")
	b.screen.Clear()
	b.add("Lease.pdf")
	b.screen.people[0].fill(ana)
	asked, answer, begun, accept := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	o.Do("Templates", func() error { close(asked); <-answer; return nil })
	o.OnSend = func(context.Context, office.NewPackage, func(office.SendState)) (office.SendState, error) {
		close(begun)
		<-accept
		return office.SendState{DraftID: "d", State: office.DraftSent, PackageID: "p1"}, nil
	}
	b.screen.FromTemplate("t-lease", "Lease agreement")
	<-asked
	b.screen.Send()
	<-begun
	close(answer)
	b.Until(func() bool { return screentest.Top(b.Window) != nil || len(b.Notices) == 1 })
	b.Deeds[0].Undone()
	if screentest.Top(b.Window) != nil || !slices.Equal(b.names(), []string{"Lease.pdf"}) {
		t.Errorf("while it is sent, the form has %q", b.names())
	}
	close(accept)
	b.Settle()
	screentest.Equal(t, "once it is sent, what was cleared is back", b.names(), []string{"Contract.pdf"})
}

func TestWhatCannotBeSentIsRemovedAtOnce(t *testing.T) {
	b := newBench(t, told(officetest.Busy()))
	b.add("Lease Sonnenweg 4.pdf")
	if b.screen.sweep.Visible() {
		t.Error("all of it can be sent")
	}
	b.add("Offer.pdf", "Empty.pdf", "House rules.docx")
	if !b.screen.sweep.Visible() {
		t.Fatal("it is not offered")
	}
	b.screen.sweep.OnTapped()
	if got := fmt.Sprint(b.names()); got != "[Lease Sonnenweg 4.pdf House rules.docx]" || b.screen.sweep.Visible() {
		t.Errorf("left %s", got)
	}
}

// drawer is a folder with documents and what is none.
func drawer(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestADroppedFolderMeansItsFiles(t *testing.T) {
	b := newBench(t, officetest.Busy())
	dir := drawer(t, "b.pdf", "A.docx", "notes.exe", ".hidden.pdf", "older/c.pdf")
	b.screen.Add([]string{"/x/first.pdf", dir, filepath.Join(dir, "notes.exe")})
	b.Settle()
	if got := fmt.Sprint(b.names()); got != "[first.pdf A.docx b.pdf notes.exe]" {
		t.Errorf("got %s", got)
	}
	empty := drawer(t, "older/c.pdf")
	b.screen.Add([]string{empty})
	b.Settle()
	want := fmt.Sprintf("No document in “%s” can be sent. Documents in its subfolders are not added.", filepath.Base(empty))
	if len(b.screen.docs) != 4 || !slices.Contains(b.Notices, want) {
		t.Errorf("%d documents; said %q", len(b.screen.docs), b.Notices)
	}
}

func TestAFolderWithManyDocumentsIsAskedAbout(t *testing.T) {
	b := newBench(t, officetest.Busy())
	var names []string
	for i := range manyFiles + 1 {
		names = append(names, fmt.Sprintf("%02d.pdf", i))
	}
	add := func() { b.screen.Add([]string{"/x/Lease.pdf", drawer(t, names...)}); b.Settle() }
	add()
	if len(b.screen.docs) != 0 || screentest.Top(b.Window) == nil {
		t.Fatalf("%d documents were added unasked", len(b.screen.docs))
	}
	widgets.CloseAll(b.Window.Canvas())
	screentest.Equal(t, "to leave is to add nothing", len(b.screen.docs), 0)
	add()
	b.Press(screentest.Top(b.Window), "Do not add")
	screentest.Equal(t, "without the folder", b.names(), []string{"Lease.pdf"})
}

func TestWhatTheOfficeGoesOnTryingSaysSo(t *testing.T) {
	d := office.Draft{State: office.DraftQueued, Delivery: office.Delivery{Problem: message.ServiceUnreachable()}}
	if _, got := outbox.State(d); got != d.Problem.String()+" It will be sent automatically." {
		t.Errorf("said %q", got)
	}
}

func TestEnterGoesFromFieldToFieldAndRemovesNobody(t *testing.T) {
	b, _ := withTemplates(t)
	b.choose("tenant")
	for _, text := range []string{"Jan", "Weber", "jan.weber@example.com", "Ana", "Ruiz", "ana.ruiz@example.com"} {
		b.write(text)
		b.key(fyne.KeyReturn)
	}
	if got := b.screen.signers(); len(got) != 2 || got[0].Email != jan.Email || got[1].Email != ana.Email {
		t.Fatalf("the signers are %+v", got)
	}
	if b.focused() != fyne.Focusable(b.screen.addPerson) {
		t.Errorf("Enter came from the last signer to %T", b.focused())
	}
	fields := b.screen.basis.originals[0].entries
	b.Window.Canvas().Focus(fields[0])
	b.key(fyne.KeyReturn)
	if b.focused() != fyne.Focusable(fields[1]) {
		t.Error("Enter should come to the next field of the template")
	}
	b.screen.copies.add()
	b.write("office@example.com")
	b.key(fyne.KeyReturn)
	if b.focused() != fyne.Focusable(b.screen.message) {
		t.Errorf("Enter came from a copy to %T", b.focused())
	}
}

func TestADropLandsWhereItWasSaid(t *testing.T) {
	b := newBench(t, officetest.Busy())
	if place, does := b.screen.Landing(fyne.NewPos(100, 100)); *place != *placeOf(b.screen.target) || does == "" {
		t.Errorf("without documents: %+v, %q", place, does)
	}
	b.add("a.pdf", "b.pdf")
	rows := b.screen.fileBox.Objects
	for _, c := range []struct {
		name string
		at   func() fyne.Position
		want string
	}{
		{"before the second", func() fyne.Position { return placeOf(rows[1]).At.AddXY(20, 4) }, "[a.pdf new.pdf b.pdf]"},
		{"after the first", func() fyne.Position { return placeOf(rows[0]).At.AddXY(20, rows[0].Size().Height-4) }, "[a.pdf new.pdf b.pdf]"},
		{"above all", func() fyne.Position { return fyne.NewPos(placeOf(rows[0]).At.X, 1) }, "[new.pdf a.pdf b.pdf]"},
		{"below all", func() fyne.Position { return placeOf(rows[1]).At.AddXY(20, 300) }, "[a.pdf b.pdf new.pdf]"},
		{"beside them", func() fyne.Position { return placeOf(rows[0]).At.AddXY(rows[0].Size().Width+9, 0) }, "[a.pdf b.pdf new.pdf]"},
		{"nowhere", func() fyne.Position { return fyne.Position{} }, "[a.pdf b.pdf new.pdf]"},
	} {
		at := c.at()
		place, _ := b.screen.Landing(at)
		if place.Size.Height != 0 || place.Size.Width == 0 {
			t.Errorf("%s: it would land at %+v", c.name, place)
		}
		b.screen.Drop([]string{"/nowhere/new.pdf"}, at)
		b.Settle()
		screentest.Equal(t, c.name, fmt.Sprint(b.names()), c.want)
		for _, d := range b.screen.docs {
			if d.title() == "new.pdf" {
				b.screen.removeDocument(d)
				break
			}
		}
		b.Settle()
		rows = b.screen.fileBox.Objects
	}
}

// withTemplates is the screen in an office that has templates.
func withTemplates(t *testing.T) (*bench, *officetest.Office) {
	o := officetest.Busy()
	o.Library = officetest.Templates()
	return newBench(t, o), o
}

// choose opens the templates, searches for one and takes it, all by keys.
func (b *bench) choose(search string) {
	b.screen.ChooseTemplate()
	b.Settle()
	b.write(search)
	b.key(fyne.KeyReturn)
	b.Settle()
}

func (b *bench) roles() (list []string) {
	for _, p := range b.screen.people {
		list = append(list, p.role+":"+p.email.Text)
	}
	return list
}

func TestReplacingATemplatesDocumentAsksForOneFileInItsPlace(t *testing.T) {
	b, _ := withTemplates(t)
	b.choose("tenant")
	b.System.OnChoose = func(_ context.Context, d system.FileDialog) ([]string, error) {
		screentest.Equal(t, "it asks", []string{d.Title, d.Accept, fmt.Sprint(d.Kind == system.OpenFile)}, []string{"Replace “House rules”", "Replace", "true"})
		return []string{"/x/Our rules.pdf"}, nil
	}
	b.Tap(b.screen.basis.originals[1].swap)
	b.Settle()
	if o := b.screen.basis.originals[1]; o.instead == nil || o.instead.path != "/x/Our rules.pdf" {
		t.Errorf("in its place is %+v", o.instead)
	}
}

func TestATemplateIsFoundFilledAndSentByKeys(t *testing.T) {
	b, o := withTemplates(t)
	b.choose("tenant")
	if got := b.roles(); !slices.Equal(got, []string{"Landlord:", "Tenant:"}) || !b.screen.sequential() || b.screen.name.Text != "Lease agreement" {
		t.Fatalf("roles %q, name %q", got, b.screen.name.Text)
	}
	b.write("Jan") // where the cursor is
	b.screen.people[0].fill(jan)
	b.screen.people[1].fill(ana)
	lease := b.screen.basis.originals[0]
	lease.entries[0].SetText("Sonnenweg 4")
	b.add("Plan.pdf")
	screentest.Equal(t, "the button says", b.screen.bar.send.Text, "Send 3 documents to 2 people")
	b.sent()
	if len(o.Sent) != 0 {
		t.Fatal("nobody was asked about the empty field")
	}
	if said := screentest.Text(screentest.Top(b.Window)); strings.Contains(said, "stay empty") || !strings.HasPrefix(said, "1 field of the template is empty Special agreements") {
		t.Errorf("beside “Fill them in” and “Send anyway” it says %q", said)
	}
	b.screen.basis.originals[1].Replace("/x/Our rules.pdf") // the window takes files whatever covers it
	b.Settle()
	b.Press(screentest.Top(b.Window), "Send anyway")
	if len(o.Sent) != 1 || !o.Sent[0].EmptyFields {
		t.Fatalf("sent %+v, wrong %q", o.Sent, b.screen.bar.text.Text)
	}
	d := o.Sent[0]
	own := d.Template.Documents
	if d.Template.ID != "t-lease" || len(own[0].Data) != 1 || own[0].Data["address"] != "Sonnenweg 4" || own[1].File != "/x/Our rules.pdf" || len(d.Files) != 1 {
		t.Errorf("sent %+v with %q", d.Template, d.Files)
	}
	if d.Signers[1].RoleID != "s-2" || d.Signers[1].Email != ana.Email || d.Message != "Read both, then sign." {
		t.Errorf("signers %+v, message %q", d.Signers, d.Message)
	}
	if !slices.ContainsFunc(d.Recipients, func(r office.Recipient) bool { return r.Same("records@example.com") }) {
		t.Errorf("recipients %+v", d.Recipients)
	}
	if b.screen.basis != nil || len(b.screen.people) != 1 || !o.Form().Empty() {
		t.Error("the form is not empty after the package was sent")
	}
}

func TestPeopleWhoWereTypedTakeTheOpenRoles(t *testing.T) {
	b, _ := withTemplates(t)
	b.screen.like(filled(ana, jan))
	b.choose("engagement")
	if got := b.roles(); !slices.Equal(got, []string{"Client:" + ana.Email, "Lawyer:laura@example.com", ":" + jan.Email}) {
		t.Errorf("%q", got)
	}
	b.add("Offer.pdf")
	b.choose("lease")
	screentest.Equal(t, "after another template", b.roles(), []string{"Landlord:" + ana.Email, "Tenant:" + jan.Email})
	b.Tap(b.screen.basis.drop)
	if got := b.roles(); !slices.Equal(got, []string{":" + ana.Email, ":" + jan.Email}) || len(b.screen.docs) != 1 || b.screen.message.Text != "" || len(b.screen.copies.added) != 0 {
		t.Errorf("without a template: %q, %q, message %q", got, b.names(), b.screen.message.Text)
	}
}

func TestAFileDroppedOnADocumentOfTheTemplateTakesItsPlace(t *testing.T) {
	b, _ := withTemplates(t)
	b.choose("lease")
	rules := b.screen.basis.originals[1]
	at := fyne.CurrentApp().Driver().AbsolutePositionForObject(rules.row).AddXY(20, 10)
	path := filepath.Join(drawer(t, "Our rules.pdf"), "Our rules.pdf") // of a program that removes it soon
	drop := func() { b.screen.Drop([]string{path}, at); b.Settle() }
	b.screen.handing = &handing{passed: true}
	if drop(); rules.instead != nil {
		t.Error("what is being sent is shown with another document")
	}
	b.screen.handing = nil
	drop()
	if rules.instead == nil || len(b.screen.docs) != 0 {
		t.Fatalf("it was added: %q", b.names())
	}
	_, err := os.Stat(rules.filled().File)
	if err = errors.Join(os.Remove(path), err); err != nil || rules.filled().File == path {
		t.Errorf("the form has %q, which is gone: %v", rules.filled().File, err)
	}
	b.screen.Drop([]string{"/x/Plan.pdf"}, fyne.NewPos(0, 0))
	b.Settle()
	if len(b.screen.docs) != 1 {
		t.Errorf("beside: %q", b.names())
	}
	b.Tap(rules.instead.remove)
	if rules.instead != nil || b.screen.documentCount() != 3 {
		t.Error("the template's own document is not back")
	}
}

func TestWhatWasFilledInComesBackAfterARestart(t *testing.T) {
	b, o := withTemplates(t)
	b.choose("lease")
	b.screen.people[1].fill(ana)
	b.screen.basis.originals[0].entries[1].SetText("950")
	b.screen.basis.originals[1].Replace("/x/Our rules.pdf")
	b.Settle()
	again := newBench(t, o)
	screentest.Equal(t, "roles", again.roles(), []string{"Landlord:", "Tenant:" + ana.Email})
	d := again.screen.draft()
	if d.Template == nil || d.Template.Documents[0].Data["rent"] != "950" || d.Template.Documents[1].File != "/x/Our rules.pdf" || d.Name != "Lease agreement" {
		t.Errorf("%+v", d.Template)
	}
}

func TestARefusedPackageFromATemplateIsChangedAndSentInItsPlace(t *testing.T) {
	b, o := withTemplates(t)
	o.OnSend = func(context.Context, office.NewPackage, func(office.SendState)) (office.SendState, error) {
		return office.SendState{DraftID: "d-9", State: office.DraftFailed, Problem: message.TemplateGone("Lease agreement")}, nil
	}
	b.choose("lease")
	b.screen.people[0].fill(jan)
	b.screen.people[1].fill(ana)
	b.screen.basis.originals[0].entries[0].SetText("Sonnenweg 4")
	b.screen.basis.originals[0].entries[2].SetText("None")
	b.sent()
	kept := office.Draft{ID: "d-7", Name: "Flat", Template: o.Sent[0].Template, Signers: o.Sent[0].Signers}
	edit := func() {
		o.Change(office.OutboxChanged, func(o *officetest.Office) { o.Waiting = append(o.Waiting, kept) })
		b.screen.Edit(kept)
		b.Settle()
	}
	edit()
	if got := b.roles(); b.screen.basis == nil || b.screen.replaces != "d-7" || got[0] != "Landlord:"+jan.Email {
		t.Errorf("edited: %q", got)
	}
	b.sent()
	screentest.Equal(t, "it takes the place of", o.Sent[1].Replaces, []string{"d-7"})
	edit()
	b.choose("engagement")
	screentest.Equal(t, "with another template it would be sent beside the one that was refused", b.screen.replaces, "d-7")
}

func TestRolesAndDocumentsThatAreMissingAreMarked(t *testing.T) {
	b, o := withTemplates(t)
	b.choose("disclosure")
	b.screen.Send()
	b.Settle()
	w := b.screen.check(b.screen.draft())
	if len(o.Sent) != 0 || w.files == "" || len(w.signer) != 2 || w.signer[0].text == "" || w.signer[1].text == "" {
		t.Errorf("sent %d, wrong %+v", len(o.Sent), w)
	}
}

func TestAServiceWithoutTemplatesHidesThem(t *testing.T) {
	b, o := withTemplates(t)
	o.Do("Templates", func() error {
		o.Change(office.StatusChanged, func(o *officetest.Office) { o.Lacks = []string{"templates"} })
		return message.Error(message.TemplatesNotOffered(), errors.New("404"))
	})
	b.Tap(b.screen.choose)
	if b.screen.choose.Visible() {
		t.Error("templates are still offered")
	}
	b.key(fyne.KeyEscape)
	if top := screentest.Top(b.Window); top == nil {
		t.Error("the sentence is gone at once")
	}
}

// What the template brings pushes what stands below it down at once, also while that changes, too.
func TestRowsThatComeAtOnceCoverNothing(t *testing.T) {
	b, _ := withTemplates(t)
	b.choose("lease")
	driver := fyne.CurrentApp().Driver()
	last := b.screen.basis.originals[1].row
	if end, next := driver.AbsolutePositionForObject(last).Y+last.Size().Height, driver.AbsolutePositionForObject(b.screen.add).Y; next < end {
		t.Errorf("the rows end at %v, and the buttons begin at %v", end, next)
	}
}

func TestWhatIsSaidBelowAFieldIsSeen(t *testing.T) {
	b := ready(t, officetest.Busy())
	b.screen.like(filled(ana, jan, office.Signer{FirstName: "Eve", LastName: "Novák"}))
	b.Window.Resize(fyne.NewSize(700, 480))
	seen := func(what string) {
		t.Helper()
		field, page := placeOf(b.screen.dueField), placeOf(b.screen.columns)
		if end := field.At.Y + b.screen.dueField.MinSize().Height; end > page.At.Y+page.Size.Height {
			t.Errorf("%s ends at %v, the page at %v", what, end, page.At.Y+page.Size.Height)
		}
	}
	b.Window.Canvas().Focus(b.screen.due)
	seen("the hint")
	b.screen.due.SetText("31.2.2027")
	b.tab(2)
	seen("the error")
	b.Window.Canvas().Focus(b.screen.due)
	b.screen.due.SetText("")
	seen("the hint, once it is empty")
	b.Window.Canvas().Unfocus()
	b.screen.columns.ScrollToOffset(b.screen.columns.Offset.SubtractXY(0, 30))
	at := b.screen.columns.Offset
	b.screen.due.MouseDown(&desktop.MouseEvent{Button: desktop.MouseButtonPrimary})
	if now := b.screen.columns.Offset; now != at || b.focused() != fyne.Focusable(b.screen.due) {
		t.Errorf("a press moves the page from %v to %v, under the mouse", at, now)
	}
	b.screen.due.MouseUp(&desktop.MouseEvent{Button: desktop.MouseButtonPrimary})
	seen("the hint, once the mouse is released")
}

func TestWhatATemplateBringsLeavesNoHole(t *testing.T) {
	b, _ := withTemplates(t)
	b.Window.Resize(fyne.NewSize(986, 772))
	b.choose("lease")
	if buttons, name := placeOf(b.screen.deeds), placeOf(b.screen.nameField); name.At.Y != buttons.At.Y+buttons.Size.Height+12 {
		t.Errorf("the buttons are at %+v, the name at %+v", buttons, name)
	}
}

func TestTheErrorOfADocumentHasItsRoomAtOnce(t *testing.T) {
	b := newBench(t, told(officetest.Busy()))
	b.Window.Resize(fyne.NewSize(860, 720))
	b.add("Offer.pdf")
	place, s := fyne.CurrentApp().Driver().AbsolutePositionForObject, b.screen
	last := float32(0)
	for _, o := range []fyne.CanvasObject{s.docs[0].say, s.add, s.sweep, s.name} {
		if place(o).Y < last {
			t.Errorf("%T begins at %v, what is above it ends at %v", o, place(o).Y, last)
		}
		last = place(o).Y + max(o.MinSize().Height, o.Size().Height)
	}
}
