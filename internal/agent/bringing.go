package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/internal/agent/account"
	"countersign/internal/agent/backups"
	"countersign/internal/agent/data"
	"countersign/internal/agent/download"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/luggage"
	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/safe"
	"countersign/internal/store"

	"github.com/google/uuid"
)

// Brought is what came of bringing an office over.
type Brought struct {
	Computer string            // where it was
	Paused   []message.Message // folders that send of the old computer which are not here
	Waits    message.Message   // what it waits for before it works; empty for nothing
}

// MissingFolderError says that the folder for documents of the old computer is not here: another one is to be named.
type MissingFolderError struct{ Folder string }

func (e *MissingFolderError) Error() string { return e.Message().String() }

// Message is what people are told.
func (e *MissingFolderError) Message() message.Message { return message.FolderNotHere(e.Folder) }

// MoveIn brings an office over from the file of another computer, into one that knows none: see moving.go. saveTo is the folder
// for documents here, for an office whose folder is not here; empty to take that of the old computer, which is a
// *MissingFolderError where there is none. After an error nothing has changed.
func (a *Agent) MoveIn(ctx context.Context, path, password, saveTo string) (b Brought, err error) {
	done := a.gate.begin()
	defer done()
	if err := a.mayMoveIn(ctx); err != nil {
		return b, err
	}
	folder := filepath.Join(a.p.DataDir, arrivals)
	if err := os.RemoveAll(folder); err != nil {
		return b, err
	}
	defer os.RemoveAll(folder)
	m, err := a.unpackArrival(path, password, folder)
	if err != nil {
		return b, sealedError(path, err)
	}
	other, err := store.Open(luggage.State(folder), store.Options{Now: a.Now, Log: a.Log})
	if err != nil {
		return b, sealedError(path, err)
	}
	defer other.Close()
	here, err := placesHere(other, saveTo)
	if err != nil {
		return b, err
	}
	release := a.gate.hold()
	defer release()
	if err := a.mayMoveIn(ctx); err != nil { // by now
		return b, err
	}
	b.Computer = m.Computer
	if b.Paused, err = a.adopt(other, m, folder, here); err != nil {
		return b, sealedError(path, err)
	}
	a.p.Crash("move adopted")
	if err := a.reload(ctx); err != nil {
		return b, err
	}
	a.loadParting()
	if err := a.takeOver(ctx); err != nil {
		b.Waits = Message(err)
	}
	return b, nil
}

// arrivals is the folder in the data folder in which a file is unpacked.
const arrivals = "arriving"

// mayMoveIn says why no office can be brought over to this computer.
func (a *Agent) mayMoveIn(ctx context.Context) error {
	var packages store.PackageCounts
	var drafts []office.Draft
	here, err := data.Read(a.Data, "what is known of the office", func(tx *store.Tx) (x backedUp, err error) {
		if packages, err = tx.PackageCounts(); err != nil {
			return x, err
		}
		if drafts, err = tx.Drafts(); err != nil {
			return x, err
		}
		return readBackedUp(tx)
	})
	if err != nil {
		return err
	}
	if here.Settings != nil || here.Account != nil || packages.Total+len(drafts) > 0 || a.parted().State != "" || a.restoreOwed() {
		return message.Error(message.OfficeHere(), nil)
	}
	if !a.account.Unlock(ctx) {
		return a.account.LockedError()
	}
	return nil
}

// roomBeside are the bytes that the disk must have left beside what is unpacked.
const roomBeside = 64 << 20

func (a *Agent) unpackArrival(path, password, folder string) (luggage.Manifest, error) {
	info, err := os.Stat(path)
	if err != nil {
		return luggage.Manifest{}, err
	}
	if !info.Mode().IsRegular() { // a pipe would hold us up for ever
		return luggage.Manifest{}, safe.ErrForeign
	}
	return backups.Unpack(path, safe.Password(password), folder, func(m luggage.Manifest) error {
		// It is unpacked once, and put into the state once more.
		if free, known := store.FreeSpace(a.p.DataDir); known && free < uint64(m.Size()+m.State)+roomBeside {
			return message.Error(message.SealedNoRoom(), nil)
		}
		return nil
	})
}

// places are the folders of an office as they are on this computer.
type places struct {
	settings office.Settings
	before   string // the folder for documents on the old computer
	folders  []office.HotFolder
	paused   []message.Message
}

// placesHere looks which of the folders that a state from elsewhere names are here. It makes none, but for saveTo.
func placesHere(other *store.Store, saveTo string) (p places, err error) {
	err = other.View(func(tx *store.Tx) error {
		_, err1 := tx.GetDoc(account.DocSettings, &p.settings)
		_, err2 := tx.GetDoc(hotfolder.DocFolders, &p.folders)
		return errors.Join(err1, err2)
	})
	if err != nil {
		return p, err
	}
	p.settings = p.settings.Normal()
	p.before = p.settings.SaveTo
	switch {
	case saveTo != "":
		s := p.settings
		s.SaveTo = saveTo
		if p.settings = s.Normal(); !filepath.IsAbs(p.settings.SaveTo) {
			return p, &ConfigError{Fields: []office.FieldError{office.Finding(office.FieldSaveTo, office.CodePath)}}
		}
		if code := tryFolder(p.settings.SaveTo); code != "" {
			return p, &ConfigError{Fields: []office.FieldError{office.Finding(office.FieldSaveTo, code)}}
		}
	case !isFolder(p.before):
		return p, &MissingFolderError{p.before}
	}
	if _, err := os.Stat(p.settings.NgrokCA); p.settings.NgrokCA != "" && err != nil {
		p.settings.NgrokCA = ""
	}
	for i := range p.folders {
		if f := &p.folders[i]; !isFolder(f.Path) && !f.Paused {
			f.Paused = true
			p.paused = append(p.paused, message.FolderPaused(f.Path))
		}
	}
	return p, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && filepath.IsAbs(path)
}

// adopt puts the office of the file in the place of the empty state here. The gate is held.
func (a *Agent) adopt(other *store.Store, m luggage.Manifest, folder string, here places) (paused []message.Message, err error) {
	sealed, id, err := a.account.Seal(m.Secrets)
	if err != nil {
		return nil, err
	}
	if err := a.bringCopies(m, folder); err != nil {
		return nil, err
	}
	a.p.Crash("move unpacked")
	now := a.Now()
	p := parting{State: arriving, ID: m.ID, Computer: m.Computer, Time: now.UTC()}
	err = a.Data.Store.Adopt(other, func(tx *store.Tx) error {
		return errors.Join(
			account.ReplaceSealed(tx, sealed),
			tx.PutDoc(account.DocKeyID, id),
			tx.PutDoc(docInstallation, uuid.NewString()),
			tx.PutDoc(account.DocSettings, here.settings),
			tx.PutDoc(hotfolder.DocFolders, here.folders),
			tx.PutDoc(docParting, p),
			download.Relocate(tx, here.before, here.settings.SaveTo, a.Now),
			tx.UseService(issuer.Home(here.settings)),
			backups.Forget(tx),
		)
	})
	return here.paused, err
}

// bringCopies puts the documents that wait where they are sent from.
func (a *Agent) bringCopies(m luggage.Manifest, folder string) error {
	to := locations.Outbox(a.p.DataDir)
	if len(m.Documents) > 0 {
		if err := disk.MkdirAll(to, 0o700); err != nil {
			return err
		}
	}
	for _, d := range m.Documents {
		if err := disk.Rename(luggage.DocumentIn(folder, d.Name), filepath.Join(to, d.Name)); err != nil {
			return err
		}
	}
	return nil
}

// sealedError is what people are told of a file that cannot be brought over. Nothing was changed.
func sealedError(path string, err error) error {
	name := filepath.Base(path)
	say := func(m message.Message) error { return message.Error(m, err) }
	switch {
	case errors.Is(err, safe.ErrForeign):
		return say(message.SealedForeign(name))
	case errors.Is(err, safe.ErrNewer), errors.Is(err, luggage.ErrNewer), errors.Is(err, store.ErrNewer):
		return say(message.SealedNewer(name))
	case errors.Is(err, safe.ErrKey):
		return say(message.SealedPassword(name))
	case errors.Is(err, safe.ErrDamaged), errors.Is(err, luggage.ErrDamaged), errors.Is(err, store.ErrCorrupt):
		return say(message.SealedDamaged(name))
	case store.DiskFull(err):
		return say(message.SealedNoRoom())
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return say(message.SealedNotRead(name))
	}
	if _, known := message.Of(err); known {
		return err
	}
	return say(message.SealedNotRead(name))
}
