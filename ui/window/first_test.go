package window

import (
	"context"
	"testing"

	"fyne.io/fyne/v2"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/system"
)

// unset is an office that nobody has set up.
func unset() *officetest.Office {
	o := officetest.Empty()
	o.Kept = office.DefaultSettings()
	return o
}

// playing makes the demo of a bench start as told, and counts how often it was ended.
func (b *bench) playing(o env.Office, err error) (ended *int) {
	ended = new(int)
	b.window.options.StartDemo = func(context.Context) (env.Office, func(), error) {
		if err != nil {
			return nil, nil, err
		}
		return o, func() { *ended++ }, nil
	}
	b.window.openSetup() // anew, now that there is a demo
	return ended
}

func TestTheWizardComesFirstAndGivesWayWhenAllIsSetUp(t *testing.T) {
	b := newBench(t, unset())
	if b.window.setup == nil {
		t.Fatal("an office that is not set up begins with the wizard")
	}
	b.window.Add([]string{b.file("a.pdf", 10)})
	b.Settle()
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) { o.Kept = officetest.Settings() }) // by the command
	b.Until(func() bool { return b.window.setup == nil })
	if b.window.at != showCompose {
		t.Error("files that were handed over meanwhile wait in Send")
	}
	if set := newBench(t, officetest.Busy()); set.window.setup != nil {
		t.Error("an office that is set up needs no wizard")
	}
}

func TestTheDemoTakesTheWindowAndGivesItBack(t *testing.T) {
	b := newBench(t, unset())
	ended := b.playing(officetest.Busy(), nil)
	b.window.setup.Demo()
	b.Until(func() bool { return b.window.demo })
	b.Settle()
	if b.window.setup != nil || b.window.env.Office == env.Office(b.Office) || b.window.account.who == "" {
		t.Error("the demo's o is shown, signed in")
	}
	b.Office.Change(office.ShowRequested, func(*officetest.Office) {}) // of a second start: still heard
	b.window.LeaveDemo()
	b.Settle()
	b.window.own.Close()
	if b.window.demo || b.window.setup == nil || *ended != 1 {
		t.Errorf("the wizard is back and the demo ended %d times", *ended)
	}
}

// A dialog of the screens before would choose for them.
func TestAFileDialogGoesWithItsScreens(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"another office": func(b *bench) { b.window.LeaveDemo() },
		"another language": func(b *bench) {
			t.Cleanup(func() { i18n.Use("") })
			b.window.env.Office.(*officetest.Office).Change(office.SettingsChanged, func(o *officetest.Office) { o.Kept.Language = "en" })
			b.Until(func() bool { return b.window.language == "en" })
		},
	} {
		b := newBench(t, unset())
		b.playing(officetest.Busy(), nil)
		b.window.setup.Demo()
		b.Until(func() bool { return b.window.demo })
		b.Settle()
		left := make(chan struct{})
		b.System.OnChoose = func(ctx context.Context, _ system.FileDialog) ([]string, error) {
			<-ctx.Done()
			close(left)
			return nil, ctx.Err()
		}
		b.window.settings.get().PickFolder()
		b.Run()
		if !b.isOpen() {
			t.Fatalf("%s: nothing says that a folder is asked for", name)
		}
		change(b)
		<-left
		b.Settle()
		if b.isOpen() {
			t.Errorf("%s: what was asked for the screens before covers those of now", name)
		}
	}
}

func TestADemoThatDoesNotStartIsToldInTheWizard(t *testing.T) {
	b := newBench(t, unset())
	b.playing(nil, message.Error(message.OwnDiskFull(), nil))
	b.window.setup.Demo()
	b.Until(func() bool { return b.window.setup.Said() != "" && b.window.setup.Said() != "Starting the demo…" })
	if b.window.setup.Said() != message.OwnDiskFull().String() || b.window.demo {
		t.Errorf("said %q", b.window.setup.Said())
	}
}

func TestADemoEndsWithTheWindow(t *testing.T) {
	b := newBench(t, unset())
	ended := b.playing(officetest.Busy(), nil)
	b.window.setup.Demo()
	b.Until(func() bool { return b.window.demo })
	b.window.Close()
	if *ended != 1 {
		t.Errorf("ended %d times", *ended)
	}
}

func TestThemeAndLanguageChangeLive(t *testing.T) {
	b := newBench(t, officetest.Busy())
	t.Cleanup(func() { i18n.Use("") })
	b.window.Go(showSettings)
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) { o.Kept.Theme = "dark" })
	b.Until(func() bool { return b.window.painted.Variant == "dark" })
	view := b.window.pool
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) { o.Kept.Language = "en" })
	b.Until(func() bool { return b.window.language == "en" })
	b.Settle()
	if b.window.pool == view || b.window.at != showSettings {
		t.Error("another language makes all texts anew, on the same screen")
	}
}

func TestTheWizardKnowsItsKeys(t *testing.T) {
	b := newBench(t, unset())
	b.window.onKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	if b.window.setup.Said() == "" {
		t.Error("Enter goes on, and says what is missing")
	}
	b.window.onKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	if b.window.setup == nil {
		t.Error("Escape does not leave the wizard")
	}
}
