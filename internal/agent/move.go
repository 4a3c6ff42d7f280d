package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/internal/agent/account"
	"countersign/internal/agent/bulk"
	"countersign/internal/agent/data"
	"countersign/internal/agent/desks"
	"countersign/internal/agent/form"
	"countersign/internal/agent/health"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/outbox"
	"countersign/internal/agent/proof"
	"countersign/internal/agent/reconcile"
	"countersign/internal/agent/transfer"
	"countersign/internal/disk"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/private"
	"countersign/internal/safe"
	"countersign/internal/store"
)

// An office moves to another computer in one sealed file (package transfer). Nothing in it takes effect by itself:
//
//   - The old computer stops before the file gets its name, and ends its own sign-in in the commit that records this. The file
//     contains no sign-in: somebody must sign in on the new computer, and again on the old one if the office is taken back.
//   - The new computer shows the file's content before it changes anything, and then stores it as Configure stores typed input:
//     same validator, same commit.
//   - What was to be sent waits, on whichever computer continues, for the service's list or for a person, as after a restored
//     backup. So two computers with the same office, because a person took it back after moving it, send nothing twice by
//     themselves.
//   - No list moves: it ends or is stopped first, and its lines that were sent are known on the new computer.
//   - What a hot folder has taken becomes a draft first: nobody else would find it in Waiting.
//   - Downloads are planned again, into the folder chosen here; hot folders are paused.
//   - Trusted seal authorities are not in the file: a person decides here again, and is shown whose seal it is.

// LeastPassword is the minimum length of a file's password, in characters.
const LeastPassword = 10

// IsMove reports whether a file is one of a move, by its first bytes.
func IsMove(path string) bool {
	f, err := transfer.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return safe.Is(f)
}

// MoveOut writes this whole office into a new file, sealed with the password, and stops working here. Without an error the file is
// on disk; with one, nothing has changed, unless naming the file failed: then the office is taken back.
func (a *Agent) MoveOut(ctx context.Context, path, password string) error {
	if utf8.RuneCountInString(password) < LeastPassword {
		return message.Error(message.PasswordShort(LeastPassword), nil)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := a.mayMove(ctx, path); err != nil {
		return err
	}
	defer a.gate.shut()() // before configuring, which loops lock, too
	a.configuring.Lock()
	defer a.configuring.Unlock()
	if err := a.mayMove(ctx, path); err != nil { // another caller may have moved it
		return err
	}
	a.form.Flush()
	a.account.Park(true)
	a.account.Resume()
	a.Data.Freeze(message.MovingNow())
	revoke, err := a.writeMove(ctx, path, safe.Password(password))
	if err != nil {
		a.Log.Error("write what is to be moved", "err", err)
		why := message.MoveFileNotWritten(filepath.Base(path))
		if errors.Is(err, transfer.ErrTooMuch) {
			why = message.MoveTooLarge()
		}
		if _, away := a.movedAway(); away {
			why, err = message.MoveFileNotNamed(filepath.Base(path)), errors.Join(err, a.comeBack(ctx))
		}
		a.Data.Thaw()
		a.account.Park(false)
		return message.Error(why, err)
	}
	a.loadMoved()
	a.Health.End(health.WithSignIn)
	revoke(ctx)
	a.Signal(office.StatusChanged)
	a.Signal(office.OutboxChanged)
	return nil
}

// mayMove returns why the office cannot be written to path.
func (a *Agent) mayMove(ctx context.Context, path string) error {
	if _, away := a.movedAway(); away {
		return message.Error(message.MovingNow(), nil)
	}
	if !a.Settings().Configured() || a.restorePending() {
		return message.Error(message.NothingToMove(), nil)
	}
	if !a.account.Unlock(ctx) {
		return a.account.LockedError()
	}
	list, err := data.Read(a.Data, "the lists that are sent", bulk.Unfinished)
	if err != nil {
		return err
	}
	if list != "" {
		return message.Error(message.ListsUnfinished(list), nil)
	}
	folder, err := data.Read(a.Data, "the folders that send", hotfolder.Unfinished)
	if err != nil {
		return err
	}
	if folder != "" {
		return message.Error(message.FolderUnfinished(folder), nil)
	}
	if _, err := os.Lstat(path); err == nil {
		return message.Error(message.NameTaken(filepath.Base(path)), nil)
	}
	return nil
}

// writeMove makes the file, and records right before naming it that the office has left.
func (a *Agent) writeMove(ctx context.Context, path string, password safe.Password) (revoke func(context.Context), err error) {
	o, err := a.whatMoves()
	if err != nil {
		return nil, err
	}
	temp, err := private.CreateTemp(filepath.Dir(path), ".countersign-move-*")
	if err != nil {
		return nil, err
	}
	err = transfer.WriteMove(temp, password, o, func(f office.DraftFile) string { return filepath.Join(locations.Outbox(a.p.DataDir), f.Copy) })
	if err == nil {
		err = temp.Sync()
	}
	if err == nil {
		a.p.Crash("move written")
		revoke, err = a.account.HandOver(ctx, func(tx *store.Tx) error { return tx.PutDoc(docMoved, moved{path, o.Header.Made}) })
	}
	if err != nil {
		return nil, errors.Join(err, temp.Close(), os.Remove(temp.Name()))
	}
	a.p.Crash("move left")
	return revoke, a.nameMove(temp, path)
}

// nameMove gives the file its name. From then on it may be taken away, so the office has left, even if a power failure may undo the
// name. Then the office can be taken back, as with any lost file.
func (a *Agent) nameMove(temp *os.File, path string) error {
	err := disk.Create(temp, path)
	if errors.Is(err, disk.ErrUnflushed) {
		a.Log.Warn("flush the name of the file that is moved", "err", err)
		err = nil
	}
	if err == nil {
		a.p.Crash("move named")
	}
	return err
}

func (a *Agent) whatMoves() (o transfer.Office, err error) {
	o.Header, o.Settings, o.Form = a.header(), a.Settings(), a.form.Form()
	o.Header.Made = a.Now().UTC()
	acc := a.account.Current().Account
	o.Account = transfer.Account{Email: acc.Email, OrganizationID: acc.OrganizationID, Since: acc.Since}
	for name, into := range map[string]*string{
		issuer.ClientSecret.Of(issuer.Of(o.Settings)): &o.Secrets.ClientSecret, issuer.NgrokToken.Of(issuer.Ngrok(o.Settings)): &o.Secrets.NgrokAuthtoken,
	} {
		secret, err := a.account.Vault().Get(name)
		if err != nil {
			return o, err
		}
		*into = string(secret)
	}
	if o.People, err = a.outbox.People(); err != nil {
		return o, err
	}
	err = a.Data.Store.View(func(tx *store.Tx) (err error) {
		o.Packages, o.Drafts, o.Record = nil, nil, nil
		recorded := 0
		o.Stamps = proof.Stamps(tx)
		tx.Log().Export(func(r store.Record) error {
			if recorded += len(r.Bytes); recorded > mostRecorded {
				o.Record, o.Stamps = nil, nil
				return nil
			}
			o.Record = append(o.Record, r)
			return nil
		})
		tx.GetDoc(hotfolder.DocFolders, &o.Folders)
		tx.GetDoc(form.DocPresets, &o.Presets)
		tx.Packages(func(p office.Package) bool { o.Packages = append(o.Packages, p); return true })
		drafts, _ := tx.Drafts(office.DraftsWaiting...)
		o.Drafts = slices.DeleteFunc(drafts, func(d office.Draft) bool { return d.Away }) // no other service may get them
		o.Seen = hotfolder.Seen(tx)
		o.Sent, err = bulk.Sent(tx)
		return err
	})
	return o, err
}

// mostRecorded limits the bytes of the record that move. A longer record stays in the old computer's backups and copies, and a new
// one begins.
const mostRecorded = 128 << 20

// TakeBack makes the old computer work again because the file was never used, or the other computer is out of use. Somebody must
// sign in, and what was to be sent waits for the service's list or for a person.
func (a *Agent) TakeBack(ctx context.Context) error {
	defer a.gate.shut()()
	if _, away := a.movedAway(); !away {
		return message.Error(message.NotMoved(), nil)
	}
	if err := a.comeBack(ctx); err != nil {
		return err
	}
	a.Record(office.Activity{Kind: office.ActivityMoved, Text: message.TakenBack()})
	return nil
}

// comeBack ends the state of having moved away. No loop may be running.
func (a *Agent) comeBack(ctx context.Context) error {
	err := a.Data.UpdateFrozen(func(tx *store.Tx) error {
		var m moved
		tx.GetDoc(docMoved, &m)
		a.resumeAfter(tx, m.At)
		return tx.PutDoc(docMoved, nil)
	})
	if err != nil {
		return err
	}
	a.p.Crash("move returned")
	a.Data.Thaw()
	a.account.Park(false)
	a.Health.Clear(health.MovedAway)
	return a.reload(ctx)
}

// resumeAfter marks what has happened since the office left to be found out. Unlike after a restored backup, nobody was told of it.
func (a *Agent) resumeAfter(tx *store.Tx, left time.Time) {
	a.doubt(tx, a.Now())
	data.MarkRestored(tx, left)
	reconcile.AskAgain(tx, a.Now())
	a.noteDueSoon(tx, left)
}

// Arrival sums up the file from another computer, for a person to check before moving it in.
type Arrival struct {
	Digest   string            `json:"digest"` // digest of the file
	Computer string            `json:"computer"`
	Made     time.Time         `json:"made"`
	SignIn   string            `json:"sign_in"`           // the host where people sign in
	Service  string            `json:"service,omitempty"` // where documents go, if to another host
	Events   string            `json:"events,omitempty"`  // where the service's events arrive
	Returns  string            `json:"returns,omitempty"` // where the browser returns after a sign-in
	Account  string            `json:"account,omitempty"` // who was signed in
	Folder   string            `json:"folder"`            // folder for documents on the old computer
	Watched  []string          `json:"watched,omitempty"` // hot folders; paused here
	Packages int               `json:"packages"`
	Drafts   int               `json:"drafts"`
	LeftOut  []message.Message `json:"left_out,omitempty"`
}

// ReadMove reads a file from another computer, for a person to check. It changes nothing, and accesses no path named in the file.
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

// readMove reads the file, and writes its drafts' documents into a folder unless that is "".
func (a *Agent) readMove(path, password, documents string) (o transfer.Office, err error) {
	f, err := transfer.Open(path)
	if err != nil {
		return o, sealedError(path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && documents != "" {
		if free, known := disk.FreeIn(a.p.DataDir); known && free < 2*uint64(info.Size())+roomBeside {
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

// roomBeside is how many bytes must stay free on the disk besides what is moved in.
const roomBeside = 64 << 20

// MoveIn sets up this computer with the office in the file that a person has checked, identified by digest. saveTo is the folder for
// documents here. After an error nothing has changed.
func (a *Agent) MoveIn(ctx context.Context, path, password, digest, saveTo string) error {
	if saveTo == "" {
		return message.Error(message.ChooseFolder(), nil)
	}
	defer a.gate.shut()() // as in MoveOut
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
		told = append(told, office.Activity{Time: a.Now(), Kind: office.ActivityMoved, Text: text})
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
	return a.reload(ctx)
}

// adopt stores everything moved in besides the settings, with the notes for people, in the commit that stores those.
func (a *Agent) adopt(tx *store.Tx, o transfer.Office, told []office.Activity) error {
	tx.PutDoc(account.Doc, account.Record{Account: account.Account{OrganizationID: o.Account.OrganizationID}, Since: o.Account.Since})
	tx.PutDoc(hotfolder.DocFolders, o.Folders)
	tx.PutDoc(form.DocPresets, o.Presets)
	outbox.PutPeople(tx, o.People)
	proof.Adopt(tx, o.Record, o.Stamps)
	bulk.Adopt(tx, o.Sent)
	hotfolder.AdoptSeen(tx, o.Seen, a.Now())
	for _, p := range o.Packages {
		tx.PutPackage(p)
	}
	for _, d := range o.Drafts {
		tx.PutDraft(outbox.Adopted(d, a.p.DataDir))
	}
	a.resumeAfter(tx, o.Header.Made)
	for _, x := range told {
		tx.AddActivity(x)
	}
	return ofTheFile(tx.Err())
}

// ofTheFile blames the file for an error of storing if no store could hold the content, such as a time in the year 10000.
func ofTheFile(err error) error {
	if _, ok := errors.AsType[*json.MarshalerError](err); ok {
		return fmt.Errorf("%w: %w", transfer.ErrDamaged, err)
	}
	return err
}

// mayMoveIn returns why no office can be moved to this computer.
func (a *Agent) mayMoveIn(ctx context.Context) error {
	here, err := data.Read(a.Data, "what is known of the office", func(tx *store.Tx) (bool, error) {
		x, err := readBackedUp(tx)
		packages, _ := tx.PackageCounts()
		drafts, _ := tx.Drafts()
		return x.has(account.DocSettings) || x.has(account.Doc) || x.has(docMoved) || packages.Total+len(drafts) > 0, err
	})
	if err != nil {
		return err
	}
	if here || a.restorePending() {
		return message.Error(message.OfficeHere(), nil)
	}
	if !a.account.Unlock(ctx) {
		return a.account.LockedError()
	}
	return nil
}

// sealedError words for people why a file cannot be used. Nothing was changed.
func sealedError(path string, err error) error {
	name := filepath.Base(path)
	say := func(m message.Message) error { return message.Error(m, err) }
	switch {
	case errors.Is(err, safe.ErrForeign):
		return say(message.SealedForeign(name))
	case errors.Is(err, transfer.ErrNewer):
		return say(message.SealedNewer(name))
	case errors.Is(err, safe.ErrKey):
		return say(message.SealedPassword(name))
	case errors.Is(err, safe.ErrDamaged), errors.Is(err, transfer.ErrDamaged):
		return say(message.SealedDamaged(name))
	case disk.Full(err):
		return say(message.SealedNoRoom())
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return say(message.SealedNotRead(name))
	}
	if _, known := message.Of(err); known {
		return err
	}
	return say(message.SealedNotRead(name))
}

// OfficeFile is what an administrator hands to the people of an office.
type OfficeFile = transfer.Shared

const (
	// OfficeEnding is the ending of such a file's name.
	OfficeEnding = office.OwnEnding
	// OfficeName is its default name.
	OfficeName = "Office" + OfficeEnding
)

// WriteOffice writes a new file for the people of an office.
func WriteOffice(path string, o OfficeFile) error { return transfer.WriteShared(path, o) }

func ReadOffice(path string) (OfficeFile, error) { return transfer.ReadShared(path) }

// IsOfficeFile reports whether a file's name is that of such a file.
func IsOfficeFile(path string) bool { return transfer.IsShared(path) }

// ReadOffice is the function ReadOffice, for the window.
func (a *Agent) ReadOffice(path string) (OfficeFile, error) { return ReadOffice(path) }

// Office returns the file of this office with the given settings instead of the stored ones, and the stored client secret if it
// belongs to their service.
func (a *Agent) Office(s office.Settings) (OfficeFile, error) {
	secret, err := a.account.Vault().Get(issuer.ClientSecret.Of(issuer.Of(s)))
	if err != nil {
		return OfficeFile{}, err
	}
	return OfficeFile{Settings: s, ClientSecret: string(secret)}, nil
}

// The office's other desks; see package desks.
func (a *Agent) Desks(ctx context.Context) []office.DeskRow        { return a.desks.List(ctx) }
func (a *Agent) RemoveDesk(ctx context.Context, name string) error { return a.desks.Remove(ctx, name) }

// OfferDesk offers an invitation, or the file for all desks, by a code; see desks.Offer.
func (a *Agent) OfferDesk(ctx context.Context, file OfficeFile, tell func(code string) error) error {
	b, err := transfer.EncodeShared(file)
	if err != nil {
		return err
	}
	return a.desks.Offer(ctx, b, file.DeskKey != "", tell)
}

// FetchOffice gets what a hub offers by a code; see desks.Fetch.
func FetchOffice(ctx context.Context, code, hub string) (OfficeFile, error) {
	b, err := desks.Fetch(ctx, code, hub)
	if err != nil {
		return OfficeFile{}, err
	}
	return transfer.DecodeShared(OfficeName, b)
}

// FetchOffice is the function FetchOffice, for the window.
func (a *Agent) FetchOffice(ctx context.Context, code, hub string) (OfficeFile, error) {
	return FetchOffice(ctx, code, hub)
}

// Hub returns this computer's public key as the hub, and its number among the office's successive hubs.
func (a *Agent) Hub() (key string, epoch int, err error) { return a.desks.Hub() }

// InviteDesk makes a desk, and the file that its computer opens.
func (a *Agent) InviteDesk(ctx context.Context, q office.DeskInvite) (OfficeFile, error) {
	v, err := a.desks.Invite(ctx, q)
	if err != nil {
		return OfficeFile{}, err
	}
	return a.invitation(v, q.WithSecret)
}

// invitation returns the file with the settings for a desk of this hub.
func (a *Agent) invitation(v desks.Invitation, withSecret bool) (OfficeFile, error) {
	s := a.Settings()
	if s.Redirect == office.RedirectTunnel { // it ends here, so people copy the address from their browser
		s.Redirect = office.RedirectPaste
		if s.RedirectURI = s.ReturnAddress(); s.RedirectURI == "" {
			s.RedirectURI = strings.TrimSuffix(a.webhook.Address().URL, "/") + office.CallbackPath
		}
	}
	s.Tunnel, s.Office, s.OfficePin, s.OfficeListen = office.TunnelOffice, v.Servers, v.Pin, ""
	file := OfficeFile{Settings: s.Normal()}
	if withSecret {
		var err error
		if file, err = a.Office(s.Normal()); err != nil {
			return file, err
		}
	}
	file.DeskKey = v.Key
	return file, nil
}

// MovedHub returns the file for all existing desks: it tells them where the hub is now, and holds no secret.
func (a *Agent) MovedHub(servers string) (OfficeFile, error) {
	v, err := a.desks.Place(servers)
	if err != nil {
		return OfficeFile{}, err
	}
	return a.invitation(v, false)
}
