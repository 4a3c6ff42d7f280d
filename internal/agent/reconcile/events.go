package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/internal/agent/apply"
	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// questionsAtOnce is how many packages the service is asked about at once because of events.
const questionsAtOnce = 4

// silentPause is how long the service is asked nothing because of events once it has let one wait in vain.
const silentPause = time.Minute

// RunEvents turns stored events into facts, oldest first. Events of one package keep their order; several packages are
// worked on at once, because an unknown one costs a question to the service, and none waits for another.
func (r *Room) RunEvents(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(1 + loop.MaxCommits)
	g.Go(func() error {
		return loop.Protect(gctx, loop.Loop{Name: "events", Run: func(ctx context.Context) error { return r.readEvents(ctx, g) }})
	})
	return g.Wait()
}

// readEvents has g handle what is stored, each event behind those of its package that are under way.
func (r *Room) readEvents(ctx context.Context, g *errgroup.Group) error {
	queues := eventQueues{room: semaphore.NewWeighted(eventsInHand * usualEvent), questions: loop.NewSemaphore(questionsAtOnce)}
	var read office.Cursor // to where
	var begun, left int    // packages, and events that are left alone, since it was read from the beginning
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
			again := begun > 0 // to see whether that was all
			if read, begun, left = "", 0, 0; again {
				continue
			}
		}
		if !loop.Wait(ctx, pause, r.events) {
			return nil
		}
	}
}

// takeEvents handles the events of one package until none waits.
func (r *Room) takeEvents(ctx context.Context, queues *eventQueues, packageID string) error {
	for {
		e, ok := queues.next(packageID)
		if !ok {
			if queues.idle() {
				r.WakeEvents()
			}
			return nil
		}
		err := r.takeEvent(ctx, e, queues.questions)
		queues.room.Release(weight(e))
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// knownActions are the kinds of events whose meaning is known.
var knownActions = map[string]bool{
	esign.DocumentSigned: true, esign.DocumentExecuted: true, esign.PackageExecuted: true,
	esign.PackageAdd: true, esign.PackageSent: true, esign.PackageRescinded: true,
}

// takeEvent handles one stored event. One that cannot be handled is kept where people see it, and holds up no other.
func (r *Room) takeEvent(ctx context.Context, ev office.Event, questions loop.Semaphore) error {
	key := "event " + ev.ID
	err := r.One(ctx, key, func() error { return r.handleEvent(ctx, ev, questions) })
	if err != nil || !r.LeftAlone(key) {
		return err
	}
	var own *data.ObjectError
	err = r.finishOdd(ev, message.EventUnhandled())
	if errors.As(err, &own) {
		return nil // it waits until it is no longer left alone
	}
	if err == nil {
		r.Quarantine.Release(key)
		r.TellQuarantine()
	}
	return err
}

// handleEvent reads one stored event, asks the service where that spares something, and tells what was recorded.
func (r *Room) handleEvent(ctx context.Context, ev office.Event, questions loop.Semaphore) error {
	e, err := esign.ParseEvent(ev.Body)
	if err != nil || e.PackageID == "" {
		reason := message.EventNamesNone()
		if err != nil {
			reason = message.EventUnreadable()
		}
		return r.finishOdd(ev, reason)
	}
	if !esign.UsableID(e.PackageID) {
		return r.finishOdd(ev, message.EventPackageUnusable())
	}
	var odd message.Message
	if e.DocumentID != "" && !esign.UsableID(e.DocumentID) {
		e.DocumentID, odd = "", message.EventDocumentUnusable()
	}
	before, err := data.Read(r.Data, "the package of an event", func(tx *store.Tx) (office.Package, error) {
		p, _, err := tx.FirstPackage(apply.Cases(e.PackageID))
		return p, err
	})
	if err != nil {
		return err
	}
	e = apply.AsKnown(before, e)
	status := r.statusForEvent(ctx, ev.Service, before, e, questions)
	if ctx.Err() != nil {
		return nil
	}
	found, line, err := r.recordEvent(ev, e, odd, before, status)
	if err != nil {
		return fmt.Errorf("handle event %s: %w", ev.ID, err)
	}
	r.Settled(ev.ID)
	if !line.Text.IsZero() {
		r.Tell(line)
	}
	r.publish(found)
	r.needs.Webhook.Heard(e, ev.Received)
	r.Wake()
	r.needs.Drafts() // the event may carry the correlation id of a draft whose outcome is unknown
	r.Signal(office.PackagesChanged)
	r.Signal(office.StatusChanged)
	return nil
}

// recordEvent records in one commit what an event says of its package, which was known as before, and what the service
// answered when it was asked because of it: status is nil when it was not. odd is what is wrong with the event.
func (r *Room) recordEvent(ev office.Event, e esign.Event, odd message.Message, before office.Package, status *esign.Status) (found changes, line office.Activity, err error) {
	applyTo, err := r.applyLater(before)
	if err != nil {
		return found, line, err
	}
	err = r.Data.Update(func(tx *store.Tx) error {
		found, line = changes{}, office.Activity{}
		stored, ok, err := tx.Event(ev.ID)
		if err != nil || !ok || stored.Outcome != office.EventPending {
			return err
		}
		p, err := r.packageForEvent(tx, e, ev.Received)
		if err != nil {
			return err
		}
		if p.ID != e.PackageID { // it has become known just now
			e = apply.AsKnown(p, e)
		}
		if ev.Service != "" {
			p.Service = ev.Service // which may not be the one in use any more
		}
		tell := before.ID != "" && r.tells(p)
		signed := apply.Event(&p, e, ev.Received)
		p.Events++
		switch {
		case status != nil && e.Action == esign.PackageExecuted && p.DraftID == before.DraftID:
			if found, err = applyTo(tx, &p, *status); err != nil {
				return err
			}
		case status != nil && e.Action == esign.DocumentSigned:
			names := *status
			if office.PackageState(names.State).Over() {
				names.State = "" // which Run finds out, and tells
			}
			news := apply.Status(&p, names, r.Now())
			if tell { // else they are old, or the next event's news; the event of each may be lost
				signed = append(news, signed...)
			}
			r.checkSoon(&p)
		default:
			r.checkSoon(&p)
		}
		if err := r.settle(tx, &p, &found); err != nil {
			return err
		}
		if err := tx.PutPackage(p); err != nil {
			return err
		}
		facts, err := r.needs.News.Signed(tx, p, signed)
		if err != nil {
			return err
		}
		if ev.Received.Before(p.Restored) { // it was told, in the time that the backup does not know
			if err := r.needs.News.Withhold(tx, facts); err != nil {
				return err
			}
			facts = nil
		}
		found.facts = append(found.facts, facts...)
		stored.PackageID, stored.Outcome, stored.Handled = p.ID, office.EventHandled, r.Now()
		if !knownActions[e.Action] {
			odd = message.EventUnknown()
		}
		if !odd.IsZero() {
			stored.Outcome, stored.Reason = office.EventOdd, odd
		}
		if err := tx.SetEvent(stored); err != nil {
			return err
		}
		if p.Origin == office.MadeHere && (e.Action == esign.PackageAdd || e.Action == esign.PackageSent) {
			return nil // people know: they sent it
		}
		if p.Withdrawal.Wished() && e.Action == esign.PackageRescinded {
			return nil // and they withdrew it
		}
		line = office.Activity{Time: ev.Received, Happened: office.At(e.Time, ev.Received), Kind: "event", PackageID: p.ID, EventID: ev.ID, Text: eventMessage(p, e)}
		return tx.AddActivity(line)
	})
	return found, line, err
}

// checkSoon has the service asked about p: an event is a hint, the status call is the truth. Events of one moment share
// a call; a package that everybody has signed does not wait for them.
func (r *Room) checkSoon(p *office.Package) {
	next := r.Now()
	if p.State != office.PackageExecuted {
		next = next.Add(r.Pace.Retry)
		if p.NextCheck.Before(next) && !p.NextCheck.IsZero() {
			return
		}
	}
	p.NextCheck = next
}

// afterEvents has the service asked about p again soon where an event came while it was asked: what it answered may be older. asked
// is p as it was known when the question was put.
func (r *Room) afterEvents(p *office.Package, asked office.Package) {
	if p.Events != asked.Events {
		r.checkSoon(p)
	}
}

// statusForEvent asks the service about p before the event is recorded, where that saves something: the name of a signer who
// is not known yet, or, when everybody has signed, a second commit to plan the files. It asks only the service that the event
// came from. It returns nil when it did not ask or got no answer: Run will.
func (r *Room) statusForEvent(ctx context.Context, service string, p office.Package, e esign.Event, questions loop.Semaphore) *esign.Status {
	client, online := r.needs.Online()
	if !online || service != "" && service != client.Home() || max(r.Breaker.Left(r.Now()), r.silent.Left(r.Now())) > 0 {
		return nil
	}
	switch e.Action {
	case esign.DocumentSigned:
		p.Signers = slices.Clone(p.Signers)
		p.MatchSigners(e.SignerID, e.NextSignerID)
		if e.DocumentID == "" || p.ID != "" && (e.SignerID == "" || p.SignerName(e.SignerID) != "") {
			return nil
		}
	case esign.PackageExecuted:
		// A service that is in trouble must not hold up events.
		if p.ID == "" || p.Final() || r.Health.Has(health.ServiceFails) || !r.needs.Budget.Allow() {
			return nil
		}
	default:
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // the wait for its turn included: behind a service that hangs there is a queue
	defer cancel()
	if !questions.Acquire(ctx) {
		return nil
	}
	defer questions.Release()
	s, err := client.Status(ctx, e.PackageID)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // the next would wait as long, and hundreds may be of one package
		r.silent.Open(r.Now(), silentPause)
	}
	if err != nil {
		return nil
	}
	if p.Name == "" || len(p.Signers) == 0 { // else a bare answer says nothing that was asked for
		s = r.withRecord(ctx, client, &p, s)
	}
	return &s
}

// packageForEvent finds the package an event is about, or starts its record: made here when its external data
// carries the id of one of our drafts, made elsewhere in the organization otherwise.
func (r *Room) packageForEvent(tx *store.Tx, e esign.Event, received time.Time) (office.Package, error) {
	p, ok, err := tx.FirstPackage(apply.Cases(e.PackageID))
	if err != nil {
		return p, err
	}
	if !ok {
		p = office.Package{ID: e.PackageID, Origin: office.MadeElsewhere, Created: received, Met: true}
		if e.Action == esign.PackageAdd && !e.Time.IsZero() {
			p.Created, p.Met = e.Time, false
		}
	}
	if p.DraftID == "" {
		if err := r.needs.Claim(tx, &p, e.ExternalData); err != nil {
			return p, err
		}
	}
	return p, nil
}

// finishOdd keeps an authentic event that nothing can be done with, where people see it.
func (r *Room) finishOdd(ev office.Event, reason message.Message) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		stored, ok, err := tx.Event(ev.ID)
		if err != nil || !ok {
			return err
		}
		stored.Outcome, stored.Reason, stored.Handled = office.EventOdd, reason, r.Now()
		return tx.SetEvent(stored)
	})
	if err != nil {
		return err
	}
	r.Settled(ev.ID)
	r.Record(office.Activity{Kind: "problem", EventID: ev.ID, Text: reason})
	r.Signal(office.StatusChanged)
	return nil
}
