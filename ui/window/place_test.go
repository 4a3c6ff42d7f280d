package window

import (
	"context"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/test"

	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

// TestAnotherLanguageKeepsThePlace changes the language in the settings: whatever was shown is shown on, at once, and
// before anything is known nothing is said.
func TestAnotherLanguageKeepsThePlace(t *testing.T) {
	t.Cleanup(func() { i18n.Use("en") })
	office := officetest.Busy()
	b := newBench(t, office)
	w := b.window
	w.ShowPackage("p3")
	w.Go(showActivity)
	w.activity.ShowEvents()
	w.Go(showSettings)
	w.settings.get().ShowProgram()
	b.Settle()
	german := office.Settings()
	german.Language = "de"
	w.follows(german) // nothing is read yet: no queue ran
	if w.at != showSettings || !w.settings.get().ShowsProgram() {
		t.Error("the settings are not where they were")
	}
	if !w.account.known || !w.account.signedIn || w.packages.Chosen() != "p3" || len(w.packages.Listed()) == 0 {
		t.Errorf("known %v, package %q, %d listed", w.account.known, w.packages.Chosen(), len(w.packages.Listed()))
	}
	b.Settle()
	if w.packages.Chosen() != "p3" || w.at != showSettings {
		t.Error("afterwards it is elsewhere")
	}
}

// TestAnotherLanguageKeepsTheFocus chooses it by keys: the next key goes to the same input.
func TestAnotherLanguageKeepsTheFocus(t *testing.T) {
	t.Cleanup(func() { i18n.Use("en") })
	office := officetest.Busy()
	office.Kept.Language = "en"
	b := newBench(t, office)
	w := b.window
	w.Go(showSettings)
	w.settings.get().ShowProgram()
	b.Settle()
	canvas := w.window.Canvas()
	selected := func() string {
		if s, is := canvas.Focused().(*widgets.Select); is {
			return s.Selected
		}
		return ""
	}
	for i := 0; selected() != "English"; i++ {
		if canvas.FocusNext(); i > 50 {
			t.Fatal("Tab does not lead to the language")
		}
	}
	office.Kept.Language = "de"
	w.follows(office.Settings())
	b.Settle()
	if got := selected(); got != "Deutsch" {
		t.Errorf("the focus is on %T with %q", canvas.Focused(), got)
	}
}

func TestNothingIsSaidBeforeItIsKnown(t *testing.T) {
	b := &bench{Stage: screentest.NewStage(t, officetest.Busy()), t: t, tray: true}
	b.window = New(t.Context(), b.App, Options{Office: b.Office, System: b.System, Do: b.Do, Now: b.Now,
		HasTray: func(context.Context) bool { return true }, Quit: func() {}, After: b.after})
	b.Wait = func() { b.window.pool.Wait() }
	t.Cleanup(func() { b.window.Close(); b.window.window.Close() })
	b.window.Show()
	for at := range b.window.screens {
		b.window.Go(at)
		for _, o := range test.LaidOutObjects(b.window.main) {
			if text, ok := o.(*canvas.Text); ok && (text.Text == "Not signed in" || strings.HasSuffix(text.Text, "yet.")) {
				t.Errorf("screen %d says %q before anything is known", at, text.Text)
			}
		}
	}
	b.Settle()
}

func TestEscapeLeadsBackToTheListFromEverywhere(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.window.packages.Show("p1")
	b.Settle()
	for _, from := range []int{showCompose, showActivity, showStatus, showSettings, showAbout, showPackages} {
		b.window.Go(from)
		if from == showPackages {
			b.window.window.Canvas().Focus(nil)
		}
		b.key(fyne.KeyEscape)
		if _, list := b.window.window.Canvas().Focused().(*widgets.List); !list || b.window.at != showPackages || b.window.packages.Chosen() != "p1" {
			t.Errorf("from screen %d: the focus is on %T, shown is %s", from, b.window.window.Canvas().Focused(), b.window.packages.Chosen())
		}
	}
}
