package ui

import (
	"testing"

	"fyne.io/fyne/v2/app"
)

// Fyne must not be left with anything to do when its loop has ended: it may wait for ever to have that done. Another
// version of Fyne that hides its last act from us fails here.
func TestFyneIsLeftWithoutALastAct(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	l := app.NewWithID("ch.countersign.test").Lifecycle()
	hooks, ok := l.(interface{ OnStopped() func() })
	if !ok || hooks.OnStopped() == nil {
		t.Fatal("Fyne has no last act any more; lastAct has nothing to take")
	}
	last := lastAct(l)
	if hooks.OnStopped() != nil {
		t.Error("Fyne still has its last act")
	}
	last()
}
