package agent

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
)

// questionsAtOnce is how many packages the service is asked about at once because of events.
const questionsAtOnce = 4

// runEvents turns stored events into facts, oldest first. Events of one package keep their order; several packages are
// worked on at once, because an unknown one costs a question to the service.
func (a *Agent) runEvents(ctx context.Context) error {
	for {
		var pending []office.Event
		err := a.Data.View(func(tx *store.Tx) error {
			var err error
			pending, err = tx.PendingEvents(200 + a.Quarantine.Len())
			return err
		})
		if err != nil {
			return err
		}
		all := len(pending)
		pending = slices.DeleteFunc(pending, func(e office.Event) bool { return a.LeftAlone("event " + e.ID) })
		if len(pending) == 0 {
			if !loop.Wait(ctx, a.PauseBeside(all, time.Hour), a.rings.events) {
				return nil
			}
			continue
		}
		byPackage := map[string][]office.Event{}
		var order []string
		for _, e := range pending {
			if byPackage[e.PackageID] == nil {
				order = append(order, e.PackageID)
			}
			byPackage[e.PackageID] = append(byPackage[e.PackageID], e)
		}
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(loop.MaxCommits)
		questions := loop.NewSemaphore(questionsAtOnce)
		for _, id := range order {
			g.Go(func() error {
				for _, e := range byPackage[id] {
					if gctx.Err() != nil {
						return nil
					}
					if err := a.takeEvent(gctx, e, questions); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// knownActions are the kinds of events whose meaning is known.
var knownActions = map[string]bool{
	esign.DocumentSigned: true, esign.DocumentExecuted: true, esign.PackageExecuted: true,
	esign.PackageAdd: true, esign.PackageSent: true,
}

// takeEvent handles one stored event. One that cannot be handled is kept where people see it, and holds up no other.
func (a *Agent) takeEvent(ctx context.Context, ev office.Event, questions loop.Semaphore) error {
	key := "event " + ev.ID
	err := a.One(ctx, key, func() error { return a.handleEvent(ctx, ev, questions) })
	if err != nil || !a.LeftAlone(key) {
		return err
	}
	var own *data.ObjectError
	err = a.finishOdd(ev, message.EventUnhandled())
	if errors.As(err, &own) {
		return nil // it waits until it is no longer left alone
	}
	if err == nil {
		a.Quarantine.Release(key)
		a.TellQuarantine()
	}
	return err
}

// handleEvent draws the consequences of one stored event in one commit.
func (a *Agent) handleEvent(ctx context.Context, ev office.Event, questions loop.Semaphore) error {
	e, err := esign.ParseEvent(ev.Body)
	if err != nil || e.PackageID == "" {
		reason := message.EventNamesNone()
		if err != nil {
			reason = message.EventUnreadable()
		}
		return a.finishOdd(ev, reason)
	}
	if !esign.UsableID(e.PackageID) {
		return a.finishOdd(ev, message.EventPackageUnusable())
	}
	var odd message.Message
	if e.DocumentID != "" && !esign.UsableID(e.DocumentID) {
		e.DocumentID, odd = "", message.EventDocumentUnusable()
	}
	before := a.packageOrZero(e.PackageID)
	status, asked := a.statusForEvent(ctx, ev.Service, before, e, questions)
	if ctx.Err() != nil {
		return nil
	}
	draw := a.drawing(before)
	var found findings
	var line office.Activity
	err = a.Data.Update(func(tx *store.Tx) error {
		found = findings{}
		stored, ok, err := tx.Event(ev.ID)
		if err != nil || !ok || stored.Outcome != office.EventPending {
			return err
		}
		p, err := a.packageForEvent(tx, e, ev.Received)
		if err != nil {
			return err
		}
		if ev.Service != "" {
			p.Service = ev.Service // which may not be the one in use any more
		}
		news := apply.Event(&p, e, ev.Received)
		switch {
		case asked && e.Action == esign.PackageExecuted && p.DraftID == before.DraftID:
			if found, err = draw(tx, &p, status); err != nil {
				return err
			}
		case asked && e.Action == esign.DocumentSigned:
			apply.Status(&p, status, a.Now()) // for the names; what it tells beyond the event is old, or the next event's news
			a.checkSoon(&p)
		default:
			a.checkSoon(&p)
		}
		if err := tx.PutPackage(p); err != nil {
			return err
		}
		facts, err := a.announcer.Signed(tx, p, news)
		if err != nil {
			return err
		}
		found.facts = append(found.facts, facts...)
		stored.Outcome, stored.Handled = office.EventHandled, a.Now()
		if !knownActions[e.Action] {
			odd = message.EventUnknown()
		}
		if !odd.IsZero() {
			stored.Outcome, stored.Reason = office.EventOdd, odd
		}
		if err := tx.SetEvent(stored); err != nil {
			return err
		}
		line = office.Activity{}
		if p.Origin == office.MadeHere && (e.Action == esign.PackageAdd || e.Action == esign.PackageSent) {
			return nil // people know: they sent it
		}
		line = office.Activity{Time: ev.Received, Kind: "event", PackageID: p.ID, EventID: ev.ID, Text: eventMessage(p, e)}
		return tx.AddActivity(line)
	})
	if err != nil {
		return fmt.Errorf("handle event %s: %w", ev.ID, err)
	}
	if !line.Text.IsZero() {
		a.Tell(line)
	}
	a.follow(found)
	a.webhook.Heard(e, ev.Received)
	loop.Wake(a.rings.reconcile)
	a.outbox.Wake() // the event may carry the correlation id of a draft whose outcome is unknown
	a.Signal(office.PackagesChanged)
	a.Signal(office.StatusChanged)
	return nil
}

// checkSoon has the service asked about p: an event is a hint, the status call is the truth. Events of one moment share
// a call; a package that everybody has signed does not wait for them.
func (a *Agent) checkSoon(p *office.Package) {
	next := a.Now()
	if p.State != office.PackageExecuted {
		next = next.Add(a.Pace.Retry)
		if p.NextCheck.Before(next) && !p.NextCheck.IsZero() {
			return
		}
	}
	p.NextCheck = next
}

// statusForEvent asks the service that the event came from, if it is the one in use, about p when that spares people or the disk something: a signer who is not known by
// name, or a package that everybody has signed, whose files can then be planned in the commit that handles the event.
// What it cannot learn now, reconcile will.
func (a *Agent) statusForEvent(ctx context.Context, service string, p office.Package, e esign.Event, questions loop.Semaphore) (esign.Status, bool) {
	client, online := a.online()
	if !online || service != "" && service != client.Home() || a.Breaker.Left(a.Now()) > 0 {
		return esign.Status{}, false
	}
	switch e.Action {
	case esign.DocumentSigned:
		p.MatchSigner(e.SignerID)
		if p.ID != "" && (e.SignerID == "" || p.SignerName(e.SignerID) != "") {
			return esign.Status{}, false
		}
	case esign.PackageExecuted:
		// A service that is in trouble must not hold up events.
		if p.ID == "" || p.Final() || a.Health.Has(health.ServiceFails) || !a.budget.Allow() {
			return esign.Status{}, false
		}
	default:
		return esign.Status{}, false
	}
	if !questions.Acquire(ctx) {
		return esign.Status{}, false
	}
	defer questions.Release()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s, err := client.Status(ctx, e.PackageID)
	return s, err == nil
}

// packageForEvent finds the package an event is about, or starts its record: made here when its external data
// carries the id of one of our drafts, made elsewhere in the organization otherwise.
func (a *Agent) packageForEvent(tx *store.Tx, e esign.Event, received time.Time) (office.Package, error) {
	p, ok, err := tx.Package(e.PackageID)
	if err != nil {
		return p, err
	}
	if !ok {
		p = office.Package{ID: e.PackageID, Origin: office.MadeElsewhere, Created: received}
	}
	if p.DraftID == "" {
		if err := a.outbox.Claim(tx, &p, e.ExternalData); err != nil {
			return p, err
		}
	}
	return p, nil
}

// finishOdd keeps an authentic event that nothing can be done with, where people see it.
func (a *Agent) finishOdd(ev office.Event, reason message.Message) error {
	err := a.Data.Update(func(tx *store.Tx) error {
		stored, ok, err := tx.Event(ev.ID)
		if err != nil || !ok {
			return err
		}
		stored.Outcome, stored.Reason, stored.Handled = office.EventOdd, reason, a.Now()
		return tx.SetEvent(stored)
	})
	if err != nil {
		return err
	}
	a.Record(office.Activity{Kind: "problem", EventID: ev.ID, Text: reason})
	a.Signal(office.StatusChanged)
	return nil
}
