package window

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"

	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

// TestWhatIsShortenedKeepsItsEnd looks at every text of every screen, in every language, with names too long for it: what
// tells them apart is at their end.
func TestWhatIsShortenedKeepsItsEnd(t *testing.T) {
	t.Cleanup(func() { i18n.Use("") })
	for _, language := range []string{"en", "de", "fr", "es"} {
		world := officetest.World()
		world.Kept.Language = language
		world.Waiting = officetest.Wrong().Waiting
		world.Waiting[1].Name = strings.Repeat("A letter to be signed by everybody in the house, ", 3) + "second version"
		b := newBench(t, world)
		b.window.Add([]string{b.file(strings.Repeat("The lease of the flat in Sonnenweg ", 5)+"4 b.pdf", 10)})
		b.window.compose.get().Fill(office.NewPackage{Message: "hello", Signers: world.Rows[0].Signers})
		b.Settle()
		b.window.window.Resize(screentest.Small)
		shortened := 0
		for at := range b.window.screens {
			b.window.Go(at)
			b.Settle()
			b.inSight(func(o fyne.CanvasObject, _ rectangle, _ *container.Scroll) {
				var whole string
				switch o := o.(type) {
				case *widgets.Line:
					if whole = o.Text; o.Begins {
						return
					}
				case *widgets.Prose:
					whole = o.Text
				default:
					return
				}
				lines := test.WidgetRenderer(o.(fyne.Widget)).Objects()
				shown := lines[len(lines)-1].(*canvas.Text).Text
				if !strings.Contains(shown, "…") || strings.Contains(whole, "…") {
					return
				}
				shortened++
				if strings.HasSuffix(shown, "…") {
					t.Errorf("%s, screen %d: %q is shown as %q", language, at, whole, shown)
				}
			})
		}
		if shortened < 4 {
			t.Errorf("%s: only %d texts are shortened", language, shortened)
		}
	}
}
