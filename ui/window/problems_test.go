package window

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"

	"countersign/internal/agent"
	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/widgets"
)

// has says whether a text or a button is to be seen among the packages.
func (b *bench) has(text string) (shown bool) {
	content, size := b.window.packages.Content(), b.window.window.Canvas().Size()
	inSight(content, fyne.Position{}, rectangle{to: fyne.Position{}.Add(size)}, nil, func(o fyne.CanvasObject, _ rectangle, _ *container.Scroll) {
		switch o := o.(type) {
		case *widgets.Prose:
			shown = shown || o.Text == text
		case *widgets.Button:
			shown = shown || o.Text == text && o.OnTapped != nil
		}
	})
	return shown
}

// TestWhateverIsWrongIsListedAndOffersSomethingToDo shows everything that can be wrong with the office, one after the other.
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
		if needed := state.Severity != agent.Info; b.window.health.Visible() != needed {
			t.Errorf("%s: the strip is there: %v", state.ID, !needed)
		} else if !needed {
			continue
		}
		word := i18n.Action(issue.Action)
		buttons := 0
		for _, o := range test.LaidOutObjects(b.window.health) {
			if button, ok := o.(*widgets.Button); ok && button.Visible() && button.Text == word && word != "" {
				buttons++
			}
		}
		if buttons != 1 {
			t.Errorf("%s: the strip has %d buttons for %q", state.ID, buttons, state.Action)
		}
		p.press(t, i18n.Message(issue.Message)) // the tray's line leads to the problem
		b.Settle()
		if b.window.at != showPackages || !b.has(i18n.Message(issue.Message)) || !b.has(word) {
			t.Errorf("%s: from the tray it is not found among the problems, with what to do", state.ID)
		}
		quits, acted, opened := b.quits, len(b.Office.Acted), len(b.System.SoFar())
		p.press(t, word)
		signing := b.window.account.cancel != nil
		b.window.account.stop() // which waits for a browser
		b.Settle()
		if issue.Action == agent.ActTakeBack { // which is asked about first
			for _, o := range test.LaidOutObjects(b.window.window.Canvas().Overlays().Top()) {
				if button, is := o.(*widgets.Button); is && button.Text == word {
					test.Tap(button)
				}
			}
			b.Settle()
		}
		if !signing && b.quits == quits && len(b.Office.Acted) == acted && len(b.System.SoFar()) == opened && b.window.at == showPackages {
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
			asked := b.Office.Asked
			b.window.window.Canvas().Focus(f)
			b.key(fyne.KeyF5)
			if b.Office.Asked != asked+1 {
				t.Errorf("screen %d: with the focus on %T, F5 asks %d times", at, f, b.Office.Asked-asked)
			}
		}
	}
}
