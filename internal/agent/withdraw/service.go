// Package withdraw withdraws packages that were sent. The wish is stored with the package before anything is sent, and stays
// until the service's status tells what became of it: withdrawn, signed by everyone first, expired first, or refused; or until
// a person lets go of it.
//
// A wish can be taken back for some seconds, for which it waits as one that is put off; a program that ends meanwhile goes on with
// it at its next start. It goes one way: wanted, asked (packages/rescind may have been sent), accepted (the service said yes), and then done,
// late or refused. From asked on, and where there was an earlier wish, the status is asked before anything else: what is
// withdrawn is not withdrawn again, and nobody is notified twice. Once it is accepted, packages/rescind is never sent again.
//
// It must not know who is signed in, nor how a status becomes what is known of a package (Deps.Note).
package withdraw

import (
	"context"
	"slices"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Deps are what a Service needs from others. The functions are called from several goroutines.
type Deps struct {
	Crash func(point string) // called at named points; tests end the process there
	Watch func() (changes <-chan office.Change, stop func())
	Who   func() string // whose account it is, as people know it; empty when the service did not say

	Online    func() (*esign.Client, bool) // the service, while somebody is signed in and the keys are open
	SignedIn  func() bool                  // though the keys may be locked
	SignedOut func(err error) bool
	Answered  func(ctx context.Context, err error) // notes what an answer says of the service as a whole
	Question  func(ctx context.Context) error      // waits until the service may be asked about a package

	// Note records the status of a package, with what follows from it, the end of a wish among that. asked is the package as
	// it was known when the question was put; noted is false where the answer may be older than what is known.
	Note func(asked office.Package, status esign.Status) (noted bool, err error)

	// NoteGone records that a package is withdrawn that the service shows no more.
	NoteGone func(asked office.Package) error
	// NotDone are the facts that p was not withdrawn, when people were not told yet; in the commit that records it. Announce
	// tells them after it.
	NotDone  func(tx *store.Tx, p office.Package) ([]office.Fact, error)
	Announce func(...office.Fact)

	Ended func() // a wish came to its end: something may have waited for it
}

// maxPause is the longest pause before a package is tried again.
const maxPause = 10 * time.Minute

// Service withdraws packages. Its methods are safe for concurrent use.
type Service struct {
	loop.Base
	deps       Deps
	due        chan struct{} // rings when there may be something to withdraw
	notOffered loop.Retries  // by the service's home
}

// New makes a Service.
func New(t loop.Base, deps Deps) *Service {
	return &Service{Base: t, deps: deps, due: make(chan struct{}, 1)}
}

// Wake has it look for what is due.
func (r *Service) Wake() { loop.Wake(r.due) }

// Offered reports whether the service is not known to lack the call.
func (r *Service) Offered() bool {
	client, online := r.deps.Online()
	return !online || !r.notOffered.Waits(client.Home(), r.Now())
}

// Run withdraws what is to be withdrawn, until ctx ends.
func (r *Service) Run(ctx context.Context) error {
	for {
		pause, err := r.withdrawDue(ctx)
		if err != nil {
			return err
		}
		if !loop.Wait(ctx, pause, r.due) {
			return nil
		}
	}
}

// withdrawDue tries what is due, the longest due first and one at a time, and returns how long nothing will be.
func (r *Service) withdrawDue(ctx context.Context) (time.Duration, error) {
	const idle = time.Hour
	for ctx.Err() == nil {
		if err := r.tellLate(); err != nil {
			return 0, err
		}
		client, online := r.deps.Online()
		if !online {
			return idle, nil
		}
		if left := r.Breaker.Left(r.Now()); left > 0 {
			return left, nil
		}
		var next time.Time
		due, err := data.Read(r.Data, "the packages to be withdrawn", func(tx *store.Tx) (due []office.Package, err error) {
			if next, err = tx.NextWithdrawal(); err != nil {
				return nil, err
			}
			return tx.WithdrawalsDue(r.Due(loop.MaxWait(maxPause)))
		})
		if err != nil {
			return 0, err
		}
		all := len(due)
		due = slices.DeleteFunc(due, func(p office.Package) bool {
			return p.Service != client.Home() || r.LeftAlone(key(p)) // the service may have been changed just now
		})
		if len(due) == 0 {
			return r.PauseBeside(all, loop.UntilNext(r.Now(), next, idle)), nil
		}
		for _, p := range due {
			if ctx.Err() != nil || r.Breaker.Left(r.Now()) > 0 {
				break
			}
			err := r.One(ctx, key(p), func() error { return r.try(ctx, client, p) })
			if r.deps.SignedOut(err) {
				return idle, nil
			}
			if err != nil && ctx.Err() == nil {
				return 0, err
			}
		}
	}
	return idle, nil
}

// key tells a withdrawal from whatever else can be set aside.
func key(p office.Package) string { return "withdrawal " + p.ID }
