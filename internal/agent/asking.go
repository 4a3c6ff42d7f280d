package agent

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"countersign/internal/esign"
	"countersign/internal/store"
)

// docAsking names the document that says that a registration was sent to the service. It is there until the answer is
// kept: after a crash in between, nobody knows which secret the service signs with.
const docAsking = "endpoint-asking"

// Between the service's change and our reading of its answer, good events are signed with a secret that is not known
// here yet. They wait this long for it, and so many of them; whoever cannot be verified then is asked to come again
// rather than told that it is not authentic.
const (
	askingWait  = 3 * time.Second
	askingCrowd = 64
	askingAgain = 5 * time.Second
)

// begin marks a registration as under way.
func (e *endpoints) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asking == nil {
		e.asking = make(chan struct{})
	}
}

// settle marks it as over; unsure when it may have changed the secret without us knowing the new one.
func (e *endpoints) settle(unsure bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unsure = unsure
	if e.asking != nil {
		close(e.asking)
		e.asking = nil
	}
}

// pending returns a channel that closes when the registration under way is over, nil when none is, and whether the
// secret may be one that is not known here.
func (e *endpoints) pending() (over <-chan struct{}, unsure bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asking, e.unsure || e.asking != nil
}

// askForEndpoint registers url, after noting on disk that it is about to.
func (a *Agent) askForEndpoint(ctx context.Context, client *esign.Client, url string) (esign.Endpoint, error) {
	if err := a.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docAsking, url) }); err != nil {
		return esign.Endpoint{}, err
	}
	_, unsure := a.endpoints.pending()
	a.endpoints.begin()
	answer, err := client.SetEndpoint(ctx, url)
	if err != nil {
		a.endpoints.settle(unsure || mayBeDone(err))
	}
	return answer, err
}

// mayBeDone reports whether the service may have done what it gave no usable answer to.
func mayBeDone(err error) bool {
	var e *esign.Error
	return errors.As(err, &e) && e.MayBeDone
}

// recallAsking remembers a registration of an earlier run whose answer was not kept.
func (a *Agent) recallAsking() {
	if a.endpointUnsure() {
		a.endpoints.settle(true)
	}
}

// endpointUnsure reports whether a registration was sent whose answer is not kept, in this run or an earlier one.
func (a *Agent) endpointUnsure() bool {
	var url string
	var asked bool
	err := a.Data.View(func(tx *store.Tx) (err error) {
		asked, err = tx.GetDoc(docAsking, &url)
		return err
	})
	return err == nil && asked
}

// serveEvent hands a request to the inbox. While nothing can be verified, because the keyring is locked, or not
// everything, because the endpoint's secret is just changing, the service is asked to come again rather than told that
// its event is not authentic.
func (a *Agent) serveEvent(w http.ResponseWriter, r *http.Request) {
	if a.keys.locked() {
		comeAgain(w, time.Minute)
		return
	}
	over, unsure := a.endpoints.pending()
	if over != nil {
		a.waitForSecret(r.Context(), over)
		_, unsure = a.endpoints.pending()
	}
	if unsure {
		w = &undecided{ResponseWriter: w}
	}
	a.inbox.ServeHTTP(w, r)
}

// waitForSecret waits a moment for the registration under way, unless many wait already.
func (a *Agent) waitForSecret(ctx context.Context, over <-chan struct{}) {
	if a.waiting.Add(1) > askingCrowd {
		a.waiting.Add(-1)
		return
	}
	defer a.waiting.Add(-1)
	limit := time.NewTimer(askingWait)
	defer limit.Stop()
	select {
	case <-over:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// undecided answers 503 in place of 401.
type undecided struct{ http.ResponseWriter }

func (u *undecided) WriteHeader(status int) {
	if status == http.StatusUnauthorized {
		u.Header().Set("Retry-After", strconv.Itoa(int(askingAgain/time.Second)))
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
