// Package webhook keeps a public address open, registers it with the service as the organization's endpoint
// (interface.md, POST /events/endpoints/set), takes in what the service sends there, and notices when nothing comes any
// more.
//
//	tunnel.go    opens the public address, and opens it again
//	endpoint.go  registers it: the current registration and those before it, whose events still count for a while
//	pending.go   covers the moments in which nobody knows which secret the service signs with
//	inbox.go     verifies and stores events
//	missed.go    notices that the service reports to another computer, or to none
//	refusals.go, rejects.go  what was refused: samples in memory, and a number
//	trial.go     tries an address before it is used
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
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/inbox"
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

	Answered  func(ctx context.Context, err error) error // told how each call of the service ended; returns err
	SignedOut func(err error) bool                       // whether err means that nobody is signed in any more

	Arrived  func()           // an event is stored
	Settled  func(id string)  // it is, and nothing can be done with it
	Sweep    func(why string) // every open package is to be asked about
	Returned func()           // likewise, but it may come in bursts: the address is open again
	Crash    func(point string)
}

// dial connects, through whatever proxy is on the way.
type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Service is the office's webhook. All methods are safe for concurrent use.
type Service struct {
	loop.Base
	Deps
	inbox *inbox.Inbox

	endpoints endpoints
	missed    missed
	refusals  refusals
	rejects   rejects
	waiting   atomic.Int64 // events that wait for a registration under way

	restart                  atomic.Bool // the address is to be opened anew though its settings are the same
	wakeTunnel, wakeEndpoint chan struct{}

	mu      sync.Mutex // guards what follows
	address Address
	moved   chan struct{} // closed when address changes
	trouble trouble
	gap     time.Time // until when events could not be taken: the computer was seen to have slept, or one could not be stored
}

// New makes a Service. It calls nothing of p; Load does.
func New(tools loop.Base, p Deps) *Service {
	r := &Service{Base: tools, Deps: p, wakeTunnel: make(chan struct{}, 1), wakeEndpoint: make(chan struct{}, 1), moved: make(chan struct{})}
	r.endpoints.changing = make(chan struct{}, 1)
	r.inbox = r.newInbox()
	return r
}

// Load reads what earlier runs left. What is sealed follows with Open.
func (r *Service) Load() error {
	r.mu.Lock()
	r.address = Address{Kind: string(r.Current().Settings.Tunnel), State: "off"}
	r.mu.Unlock()
	if err := r.loadRejects(); err != nil {
		return err
	}
	if err := r.recallMissed(); err != nil {
		return fmt.Errorf("read what is known of the endpoint: %w", err)
	}
	return nil
}

// Close writes what is only in memory. The loops have ended.
func (r *Service) Close() { r.flushRejects() }

// Wake has both loops look at once whether there is something to do.
func (r *Service) Wake() {
	loop.Wake(r.wakeTunnel)
	loop.Wake(r.wakeEndpoint)
}

// WokeUp is called when the wall clock has jumped by that much.
func (r *Service) WokeUp(by time.Duration) {
	r.couldNotListen()
	r.missed.expectNothing() // the service may have tried in vain meanwhile
	if by < 0 {
		r.missed.notLaterThan(r.Now())
	}
}

// couldNotListen notes that no event could be taken until now.
func (r *Service) couldNotListen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gap = r.Now()
}

// Address is the public address. State is one of "off", "connecting", "up", "down".
type Address struct {
	Kind  string    `json:"kind"`
	State string    `json:"state"`
	URL   string    `json:"url"`
	Since time.Time `json:"since"`
}

// MarshalJSON writes null for a moment that is not known: every field is always there.
func (a Address) MarshalJSON() ([]byte, error) {
	type plain Address // without this method
	x := struct {
		plain
		Since *time.Time `json:"since"`
	}{plain: plain(a)}
	if !a.Since.IsZero() {
		x.Since = &a.Since
	}
	return json.Marshal(x)
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
