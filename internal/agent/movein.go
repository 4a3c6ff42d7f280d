package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/data"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/outbox"
	"countersign/internal/agent/transfer"
	"countersign/internal/disk"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/safe"
	"countersign/internal/store"
)

// Arrival is what a file of another computer says, for a person to look at before it is brought over.
type Arrival struct {
	Digest   string            `json:"digest"` // of the file
	Computer string            `json:"computer"`
	Made     time.Time         `json:"made"`
	SignIn   string            `json:"sign_in"`           // the host where people sign in
	Service  string            `json:"service,omitempty"` // where documents go, if that is another one
	Events   string            `json:"events,omitempty"`  // where what the service reports arrives
	Returns  string            `json:"returns,omitempty"` // where the browser returns after a sign-in
	Account  string            `json:"account,omitempty"` // who was signed in
	Folder   string            `json:"folder"`            // for documents, on the old computer
	Watched  []string          `json:"watched,omitempty"` // folders that send; here they are paused
	Packages int               `json:"packages"`
	Drafts   int               `json:"drafts"`
	LeftOut  []message.Message `json:"left_out,omitempty"`
}

// ReadMove reads the file of another computer, for a person to look at. It touches nothing, also no path that the file names.
func (a *Agent) ReadMove(ctx context.Context, path, password string) (Arrival, error) {
	if err := a.mayMoveIn(ctx); err != nil {
		return Arrival{}, err
	}
	o, err := a.readMove(path, password, "")
	if err != nil {
		return Arrival{}, err
	}
	plain := func(said string) string { return message.OneLine(said, 400) }
	x := Arrival{
		Digest: o.Digest, Computer: plain(o.Header.Computer), Made: o.Header.Made, Account: plain(o.Account.Email), Folder: plain(o.Settings.SaveTo),
		Packages: len(o.Packages), Drafts: len(o.Drafts), LeftOut: o.LeftOut,
	}
	x.SignIn, x.Service = o.Settings.Hosts()
	x.Events, x.Returns = o.Settings.Reached()
	for _, f := range o.Folders {
		x.Watched = append(x.Watched, plain(f.Path))
	}
	return x, nil
}

// readMove reads the file, and writes the documents of its drafts into a folder, if there is one.
func (a *Agent) readMove(path, password, documents string) (o transfer.Office, err error) {
	f, err := transfer.Open(path)
	if err != nil {
		return o, sealedError(path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && documents != "" {
		if free, known := store.FreeSpace(a.p.DataDir); known && free < 2*uint64(info.Size())+roomBeside {
			return o, message.Error(message.SealedNoRoom(), nil)
		}
	}
	o, err = transfer.ReadMove(f, password, a.Now(), documents)
	if err == nil && slices.ContainsFunc(o.Packages, func(p office.Package) bool { return !esign.UsableID(p.ID) }) {
		err = fmt.Errorf("%w: a package", transfer.ErrDamaged)
	}
	if err != nil {
		return o, sealedError(path, err)
	}
	return o, nil
}

// roomBeside are the bytes that the disk must have left beside what is brought over.
const roomBeside = 64 << 20

// MoveIn brings over the office of the file that a person has looked at, whose digest it is, to a computer that is not set up. saveTo is
// the folder for documents here. After an error nothing has changed.
func (a *Agent) MoveIn(ctx context.Context, path, password, digest, saveTo string) error {
	if saveTo == "" {
		return message.Error(message.ChooseFolder(), nil)
	}
	done := a.gate.begin()
	defer done()
	release := a.gate.hold() // before configuring, which loops take
	defer release()
	a.configuring.Lock()
	defer a.configuring.Unlock()
	if err := a.mayMoveIn(ctx); err != nil {
		return err
	}
	copies := locations.Outbox(a.p.DataDir)
	if err := disk.MkdirAll(copies, 0o700); err != nil {
		return err
	}
	o, err := a.readMove(path, password, copies)
	if err != nil {
		return err
	}
	if o.Digest != digest {
		return message.Error(message.SealedChanged(filepath.Base(path)), nil)
	}
	a.p.Crash("move unpacked")
	a.readRules()
	s := o.Settings
	s.SaveTo = saveTo
	var told []office.Activity
	for _, text := range append([]message.Message{message.BroughtOver(o.Header.Computer)}, o.LeftOut...) {
		told = append(told, office.Activity{Time: a.Now(), Kind: "moved", Text: text})
	}
	err = a.configure(ctx, s.Normal(), o.Secrets, func(tx *store.Tx) error { return a.adopt(tx, o, told) })
	if errors.Is(err, transfer.ErrDamaged) {
		return sealedError(path, err)
	}
	if err != nil {
		return err
	}
	a.p.Crash("move adopted")
	a.form.Keep(o.Form)
	if err := a.reload(ctx); err != nil {
		return err
	}
	for _, x := range told {
		a.Tell(x)
	}
	return nil
}

// adopt keeps what was brought over beside the settings, and what people are told of it, in the commit that keeps those.
func (a *Agent) adopt(tx *store.Tx, o transfer.Office, told []office.Activity) error {
	errs := []error{tx.PutDoc(account.Doc, account.Record{Account: account.Account{OrganizationID: o.Account.OrganizationID}, Since: o.Account.Since}),
		tx.PutDoc(hotfolder.DocFolders, o.Folders), outbox.PutPeople(tx, o.People)}
	for _, p := range o.Packages {
		errs = append(errs, ofTheFile(tx.PutPackage(p)))
	}
	for _, d := range o.Drafts {
		errs = append(errs, ofTheFile(tx.PutDraft(outbox.Adopted(d, a.p.DataDir))))
	}
	errs = append(errs, a.unsettle(tx, a.Now()))
	for _, x := range told {
		errs = append(errs, tx.AddActivity(x))
	}
	return errors.Join(errs...)
}

// ofTheFile says of an error of storing that what is stored is at fault where no store could keep it, such as a time in the year 10000.
func ofTheFile(err error) error {
	if _, ok := errors.AsType[*json.MarshalerError](err); ok {
		return fmt.Errorf("%w: %w", transfer.ErrDamaged, err)
	}
	return err
}

// mayMoveIn says why no office can be brought over to this computer.
func (a *Agent) mayMoveIn(ctx context.Context) error {
	here, err := data.Read(a.Data, "what is known of the office", func(tx *store.Tx) (bool, error) {
		x, err1 := readBackedUp(tx)
		packages, err2 := tx.PackageCounts()
		drafts, err3 := tx.Drafts()
		return x.Settings != nil || x.Account != nil || x.Moved != nil || packages.Total+len(drafts) > 0, errors.Join(err1, err2, err3)
	})
	if err != nil {
		return err
	}
	if here || a.restoreOwed() {
		return message.Error(message.OfficeHere(), nil)
	}
	if !a.account.Unlock(ctx) {
		return a.account.LockedError()
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
	case errors.Is(err, safe.ErrNewer), errors.Is(err, transfer.ErrNewer):
		return say(message.SealedNewer(name))
	case errors.Is(err, safe.ErrKey):
		return say(message.SealedPassword(name))
	case errors.Is(err, safe.ErrDamaged), errors.Is(err, transfer.ErrDamaged):
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
