package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// What a person presses is stored as pressed, with the time until which it can be undone. It is done then, by this run of the
// program or by the next.

// maxUndo is the longest time in which something can be undone. A decision that seems to have more of it left was made by a clock
// that was wrong, and is due.
const maxUndo = time.Minute

// undoable is how a draft of d is stored that can be taken back for a while. Those whose place it is to take stay until then.
func (r *Service) undoable(d office.NewPackage) storing {
	return storing{also: func(tx *store.Tx, draft *office.Draft) error {
		draft.State, draft.Replaces = office.DraftHeld, d.Replaces
		draft.Decision = office.Decision{Send: true, At: r.Now().Add(d.Undo)}
		for _, id := range d.Replaces {
			if _, _, err := replaceable(tx, id, draft); err != nil {
				return err
			}
		}
		return nil
	}}
}

// carryOut does what people have decided and cannot undo any more, and returns how long the next decision can still be undone, 0
// when there is none.
func (r *Service) carryOut() (next time.Duration, err error) {
	drafts, err := data.Read(r.Data, "what was decided about drafts", func(tx *store.Tx) ([]office.Draft, error) {
		return tx.Drafts(office.DraftHeld, office.DraftFailed, office.DraftUnknown)
	})
	if err != nil {
		return 0, err
	}
	left := func(d office.Draft) time.Duration {
		if left := d.Decision.At.Sub(r.Now()); left <= maxUndo {
			return max(0, left)
		}
		return 0
	}
	for _, d := range slices.Backward(drafts) { // oldest first
		if !d.Decision.Pending() || d.Away {
			continue
		}
		if left := left(d); left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		err := r.Data.Update(func(tx *store.Tx) error {
			now, ok, err := tx.Draft(d.ID)
			if err != nil || !ok || !now.Decision.Pending() || left(now) > 0 {
				return err
			}
			return r.resolve(tx, now)
		})
		if store.OfOneRecord(err) {
			continue // which holds up no other
		}
		if err != nil {
			return 0, err
		}
		r.decided(d.ID, d.Decision.Send)
		for _, id := range d.Replaces {
			r.live.cancel(id, true)
		}
	}
	return next, nil
}

// Cancel withdraws a draft that has not been added yet, and forgets it. It reports whether it came in time.
func (r *Service) Cancel(draftID string) (bool, error) {
	return r.withdraw(draftID, office.DraftCancelled)
}

// Stop takes a draft that waits to be sent from the queue, and keeps it as Hold does for a person to decide about. It
// reports whether it came in time.
func (r *Service) Stop(draftID string) (bool, error) { return r.withdraw(draftID, office.DraftHeld) }

func (r *Service) withdraw(draftID string, into office.DraftState) (bool, error) {
	var cancelled bool
	err := r.Data.Update(func(tx *store.Tx) (err error) {
		cancelled, err = r.takeBack(tx, draftID, into)
		return err
	})
	cancelled = cancelled && err == nil // what is not on disk is not cancelled
	if cancelled {
		r.live.cancel(draftID, true)
	}
	r.Wake() // which lets go of the copies
	r.Signal(office.OutboxChanged)
	return cancelled, err
}

// stood is where a draft stands, or DraftUnknown of one that was sent again after that: the service may have it from before.
func stood(d office.Draft) office.DraftState {
	if d.Was == office.DraftUnknown {
		return d.Was
	}
	return d.State
}

func (r *Service) takeBack(tx *store.Tx, draftID string, into office.DraftState) (bool, error) {
	d, ok, err := tx.Draft(draftID)
	if err != nil || !ok || d.State != office.DraftHeld && d.State != office.DraftQueued && d.State != office.DraftFailed {
		return false, err
	}
	d.Was, d.State, d.Changed, d.Decision = stood(d), into, r.Now(), office.Decision{}
	if into == office.DraftHeld {
		d.Stopped, d.Problem = true, message.Message{}
	}
	return true, tx.PutDraft(d)
}

// Resolve is a person's decision about a draft whose outcome is unknown, that was refused or that is held: it goes out
// (again), or nothing more is done about it. It is done once undo is over.
func (r *Service) Resolve(draftID string, send bool, undo time.Duration) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		d, ok, err := tx.Draft(draftID)
		if err != nil || !ok || !undecided(d.State) {
			return err
		}
		d.Decision = office.Decision{Send: send, At: r.Now().Add(undo)}
		if undo > 0 { // until when the draft stays as it is
			return tx.PutDraft(d)
		}
		return r.resolve(tx, d)
	})
	if err == nil && undo == 0 {
		r.decided(draftID, send)
	}
	r.Wake()
	r.Signal(office.OutboxChanged)
	return err
}

// undecided reports whether a person decides about a draft of that state.
func undecided(s office.DraftState) bool {
	return s == office.DraftUnknown || s == office.DraftFailed || s == office.DraftHeld
}

func (r *Service) decided(draftID string, send bool) {
	if send { // whoever sends it may wait for it still
		r.live.cancel(draftID, false)
	}
	r.TellUnknown()
	r.Signal(office.OutboxChanged)
	r.Signal(office.StatusChanged)
}

// Undo takes back what was decided about a draft, which is as it was then. It reports whether it came in time.
func (r *Service) Undo(draftID string) (inTime bool, err error) {
	err = r.Data.Update(func(tx *store.Tx) error {
		d, ok, err := tx.Draft(draftID)
		if inTime = err == nil && ok && d.Decision.Pending() && undecided(d.State); !inTime {
			return err
		}
		d.Decision = office.Decision{}
		return tx.PutDraft(d)
	})
	r.Signal(office.OutboxChanged)
	return inTime && err == nil, err
}

func (r *Service) resolve(tx *store.Tx, d office.Draft) error {
	if !undecided(d.State) {
		return nil
	}
	send := d.Decision.Send
	d.Decision = office.Decision{}
	if send {
		if taken, err := r.takePlaces(tx, &d); err != nil || !taken {
			return errors.Join(err, tx.PutDraft(d))
		}
	}
	d.By = "" // whoever decides sends it
	was, stood := d.State, stood(d)
	d.State, d.Problem, d.Tries, d.Changed, d.NextTry, d.Day = office.DraftCancelled, message.Message{}, 0, r.Now(), time.Time{}, 0
	d.Stopped, d.Was = false, stood
	if send {
		d.CopyDefaultRecipients(r.deps.Standing())
		if stood != office.DraftUnknown {
			d.Was = ""
		}
		d.State, d.NextTry = office.DraftQueued, r.Now()
		if was == office.DraftFailed { // which said why not; what is held waits for the withdrawal as ever
			d.Corrects = ""
		}
		for i := range d.Files {
			d.Files[i].FileID = "" // it may be what was refused, or be used up
		}
	}
	return tx.PutDraft(d)
}

// standing is how it stands with the package that a draft corrects. Two of one contract, both signed, must not come about.
type standing int

const (
	outOfTheWay   standing = iota // there is none, or nobody can sign it any more
	withdrawing                   // it is to be withdrawn, and may still be signed
	signedInstead                 // everybody has signed it
	stillOpen                     // it may be signed, and nobody withdraws it
)

// corrected is how it stands with the package that d corrects, and what that is called.
func (r *Service) corrected(d office.Draft) (s standing, name string, err error) {
	if d.Corrects == "" {
		return outOfTheWay, "", nil
	}
	p, known, err := r.Data.Package(d.Corrects)
	switch {
	case err != nil:
		return outOfTheWay, "", err
	case !known, p.State.Over():
		return outOfTheWay, "", nil
	case p.State == office.PackageExecuted:
		return signedInstead, p.DisplayName(), nil
	case p.Withdrawal.Pending():
		return withdrawing, p.DisplayName(), nil
	}
	return stillOpen, p.DisplayName(), nil
}

// waits reports whether d waits until the package that it corrects is withdrawn; Wake is called then. The first time it
// says so in d.
func (r *Service) waits(d office.Draft) bool {
	if d.State != office.DraftQueued {
		return false
	}
	standing, name, err := r.corrected(d)
	if err != nil || standing != withdrawing {
		return false
	}
	if why := message.CorrectedWaits(name); d.Problem != why {
		d.Problem = why
		if err := r.putDraft(&d, office.DraftQueued); err != nil {
			r.Log.Warn("say what a draft waits for", "err", err)
		}
	}
	return true
}

// A draft can be changed and sent in the place of an earlier one, while that one can be sent, too: from the outbox, from a
// form, from another window. Whichever is first has it; of both together never two packages come.

// replace has d take the place of an earlier draft, and of whatever has taken that one's place already. A *DraftError says that
// the service has it, or may have.
func (r *Service) replace(tx *store.Tx, draftID string, d *office.Draft) error {
	old, known, err := replaceable(tx, draftID, d)
	if err != nil || !known {
		return err
	}
	if old.State != office.DraftCancelled {
		old.Was, old.State, old.Changed = stood(old), office.DraftCancelled, r.Now()
		old.Problem, old.Stopped = message.Message{}, false
	}
	if old.ReplacedBy = d.ID; d.Folder == "" {
		d.Folder = old.Folder
	}
	return tx.PutDraft(old)
}

// replaceable is the draft whose place d takes where it is to take that of draftID; known is false when there is none.
func replaceable(tx *store.Tx, draftID string, d *office.Draft) (old office.Draft, known bool, err error) {
	for id := draftID; id != "" && id != d.ID; id = old.ReplacedBy {
		next, ok, err := tx.Draft(id)
		if err != nil {
			return old, false, err
		}
		if !ok {
			break
		}
		old, known = next, true
	}
	if !known {
		return old, false, nil
	}
	sent := old.State == office.DraftAdding || old.State == office.DraftSent || old.State == office.DraftUnknown
	if sent || old.State == office.DraftCancelled && old.Was == office.DraftUnknown {
		return old, false, &DraftError{message.EarlierVersionSent(old.Name)}
	}
	return old, true, nil
}

// takePlaces has a held draft that is to be sent take the place of those that it was made from. Where one of them was sent
// meanwhile, that is said in d, which stays held: a person may send it all the same.
func (r *Service) takePlaces(tx *store.Tx, d *office.Draft) (taken bool, err error) {
	var sent *DraftError
	for _, id := range d.Replaces {
		if _, _, err := replaceable(tx, id, d); errors.As(err, &sent) {
			d.Problem, d.Replaces = sent.Text, nil
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	for _, id := range d.Replaces {
		if err := r.replace(tx, id, d); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Again is what a draft was made of, to be changed or to be sent once more. keep takes the bytes of each document and returns
// where they are from then on. They are those that the draft had: from its copy, or from where the file was found if it still has
// the same SHA-256. Documents of which that is not so are left out; lost are their names.
func (r *Service) Again(ctx context.Context, draftID string, keep func(ctx context.Context, name string, size int64, from io.Reader) (path string, err error)) (d office.NewPackage, lost []string, err error) {
	draft, known, err := r.Data.Draft(draftID)
	if err != nil || !known {
		return d, nil, err
	}
	d = draft.Again()
	for _, f := range draft.Files {
		path, err := r.keepAgain(ctx, f, keep)
		if errors.Is(err, errOtherBytes) {
			lost = append(lost, f.Name)
		} else if err != nil {
			return d, nil, err
		}
		switch {
		case f.Original > 0 && d.Template != nil && f.Original <= len(d.Template.Documents):
			d.Template.Documents[f.Original-1].File = path
		case path != "":
			d.Files = append(d.Files, path)
		}
	}
	return d, lost, nil
}

// errOtherBytes is returned for a document whose bytes are not there any more.
var errOtherBytes = errors.New("the bytes of the document are gone")

func (r *Service) keepAgain(ctx context.Context, f office.DraftFile, keep func(context.Context, string, int64, io.Reader) (string, error)) (string, error) {
	source, err := r.openCopy(f)
	if err != nil {
		if source, err = openSame(f); err != nil {
			return "", errOtherBytes
		}
	}
	defer source.Close()
	sum := sha256.New()
	path, err := keep(ctx, f.Name, f.Size, io.TeeReader(source, sum))
	if err != nil {
		return "", err
	}
	if hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		return "", errOtherBytes
	}
	return path, nil
}

// openSame opens the file that f was taken from, if it has the same length; whoever reads it compares the rest.
func openSame(f office.DraftFile) (*os.File, error) {
	doc, err := openDocument(f.Path)
	if err != nil {
		return nil, err
	}
	if f.SHA256 == "" || doc.Size != f.Size {
		doc.file.Close()
		return nil, errOtherBytes
	}
	return doc.file, nil
}
