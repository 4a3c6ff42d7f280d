package setup

import (
	"path/filepath"
	"testing"

	"countersign/ui/screentest"
	"countersign/ui/words"
)

func TestTheWizardHoldsInGerman(t *testing.T) {
	words.Use("de")
	t.Cleanup(func() { words.Use("en") })
	w := first(t)
	w.Looks("de-service", "light", screentest.Small, 1)
	w.fillService()
	w.address.token.SetText("token")
	for _, name := range []string{"de-address", "de-wayback", "de-folder", "de-signin"} {
		w.next()
		if name == "de-folder" {
			w.folder.path.SetText("/home/office/Documents/Signed")
		}
		w.Looks(name, "light", screentest.Small, 1)
		if name == "de-folder" {
			w.folder.path.SetText(filepath.Join(t.TempDir(), "Signed"))
		}
	}
}
