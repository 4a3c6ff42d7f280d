package reconcile

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"countersign/internal/agent/apply"
	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// eventsAtOnce is how many events are read in one transaction.
const eventsAtOnce = 500

// EventLines returns the events that q asks for, oldest first.
func (r *Service) EventLines(q office.EventQuery) (lines []office.EventLine, err error) {
	for before, more := office.Cursor(""), true; more; {
		before, err = data.Read(r.Data, "the events", func(tx *store.Tx) (next office.Cursor, err error) {
			page, next, err := tx.Events(before, eventsAtOnce)
			if err != nil {
				return "", err
			}
			packages := map[string]office.Package{}
			for _, e := range page {
				if e.Received.Before(q.Since) || q.Limit > 0 && len(lines) == q.Limit {
					return "", nil
				}
				if q.PackageID != "" && e.PackageID != q.PackageID {
					continue
				}
				l, err := eventLine(tx, e, packages)
				if err != nil {
					return "", err
				}
				lines = append(lines, l)
			}
			return next, nil
		})
		more = before != ""
	}
	slices.Reverse(lines)
	return lines, err
}

// eventLine is e in words. packages are those met before.
func eventLine(tx *store.Tx, e office.Event, packages map[string]office.Package) (office.EventLine, error) {
	l := office.EventLine{ID: e.ID, Action: e.Action, PackageID: e.PackageID, Time: e.Time, Received: e.Received, Outcome: e.Outcome, Copies: e.Copies, Text: e.Reason}
	parsed, unreadable := esign.ParseEvent(e.Body)
	if unreadable != nil {
		return l, nil
	}
	p, met := packages[e.PackageID]
	if !met {
		var err error
		if p, _, err = tx.Package(e.PackageID); err != nil && !errors.Is(err, store.ErrRecord) { // its name is all that is missing
			return l, err
		}
		packages[e.PackageID] = p
	}
	known := parsed
	if p.ID != "" {
		known = apply.AsKnown(p, parsed)
	}
	l.Package, l.DocumentID, l.SignerID = p.DisplayName(), cmp.Or(known.DocumentID, parsed.DocumentID), cmp.Or(known.SignerID, parsed.SignerID)
	if l.Text.IsZero() {
		l.Text = eventMessage(p, known)
	}
	return l, nil
}

// Follow tells of each event from now on, once it is known what became of it, until ctx ends; before that, of those since
// then (zero: none). One that is handled anew is told again. It returns ctx's error, or why it cannot go on: whoever reads
// too slowly begins again.
func (r *Service) Follow(ctx context.Context, since time.Time, tell func(office.EventLine) error) error {
	news, stop := r.followers.join()
	defer stop()
	if !since.IsZero() {
		before, err := r.EventLines(office.EventQuery{Since: since})
		if err != nil {
			return err
		}
		for _, l := range before {
			if l.Outcome == office.EventPending { // it is told when it is handled
				continue
			}
			if err := tell(l); err != nil {
				return err
			}
		}
	}
	for {
		ids, behind := news.take()
		if behind {
			return message.Error(message.Stopped(), errBehind)
		}
		for _, id := range ids {
			l, told, err := r.outcome(id)
			if err != nil {
				return err
			}
			if !told {
				continue
			}
			if err := tell(l); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-news.ring:
		}
	}
}

var errBehind = errors.New("the reader of the events is too far behind")

// outcome is what became of an event; known is false while it is not handled.
func (r *Service) outcome(id string) (l office.EventLine, known bool, err error) {
	l, err = data.Read(r.Data, "event "+id, func(tx *store.Tx) (l office.EventLine, err error) {
		e, ok, err := tx.Event(id)
		if err != nil || !ok || e.Outcome == office.EventPending {
			return l, err
		}
		known = true
		return eventLine(tx, e, map[string]office.Package{})
	})
	return l, known && err == nil, err
}

// Settled tells those who follow that it is known what became of an event. It never blocks.
func (r *Service) Settled(eventID string) { r.followers.tell(eventID) }

// followers are told which events were handled. Safe for concurrent use.
type followers struct {
	mu   sync.Mutex
	list map[*follower]bool
}

// follower is one of them.
type follower struct {
	ring chan struct{} // rings when there is something to take

	mu     sync.Mutex
	ids    []string
	behind bool // more came than are kept
}

// mostBehind is how many events a follower may be behind.
const mostBehind = 10_000

func (f *followers) join() (x *follower, leave func()) {
	x = &follower{ring: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.list == nil {
		f.list = map[*follower]bool{}
	}
	f.list[x] = true
	return x, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.list, x)
	}
}

func (f *followers) tell(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for x := range f.list {
		x.put(id)
	}
}

func (x *follower) put(id string) {
	x.mu.Lock()
	if x.behind = x.behind || len(x.ids) == mostBehind; !x.behind {
		x.ids = append(x.ids, id)
	}
	x.mu.Unlock()
	loop.Wake(x.ring)
}

func (x *follower) take() (ids []string, behind bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ids, x.ids = x.ids, nil
	return ids, x.behind
}
