package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"countersign/internal/agent/apply"
	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// RunEvents turns stored events into facts, oldest first. Events of one package stay in order; several packages are processed
// concurrently, because commits waiting at the same time share one write. It does not call the service: what an event says is
// recorded first.
func (r *Service) RunEvents(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(1 + loop.MaxCommits)
	g.Go(func() error { return loop.Protect("events", func() error { return r.readEvents(gctx, g) }) })
	return g.Wait()
}

// readEvents processes stored events on g, each after earlier events of its package.
func (r *Service) readEvents(ctx context.Context, g *errgroup.Group) error {
	queues := eventQueues{room: semaphore.NewWeighted(eventsInHand * usualEvent)}
	var read office.Cursor // how far
	var begun, left int    // packages started, and events in quarantine, since reading began
	for {
		pending, err := data.Read(r.Data, "the events that wait", func(tx *store.Tx) (pending []office.Event, err error) {
			pending, read, err = tx.PendingEvents(read, eventsInHand)
			return pending, err
		})
		if err != nil {
			return err
		}
		for _, e := range pending {
			switch {
			case r.LeftAlone("event " + e.ID):
				left++
			case queues.room.Acquire(ctx, weight(e)) != nil:
				return nil
			case queues.add(e):
				begun++
				g.Go(func() error { return r.takeEvents(ctx, &queues, e.PackageID) })
			}
		}
		if len(pending) > 0 {
			continue
		}
		pause := time.Hour
		if queues.idle() {
			pause = r.PauseBeside(left, pause)
			again := begun > 0 // to check whether that was all
			if read, begun, left = "", 0, 0; again {
				continue
			}
		}
		if !loop.Wait(ctx, pause, r.events) {
			return nil
		}
	}
}

// takeEvents processes the events of one package until none waits.
func (r *Service) takeEvents(ctx context.Context, queues *eventQueues, packageID string) error {
	for {
		e, ok := queues.next(packageID)
		if !ok {
			if queues.idle() {
				r.WakeEvents()
			}
			return nil
		}
		err := r.takeEvent(e)
		queues.room.Release(weight(e))
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// knownActions are the kinds of events that are understood.
var knownActions = map[string]bool{
	esign.DocumentSigned: true, esign.DocumentExecuted: true, esign.PackageExecuted: true,
	esign.PackageAdd: true, esign.PackageSent: true, esign.PackageRescinded: true,
}

// takeEvent processes one stored event. One that cannot be processed is kept where people see it, and does not stop others.
func (r *Service) takeEvent(ev office.Event) error {
	key := "event " + ev.ID
	err := r.One(key, func() error { return r.handleEvent(ev) })
	if err != nil || !r.LeftAlone(key) {
		return err
	}
	var own *data.ObjectError
	err = r.finishUnprocessable(ev, message.EventUnhandled())
	if errors.As(err, &own) {
		return nil // it waits until its quarantine ends
	}
	if err == nil {
		r.Quarantine.Worked(key)
		r.TellQuarantine()
	}
	return err
}

// handleEvent reads one stored event, records what it says and reports that.
func (r *Service) handleEvent(ev office.Event) error {
	e, err := esign.ParseEvent(ev.Body)
	if err != nil || e.PackageID == "" {
		reason := message.EventNamesNone()
		if err != nil {
			reason = message.EventUnreadable()
		}
		r.SweepInTime("an event does not say which package it is about")
		return r.finishUnprocessable(ev, reason)
	}
	if !esign.UsableID(e.PackageID) {
		return r.finishUnprocessable(ev, message.EventPackageUnusable())
	}
	var problem message.Message
	if e.DocumentID != "" && !esign.UsableID(e.DocumentID) {
		e.DocumentID, problem = "", message.EventDocumentUnusable()
	}
	before, err := data.Read(r.Data, "the package of an event", func(tx *store.Tx) (office.Package, error) {
		p, _, err := tx.FirstPackage(apply.Cases(e.PackageID))
		return p, err
	})
	if err != nil {
		return err
	}
	e = apply.AsKnown(before, e)
	found, err := r.recordEvent(ev, e, problem)
	if err != nil {
		return fmt.Errorf("handle event %s: %w", ev.ID, err)
	}
	r.Settled(ev.ID)
	r.publish(found)
	r.deps.Webhook.Heard(e, ev.Received)
	r.Wake()
	r.deps.Drafts() // the event may carry the correlation id of a draft with an unknown outcome
	r.Signal(office.PackagesChanged)
	r.Signal(office.StatusChanged)
	return nil
}

// recordEvent records in one commit what an event says of its package. problem is what is wrong with the event.
func (r *Service) recordEvent(ev office.Event, e esign.Event, problem message.Message) (found changes, err error) {
	received := ev.Received
	if e.Time.Sub(received) > loop.ClockWrong { // this computer's clock is wrong, or was
		received = r.Latest()
	}
	err = r.Data.Update(func(tx *store.Tx) error {
		found = changes{}
		stored, ok, err := tx.Event(ev.ID)
		if !ok || stored.Outcome != office.EventPending {
			return err
		}
		restored := r.Restored(tx)
		before := restored.Sub(e.Time)
		again := !e.Time.IsZero() && before > 0 // passed on once more by a hub or the service
		p, known, err := r.packageForEvent(tx, e, received)
		if err != nil {
			return err
		}
		if again && !known {
			p.Restored = r.RestoredHere(tx)
		}
		if p.ID != e.PackageID { // known by now
			e = apply.AsKnown(p, e)
		}
		home, _ := tx.Service()
		if ev.Service == home || p.Service == "" && ev.Service != "" { // the event's service may no longer be in use; do not move a package there
			p.Service = ev.Service
		}
		executed := p.State == office.PackageExecuted
		signed := apply.Event(&p, e, received)
		p.Events, p.Arrived = p.Events+1, true
		if p.State != office.PackageRescinded || e.Action != esign.PackageRescinded { // otherwise it says what is known
			if executed && e.Action == esign.PackageExecuted { // there may be more documents now
				p.RecordPending = r.Now()
			}
			r.checkSoon(&p, e.Action == esign.DocumentSigned && (p.DisplayName() == "" || p.SignerName(e.SignerID) == ""))
		}
		r.settle(tx, &p, &found)
		tx.PutPackage(p)
		facts := r.deps.News.Signed(tx, p, signed)
		if again && before > loop.ClockSlack || ev.Received.Before(p.Restored) { // it was reported after the backup
			r.deps.News.Withhold(tx, facts)
			facts = nil
		}
		for i := range facts {
			facts[i].Again, facts[i].CaughtUp = again, facts[i].CaughtUp || again
		}
		found.facts = append(found.facts, facts...)
		stored.PackageID, stored.Outcome, stored.Handled = p.ID, office.EventHandled, r.Now()
		if !problem.IsZero() {
			stored.Outcome, stored.Reason = office.EventUnprocessable, problem
		} else if !knownActions[e.Action] {
			stored.Reason = message.EventUnknown()
		}
		tx.SetEvent(stored)
		if p.Origin == office.MadeHere && (e.Action == esign.PackageAdd || e.Action == esign.PackageSent) {
			return nil // people know, as they sent it
		}
		if p.Withdrawal.Wished() && e.Action == esign.PackageRescinded {
			return nil // people know, as they withdrew it
		}
		line := office.Activity{Time: ev.Received, Happened: office.At(e.Time, received), Kind: office.ActivityEvent, PackageID: p.ID, Text: eventMessage(p, e)}
		if e.Action == esign.PackageExecuted {
			line.Kind = office.ActivityExecuted
		}
		return tx.AddActivity(line)
	})
	return found, err
}

// checkSoon requests p's status: an event is a hint, the status call is the truth. Events in quick succession share a call; files,
// and names for which people wait (urgent), do not wait for others. If p is over, its due date may have been extended.
func (r *Service) checkSoon(p *office.Package, urgent bool) {
	if p.State.Over() {
		p.RecordPending = r.Now() // keeps it from being final
	}
	next := r.Now().Add(r.Pace.Retry)
	if urgent || p.State == office.PackageExecuted {
		p.NextCheck = office.AtOnce
	} else if p.NextCheck.IsZero() || p.NextCheck.After(next) {
		p.NextCheck = next
	}
}

// afterEvents requests p's status again soon if an event arrived during the call, because the answer may be older. asked is p as
// known when the call was made.
func (r *Service) afterEvents(p *office.Package, asked office.Package) {
	if p.Events != asked.Events {
		r.checkSoon(p, false)
	}
}

// packageForEvent finds an event's package, or starts its record: made here if its external data carries the id of one of our
// drafts, otherwise made elsewhere in the organization.
func (r *Service) packageForEvent(tx *store.Tx, e esign.Event, received time.Time) (p office.Package, known bool, err error) {
	p, known, err = tx.FirstPackage(apply.Cases(e.PackageID))
	if err != nil {
		return p, known, err
	}
	if !known {
		p = office.Package{ID: e.PackageID, Origin: office.MadeElsewhere, Created: received, Met: true}
		if e.Action == esign.PackageAdd && !e.Time.IsZero() {
			p.Created, p.Met = e.Time, false
		}
	}
	if p.DraftID == "" {
		r.deps.Claim(tx, &p, e.ExternalData)
	}
	return p, known, nil
}

// finishUnprocessable keeps an authentic event that cannot be processed where people see it.
func (r *Service) finishUnprocessable(ev office.Event, reason message.Message) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		stored, ok, err := tx.Event(ev.ID)
		if !ok {
			return err
		}
		stored.Outcome, stored.Reason, stored.Handled = office.EventUnprocessable, reason, r.Now()
		return tx.SetEvent(stored)
	})
	if err != nil {
		return err
	}
	r.Settled(ev.ID)
	r.Record(office.Activity{Kind: office.ActivityProblem, Text: reason})
	r.Signal(office.StatusChanged)
	return nil
}

// eventsInHand is how many events are being processed in memory, with as many again read behind them; fewer if events exceed
// usualEvent bytes, which is larger than any real one.
const (
	eventsInHand = 200
	usualEvent   = 32 << 10
)

// weight is e's share of the room for eventsInHand.
func weight(e office.Event) int64 {
	return int64(min(max(len(e.Body), usualEvent), eventsInHand*usualEvent))
}

// eventQueues are the events in progress, by package. Safe for concurrent use.
type eventQueues struct {
	room *semaphore.Weighted // room for events in all queues

	mu     sync.Mutex
	queues map[string][]office.Event
}

// add appends an event to its package's queue, and reports whether it was empty, so that somebody must process it.
func (q *eventQueues) add(e office.Event) (first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queues == nil {
		q.queues = map[string][]office.Event{}
	}
	queue, busy := q.queues[e.PackageID]
	q.queues[e.PackageID] = append(queue, e)
	return !busy
}

// next takes a package's first event; if there is none, ok is false and the queue is removed.
func (q *eventQueues) next(packageID string) (e office.Event, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.queues[packageID]
	if len(queue) == 0 {
		delete(q.queues, packageID)
		return e, false
	}
	e, queue[0] = queue[0], e // releases its body for garbage collection
	q.queues[packageID] = queue[1:]
	return e, true
}

func (q *eventQueues) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queues) == 0
}

func eventMessage(p office.Package, e esign.Event) message.Message {
	name, signer, document := p.DisplayName(), p.SignerName(e.SignerID), p.DocumentName(e.DocumentID)
	switch e.Action {
	case esign.DocumentSigned:
		several := document != "" && len(p.Documents) > 1
		switch {
		case several && signer != "":
			return message.SignedDocument(signer, document, name)
		case several:
			return message.SomeoneSignedDocument(document, name)
		case signer != "":
			return message.Signed(signer, name)
		}
		return message.SomeoneSigned(name)
	case esign.DocumentExecuted:
		if document != "" && document != name { // a single document usually has the package's name
			return message.EveryoneSignedDocument(document, name)
		}
		return message.EveryoneSignedADocument(name)
	case esign.PackageExecuted:
		return p.Completed()
	case esign.PackageAdd:
		return message.PackageCreated(name)
	case esign.PackageSent:
		return p.TellSent()
	case esign.PackageRescinded:
		return message.Withdrawn(name)
	default:
		return message.Reported(e.Action, name)
	}
}
