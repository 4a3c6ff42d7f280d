package setup

import (
	"path/filepath"
	"testing"

	"countersign/ui/i18n"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

func TestTheWizardHoldsInEveryLanguage(t *testing.T) {
	for _, code := range i18n.Languages()[1:] {
		t.Run(code, func(t *testing.T) {
			i18n.Use(code)
			t.Cleanup(func() { i18n.Use("en") })
			w := first(t)
			w.fillService()
			w.address.token.SetText("token")
			for i, name := range []string{"service", "address", "wayback", "registration", "folder", "signin"} {
				if i > 0 {
					w.next()
				}
				if name == "wayback" {
					w.back.kind.Choose(1)
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
