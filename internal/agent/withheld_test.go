package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/store"
)

// refusalsOfOne are the ways in which a service may refuse one object and not the others.
func refusalsOfOne() map[string]sandbox.Fault {
	page := map[string]string{"Content-Type": "text/html"}
	return map[string]sandbox.Fault{
		"401":               {Status: 401, Body: `{"error":"unauthorized","message":"No."}`},
		"403":               {Status: 403, Body: `{"error":"package_not_authorized","message":"No."}`},
		"404 with a code":   {Status: 404, Body: `{"error":"package_not_found","message":"No."}`},
		"404 without":       {Status: 404, Body: `<h1>Not found</h1>`, Headers: page},
		"400":               {Status: 400, Body: `{"error":"package_invalid_state","message":"No."}`},
		"410":               {Status: 410, Body: `{"error":"package_not_found","message":"No."}`},
		"500":               {Status: 500},
		"no document named": {Status: 200, Body: `{"state":"executed","documents":[]}`},
		"no PDF":            {Status: 200, Body: "PK: something else", Headers: map[string]string{"Content-Type": "application/pdf"}},
	}
}

// wakes lets d pass so often; each time, what is refused of a package is asked for once more.
func (o *testOffice) wakes(c *wallClock, id string, times int, d time.Duration) {
	o.t.Helper()
	for range times {
		before := o.asked(id)
		o.wake(c, d)
		o.eventually("it is asked for again", func() bool {
			c.jump(5 * time.Second) // for what was asked just before
			o.packages.Wake()
			o.saves.Wake()
			return o.asked(id) != before
		})
	}
}

// asked changes whenever an answer about a package, or one of its files, is recorded.
func (o *testOffice) asked(id string) string {
	p := o.packageOrZero(id)
	if !p.Planned {
		return p.NextCheck.String() + p.Refused.String()
	}
	j := o.job(id)
	return fmt.Sprint(j.Tries, j.Refused)
}

func TestWhatEverybodySignedIsAskedForUntilItComesWhateverTheRefusal(t *testing.T) {
	for name, fault := range refusalsOfOne() {
		for what, path := range map[string]string{"status": "/packages/*/status", "file": "*/executed/download"} {
			if fault.Status == 200 && (what == "file") != (name == "no PDF") {
				continue
			}
			t.Run(what+" "+name, func(t *testing.T) {
				t.Parallel()
				o, c := sleepy(t, sandbox.Options{})
				id := o.send()
				o.eventually("it was asked about", func() bool { return !o.packageOrZero(id).Checked.IsZero() })
				fault.Path = path
				o.service.Inject(fault)
				signAll(o, id)
				o.eventually("its end is known", func() bool { return o.packageOrZero(id).State == office.PackageExecuted })
				o.eventually("it is refused", func() bool {
					p := o.packageOrZero(id)
					return !p.Refused.IsZero() || p.Planned && !o.job(id).Refused.IsZero()
				})
				o.wakes(c, id, 1, 30*time.Minute)
				if i := o.issue("withheld"); i != nil {
					t.Fatalf("told after half an hour: %+v", i)
				}
				o.wakes(c, id, 1, 31*time.Minute)
				o.eventually("people are told", func() bool { return o.issue("withheld") != nil })
				if i := o.issue("withheld"); i.Action != ActRetry || !strings.Contains(i.Text(), "Everyone has signed “Offer”, but") {
					t.Errorf("told: %+v", i)
				}
				o.wakes(c, id, 32, 13*time.Hour)
				o.eventually("it is still asked for", func() bool {
					p := o.packageOrZero(id)
					return !p.Final() || !o.nextJob().IsZero()
				})
				if row, _ := o.Package(id); row.Problem.IsZero() {
					t.Error("the list does not say that something is wrong")
				}
				o.service.Heal(0)
				noErr(t, o.Act(t.Context(), *o.issue("withheld")))
				o.eventually("saved", func() bool { return saved(o, id) })
				o.eventually("nothing is wrong any more", func() bool {
					row, _ := o.Package(id)
					return o.issue("withheld") == nil && o.issue("saves") == nil && row.Problem.IsZero() && row.Refused.IsZero()
				})
			})
		}
	}
}

// nextJob is when the next file is asked for; zero when none is wanted.
func (o *testOffice) nextJob() (next time.Time) {
	o.t.Helper()
	noErr(o.t, o.Data.Store.View(func(tx *store.Tx) (err error) {
		next, err = tx.NextJob()
		return err
	}))
	return next
}

func TestWhatTheListShowsAsExecutedIsFetchedThoughItWasOverHere(t *testing.T) {
	for _, over := range []office.PackageState{office.PackageExpired, office.PackageRescinded} {
		t.Run(string(over), func(t *testing.T) {
			t.Parallel()
			o := newOfficeWith(t, quick, sandbox.Options{})
			id := o.send()
			o.eventually("it was asked about", func() bool { return !o.packageOrZero(id).Checked.IsZero() })
			o.stop()
			o.service.Hold() // its event never comes
			signAll(o, id)
			o.open()
			noErr(t, o.Data.Update(func(tx *store.Tx) error {
				p, _, err := tx.Package(id)
				p.State = over
				if err != nil {
					return err
				}
				return tx.PutPackage(p)
			}))
			// A status call that refuses it as well only holds it up.
			o.service.Inject(sandbox.Fault{Path: "/packages/*/status", Status: 404, Times: 2, Body: `{"error":"package_not_found","message":"No."}`})
			o.run()
			o.eventually("saved", func() bool { o.packages.Wake(); return saved(o, id) })
			o.eventually("told", func() bool { return o.count("Everyone has signed “Offer”.") == 1 })
		})
	}
}
