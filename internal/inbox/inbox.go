// Package inbox receives the service's notifications: an http.Handler for the path that is registered as the endpoint.
//
// What it promises: a request counts only if its signature over the registered address and the raw body verifies, before
// anything is parsed; a 200 means that the event is stored, or already was; an unauthentic sender learns nothing, and costs
// no disk and a bounded amount of memory; an authentic body is never rejected because of its content.
//
// What it must not know: what an event means, where it is stored, how the request got here, and any other package of
// this program except the plain types and functions of esign.
package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"countersign/internal/esign"

	"golang.org/x/time/rate"
)

const (
	maxBody    = 1 << 20 // bytes; a larger body is answered 413
	retryAfter = "30"    // seconds, with every 503
	maxEventID = 200     // bytes; a longer eventId is ignored
	maxHanded  = 8 << 10 // bytes of everything that another desk hands on besides the body
)

// Key is an address and a secret with which a signature may have been made. It prints without the secret.
type Key struct {
	URL     string // exactly as the service answered it
	Secret  string
	Service string // the service whose key it is, for Received
}

// Format leaves out the secret with every verb.
func (k Key) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "inbox.Key{%s}", k.URL) }

// Received is one authentic notification.
type Received struct {
	ID        string      // eventId, or BodyID if there is no usable one
	Event     esign.Event // zero if it cannot be read
	Body      []byte      // raw; the receiver may keep it
	URL       string      // the registered address it was verified against
	Signature string      // as received
	Service   string      // the Service of the Key that verified it
	At        time.Time
}

// Options configure an Inbox. Keys, Header and Store are required; all functions must be safe for concurrent use.
type Options struct {
	// Keys returns the currently valid keys: the current pair and, for ten minutes after a change, the one before. It is
	// called for every request and must not block. Without keys nothing is authentic.
	Keys func() []Key
	// Header names the header that carries the signature.
	Header func() string
	// Store stores the notification and reports whether it was new, by Received.ID. When it returns nil, the notification is
	// on disk. ctx is not cancelled when the sender disconnects.
	Store func(ctx context.Context, r Received) (added bool, err error)
	// Wake is called after something new was stored; it must not block. May be nil.
	Wake func()
	// Refused is called for a sample of the refused requests, a few per minute at most. May be nil.
	Refused func(Refusal)

	Now func() time.Time // nil means time.Now
	Log *slog.Logger     // nil logs nothing
}

// Inbox is the handler. Mount it at the path of the registered address; it does not check the path itself, because a proxy
// in front may have changed it and the signature covers the whole address anyway.
type Inbox struct {
	opt    Options
	bodies *bodies
	counts *counter
}

// New returns an Inbox. It has no goroutines and nothing to close.
func New(opt Options) *Inbox {
	if opt.Wake == nil {
		opt.Wake = func() {}
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Inbox{opt: opt, bodies: newBodies(), counts: newCounter(opt.Refused, opt.Log)}
}

// ServeHTTP takes one notification. The order matters: it refuses whatever it can before reading the body.
func (in *Inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	received, reason := in.receive(r)
	if reason != "" {
		in.refuse(w, r, reason)
		return
	}
	added, err := in.opt.Store(context.WithoutCancel(r.Context()), received)
	if err != nil {
		in.opt.Log.Error("An event could not be stored; the service has to send it again", "event", received.ID, "error", err)
		in.refuse(w, r, NotStored)
		return
	}
	w.WriteHeader(http.StatusOK)
	if added {
		in.opt.Wake()
	}
}

// Take stores a notification that another desk of the office received and verified with key; signature is the one it
// received. When Take returns nil, the notification is on disk, unless it is one that no inbox could have accepted.
func (in *Inbox) Take(ctx context.Context, key Key, signature string, body []byte) error {
	if len(body) == 0 || len(body) > maxBody || len(key.URL)+len(key.Service)+len(signature) > maxHanded {
		in.opt.Log.Warn("Another desk passed on something that is not an event", "bytes", len(body))
		return nil
	}
	received := in.open(key, body)
	received.Signature = signature
	added, err := in.opt.Store(ctx, received)
	if added {
		in.opt.Wake()
	}
	return err
}

// receive reads and verifies a request. When it returns, the body's buffer is free again: it returns a copy, made only for
// authentic bodies.
func (in *Inbox) receive(r *http.Request) (Received, Reason) {
	signature, reason := in.admit(r)
	if reason != "" {
		return Received{}, reason
	}
	body, release, reason := in.bodies.read(r)
	defer release()
	if reason != "" {
		return Received{}, reason
	}
	key, ok := authentic(in.opt.Keys(), signature, body)
	if !ok {
		return Received{}, Forged
	}
	got := in.open(key, body)
	got.Signature = signature
	return got, ""
}

// Rejected counts the requests since the start that were not answered 200, by reason.
func (in *Inbox) Rejected() map[Reason]int64 {
	in.counts.mu.Lock()
	defer in.counts.mu.Unlock()
	return maps.Clone(in.counts.rejected)
}

// admit checks everything but the body.
func (in *Inbox) admit(r *http.Request) (signature string, reason Reason) {
	if r.Method != http.MethodPost {
		return "", WrongMethod
	}
	if r.ContentLength > maxBody {
		return "", TooLarge
	}
	for _, e := range r.Header["Content-Encoding"] {
		if !strings.EqualFold(e, "identity") {
			return "", Encoded // the signature covers the bytes before compression, and strangers must not cause the work of unpacking
		}
	}
	values := r.Header.Values(in.opt.Header())
	switch {
	case len(values) == 0 || r.ContentLength == 0:
		return "", Unsigned
	case len(values) > 1:
		return "", Forged
	}
	if _, ok := esign.DecodeSignature(values[0]); !ok {
		return "", Forged
	}
	return values[0], ""
}

// authentic tries every key, even after a match, so that the time does not reveal which one matched.
func authentic(keys []Key, signature string, body []byte) (key Key, ok bool) {
	for _, k := range keys {
		if esign.Verify(k.URL, k.Secret, signature, body) {
			key, ok = k, true
		}
	}
	return key, ok
}

// open parses an authentic body. An unreadable one is kept anyway: refusing it would only make the service send it again.
func (in *Inbox) open(key Key, body []byte) Received {
	r := Received{Body: append([]byte(nil), body...), URL: key.URL, Service: key.Service, At: in.opt.Now()}
	r.Event, _ = esign.ParseEvent(r.Body)
	r.ID = r.Event.EventID
	unset := strings.Trim(r.ID, "0-") == "" // a UUID of zeros names none
	if unset || len(r.ID) > maxEventID || strings.ContainsFunc(r.ID, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		r.ID = BodyID(body)
	}
	return r
}

// BodyID identifies a notification whose eventId is not usable, or another one's.
func BodyID(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// refuse answers without giving the reason, and counts it.
func (in *Inbox) refuse(w http.ResponseWriter, r *http.Request, reason Reason) {
	in.counts.refuse(reason, r.RemoteAddr, in.opt.Now())
	status := reason.status()
	switch status {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", retryAfter)
	case http.StatusRequestEntityTooLarge, http.StatusRequestTimeout:
		w.Header().Set("Connection", "close") // reading the rest of the body would be a waste
	}
	w.WriteHeader(status)
}

const (
	smallBody   = 32 << 10 // bytes; every real event is far smaller
	largeBodies = 4        // at most so many bodies may exceed smallBody at the same time
)

// bodies bounds the memory for requests that are not authenticated yet: 32 KiB each, and up to 1 MiB for four of them.
// Package tunnel limits their number and disconnects slow senders.
type bodies struct {
	large chan struct{}
	small *sync.Pool // *[]byte of smallBody+1
}

func newBodies() *bodies {
	return &bodies{
		large: make(chan struct{}, largeBodies),
		small: &sync.Pool{New: func() any { b := make([]byte, smallBody+1); return &b }},
	}
}

// read returns the whole body, or a reason why not. The body is valid until release, which must always be called.
func (b *bodies) read(r *http.Request) (body []byte, release func(), reason Reason) {
	buffer := b.small.Get().(*[]byte)
	hasLarge := false
	release = func() {
		if hasLarge {
			<-b.large
		}
		b.small.Put(buffer)
	}

	n, err := io.ReadFull(r.Body, *buffer)
	switch {
	case err == io.EOF:
		return nil, release, Unsigned // an empty body cannot be signed
	case err == io.ErrUnexpectedEOF && (r.ContentLength < 0 || int64(n) == r.ContentLength):
		return (*buffer)[:n], release, ""
	case err != nil:
		return nil, release, broken(err)
	}

	select {
	case b.large <- struct{}{}:
		hasLarge = true
	default:
		return nil, release, Busy
	}
	return b.rest(r, *buffer, release)
}

// rest reads what follows the small buffer.
func (b *bodies) rest(r *http.Request, start []byte, release func()) ([]byte, func(), Reason) {
	body := make([]byte, maxBody+1)
	copy(body, start)
	n, err := io.ReadFull(r.Body, body[len(start):])
	n += len(start)
	switch {
	case err == nil:
		return nil, release, TooLarge
	case (err == io.EOF || err == io.ErrUnexpectedEOF) && (r.ContentLength < 0 || int64(n) == r.ContentLength):
		return body[:n], release, ""
	}
	return nil, release, broken(err)
}

// broken is the Reason for a body that did not arrive completely.
func broken(err error) Reason {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return Slow
	}
	return Cut
}

// Reason says why a request was refused; for the log and for people, never for the sender.
type Reason string

const (
	WrongMethod Reason = "method"     // 405
	TooLarge    Reason = "too large"  // 413
	Encoded     Reason = "encoded"    // 415: compressed, which no notification is
	Unsigned    Reason = "unsigned"   // 401: no signature, or no body
	Forged      Reason = "forged"     // 401: a signature that is not ours
	Slow        Reason = "slow"       // 408
	Cut         Reason = "cut short"  // 400: the body ended early
	Busy        Reason = "busy"       // 503: too many at once
	NotStored   Reason = "not stored" // 503: authentic, but Store failed
)

func (r Reason) status() int {
	switch r {
	case WrongMethod:
		return http.StatusMethodNotAllowed
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case Encoded:
		return http.StatusUnsupportedMediaType
	case Slow:
		return http.StatusRequestTimeout
	case Cut:
		return http.StatusBadRequest
	case Busy, NotStored:
		return http.StatusServiceUnavailable
	}
	return http.StatusUnauthorized
}

// Refusal is a sample of the refused requests.
type Refusal struct {
	Reason     Reason
	Remote     string // as net/http saw it; behind a tunnel that is the tunnel
	At         time.Time
	Suppressed int64 // unreported refusals since the last sample
}

// counter counts refusals and samples them: the first three, then one every twenty seconds, so that a flood of requests does
// not become a flood of log lines and disk writes.
type counter struct {
	sampled func(Refusal)
	log     *slog.Logger

	mu         sync.Mutex
	rejected   map[Reason]int64
	suppressed int64
	samples    *rate.Limiter
}

func newCounter(sampled func(Refusal), log *slog.Logger) *counter {
	return &counter{
		sampled:  sampled,
		log:      log,
		rejected: map[Reason]int64{},
		samples:  rate.NewLimiter(rate.Every(20*time.Second), 3),
	}
}

func (c *counter) refuse(reason Reason, remote string, at time.Time) {
	c.mu.Lock()
	c.rejected[reason]++
	if !c.samples.AllowN(at, 1) {
		c.suppressed++
		c.mu.Unlock()
		return
	}
	sample := Refusal{Reason: reason, Remote: remote, At: at, Suppressed: c.suppressed}
	c.suppressed = 0
	c.mu.Unlock()

	c.log.Warn("A request was refused", "reason", reason, "remote", remote, "unreported", sample.Suppressed)
	if c.sampled != nil {
		c.sampled(sample)
	}
}
