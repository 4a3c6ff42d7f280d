package widgets

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"countersign/ui/theme"
)

func TestAPassingRemarkOnAChoiceMovesNothing(t *testing.T) {
	app := test.NewTempApp(t)
	app.Settings().SetTheme(theme.New())
	f := NewField("Theme", NewSelect([]string{"Light", "Dark"}, nil), "")
	window := app.NewWindow("")
	t.Cleanup(window.Close)
	window.SetContent(f)
	window.Resize(fyne.NewSize(300, 200))
	before := f.MinSize()
	f.Note(theme.Done, "Saved.")
	if got := f.MinSize(); got.Height != before.Height || f.Said() != "Saved." {
		t.Errorf("it says %q in %v, before it took %v", f.Said(), got, before)
	}
	f.Wrong("Choose one.")
	if f.Said() != "Choose one." {
		t.Errorf("what is wrong is hidden by %q", f.Said())
	}
	f.Wrong("")
	if got := f.MinSize(); got != before || f.Said() != "" {
		t.Errorf("afterwards it says %q in %v", f.Said(), got)
	}
}
