package agent

import (
	"reflect"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/store"
)

func TestWhatIsTypedIsThereAgainAfterARestart(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	if !o.Form().Empty() {
		t.Fatalf("at first there is %+v", o.Form())
	}
	form := office.Form{Files: []office.FormFile{{Path: "/x/lease.pdf", Draft: "d1"}}, Signers: []office.Signer{{FirstName: "Ana", Email: "half@"}},
		Name: "Lease", Message: "hello", Due: "some day", Reference: "K-7", Sequential: true, Separate: true}
	o.KeepForm(form)
	if got := o.Form(); !reflect.DeepEqual(got, form) {
		t.Errorf("at once there is %+v", got)
	}
	o.restart()
	if got := o.Form(); !reflect.DeepEqual(got, form) {
		t.Errorf("after a restart there is %+v", got)
	}
	o.KeepForm(office.Form{Sequential: true}) // nothing is typed
	o.restart()
	if got := o.Form(); !got.Empty() {
		t.Errorf("what was cleared came back: %+v", got)
	}
}

func TestTheFormIsWrittenAMomentLaterAndOnlyWhenItChanged(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	onDisk := func() (kept office.Form) {
		if err := o.Data.View(func(tx *store.Tx) error { _, err := tx.GetDoc(docForm, &kept); return err }); err != nil {
			t.Fatal(err)
		}
		return kept
	}
	for _, name := range []string{"L", "Le", "Lease"} {
		o.KeepForm(office.Form{Name: name})
	}
	if got := onDisk(); !got.Empty() {
		t.Errorf("while it is typed it is written: %+v", got)
	}
	for deadline := time.Now().Add(30 * time.Second); onDisk().Name != "Lease"; {
		if time.Now().After(deadline) {
			t.Fatal("it is not written")
		}
		time.Sleep(50 * time.Millisecond)
	}
	o.stop()
	before := o.form.written
	o.KeepForm(office.Form{Name: "Lease"})
	if !o.flushForm() || &before[0] != &o.form.written[0] {
		t.Error("what has not changed is written anew")
	}
}
