package ui

import (
	"os"
	"os/exec"
	"testing"

	"fyne.io/fyne/v2/app"
)

// Fyne must not be left with anything to do when its loop has ended: it may wait for ever to have that done. Another
// version of Fyne that hides its last act from us fails here.
//
// Fyne watches its folder for as long as the process lives, and makes it anew when it is removed. So the test is a process of
// its own, whose folder is removed after it.
func TestFyneIsLeftWithoutALastAct(t *testing.T) {
	const alone = "COUNTERSIGN_TEST_ALONE"
	if os.Getenv(alone) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), alone+"=yes", "HOME="+t.TempDir(), "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=",
			"DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
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
