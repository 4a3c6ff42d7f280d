package agent

import (
	"context"
	"fmt"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/office"
	"countersign/internal/store"
)

// docTally names the document with the number of refused requests.
const docTally = "tally"

// tally is what refused requests leave behind: a number, written at most once a minute, so that a flood of them costs
// no disk.
type tally struct {
	Rejected int `json:"rejected"`
}

func (a *Agent) loadTally() error {
	err := a.Data.View(func(tx *store.Tx) error {
		_, err := tx.GetDoc(docTally, &a.before)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the tally: %w", err)
	}
	a.written.Store(int64(a.before.Rejected))
	return nil
}

// rejected is how many requests were refused, ever.
func (a *Agent) rejected() int {
	n := a.before.Rejected
	for _, count := range a.inbox.Counts().Rejected {
		n += int(count)
	}
	return n
}

func (a *Agent) runTally(ctx context.Context) error {
	for loop.Sleep(ctx, time.Minute) {
		a.flushTally()
	}
	return nil
}

func (a *Agent) flushTally() {
	n := a.rejected()
	if a.written.Load() == int64(n) {
		return
	}
	if err := a.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docTally, tally{n}) }); err != nil {
		a.Log.Warn("write the tally", "err", err)
		return
	}
	a.written.Store(int64(n))
	a.Signal(office.StatusChanged)
}
