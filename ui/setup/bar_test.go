package setup

import (
	"testing"

	"fyne.io/fyne/v2/test"

	"countersign/ui/motion"
	"countersign/ui/theme"
)

// TestTheBarSaysThatWorkGoesOnWithoutMoving: for people whom motion disturbs, the words alone say it.
func TestTheBarSaysThatWorkGoesOnWithoutMoving(t *testing.T) {
	app := motion.Use(test.NewTempApp(t))
	app.Settings().SetTheme(theme.New())
	b := newBar(nil, nil, nil)
	const text = "Testing the service…"
	for _, still := range []bool{true, false, true} {
		app.Rest(still)
		b.busy(text)
		if b.moves.Running() == still || b.room.Visible() == still || b.text.Text != text {
			t.Errorf("still %v: it moves %v, is seen %v and says %q", still, b.moves.Running(), b.room.Visible(), b.text.Text)
		}
		b.rest(true, "On")
	}
}
