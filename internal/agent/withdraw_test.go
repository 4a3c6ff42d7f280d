package agent

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// at is a package as the service has it.
func (o *testOffice) at(id string) sandbox.Package {
	o.t.Helper()
	all := o.service.Packages()
	i := slices.IndexFunc(all, func(p sandbox.Package) bool { return p.PackageID == id })
	if i < 0 {
		o.t.Fatalf("the service has no package %s", id)
	}
	return all[i]
}

// wish has a package withdrawn, and does not wait for it.
func (o *testOffice) wish(id string) {
	o.t.Helper()
	_, err := o.Withdraw(o.t.Context(), office.NewWithdrawal{Packages: []string{id}, Patience: time.Millisecond})
	noErr(o.t, err)
}

// toldInActivity is how many lines of the activity hold text.
func (o *testOffice) toldInActivity(text string) (n int) {
	for _, x := range o.Activity(100) {
		if strings.Contains(x.Text.String(), text) {
			n++
		}
	}
	return n
}

// correction is the draft that takes the place of a package.
func (o *testOffice) correction(id string) office.NewPackage {
	d := o.draft()
	d.Name, d.Corrects = "Offer, corrected", id
	return d
}

func TestACorrectionGoesOutOnceTheFirstOneIsWithdrawn(t *testing.T) {
	for name, send := range map[string]func(o *testOffice, d office.NewPackage) error{
		"sent at once": func(o *testOffice, d office.NewPackage) error {
			go o.Send(o.t.Context(), d, nil)
			return nil
		},
		"held before": func(o *testOffice, d office.NewPackage) error {
			draft, err := o.Hold(d)
			return errors.Join(err, o.Resolve(draft, true))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOfficeWith(t, quick, sandbox.Options{})
			id := o.send()
			drop := o.service.Inject(sandbox.Fault{Path: "/packages/rescind", Drop: true})
			o.wish(id)
			noErr(t, send(o, o.correction(id)))
			o.eventually("it says what it waits for", func() bool {
				return slices.ContainsFunc(o.Drafts(), func(d office.Draft) bool { return d.Problem.ID() == "withdrawal.corrected-waits" })
			})
			expect(t, len(o.service.Packages()), 1, "the service has %d packages that can be signed")
			o.service.Heal(drop)
			o.eventually("it is sent", func() bool { return len(o.service.Packages()) == 2 && len(o.Drafts()) == 0 })
			expect(t, o.at(id).State, "rescinded", "the first one is %s")
		})
	}
}
