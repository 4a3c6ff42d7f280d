package packages

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/test"

	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
)

// narrow is how wide a row is in the smallest window.
const narrow = 271

func TestARowWithADueDateSaysForWhomItWaits(t *testing.T) {
	t.Cleanup(func() { i18n.Use("") })
	for _, language := range []string{"en", "de", "fr", "es"} {
		i18n.Use(language)
		b := newBench(t, officetest.Busy())
		row := newItem()
		lease := b.screen.all.listed(b.screen.all.places["p1"])
		for _, late := range []bool{false, true} {
			if late {
				lease.line.Due = officetest.Now.AddDate(0, 0, -1)
			}
			row.show(officetest.Now, office.DueDays, lease, newestFirst)
			b.Show(row, fyne.NewSize(narrow, 60))
			row.Resize(fyne.NewSize(narrow, row.MinSize().Height))
			shown := func(o fyne.CanvasObject) string {
				return test.WidgetRenderer(o.(fyne.Widget)).Objects()[0].(*canvas.Text).Text
			}
			if text := shown(row.line); !strings.Contains(text, "Ana Ruiz") || strings.Contains(text, "…") {
				t.Errorf("in %s it says %q", language, text)
			}
			if shown(row.name) != "Lease Sonnenweg 4" || !row.dueBox.Visible() || shown(row.due) == "" || row.age.Visible() {
				t.Errorf("in %s it says %q, due %q", language, shown(row.name), shown(row.due))
			}
		}
	}
}
