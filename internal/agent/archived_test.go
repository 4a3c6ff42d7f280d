package agent

import (
	"testing"

	"countersign/internal/sandbox"
	"countersign/internal/store"
)

// archived is whether the list of an office leaves a package out.
func (o *testOffice) archived(id string) bool {
	for _, l := range o.Lines() {
		if l.ID == id {
			return l.Archived
		}
	}
	return false
}

// TestAnArchivedPackageComesBackWhenSomethingNewIsWrong archives one package and lets a signer decline.
func TestAnArchivedPackageComesBackWhenSomethingNewIsWrong(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.eventually("it was asked about", func() bool { row, _ := o.Package(id); return !row.Checked.IsZero() && len(row.Next()) == 1 })
	noErr(t, o.Archive(id, true))
	o.restart()
	if !o.archived(id) {
		t.Fatal("after a restart it is in the list again")
	}
	row, _ := o.Package(id)
	noErr(t, o.service.Decline(id, row.Next()[0].ID, "No."))
	noErr(t, o.askNow(id))
	o.packages.Wake()
	o.eventually("people are told as before", func() bool { return o.count("Ana Ruiz declined to sign “Offer”. Reason: “No.”") == 1 })
	if o.archived(id) {
		t.Error("a new problem is not in the list")
	}
	noErr(t, o.Archive(id, true))
	row, _ = o.Package(id)
	if err := o.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(row.Package) }); err != nil || !o.archived(id) {
		t.Errorf("what was known to be wrong brings it back: %v", err)
	}
	if err := o.Archive(id, false); err != nil || o.archived(id) {
		t.Errorf("it does not come back: %v", err)
	}
}

// TestSomebodyWhoAsksNowIsToldWhenThatWasDone: one sweep, and the moment of its end.
func TestSomebodyWhoAsksNowIsToldWhenThatWasDone(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.eventually("the first sweep is over", func() bool { s := o.Status(); return !s.Checked.IsZero() && !s.Checking })
	row, _ := o.Package(id)
	before, last := row.Checked, o.Status().Checked
	noErr(t, o.CheckNow())
	o.eventually("it was asked about and is over", func() bool {
		row, _ := o.Package(id)
		s := o.Status()
		return row.Checked.After(before) && s.Checked.After(last) && !s.Checking
	})
	noErr(t, o.SignOut(t.Context()))
	if err := o.CheckNow(); err == nil || o.Status().Checking {
		t.Errorf("without a sign-in: %v", err)
	}
}
