package ui

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"countersign/internal/agent"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"
	"fyne.io/systray"
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

// TestLayersPointOneWay reads the imports of everything under ui: only this package brings Fyne's driver, screens do
// not know each other, widgets and theme know nothing of the office, and nobody reaches past the agent.
func TestLayersPointOneWay(t *testing.T) {
	screens := []string{"packages", "compose", "activity", "settings", "setup", "about"}
	forbidden := map[string][]string{
		"theme":     {"countersign/internal", "countersign/ui"},
		"async":     {"countersign", "fyne.io"},
		"autostart": {"countersign/internal/agent", "countersign/internal/office", "fyne.io"},
		"system":    {"countersign/ui", "countersign/internal/agent", "countersign/internal/office", "fyne.io"}, // messages are all it knows
		"widgets":   {"countersign/internal", "countersign/ui/env", "countersign/ui/i18n"},
		"env":       {"countersign/ui/widgets"},
	}
	for _, s := range screens {
		for _, other := range append(screens, "window") {
			if other != s {
				forbidden[s] = append(forbidden[s], "countersign/ui/"+other)
			}
		}
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		layer := filepath.Dir(path)
		bans := append([]string{"countersign/internal/esign", "countersign/internal/inbox", "countersign/internal/tunnel",
			"countersign/internal/secret", "countersign/internal/archive", "countersign/internal/notify"}, forbidden[layer]...)
		if layer != "." && filepath.Base(path) != "motion_test.go" { // which is about the settings of a real app
			bans = append(bans, "fyne.io/fyne/v2/app")
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if name == "countersign/ui/displaytest" && strings.HasSuffix(path, "_test.go") {
				continue // knows nothing of what is shown
			}
			for _, ban := range bans {
				if name == ban || strings.HasPrefix(name, ban+"/") {
					t.Errorf("%s must not import %s", path, name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNothingGoesPastOurOwnWidgets: what floats over a window is opened in one place, which also closes it, and what is
// pressed shows the focus and answers to Enter, and what scrolls does so over fields, too. Fyne's own do none of it.
func TestNothingGoesPastOurOwnWidgets(t *testing.T) {
	past := regexp.MustCompile(`fyne/v2/dialog"|\bwidget\.(New(Modal)?PopUp|ShowPopUp|ShowModalPopUp|NewPopUpMenu|ShowPopUpMenu|PopUp\b|NewCalendar|` +
		`NewButton|Button\b|NewCheck|Check\b|NewSelect|Select\b|NewRadio|RadioGroup\b|NewEntry|NewMultiLineEntry|NewPasswordEntry|Entry\b|NewList\b|NewHyperlink|NewSlider|NewTable|NewTree|NewAccordion)|` +
		`Overlays\(\)\.(Add|Remove)|container\.New(V|H)?Scroll\b`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == "widgets" {
			return err
		}
		source, err := os.ReadFile(path)
		if found := past.Find(source); found != nil {
			t.Errorf("%s uses %s; package widgets has its like", path, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var _ Office = (*agent.Agent)(nil) // the window fits the agent as it is

// TestAMenuThatChangesPressesNothing: the library closes the channel of an entry that it removes, which is no click. One on Quit
// would end the program.
func TestAMenuThatChangesPressesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer systray.ResetMenu()
		p := panel{ctx: t.Context()}
		var pressed atomic.Int32
		press := func() { pressed.Add(1) }
		for range 50 { // mostly before anybody waits for a click on the one before
			p.menu([]*fyne.MenuItem{fyne.NewMenuItem("Open folder", press), fyne.NewMenuItemSeparator(), fyne.NewMenuItem("Quit", press)})
		}
		synctest.Wait()
		if n := pressed.Load(); n > 0 {
			t.Errorf("%d entries were pressed that nobody pressed", n)
		}
	})
}
