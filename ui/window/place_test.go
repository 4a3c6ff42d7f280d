package window

import (
	"context"
	"strings"
	"testing"

	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/test"

	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
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
	w.settings.ShowProgram()
	b.Settle()
	german := office.Settings()
	german.Language = "de"
	w.follows(german) // nothing is read yet: no queue ran
	if w.at != showSettings || !w.settings.ShowsProgram() {
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
