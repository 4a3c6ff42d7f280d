package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"countersign/internal/agent/account"
	"countersign/internal/agent/data"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/disk"
	"countersign/internal/office"
	"countersign/internal/store"
)

// backedUp is the small part of the state that the service cannot give back: who this office is, and what it needs to
// sign in. It is kept in a second file as well, from which a lost or damaged state.db is begun anew; the rest is read from
// the service again. What is secret is sealed there as it is in the store.
type backedUp struct {
	Version      int                `json:"version"`
	Installation string             `json:"installation"`
	Settings     *office.Settings   `json:"settings,omitempty"`
	Folders      []office.HotFolder `json:"hot_folders,omitempty"`
	Account      *account.Record    `json:"account,omitempty"`
	KeyID        string             `json:"key_id,omitempty"`
	Sealed       map[string][]byte  `json:"sealed,omitempty"`
	Moved        *moved             `json:"moved,omitempty"` // why this computer does not work
}

const backupVersion = 1

// backup is the second file, beside state.db. Safe for concurrent use.
type backup struct {
	path string
	st   *data.Data

	mu   sync.Mutex
	last []byte // what is in the file
}

// write brings the file up to date with the store; it costs no disk when it is. The file is always whole: the old one
// or the new one.
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
	if err := replaceFile(b.path, text); err != nil {
		return fmt.Errorf("back the settings up: %w", err)
	}
	b.last = text
	return nil
}

func readBackedUp(tx *store.Tx) (x backedUp, err error) {
	x.Version, x.Sealed = backupVersion, map[string][]byte{}
	var s office.Settings
	var acc account.Record
	settings, err1 := tx.GetDoc(account.DocSettings, &s)
	known, err2 := tx.GetDoc(account.Doc, &acc)
	_, err3 := tx.GetDoc(docInstallation, &x.Installation)
	_, err4 := tx.GetDoc(account.DocKeyID, &x.KeyID)
	if settings {
		x.Settings = &s
	}
	if known {
		x.Account = &acc
	}
	for _, name := range tx.SealedNames() {
		if b, ok := tx.Sealed(name); ok {
			x.Sealed[name] = bytes.Clone(b)
		}
	}
	_, err5 := tx.GetDoc(hotfolder.DocFolders, &x.Folders)
	var m moved
	away, err6 := tx.GetDoc(docMoved, &m)
	if away {
		x.Moved = &m
	}
	return x, errors.Join(err1, err2, err3, err4, err5, err6)
}

// restore puts what the file holds into a store that knows nothing yet, and reports whether there was anything. Of a store
// that merely lost one of these documents, because it cannot be read, it restores that one. A file that is not there, or
// that nobody can read, restores nothing.
func (b *backup) restore() (restored bool, err error) {
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
	if json.Unmarshal(text, &x) != nil || x.Version != backupVersion || x.Installation == "" {
		return false, nil
	}
	err = b.st.Update(func(tx *store.Tx) error {
		restored = false
		here, err := readBackedUp(tx)
		if err != nil {
			return err
		}
		restored = here.Installation == "" && here.Settings == nil && here.Account == nil && len(here.Sealed) == 0
		if here.Installation != "" && here.Installation != x.Installation {
			return nil // another office's
		}
		return putBackedUp(tx, x.without(here))
	})
	if err != nil {
		return false, fmt.Errorf("restore the settings: %w", err)
	}
	return restored, nil
}

// without is what of x is not here.
func (x backedUp) without(here backedUp) backedUp {
	if here.Installation != "" {
		x.Installation, x.Moved = "", nil // a state that is there knows that itself
	}
	if here.Settings != nil {
		x.Settings = nil
	}
	if here.Account != nil {
		x.Account = nil
	}
	if here.Folders != nil {
		x.Folders = nil
	}
	if here.KeyID != "" {
		x.KeyID = ""
	}
	if len(here.Sealed) > 0 {
		x.Sealed = nil // what is missing there was given up
	}
	return x
}

func putBackedUp(tx *store.Tx, x backedUp) error {
	var errs []error
	if x.Installation != "" {
		errs = append(errs, tx.PutDoc(docInstallation, x.Installation))
	}
	if x.Settings != nil {
		errs = append(errs, tx.PutDoc(account.DocSettings, x.Settings))
	}
	if x.Account != nil {
		errs = append(errs, tx.PutDoc(account.Doc, x.Account))
	}
	if x.Folders != nil {
		errs = append(errs, tx.PutDoc(hotfolder.DocFolders, x.Folders))
	}
	if x.Moved != nil {
		errs = append(errs, tx.PutDoc(docMoved, x.Moved))
	}
	if x.KeyID != "" {
		errs = append(errs, tx.PutDoc(account.DocKeyID, x.KeyID))
	}
	for name, b := range x.Sealed {
		errs = append(errs, tx.PutSealed(name, b))
	}
	return errors.Join(errs...)
}

// replaceFile makes path hold text, whatever interrupts it: the old content or the new, never a part.
func replaceFile(path string, text []byte) (err error) {
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err != nil {
		return errors.Join(err, f.Close(), os.Remove(temp))
	}
	return disk.Replace(f, path)
}

// backUp keeps what has just been committed in the second file, too. That it fails keeps nothing else from working.
func (a *Agent) backUp() {
	if err := a.backup.write(); err != nil {
		a.Log.Error("back the settings up", "err", err)
	}
}
