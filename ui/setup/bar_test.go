package setup

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"countersign/ui/theme"
)

// calmApp is an app whose widgets can stand still.
type calmApp struct {
	fyne.App
	settings *calmSettings
}

type calmSettings struct {
	fyne.Settings
	still bool
}

func (a calmApp) Settings() fyne.Settings    { return a.settings }
func (s *calmSettings) ShowAnimations() bool { return !s.still }

// TestTheBarSaysThatWorkGoesOnWithoutMoving: for people whom motion disturbs, the words alone say it.
func TestTheBarSaysThatWorkGoesOnWithoutMoving(t *testing.T) {
	app := test.NewTempApp(t)
	app.Settings().SetTheme(theme.New())
	settings := &calmSettings{Settings: app.Settings()}
	fyne.SetCurrentApp(calmApp{app, settings})
	b := newBar(nil, nil, nil)
	const text = "Testing the service…"
	for _, still := range []bool{true, false, true} {
		settings.still = still
		b.busy(text)
		if b.moves.Running() == still || b.room.Visible() == still || b.text.Text != text {
			t.Errorf("still %v: it moves %v, is seen %v and says %q", still, b.moves.Running(), b.room.Visible(), b.text.Text)
		}
		b.rest(true, "On")
	}
}
