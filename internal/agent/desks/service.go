// Package desks joins several computers of one office: the one that the service reaches, the hub, passes every verified event on to
// the others, its desks.
//
//	service.go  what this computer is according to its settings: the hub, a desk, or neither, as in an office with one desk
//	hub.go      the hub: events from the store into the stream, which desks there are, answers to desks
//	code.go     an invitation by a short code: offered by the hub, fetched by a computer that becomes a desk
//	reader.go   a desk: events from the stream into its own inbox; what it missed; whether the hub receives anything at all
//
// It promises: an event is published after it is stored, and acknowledged by a desk after that has stored it, through the same
// entrance as events from the service; a lost, damaged, truncated or new stream is refilled from the store, and what a desk missed,
// or lost because it was restored, from the hub's; duplicates are one event, identified by its id; a removed desk is cut off before
// Remove returns, and stays so after a restart; an earlier hub no longer counts once a desk has met a later one. While a desk
// receives nothing from a hub that does receive events, it counts as having no public address.
//
// It must not know what an event means.
package desks

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/desk"
	"countersign/internal/hub"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/secret"
	"countersign/internal/store"
)

// Vault keeps values sealed. While its key is unavailable, its errors are secret.ErrUnavailable.
type Vault interface {
	Get(name string) ([]byte, error)
	Put(values map[string][]byte, also ...func(*store.Tx) error) error
}

// Conn is a *desk.Conn, or equivalent.
type Conn interface {
	Close()
	Closed() <-chan struct{}
	Removed() bool

	Prepare(ctx context.Context, s desk.Stream) error
	Current(ctx context.Context, s desk.Stream) error
	Tokens(ctx context.Context, s desk.Stream) (map[string]bool, error)
	Publish(ctx context.Context, s desk.Stream, e desk.Event) error
	Follow(ctx context.Context, s desk.Stream, key string, since time.Time) error
	Forget(ctx context.Context, s desk.Stream, key string) error
	Following(ctx context.Context, s desk.Stream) (keys []string, err error)
	Waiting(ctx context.Context, s desk.Stream, key string) (events int, last time.Time, err error)
	Answers(answer func(key string, q desk.Question) (desk.Answer, error)) error

	Ask(ctx context.Context, q desk.Question) (desk.Answer, error)
	Receive(ctx context.Context, epoch int, had desk.Mark, take func(desk.Event, desk.Mark) error, missed func(desk.Mark) error) error
}

// Server is a *hub.Hub, or equivalent.
type Server interface {
	InProcessConn() (net.Conn, error)
	Address() net.Addr
	Admit(key string) error
	Remove(key string)
	Connected(key string) bool
	Trouble() error
	Close()
}

// Stream carries events. With an error, what its functions return is not to be used.
type Stream struct {
	Connect func(ctx context.Context, w desk.Way) (Conn, error)
	Serve   func(c hub.Config) (Server, error)
}

// NATS returns an office's Stream.
func NATS() Stream {
	return Stream{
		Connect: func(ctx context.Context, w desk.Way) (Conn, error) { return desk.Connect(ctx, w) },
		Serve:   func(c hub.Config) (Server, error) { return hub.Start(c) },
	}
}

// Deps are what a Service needs from outside. All of them are required.
type Deps struct {
	Stream   Stream
	Folder   string // folder of the stream
	Settings func() office.Settings
	Vault    Vault
	Person   func() string    // the person working here
	Hears    func() time.Time // since when events reach this computer; zero if they do not
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)

	Take     func(ctx context.Context, url, service, signature string, body []byte) error // stores an event
	Returned func()                                                                       // events arrive again: find out what happened meanwhile
	Changed  func()                                                                       // the stored list of desks has changed
	Adopt    func(ctx context.Context, servers, pin string) error                         // applies the hub's new address
}

// Service is the office's other desks. All methods are safe for concurrent use.
type Service struct {
	loop.Base
	Deps

	wake  chan struct{} // signals that the settings may have changed
	ring  chan struct{} // signals that there is something to publish
	desks data.Kept[[]office.Desk]

	entry       sync.Mutex // held while a desk is admitted or shut out
	identifying sync.Mutex // held while reading or making this computer's identity as a hub

	restart atomic.Bool // begin anew although the settings are unchanged

	mu     sync.Mutex
	live   *live                // nil if this computer is no hub
	queue  []string             // ids of events to publish
	seen   map[string]time.Time // last question of each desk, by key
	since  time.Time            // on a desk, since when events arrive; zero if they do not
	offers map[string]*offer    // by the key derived from the code
	moved  *desk.Place          // on a replaced hub, where the hub is now; nil before
	later  int                  // the latest hub after this one that anybody has reported; 0 for none
}

// New makes a Service. It reads nothing; Load does.
func New(tools loop.Base, p Deps) *Service {
	return &Service{Base: tools, Deps: p, wake: make(chan struct{}, 1), ring: make(chan struct{}, 1), seen: map[string]time.Time{}, offers: map[string]*offer{}}
}

const (
	// Doc is the document with the desks of a hub, or, on a desk, with all those named by the hub.
	Doc = "desks"
	// docEpoch is the document with the latest hub that this computer has met or been.
	docEpoch = "desks-epoch"
	// docMark is the document with how far this desk has read.
	docMark = "desks-mark"
)

func (r *Service) Load() error {
	list, _, err := data.Doc[[]office.Desk](r.Data, Doc)
	r.desks.Set(list)
	return err
}

// Wake makes it check whether the settings have changed.
func (r *Service) Wake() { loop.Wake(r.wake) }

// Reopen makes it start over although the settings are unchanged: the key has changed, or a person requested it.
func (r *Service) Reopen() {
	r.restart.Store(true)
	r.Wake()
}

// ListeningSince is for a desk: since when everything that reaches the hub arrives; zero if it does not. It may be called within a
// commit.
func (r *Service) ListeningSince() (since time.Time, desk bool) {
	desk = r.Settings().Tunnel == office.TunnelOffice
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since, desk
}

// longest is the longest pause between two tries.
const longest = 30 * time.Second

// Run acts as the settings say until ctx ends.
func (r *Service) Run(ctx context.Context) error {
	for tries := 0; ctx.Err() == nil; {
		s := r.Settings()
		be := r.beNothing
		switch {
		case s.Tunnel == office.TunnelOffice:
			be = r.beDesk
		case s.IsHub():
			be = r.beHub
		}
		began := r.Now()
		err := loop.RunUntil(ctx, r.wake, func() bool {
			now := r.Settings()
			if !r.restart.Swap(false) && same(now, s) {
				return false
			}
			r.tellMoved(ctx, now)
			return true
		}, func(ctx context.Context) error { return be(ctx, s) })
		r.hear(false)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			tries = 0
			continue
		}
		if r.Now().Sub(began).Abs() > time.Minute {
			tries = 0
		}
		tries++
		r.tell(err, s)
		pause := r.Backoff(tries, r.Pace.Retry/2, longest)
		r.Log.Info("the other desks are out of reach", "err", err, "again_in", pause)
		loop.Wait(ctx, pause, r.wake)
	}
	return nil
}

func same(a, b office.Settings) bool {
	return a.Tunnel == b.Tunnel && a.Office == b.Office && a.OfficePin == b.OfficePin && a.OfficeListen == b.OfficeListen
}

func (r *Service) beNothing(ctx context.Context, _ office.Settings) error {
	r.Health.Clear(health.HubAway)
	r.Health.Clear(health.HubFails)
	<-ctx.Done()
	return nil
}

// hear records whether events arrive, and notifies others.
func (r *Service) hear(now bool) {
	r.mu.Lock()
	did := !r.since.IsZero()
	switch {
	case !now:
		r.since = time.Time{}
	case !did:
		r.since = r.Now()
	}
	r.mu.Unlock()
	if did != now {
		r.Signal(office.StatusChanged)
		if now {
			r.Returned()
		}
	}
}

// errSilent means that the hub itself receives no events.
var errSilent, errEarlier = errors.New("the hub hears nothing"), errors.New("an earlier hub answers")

// errLater means that another hub has taken over the office's cluster, with its own stream.
var errLater = errors.New("a later hub answers")

// tell reports to health why events do not reach other desks, or do not come from the hub.
func (r *Service) tell(err error, s office.Settings) {
	if errors.Is(err, secret.ErrUnavailable) { // the keyring's issue covers it
		return
	}
	if s.Tunnel != office.TunnelOffice {
		if later, is := errors.AsType[desk.Fenced](err); is {
			r.meet(int(later))
			return
		}
		r.Health.Set(health.HubFails, message.HubFails())
		return
	}
	switch {
	case errors.Is(err, desk.ErrRemoved):
		r.Health.Set(health.DeskUnwelcome, message.DeskUnwelcome())
	case errors.Is(err, desk.ErrOther):
		r.Health.Set(health.DeskUnwelcome, message.OtherHub())
	case errors.Is(err, errEarlier):
		r.Health.Set(health.DeskUnwelcome, message.EarlierHub())
	case errors.Is(err, errSilent):
		r.Health.Set(health.HubAway, message.HubSilent())
	default:
		r.Health.Set(health.HubAway, message.HubAway())
	}
}

// meet records that there was a later hub than this one. Only a person can tell whether that one is gone, or was a mistake: see
// BeAgain.
func (r *Service) meet(later int) {
	r.mu.Lock()
	r.later = max(r.later, later)
	r.mu.Unlock()
	r.Health.Set(health.HubReplaced, message.HubReplaced())
}

// BeAgain makes this hub's number continue from the later one's, so that desks that have met that one listen to it.
func (r *Service) BeAgain() error {
	r.mu.Lock()
	later := r.later
	r.mu.Unlock()
	met, err := r.epoch()
	if err == nil && later > met {
		err = r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docEpoch, later) })
	}
	if err == nil {
		r.Reopen()
	}
	return err
}

// epoch returns the latest hub that this computer has met or been.
func (r *Service) epoch() (n int, err error) {
	n, _, err = data.Doc[int](r.Data, docEpoch)
	return n, err
}

// seed returns this desk's own key; empty for none. A former hub that was replaced uses the key it had as the hub.
func (r *Service) seed() (string, error) {
	b, err := r.Vault.Get(issuer.DeskKey.Of(issuer.Desks))
	if err != nil || b != nil {
		return string(b), err
	}
	var was identity
	if b, err = r.Vault.Get(issuer.HubKey.Of(issuer.Desks)); err == nil && b != nil {
		err = json.Unmarshal(b, &was)
	}
	return was.Seed, err
}
