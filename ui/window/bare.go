package window

import (
	"context"
	"slices"
	"time"

	"fyne.io/fyne/v2/lang"

	"countersign/assets"
	"countersign/internal/agent"
	"countersign/ui/env"
	"countersign/ui/i18n"
)

// Bare is the tray of an office that has no window: what it shows, and what can be done there without one. It needs no
// driver of Fyne's. Its methods may be called from any goroutine.
type Bare struct {
	Office env.Office
	System env.System
	Now    func() time.Time
	Why    func() // tells why there is no window
	Quit   func()
	Report func(error) // of what was tried here
}

// BareTray is what the tray shows.
type BareTray struct {
	Icon    assets.Tray
	Tooltip string
	Entries []BareEntry
	changes time.Time // when it says something else by itself; zero for never
}

// Until is ready when the tray has to be shown anew although nothing happened; nil for never.
func (t BareTray) Until(now time.Time) <-chan time.Time {
	if t.changes.IsZero() {
		return nil
	}
	return time.After(t.changes.Sub(now))
}

// Same says whether two menus read the same.
func (t BareTray) Same(other BareTray) bool {
	return slices.EqualFunc(t.Entries, other.Entries, func(a, b BareEntry) bool { return a.Label == b.Label && a.leads == b.leads })
}

// BareEntry is a line of the tray's menu. One without a label separates others, one without Do only says something.
type BareEntry struct {
	Label string
	Do    func()
	leads string // to this file or folder
}

// Tray is what is to be shown now, in the language in use. What cannot be read is missing, and health says why.
func (b Bare) Tray() BareTray {
	o, _ := overviewOf(b.Office)
	line := stateLine(o.status)
	t := BareTray{Icon: trayState(o.status), Tooltip: "Countersign\n" + line}
	add := func(label string, do func()) { t.Entries = append(t.Entries, BareEntry{Label: label, Do: do}) }
	opens := func(label, path string) {
		t.Entries = append(t.Entries, BareEntry{Label: label, Do: func() { b.Report(b.System.OpenFile(path)) }, leads: path})
	}
	add(line, nil)
	if o.status.SignedIn {
		add(accountLine(o.status), nil)
	} else {
		add(lang.L("Sign in"), b.signIn)
	}
	add("", nil)
	add(lang.L("Why there is no window"), b.Why)
	add("", nil)
	if len(o.saved) > 0 {
		add(lang.L("Recently saved"), nil)
		for i, name := range savedNames(o.saved) {
			opens(name, pathOf(o.saved[i]))
		}
	}
	if folder := b.Office.Settings().SaveTo; folder != "" {
		opens(lang.L("Open folder"), folder)
	}
	if until := o.paused; until.After(b.Now()) {
		t.changes = until
		when := until.In(b.Now().Location()).Format("15:04")
		add(lang.L("Resume notifications, paused until {{.When}}", i18n.V{"When": when}), func() { b.Office.Snooze(time.Time{}) })
	} else {
		add(lang.L("Pause notifications for an hour"), func() { b.Office.Snooze(b.Now().Add(pauseFor)) })
	}
	add("", nil)
	add(lang.L("Quit"), b.Quit)
	return t
}

// signIn shows the service's page in the browser and waits for its answer.
func (b Bare) signIn() {
	b.Report(b.Office.SignIn(context.Background(), agent.SignInOptions{}, func(address string) error {
		return b.System.OpenAddress(context.Background(), address)
	}))
}
