package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"countersign/internal/agent/account"
	"countersign/internal/agent/backups"
	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/luggage"
	"countersign/internal/agent/outbox"
	"countersign/internal/disk"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/private"
	"countersign/internal/safe"
	"countersign/internal/store"

	"github.com/google/uuid"
)

// An office moves to another computer in one sealed file. Two computers that believe to be the same office would send a draft
// twice, use up each other's sign-in, and take each other's events; so at every moment, and whatever is killed, at most one of
// them works. How that is so:
//
//   - The old one stops before the file exists. MoveOut shuts the gate, waits until no loop runs, has the state refuse every
//     change, and notes on disk that it is leaving. Only then is the state copied: what is in the file is all there is, and
//     nothing happens to it here afterwards.
//   - Right before the file gets its name, the note becomes "left". A start that finds "leaving" knows that no file has come
//     about, and goes on working by itself; one that finds "left" does nothing, for the file may be on its way. The note is in
//     the office's second file as well (backup.go): a lost state does not forget it.
//   - The file holds the sign-in, whose refresh token the service accepts once. It is the baton: whoever renews it first goes
//     on, and the other is refused. A computer to which an office was brought renews before anything else there runs
//     (arriving); so does the old one when somebody takes the office back (returning), because the file is lost, or was never
//     brought over. While the service cannot be asked, both wait.
//   - Who is refused does not know what the other one did. A new computer then has what was to be sent looked for at the service
//     first, and asks for a sign-in. The old one stays as it is, and says that the office works elsewhere; taking it back all the
//     same is a person's word, and begins like a restored backup: what was to be sent waits for the service's list or for a
//     person. So does what the old one had to send when it takes the office back in peace, for a service might accept a token twice.
//   - A service that has no refresh token for the office (nobody was signed in) decides nothing: who begins without is refused.
//   - The endpoint's address and secret are in the file. Where the new computer opens the same address nothing changes for the
//     service; where it opens another one, it registers that, which ends the old one's. The old one's tunnel is closed before
//     the file exists, and what the service could not deliver meanwhile it delivers again.
//
// A token is accepted again for a minute, by interface.md. Whoever brings a file over and takes the office back within that
// minute has two computers that are signed in; what waited is sent once even then. Whoever brings one file over to two new
// computers within that minute has both send, which no step of ours can tell. One that comes after that minute
// is taken for a thief, and the service may end the sign-in of both: so the old one asks nobody unless a person has it do so,
// and says before what that means for the other one.
//
// The new computer puts everything in the place of its own empty state in one commit, sealed with its own key, in which it also
// notes that it is arriving. What the file says of folders holds only where they exist: the folder for documents is asked for,
// and a folder that sends is paused.

// docParting names the document with why this computer does not work. It belongs to the computer, and not to the state.
const docParting = "parting"

// parting is where a move stands on this computer.
type parting struct {
	State    string    `json:"state"`
	ID       string    `json:"id"`                 // of the file
	File     string    `json:"file,omitempty"`     // its path, where it was made
	Computer string    `json:"computer,omitempty"` // where it was made, as its name, on the other one
	Time     time.Time `json:"time"`
	Anyway   bool      `json:"anyway,omitempty"` // a person takes the office back, whoever else has it
}

const (
	leaving   = "leaving"   // no file has its name yet
	left      = "left"      // one may have
	arriving  = "arriving"  // it was brought here, and is to be renewed
	returning = "returning" // it was taken back, likewise
	unknown   = "unknown"   // it cannot be read
)

// IsMove reports whether a file is one of a move, by its first bytes.
func IsMove(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return safe.Is(f)
}

// LeastPassword is how many characters a password for a file has at least.
const LeastPassword = 10

// parted is where a move stands; the zero parting where there is none. As long as that cannot be read, which is told, this
// computer had better not work.
func (a *Agent) parted() parting {
	p, _, err := data.Doc[parting](a.Data, docParting)
	if err != nil {
		return parting{State: unknown}
	}
	return p
}

// putParting notes where a move stands, also while nothing else may be changed.
func (a *Agent) putParting(p parting) error {
	err := a.Data.UpdateFrozen(func(tx *store.Tx) error {
		if p.State == "" {
			return tx.PutDoc(docParting, nil)
		}
		return tx.PutDoc(docParting, p)
	})
	if err == nil {
		a.backUp()
	}
	return err
}

// Parted reports whether this computer does not work because of a move, and whether it is the old one that may be taken back.
func (a *Agent) Parted() (parted, mayReturn bool) {
	p := a.parted()
	return p.State != "", p.State == left
}

// loadParting has a computer that an office has left stay quiet, from the first moment on.
func (a *Agent) loadParting() {
	p := a.parted()
	a.account.Park(p.State != "")
	switch p.State {
	case left:
		a.Data.Freeze(message.MovedAway(filepath.Base(p.File)))
		a.tellLeft(p)
	case arriving, returning:
		a.Health.Set(health.TakingOver, message.TakingOver())
	}
}

func (a *Agent) tellLeft(p parting) {
	text := message.MovedAway(filepath.Base(p.File))
	if p.Anyway {
		text = message.ElsewhereNow()
	}
	a.Health.Set(health.MovedAway, text)
}

// MoveOut writes everything this office is into a new file, sealed with the password, and stops working here. Without an error
// the file is on disk; with one, nothing has changed, but for the case that its text names.
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
	release := a.gate.hold()
	defer release()
	a.form.Flush()
	a.account.Park(true)
	a.account.Pause()
	a.Data.Freeze(message.MovingNow()) // before the note, behind which nothing else is committed
	p := parting{State: leaving, ID: uuid.NewString(), File: path, Time: a.Now().UTC()}
	if err := a.putParting(p); err != nil {
		return errors.Join(err, a.goOn(ctx))
	}
	a.p.Crash("move leaving")
	if err := a.writeLuggage(p, sealer); err != nil {
		a.Log.Error("write what is to be moved", "err", err)
		return errors.Join(message.Error(message.MoveFileNotWritten(filepath.Base(path)), err), a.stay(ctx))
	}
	a.loadParting()
	a.Signal(office.StatusChanged)
	a.Signal(office.OutboxChanged)
	return nil
}

// mayMove says why the office cannot be written to path.
func (a *Agent) mayMove(ctx context.Context, path string) error {
	if p := a.parted(); p.State != "" {
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

// departures is the copy of the state, in the data folder, from which the file is written.
const departures = "moving.new"

// sweep removes the copies of a state that a kill has left. Nobody moves or restores one now.
func (a *Agent) sweep() {
	for _, left := range []string{
		filepath.Join(a.p.DataDir, arrivals), filepath.Join(a.p.DataDir, departures), filepath.Join(locations.Backups(a.p.DataDir), unpacking),
	} {
		if err := os.RemoveAll(left); err != nil {
			a.Log.Warn("remove a copy of a state", "err", err)
		}
	}
}

// tempPattern is what the file of a move is called until it is whole.
func tempPattern(p parting) string { return ".countersign-move-" + p.ID + "-*" }

// writeLuggage makes the file. When it fails there is none.
func (a *Agent) writeLuggage(p parting, sealer *safe.Sealer) (err error) {
	snapshot := filepath.Join(a.p.DataDir, departures)
	if err := os.RemoveAll(snapshot); err != nil {
		return err
	}
	if err := a.Data.Store.Snapshot(snapshot); err != nil {
		return err
	}
	defer os.Remove(snapshot)
	m := a.label()
	m.ID, m.Made = p.ID, p.Time
	if m.Secrets, err = a.account.Secrets(); err != nil {
		return err
	}
	copies := locations.Outbox(a.p.DataDir)
	if m.Documents, err = backups.Waiting(snapshot, copies); err != nil {
		return err
	}
	temp, err := private.CreateTemp(filepath.Dir(p.File), tempPattern(p))
	if err != nil {
		return err
	}
	err = func() error {
		w, err := safe.Seal(temp, sealer)
		if err != nil {
			return err
		}
		if err := luggage.Pack(w, m, snapshot, copies); err != nil {
			return err
		}
		return errors.Join(w.Close(), temp.Sync())
	}()
	if err == nil {
		a.p.Crash("move written")
		p.State = left
		err = a.putParting(p)
	}
	if err != nil {
		return errors.Join(err, temp.Close(), os.Remove(temp.Name()))
	}
	a.p.Crash("move left")
	return a.nameLuggage(temp, p.File)
}

// nameLuggage gives the file its name. One that has it may be on its way at once: the office has left, though a power failure may
// take the name away again. Then the office can be taken back, as from any file that is lost.
func (a *Agent) nameLuggage(temp *os.File, path string) error {
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

// stay has the office go on here: no file has come about. The gate is held, or no loop runs.
func (a *Agent) stay(ctx context.Context) error {
	a.removeUnfinished(a.parted())
	if err := a.putParting(parting{}); err != nil {
		return err
	}
	return a.goOn(ctx)
}

// removeUnfinished removes the files of a move that have no name yet.
func (a *Agent) removeUnfinished(p parting) {
	unfinished, _ := filepath.Glob(filepath.Join(filepath.Dir(p.File), tempPattern(p))) // fails for a wrong pattern alone
	for _, path := range unfinished {
		if err := os.Remove(path); err != nil {
			a.Log.Warn("remove an unfinished file", "err", err)
		}
	}
}

// goOn ends what kept this computer from working.
func (a *Agent) goOn(ctx context.Context) error {
	a.Data.Thaw()
	a.account.Park(false)
	a.Health.Clear(health.MovedAway)
	return a.reload(ctx)
}

// TakeBack has the old computer work again: because the file was never brought over, which the service confirms, or, with
// anyway, because the other computer is out of use. While the service cannot be asked it waits for it.
func (a *Agent) TakeBack(ctx context.Context, anyway bool) error {
	done := a.gate.begin()
	defer done()
	release := a.gate.hold()
	defer release()
	p := a.parted()
	if p.State != left {
		return nil
	}
	p.State, p.Anyway = returning, anyway
	if err := a.putParting(p); err != nil {
		return err
	}
	a.Data.Thaw() // for the sign-in that is renewed
	a.p.Crash("move returning")
	if err := a.account.Reload(ctx); err != nil {
		return err
	}
	a.loadParting()
	return a.takeOver(ctx)
}

// renewing is how long a person waits for the service to confirm that this computer has the office.
const renewing = 20 * time.Second

// takeOver asks the service whether this computer goes on, and does what follows. An error is about now: it is tried again. No
// loop runs.
func (a *Agent) takeOver(ctx context.Context) error {
	p := a.parted()
	asking, cancel := context.WithTimeout(ctx, renewing)
	err := a.account.Renew(asking)
	cancel()
	refused := errors.Is(err, esign.ErrSignedOut)
	if err != nil && !refused {
		a.Log.Warn("ask the service whether this computer has the office", "err", err)
		return message.Error(message.Then(message.TakingOver(), Message(err)), err)
	}
	a.p.Crash("move renewed")
	if p.State == returning && refused && !p.Anyway {
		p.State, p.Anyway = left, true // as far as its text goes
		if err := a.putParting(p); err != nil {
			return err
		}
		a.loadParting()
		return message.Error(message.ElsewhereNow(), err)
	}
	now := a.Now()
	err = a.Data.UpdateFrozen(func(tx *store.Tx) error {
		var doubts error
		switch {
		case refused:
			doubts = errors.Join(a.unsettle(tx, now), account.ForgetPassing(tx), account.Expire(tx))
		case p.State == returning:
			doubts = outbox.Doubt(tx, now)
		default:
			doubts = outbox.LookFirst(tx)
		}
		return errors.Join(doubts, tx.PutDoc(docParting, nil))
	})
	if err != nil {
		return err
	}
	a.backUp()
	if err := a.goOn(ctx); err != nil {
		return err
	}
	if p.State == returning {
		a.removeUnfinished(p)
	}
	a.tellWorks(p, refused)
	return nil
}

// tellWorks says that the office works here from now on.
func (a *Agent) tellWorks(p parting, refused bool) {
	text := message.TakenBack()
	switch {
	case p.State == arriving && refused:
		text = message.BroughtOverUsed(p.Computer)
		a.tellUntilRead(health.BroughtOver, text)
	case p.State == arriving:
		text = message.BroughtOver(p.Computer)
	}
	a.Record(office.Activity{Kind: "moved", Text: text})
	a.Signal(office.StatusChanged)
}
