package data

import (
	"errors"
	"testing"
	"testing/synctest"

	"countersign/internal/message"
	"countersign/internal/store"
	"countersign/internal/trytest"
)

var expect = trytest.Expect

func TestNothingThatWaitedForItsTurnIsCommittedOnceTheStateIsFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, _ := open(t)
		hold, held := make(chan struct{}), make(chan error, 1)
		go func() {
			held <- st.Update(func(*store.Tx) error { <-hold; return nil })
		}()
		synctest.Wait()
		late := make(chan error, 1)
		go func() {
			late <- st.Update(func(tx *store.Tx) error { return tx.PutDoc("late", true) })
		}()
		synctest.Wait()
		st.Freeze(message.MovingNow())
		close(hold)
		if err := <-held; err != nil {
			t.Error(err)
		}
		if err := <-late; !errors.Is(err, errFrozen) {
			t.Errorf("it was committed: %v", err)
		}
		if err := st.UpdateFrozen(func(tx *store.Tx) error { return tx.PutDoc("kept", true) }); err != nil {
			t.Error(err)
		}
		st.Thaw()
		if kept, _, err := Doc[bool](st, "kept"); !kept || err != nil || st.Update(func(*store.Tx) error { return nil }) != nil {
			t.Errorf("afterwards there is %v, %v", kept, err)
		}
	})
}
