package motion

import (
	"image"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"
	"fyne.io/fyne/v2/driver/software"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/widget"
)

// newApp makes an app as the program has it; one that only runs in tests has other settings.
func newApp(t *testing.T) fyne.App {
	home, err := os.MkdirTemp("", "motion")
	if err == nil {
		err = os.Mkdir(filepath.Join(home, ".cache"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) }) // Fyne may still write its preferences
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("APPDATA", home)
	before := fyne.CurrentApp()
	t.Cleanup(func() { fyne.SetCurrentApp(before) })
	return app.NewWithID("countersign.motion.test")
}

func TestWhatTurnsStandsStillAndStillSaysThatWorkGoesOn(t *testing.T) {
	a := newApp(t)
	rest := Of(a)
	if !fyne.CurrentApp().Settings().ShowAnimations() {
		t.Fatal("nothing asked for stillness")
	}
	rest(true)
	if fyne.CurrentApp().Settings().ShowAnimations() {
		t.Fatal("widgets move")
	}
	a.Settings().SetTheme(test.NewTheme()) // whatever changes the settings
	if a.Settings().ShowAnimations() {
		t.Fatal("a change of the settings lets widgets move")
	}
	busy := widget.NewActivity()
	c := software.NewCanvas()
	c.SetContent(busy)
	c.Resize(fyne.NewSquareSize(40))
	none := c.Capture()
	busy.Start()
	defer busy.Stop()
	dots := c.Capture()
	if same(none, dots) {
		t.Error("nothing says that work goes on")
	}
	for range 5 {
		time.Sleep(time.Millisecond) // an animation draws with each frame
		if !same(dots, c.Capture()) {
			t.Error("it moves")
		}
	}
	rest(false)
	if !fyne.CurrentApp().Settings().ShowAnimations() {
		t.Error("widgets move no more")
	}
}

func TestWhatFynesFileSaysLaterCounts(t *testing.T) {
	a := newApp(t)
	file := animationsDisabled(a.Settings())
	*file = true
	rest := Of(a)
	rest(true)
	read := func(still bool) { // the file is read again
		*file = still
		a.Settings().SetTheme(test.NewTheme())
	}
	if read(false); a.Settings().ShowAnimations() {
		t.Error("widgets move, which a person does not want")
	}
	if rest(false); !a.Settings().ShowAnimations() {
		t.Error("widgets stand still for what the file said before")
	}
	if read(true); a.Settings().ShowAnimations() {
		t.Error("widgets move, which the file forbids")
	}
	rest(true)
	if rest(false); a.Settings().ShowAnimations() {
		t.Error("afterwards they move")
	}
}

// TestFyneKeepsItsSettings: it follows the system's light and dark for those alone that it made, and its code for macOS
// ends the program where it finds others.
func TestFyneKeepsItsSettings(t *testing.T) {
	a := newApp(t)
	before := a.Settings()
	Of(a)(true)
	if fyne.CurrentApp() != a || fyne.CurrentApp().Settings() != before {
		t.Error("the app has other settings than Fyne gave it")
	}
}

func TestTheSettingsOfATestAreLeftAlone(t *testing.T) {
	a := test.NewTempApp(t)
	Of(a)(true)
	if !a.Settings().ShowAnimations() {
		t.Error("they changed")
	}
}

func same(a, b image.Image) bool {
	x, y := a.(*image.NRGBA), b.(*image.NRGBA)
	return string(x.Pix) == string(y.Pix)
}
