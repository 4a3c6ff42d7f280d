package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/store"
)

// kept are the names of the copies in the data folder.
func (o *testOffice) kept() (names []string) {
	o.t.Helper()
	entries, err := os.ReadDir(locations.Outbox(o.data))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// queuedDraft is a draft that waits to be sent, with the copy of its file.
func (o *testOffice) queuedDraft() office.Draft {
	o.t.Helper()
	d, id := o.draft(), uuid.NewString()
	given, copied := mustRead(o.t, d.Files[0]), id+"-1"
	draft := office.Draft{
		ID: id, Name: d.Name, Signers: d.Signers, Sequential: d.Sequential,
		Files: []office.DraftFile{{Path: d.Files[0], Name: filepath.Base(d.Files[0]), Copy: copied, Size: int64(len(given)),
			SHA256: fmt.Sprintf("%x", sha256.Sum256(given)), ExternalID: copied}},
		State: office.DraftHeld, Created: o.Now(), Changed: o.Now(), Delivery: office.Delivery{NextTry: o.Now()},
	}
	noErr(o.t, o.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(draft) })) // for which the copy is kept
	noErr(o.t, os.MkdirAll(locations.Outbox(o.data), 0o700))
	noErr(o.t, os.WriteFile(filepath.Join(locations.Outbox(o.data), copied), given, 0o600))
	draft.State = office.DraftQueued
	return draft
}

// Hold has a draft wait for a person, as one does whose sending was stopped.
func (o *testOffice) Hold(d office.NewPackage) (id string, err error) {
	ended, end := context.WithCancel(context.Background())
	end()
	d.Undo = time.Minute
	state, err := o.Send(ended, d, nil)
	if state.DraftID == "" {
		return "", err
	}
	_, err = o.Stop(state.DraftID)
	return state.DraftID, err
}
