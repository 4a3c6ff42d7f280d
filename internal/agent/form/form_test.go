package form

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/loop/looptest"
	"countersign/internal/office"
	"countersign/internal/store"
)

var noErr = looptest.NoErr

func TestTheFormIsWrittenAMomentLaterAndOnlyWhenItChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		commits := 0
		tools := looptest.Base(t, func() {})
		st := tools.Data
		st.Committed = func() { commits++ }
		r, err := New(tools)
		noErr(t, err)
		onDisk := func() (kept office.Form) {
			noErr(t, st.Store.View(func(tx *store.Tx) error { _, err := tx.GetDoc(docForm, &kept); return err }))
			return kept
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		for _, name := range []string{"L", "Le", "Lease"} {
			r.Keep(office.Form{Name: name})
			synctest.Wait()
		}
		if got := onDisk(); !got.Empty() || r.Form().Name != "Lease" {
			t.Errorf("while it is typed there is %+v on disk, %+v in memory", got, r.Form())
		}
		time.Sleep(pause)
		synctest.Wait()
		if got := onDisk(); got.Name != "Lease" {
			t.Errorf("a moment later there is %+v on disk", got)
		}
		r.Keep(office.Form{Name: "Lease"})
		time.Sleep(time.Hour)
		if synctest.Wait(); commits != 1 {
			t.Errorf("%d commits for one change", commits)
		}
		stop()
		running.Wait()
		r.Keep(office.Form{Name: "Lease, 2nd floor"})
		if !r.Flush() || onDisk().Name != "Lease, 2nd floor" {
			t.Errorf("at the end there is %+v on disk", onDisk())
		}
	})
}

// After a loss of power the office sends what was handed over: found in the form, too, it would be sent twice.
func TestAFormThatWasHandedOverIsEmptyOnTheDiskAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tools := looptest.Base(t, func() {})
		r, err := New(tools)
		noErr(t, err)
		typed := office.Form{Files: []office.FormFile{{Path: "/x/lease.pdf"}}, Replaces: "d1", Signers: []office.Signer{{FirstName: "Ana", Email: "half@"}},
			Name: "Lease", Message: "hello", Due: "some day", Reference: "K-7", Sequential: true, Separate: true}
		r.Keep(typed)
		r.Flush()
		if next, err := New(tools); err != nil || !reflect.DeepEqual(next.Form(), typed) {
			t.Errorf("typed was %+v, and the next life finds %+v, %v", typed, next.Form(), err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		time.Sleep(pause)
		r.Keep(office.Form{})
		synctest.Wait()
		if next, err := New(tools); err != nil || !next.Form().Empty() {
			t.Errorf("the next life finds %+v, %v", next.Form(), err)
		}
		stop()
		running.Wait()
	})
}
