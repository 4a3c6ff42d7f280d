package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/store"
	"countersign/internal/tunnel"
)

// putPackageAged stores a package of that age, which nobody asks about for a day.
func putPackageAged(t *testing.T, a *Agent, id string, age time.Duration) {
	t.Helper()
	p := store.Package{ID: id, Origin: store.MadeHere, Created: a.now().Add(-age), NextCheck: a.now().Add(24 * time.Hour)}
	if err := a.st.Update(func(tx *store.Tx) error { return putPackage(tx, p) }); err != nil {
		t.Fatal(err)
	}
}

func TestAConnectionThatReturnsSoonAfterASweepIsOwedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 0)
		defer stop()
		time.Sleep(time.Minute) // the sweep of the start is over
		putPackageAged(t, a, "old", 8*24*time.Hour)
		reopen := func() {
			a.setTunnel(tunnel.State{Phase: tunnel.Down}, "down")
			a.setTunnel(tunnel.State{Phase: tunnel.Up, URL: "https://office.test"}, "up")
		}
		for range 20 { // it flaps
			reopen()
			time.Sleep(time.Second)
		}
		if !a.packageOrZero("old").Checked.IsZero() {
			t.Error("a connection that flaps makes as many sweeps")
		}
		time.Sleep(sweepPause)
		if a.packageOrZero("old").Checked.IsZero() {
			t.Error("the package was not asked about after the pause")
		}

		// So is a service that answers again.
		c.dead.Store(true)
		a.reconcileSoon("test")
		time.Sleep(10 * time.Second)
		if !a.health.has("service") {
			t.Fatal("nobody noticed that the service is silent")
		}
		putPackageAged(t, a, "older", 9*24*time.Hour)
		c.dead.Store(false)
		time.Sleep(2 * sweepPause)
		if a.packageOrZero("older").Checked.IsZero() {
			t.Error("the package was not asked about when the service answered again")
		}
	})
}
