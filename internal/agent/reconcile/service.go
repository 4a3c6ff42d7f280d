// Package reconcile follows the office's packages: it turns stored events, answers to status calls and the service's list
// into what is known of a package, and into what to do next: files to be saved, people to be told, when to ask again. An
// event is a hint, the status call is the truth; both ways lead to the same record, whichever comes first and however
// often. No answer is for ever: what the service does not tell about is asked about again, more and more rarely.
//
// An event goes through here once: RunEvents reads it from the store, recordEvent notes it in one commit with what follows,
// and publish has the others know. What is necessary, the status, is asked by itself (RunStatus); what is not, full records and the list,
// apart from it (RunRecords, RunList), and neither waits for the other. A loop that failed goes on where it was: what has it fail, such
// as a full disk, may do so for hours, and the service is not to be asked about everything each time.
//
// It must not know how events arrive, how files are saved, how people are told, nor how drafts are sent. (Its name is not
// "sync", which is the standard library's.)
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

// Files are what becomes of the documents of a package that everybody has signed.
type Files interface {
	Folder(s office.Settings, p office.Package) (string, error)
	Plan(tx *store.Tx, p *office.Package, s office.Settings, folder string) (planned int, err error)
	NoteFiles(tx *store.Tx, p *office.Package) ([]office.Fact, error)
	TellRefused() // keeps in step what health says of what the service does not give
	TellGiven()   // the same, where something may have come that it did not give
	Resume()      // lets downloads begin again that wait for the service
	Wake()
}

// News are what people are told of a package. Signed, Declined and NotWithdrawn belong in the
// commit that records it.
type News interface {
	Signed(tx *store.Tx, p office.Package, signatures []office.Signature) ([]office.Fact, error)
	Declined(tx *store.Tx, p office.Package) ([]office.Fact, error)
	NotWithdrawn(tx *store.Tx, p office.Package) ([]office.Fact, error)
	Expired(tx *store.Tx, p office.Package) ([]office.Fact, error)
	DueSoon(tx *store.Tx, p office.Package, now time.Time) ([]office.Fact, error)
	ToldDue(tx *store.Tx, packageID string) bool      // DueSoon has been told
	Silent() bool                                     // people want to hear nothing for now
	Withhold(tx *store.Tx, facts []office.Fact) error // of what is too old to be told; in the commit that found it
	Announce(...office.Fact)
	WorkEnded()
}

// Webhook is what is known of the events' way.
type Webhook interface {
	ListeningSince() time.Time
	Deaf() bool                              // no events arrive
	Missed(packageID string, now time.Time)  // something was found that should have come as an event
	Heard(e esign.Event, received time.Time) // an event came
	Tell()                                   // keeps its health in step
}

// Deps are what a Service needs from others. The functions are called from several goroutines.
type Deps struct {
	Settings func() office.Settings
	Since    func() time.Time // the first sign-in: what was finished before it is not fetched

	Budget *rate.Limiter // what all questions about packages share

	Files   Files
	News    News
	Webhook Webhook

	// Claim makes p a package of ours when its external data carries the id of one of our drafts.
	Claim  func(tx *store.Tx, p *office.Package, data json.RawMessage) error
	Drafts func()                 // has drafts looked at: one may have been found among the packages
	Resend func()                 // has those sent at once that could not be sent
	WokeUp func(by time.Duration) // the wall clock has jumped
}

// Service follows packages. Safe for concurrent use.
type Service struct {
	loop.Base
	deps Deps

	events, work chan struct{} // ring when there may be an event, or a package that is due
	look, lists  chan struct{} // ring with work, and when the list is to be read
	deadlines    chan struct{} // rings when something may be due sooner than was thought

	sweep   sweeper               // the program begins with one
	settled loop.Watchers[string] // ids of events
	list    discovery             // of RunList's goroutine alone

	listWanted atomic.Bool // the list is to be read soon

	failedInRow, failedRounds atomic.Int64 // questions about packages since the last answer, and rounds broken off since then

	records   records
	noRecords loop.Retries // by the home of a service that does not have them, see needRecord
	retried   atomic.Int64 // how often a person has asked for everything to be tried
	backlog   atomic.Int64 // packages that wait to be asked about in this round
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

// Backlog is how many packages wait to be asked about in this round.
func (r *Service) Backlog() int { return int(r.backlog.Load()) }

func (r *Service) setBacklog(n int) {
	r.backlog.Store(int64(n))
	r.deps.News.WorkEnded()
}

// Swept is when everything was last asked about, and whether that is under way.
func (r *Service) Swept() (last time.Time, under bool) { return r.sweep.state() }

// clockMargin is how far the service's clock may be from ours.
const clockMargin = 15 * time.Minute

// owesEvent reports whether what a status answer tells of p, which was before until now, should have come as an event
// since listening: of a package that was asked about since, whatever is new; of one that was not known, that it was
// finished since.
func owesEvent(before, p office.Package, moved bool, listening, now time.Time) bool {
	switch {
	case listening.IsZero():
		return false
	case !before.Checked.IsZero():
		return moved && before.Checked.After(listening) && !before.Checked.After(now) // else by a clock that was wrong
	default:
		return p.State == office.PackageExecuted && before.State != p.State && !before.Executed.By &&
			before.Executed.After(listening.Add(clockMargin)) && before.Executed.Before(now.Add(-clockMargin))
	}
}
