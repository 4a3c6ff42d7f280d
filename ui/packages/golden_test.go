package packages

import (
	"slices"
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"countersign/internal/agent"
	"countersign/internal/fasttest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

// beside is the room that is left for the screen beside the sidebar, in the window as it opens and at its smallest.
var large, little = fyne.NewSize(906, 720), fyne.NewSize(666, 560)

func TestTheScreenLooksAsItWasApproved(t *testing.T) {
	fasttest.Slow(t)
	show := func(id string) func(*bench) {
		return func(b *bench) { b.show(id) }
	}
	for _, c := range []struct {
		name     string
		office   *officetest.Office
		act      func(*bench)
		size     fyne.Size
		theme    string
		scale    float32
		language string
	}{
		{"saved", officetest.Busy(), show("p3"), large, "light", 1, "en"},
		{"saved-dark", officetest.Busy(), show("p3"), large, "dark", 1, "en"},
		{"open-small-de", signable(officetest.Busy()), show("p1"), little, "light", 1, "de"},
		{"draft-dark-de", officetest.Wrong(), show("draft y"), large, "dark", 1, "de"},
		{"sending", sending(), uploading, large, "light", 1, "en"},
		{"archived", officetest.Busy(), archived, large, "light", 1, "en"},
		{"declined", declined(), show("p1"), large, "light", 1, "en"},
		{"withdrawing-small-de", withdrawn(office.Withdrawal{State: office.WithdrawWanted, Tries: 2, Problem: message.ServiceSilent()}), show("p1"), little, "dark", 1, "de"},
		{"not-withdrawn", withdrawn(office.Withdrawal{State: office.WithdrawRefused, Problem: message.MayNotWithdraw()}), show("p1"), large, "light", 1, "en"},
		{"empty", officetest.Empty(), func(*bench) {}, large, "light", 1, "en"},
		{"empty-small-dark-de", officetest.Empty(), func(*bench) {}, little, "dark", 1, "de"},
		{"overview", officetest.Busy(), func(b *bench) { b.turn(tabProblems) }, large, "light", 1, "en"},
		{"several", officetest.Busy(), several, large, "light", 1, "en"},
		{"to-ok", scanned(), toOK, large, "light", 1, "en"},
		{"narrowed-small-de", spread(), narrowed, little, "dark", 1, "de"},
		{"long-small", officetest.World(), show("w1"), little, "light", 1, "en"},
	} {
		t.Run(c.name, func(t *testing.T) {
			screentest.Speak(t, c.language)
			b := newBench(t, c.office)
			c.act(b)
			b.Looks(c.name, c.theme, c.size, c.scale)
		})
	}
}

// signable is an office in which the pages of the signers are known.
func signable(o *officetest.Office) *officetest.Office {
	o.Pages = map[string]string{"ana.ruiz": "https://sign.example.com/ana"}
	return o
}

// declined is an office in which somebody did not want to sign.
func declined() *officetest.Office {
	o := officetest.Busy()
	lease := &o.Rows[2]
	lease.Reference, lease.Signers = "2026-118/KE", slices.Clone(lease.Signers)
	lease.Signers[1].Declined, lease.Signers[1].DeclineReason = office.When{Time: officetest.Now.Add(-40 * time.Minute)}, "The rent in section 4 is not what we agreed on the phone."
	lease.History = append(slices.Clone(lease.History), office.HistoryEntry{Time: office.When{Time: officetest.Now.Add(-40 * time.Minute)}, What: "declined", Who: lease.Signers[1].ID})
	return o
}

// withdrawn is an office in which somebody wanted a package withdrawn.
func withdrawn(w office.Withdrawal) *officetest.Office {
	o := officetest.Busy()
	lease := &o.Rows[2]
	w.Asked = officetest.Now.Add(-10 * time.Minute)
	lease.Withdrawal = &w
	if w.State == office.WithdrawDone {
		lease.State = office.PackageRescinded
		lease.History = append(slices.Clone(lease.History), office.HistoryEntry{Time: office.When{Time: officetest.Now.Add(-10 * time.Minute)}, What: "ended", Ref: "rescinded"})
	}
	return o
}

// several has three packages marked.
func several(b *bench) {
	b.turn(tabAll)
	b.press("p2", 0)
	b.press("p1", shift)
}

// toOK has marked what waits for somebody to say yes.
func toOK(b *bench) {
	b.press("draft "+"Lease Sonnenweg 7", 0)
	b.screen.markAll()
	b.Settle()
}

// archived shows the archive, while everything is asked about.
func archived(b *bench) {
	b.show("p3")
	b.actions()["Archive"]()
	b.Settle()
	b.screen.tabs.Choose(tabArchived)
	b.screen.ShowStatus(agent.Status{Checking: true})
	b.Settle()
}

// narrowed shows what is left of the list by all that it can be narrowed to.
func narrowed(b *bench) {
	b.screen.sortBy(byDue)
	b.screen.narrow(narrowing{person: "Ana Bernadette von Hohenstein-Liechtenberg", period: fromUntil, from: "2025-01-01", until: "2026-10-31", origin: office.MadeHere})
	b.Settle()
}

// sending is an office that sends a draft, w.
func sending() *officetest.Office {
	o := officetest.Busy()
	o.Waiting = []office.Draft{{ID: "w", Name: "Offer 2026-120", State: office.DraftQueued, Created: officetest.Now, Signers: officetest.Busy().Rows[2].Signers[:2],
		Files: []office.DraftFile{{Name: "Offer.pdf", Path: "/x/Offer.pdf"}}}}
	return o
}

func uploading(b *bench) {
	b.show("draft w")
	b.screen.Follow(office.SendState{DraftID: "w", State: office.DraftQueued, Sent: 60_000, Total: 96_422})
}
