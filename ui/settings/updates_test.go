package settings

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

// offered is an office that can ask for newer versions.
func offered() *officetest.Office {
	o := officetest.Busy()
	o.Newest = office.Update{Version: "1.0.0", Offered: true}
	return o
}

// release is a newer version, to be installed with one click on Windows.
func release() office.Update {
	return office.Update{Version: "1.0.0", Offered: true, Newest: "1.2.0", Newer: true, Checked: officetest.Now.Add(-time.Hour),
		Todo: message.UpdateInSettings(), Offers: true, OneClick: true, Address: "https://example.com/Countersign-1.2.0-setup.exe"}
}

func TestUpdatesAreOfferedOnlyWhereTheProgramWasBuiltForThem(t *testing.T) {
	_, s := shown(t, officetest.Busy())
	if s.updates.content.Visible() {
		t.Error("there is nobody to ask")
	}
	b, s := shown(t, offered())
	if !s.updates.content.Visible() || b.Office.Kept.CheckUpdates {
		t.Error("it is offered, and off until asked for")
	}
	if u := s.updates; u.line.Text != "Not checked yet." || u.get.Visible() {
		t.Errorf("it says %q", u.line.Text)
	}
}

func TestAPersonCanAskAndInstallWithOneClick(t *testing.T) {
	o := offered()
	o.Release = release()
	b, s := shown(t, o)
	u := s.updates
	s.ShowProgram()
	b.Settle()
	right := func(b *widgets.Button) float32 {
		return fyne.CurrentApp().Driver().AbsolutePositionForObject(b).X + b.Size().Width
	}
	before := right(u.check)
	u.check.OnTapped()
	b.Settle()
	if right(u.check) != before {
		t.Errorf("the second press of a double click meets another button than that at %v", before)
	}
	if u.line.Text != "Countersign 1.2.0 is available." || !u.get.Visible() || u.get.Text != "Install" {
		t.Fatalf("it says %q, and offers %q", u.line.Text, u.get.Text)
	}
	u.get.OnTapped()
	b.Settle()
	if o.Installed != 1 || !slices.Contains(b.Went, "quit") || u.line.Text != "Countersign starts again in a moment." {
		t.Errorf("installed %d times, went %q, says %q", o.Installed, b.Went, u.line.Text)
	}
}

func TestWhatCannotBeInstalledIsSaidAndTheProgramStays(t *testing.T) {
	o := offered()
	o.Newest = release()
	o.NoUpdate = message.Error(message.UpdateWorkGoesOn(), errors.New("busy"))
	b, s := shown(t, o)
	s.updates.get.OnTapped()
	b.Settle()
	if u := s.updates; slices.Contains(b.Went, "quit") || !strings.Contains(u.note.Text, "Install the update when that is done.") || !u.get.Visible() {
		t.Errorf("went %q, says %q", b.Went, u.note.Text)
	}
	s.updates.check.OnTapped()
	b.Settle()
	if u := s.updates; u.check.Text != "Check now" || !strings.Contains(u.note.Text, "Install the update") {
		t.Errorf("says %q", u.note.Text)
	}
	s.ShowUpdate(o.Newest) // the agent has news of its status whenever it has asked
	if u := s.updates; !strings.Contains(u.note.Text, "Install the update") {
		t.Errorf("a moment later it says %q", u.note.Text)
	}
	o.Newest.Checked = officetest.Now // by itself
	s.ShowUpdate(o.Newest)
	if u := s.updates; strings.Contains(u.note.Text, "Install the update") {
		t.Errorf("once the service was heard it still says %q", u.note.Text)
	}
}

func TestElsewhereTheCheckedFileIsNamedAndNoBrowserOpens(t *testing.T) {
	o := offered()
	o.Newest = release()
	o.Newest.OneClick, o.Newest.Address, o.Newest.Todo = false, "https://example.com/countersign_1.2.0_amd64.deb", message.UpdateDownload()
	b, s := shown(t, o)
	if u := s.updates; !u.get.Visible() || u.get.Text != "Download" || !strings.Contains(u.note.Text, "is checked before you get it") {
		t.Errorf("offers %q, says %q", u.get.Text, u.note.Text)
	}
	s.updates.get.OnTapped()
	b.Settle()
	if u := s.updates; u.get.Visible() || !strings.Contains(u.note.Text, "sudo apt install "+o.Newest.Path) || o.Installed != 1 || len(b.System.Opened) > 0 || slices.Contains(b.Went, "quit") {
		t.Errorf("opened %q, went %q, says %q", b.System.Opened, b.Went, u.note.Text)
	}
}

func TestAPageIsNamedAndNotOpened(t *testing.T) {
	o := offered()
	o.Newest = release()
	o.Newest.OneClick, o.Newest.Offers, o.Newest.Address, o.Newest.Todo = false, false, "https://example.com/get", message.UpdateFromPage("https://example.com/get")
	_, s := shown(t, o)
	if u := s.updates; u.get.Visible() || !strings.Contains(u.note.Text, "https://example.com/get") {
		t.Errorf("offers %q, says %q", u.get.Text, u.note.Text)
	}
}

func TestTroubleWithUpdatesIsSaidQuietly(t *testing.T) {
	o := offered()
	o.Newest.Checked, o.Newest.Newest, o.Newest.Trouble = officetest.Now.AddDate(0, 0, -20), "1.0.0", message.UpdateSilence(20)
	_, s := shown(t, o)
	if u := s.updates; u.note.Text != "There has been no valid news about updates for 20 days." || u.line.Text != "Countersign 1.0.0 is the newest version." {
		t.Errorf("says %q, %q", u.line.Text, u.note.Text)
	}
}

func TestTheUpdatesLookAsTheyWereApproved(t *testing.T) {
	o := offered()
	o.Newest = release()
	b, s := shown(t, o)
	s.ShowProgram()
	b.Settle()
	tall := fyne.NewSize(screentest.Big.Width, 860) // down to what is there of updates
	b.Looks("updates", "light", tall, 1)
	b.Looks("updates-dark", "dark", tall, 1)
}
