package setup

import (
	"path/filepath"
	"testing"

	"countersign/ui/screentest"
	"countersign/ui/widgets"
	"countersign/ui/words"
)

func TestTheWizardHoldsInEveryLanguage(t *testing.T) {
	for _, code := range words.Languages()[1:] {
		t.Run(code, func(t *testing.T) {
			words.Use(code)
			t.Cleanup(func() { words.Use("en") })
			w := first(t)
			w.fillService()
			w.address.token.SetText("token")
			for i, name := range []string{"service", "address", "wayback", "registration", "folder", "signin"} {
				if i > 0 {
					w.next()
				}
				if name == "wayback" {
					w.back.kind.choose(1)
				}
				if name == "folder" {
					w.folder.path.SetText("/home/office/Documents/Signed")
				}
				w.Looks(code+"-"+name, "light", screentest.Small, 1)
				if name == "folder" {
					w.folder.path.SetText(filepath.Join(t.TempDir(), "Signed"))
				}
			}
			w.AskAdministrator()
			w.Settle()
			widgets.CloseAll(w.Window.Canvas())
		})
	}
}
