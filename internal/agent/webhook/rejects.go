package webhook

import (
	"context"
	"sync/atomic"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/office"
	"countersign/internal/store"
)

// docRejects names the document with the number of refused requests.
const docRejects = "tally"

// rejectCount is what refused requests leave behind: a number, written at most once a minute, so that a flood of them
// costs no disk.
type rejectCount struct {
	Rejected int `json:"rejected"`
}

// rejects are the number as it was when the program started, and as it is on disk.
type rejects struct {
	before  atomic.Int64
	written atomic.Int64
}

func (r *Service) loadRejects() error {
	kept, _, err := data.Doc[rejectCount](r.Data, docRejects)
	if err != nil {
		return err
	}
	r.rejects.before.Store(int64(kept.Rejected))
	r.rejects.written.Store(int64(kept.Rejected))
	return nil
}

// Rejected is how many requests were refused, ever.
func (r *Service) Rejected() int {
	n := int(r.rejects.before.Load())
	for _, count := range r.inbox.Counts().Rejected {
		n += int(count)
	}
	return n
}

// RunRejects keeps the number on disk.
func (r *Service) RunRejects(ctx context.Context) error {
	for loop.Sleep(ctx, time.Minute) {
		r.flushRejects()
	}
	return nil
}

func (r *Service) flushRejects() {
	n := r.Rejected()
	if r.rejects.written.Load() == int64(n) {
		return
	}
	if err := r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docRejects, rejectCount{n}) }); err != nil {
		r.Log.Warn("write the number of refused requests", "err", err)
		return
	}
	r.rejects.written.Store(int64(n))
	r.Signal(office.StatusChanged)
}
