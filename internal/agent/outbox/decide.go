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

// A person's decision is stored at once, with the time until which it can be undone. It is carried out then, by this run of the
// program or the next.

// maxUndo is the longest time to undo. A decision that appears to have more time left was stored by a wrong clock, and is due.
const maxUndo = time.Minute

// undoable says how to store a draft of d that can still be undone. The drafts it replaces stay until then.
func (r *Service) undoable(d office.NewPackage) storing {
	return storing{also: func(tx *store.Tx, draft *office.Draft) error {
		draft.State, draft.Replaces = office.DraftHeld, d.Replaces
		draft.Decision = office.Decision{Send: true, By: draft.By, At: r.Now().Add(d.Undo)}
		for _, id := range d.Replaces {
			if _, _, err := replaceable(tx, id, draft); err != nil {
				return err
			}
		}
		return nil
	}}
}

// carryOut executes decisions that can no longer be undone, and returns how long the next one still can, 0 if there is none.
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
		queued := false // not if somebody has undone it, or an earlier version was sent
		err := r.Data.Update(func(tx *store.Tx) error {
			queued = false
			now, ok, err := tx.Draft(d.ID)
			if err != nil || !ok || !now.Decision.Pending() || left(now) > 0 {
				return err
			}
			if err = r.resolve(tx, now); err == nil {
				now, _, err = tx.Draft(d.ID)
				queued = now.State == office.DraftQueued
			}
			return err
		})
		if store.OfOneRecord(err) {
			continue // an unreadable record must not hold up others
		}
		if err != nil {
			return 0, err
		}
		r.decided(d.ID, d.Decision.Send)
		if !queued {
			continue
		}
		for _, id := range d.Replaces {
			r.live.cancel(id, true)
		}
	}
	return next, nil
}

// Cancel withdraws and forgets a draft that has not been added yet. It reports whether it was in time.
func (r *Service) Cancel(draftID string) (bool, error) {
	return r.withdraw(draftID, office.DraftCancelled)
}

// Stop removes a draft from the queue and holds it for a person to decide, as Hold does. It reports whether it was in time.
func (r *Service) Stop(draftID string) (bool, error) { return r.withdraw(draftID, office.DraftHeld) }

func (r *Service) withdraw(draftID string, into office.DraftState) (bool, error) {
	var cancelled bool
	err := r.Data.Update(func(tx *store.Tx) (err error) {
		cancelled, err = r.takeBack(tx, draftID, into)
		return err
	})
	cancelled = cancelled && err == nil // not cancelled unless on disk
	if cancelled {
		r.live.cancel(draftID, true)
	}
	r.Wake() // to remove the copies
	r.Signal(office.OutboxChanged)
	return cancelled, err
}

// stood returns a draft's state, or DraftUnknown if it was sent again after that: the service may have the earlier one.
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

// Resolve is a person's decision on a draft that is held, was refused, or has an unknown outcome: to send it (again), or to do
// nothing more. It takes effect after undo. decided is false where nothing was to be decided any more, or an earlier decision can still
// be undone, which then stands.
func (r *Service) Resolve(draftID string, send bool, undo time.Duration) (decided bool, err error) {
	err = r.Data.Update(func(tx *store.Tx) error {
		d, ok, err := tx.Draft(draftID)
		if decided = err == nil && ok && undecided(d.State) && (undo == 0 || !d.Decision.Pending()); !decided {
			return err
		}
		d.Decision = office.Decision{Send: send, By: r.deps.Sender(), At: r.Now().Add(undo)}
		if undo > 0 { // the draft stays as it is until then
			return tx.PutDraft(d)
		}
		return r.resolve(tx, d)
	})
	if err == nil && undo == 0 {
		r.decided(draftID, send)
	}
	r.Wake()
	r.Signal(office.OutboxChanged)
	return decided && err == nil, err
}

// undecided reports whether a draft in that state needs a person's decision.
func undecided(s office.DraftState) bool {
	return s == office.DraftUnknown || s == office.DraftFailed || s == office.DraftHeld
}

func (r *Service) decided(draftID string, send bool) {
	if send { // a Send may still be waiting for it
		r.live.cancel(draftID, false)
	}
	r.TellUnknown()
	r.Signal(office.OutboxChanged)
	r.Signal(office.StatusChanged)
}

// Undo reverts the decision on a draft. It reports whether it was in time.
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
	send, by := d.Decision.Send, d.Decision.By
	d.Decision = office.Decision{}
	if send {
		if taken, err := r.takePlaces(tx, &d); err != nil || !taken {
			tx.PutDraft(d)
			return err
		}
	}
	d.By = by
	was, stood := d.State, stood(d)
	d.State, d.Problem, d.Tries, d.Changed, d.NextTry, d.Day = office.DraftCancelled, message.Message{}, 0, r.Now(), time.Time{}, 0
	d.Stopped, d.Was = false, stood
	if send {
		d.CopyDefaultRecipients(r.deps.DefaultRecipients())
		if stood != office.DraftUnknown {
			d.Was = ""
		}
		d.State, d.NextTry = office.DraftQueued, r.Now()
		if was == office.DraftFailed { // it failed because of the corrected package; a held draft waits for the withdrawal as usual
			d.Corrects = ""
		}
		for i := range d.Files {
			d.Files[i].FileID = "" // the upload may be what was refused, or used up
		}
	}
	return tx.PutDraft(d)
}

// standing is the state of the package that a draft corrects. Two versions of one contract must not both be signed.
type standing int

const (
	outOfTheWay   standing = iota // there is none, or it can no longer be signed
	withdrawing                   // being withdrawn, but may still be signed
	signedInstead                 // everybody has signed it
	stillOpen                     // it can be signed, and is not being withdrawn
)

// corrected returns the state and name of the package that d corrects.
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

// waits reports whether d must wait until the package it corrects is withdrawn, or until it is known what was sent before the state
// was restored; Wake is called then. The first time, it records that in d.
func (r *Service) waits(d office.Draft) bool {
	if d.State != office.DraftQueued {
		return false
	}
	var why message.Message
	if standing, name, err := r.corrected(d); err == nil && standing == withdrawing {
		why = message.CorrectedWaits(name)
	} else if !r.restored {
		return false
	} else if _, unsure, err := r.lost(d); err == nil && unsure {
		why = message.DraftOfBeforeWaits()
	} else {
		return false
	}
	if d.Problem != why {
		d.Problem = why
		if err := r.putDraft(&d, office.DraftQueued); err != nil {
			r.Log.Warn("say what a draft waits for", "err", err)
		}
	}
	return true
}

// A draft can be changed and sent in place of an earlier one while the earlier one could be sent, too: from the outbox, a form or
// another window. Whichever is first wins; the two never become two packages.

// replace lets d take the place of an earlier draft, and of any draft that has already replaced that one. A *DraftError says that
// the service has, or may have, the earlier one.
func (r *Service) replace(tx *store.Tx, draftID string, d *office.Draft) error {
	old, known, err := replaceable(tx, draftID, d)
	if err != nil || !known {
		return err
	}
	if old.State != office.DraftCancelled {
		old.Was, old.State, old.Changed = stood(old), office.DraftCancelled, r.Now()
		old.Problem, old.Stopped = message.Message{}, false
	}
	r.deps.Replaced(tx, old, *d)
	if old.ReplacedBy = d.ID; d.Folder == "" {
		d.Folder = old.Folder
	}
	return tx.PutDraft(old)
}

// replaceable returns the draft that d would replace if it replaces draftID; known is false if there is none.
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

// takePlaces lets a held draft about to be sent replace the drafts it was made from. If one of those has been sent meanwhile, d says
// so and stays held: a person may send it anyway.
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

// Again returns the contents of a draft, to change or send once more. keep stores the bytes of each document and returns their new
// path. The bytes are the draft's own: from its copy, or from the original if it still has the same SHA-256. Other documents are
// left out and named in lost.
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

// errOtherBytes says that a document's bytes are not available any more.
var errOtherBytes = errors.New("the bytes of the document are gone")

func (r *Service) keepAgain(ctx context.Context, f office.DraftFile, keep func(context.Context, string, int64, io.Reader) (string, error)) (string, error) {
	source, err := r.OpenSent(f)
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

// openSame opens f's original if it has the same length; the reader compares the content.
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
