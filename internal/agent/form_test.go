package agent

import (
	"reflect"
	"testing"

	"countersign/internal/office"
	"countersign/internal/sandbox"
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
