package form

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/trytest"
)

var noErr = trytest.NoErr

func TestTheFormIsWrittenAMomentLaterAndOnlyWhenItChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		commits := 0
		tools := looptest.Base(t, func() {})
		st := tools.Data
		st.Committed = func([]office.Activity) { commits++ }
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
		if first, again := r.Flush(), r.Flush(); !first || !again || onDisk().Name != "Lease, 2nd floor" {
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
		two := typed
		two.Files = append(slices.Clone(typed.Files), office.FormFile{Path: "/x/rules.pdf"})
		r.Keep(two)
		time.Sleep(pause + 1)
		r.Keep(two) // the pause has begun
		synctest.Wait()
		r.Keep(typed)
		synctest.Wait()
		if next, err := New(tools); err != nil || len(next.Form().Files) != 1 {
			t.Errorf("of what was sent the next life finds %+v, %v", next.Form(), err)
		}
		r.Keep(typed)
		synctest.Wait()
		r.Keep(office.Form{})
		synctest.Wait()
		if next, err := New(tools); err != nil || !next.Form().Empty() {
			t.Errorf("the next life finds %+v, %v", next.Form(), err)
		}
		tools.Data.Freeze(message.MovingNow())
		r.Keep(typed)
		r.Keep(office.Form{})
		r.Keep(office.Form{Name: "Lease"})
		time.Sleep(time.Hour)
		if r.Flush() {
			t.Error("what cannot be written is said to be")
		}
		tools.Data.Thaw()
		time.Sleep(2 * time.Minute)
		if next, err := New(tools); err != nil || next.Form().Name != "Lease" {
			t.Errorf("once it can be written again, the next life finds %+v, %v", next.Form(), err)
		}
		stop()
		running.Wait()
	})
}

func TestAnotherStateBringsItsFormButTakesNothingThatWasTyped(t *testing.T) {
	tools := looptest.Base(t, func() {})
	brought := func(r *Service, doc any) string {
		noErr(t, tools.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docForm, doc) }))
		noErr(t, r.Load())
		return r.Form().Name
	}
	r, err := New(tools)
	noErr(t, err)
	typed := office.Form{Name: "typed"}
	got := []string{brought(r, office.Form{Name: "here"}), brought(r, office.Form{Name: "theirs"}), brought(r, 7)}
	r.Keep(typed)
	r.Flush()
	r.Keep(office.Form{Name: "changed"})
	got = append(got, brought(r, office.Form{Name: "theirs"}))
	r.Keep(typed)
	written := r.Flush()
	next, err := New(tools)
	if want := []string{"here", "theirs", "", "changed"}; !slices.Equal(got, want) || !written || err != nil || next.Form().Name != "typed" {
		t.Errorf("it shows %q, want %q; written %v; the next life finds %+v, %v", got, want, written, next.Form(), err)
	}
	for _, x := range []office.FormPreset{{Name: "Lease", Form: typed}, {Name: "Offer", Form: typed}, {Name: "lease"}} {
		noErr(t, r.KeepPreset(x))
	}
	if list, err := r.Presets(); err != nil || len(list) != 1 || list[0].Name != "Offer" {
		t.Errorf("presets: %+v, %v", list, err)
	}
	looptest.EachFault(t, func() (*Service, *data.Data) { return r, r.Data }, func(r *Service) error {
		return r.KeepPreset(office.FormPreset{Name: "Lease", Form: typed})
	})
	noErr(t, tools.Data.Close())
	_, newErr := New(tools)
	_, presetsErr := r.Presets()
	if newErr == nil || presetsErr == nil || r.Load() == nil || r.KeepPreset(office.FormPreset{Name: "Lease", Form: typed}) == nil {
		t.Errorf("a state that cannot be read: %v, %v", newErr, presetsErr)
	}
}
