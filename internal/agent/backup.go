package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/data"
	"countersign/internal/agent/desks"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/proof"
	"countersign/internal/disk"
	"countersign/internal/office"
	"countersign/internal/private"
	"countersign/internal/store"
)

// backedUp is the small part of the state that the service cannot supply: who this office is, and what it needs to sign in. It is
// also stored in a second file, from which a lost or damaged state.db is recreated; the rest is read from the service again. Secrets
// in it are sealed as in the store.
type backedUp struct {
	Version int                        `json:"version"`
	Docs    map[string]json.RawMessage `json:"documents"`
	Sealed  map[string][]byte          `json:"sealed,omitempty"`
}

// docsBackedUp returns an empty value for each of its documents.
var docsBackedUp = map[string]func() any{
	docInstallation:      func() any { return new(string) },
	account.DocSettings:  func() any { return new(office.Settings) },
	account.Doc:          func() any { return new(account.Record) },
	account.DocKeyID:     func() any { return new(string) },
	hotfolder.DocFolders: func() any { return new([]office.HotFolder) },
	proof.DocTrusted:     func() any { return new([][]byte) },
	desks.Doc:            func() any { return new([]office.Desk) },
	docMoved:             func() any { return new(moved) }, // why this computer is inactive
}

func (x backedUp) has(doc string) bool { return x.Docs[doc] != nil }

// installation identifies its data folder; empty for none.
func (x backedUp) installation() (id string) {
	_ = json.Unmarshal(x.Docs[docInstallation], &id)
	return id
}

func (x backedUp) usable() bool {
	for name, doc := range x.Docs {
		if empty, known := docsBackedUp[name]; !known || json.Unmarshal(doc, empty()) != nil {
			return false
		}
	}
	return x.Version == backupVersion && x.installation() != ""
}

const backupVersion = 1

// backup is the second file, beside state.db. Safe for concurrent use.
type backup struct {
	path string
	st   *data.Data

	mu   sync.Mutex
	last []byte // content of the file
}

// write updates the file from the store, without touching the disk if nothing has changed. The file is always complete: either the
// old or the new one.
func (b *backup) write() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	x, err := data.Read(b.st, "what is to be backed up", readBackedUp)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return fmt.Errorf("back the settings up: %w", err)
	}
	if bytes.Equal(text, b.last) {
		return nil
	}
	if err := private.WriteFile(b.path, disk.Replace, private.From(bytes.NewReader(text))); err != nil {
		return fmt.Errorf("back the settings up: %w", err)
	}
	b.last = text
	return nil
}

func readBackedUp(tx *store.Tx) (x backedUp, err error) {
	x = backedUp{backupVersion, map[string]json.RawMessage{}, map[string][]byte{}}
	for name, empty := range docsBackedUp {
		doc := empty()
		if known, _ := tx.GetDoc(name, doc); known {
			if x.Docs[name], err = json.Marshal(doc); err != nil {
				return x, err
			}
		}
	}
	names, _ := tx.SealedNames()
	for _, name := range names {
		x.Sealed[name], _ = tx.Sealed(name)
	}
	return x, nil
}

// restore puts the file's content into an empty store, and reports whether there was any. In a store that merely lost one of these
// documents because it is unreadable, it restores that one. A missing or unreadable file restores nothing.
func (b *backup) restore() (restored bool, err error) {
	private.Sweep(filepath.Dir(b.path))
	text, err := os.ReadFile(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the backup of the settings: %w", err)
	}
	if err := disk.Anchor(b.path); err != nil {
		return false, fmt.Errorf("flush the backup of the settings: %w", err)
	}
	b.mu.Lock()
	b.last = text
	b.mu.Unlock()
	var x backedUp
	if json.Unmarshal(text, &x) != nil || !x.usable() {
		return false, nil
	}
	err = b.st.Update(func(tx *store.Tx) error {
		restored = false
		here, err := readBackedUp(tx)
		if err != nil {
			return err
		}
		restored = !here.has(docInstallation) && !here.has(account.DocSettings) && !here.has(account.Doc) && len(here.Sealed) == 0
		if here.has(docInstallation) && here.installation() != x.installation() {
			return nil // it is another office's
		}
		x.without(here).put(tx)
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("restore the settings: %w", err)
	}
	return restored, nil
}

// without returns the part of x that is missing here.
func (x backedUp) without(here backedUp) backedUp {
	maps.DeleteFunc(x.Docs, func(name string, _ json.RawMessage) bool {
		return here.has(name) || name == docMoved && here.has(docInstallation) // an existing state is right about this
	})
	if len(here.Sealed) > 0 {
		x.Sealed = nil // missing values were deleted on purpose
	}
	return x
}

func (x backedUp) put(tx *store.Tx) {
	for name, doc := range x.Docs {
		tx.PutDoc(name, doc)
	}
	for name, b := range x.Sealed {
		tx.PutSealed(name, b)
	}
}

// docInstallation is the document with Agent.installation.
const docInstallation = "installation"

// docMoved is the document with the file into which this office has moved, and when. It belongs to the computer, and is also in
// the second file.
const docMoved = "moved"

type moved struct {
	File string    `json:"file"`
	At   time.Time `json:"at"`
}
