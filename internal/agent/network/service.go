// Package network knows the network that the office is in: whether it asks for a sign-in in the browser before it lets
// anybody out (a captive portal), and, when somebody asks, how each step of the way to the service and to ngrok goes.
//
// It promises that a page which the network shows instead of the service is named as such, and that this ends by itself when
// the network is free. It sends no token anywhere. It must not know what is sent and kept.
package network

import (
	"context"
	"net/http"
	"sync"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/proxy"
)

// Deps are what a Service needs from outside. All of them are required, and none may wait for it.
type Deps struct {
	Finder   *proxy.Finder
	HTTP     *http.Client // over Finder
	Settings func() office.Settings
	Free     func() // the network lets everybody out again
}

// Service watches the network. All methods are safe for concurrent use.
type Service struct {
	loop.Base
	Deps
	wake chan struct{}

	mu   sync.Mutex
	page string // where the network wants people to sign in
}

// New makes a Service.
func New(tools loop.Base, n Deps) *Service {
	return &Service{Base: tools, Deps: n, wake: make(chan struct{}, 1)}
}

const (
	lookTime = 20 * time.Second // for one look at the network

	// Between two, while the network asks for nothing and the service does not answer all the same: doubled with each.
	restTime, longestRest = 30 * time.Second, 5 * time.Minute

	// Between two, while it does: a tenth of the time for which it did, for a page that nobody minds stays for a weekend.
	shortestWait, longestWait = 3 * time.Second, 2 * time.Minute
)

// Failed is told of each call that the service has not answered. It returns at once.
func (r *Service) Failed(err error) {
	if Suspicious(err) {
		r.Look()
	}
}

// Look has the network looked at soon. It returns at once.
func (r *Service) Look() { loop.Wake(r.wake) }

// Run looks at the network whenever the service does not answer, and follows a sign-in page until the network is free.
func (r *Service) Run(ctx context.Context) error {
	var looked time.Time
	for rest := restTime; ; rest = min(2*rest, longestRest) {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		}
		if asked := r.follow(ctx); asked || r.Now().Sub(looked).Abs() > 2*longestRest {
			rest = restTime
		}
		looked = r.Now()
		if !loop.Sleep(ctx, rest) {
			return nil
		}
	}
}

// follow looks until the network asks for nothing, and reports whether it did ask for something.
func (r *Service) follow(ctx context.Context) (asked bool) {
	var waited time.Duration
	for {
		page, asks := r.Asks(ctx, r.Settings())
		if ctx.Err() != nil {
			return asked
		}
		if !asks {
			if r.Health.Clear(health.NetworkAsks) {
				r.Log.Info("the network asks for no sign-in any more")
				r.Free()
			}
			return asked
		}
		r.mu.Lock()
		r.page = page
		r.mu.Unlock()
		if !r.Health.Has(health.NetworkAsks) {
			r.Log.Warn("the network asks for a sign-in in the browser")
		}
		r.Health.Set(health.NetworkAsks, message.NetworkWantsBrowser())
		wait := min(max(waited/10, shortestWait), longestWait)
		asked = true
		if !loop.Sleep(ctx, wait) { // what fails meanwhile tells nothing new
			return asked
		}
		waited += wait
	}
}

// Page is the address at which the network wants people to sign in.
func (r *Service) Page() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.page
}
