// Package form keeps the input of the form for a new package, across runs of the program, and the presets people made of it. It must
// not know what becomes of it.
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

// docForm is the document with the input.
const docForm = "form"

// DocPresets is the document with the presets.
const DocPresets = "presets"

// pause is how long a change waits for the next one before both are written.
const pause = 2 * time.Second

// Service has the form in memory and writes it a moment later, so that typing does not use the disk. A kill may lose the last
// moments. Safe for concurrent use.
type Service struct {
	loop.Base
	changed chan struct{} // signals that now has changed

	mu    sync.Mutex
	now   []byte // JSON of the form; nil if empty
	files int    // how many documents it has
	taken bool   // documents were taken out since it was written

	writing sync.Mutex // held while written is compared with now and updated
	written []byte     // as on disk
}

// New makes a Service with the form of the last run.
func New(t loop.Base) (*Service, error) {
	r := &Service{Base: t, changed: make(chan struct{}, 1)}
	return r, r.Load()
}

// Load reads the stored form, after it may have changed since New. Input made since then stays.
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

// Keep stores the input for this and the next run of the program.
func (r *Service) Keep(f office.Form) {
	var data []byte
	if !f.Empty() {
		data, _ = json.Marshal(f) // strings can always be encoded
	}
	r.mu.Lock()
	r.now = data
	r.taken, r.files = r.taken || data == nil || len(f.Files) < r.files, len(f.Files)
	r.mu.Unlock()
	loop.Wake(r.changed)
}

// Form returns the form kept last, possibly by an earlier run.
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

// Presets returns the presets that people stored.
func (r *Service) Presets() ([]office.FormPreset, error) {
	list, _, err := data.Doc[[]office.FormPreset](r.Data, DocPresets)
	return list, err
}

// KeepPreset stores a preset, replacing one of the same name. An empty form deletes it.
func (r *Service) KeepPreset(x office.FormPreset) error {
	return r.Data.Update(func(tx *store.Tx) error {
		var list []office.FormPreset
		tx.GetDoc(DocPresets, &list)
		return tx.PutDoc(DocPresets, office.WithPreset(list, x))
	})
}

func (r *Service) current() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// urgent reports whether documents were taken out, as of a form that is sent: that is written at once, lest they are found again
// and sent twice.
func (r *Service) urgent() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken
}

// Run writes the form after changes, until ctx ends.
func (r *Service) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.changed:
		}
		for end := r.Now().Add(pause); !r.urgent() && r.Now().Before(end); {
			if !loop.Wait(ctx, end.Sub(r.Now()), r.changed) {
				return nil // Flush writes it
			}
		}
		for !r.Flush() && loop.Sleep(ctx, time.Minute) { // retries until written
		}
	}
}

// Flush writes the form if it has changed, and reports whether the disk is up to date. Call it before the store is closed.
func (r *Service) Flush() bool {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	data := r.now
	r.taken = false
	r.mu.Unlock()
	if bytes.Equal(data, r.written) {
		return true
	}
	var doc any // nil for an empty form
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
