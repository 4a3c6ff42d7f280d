package withdraw

import (
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/office"
	"countersign/internal/store"
)

var noErr = looptest.NoErr

// A wish that was noted by a clock that ran fast is not kept from people until that time has come.
func TestPeopleAreToldOfAWithdrawalThatIsNotConfirmedAfterAnHour(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for asked, want := range map[time.Duration]bool{-time.Minute: false, -lateAfter: true, time.Minute: false, year: true} {
		tools := looptest.Base(t, func() {})
		r := New(tools, Deps{})
		w := &office.Withdrawal{State: office.WithdrawAsked, Asked: r.Now().Add(asked), Tries: 1, NextTry: r.Now()}
		p := office.Package{ID: "p", State: office.PackageOpen, Withdrawal: w}
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutPackage(p) }))
		if err := r.tellLate(); err != nil || r.Health.Has(health.WithdrawalWaits) != want {
			t.Errorf("asked for at %v from now: told %v, want %v, %v", asked, !want, want, err)
		}
	}
}
