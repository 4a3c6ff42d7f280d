package window

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/test"

	"countersign/internal/agent"
	"countersign/internal/agent/health"
	"countersign/internal/fasttest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/outbox"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

// TestAProblemIsSaidOnceAndMarkedElsewhere looks at where a problem is said: beside every screen, but not where the status says it.
func TestAProblemIsSaidOnceAndMarkedElsewhere(t *testing.T) {
	b := newBench(t, officetest.Wrong())
	what, _ := i18n.Words().Lines(message.SignInLapsed())
	for at := range b.window.screens {
		b.window.Go(at)
		b.Settle()
		said := 0
		b.inSight(func(o fyne.CanvasObject, _ rectangle, _ *container.Scroll) {
			if text, is := o.(*widgets.Prose); is && strings.HasPrefix(text.Text, what) {
				said++
			}
		})
		screentest.Equal(t, fmt.Sprintf("screen %d says it", at), said, 1)
	}
	b.window.Go(showPackages)
	b.window.health.OnNote()
	screentest.Equal(t, "the note leads to", b.window.at, showStatus)
	b.Office.Change(office.StatusChanged, func(o *officetest.Office) { o.State.Health = o.State.Health[1:] }) // which only limits the office
	b.window.Go(showPackages)
	b.Until(func() bool { return b.window.health.Text() == "" })
}

// TestWhatIsWrongMovesNothing shows a problem at an ordinary size: all that could be pressed before stays where it was.
func TestWhatIsWrongMovesNothing(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.window.window.Resize(screentest.Big)
	b.Settle()
	before := b.buttons()
	b.Office.Change(office.StatusChanged, func(o *officetest.Office) {
		o.State.Health = []agent.Issue{{ID: "folder", Severity: agent.Problem, Since: officetest.Now, Message: message.WaitForRoom("Signed", 3), Action: agent.ActChooseFolder}}
	})
	b.Until(func() bool { return b.window.health.Text() != "" })
	after := b.buttons()
	for name, at := range before {
		if after[name] != at {
			t.Errorf("%q was at %v and is at %v", name, at, after[name])
		}
	}
	if at := after[i18n.Action(agent.ActChooseFolder)]; at.empty() {
		t.Errorf("what can be done is not shown: %v", after)
	}
}

func TestWhatSettingsCanSolveLeadsToThem(t *testing.T) {
	b := newBench(t, officetest.Busy())
	for _, c := range []struct {
		id     string
		action agent.Action
		page   string
	}{
		{"hot-folder", agent.ActFolders, "Watched folders"},
		{"client", agent.ActSettings, "Service and account"},
		{agent.IssueHub, agent.ActSettings, "Computers"},
		{agent.IssueRecord, agent.ActSettings, "General"},
	} {
		b.window.Act(agent.Issue{ID: c.id, Severity: agent.Problem, Message: message.Stopped(), Action: c.action}, nil)
		b.Settle()
		b.says(c.page + ", selected")
	}
}

// TestWhateverIsWrongIsListedAndOffersSomethingToDo shows everything that can be wrong with the office, one after the other.
// Whoever may not send would fill in the form for nothing, and the same account would come back from the browser.
func TestAnAccountThatMayNotSendIsSaidAboveTheFormWithTheWayToAnother(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.Office.Change(office.StatusChanged, func(o *officetest.Office) {
		o.State.Health = []agent.Issue{{ID: health.MayNotSend.ID, Severity: health.MayNotSend.Severity, Action: health.MayNotSend.Action, Message: message.MayNotSend()}}
	})
	b.window.Go(showCompose)
	b.window.status.Ask()
	b.Settle()
	if said := screentest.Text(b.window.health); !strings.Contains(said, "Your account does not have permission to send packages.") {
		t.Fatalf("above the form it says %q", said)
	}
	b.Office.Fail("SignIn", context.Canceled)
	b.Tap(screentest.Button(b.window.health, "Switch account"))
	screentest.Equal(t, "another account is asked for", b.Office.Asked("sign in login"), 1)
}

func TestWhateverIsWrongIsListedAndOffersSomethingToDo(t *testing.T) {
	b := newBench(t, officetest.Busy())
	p := &panel{App: b.App}
	b.window.tray = newTray(p, b.window)
	b.window.AttachTray()
	for _, state := range append(health.States(), health.Stopped("loop")) {
		issue := agent.Issue{ID: state.ID, Severity: state.Severity, Action: state.Action, Since: officetest.Now, Message: message.Stopped()}
		b.Office.Change(office.StatusChanged, func(o *officetest.Office) { o.State.Health = []agent.Issue{issue} })
		b.window.Go(showStatus)
		b.window.status.Ask()
		b.Settle()
		word, text := i18n.Action(issue.Action), strings.SplitAfter(i18n.Message(issue.Message), ".")[0]
		if !strings.Contains(screentest.Text(b.window.standing.Content()), text) || word != "" && screentest.Button(b.window.standing.Content(), word) == nil {
			t.Errorf("%s: the status does not say it, with %q", state.ID, word)
		}
		b.window.Go(showPackages)
		if needed := state.Severity == agent.Problem; b.window.health.Visible() != needed || needed && issue.Action != agent.ActSignIn && screentest.Button(b.window.health, word) == nil {
			t.Errorf("%s: it is said beside the packages: %v", state.ID, !needed)
		}
		if state.Severity == agent.Info {
			continue
		}
		p.press(t, i18n.Message(issue.Message)) // the tray's line leads to the problem
		b.Settle()
		screentest.Equal(t, state.ID+": the tray leads to", b.window.at, showStatus)
		quits, acted, opened := b.quits, b.Office.Asked("act "+issue.ID), len(b.System.SoFar())
		p.press(t, word)
		signing := b.window.account.cancel != nil
		if signing { // which waits for a browser
			b.window.account.cancel()
		}
		b.Settle()
		if issue.Action == agent.ActTakeBack { // which is asked about first
			b.Press(b.top(), word)
		}
		if !signing && b.quits == quits && b.Office.Asked("act "+issue.ID) == acted && len(b.System.SoFar()) == opened && b.window.at == showStatus {
			t.Errorf("%s: pressing %q does nothing", state.ID, word)
		}
		b.key(fyne.KeyEscape)
	}
}

// F5 asks the service now, wherever the person is and whatever has the focus.
func TestF5AsksNow(t *testing.T) {
	b := newBench(t, officetest.Busy())
	for at := range b.window.screens {
		b.window.Go(at)
		b.Settle()
		var focusable []fyne.Focusable
		b.inSight(func(o fyne.CanvasObject, _ rectangle, _ *container.Scroll) {
			if f, ok := o.(fyne.Focusable); ok {
				focusable = append(focusable, f)
			}
		})
		for _, f := range append(focusable, nil) {
			asked := b.Office.Asked("check")
			b.window.window.Canvas().Focus(f)
			b.key(fyne.KeyF5)
			screentest.Equal(t, fmt.Sprintf("screen %d: with the focus on %T, F5 asks", at, f), b.Office.Asked("check")-asked, 1)
		}
	}
}

type rectangle struct{ from, to fyne.Position }

func (r rectangle) cut(by rectangle) rectangle {
	return rectangle{fyne.NewPos(max(r.from.X, by.from.X), max(r.from.Y, by.from.Y)), fyne.NewPos(min(r.to.X, by.to.X), min(r.to.Y, by.to.Y))}
}

func (r rectangle) empty() bool { return r.from.X >= r.to.X || r.from.Y >= r.to.Y }

// inSight hands over every object within o that is to be seen, where, and what it is scrolled by, nil for nothing.
func inSight(o fyne.CanvasObject, at fyne.Position, seen rectangle, by *container.Scroll, found func(fyne.CanvasObject, rectangle, *container.Scroll)) {
	at = at.Add(o.Position())
	own := rectangle{at, at.Add(o.Size())}.cut(seen)
	if !o.Visible() || own.empty() {
		return
	}
	found(o, own, by)
	switch o := o.(type) {
	case *fyne.Container:
		for _, part := range o.Objects {
			inSight(part, at, seen, by, found)
		}
	case fyne.Widget:
		if scroll, scrolls := o.(*container.Scroll); scrolls {
			seen, by = own, scroll
		}
		for _, part := range test.WidgetRenderer(o).Objects() {
			inSight(part, at, seen, by, found)
		}
	}
}

// inSight is all that is to be seen of the window, without pop-ups.
func (b *bench) inSight(found func(fyne.CanvasObject, rectangle, *container.Scroll)) {
	canvas := b.window.window.Canvas()
	inSight(canvas.Content(), fyne.Position{}, rectangle{to: fyne.Position{}.Add(canvas.Size())}, nil, found)
}

// TestWhatIsSaidInPassingCoversNothingToPress says things in passing wherever a person may be, at every size and in
// every language.
func TestWhatIsSaidInPassingCoversNothingToPress(t *testing.T) {
	fasttest.Slow(t)
	short := "6 events were exported."
	long := strings.Repeat("“Mandate Keller - certificate.pdf” is no longer where it was saved (/home/office/Documents/Signed). ", 2)
	for _, language := range []string{"en", "de", "fr", "es"} {
		sizes, texts := []fyne.Size{screentest.Small}, []string{long}
		if language == "en" {
			sizes, texts = append(sizes, screentest.Big), append(texts, short)
		}
		for _, scene := range []struct {
			name   string
			office *officetest.Office
			play   []func(*bench)
		}{
			{"an ordinary day, and about to send", officetest.Busy(), []func(*bench){func(*bench) {}, pressed}},
			{"something is wrong", officetest.Wrong(), []func(*bench){func(*bench) {}}},
			{"long names", officetest.World(), []func(*bench){func(*bench) {}}},
		} {
			b := inLanguage(t, language, scene.office)
			for _, play := range scene.play {
				play(b)
				for _, text := range texts {
					b.window.env.Notice(text)
					for _, size := range sizes {
						b.window.window.Resize(size)
						for at := range b.window.screens {
							b.window.Go(at)
							b.Run() // what is being sent waits
							b.coversNothing(fmt.Sprintf("%s, in %s, screen %d, %v, %d letters", scene.name, language, at, size, len(text)))
						}
					}
				}
			}
		}
	}
}

func (b *bench) coversNothing(where string) {
	b.t.Helper()
	toasts, pressed := b.window.notice, 0
	if !toasts.Visible() || toasts.MinSize().Height > toasts.Size().Height {
		b.t.Fatalf("%s: it is not shown whole", where)
	}
	var room rectangle
	b.inSight(func(o fyne.CanvasObject, seen rectangle, _ *container.Scroll) {
		if o == toasts {
			room = seen
		}
	})
	own := test.LaidOutObjects(toasts)
	b.inSight(func(o fyne.CanvasObject, seen rectangle, _ *container.Scroll) {
		_, tappable := o.(fyne.Tappable)
		_, draggable := o.(fyne.Draggable)
		if !tappable && !draggable || slices.Contains(own, o) {
			return
		}
		if !seen.cut(room).empty() {
			b.t.Fatalf("%s: it covers a %T at %v", where, o, seen)
		}
		pressed++
	})
	if pressed < 6 {
		b.t.Fatalf("%s: only %d things can be pressed", where, pressed)
	}
}

// TestUndoIsNeverWhereSendComes presses the button that prevents something, once more or too late. What lies there then must
// send nothing; nor must a second press on Send prevent what the first one meant.
func TestUndoIsNeverWhereSendComes(t *testing.T) {
	for _, size := range []fyne.Size{screentest.Small, screentest.Big} {
		b := newBench(t, officetest.Busy())
		fill(b)
		b.window.window.Resize(size)
		b.Run()
		send := b.buttons()["Send 2 documents to 2 people"]
		b.Office.Patient = true
		b.window.compose.get().Send()
		b.Until(b.window.grace.Busy)
		undo := b.buttons()["Undo"]
		if send.empty() || undo.empty() {
			t.Fatalf("Send lies at %v, Undo at %v: %v", send, undo, b.buttons())
		}
		if !send.cut(undo).empty() {
			t.Errorf("at %v a second press on Send, at %v, meets Undo, at %v", size, send, undo)
		}
	}
}

// buttons are those that are to be seen, by what they say.
func (b *bench) buttons() map[string]rectangle {
	all := map[string]rectangle{}
	b.inSight(func(o fyne.CanvasObject, seen rectangle, _ *container.Scroll) {
		if button, is := o.(*widgets.Button); is {
			all[cmp.Or(button.Text, button.AccessibilityLabel())] = seen
		}
	})
	return all
}

// key presses a key as the driver does: what has the focus gets it, else the window.
func (b *bench) key(name fyne.KeyName) {
	e := &fyne.KeyEvent{Name: name}
	if focused := b.window.window.Canvas().Focused(); focused != nil {
		focused.TypedKey(e)
	} else {
		b.window.onKey(e)
	}
	b.Settle()
}

// isOpen says whether something lies over the window.
func (b *bench) isOpen() bool { return b.window.window.Canvas().Overlays().Top() != nil }

// TestEscapeTakesEveryPopUpFromTheWindow presses everything there is to press on every screen. What can be pressed in whatever
// opens over the window has a name, and all of it is gone after Escape, also when Tab has led through all of it.
func TestEscapeTakesEveryPopUpFromTheWindow(t *testing.T) {
	fasttest.Slow(t)
	for language, times := range map[string][]int{"en": {0, 1, 2, 5}, "de": {0}} {
		b := inLanguage(t, language, officetest.Busy())
		opened := 0
		b.openers(func(what string, open func()) {
			for _, tabs := range times {
				open()
				b.Settle()
				if !b.isOpen() {
					return
				}
				if tabs == 0 {
					opened++
					b.allNamed(what)
				}
				for range tabs {
					b.window.window.Canvas().FocusNext()
				}
				b.key(fyne.KeyEscape)
				if b.isOpen() {
					t.Fatalf("%s, after %d times Tab: Escape leaves something over the window", what, tabs)
				}
			}
		})
		if opened < 12 {
			t.Errorf("in %s only %d things opened", language, opened)
		}
	}
}

// openers tries everything there is to press on every screen, and what else opens something over the window.
func (b *bench) openers(try func(what string, open func())) {
	waits := []string{lang.L("Sign in"), lang.L("Switch account"), lang.L("Test the service"), lang.L("Test the address")} // for somebody outside
	for at := range b.window.screens {
		b.window.Go(at)
		b.Settle()
		for _, o := range test.LaidOutObjects(b.window.main) {
			switch o := o.(type) {
			case *widgets.Button:
				if o.Visible() && !o.Disabled() && o.OnTapped != nil && !slices.Contains(waits, o.Text) {
					try(o.Text, func() { b.window.Go(at); o.OnTapped() })
				}
			case *widgets.Select:
				try(o.Selected, func() { o.Tapped(nil) })
			case *widgets.Entry:
				try("the menu of an entry", func() { o.TappedSecondary(&fyne.PointEvent{}) })
			}
		}
	}
	b.tray = false
	try("closing without a tray", b.window.Hide)
	try("the folder", b.window.settings.get().PickFolder)
	b.window.compose.get().Fill(office.Form{Message: "typed", Signers: signers(1)})
	try("beginning anew", func() { b.window.SendLike(office.NewPackage{Message: "another", Signers: signers(2)}, nil) })
	b.Office.Change(office.OutboxChanged, func(o *officetest.Office) {
		o.Waiting = append(o.Waiting, office.Draft{ID: "d9", State: office.DraftUnknown})
	})
	b.Settle()
	b.window.ShowPackage(outbox.RowID("d9"))
	var again *widgets.Button
	b.Until(func() bool {
		again = screentest.Button(b.window.packages.Content(), lang.L("Send again"))
		return again != nil
	})
	try(again.Text, again.OnTapped)
}

func TestTakingTheOfficeBackCanBeAskedForAgainAfterEscape(t *testing.T) {
	o := officetest.Busy()
	o.State.Health = []agent.Issue{{ID: "moved", Severity: agent.Problem, Action: agent.ActTakeBack, Since: officetest.Now, Message: message.MovingNow()}}
	o.Steps, o.State.SignedIn = []office.Check{}, false
	b := newBench(t, o)
	b.window.ShowStatus()
	b.Settle()
	if screentest.Button(b.window.account.content, lang.L("Sign in")) != nil {
		t.Error("somebody can try to sign in")
	}
	for range 2 {
		button := screentest.Button(b.window.standing.Content(), i18n.Action(agent.ActTakeBack))
		if button == nil || button.Disabled() {
			t.Fatal("the office cannot be taken back")
		}
		b.Tap(button)
		if !b.isOpen() {
			t.Fatal("it does not ask")
		}
		b.key(fyne.KeyEscape)
		b.Settle()
	}
	screentest.Equal(t, "taken back", o.Asked("act moved"), 0)
}
