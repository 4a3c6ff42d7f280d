package webhook

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/esign"
	"countersign/internal/store"
)

// docPending names the document that says that a registration was sent to the service. It is there until the answer is
// kept: after a crash in between, nobody knows which secret the service signs with.
const docPending = "endpoint-asking"

// Between the service's change and our reading of its answer, good events are signed with a secret that is not known
// here yet. They wait this long for it, and so many of them; whoever cannot be verified then is asked to come again
// rather than told that it is not authentic.
const (
	pendingWait  = 3 * time.Second
	pendingCrowd = 64
	pendingAgain = 5 * time.Second
)

// begin marks a registration as under way.
func (e *endpoints) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pending == nil {
		e.pending = make(chan struct{})
	}
}

// settle marks it as over; unsure when it may have changed the secret without us knowing the new one.
func (e *endpoints) settle(unsure bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unsure = unsure
	if e.pending != nil {
		close(e.pending)
		e.pending = nil
	}
}

// underWay returns a channel that closes when the registration under way is over, nil when none is, and whether the
// secret may be one that is not known here.
func (e *endpoints) underWay() (over <-chan struct{}, unsure bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pending, e.unsure || e.pending != nil
}

// ask registers url, after noting on disk that it is about to.
func (r *Service) ask(ctx context.Context, client *esign.Client, url string) (esign.Endpoint, error) {
	if err := r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docPending, url) }); err != nil {
		return esign.Endpoint{}, err
	}
	_, unsure := r.endpoints.underWay()
	r.endpoints.begin()
	answer, err := client.SetEndpoint(ctx, url)
	if err != nil {
		r.endpoints.settle(unsure || mayBeDone(err))
	}
	return answer, err
}

// mayBeDone reports whether the service may have done what it gave no usable answer to.
func mayBeDone(err error) bool {
	var e *esign.Error
	return errors.As(err, &e) && e.MayBeDone
}

// recallPending remembers a registration of an earlier run whose answer was not kept.
func (r *Service) recallPending() {
	if r.unsure() {
		r.endpoints.settle(true)
	}
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
	over, unsure := r.endpoints.underWay()
	if over != nil {
		r.waitForSecret(req.Context(), over)
		_, unsure = r.endpoints.underWay()
	}
	if unsure {
		w = &undecided{ResponseWriter: w}
	}
	r.inbox.ServeHTTP(w, req)
}

// waitForSecret waits a moment for the registration under way, unless many wait already.
func (r *Service) waitForSecret(ctx context.Context, over <-chan struct{}) {
	if r.waiting.Add(1) > pendingCrowd {
		r.waiting.Add(-1)
		return
	}
	defer r.waiting.Add(-1)
	limit := time.NewTimer(pendingWait)
	defer limit.Stop()
	select {
	case <-over:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// undecided answers 503 in place of 401.
type undecided struct{ http.ResponseWriter }

// WriteHeader is http.ResponseWriter's.
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
