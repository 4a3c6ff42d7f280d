//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

// TestAnAttachmentIsSentAsItIsDropped drags an attachment of a mail over the window, where it shows where it would land, away
// again, and at last drops it: the file is in the data folder before the mail program is done, and goes out under its name.
func TestAnAttachmentIsSentAsItIsDropped(t *testing.T) {
	t.Parallel()
	o, w := harness.OpenOffice(t)
	o.MustLogin()
	o.Registered()
	content, err := os.ReadFile(harness.Sample(t, "Mandate Keller"))
	harness.Must(t, err)
	mail := o.Desk.MailProgram(w, "../../Lease \xc4 4.pdf", content)

	w.Active()
	before := w.Still()
	letGo := o.Desk.HoldsButton(5, 5)
	if !mail.Over(640, 400) {
		t.Error("an attachment would not be taken")
	}
	over := w.ChangesFrom(before)
	mail.Away()
	harness.Eventually(t, "the sign goes with what was dragged", func() bool { return w.Same(before) })
	mail.Over(640, 400)
	harness.Eventually(t, "the sign comes back", func() bool { return w.Same(over) })
	saved := mail.Drop()
	letGo()
	if filepath.Base(saved) != "Lease Ä 4.pdf" || !strings.HasPrefix(saved, o.Data+"/") {
		t.Errorf("the attachment was saved at %s", saved)
	}
	w.ChangesFrom(over)
	w.Still()

	w.Active().Keys("ctrl+n")
	w.Types("Ana")
	w.Keys("Tab")
	w.Types("Ruiz")
	w.Keys("Tab")
	w.Types("ana.ruiz@example.com")
	w.Keys("ctrl+Return")
	o.Until("the service has the package", func(s harness.Status) bool { return s.Packages.Total == 1 && s.Outbox.Pending == 0 })
	if p := o.Service.Named("Lease Ä 4"); len(p.Documents) != 1 || p.Documents[0].Name != "Lease Ä 4" {
		t.Errorf("the service got %+v", p)
	}
}
