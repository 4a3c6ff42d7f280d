// Package webhook keeps a public address open, registers it with the service as the organization's endpoint (interface.md, POST
// /events/endpoints/set), receives what the service sends there, and notices when nothing arrives any more.
//
//	tunnel.go    opens the public address and reopens it; tests one before it is used
//	endpoint.go  registers it: the current registration and former ones, whose events stay valid for a while; notices that
//	             the signing service reports to another computer, or to none
//	service.go   handles the moments in which it is unknown which secret the signing service uses, verifies and stores
//	             events, and keeps samples of refused requests, in memory
//
// It promises that an event answered with 2xx is on disk; that a registration is valid once it is on disk, and the previous one for
// previousLife longer; that registrations at the service happen one at a time.
//
// It must not know how a sign-in works, what an event means, nor how secrets are sealed: it asks for the current client
// (Deps.Current) and for sealed values (Vault) each time.
//
// Locking: a change of the registration (Change, TakeOver) is held while the service is called and the vault commits. While holding
// one, do not begin another, nor wait for the sign-in to change; the account may begin one while it changes the sign-in, and this
// package never changes the sign-in. The mutexes guard memory only briefly: nothing but the clock is called while they are held.
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

// Vault keeps values sealed. While its key is unavailable, its errors are secret.ErrUnavailable.
type Vault interface {
	Locked() bool
	Get(name string) ([]byte, error) // nil if there is none that can be opened
	Has(name string) (bool, error)   // whether or not it can be opened
	// Put commits values, nil to delete one, in the same transaction as also.
	Put(values map[string][]byte, also ...func(*store.Tx) error) error
}

// Current is what is set up and who is signed in, at one moment.
type Current struct {
	Settings    office.Settings
	Client      *esign.Client // nil while nobody is signed in or the keys are locked
	Account     string        // whose endpoint is registered; empty if the service has not said
	MayRegister bool          // the account has the scope organization
}

// Deps are what a Service needs from outside. All are required except OpenPort, and none may wait for it.
type Deps struct {
	Vault       Vault
	Current     func() Current
	Certificate func() (tls.Certificate, error) // for addresses on this computer
	Callback    http.HandlerFunc                // handles the browser returning from a sign-in
	OpenPort    tunnel.OpenPort                 // opens the port behind the office's own proxy; nil for the system's default
	Dial        dial                            // connects to ngrok
	HTTP        *http.Client                    // checks whether the office's own public address leads here

	Office Office // the other desks

	Arrived  func()           // an event has been stored
	ReadList func()           // requests that the service's list be read
	Sweep    func(why string) // requests the status of every open package
	Returned func()           // likewise, possibly in bursts: the address is open again
}

// Office is the office's other desks.
type Office interface {
	Stored(eventID string) // an event has been stored that they need, too
	// ListeningSince is for a desk: since when everything that reaches the hub arrives here; zero if it does not. It must not wait
	// for the Vault.
	ListeningSince() (since time.Time, desk bool)
}

// dial connects, possibly through a proxy.
type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Service is the office's webhook. All methods are safe for concurrent use.
type Service struct {
	loop.Base
	Deps
	inbox *inbox.Inbox

	changing chan struct{}                      // holds one value while a registration is being changed at the service, to serialize changes
	cancel   atomic.Pointer[context.CancelFunc] // cancels the last such change

	restart                  atomic.Bool // reopen the address although its settings are unchanged
	wakeTunnel, wakeEndpoint chan struct{}

	mu       sync.Mutex    // guards what follows
	refused  []Refusal     // samples, oldest first
	believed int64         // how many requests with another signature than ours had come by the last event, see doubted
	listing  loop.Cooldown // until such requests are reason to read the list again
	address  Address
	moved    chan struct{} // closed when address changes
	trouble  trouble
	gap      time.Time // until when events could not be received: the computer slept, or one could not be stored

	current *endpoint     // nil if nothing is registered
	former  []endpoint    // newest first
	pending chan struct{} // non-nil during a registration; closed when it is over
	doubt   bool          // a registration was sent whose outcome is unknown

	missed map[string]time.Time // when a change was found that should have arrived as an event, by package id
	gone   time.Time            // since when events are known to go elsewhere; zero while they arrive here
}

// New makes a Service. It calls nothing of p; Load does.
func New(tools loop.Base, p Deps) *Service {
	r := &Service{Base: tools, Deps: p, wakeTunnel: make(chan struct{}, 1), wakeEndpoint: make(chan struct{}, 1), moved: make(chan struct{}),
		changing: make(chan struct{}, 1), missed: map[string]time.Time{}}
	r.inbox = r.newInbox()
	return r
}

// Load restores the state of earlier runs. Sealed values follow with Open.
func (r *Service) Load() error {
	r.mu.Lock()
	r.address = Address{Kind: string(r.Current().Settings.Tunnel), State: "off"}
	r.mu.Unlock()
	if err := r.recallMissed(); err != nil {
		return fmt.Errorf("read what is known of the endpoint: %w", err)
	}
	return nil
}

// Wake makes both loops check at once whether there is something to do.
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

// couldNotListen records that no event could be received until now: the service may have tried in vain.
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

// Address returns the present public address.
func (r *Service) Address() Address {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.address
}

// WaitOpen waits until the public address is open and returns its URL; open is false if ctx ends first.
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

// docPending is the document that says that a registration was sent to the service. It exists until the answer is stored: after a
// crash in between, it is unknown which secret the service uses.
const docPending = "endpoint-asking"

// Between the service's change and our reading of its answer, genuine events are signed with a secret not known here yet. They wait
// this long for it; if one cannot be verified then, the service is asked to retry rather than told that the event is not authentic.
// The number of waiting requests is limited along with connections (package tunnel).
const (
	pendingWait  = 3 * time.Second
	pendingAgain = 5 * time.Second
)

// begin marks the start of a registration.
func (r *Service) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending == nil {
		r.pending = make(chan struct{})
	}
}

// settle marks its end; doubt says that it may have changed the secret to one we do not know.
func (r *Service) settle(doubt bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doubt = doubt
	if r.pending != nil {
		close(r.pending)
		r.pending = nil
	}
}

// underWay returns a channel that closes when the present registration is over, nil if there is none, and whether the secret may be
// unknown here.
func (r *Service) underWay() (over <-chan struct{}, unsure bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending, r.doubt || r.pending != nil
}

// ask registers url, after recording on disk that it is about to.
func (r *Service) ask(ctx context.Context, client *esign.Client, url string) (esign.Endpoint, error) {
	if err := r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docPending, url) }); err != nil {
		return esign.Endpoint{}, err
	}
	_, unsure := r.underWay()
	r.begin()
	answer, err := client.SetEndpoint(ctx, url)
	if err != nil {
		e, answered := errors.AsType[*esign.Error](err)
		doubt := unsure || answered && e.MayBeDone
		if !doubt { // else a sign-out would have deleted what was never registered
			err = errors.Join(err, r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docPending, nil) }))
		}
		r.settle(doubt)
	}
	return answer, err
}

// unsure reports whether a registration was, or may have been, sent whose answer is not stored, in this run or an earlier one.
func (r *Service) unsure() bool {
	_, asked, err := data.Doc[string](r.Data, docPending)
	return asked || err != nil
}

// ServeEvent passes a request to the inbox. If the keyring is locked, so that nothing can be verified, or the endpoint's secret is
// just changing, so that some events cannot, the service is asked to retry rather than told that its event is not authentic.
func (r *Service) ServeEvent(w http.ResponseWriter, req *http.Request) {
	if r.Vault.Locked() {
		w.Header().Set("Retry-After", "60")
		http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
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

// Unwrap gives the inbox access to the connection's deadlines.
func (u *undecided) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// newInbox makes the webhook receiver, which stores verified events before answering them.
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
		Body: in.Body, URL: in.URL, Signature: in.Signature, // Received is set at commit, so that a reader of later events has seen this one
		Service: in.Service, // possibly no longer the current service
	}
	err = r.Data.UpdateFirst(func(tx *store.Tx) error {
		_, other, err := tx.KnowsEvent(in.ID, in.Body)
		if other { // the service repeats an eventId
			ev.ID = inbox.BodyID(in.Body)
		}
		if err != nil {
			return err
		}
		added, err = tx.AddEvent(ev)
		return err
	})
	if err != nil { // it shows where the service reports to, and more may be lost
		r.couldNotListen()
		return false, fmt.Errorf("store event %s: %w", ev.ID, err)
	}
	r.Crash("event stored")
	if added {
		r.Office.Stored(ev.ID)
	}
	r.Signal(office.StatusChanged)
	return added, nil
}

// Take stores an event that another desk of the office received and verified. It is on disk when Take returns without an error.
func (r *Service) Take(ctx context.Context, url, service, signature string, body []byte) error {
	return r.inbox.Take(ctx, inbox.Key{URL: url, Service: service}, signature, body)
}

// Refusal is a sample of the refused requests.
type Refusal struct {
	Time   time.Time
	Reason message.Message
	Remote string // the client's address, as far as known
	More   int    // number of further requests not sampled
}

// maxRefusals is how many samples are kept, only in memory, so that refused requests cannot fill the disk.
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

// Rejected returns how many requests have been refused for good since the start. Those that the service is to send again, because
// they could not be stored or too many came at once, may be authentic.
func (r *Service) Rejected() (n int) {
	for reason, count := range r.inbox.Rejected() {
		if reason != inbox.NotStored && reason != inbox.Busy {
			n += int(count)
		}
	}
	return n
}
