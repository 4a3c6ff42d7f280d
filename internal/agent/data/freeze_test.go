package data

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/store"
)

func TestNothingThatWaitedForItsTurnIsCommittedOnceTheStateIsFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, _, err := Open(filepath.Join(t.TempDir(), "state.db"), slog.New(slog.DiscardHandler), time.Now, health.New(time.Now, func() {}))
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
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
		if err := st.UpdateFrozen(func(*store.Tx) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}
