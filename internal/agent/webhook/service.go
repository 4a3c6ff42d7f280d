// Package webhook keeps a public address open, registers it with the service as the organization's endpoint
// (interface.md, POST /events/endpoints/set), takes in what the service sends there, and notices when nothing comes any
// more.
//
//	tunnel.go    opens the public address, and opens it again; tries one before it is used
//	endpoint.go  registers it: the current registration and those before it, whose events still count for a while; notices that
//	             the signing service reports to another computer, or to none
//	service.go   covers the moments in which nobody knows which secret the signing service signs with, verifies and stores
//	             events, and keeps samples of what was refused, in memory
//
// It promises that an event which was answered 2xx is on disk; that a registration counts once it is on disk, and those
// before it for previousLife longer; that registrations at the service happen one at a time.
//
// It must not know how a sign-in works, what an event means, nor how secrets are sealed: it asks for the client as of now
// (Deps.Current) and for sealed values (Vault), each time anew.
//
// Who may call what while holding what: a change of the registration (Change, TakeOver) is held while the service is
// asked and while the vault commits. Whoever holds one must not begin another, nor wait for the sign-in to change; the
// account may begin one while it changes the sign-in, and this one never changes the sign-in. The mutexes guard memory
// for a moment: nothing but the clock is called while they are held.
package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/inbox"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/tunnel"
)

// Vault keeps values sealed. While its key is out of reach its errors are secret.ErrUnavailable.
type Vault interface {
	Locked() bool
	Get(name string) ([]byte, error) // nil when there is none that can be opened
	Has(name string) (bool, error)   // whether or not it can be opened
	// Put commits values, nil to forget one, together with whatever also records.
	Put(values map[string][]byte, also ...func(*store.Tx) error) error
}

// Current is what is set up and who is signed in, all of one moment.
type Current struct {
	Settings    office.Settings
	Client      *esign.Client // nil while nobody is signed in or the keys are locked
	MayRegister bool          // the account has the scope organization
}

// Deps are what a Service needs from outside. All of them are required but OpenPort, and none may wait for it.
type Deps struct {
	Vault       Vault
	Current     func() Current
	Certificate func() (tls.Certificate, error) // of addresses on this computer
	Callback    http.HandlerFunc                // takes the browser that returns from a sign-in
	OpenPort    tunnel.OpenPort                 // opens the port behind the office's own proxy; nil is the system's way
	Dial        dial                            // the way out to ngrok
	HTTP        *http.Client                    // asks whether the office's own public address leads here

	Office Office // the other desks

	Arrived  func()           // an event is stored
	Settled  func(id string)  // it is, and nothing can be done with it
	Sweep    func(why string) // every open package is to be asked about
	Returned func()           // likewise, but it may come in bursts: the address is open again
}

// Office are the office's other desks.
type Office interface {
	Stored(eventID string) // an event is stored, which they are to have too
	// ListeningSince is of a desk: since when all that reaches the hub comes; zero while it does not. It must not wait for the Vault.
	ListeningSince() (since time.Time, desk bool)
}

// dial connects, through whatever proxy is on the way.
type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Service is the office's webhook. All methods are safe for concurrent use.
type Service struct {
	loop.Base
	Deps
	inbox *inbox.Inbox

	changing chan struct{}                      // holds one value while a registration is changed at the service: one at a time, in order
	cancel   atomic.Pointer[context.CancelFunc] // ends the last such change early

	restart                  atomic.Bool // the address is to be opened anew though its settings are the same
	wakeTunnel, wakeEndpoint chan struct{}

	mu      sync.Mutex // guards what follows
	refused []Refusal  // samples, oldest first
	address Address
	moved   chan struct{} // closed when address changes
	trouble trouble
	gap     time.Time // until when events could not be taken: the computer was seen to have slept, or one could not be stored

	current *endpoint     // nil while nothing is registered
	former  []endpoint    // newest first
	pending chan struct{} // while a registration is under way: closed when it is over
	doubt   bool          // a registration was sent, and what became of it is not known

	missed map[string]time.Time // packageId -> when something was found that should have come as an event
	gone   time.Time            // since when the reports are known to go elsewhere; zero while they come here
}

// New makes a Service. It calls nothing of p; Load does.
func New(tools loop.Base, p Deps) *Service {
	r := &Service{Base: tools, Deps: p, wakeTunnel: make(chan struct{}, 1), wakeEndpoint: make(chan struct{}, 1), moved: make(chan struct{}),
		changing: make(chan struct{}, 1), missed: map[string]time.Time{}}
	r.inbox = r.newInbox()
	return r
}

// Load reads what earlier runs left. What is sealed follows with Open.
func (r *Service) Load() error {
	r.mu.Lock()
	r.address = Address{Kind: string(r.Current().Settings.Tunnel), State: "off"}
	r.mu.Unlock()
	if err := r.recallMissed(); err != nil {
		return fmt.Errorf("read what is known of the endpoint: %w", err)
	}
	return nil
}

// Wake has both loops look at once whether there is something to do.
func (r *Service) Wake() {
	loop.Wake(r.wakeTunnel)
	loop.Wake(r.wakeEndpoint)
}

// WokeUp is called when the wall clock has jumped by that much.
func (r *Service) WokeUp(by time.Duration) {
	r.couldNotListen()
	if by < 0 {
		r.tellMissed()
	}
}

// couldNotListen notes that no event could be taken until now: the service may have tried in vain.
func (r *Service) couldNotListen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gap = r.Now()
	clear(r.missed)
}

// Address is the public address.
type Address struct {
	Kind  string        `json:"kind"`  // ngrok, external, loopback, none
	State string        `json:"state"` // off, connecting, up, down
	URL   string        `json:"url"`
	Since office.OrNull `json:"since"`
}

// Address is the public address as of now.
func (r *Service) Address() Address {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.address
}

// WaitOpen waits until the public address is open and returns its URL; false when ctx ends before.
func (r *Service) WaitOpen(ctx context.Context) (url string, open bool) {
	for {
		r.mu.Lock()
		now, moved := r.address, r.moved
		r.mu.Unlock()
		if now.State == "up" {
			return now.URL, true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return "", false
		}
	}
}

// docPending names the document that says that a registration was sent to the service. It is there until the answer is
// kept: after a crash in between, nobody knows which secret the service signs with.
const docPending = "endpoint-asking"

// Between the service's change and our reading of its answer, good events are signed with a secret that is not known
// here yet. They wait this long for it; whoever cannot be verified then is asked to come again rather than told that it is not
// authentic. How many wait is bounded where connections are (package tunnel).
const (
	pendingWait  = 3 * time.Second
	pendingAgain = 5 * time.Second
)

// begin marks a registration as under way.
func (r *Service) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending == nil {
		r.pending = make(chan struct{})
	}
}

// settle marks it as over; doubt when it may have changed the secret without us knowing the new one.
func (r *Service) settle(doubt bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doubt = doubt
	if r.pending != nil {
		close(r.pending)
		r.pending = nil
	}
}

// underWay returns a channel that closes when the registration under way is over, nil when none is, and whether the
// secret may be one that is not known here.
func (r *Service) underWay() (over <-chan struct{}, unsure bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending, r.doubt || r.pending != nil
}

// ask registers url, after noting on disk that it is about to.
func (r *Service) ask(ctx context.Context, client *esign.Client, url string) (esign.Endpoint, error) {
	if err := r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docPending, url) }); err != nil {
		return esign.Endpoint{}, err
	}
	_, unsure := r.underWay()
	r.begin()
	answer, err := client.SetEndpoint(ctx, url)
	if err != nil {
		r.settle(unsure || mayBeDone(err))
	}
	return answer, err
}

// mayBeDone reports whether the service may have done what it gave no usable answer to.
func mayBeDone(err error) bool {
	var e *esign.Error
	return errors.As(err, &e) && e.MayBeDone
}

// unsure reports whether a registration was sent whose answer is not kept, in this run or an earlier one, or may
// have been.
func (r *Service) unsure() bool {
	_, asked, err := data.Doc[string](r.Data, docPending)
	return asked || err != nil
}

// ServeEvent hands a request to the inbox. While nothing can be verified, because the keyring is locked, or not
// everything, because the endpoint's secret is just changing, the service is asked to come again rather than told that
// its event is not authentic.
func (r *Service) ServeEvent(w http.ResponseWriter, req *http.Request) {
	if r.Vault.Locked() {
		comeAgain(w, time.Minute)
		return
	}
	over, unsure := r.underWay()
	if over != nil {
		limit := time.NewTimer(pendingWait)
		select {
		case <-over:
		case <-limit.C:
		case <-req.Context().Done():
		}
		limit.Stop()
		_, unsure = r.underWay()
	}
	if unsure {
		w = &undecided{ResponseWriter: w}
	}
	r.inbox.ServeHTTP(w, req)
}

// undecided answers 503 in place of 401.
type undecided struct{ http.ResponseWriter }

func (u *undecided) WriteHeader(status int) {
	if status == http.StatusUnauthorized {
		u.Header().Set("Retry-After", strconv.Itoa(int(pendingAgain/time.Second)))
		status = http.StatusServiceUnavailable
	}
	u.ResponseWriter.WriteHeader(status)
}

// Unwrap lets the inbox reach the connection's deadlines.
func (u *undecided) Unwrap() http.ResponseWriter { return u.ResponseWriter }

func comeAgain(w http.ResponseWriter, after time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(after/time.Second)))
	http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
}

// newInbox makes the webhook receiver: verified events go to the store before they are answered.
func (r *Service) newInbox() *inbox.Inbox {
	return inbox.New(inbox.Options{
		Keys:    func() []inbox.Key { return r.valid(r.Now()) },
		Header:  func() string { return r.Current().Settings.SignatureHeader },
		Store:   r.storeEvent,
		Wake:    r.Arrived,
		Refused: r.noteRefusal,
		Now:     r.Now,
		Log:     r.Log,
	})
}

// storeEvent is the inbox's Store: the event is on disk when it returns without an error.
func (r *Service) storeEvent(_ context.Context, in inbox.Received) (added bool, err error) {
	ev := office.Event{
		ID: in.ID, Action: in.Event.Action, PackageID: in.Event.PackageID, Time: in.Event.Time,
		Body: in.Body, URL: in.URL, Signature: in.Signature, // Received is when it is committed: whoever has read later ones has read it
		Service: in.Service, // which may not be the one in use any more
	}
	if !in.Parsed {
		ev.Outcome, ev.Reason, ev.Handled = office.EventUnprocessable, message.EventUnreadable(), in.At
	}
	err = r.Data.UpdateFirst(func(tx *store.Tx) error {
		var err error
		added, err = tx.AddEvent(ev)
		return err
	})
	if err != nil { // that it came shows where the service reports to, and others may wait behind it
		r.couldNotListen()
		return false, fmt.Errorf("store event %s: %w", ev.ID, err)
	}
	r.Crash("event stored")
	if added {
		r.Office.Stored(ev.ID)
	}
	if added && ev.Outcome != office.EventPending {
		r.Settled(ev.ID)
	}
	r.Signal(office.StatusChanged)
	return added, nil
}

// Take stores an event that another desk of the office has verified, as the service told that one. It is on disk when Take
// returns without an error.
func (r *Service) Take(ctx context.Context, url, service, signature string, body []byte) error {
	return r.inbox.Take(ctx, inbox.Key{URL: url, Service: service}, signature, body)
}

// Refusal is a sample of the requests that were refused.
type Refusal struct {
	Time   time.Time
	Reason message.Message
	Remote string // who asked, as far as it can be told
	More   int    // further ones that were not sampled
}

// maxRefusals is how many samples are kept, in memory alone: refused requests are no way to fill the disk.
const maxRefusals = 200

// Refused returns the samples, newest first.
func (r *Service) Refused() []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.refused)
	slices.Reverse(list)
	return list
}

func (r *Service) noteRefusal(x inbox.Refusal) {
	r.mu.Lock()
	r.refused = append(r.refused, Refusal{x.At, refusalMessage(x.Reason), x.Remote, int(x.Suppressed)})
	if over := len(r.refused) - maxRefusals; over > 0 {
		r.refused = slices.Delete(r.refused, 0, over)
	}
	r.mu.Unlock()
	r.Signal(office.ActivityChanged)
	r.Signal(office.StatusChanged)
}

func refusalMessage(r inbox.Reason) message.Message {
	switch r {
	case inbox.Unsigned:
		return message.RequestUnsigned()
	case inbox.Forged:
		return message.RequestForged()
	case inbox.TooLarge:
		return message.RequestTooLarge()
	case inbox.WrongMethod:
		return message.RequestNoEvent()
	case inbox.NotStored:
		return message.RequestNotStored()
	case inbox.Busy:
		return message.RequestsTooMany()
	default:
		return message.RequestCutShort()
	}
}

// Rejected is how many requests were refused since the start.
func (r *Service) Rejected() (n int) {
	for _, count := range r.inbox.Rejected() {
		n += int(count)
	}
	return n
}
