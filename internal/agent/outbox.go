package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// outboxWatch lets Send wait for its draft, and hands it the progress. Safe for concurrent use.
type outboxWatch struct {
	mu   sync.Mutex
	live map[string]*liveDraft
}

type liveDraft struct {
	sent   map[int]int64 // bytes per file
	cancel bool

	telling  sync.Mutex             // held while progress is called
	progress func(office.SendState) // nil once Send has returned
}

// tell calls progress, unless nobody waits any more.
func (l *liveDraft) tell(s office.SendState) {
	l.telling.Lock()
	defer l.telling.Unlock()
	if l.progress != nil {
		l.progress(s)
	}
}

// end returns once progress is called no more.
func (l *liveDraft) end() {
	l.telling.Lock()
	defer l.telling.Unlock()
	l.progress = nil
}

// Send takes copies of the files, stores the draft and brings it to the service; it returns when the service has accepted
// or refused it, or when the outcome is unknown. When ctx ends earlier, the draft stays and goes out later. progress may
// be nil; it is called from several goroutines, must not block, and is not called after Send has returned.
func (a *Agent) Send(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
	draft, err := a.newDraft(d)
	if err != nil {
		return office.SendState{}, err
	}
	live := &liveDraft{progress: progress, sent: map[int]int64{}}
	changes, stop := a.Watch()
	defer stop()
	a.outbox.mu.Lock()
	if a.outbox.live == nil {
		a.outbox.live = map[string]*liveDraft{}
	}
	a.outbox.live[draft.ID] = live
	a.outbox.mu.Unlock()
	defer func() {
		a.outbox.mu.Lock()
		delete(a.outbox.live, draft.ID)
		a.outbox.mu.Unlock()
		live.end()
	}()
	if err := a.storeDraft(ctx, &draft, d.Replaces); err != nil {
		return office.SendState{}, err
	}
	live.tell(sendState(draft)) // from here on it is kept
	loop.Wake(a.rings.outbox)
	a.Signal(office.OutboxChanged)
	return a.followDraft(ctx, draft, d.Patience, changes)
}

// storeDraft takes copies of the draft's files and stores it in the place of others that were refused. From its return on
// the draft goes out, as it was given, whatever becomes of this process or of the files.
func (a *Agent) storeDraft(ctx context.Context, d *office.Draft, replaces []string) error {
	a.copies.taking.RLock()
	defer a.copies.taking.RUnlock()
	// Whoever stops waiting, as by Ctrl+C, is told that it is kept.
	if err := a.takeCopies(context.WithoutCancel(ctx), d); err != nil {
		return err
	}
	a.p.Crash("taken")
	err := a.Data.Update(func(tx *store.Tx) error {
		for _, id := range replaces {
			if err := a.resolveDraft(tx, id, false); err != nil {
				return err
			}
		}
		return tx.PutDraft(*d)
	})
	if err != nil {
		return fmt.Errorf("store the draft: %w", err)
	}
	a.p.Crash("stored")
	a.release(*d)
	return nil
}

// followDraft waits until the draft is sent, refused or unknown; no longer than patience for a service that does not
// take it, and not for a person who has to sign in first.
func (a *Agent) followDraft(ctx context.Context, draft office.Draft, patience time.Duration, changes <-chan office.Change) (office.SendState, error) {
	var late <-chan time.Time
	if patience > 0 {
		t := time.NewTicker(patience)
		defer t.Stop()
		late = t.C
	}
	for {
		state, err := a.draftState(draft.ID)
		if err != nil {
			return state, err
		}
		switch state.State {
		case office.DraftSent, office.DraftFailed, office.DraftUnknown, office.DraftCancelled:
			return state, nil
		}
		if late != nil && !a.isSignedIn() {
			return state, &DraftError{waitingMessage(draft, state, false)}
		}
		select {
		case <-changes:
		case <-late:
			_, online := a.online()
			if !state.Problem.IsZero() || !online { // an upload that gets on is not late
				return state, &DraftError{waitingMessage(draft, state, online)}
			}
		case <-ctx.Done():
			return state, ctx.Err()
		}
	}
}

func waitingMessage(d office.Draft, s office.SendState, online bool) message.Message {
	why := s.Problem
	if !online {
		why = message.NobodySignedIn()
	}
	return message.Then(message.NotSentYet(d.Name), why, message.WillBeSent())
}

// Cancel withdraws a draft that has not been added yet. It reports whether it came in time.
func (a *Agent) Cancel(draftID string) (bool, error) {
	var cancelled bool
	err := a.Data.Update(func(tx *store.Tx) error {
		d, ok, err := tx.Draft(draftID)
		cancelled = err == nil && ok && (d.State == office.DraftHeld || d.State == office.DraftQueued || d.State == office.DraftFailed)
		if !cancelled {
			return err
		}
		d.State, d.Changed = office.DraftCancelled, a.Now()
		return tx.PutDraft(d)
	})
	cancelled = cancelled && err == nil // what is not on disk is not cancelled
	a.outbox.mu.Lock()
	if l := a.outbox.live[draftID]; l != nil {
		l.cancel = cancelled
	}
	a.outbox.mu.Unlock()
	loop.Wake(a.rings.outbox) // which lets go of the copies
	a.Signal(office.OutboxChanged)
	return cancelled, err
}

func (a *Agent) draftState(id string) (office.SendState, error) {
	var s office.SendState
	err := a.Data.View(func(tx *store.Tx) error {
		d, ok, err := tx.Draft(id)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("draft %s is gone", id)
		}
		s = sendState(d)
		return nil
	})
	return s, err
}

func sendState(d office.Draft) office.SendState {
	s := office.SendState{DraftID: d.ID, State: d.State, PackageID: d.PackageID, Problem: d.Problem}
	for _, f := range d.Files {
		s.Total += f.Size
		if f.FileID != "" {
			s.Sent += f.Size
		}
	}
	return s
}

// runOutbox sends what waits, oldest first and one at a time.
func (a *Agent) runOutbox(ctx context.Context) error {
	if err := a.recoverAdding(); err != nil {
		return err
	}
	a.sweepCopies()
	for {
		pause, err := a.sendDue(ctx)
		a.sweepCopies()
		if err != nil {
			return err
		}
		if !loop.Wait(ctx, pause, a.rings.outbox) {
			return nil
		}
	}
}

// recoverAdding finds drafts whose packages/add was under way when the program ended: nobody knows whether it was
// handled, so nobody may send it again by itself.
func (a *Agent) recoverAdding() error {
	err := a.Data.Update(func(tx *store.Tx) error {
		drafts, err := tx.Drafts(office.DraftAdding)
		if err != nil {
			return err
		}
		for _, d := range drafts {
			d.State, d.Changed, d.NextTry = office.DraftUnknown, a.Now(), a.Now()
			d.Problem = message.OutcomeUnknown(d.Name)
			if err := tx.PutDraft(d); err != nil {
				return err
			}
		}
		return nil
	})
	a.tellUnknown()
	return err
}

func (a *Agent) sendDue(ctx context.Context) (time.Duration, error) {
	const idle = time.Hour
	for ctx.Err() == nil {
		a.tellUnknown() // an event may have told
		o := a.current.Get()
		client, online := a.onlineIn(o)
		if !online {
			return idle, nil
		}
		if left := a.rest.Left(a.Now()); left > 0 {
			return left, nil
		}
		var due []office.Draft
		var next time.Time
		err := a.Data.View(func(tx *store.Tx) error {
			var err error
			if due, err = tx.DraftsDue(a.Due(loop.MaxDraftWait)); err != nil {
				return err
			}
			if next, err = tx.NextDraft(); err != nil {
				return err
			}
			unknown, err := tx.Drafts(office.DraftUnknown)
			for _, d := range unknown {
				if d.Away {
					continue
				}
				if a.Due(loop.MaxUnknownWait).Left(d.NextTry) == 0 {
					due = append(due, d)
				} else if next.IsZero() || d.NextTry.Before(next) {
					next = d.NextTry
				}
			}
			return err
		})
		if err != nil {
			return 0, err
		}
		all := len(due)
		due = slices.DeleteFunc(due, func(d office.Draft) bool {
			return d.Service != client.Home() || a.LeftAlone("draft "+d.ID) // the service may have been changed just now
		})
		if len(due) == 0 {
			return a.PauseBeside(all, loop.UntilNext(a.Now(), next, idle)), nil
		}
		for _, d := range due {
			if ctx.Err() != nil {
				return 0, nil
			}
			err = a.One(ctx, "draft "+d.ID, func() (err error) {
				if d.State == office.DraftUnknown {
					err = a.resolveUnknown(ctx, client, d)
				} else {
					err = a.sendDraft(ctx, client, o.uploader(), d)
				}
				if errors.Is(err, errDecided) {
					return nil
				}
				return err
			})
			if a.signedOut(err) {
				return idle, nil
			}
			if err == nil && a.LeftAlone("draft "+d.ID) {
				err = a.recoverAdding() // packages/add may have been sent for it
			}
			if err != nil && ctx.Err() == nil {
				return 0, err
			}
		}
	}
	return idle, nil
}

// sendDraft uploads what is not uploaded yet and adds the package. uploader is whom client calls as.
func (a *Agent) sendDraft(ctx context.Context, client *esign.Client, uploader string, d office.Draft) error {
	for i := range d.Files {
		f := &d.Files[i]
		if f.FileID != "" && f.UploadedBy == uploader && !loop.CoolFor(f.Uploaded, uploadLife).Over(a.Now()) {
			a.progress(d, i, f.Size)
			continue
		}
		if a.cancelled(d.ID) {
			return nil
		}
		uploaded, err := a.upload(ctx, client, d, i)
		if err != nil {
			return a.draftRefused(ctx, d, err)
		}
		f.FileID, f.Uploaded, f.UploadedBy = uploaded.ID, a.Now(), uploader
		if err := a.putDraft(&d, office.DraftQueued); err != nil {
			return err
		}
	}
	if err := a.putDraft(&d, office.DraftAdding); err != nil {
		return err
	}
	a.p.Crash("adding")
	added, err := client.AddPackage(ctx, newPackage(d))
	a.p.Crash("added")
	if err != nil {
		return a.draftRefused(ctx, d, err)
	}
	a.noteServiceError(ctx, nil)
	return a.draftSent(d, added)
}

// progress tells the Send that waits for d how far its files are.
func (a *Agent) progress(d office.Draft, file int, sent int64) {
	a.outbox.mu.Lock()
	live := a.outbox.live[d.ID]
	if live == nil {
		a.outbox.mu.Unlock()
		return
	}
	live.sent[file] = sent
	state := office.SendState{DraftID: d.ID, State: office.DraftQueued}
	for i, f := range d.Files {
		state.Total += f.Size
		state.Sent += live.sent[i]
	}
	a.outbox.mu.Unlock()
	live.tell(state)
}

func (a *Agent) cancelled(draftID string) bool {
	a.outbox.mu.Lock()
	defer a.outbox.mu.Unlock()
	l := a.outbox.live[draftID]
	return l != nil && l.cancel
}
