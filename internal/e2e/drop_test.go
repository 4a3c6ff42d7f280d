//go:build linux

package e2e

import (
	"image"
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
	o, w := harness.OpenSignedIn(t)
	content, err := os.ReadFile(harness.Sample(t, "Mandate Keller"))
	harness.Must(t, err)
	mail := o.Desk.MailProgram(w, "../../Lease \xc4 4.pdf", content)

	w.Active()
	letGo := o.Desk.HoldsButton(5, 5)
	var over image.Image
	// The window may have news of its own to show meanwhile, such as when it last asked the service: then once more. A sign
	// that stayed would change nothing when it comes again.
	harness.EventuallyWithin(t, 4*harness.Patience, "the sign comes and goes with what is dragged", func() bool {
		before := w.Still()
		mayDrop(t, mail)
		over = w.Settles(before)
		mail.Away()
		if over == nil || !harness.Alike(before, w.Settles(over)) {
			return false
		}
		mayDrop(t, mail)
		if harness.Alike(over, w.Settles(before)) {
			return true
		}
		mail.Away()
		return false
	})
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
	sendsByKey(o, w)
	if p := o.Service.Named("Lease Ä 4"); len(p.Documents) != 1 || p.Documents[0].Name != "Lease Ä 4" {
		t.Errorf("the service got %+v", p)
	}
}

func mayDrop(t *testing.T, mail *harness.MailProgram) {
	t.Helper()
	if !mail.Over(640, 400) {
		t.Fatal("an attachment would not be taken")
	}
}

// sendsByKey sends the draft in the window. That is refused until the files are looked at, and then does nothing more.
func sendsByKey(o *harness.Office, w *harness.Window) {
	o.T.Helper()
	harness.EventuallyWithin(o.T, 2*harness.Patience, "the service has the package", func() bool {
		w.Keys("ctrl+Return")
		s, err := o.Ask()
		return err == nil && s.Packages.Total == 1 && s.Outbox.Pending == 0
	})
}
