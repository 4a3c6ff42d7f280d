package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/office"
	"countersign/internal/store"
)

// docForm names the document with what is typed into the form for a new package.
const docForm = "form"

// formPause is how long a change of the form waits for the next one before both are written.
const formPause = 2 * time.Second

// formKeeper has the form in memory and writes it some moments later, so that typing costs no disk. What the last moments
// before a kill have brought may be lost. Safe for concurrent use.
type formKeeper struct {
	mu      sync.Mutex
	now     []byte // JSON of the form; nil for an empty one
	written []byte // as on disk
	ring    chan struct{}
}

func (k *formKeeper) get() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// loadForm reads the form of the last run. One that cannot be read is as good as none.
func (a *Agent) loadForm() error {
	a.form.ring = make(chan struct{}, 1)
	var kept json.RawMessage
	err := a.Data.View(func(tx *store.Tx) error {
		_, err := tx.GetDoc(docForm, &kept)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the form: %w", err)
	}
	a.form.now, a.form.written = kept, kept
	return nil
}

// KeepForm keeps what is typed, for this and the next run of the program.
func (a *Agent) KeepForm(f office.Form) {
	var data []byte
	if !f.Empty() {
		var err error
		if data, err = json.Marshal(f); err != nil {
			a.Log.Error("keep the form", "err", err) // strings always have their JSON
			return
		}
	}
	a.form.mu.Lock()
	a.form.now = data
	a.form.mu.Unlock()
	loop.Wake(a.form.ring)
}

// Form is what was kept last, also by an earlier run.
func (a *Agent) Form() (f office.Form) {
	data := a.form.get()
	if data == nil {
		return office.Form{}
	}
	if err := json.Unmarshal(data, &f); err != nil {
		a.Log.Warn("read the form", "err", err)
		return office.Form{}
	}
	return f
}

func (a *Agent) runForm(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.form.ring:
		}
		if !loop.Sleep(ctx, formPause) {
			return nil // Close writes it
		}
		for !a.flushForm() && loop.Sleep(ctx, time.Minute) {
			continue
		}
	}
}

// flushForm writes the form where it has changed, and says whether it is on disk as it is.
func (a *Agent) flushForm() bool {
	data := a.form.get()
	if bytes.Equal(data, a.form.written) {
		return true
	}
	err := a.Data.Update(func(tx *store.Tx) error {
		if data == nil {
			return tx.PutDoc(docForm, nil)
		}
		return tx.PutDoc(docForm, json.RawMessage(data))
	})
	if err != nil {
		a.Log.Warn("write the form", "err", err)
		return false
	}
	a.form.written = data
	return true
}
