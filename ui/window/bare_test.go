package window

import (
	"slices"
	"testing"
	"time"

	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

// labels are the lines of a menu.
func (t BareTray) labels() (list []string) {
	for _, e := range t.Entries {
		list = append(list, e.Label)
	}
	return list
}

// press does what the line of that label does.
func (t BareTray) press(label string) bool {
	at := slices.IndexFunc(t.Entries, func(e BareEntry) bool { return e.Label == label && e.Do != nil })
	if at >= 0 {
		t.Entries[at].Do()
	}
	return at >= 0
}

func TestTheTrayWithoutAWindowTellsTheStateAndDoesWhatNeedsNone(t *testing.T) {
	t.Cleanup(func() { i18n.Use("") })
	o := officetest.Busy()
	now := time.Now()
	asked, quit := 0, 0
	b := Bare{Office: o, System: &screentest.System{}, Now: func() time.Time { return now },
		Why: func() { asked++ }, Quit: func() { quit++ }, Report: func(err error) {
			if err != nil {
				t.Error(err)
			}
		}}
	i18n.Use("de")
	if german := b.Tray().labels(); !slices.Contains(german, "Warum kein Fenster da ist") {
		t.Errorf("the menu is %q", german)
	}
	i18n.Use("en")
	tray := b.Tray()
	for _, label := range []string{"Why there is no window", "Quit", "Open folder", "Pause notifications for an hour"} {
		if !tray.press(label) {
			t.Errorf("the menu is %q, and %q does nothing", tray.labels(), label)
		}
	}
	if asked != 1 || quit != 1 || !o.Snoozed().Equal(now.Add(time.Hour)) {
		t.Errorf("asked %d times, quit %d times, paused until %v", asked, quit, o.Snoozed())
	}
	paused := b.Tray()
	if paused.Same(tray) || paused.Until(now) == nil || tray.Until(now) != nil {
		t.Errorf("a pause changes nothing: %q", paused.labels())
	}
	if again := b.Tray(); !again.Same(paused) {
		t.Errorf("twice the same is two menus: %q and %q", paused.labels(), again.labels())
	}
	now = now.Add(2 * time.Hour)
	if over := b.Tray(); !over.Same(tray) {
		t.Errorf("after the pause the menu is %q", over.labels())
	}
}
