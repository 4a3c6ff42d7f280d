package compose

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"fyne.io/fyne/v2"

	"countersign/ui/officetest"
)

// folder makes a folder with two documents, another folder with one, and what is not listed.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "zoning"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.pdf", "A.DOCX", "program.exe", ".hidden.pdf", "zoning/plan.pdf"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSeveralFilesArePickedByKeys(t *testing.T) {
	b := newBench(t, officetest.Busy())
	dir := folder(t)
	b.screen.folder = dir
	b.Window.Canvas().Focus(b.screen.add)
	b.key(fyne.KeyReturn)
	b.Settle()
	press := func(keys ...fyne.KeyName) {
		for _, key := range keys {
			b.key(key)
			b.Settle()
		}
	}
	// zoning, A.DOCX, b.pdf
	press(fyne.KeyReturn, fyne.KeySpace, fyne.KeyBackspace) // into the folder, its plan, and back
	press(fyne.KeyEnd, fyne.KeySpace, fyne.KeyUp, fyne.KeySpace, fyne.KeySpace)
	press(fyne.KeyReturn)
	if got := fmt.Sprint(b.names()); got != "[plan.pdf b.pdf]" {
		t.Errorf("got %s", got)
	}
	if b.Window.Canvas().Overlays().Top() != nil || b.focused() != fyne.Focusable(b.screen.add) || b.screen.folder != dir {
		t.Error("afterwards one more Enter goes on where it was")
	}
	press(fyne.KeyReturn, fyne.KeyEnd, fyne.KeyUp, fyne.KeyReturn)
	if got := fmt.Sprint(b.names()); got != "[plan.pdf b.pdf A.DOCX]" {
		t.Errorf("with nothing chosen, Enter takes the line: %s", got)
	}
	press(fyne.KeyReturn, fyne.KeyEscape)
	if b.Window.Canvas().Overlays().Top() != nil || len(b.screen.docs) != 3 {
		t.Error("Escape leaves")
	}
}

func TestAFolderThatIsGoneSaysSo(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.folder = filepath.Join(t.TempDir(), "gone")
	b.screen.pickFiles()
	b.Settle()
	if b.Window.Canvas().Overlays().Top() == nil {
		t.Fatal("the picker is shown")
	}
	lines, err := listed(b.screen.folder)
	if err == nil || len(lines) != 0 {
		t.Errorf("got %v, %v", lines, err)
	}
}
