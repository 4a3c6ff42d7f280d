package setup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/system"
)

func TestAnOfficeIsBroughtOverOnceItWasSeenAndIntoAFolderThatIsHere(t *testing.T) {
	w := first(t)
	path := filepath.Join(t.TempDir(), "Office moving.countersign")
	if err := os.WriteFile(path, []byte("countersign sealed file 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.System.OnChoose = func(_ context.Context, d system.FileDialog) ([]string, error) { return []string{path}, nil }
	w.Say("The file before it is damaged.")
	w.PickMove()
	w.Settle()
	if w.Env.Window.Canvas().Overlays().Top() == nil || w.bar.text.Text != "" {
		t.Fatalf("nothing is asked; said %q", w.bar.text.Text)
	}
	w.Env.Window.Canvas().Overlays().Top().Hide()
	b := newBring(w.Screen, path)
	b.password.SetText("wrong")
	b.press()
	w.Settle()
	if !strings.Contains(b.said.Text, "password does not open") || b.says.Visible() || w.done != 0 {
		t.Errorf("said %q", b.said.Text)
	}
	b.password.SetText(officetest.MovePassword)
	b.press()
	w.Settle()
	if w.done != 0 || w.Office.BroughtTo != "" || !b.says.Visible() || b.ask.Visible() {
		t.Fatal("it was brought over before anybody saw what is in it")
	}
	text := screentest.Text(b.rows)
	for _, want := range []string{"sign.example.com", "api.example.com", "olivia.office@example.com", "front-desk", "/home/olivia/Signed", "/srv/leases", "214", "Ana Ruiz"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown in %q", want, text)
		}
	}
	b.press()
	w.Settle()
	if !strings.Contains(b.said.Text, "Choose the folder") || w.done != 0 {
		t.Errorf("said %q", b.said.Text)
	}
	b.folder.SetText("/signed")
	b.press()
	w.Settle()
	if w.done != 1 || w.Office.BroughtTo != "/signed" {
		t.Errorf("done %d, into %q", w.done, w.Office.BroughtTo)
	}
}
