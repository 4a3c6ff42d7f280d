package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/transfer"
	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/private"
	"countersign/internal/safe"
	"countersign/internal/store"
)

// An office moves to another computer in one sealed file (package transfer). Nothing in it works by itself:
//
//   - The old computer stops before the file has its name, and ends its own sign-in in the commit that notes so. There is no sign-in in
//     the file: somebody signs in anew on the new one, and once more on the old one should the office be taken back.
//   - The new computer shows what is in the file before it touches anything, and then keeps it as Configure keeps what is typed: the same
//     validator, the same commit.
//   - What was to be sent waits on whichever computer goes on, for the service's list or for a person, as after a restored backup. So two
//     computers that have the same office, because a person took back what was brought over, send nothing twice by themselves.
//   - What is to be saved is planned anew, into the folder that is chosen here; folders that send are paused.

// docMoved names the document that says that this office has moved away. It belongs to the computer: the second file has it, too.
const docMoved = "moved"

// moved is where an office went.
type moved struct {
	File string    `json:"file"` // that was written
	Time time.Time `json:"time"`
}

// LeastPassword is how many characters a password for a file has at least.
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

// movedAway reports whether this computer does not work because its office has moved. As long as that cannot be read, which is told, it
// had better not work.
func (a *Agent) movedAway() (m moved, away bool) {
	m, away, err := data.Doc[moved](a.Data, docMoved)
	return m, away || err != nil
}

// loadMoved has a computer that its office has left stay quiet, from the first moment on.
func (a *Agent) loadMoved() {
	m, away := a.movedAway()
	a.account.Park(away)
	if away {
		text := message.MovedAway(filepath.Base(m.File))
		a.Data.Freeze(text)
		a.Health.Set(health.MovedAway, text)
	}
}

// MoveOut writes everything this office is into a new file, sealed with the password, and stops working here. Without an error
// the file is on disk; with one, nothing has changed, unless the file could not be named: then the office is taken back.
func (a *Agent) MoveOut(ctx context.Context, path, password string) error {
	if utf8.RuneCountInString(password) < LeastPassword {
		return message.Error(message.PasswordShort(LeastPassword), nil)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	done := a.gate.begin()
	defer done()
	if err := a.mayMove(ctx, path); err != nil {
		return err
	}
	sealer := safe.NewSealer(password)
	a.form.Flush()
	release := a.gate.hold()
	defer release()
	a.account.Park(true)
	if err := a.account.Reload(ctx); err != nil { // the session has ended with the loops
		return err
	}
	a.Data.Freeze(message.MovingNow())
	revoke, err := a.writeMove(ctx, path, sealer)
	if err != nil {
		a.Log.Error("write what is to be moved", "err", err)
		if _, away := a.movedAway(); away {
			err = errors.Join(err, a.comeBack(ctx))
		}
		a.Data.Thaw()
		a.account.Park(false)
		return message.Error(message.MoveFileNotWritten(filepath.Base(path)), err)
	}
	a.loadMoved()
	a.Health.End(health.WithSignIn)
	revoke(ctx)
	a.Signal(office.StatusChanged)
	a.Signal(office.OutboxChanged)
	return nil
}

// mayMove says why the office cannot be written to path.
func (a *Agent) mayMove(ctx context.Context, path string) error {
	if _, away := a.movedAway(); away {
		return message.Error(message.MovingNow(), nil)
	}
	if !a.Settings().Configured() || a.restoreOwed() {
		return message.Error(message.NothingToMove(), nil)
	}
	if !a.account.Unlock(ctx) {
		return a.account.LockedError()
	}
	if _, err := os.Lstat(path); err == nil {
		return message.Error(message.MoveFileThere(filepath.Base(path)), nil)
	}
	return nil
}

// writeMove makes the file, and notes right before it has its name that the office has left.
func (a *Agent) writeMove(ctx context.Context, path string, sealer *safe.Sealer) (revoke func(context.Context), err error) {
	o, err := a.whatMoves()
	if err != nil {
		return nil, err
	}
	temp, err := private.CreateTemp(filepath.Dir(path), ".countersign-move-*")
	if err != nil {
		return nil, err
	}
	err = transfer.WriteMove(temp, sealer, o, func(f office.DraftFile) string { return filepath.Join(locations.Outbox(a.p.DataDir), f.Copy) })
	if err == nil {
		err = temp.Sync()
	}
	if err == nil {
		a.p.Crash("move written")
		left := moved{File: path, Time: a.Now().UTC()}
		revoke, err = a.account.HandOver(ctx, func(tx *store.Tx) error { return tx.PutDoc(docMoved, left) })
	}
	if err != nil {
		return nil, errors.Join(err, temp.Close(), os.Remove(temp.Name()))
	}
	a.p.Crash("move left")
	return revoke, a.nameMove(temp, path)
}

// nameMove gives the file its name. One that has it may be on its way at once: the office has left, though a power failure may
// take the name away again. Then the office can be taken back, as from any file that is lost.
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

// whatMoves is everything that this office is.
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
	err = a.Data.Store.View(func(tx *store.Tx) error {
		o.Packages, o.Drafts = nil, nil
		_, err1 := tx.GetDoc(hotfolder.DocFolders, &o.Folders)
		err2 := tx.Packages(func(p office.Package) bool { o.Packages = append(o.Packages, p); return true })
		drafts, err3 := tx.Drafts(transfer.Waiting...)
		o.Drafts = slices.DeleteFunc(drafts, func(d office.Draft) bool { return d.Away }) // which no other service is to get
		return errors.Join(err1, err2, err3)
	})
	return o, err
}

// TakeBack has the old computer work again, because the file was never brought over, or the other computer is out of use. Somebody
// signs in anew, and what was to be sent waits for the service's list or for a person.
func (a *Agent) TakeBack(ctx context.Context) error {
	done := a.gate.begin()
	defer done()
	if _, away := a.movedAway(); !away {
		return nil
	}
	if err := a.comeBack(ctx); err != nil {
		return err
	}
	a.Record(office.Activity{Kind: "moved", Text: message.TakenBack()})
	return nil
}

// comeBack ends that the office has moved away. No loop runs.
func (a *Agent) comeBack(ctx context.Context) error {
	now := a.Now()
	err := a.Data.UpdateFrozen(func(tx *store.Tx) error { return errors.Join(a.unsettle(tx, now), tx.PutDoc(docMoved, nil)) })
	if err != nil {
		return err
	}
	a.p.Crash("move returned")
	a.Data.Thaw()
	a.account.Park(false)
	a.Health.Clear(health.MovedAway)
	return a.reload(ctx)
}
