package packages

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"

	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

// sealed is a busy office in which the seal of the first signed document is another one.
func sealed(s office.Seal) *officetest.Office {
	o := officetest.Busy()
	for i, row := range o.Rows {
		if row.ID == "p3" {
			o.Rows[i].Files[0].Seal = s
		}
	}
	return o
}

func TestAPackageSaysWhoSealedItAndWhatNotToRelyOn(t *testing.T) {
	for _, c := range []struct {
		seal office.Seal
		says string
	}{
		{office.Seal{State: office.SealIntact, Signer: "Signing service"}, "Sealed by “Signing service”"},
		{office.Seal{State: office.SealBroken}, "Mandate Keller - Letter of mandate.pdf: Its digital seal does not fit: do not rely on this document."},
	} {
		said := screentest.Text(showing(t, sealed(c.seal), "p3").screen.detail)
		if !strings.Contains(said, c.says) {
			t.Errorf("it lacks %q: %s", c.says, said)
		}
	}
}

func TestAStrangersSealIsTrustedAfterAQuestionThatShowsItsFingerprint(t *testing.T) {
	stranger := office.Seal{State: office.SealStranger, Signer: "Signing service"}
	b := showing(t, sealed(stranger), "p3")
	files := []office.File{{Path: "/home/office/Signed/b.pdf", Seal: office.Seal{State: office.SealNone}}, {Path: "/home/office/Signed/a.pdf", Seal: stranger}}
	b.screen.tellSeals(files, 0)
	top := func() fyne.CanvasObject { return b.Env.Window.Canvas().Overlays().Top() }
	if screentest.Button(top(), "Trust this seal…") != nil {
		t.Error("the seal of a file without one can be trusted")
	}
	screentest.All[*widgets.Select](top())[0].SetSelectedIndex(1)
	screentest.Button(top(), "Trust this seal…").OnTapped()
	b.Settle()
	if said := screentest.Text(top()); !strings.Contains(said, "48:13:49:4D:13:7E") { // SHA-256 of "root"
		t.Errorf("it is asked: %s", said)
	}
	screentest.Button(top(), "Trust").OnTapped()
	b.Settle()
	if b.Office.Asked("trust Signing service CA") != 1 {
		t.Error("it is not trusted")
	}
}
