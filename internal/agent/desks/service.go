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
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
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
	"countersign/internal/nearby"
	"countersign/internal/office"
	"countersign/internal/safe"
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

// Reopen makes it start over although the settings may be unchanged: there is a new invitation, or a person requested it. What was
// wrong with the way to the hub is forgotten until that is tried.
func (r *Service) Reopen() {
	r.Health.Clear(health.HubAway)
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

// An invitation by a code: scrypt derives from the code a key that the hub admits as a guest, whose hash is the name under which the
// hub is found, and the key that seals the invitation. So nobody without the code finds or gets anything, and a hub without it does
// not answer. With 60 bits it can neither be guessed nor recovered from recorded traffic.

var (
	codeTime  = 10 * time.Minute
	findTime  = 5 * time.Second
	startTime = 5 * time.Second // for a hub that is just starting
)

const (
	maxInvitation = 64 << 10 // bytes

	codeLength  = 12                                 // letters of five bits
	codeLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // Crockford's alphabet: without I, L, O and U
)

func newCode() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	c := base32.NewEncoding(codeLetters).EncodeToString(b[:])
	return c[:4] + "-" + c[4:8] + "-" + c[8:codeLength]
}

// plainCode normalizes a typed code.
func plainCode(typed string) (string, error) {
	c := strings.NewReplacer("-", "", " ", "", "O", "0", "I", "1", "L", "1").Replace(strings.ToUpper(typed))
	if len(c) != codeLength || strings.Trim(c, codeLetters) != "" {
		return "", message.Error(message.CodeForm(), nil)
	}
	return c, nil
}

func keys(typed string) (seed, key string, secret safe.Secret, err error) {
	code, err := plainCode(typed)
	if err != nil {
		return seed, key, secret, err
	}
	guest, secret, err := safe.Password(code).Stretch("countersign invitation")
	if err == nil {
		seed, key, err = desk.KeyOf(guest)
	}
	return seed, key, secret, err
}

// offer is an invitation waiting for somebody with its code.
type offer struct {
	sealed []byte
	once   bool
	asker  string // with once: the computer that got it, and gets it again until it confirms
	end    context.CancelCauseFunc
}

// asker identifies this computer until the program ends.
var asker = rand.Text()

var errTaken = errors.New("it was taken")

// Offer makes a code, passes it to tell, and gives the invitation to whoever enters it: once, whereupon it returns without an error,
// or to everybody until ctx or its time ends.
func (r *Service) Offer(ctx context.Context, invitation []byte, once bool, tell func(code string) error) error {
	x := r.running()
	for end := r.Now().Add(startTime); x == nil && r.Settings().OfficeListen != "" && r.Now().Before(end) && loop.Sleep(ctx, 100*time.Millisecond); {
		x = r.running()
	}
	if x == nil || x.hub == nil {
		return message.Error(message.CodeNotOffered(), nil)
	}
	code := newCode()
	_, key, secret, err := keys(code)
	if err != nil {
		return err
	}
	var sealed bytes.Buffer
	w, err := safe.Seal(&sealed, secret)
	if err == nil {
		_, err = w.Write(invitation)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	timed, stop := context.WithTimeoutCause(ctx, codeTime, message.Error(message.CodeExpired(), nil))
	defer stop()
	open, end := context.WithCancelCause(timed)
	var answering sync.WaitGroup
	defer answering.Wait()
	defer end(nil)
	r.mu.Lock()
	r.offers[key] = &offer{sealed: sealed.Bytes(), once: once, end: end}
	r.mu.Unlock()
	defer r.withdraw(ctx, key)
	at := x.hub.Address()
	if at == nil { // stopped meanwhile
		return message.Error(message.CodeNotOffered(), nil)
	}
	if err := x.hub.Admit(key); err != nil {
		return err
	}
	answering.Go(func() {
		if err := nearby.Answer(open, desk.Token(key), place(at)); err != nil {
			r.Log.Warn("nobody finds this computer on the network by itself", "err", err)
		}
	})
	if err := tell(code); err != nil {
		return err
	}
	<-open.Done()
	if err := context.Cause(open); !errors.Is(err, errTaken) {
		return err
	}
	return nil
}

// place returns the address at which others reach the listener.
func place(listens net.Addr) netip.AddrPort {
	at, _ := netip.ParseAddrPort(listens.String()) // always a TCP address
	return at
}

// withdraw ends an offer, leaving a moment to a guest who is just receiving it.
func (r *Service) withdraw(ctx context.Context, key string) {
	r.mu.Lock()
	delete(r.offers, key)
	r.mu.Unlock()
	for end := r.Now().Add(5 * time.Second); ; {
		x := r.running()
		if x == nil || x.hub == nil {
			return
		}
		if !x.hub.Connected(key) || r.Now().After(end) || !loop.Sleep(ctx, 50*time.Millisecond) {
			x.hub.Remove(key)
			return
		}
	}
}

func (r *Service) guests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.offers))
}

// handOut answers a caller that is no desk: a guest with a code, or a removed desk. An invitation for one computer is for the first
// that asks, which may ask again because the answer may be lost.
func (r *Service) handOut(key string, q desk.Question) (a desk.Answer, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.offers[key]
	if o == nil || o.once && (len(q.Asker) != len(asker) || o.asker != "" && o.asker != q.Asker) {
		return a, desk.ErrRemoved
	}
	if o.asker = q.Asker; o.once && q.Got {
		delete(r.offers, key)
		o.end(errTaken)
	}
	return desk.Answer{Sealed: o.sealed}, nil
}

// Fetch gets the invitation that a hub offers by a code. It looks for the hub on the local network unless at says where it is.
func Fetch(ctx context.Context, code, at string) (invitation []byte, err error) {
	seed, key, secret, err := keys(code)
	if err != nil {
		return nil, err
	}
	get := func(server string) bool {
		invitation, err = fetch(ctx, desk.Way{Servers: server, Seed: seed, Guest: true}, secret)
		return err == nil
	}
	if at = strings.TrimPrefix(strings.TrimSpace(at), "nats://"); at != "" {
		if _, _, bad := net.SplitHostPort(at); bad != nil {
			at = net.JoinHostPort(at, office.HubPort)
		}
		get("nats://" + at)
	} else {
		finding, cancel := context.WithTimeout(ctx, findTime)
		defer cancel()
		err = message.Error(message.CodeNotFound(), nil)
		if nowhere := nearby.Find(finding, desk.Token(key), func(at netip.AddrPort) bool { return get("nats://" + at.String()) }); nowhere != nil {
			err = errors.Join(err, nowhere)
		}
	}
	switch _, said := message.Of(err); {
	case err == nil, said, ctx.Err() != nil:
		return invitation, err
	case errors.Is(err, desk.ErrRemoved):
		return nil, message.Error(message.CodeUnknown(), err)
	}
	return nil, message.Error(message.CodeNotReached(), err)
}

func fetch(ctx context.Context, w desk.Way, secret safe.Secret) ([]byte, error) {
	conn, err := desk.Connect(ctx, w)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	a, err := conn.Ask(ctx, desk.Question{Asker: asker})
	if err != nil {
		return nil, err
	}
	r, err := safe.Open(bytes.NewReader(a.Sealed), secret)
	if err != nil {
		return nil, err
	}
	invitation, err := io.ReadAll(io.LimitReader(r, maxInvitation))
	if err == nil {
		_, _ = conn.Ask(ctx, desk.Question{Asker: asker, Got: true}) // if this is lost, the code expires by itself
	}
	return invitation, err
}
