package agent

import (
	"testing"

	"countersign/internal/sandbox"
)

// TestADeclinedSignatureIsToldOnceAndShown has the first of two signers decline. No event tells of it.
func TestADeclinedSignatureIsToldOnceAndShown(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.eventually("it was asked about", func() bool { row, _ := o.Package(id); return !row.Checked.IsZero() && len(row.Next) == 1 })
	row, _ := o.Package(id)
	ana := row.Next[0]
	noErr(t, o.service.Decline(id, ana.ID, "The rent is wrong."))
	noErr(t, o.askNow(id))
	o.packages.Wake()
	o.eventually("people are told", func() bool {
		return o.count("Ana Ruiz declined to sign “Offer”. Reason: “The rent is wrong.”.") == 1
	})
	row, _ = o.Package(id)
	if s := row.Signers[0]; s.Declined.IsZero() || s.DeclineReason != "The rent is wrong." || len(row.Next) != 0 {
		t.Errorf("the row: %+v, next %+v", s, row.Next)
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

// TestAServiceWithoutRecordsIsAskedForThemOnce: the call is not part of the interface.
func TestAServiceWithoutRecordsIsAskedForThemOnce(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.eventually("it was asked about", func() bool { row, _ := o.Package(id); return !row.Checked.IsZero() })
	fault := sandbox.Fault{Path: "/packages/" + id, Method: "GET", Status: 404, Body: "<h1>Not Found</h1>"}
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
