package hotfolder

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
)

func TestAFolderRestsForAnotherAccountUntilSomebodyConfirmsIt(t *testing.T) {
	ana, max := Account{ID: "service office ana", Email: "ana@example.com"}, Account{ID: "service office max", Email: "max@example.com"}
	rests := message.SendFolderOtherAccountAs("max@example.com")
	for name, c := range map[string]struct {
		maker   *Account // nil while nobody is signed in
		now     Account
		decide  func(d *desk, f office.HotFolder)
		problem message.Message
	}{
		"the same account":                       {maker: &ana, now: ana},
		"another account":                        {maker: &ana, now: max, problem: rests},
		"another account, pausing and resuming":  {&ana, max, func(d *desk, f office.HotFolder) { d.put(paused(f)); d.put(f) }, rests},
		"another account, signed out and edited": {&ana, max, func(d *desk, f office.HotFolder) { d.signedOut = true; d.put(named(f)); d.signedOut = false }, rests},
		"another account that confirms":          {&ana, max, func(d *desk, f office.HotFolder) { d.put(f) }, message.Message{}},
		"another account that edits":             {&ana, max, func(d *desk, f office.HotFolder) { d.put(named(f)) }, message.Message{}},
		"another account without an address":     {maker: &ana, now: Account{ID: "x"}, problem: message.SendFolderOtherAccount()},
		"one that the service does not name":     {maker: &ana, now: Account{}},
		"the first account of all":               {now: max},
		"the second account of all": {&Account{}, max, func(d *desk, f office.HotFolder) {
			d.account = ana
			d.looks()
			d.account = max
		}, rests},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				if d.signedOut = c.maker == nil; c.maker != nil {
					d.account = *c.maker
				}
				f := d.folder()
				d.signedOut, d.account = false, c.now
				if c.decide != nil {
					c.decide(d, f)
				}
				write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
				d.looks()
				rows, err := d.Folders()
				noErr(t, err)
				want := 1
				if !c.problem.IsZero() {
					want = 0
				}
				if len(d.drafts()) != want || rows[0].Problem != c.problem || rows[0].Confirm != (want == 0) || d.Health.Has(health.HotFolderFails) != (want == 0) {
					t.Errorf("sent %d; it says %q, to be confirmed: %v; health has %v", len(d.drafts()), rows[0].Problem, rows[0].Confirm, d.Health.List())
				}
				d.put(f)
				d.looks()
				if len(d.drafts()) != 1 || d.Health.Has(health.HotFolderFails) {
					t.Errorf("once it is confirmed, %d are sent; health has %v", len(d.drafts()), d.Health.List())
				}
				d.tools.Data.Close()
			})
		})
	}
}

// What was taken, and did not become a draft before the program ended, is sent by nobody else either.
func TestWhatWasTakenForOneAccountIsNotSentByAnother(t *testing.T) {
	for name, change := range map[string]func(d *desk){
		"another account":     func(d *desk) { d.account = Account{ID: "service office max"} },
		"nobody is signed in": func(d *desk) { d.signedOut = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				f := d.folder()
				write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
				d.killedAt("folder moved")
				before := d.account
				change(d)
				d.looks()
				if n := len(d.drafts()); n != 0 {
					t.Errorf("%d were sent", n)
				}
				d.account, d.signedOut = before, false
				d.looks()
				if n := len(d.drafts()); n != 1 {
					t.Errorf("%d were sent by the first account", n)
				}
				d.tools.Data.Close()
			})
		})
	}
}

func (d *desk) put(f office.HotFolder) {
	d.t.Helper()
	_, err := d.Put(f)
	noErr(d.t, err)
}

func paused(f office.HotFolder) office.HotFolder { f.Paused = true; return f }

func named(f office.HotFolder) office.HotFolder { f.Name = "Scan {document}"; return f }
