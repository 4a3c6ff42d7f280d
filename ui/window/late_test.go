package window

import (
	"context"
	"strings"
	"testing"

	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

// TestTheWindowComesBeforeWhatNobodySeesYet starts with the packages: the window does not wait for the other large screens,
// and each of them is there, filled in, once somebody goes to it.
func TestTheWindowComesBeforeWhatNobodySeesYet(t *testing.T) {
	world := officetest.Busy()
	world.Typed = office.Form{Message: "half written"}
	b := &bench{Stage: screentest.NewStage(t, world), t: t, tray: true}
	b.window = New(t.Context(), b.App, Options{Office: b.Office, System: b.System, Do: b.Do, Now: b.Now,
		HasTray: func(context.Context) bool { return true }, Quit: func() {}, After: b.after})
	w := b.window
	b.Wait = func() { w.pool.Wait() }
	t.Cleanup(func() { w.Close(); w.window.Close() })
	w.Show()
	if w.compose.made || w.settings.made || w.about.made {
		t.Errorf("the window waited for Send: %v, Settings: %v, Help: %v", w.compose.made, w.settings.made, w.about.made)
	}
	b.Settle()
	if !strings.Contains(screentest.Text(w.main), "Draft") {
		t.Error("the entry of Send does not say that something waits there")
	}
	if w.settings.made || w.about.made {
		t.Error("a screen is made that nobody went to")
	}
	for at, says := range map[int]string{showCompose: "half written", showSettings: "Signed documents", showAbout: "1.0"} {
		w.Go(at)
		b.Settle()
		if got := screentest.Text(w.screens[at].Content()); !strings.Contains(got, says) {
			t.Errorf("screen %d lacks %q:\n%s", at, says, got)
		}
	}
}
