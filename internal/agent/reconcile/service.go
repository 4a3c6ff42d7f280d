// Package reconcile follows the office's packages: it turns stored events, status answers and the service's list into what is known
// of a package, and into what to do next: files to save, people to tell, when to ask again. An event is a hint, the status call is
// the truth; both lead to the same record, whichever comes first and however often. No answer is final: what the service does not
// answer about is requested again, at growing intervals.
//
// An event passes through here once: RunEvents reads it from the store, recordEvent records it and its consequences in one commit,
// and publish notifies others. The status, which is necessary, is requested separately (RunStatus) from full records and the list
// (RunRecords, RunList), which are not, and neither waits for the other. A loop that failed continues where it was: the cause, such
// as a full disk, may last for hours, and the service must not be asked about everything each time.
//
// It must not know how events arrive, how files are saved, how people are told, nor how drafts are sent. (It is not called "sync"
// because of the standard library.)
package reconcile

import (
	"encoding/json"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Files saves the documents of packages that everybody has signed.
type Files interface {
	Folder(s office.Settings, p office.Package) (string, error)
	Plan(tx *store.Tx, p *office.Package, s office.Settings, folder string) (planned int, err error)
	NoteFiles(tx *store.Tx, p *office.Package) []office.Fact
	TellRefused() // updates the health issue about files that the service does not provide
	TellGiven()   // the same, when something withheld may have arrived
	Resume()      // restarts downloads waiting for the service
	Wake()
}

// News is what people are told of a package. Call Signed, Declined and NotWithdrawn in the commit that records the fact.
type News interface {
	Signed(tx *store.Tx, p office.Package, signatures []office.Signature) []office.Fact
	Declined(tx *store.Tx, p office.Package) []office.Fact
	NotWithdrawn(tx *store.Tx, p office.Package) []office.Fact
	Expired(tx *store.Tx, p office.Package) []office.Fact
	DueSoon(tx *store.Tx, p office.Package, now time.Time) []office.Fact
	ToldDue(tx *store.Tx, packageID string) bool // whether DueSoon has been reported
	Silent() bool                                // people want no notifications now
	Withhold(tx *store.Tx, facts []office.Fact)  // for facts too old to report; in the commit that found them
	Announce(...office.Fact)
	WorkEnded()
}

// Webhook is what is known of the arrival of events.
type Webhook interface {
	ListeningSince() time.Time
	Deaf() bool                              // no events can arrive
	Missed(packageID string, now time.Time)  // a change was found that should have arrived as an event
	Heard(e esign.Event, received time.Time) // an event has arrived
	Tell()                                   // updates its health issues
}

// Deps are what a Service needs from others. The functions are called from several goroutines.
type Deps struct {
	Settings func() office.Settings
	Since    func() time.Time // first sign-in: what was finished before is not fetched

	Budget *rate.Limiter // rate limit of all calls about packages

	Files   Files
	News    News
	Webhook Webhook

	// Claim marks p as made here if its external data carries the id of one of our drafts.
	Claim  func(tx *store.Tx, p *office.Package, data json.RawMessage)
	Drafts func()                 // makes drafts and withdrawals be checked: one may be due, or have been found among the packages
	WokeUp func(by time.Duration) // called when the wall clock has jumped
}

// Service follows packages. Safe for concurrent use.
type Service struct {
	loop.Base
	deps Deps

	events, work chan struct{} // signal that there may be an event, or a due package
	look, lists  chan struct{} // signal along with work, and when to read the list
	deadlines    chan struct{} // signals that something may be due earlier than expected

	sweep   sweeper               // one is requested at the start
	settled loop.Watchers[string] // event ids
	list    discovery             // used only by RunList's goroutine

	listWanted atomic.Bool // read the list soon
	listRead   atomic.Bool // see Listed

	failedInRow, failedRounds atomic.Int64 // failed calls about packages since the last answer, and rounds aborted since then

	records   records
	noRecords loop.Retries // services without records, by home; see needRecord
	noLinks   loop.Retries // services without links to sign with, likewise
	allDue    atomic.Int64 // how often everything was made due
	backlog   atomic.Int64 // packages waiting to be checked in this round
}

func New(t loop.Base, deps Deps) *Service {
	ring := func() chan struct{} { return make(chan struct{}, 1) }
	return &Service{Base: t, deps: deps, events: ring(), work: ring(), look: ring(), lists: ring(), deadlines: ring(), records: records{ring: ring()}, sweep: sweeper{wanted: true, atOnce: true}}
}

func (r *Service) Wake() {
	loop.Wake(r.work)
	loop.Wake(r.look)
}

func (r *Service) WakeEvents() { loop.Wake(r.events) }

// Backlog returns how many packages wait to be checked in this round.
func (r *Service) Backlog() int { return int(r.backlog.Load()) }

func (r *Service) setBacklog(n int) {
	r.backlog.Store(int64(n))
	r.deps.News.WorkEnded()
}

// Swept returns when everything was last checked, and whether that is in progress.
func (r *Service) Swept() (last time.Time, under bool) { return r.sweep.state() }

// Unanswered returns when the service last did not answer and when it is asked again; zero if it answers.
func (r *Service) Unanswered() (tried, next time.Time) {
	now := r.Now()
	least := now.Add(r.Breaker.Left(now))
	r.sweep.mu.Lock()
	defer r.sweep.mu.Unlock()
	if tried, next = r.sweep.tried, r.sweep.next; !tried.IsZero() && next.Before(least) {
		next = least
	}
	return tried, next
}

// clockMargin is how far the service's clock may differ from ours.
const clockMargin = 15 * time.Minute

// missedEvent reports whether the change from before to p in a status answer should have arrived as an event, given since when we have
// been listening: for a package checked since then, any change; for one unknown before, that it was finished since. Events of a
// package may overtake each other: if one has arrived, the others are not missed yet.
func missedEvent(before, p office.Package, moved bool, listening, now time.Time) bool {
	switch {
	case listening.IsZero(), before.Arrived:
		return false
	case !before.Checked.IsZero():
		return moved && before.Checked.After(listening) && !before.Checked.After(now) // otherwise recorded by a wrong clock
	default:
		return p.State == office.PackageExecuted && before.State != p.State && !before.Executed.By &&
			before.Executed.After(listening.Add(clockMargin)) && before.Executed.Before(now.Add(-clockMargin))
	}
}
