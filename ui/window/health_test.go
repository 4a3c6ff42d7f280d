package window

import (
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

func TestToastsGoAwayByThemselvesAndLeaveTheFocus(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.press(fyne.KeyF)
	focused := b.window.window.Canvas().Focused()
	for _, text := range []string{"One.", "Two.", "Two.", "Three.", "Four."} {
		b.window.env.Notice(text)
	}
	if b.window.notice.Text() != "Four." || b.window.window.Canvas().Focused() != focused || b.window.window.Canvas().Overlays().Top() != nil {
		t.Error("a toast is shown over the window without taking anything from it")
	}
	b.pass(14 * time.Second)
	b.Until(func() bool { return b.window.notice.Text() == "" })
}

func TestTheStatusScreenListsEverythingWithItsAction(t *testing.T) {
	b := newBench(t, officetest.Wrong())
	b.window.health.OnNote()
	if b.window.at != showStatus {
		t.Fatal("the strip leads to all that is wrong")
	}
	if got := len(b.window.statusView.issues.Objects); got != 2 {
		t.Errorf("%d issues are listed, want 2", got)
	}
	b.Office.Change(office.StatusChanged, func(o *officetest.Office) { o.State.Health = nil })
	b.Until(func() bool { return b.window.health.Text() == "" })
	if got := len(b.window.statusView.issues.Objects); got != 1 {
		t.Errorf("%d lines when all is well, want one that says so", got)
	}
}

func TestTroubleWithAFolderThatSendsLeadsToTheFolders(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.window.act(agent.Issue{ID: "hot-folder", Severity: agent.Problem, Message: message.SendFolderStopped("Scans"), Action: agent.ActFolders}, nil)
	b.Settle()
	if b.window.at != showSettings || !strings.Contains(screentest.Text(b.window.settings.get().Content()), "Folders that send") {
		t.Errorf("at %d:\n%s", b.window.at, screentest.Text(b.window.settings.get().Content()))
	}
}

func TestTheHealthStripOffersItsOneAction(t *testing.T) {
	b := newBench(t, officetest.Wrong())
	if !strings.HasPrefix(b.window.health.Text(), "Your sign-in has expired.") {
		t.Errorf("the gravest issue comes first, got %q", b.window.health.Text())
	}
	b.Office.Change(office.StatusChanged, func(o *officetest.Office) {
		o.State.Health = []agent.Issue{{ID: "net", Severity: agent.Warning, Message: message.PublicAddressSilent(), Action: agent.ActRetry}}
	})
	b.Until(func() bool { return b.window.health.Text() == message.PublicAddressSilent().String() })
	b.window.act(b.window.issue, nil)
	b.Settle()
	if len(b.Office.Acted) != 1 || b.window.health.Text() != "" {
		t.Errorf("acted %v, strip %q", b.Office.Acted, b.window.health.Text())
	}
}
