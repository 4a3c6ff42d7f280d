package outbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Send takes copies of the files, stores the draft and brings it to the service; it returns when the service has accepted
// or refused it, when the outcome is unknown, or when it was taken back. When ctx ends earlier, the draft stays and goes out
// later. progress may be nil; it is called from several goroutines, must not block, and is not called after Send has returned.
func (r *Service) Send(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
	docs, err := openDocuments(d)
	if err != nil {
		return office.SendState{}, err
	}
	defer docs.close()
	draft, err := r.newDraft(d, docs)
	if err != nil {
		return office.SendState{}, err
	}
	changes, stop := r.deps.Watch()
	defer stop()
	live := r.live.begin(draft.ID, progress)
	defer r.live.end(draft.ID, live)
	store := storing{replaces: d.Replaces}
	if d.Undo > 0 {
		store = r.undoable(d)
	}
	if err := r.storeDraft(ctx, &draft, docs, store); err != nil {
		return office.SendState{}, err
	}
	live.tell(sendState(draft)) // from here on it is kept
	for _, id := range store.replaces {
		r.live.cancel(id, true) // one of them may be on its way
	}
	r.Wake()
	r.Signal(office.OutboxChanged)
	return r.followDraft(ctx, draft, d.Patience, changes, live)
}

// storing is how a draft is stored.
type storing struct {
	replaces []string                             // the drafts whose place it takes at once
	check    func(*office.Draft) error            // judges its copies before anything is stored; may be nil
	also     func(*store.Tx, *office.Draft) error // in the same commit; it may change the draft and be called again; may be nil
}

// storeDraft takes copies of the draft's documents and stores it. From its return on the draft goes out, as it was given,
// whatever becomes of this process or of the files.
func (r *Service) storeDraft(ctx context.Context, d *office.Draft, docs documents, s storing) error {
	r.copies.taking.RLock()
	defer r.copies.taking.RUnlock()
	// Whoever stops waiting, as by Ctrl+C, is told that it is kept.
	if err := r.take(context.WithoutCancel(ctx), d, docs); err != nil {
		return err
	}
	r.deps.Crash("taken")
	if s.check != nil {
		if err := s.check(d); err != nil {
			r.Wake() // which lets go of the copies
			return err
		}
	}
	err := r.Data.Update(func(tx *store.Tx) error {
		for _, id := range s.replaces {
			if err := r.replace(tx, id, d); err != nil {
				return err
			}
		}
		if s.also != nil {
			if err := s.also(tx, d); err != nil {
				return err
			}
		}
		return tx.PutDraft(*d)
	})
	if err != nil {
		return fmt.Errorf("store the draft: %w", err)
	}
	r.deps.Crash("stored")
	return nil
}

// followDraft waits until the draft is sent, refused or unknown; no longer than patience for a service that does not
// take it, and not for a person who has to sign in first.
func (r *Service) followDraft(ctx context.Context, draft office.Draft, patience time.Duration, changes <-chan office.Change, live *liveDraft) (office.SendState, error) {
	last := draft.State
	var late <-chan time.Time
	if patience > 0 {
		t := time.NewTicker(patience)
		defer t.Stop()
		late = t.C
	}
	for {
		state, err := r.draftState(draft.ID)
		if err != nil {
			return state, err
		}
		switch state.State {
		case office.DraftSent, office.DraftFailed, office.DraftUnknown, office.DraftCancelled:
			return state, nil
		case office.DraftHeld:
			if !state.Undo {
				return state, nil
			}
		}
		if state.State != last {
			last = state.State
			live.tell(state)
		}
		if late != nil && !r.deps.SignedIn() {
			return state, &DraftError{waitingMessage(draft, state, false)}
		}
		select {
		case <-changes:
		case <-late:
			_, _, online := r.deps.Service()
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

func (r *Service) draftState(id string) (office.SendState, error) {
	d, known, err := r.draft(id)
	if err == nil && !known {
		err = fmt.Errorf("draft %s is gone", id)
	}
	return sendState(d), err
}

func sendState(d office.Draft) office.SendState {
	s := office.SendState{DraftID: d.ID, State: d.State, PackageID: d.PackageID, Problem: d.Problem, Undo: d.Decision.Pending()}
	for _, f := range d.Files {
		s.Total += f.Size
		if f.FileID != "" {
			s.Sent += f.Size
		}
	}
	return s
}

// liveDrafts are the drafts that a Send waits for. Safe for concurrent use.
type liveDrafts struct {
	mu  sync.Mutex
	all map[string]*liveDraft // by draft id
}

type liveDraft struct {
	sent   map[int]int64 // bytes per file
	cancel bool

	telling sync.Mutex             // held while report is called
	report  func(office.SendState) // nil once Send has returned
}

func (l *liveDrafts) begin(id string, report func(office.SendState)) *liveDraft {
	d := &liveDraft{report: report, sent: map[int]int64{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string]*liveDraft{}
	}
	l.all[id] = d
	return d
}

// end returns once d's report is called no more.
func (l *liveDrafts) end(id string, d *liveDraft) {
	l.mu.Lock()
	delete(l.all, id)
	l.mu.Unlock()
	d.end()
}

// progress tells the Send that waits for d how far its files are.
func (l *liveDrafts) progress(d office.Draft, file int, sent int64) {
	l.mu.Lock()
	live := l.all[d.ID]
	if live == nil {
		l.mu.Unlock()
		return
	}
	live.sent[file] = sent
	state := office.SendState{DraftID: d.ID, State: office.DraftQueued}
	for i, f := range d.Files {
		state.Total += f.Size
		state.Sent += live.sent[i]
	}
	l.mu.Unlock()
	live.tell(state)
}

// cancel has what is under way for a draft end, or, when it is to be sent after all, go on.
func (l *liveDrafts) cancel(id string, cancelled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.all[id]; d != nil {
		d.cancel = cancelled
	}
}

func (l *liveDrafts) cancelled(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.all[id]
	return d != nil && d.cancel
}

// tell calls report, unless nobody waits any more.
func (d *liveDraft) tell(s office.SendState) {
	d.telling.Lock()
	defer d.telling.Unlock()
	if d.report != nil {
		d.report(s)
	}
}

// end returns once report is called no more.
func (d *liveDraft) end() {
	d.telling.Lock()
	defer d.telling.Unlock()
	d.report = nil
}
