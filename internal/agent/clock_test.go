package agent

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/reconcile"
	"countersign/internal/office"
	"countersign/internal/store"
)

// putPackageAged stores a package of that age, which nobody asks about for a day.
func putPackageAged(t *testing.T, a *Agent, id string, age time.Duration) {
	t.Helper()
	p := office.Package{ID: id, Origin: office.MadeHere, Created: a.Now().Add(-age), NextCheck: a.Now().Add(24 * time.Hour)}
	noErr(t, a.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) }))
}

func TestAConnectionThatReturnsSoonAfterASweepIsOwedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 0)
		defer stop()
		time.Sleep(time.Minute) // the sweep of the start is over
		putPackageAged(t, a, "old", 8*24*time.Hour)
		a.packages.Sweep(reconcile.SweepReturn)
		time.Sleep(time.Second)
		if a.packageOrZero("old").Checked.IsZero() {
			t.Error("the package was not asked about")
		}

		// So is a service that answers again.
		c.dead.Store(true)
		a.packages.Sweep("test")
		time.Sleep(10 * time.Second)
		if !a.Health.Has(health.ServiceFails) {
			t.Fatal("nobody noticed that the service is silent")
		}
		putPackageAged(t, a, "older", 9*24*time.Hour)
		c.dead.Store(false)
		time.Sleep(10 * time.Minute)
		if a.packageOrZero("older").Checked.IsZero() {
			t.Error("the package was not asked about when the service answered again")
		}
	})
}

// waits stores one of everything that waits, each for d: a package, a file and a draft.
func waits(t *testing.T, a *Agent, d time.Duration) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Offer.pdf")
	noErr(t, os.WriteFile(path, []byte("%PDF-1.7"), 0o600))
	stored, stop := context.WithCancel(t.Context())
	stop() // it is kept; the test does not wait until it is sent
	if _, err := a.Send(stored, office.NewPackage{Files: []string{path}, Signers: []office.Signer{{Email: "ana@example.com"}}}, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	next := a.Now().Add(d)
	err := a.Data.Update(func(tx *store.Tx) error {
		drafts, err := tx.Drafts(office.DraftQueued)
		for _, draft := range drafts {
			draft.NextTry = next
			err = errors.Join(err, tx.PutDraft(draft))
		}
		_, planErr := tx.PlanJob(office.Job{PackageID: "executed", DocumentID: "d", Kind: "executed", Folder: a.Settings().SaveTo,
			Target: "Lease.pdf", NextTry: next})
		return errors.Join(err, planErr, tx.PutPackage(office.Package{ID: "open", Created: a.Now(), NextCheck: next}))
	})
	noErr(t, err)
}

// tried fails unless everything that waits stores was tried.
func (c *canned) tried(t *testing.T, when string) {
	t.Helper()
	for _, end := range []string{"/packages/open/status", "/packages/executed/documents/d/pdf/executed/download", "/files/upload"} {
		if c.count(end) == 0 {
			t.Errorf("%s: %s was not asked for", when, end)
		}
	}
}

func TestAClockThatIsPutRightWhileTheProgramRunsHoldsNothingUp(t *testing.T) {
	for _, fast := range []time.Duration{3 * time.Hour, 400 * 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			clock := &wallClock{}
			clock.jump(fast)
			a, c, stop := quietOffice(t, 0, func(p *Params) { p.Now = clock.now })
			defer stop()
			time.Sleep(5 * time.Minute)
			a.Breaker.Open(a.Now(), time.Hour) // while it rests, nothing that waits is tried
			waits(t, a, 5*time.Minute)
			before := c.count("/packages/list")
			clock.jump(-fast)
			time.Sleep(2 * time.Minute)
			c.tried(t, "two minutes later")
			if c.count("/packages/list") == before {
				t.Error("the list was not read")
			}
		})
	}
}

func TestAClockThatWasPutRightWhileTheProgramWasOffHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &wallClock{}
		clock.jump(5 * time.Hour)
		var p Params
		a, _, stop := quietOffice(t, 0, func(x *Params) { x.Now = clock.now; p = *x })
		a.Breaker.Open(a.Now(), time.Hour)
		waits(t, a, 5*time.Minute)
		stop()
		clock.jump(-5 * time.Hour)
		c := &canned{}
		p.HTTP = &http.Client{Transport: c}
		a, err := Open(t.Context(), p)
		noErr(t, err)
		running, end := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { a.Run(running) })
		time.Sleep(time.Minute)
		c.tried(t, "a minute after the start")
		end()
		done.Wait()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestTryAgainTriesEverythingThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t, 0)
		defer stop()
		time.Sleep(time.Minute)
		a.Breaker.Open(a.Now(), time.Hour)
		waits(t, a, 9*time.Minute)
		time.Sleep(time.Minute)
		noErr(t, a.Act(t.Context(), Issue{ID: "service", Action: ActRetry}))
		time.Sleep(time.Second)
		c.tried(t, "at once")
	})
}

func TestACooldownIsBelievedFromTheMomentItWasDecidedOn(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for at, want := range map[time.Duration]time.Duration{
		0: time.Hour, 20 * time.Minute: 40 * time.Minute, time.Hour: 0, 30 * time.Hour: 0,
		-loop.ClockSlack: time.Hour + loop.ClockSlack, -loop.ClockSlack - 1: 0, -30 * time.Hour: 0,
	} {
		if got := loop.CoolFor(now, time.Hour).Left(now.Add(at)); got != want {
			t.Errorf("%v on: %v left, want %v", at, got, want)
		}
	}
	if !(loop.Cooldown{}).Over(now) {
		t.Error("the zero cooldown is not over")
	}
}

func TestASnoozeEndsThoughTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &wallClock{}
		a, _, stop := quietOffice(t, 0, func(p *Params) { p.Now = clock.now })
		defer stop()
		a.Snooze(a.Now().Add(time.Hour))
		if a.Snoozed().IsZero() {
			t.Fatal("it ended at once")
		}
		clock.jump(-5 * time.Hour)
		if until := a.Snoozed(); !until.IsZero() {
			t.Errorf("nobody is told anything until %v, and it is %v", until, a.Now())
		}
	})
}

func TestWhatWasFinishedWhileTheClockWasFastIsFetched(t *testing.T) {
	for name, back := range map[string]time.Duration{"while it runs": -48 * time.Hour, "while it was off": 0} {
		synctest.Test(t, func(t *testing.T) {
			clock := &wallClock{}
			signedIn := time.Now()
			finished := signedIn.Add(time.Hour)
			a, _, stop := quietOffice(t, 0, func(p *Params) {
				p.Now = clock.now
				p.HTTP.Transport.(*canned).say = func(path string) string {
					if !strings.HasSuffix(path, "/packages/list") || time.Since(signedIn) < 2*time.Hour {
						return ""
					}
					when := finished.Format(time.RFC3339)
					return `{"items":[{"packageId":"p","state":"executed","timeCreated":"` + when + `","timeExecuted":"` + when + `"}]}`
				}
			})
			defer stop()
			fast := a.account.Current()
			fast.Account.Since = signedIn.Add(48 * time.Hour) // as the fast clock said
			noErr(t, a.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(account.Doc, fast.Account) }))
			noErr(t, a.account.Load())
			time.Sleep(2 * time.Hour)
			a.account.MendSince(back)
			since := a.account.Current().Account.Since
			if back != 0 && !since.Equal(signedIn) {
				t.Errorf("%s: signed in at %v, want %v", name, since, signedIn)
			}
			if err := a.Configure(t.Context(), a.Settings(), office.Secrets{}); err != nil { // has the service asked again
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			if _, known, err := a.Package("p"); err != nil || !known {
				t.Errorf("%s: the package is not known, %v", name, err)
			}
		})
	}
}

func TestAListMarkThatLiesAheadIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, stop := quietOffice(t, 0)
		defer stop()
		time.Sleep(time.Minute)
		since := a.account.Current().Account.Since
		type mark struct{ Through, Since time.Time }
		err := a.Data.Update(func(tx *store.Tx) error {
			return tx.PutDoc("listed", mark{a.Now().Add(300 * time.Hour), since})
		})
		noErr(t, err)
		time.Sleep(21 * time.Minute)
		if m, known, err := data.Doc[mark](a.Data, "listed"); err != nil || !known || m.Through.After(a.Now()) {
			t.Errorf("the list counts as read through %v, and it is %v", m.Through, a.Now())
		}
	})
}
