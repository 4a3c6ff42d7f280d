package agent

import (
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/store"
)

// TestADeclinedSignatureIsToldOnceAndShown has the first of two signers decline. No event tells of it.
func TestADeclinedSignatureIsToldOnceAndShown(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.eventually("it was asked about", func() bool { row, _ := o.Package(id); return !row.Checked.IsZero() && len(row.Next()) == 1 })
	row, _ := o.Package(id)
	ana := row.Next()[0]
	noErr(t, o.service.Decline(id, ana.ID, "The rent is wrong."))
	noErr(t, o.askNow(id))
	o.packages.Wake()
	o.eventually("people are told", func() bool {
		return o.count("Ana Ruiz declined to sign “Offer”. Reason: “The rent is wrong.”") == 1
	})
	row, _ = o.Package(id)
	if s := row.Signers[0]; s.Declined.IsZero() || s.DeclineReason != "The rent is wrong." || len(row.Next()) != 0 {
		t.Errorf("the row: %+v, next %+v", s, row.Next())
	}
	for range 3 {
		before := row.Checked
		noErr(t, o.askNow(id))
		o.packages.Wake()
		o.eventually("it is asked about again", func() bool { row, _ = o.Package(id); return row.Checked.After(before) })
	}
	o.restart()
	o.stop()
	if n := o.count("declined"); n != 1 {
		t.Errorf("told %d times: %q", n, o.notifications())
	}
}

// Who declined while the program was away is told of, though the time to sign has run out since: "not signed yet" would be half
// of the truth.
func TestADeclineIsToldThoughThePackageHasExpiredSince(t *testing.T) {
	o, c := sleepy(t, sandbox.Options{}, func(s *office.Settings) { s.DueDays = office.NoDueDays })
	id := o.sendDueIn(c, 2)
	o.eventually("it was asked about", func() bool { row, _ := o.Package(id); return !row.Checked.IsZero() && len(row.Next()) == 1 })
	row, _ := o.Package(id)
	ana := row.Next()[0]
	o.stop()
	noErr(t, o.service.Decline(id, ana.ID, "The rent is wrong."))
	c.jump(3 * 24 * time.Hour)
	o.open()
	o.run()
	o.eventually("told", func() bool { return o.count("“Offer” has expired before everyone signed.") == 1 })
	o.eventually("told of the decline", func() bool { return o.count("Ana Ruiz declined to sign “Offer”.") == 1 })
	if row, _ = o.Package(id); row.Signers[0].Declined.IsZero() || row.Signers[0].DeclineReason != "The rent is wrong." {
		t.Errorf("the row: %+v", row.Signers[0])
	}
	if n := o.count("Not signed yet by Ana Ruiz"); n != 0 {
		t.Errorf("told %q", o.notifications())
	}
}

// The record alone tells of a decline. What it did not tell when the package expired it tells as soon as it can be had.
func TestADeclineIsToldThoughTheRecordCannotBeHadWhenThePackageExpires(t *testing.T) {
	o, c := sleepy(t, sandbox.Options{}, func(s *office.Settings) { s.DueDays = office.NoDueDays })
	id := o.sendDueIn(c, 2)
	o.eventually("it was asked about", func() bool { row, _ := o.Package(id); return !row.Checked.IsZero() && len(row.Next()) == 1 })
	row, _ := o.Package(id)
	o.stop()
	noErr(t, o.service.Decline(id, row.Next()[0].ID, "The rent is wrong."))
	fault := o.service.Inject(sandbox.Fault{Path: "/packages/" + id, Method: "GET", Status: 500})
	c.jump(3 * 24 * time.Hour)
	o.open()
	o.run()
	o.eventually("told that it has expired", func() bool { return o.count("“Offer” has expired before everyone signed.") == 1 })
	o.restart()
	o.service.Heal(fault)
	o.eventually("told of the decline", func() bool { return o.count("Ana Ruiz declined to sign “Offer”.") == 1 })
	o.eventually("it is final", func() bool { return o.packageOrZero(id).Final() })
	if n := o.count("has expired"); n != 1 {
		t.Errorf("told %q", o.notifications())
	}
}

// freshComputer is the office on another computer, which has just been set up.
func (o *testOffice) freshComputer(t *testing.T) *testOffice {
	t.Helper()
	fresh := &testOffice{t: t, keeper: secret.Memory(), data: t.TempDir(), folder: t.TempDir(), adjust: quick, service: o.service}
	fresh.open()
	s := o.Settings()
	s.SaveTo = fresh.folder
	noErr(t, fresh.Configure(t.Context(), s, office.Secrets{ClientSecret: sandbox.DemoClient().Secret}))
	fresh.run()
	t.Cleanup(func() { fresh.stop() })
	noErr(t, fresh.SignIn(t.Context(), SignInOptions{}, visit))
	return fresh
}

// A fresh computer learns of what others made and declined long before; it is in the list, and nobody is told.
func TestWhatWasDeclinedBeforeTheFirstSignInIsNoNews(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.eventually("it was asked about", func() bool { row, _ := o.Package(id); return !row.Checked.IsZero() && len(row.Next()) == 1 })
	row, _ := o.Package(id)
	noErr(t, o.service.Decline(id, row.Next()[0].ID, "The rent is wrong."))
	for name, known := range map[string]time.Duration{"first known long ago": -48 * time.Hour, "first known from an event just now": 0} {
		t.Run(name, func(t *testing.T) {
			fresh := o.freshComputer(t)
			noErr(t, fresh.Data.Update(func(tx *store.Tx) error {
				return tx.PutPackage(office.Package{ID: id, Origin: office.MadeElsewhere, Created: fresh.Now().Add(known), NextCheck: fresh.Now()})
			}))
			fresh.packages.Wake()
			fresh.eventually("it is known", func() bool {
				row, known := fresh.Package(id)
				return known && len(row.Signers) > 0 && !row.Signers[0].Declined.IsZero()
			})
			if n := fresh.count("declined"); n != 0 || fresh.toldInActivity("declined") != 0 {
				t.Errorf("told %q; the activity has %+v", fresh.notifications(), fresh.Activity(10))
			}
		})
	}
}

// TestAServiceWithoutRecordsIsAskedForThemOnce: the call is not part of the interface.
func TestAServiceWithoutRecordsIsAskedForThemOnce(t *testing.T) {
	t.Run("and says so with a page", func(t *testing.T) { asksForRecordsOnce(t, "<h1>Not Found</h1>") })
	t.Run("and says so in its own form", func(t *testing.T) { asksForRecordsOnce(t, `{"error":"not_found","message":"Not found"}`) })
}

func asksForRecordsOnce(t *testing.T, no string) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.eventually("it was asked about", func() bool { row, _ := o.Package(id); return !row.Checked.IsZero() })
	fault := sandbox.Fault{Path: "/packages/" + id, Method: "GET", Status: 404, Body: no}
	o.service.Inject(fault)
	for range 3 {
		row, _ := o.Package(id)
		before := row.Checked
		noErr(t, o.askNow(id))
		o.packages.Wake()
		o.eventually("it is asked about", func() bool { row, _ := o.Package(id); return row.Checked.After(before) })
	}
	if asked := o.service.Faults()[0].Applied; asked < 1 || asked > 2 { // perhaps with and without /api/v1, see esign's paths.go
		t.Errorf("asked %d times", asked)
	}
}

// The record of each package hangs for longer than the test takes: what is known without them is recorded, saved and told.
func TestFilesAreSavedAndEventsHandledThoughRecordsHang(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	var ids []string
	for range 20 {
		ids = append(ids, o.send())
		o.service.Inject(sandbox.Fault{Path: "/packages/" + ids[len(ids)-1], Method: "GET", DelayMS: 600_000})
	}
	o.packages.Sweep("test")
	o.eventually("they are asked for", func() bool { return o.service.Faults()[0].Applied > 0 })
	last := ids[len(ids)-1]
	began := time.Now()
	signAll(o, last)
	o.eventually("saved", func() bool { return saved(o, last) && o.Status().Events.Pending == 0 })
	o.eventually("told", func() bool { return o.count("Everyone has signed “Offer”") == 1 })
	if took := time.Since(began); took > recordsHang {
		t.Errorf("after %v", took)
	}
}

// recordsHang is sooner than one of two records that are asked for at once is given up.
const recordsHang = 9 * time.Second
