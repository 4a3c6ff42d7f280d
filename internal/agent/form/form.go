// Package form keeps what is typed into the form for a new package, for this and the next run of the program, and the presets that
// people made of it. It must not know what becomes of it.
package form

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/office"
	"countersign/internal/store"
)

// docForm names the document with what is typed.
const docForm = "form"

// DocPresets names the document with the presets.
const DocPresets = "presets"

// pause is how long a change waits for the next one before both are written.
const pause = 2 * time.Second

// Service has the form in memory and writes it some moments later, so that typing costs no disk. What the last moments
// before a kill have brought may be lost. Safe for concurrent use.
type Service struct {
	loop.Base
	changed chan struct{} // rings when now has

	mu  sync.Mutex
	now []byte // JSON of the form; nil for an empty one

	writing sync.Mutex // held while written is compared with now and follows it
	written []byte     // as on disk
}

// New reads the form of the last run. One that cannot be read is as good as none.
func New(t loop.Base) (*Service, error) {
	kept, _, err := data.Doc[json.RawMessage](t.Data, docForm)
	if err != nil {
		return nil, err
	}
	return &Service{Base: t, changed: make(chan struct{}, 1), now: kept, written: kept}, nil
}

// Load reads the form that is kept, once it may be another than New has read. What was typed since then stays.
func (r *Service) Load() error {
	r.writing.Lock()
	defer r.writing.Unlock()
	kept, _, err := data.Doc[json.RawMessage](r.Data, docForm)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes.Equal(r.now, r.written) {
		r.now = kept
	}
	r.written = kept
	return nil
}

// Keep keeps what is typed, for this and the next run of the program.
func (r *Service) Keep(f office.Form) {
	var data []byte
	if !f.Empty() {
		data, _ = json.Marshal(f) // strings always have their JSON
	}
	r.mu.Lock()
	r.now = data
	r.mu.Unlock()
	loop.Wake(r.changed)
}

// Form is what was kept last, also by an earlier run.
func (r *Service) Form() (f office.Form) {
	data := r.current()
	if data == nil {
		return office.Form{}
	}
	if err := json.Unmarshal(data, &f); err != nil {
		r.Log.Warn("read the form", "err", err)
		return office.Form{}
	}
	return f
}

// Presets are the forms that people keep, by name.
func (r *Service) Presets() ([]office.FormPreset, error) {
	list, _, err := data.Doc[[]office.FormPreset](r.Data, DocPresets)
	return list, err
}

// KeepPreset keeps a preset in place of the one called like it. One with an empty form is kept no longer.
func (r *Service) KeepPreset(x office.FormPreset) error {
	return r.Data.Update(func(tx *store.Tx) error {
		var list []office.FormPreset
		if _, err := tx.GetDoc(DocPresets, &list); err != nil {
			return err
		}
		return tx.PutDoc(DocPresets, office.WithPreset(list, x))
	})
}

func (r *Service) current() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// Run writes the form when it has changed, until ctx ends.
func (r *Service) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.changed:
		}
		if r.current() != nil && !loop.Sleep(ctx, pause) { // what was handed over and is found here again would be sent twice
			return nil // Flush writes it
		}
		for !r.Flush() && loop.Sleep(ctx, time.Minute) { // until it is written
		}
	}
}

// Flush writes the form where it has changed, and says whether it is on disk as it is. Call it before the store is closed.
func (r *Service) Flush() bool {
	r.writing.Lock()
	defer r.writing.Unlock()
	data := r.current()
	if bytes.Equal(data, r.written) {
		return true
	}
	var doc any // none for an empty form
	if data != nil {
		doc = json.RawMessage(data)
	}
	if err := r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docForm, doc) }); err != nil {
		r.Log.Warn("write the form", "err", err)
		return false
	}
	r.written = data
	return true
}
