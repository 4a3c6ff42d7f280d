// Package withdraw withdraws packages that were sent. The request is stored with the package before anything is sent, and stays
// until the service's status shows the outcome: withdrawn, completed first, expired first, or refused; or until a person
// gives it up.
//
// A request can be cancelled for some seconds, during which it waits as if postponed; if the program ends meanwhile, its next start
// continues. Its states are: wanted, asked (packages/rescind may have been called), accepted (the service said yes), and then done,
// late or refused. From asked on, and if there was an earlier request, the status is read before anything else: a withdrawn package
// is not withdrawn again, and nobody is notified twice. Once accepted, packages/rescind is never called again.
//
// It must not know who is signed in, nor how a status updates what is known of a package (Deps.Note).
package withdraw

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Deps are what a Service needs from others. The functions are called from several goroutines.
type Deps struct {
	Who      func() string                   // the account's holder as people know them; empty if unknown
	Question func(ctx context.Context) error // waits until the service may be asked about a package

	// Note records the status of a package and its consequences, including the end of a request. asked is the package as known when
	// the call was made; noted is false if the answer may be older than what is known.
	Note func(asked office.Package, status esign.Status) (noted bool, err error)

	// NoteGone records that a package is withdrawn which the service no longer shows.
	NoteGone func(asked office.Package) error
	// NotDone returns the facts that p was not withdrawn, unless already reported; call it in the commit that records this. Announce
	// reports them afterwards.
	NotDone  func(tx *store.Tx, p office.Package) []office.Fact
	Announce func(...office.Fact)

	Ended func() // a request has ended, for which something may have waited
}

// maxPause is the longest pause between two tries.
const maxPause = 10 * time.Minute

// atOnce is how many packages are withdrawn at once: one that gets no answer must not hold up the others.
const atOnce = 8

// Service withdraws packages. Its methods are safe for concurrent use.
type Service struct {
	loop.Base
	deps       Deps
	due        chan struct{} // signals that there may be something to withdraw
	notOffered loop.Retries  // by the service's home

	mu   sync.Mutex
	busy map[string]bool // packages that the service is being asked about
}

func New(t loop.Base, deps Deps) *Service {
	return &Service{Base: t, deps: deps, due: make(chan struct{}, 1), busy: map[string]bool{}}
}

func (r *Service) Wake() { loop.Wake(r.due) }

// Offered reports whether the service may have the call.
func (r *Service) Offered() bool { return r.Offers(&r.notOffered) }

// Run carries out requests until ctx ends.
func (r *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return loop.Repeat(ctx, r.due, func(ctx context.Context) (time.Duration, error) { return r.withdrawDue(ctx, g) })
	})
	return g.Wait()
}

// withdrawDue tries what is due, longest due first, as far as places are free, and returns how long until the next is.
func (r *Service) withdrawDue(ctx context.Context, g *errgroup.Group) (time.Duration, error) {
	const idle = time.Hour
	for ctx.Err() == nil {
		if err := r.tellLate(); err != nil {
			return 0, err
		}
		client, online := r.Session.Online()
		if !online {
			return idle, nil
		}
		if left := r.Breaker.Left(r.Now()); left > 0 {
			return left, nil
		}
		now := r.Now()
		r.mu.Lock()
		busy := maps.Clone(r.busy)
		r.mu.Unlock()
		var next time.Time
		due, err := data.Read(r.Data, "the packages to be withdrawn", func(tx *store.Tx) (due []office.Package, err error) {
			next, _ = tx.NextWithdrawal()
			return tx.WithdrawalsDue(r.Due(loop.MaxWait(maxPause)))
		})
		if err != nil {
			return 0, err
		}
		all := len(due)
		due = slices.DeleteFunc(due, func(p office.Package) bool {
			return busy[p.ID] || p.Service != client.Home() || r.LeftAlone(key(p)) // the service may have just changed
		})
		if len(due) == 0 {
			return r.PauseBeside(all, loop.UntilNext(now, next, idle)), nil
		}
		for _, p := range due {
			if ctx.Err() != nil || r.Breaker.Left(r.Now()) > 0 {
				break
			}
			if !r.start(ctx, g, client, p) {
				return idle, nil
			}
		}
	}
	return idle, nil
}

// start has a goroutine of g try to withdraw p if a place is free, and wakes the loop after that.
func (r *Service) start(ctx context.Context, g *errgroup.Group, client *esign.Client, p office.Package) (free bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.busy) == atOnce {
		return false
	}
	r.busy[p.ID] = true
	g.Go(func() error {
		err := r.One(key(p), func() error { return r.try(ctx, client, p) })
		r.mu.Lock()
		delete(r.busy, p.ID)
		r.mu.Unlock()
		if ctx.Err() != nil || r.Session.SignedOut(err) { // a sign-in wakes it
			return nil
		}
		r.Wake()
		return err
	})
	return true
}

// key identifies a withdrawal in the quarantine.
func key(p office.Package) string { return "withdrawal " + p.ID }

// Withdraw stores requests to withdraw packages and returns once the outcome of each is known, in their order; or, when ctx ends or
// Patience is over, with their progress. The requests are carried out regardless, even after a restart.
func (r *Service) Withdraw(ctx context.Context, n office.NewWithdrawal) ([]office.Withdrawn, error) {
	changes, stop := r.Watch()
	defer stop()
	list, err := r.wish(n)
	if err != nil {
		return nil, fmt.Errorf("store what is to be withdrawn: %w", err)
	}
	if n.Stored != nil && slices.ContainsFunc(list, office.Withdrawn.Pending) {
		n.Stored()
	}
	r.Wake()
	r.Signal(office.PackagesChanged)
	return r.follow(ctx, list, n.Patience, changes)
}

// wish stores the request for each package that can be withdrawn.
func (r *Service) wish(n office.NewWithdrawal) (list []office.Withdrawn, err error) {
	offered := r.Offered()
	err = r.Data.Update(func(tx *store.Tx) error {
		list = nil
		for _, id := range slices.Compact(slices.Sorted(slices.Values(n.Packages))) {
			p, known, err := tx.Package(id)
			if err != nil {
				return err
			}
			if !known {
				list = append(list, office.Withdrawn{PackageID: id, State: office.WithdrawRefused, Problem: message.NoSuchPackage(id)})
				continue
			}
			if state, why := refusal(p, offered); state != "" {
				list = append(list, office.Withdrawn{PackageID: id, Name: p.DisplayName(), State: state, Problem: why})
				continue
			}
			if w := p.Withdrawal; p.State != office.PackageRescinded && (!w.Pending() || w.State == office.WithdrawWanted) {
				p.Withdrawal = &office.Withdrawal{State: office.WithdrawWanted, Message: strings.TrimSpace(n.Message), Quiet: n.Quiet,
					By: r.deps.Who(), Asked: r.Now(), NextTry: r.Now().Add(n.Undo), AskFirst: w != nil && (w.State == office.WithdrawUnknown || w.AskFirst)}
				tx.PutPackage(p)
			}
			list = append(list, withdrawn(p))
		}
		slices.SortStableFunc(list, func(a, b office.Withdrawn) int {
			return cmp.Compare(slices.Index(n.Packages, a.PackageID), slices.Index(n.Packages, b.PackageID))
		})
		return nil
	})
	return list, err
}

// refusal says why a package cannot be withdrawn; empty if it can.
func refusal(p office.Package, offered bool) (office.WithdrawalState, message.Message) {
	switch {
	case p.Away:
		return office.WithdrawRefused, message.AtAnotherService()
	case p.State == office.PackageExecuted:
		return office.WithdrawLate, message.SignedAlready()
	case p.State == office.PackageExpired:
		return office.WithdrawLate, message.ExpiredAlready()
	case p.State == office.PackageRescinded, p.Withdrawal.Pending():
		return "", message.Message{}
	case !p.State.CanBeWithdrawn():
		return office.WithdrawRefused, message.NothingToWithdraw()
	case !offered:
		return office.WithdrawRefused, message.CannotWithdrawHere()
	}
	return "", message.Message{}
}

func withdrawn(p office.Package) office.Withdrawn {
	x := office.Withdrawn{PackageID: p.ID, Name: p.DisplayName()}
	switch {
	case p.State == office.PackageRescinded:
		x.State = office.WithdrawDone
	case p.Withdrawal != nil:
		x.State, x.Problem = p.Withdrawal.State, p.Withdrawal.Problem
	}
	return x
}

// Keep cancels a request of which the service does not know yet, and reports whether it was in time.
func (r *Service) Keep(id string) (inTime bool, err error) {
	err = r.Data.Update(func(tx *store.Tx) error {
		inTime = false
		p, known, err := tx.Package(id)
		if err != nil || !known || p.Withdrawal == nil || p.Withdrawal.State != office.WithdrawWanted {
			return err
		}
		before := *p.Withdrawal
		if p.Withdrawal, inTime = nil, true; before.AskFirst {
			p.Withdrawal = &office.Withdrawal{State: office.WithdrawUnknown, Asked: before.Asked, Problem: message.NobodyKnowsWhetherWithdrawn()}
		}
		return tx.PutPackage(p)
	})
	if err != nil {
		return false, fmt.Errorf("keep package %s: %w", id, err)
	}
	r.deps.Ended()
	r.Signal(office.PackagesChanged)
	return inTime, nil
}

// follow waits until every request in list has ended.
func (r *Service) follow(ctx context.Context, list []office.Withdrawn, patience time.Duration, changes <-chan office.Change) ([]office.Withdrawn, error) {
	var late <-chan time.Time
	if patience > 0 {
		t := time.NewTimer(patience)
		defer t.Stop()
		late = t.C
	}
	for {
		if err := r.renew(list); err != nil {
			return list, err
		}
		if !slices.ContainsFunc(list, office.Withdrawn.Pending) || late != nil && !r.Session.SignedIn() {
			return list, nil
		}
		select {
		case <-changes:
		case <-late:
			return list, nil
		case <-ctx.Done():
			return list, ctx.Err()
		}
	}
}

// renew updates the progress of those that have not ended.
func (r *Service) renew(list []office.Withdrawn) error {
	for i, x := range list {
		if !x.Pending() {
			continue
		}
		p, known, err := r.Data.Package(x.PackageID)
		if err != nil {
			return err
		}
		if known {
			list[i] = withdrawn(p)
		}
	}
	return nil
}

// lateAfter is how long the service may take to confirm a withdrawal before people are told.
const lateAfter = time.Hour

// tellLate updates the health issue about withdrawals that were tried but are not confirmed by the service.
func (r *Service) tellLate() error {
	late, err := data.Read(r.Data, "the withdrawals that wait", func(tx *store.Tx) ([]office.Package, error) {
		return tx.WithdrawalsDue(store.Due{Now: r.Now().Add(24 * time.Hour)}) // includes all of them
	})
	if err != nil {
		return err
	}
	late = slices.DeleteFunc(late, func(p office.Package) bool {
		return p.Withdrawal.Tries == 0 || r.Age(p.Withdrawal.Asked) < lateAfter
	})
	var waits message.Message
	switch len(late) {
	case 0:
	case 1:
		waits = message.WithdrawalUnconfirmed(late[0].DisplayName())
	default:
		waits = message.WithdrawalsUnconfirmed(len(late))
	}
	r.Health.Update(health.WithdrawalWaits, waits)
	return nil
}

// LetGo ends a request that the service may have fulfilled but does not confirm: a person has checked, or gives up. The package's
// state remains what its status says.
func (r *Service) LetGo(id string) error {
	p, known, err := r.Data.Package(id)
	if err != nil || !known || !p.Withdrawal.Pending() || p.Withdrawal.State == office.WithdrawWanted {
		return err
	}
	if err := r.end(id, office.WithdrawUnknown, message.NobodyKnowsWhetherWithdrawn()); err != nil {
		return fmt.Errorf("let go of the withdrawal of package %s: %w", id, err)
	}
	return r.tellLate()
}

// try advances the withdrawal of p. It returns only errors that concern the service or the disk as a whole.
func (r *Service) try(ctx context.Context, client *esign.Client, p office.Package) error {
	w := *p.Withdrawal
	if w.State != office.WithdrawWanted || w.AskFirst {
		open, err := r.ask(ctx, client, p.ID)
		if err != nil || !open {
			return err
		}
		if w.Damaged { // repeating it might notify people who should not be told, in words that nobody chose
			return r.refuse(p.ID, message.WithdrawalLost())
		}
		if w.State == office.WithdrawAccepted { // the service is slow to show it
			return r.putOff(p.ID, office.WithdrawAccepted, message.Message{})
		}
	}
	var later bool
	begun, err := r.step(p.ID, func(now *office.Withdrawal) {
		w = *now // the request may be a different one by now, and be undone
		if later = r.Due(loop.MaxWait(maxPause)).Left(w.NextTry) > 0; !later {
			now.State = office.WithdrawAsked
		}
	})
	if err != nil || !begun || later {
		return err
	}
	r.Crash("rescinding")
	err = client.Rescind(ctx, p.ID, w.Message, !w.Quiet)
	r.Crash("rescinded")
	if ctx.Err() != nil {
		return nil // the outcome is found out later
	}
	return r.answered(ctx, client, p.ID, w.State, err)
}

// answered continues after packages/rescind returned err, nil for success. An error that rules out any effect restores the earlier
// state: a previous call, whose answer was lost, may still take effect.
func (r *Service) answered(ctx context.Context, client *esign.Client, id string, before office.WithdrawalState, err error) error {
	e, _ := errors.AsType[*esign.Error](err)
	switch {
	case err == nil:
		r.Session.Note(ctx, nil)
		if _, err := r.step(id, func(w *office.Withdrawal) { w.State = office.WithdrawAccepted }); err != nil {
			return err
		}
	case r.Session.SignedOut(err):
		_, kept := r.step(id, func(w *office.Withdrawal) { w.State = before })
		return errors.Join(kept, err)
	case e == nil:
		return err
	case e.Kind != esign.Unknown && e.Temporary(), e.Kind == esign.SignedOut: // the sign-in works, so this is temporary
		r.Session.Note(ctx, err)
		return r.putOff(id, before, esign.Message(err))
	case notKnown(err):
		r.Session.Note(ctx, err)
		if _, err := r.step(id, func(w *office.Withdrawal) { w.State = before }); err != nil {
			return err
		}
	default:
		r.Session.Note(ctx, err)
	}
	open, failed := r.ask(ctx, client, id)
	switch {
	case failed != nil || !open:
		return failed
	case err == nil:
		return r.putOff(id, office.WithdrawAccepted, message.Message{})
	case esign.NotOffered(err):
		r.notOffered.Failed(client.Home(), r.Now(), loop.HiddenFor)
		r.Signal(office.StatusChanged)
		return r.refuse(id, message.CannotWithdrawHere())
	case e.Kind == esign.Forbidden, e.Status == http.StatusForbidden:
		return r.refuse(id, message.MayNotWithdraw())
	case e.Kind == esign.Unknown && e.Status/100 == 5:
		return r.putOff(id, office.WithdrawAsked, message.ServiceAiling())
	case e.Kind == esign.Unknown && (e.Status/100 == 2 || e.Status/100 == 3):
		return r.putOff(id, office.WithdrawAsked, message.ServiceOdd())
	case e.Kind == esign.Unknown && !saysNo(e.Status):
		return r.putOff(id, office.WithdrawAsked, message.ServiceSilent())
	case e.Kind == esign.Unknown:
		return r.refuse(id, message.ServiceRefused())
	}
	return r.refuse(id, esign.Message(err))
}

// patience is how often in a row the service may say that it does not know a package before that is believed: right after sending,
// it may be too early. After a lost answer it proves nothing, however often.
const patience = 4

// notKnown reports whether the service itself says that it does not know the package, or does not show it to us.
func notKnown(err error) bool {
	e, ok := errors.AsType[*esign.Error](err)
	return ok && e.Kind == esign.NotFound && e.Code != ""
}

// saysNo reports whether an HTTP status is an answer to the request rather than a temporary condition.
func saysNo(status int) bool {
	return status/100 == 4 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests && status != http.StatusUnauthorized
}

// ask finds out the outcome of a request from the status, and reports whether the package may still be signed according to that. If
// the status is unavailable, the request is postponed.
func (r *Service) ask(ctx context.Context, client *esign.Client, id string) (open bool, err error) {
	if err := r.deps.Question(ctx); err != nil {
		return false, nil // ctx has ended
	}
	before, known, lost := r.Data.Package(id)
	if lost != nil || !known {
		return false, lost
	}
	status, err := client.Status(ctx, id)
	if ctx.Err() != nil {
		return false, nil
	}
	r.Session.Note(ctx, err)
	if err == nil {
		if noted, err := r.deps.Note(before, status); err != nil {
			return false, err
		} else if !noted { // another answer was recorded meanwhile
			return r.ask(ctx, client, id)
		}
		return r.pending(id)
	}
	if r.Session.SignedOut(err) {
		return false, err
	}
	p, known, lost := r.Data.Package(id)
	if lost != nil || !known || !p.Withdrawal.Pending() {
		return false, lost
	}
	if notKnown(err) {
		switch w := p.Withdrawal; {
		case w.Problem != esign.Message(err) || w.Alike < patience:
		case w.State == office.WithdrawAccepted:
			// The service said that it withdrew the package, and no longer shows it.
			if err := r.deps.NoteGone(p); err != nil {
				return false, err
			}
			return r.pending(id)
		case w.State == office.WithdrawWanted:
			return false, r.refuse(id, w.Problem) // packages/rescind did not know it either
		}
	}
	return false, r.putOff(id, p.Withdrawal.State, esign.Message(err))
}

func (r *Service) pending(id string) (open bool, err error) {
	p, known, err := r.Data.Package(id)
	if err != nil || !known {
		return false, err
	}
	if !p.Withdrawal.Pending() {
		r.deps.Ended()
		return false, nil
	}
	return true, nil
}

// step changes a pending request, and reports whether it still was.
func (r *Service) step(id string, change func(*office.Withdrawal)) (pending bool, err error) {
	err = r.Data.Update(func(tx *store.Tx) error {
		p, known, err := tx.Package(id)
		if pending = err == nil && known && p.Withdrawal.Pending(); !pending {
			return err
		}
		w := *p.Withdrawal
		change(&w)
		p.Withdrawal = &w
		return tx.PutPackage(p)
	})
	if err != nil {
		return false, fmt.Errorf("record the withdrawal of package %s: %w", id, err)
	}
	r.Signal(office.PackagesChanged)
	return pending, nil
}

// putOff retries after a growing pause; problem says what prevents it. A new request, made meanwhile, keeps its own time.
func (r *Service) putOff(id string, state office.WithdrawalState, problem message.Message) error {
	_, err := r.step(id, func(w *office.Withdrawal) {
		if w.State == office.WithdrawWanted && (state != office.WithdrawWanted || r.Due(loop.MaxWait(maxPause)).Left(w.NextTry) > 0) {
			return
		}
		if w.Problem != problem {
			w.Alike = 0
		}
		w.State, w.Problem = state, problem
		w.Alike++
		w.Tries++
		w.NextTry = r.Now().Add(r.Backoff(w.Tries, r.Pace.Retry, maxPause))
	})
	return err
}

func (r *Service) refuse(id string, problem message.Message) error {
	return r.end(id, office.WithdrawRefused, problem)
}

// end ends a request that, as far as is known, was not fulfilled. People are notified unless they ended it themselves.
func (r *Service) end(id string, state office.WithdrawalState, problem message.Message) error {
	var facts []office.Fact
	err := r.Data.Update(func(tx *store.Tx) error {
		facts = nil
		p, known, err := tx.Package(id)
		if err != nil || !known || !p.Withdrawal.Pending() {
			return err
		}
		w := *p.Withdrawal
		w.State, w.Problem, w.NextTry = state, problem, time.Time{}
		p.Withdrawal = &w
		tx.PutPackage(p)
		text := message.Then(message.NotWithdrawn(p.DisplayName()), problem)
		if state == office.WithdrawUnknown {
			text = message.WithdrawalLeft(p.DisplayName())
		} else {
			facts = r.deps.NotDone(tx, p)
		}
		return tx.AddActivity(office.Activity{Time: r.Now(), Kind: office.ActivityProblem, PackageID: id, Text: text})
	})
	if err != nil {
		return fmt.Errorf("record that package %s was not withdrawn: %w", id, err)
	}
	r.deps.Announce(facts...)
	r.Signal(office.PackagesChanged)
	r.deps.Ended()
	return nil
}
