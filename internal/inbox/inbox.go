// Package inbox receives the service's notifications: an http.Handler for the one path that is registered as the
// endpoint.
//
// What it promises: a request counts only if its signature verifies over the registered address and the raw body,
// checked before anything is parsed; a 200 means that the event is stored, or was already; whoever is not authentic
// learns nothing, costs no disk and bounded memory; an authentic body is never refused for what it says.
//
// What it must not know: what an event means, where it is stored, how the request got here, and any other package of
// this program except the plain types and functions of esign.
package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"countersign/internal/esign"
)

const (
	maxBody     = 1 << 20          // bytes; a larger body is refused with 413
	bodyTimeout = 15 * time.Second // for the whole body to arrive
	retryAfter  = "30"             // seconds, with every 503
	maxEventID  = 200              // bytes; a longer eventId is no id
)

// Key is one address and secret a signature may be made with. It prints without the secret.
type Key struct {
	URL     string // exactly as the service answered it
	Secret  string
	Service string // whose key it is, for Received
}

// String leaves the secret out.
func (k Key) String() string { return "inbox.Key{" + k.URL + "}" }

// GoString is String.
func (k Key) GoString() string { return k.String() }

// LogValue is String.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// Received is one authentic notification.
type Received struct {
	ID      string      // eventId, or "sha256:" and the hex of the body's hash when there is none to use
	Event   esign.Event // zero unless Parsed
	Parsed  bool
	Problem string // why it could not be parsed, "" when Parsed
	Body    []byte // raw; the receiver may keep it
	URL     string // the registered address it was verified against
	Service string // that of the Key it was verified with
	At      time.Time
}

// Options are what an Inbox needs. Keys and Store are required; all functions must be safe for concurrent use.
type Options struct {
	// Keys returns what signatures may be made with right now: the current pair and, for ten minutes after a change,
	// the one before. It is asked for every request and must not block. With none, nothing is authentic.
	Keys func() []Key
	// Header names the header that carries the signature; nil means esign.DefaultSignatureHeader.
	Header func() string
	// Store keeps the notification and reports whether it was new, by Received.ID. When it returns nil, the
	// notification is on disk. ctx is not cancelled when the sender goes away.
	Store func(ctx context.Context, r Received) (added bool, err error)
	// Wake is called after something new was stored; it must not block. May be nil.
	Wake func()
	// Refused is told about refused requests, a few per minute at most. May be nil.
	Refused func(Refusal)

	Now func() time.Time // nil means time.Now
	Log *slog.Logger     // nil means none
}

// Inbox is the handler. Mount it at the path of the registered address; it does not look at the path itself, because
// a proxy in front may have changed it and the signature covers the whole address anyway.
type Inbox struct {
	opt    Options
	bodies *bodies
	counts *counter
}

// New returns an Inbox. It has no goroutines and nothing to close.
func New(opt Options) *Inbox {
	if opt.Header == nil {
		opt.Header = func() string { return esign.DefaultSignatureHeader }
	}
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

// ServeHTTP takes one notification. The order matters: what can be refused without reading the body is.
func (in *Inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Not every connection has deadlines (a test's recorder has not); those that come over a network do. It holds for
	// what net/http reads after a refusal, too, and net/http clears it before the next request.
	connection := http.NewResponseController(w)
	connection.SetReadDeadline(time.Now().Add(bodyTimeout))

	received, reason := in.receive(r)
	if reason != "" {
		in.refuse(w, r, reason)
		return
	}
	// From here on net/http watches the connection for the sender going away, and a deadline would look like that.
	connection.SetReadDeadline(time.Time{})
	added, err := in.opt.Store(context.WithoutCancel(r.Context()), received)
	if err != nil {
		in.opt.Log.Error("An event could not be stored; the service has to send it again", "event", received.ID, "error", err)
		in.refuse(w, r, NotStored)
		return
	}
	in.counts.accept(added)
	w.WriteHeader(http.StatusOK)
	if added {
		in.opt.Wake()
	}
}

// receive reads and verifies. The room the body took is free again when it returns: what it returns is a copy, made
// only for those who belong here.
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
	return in.open(key, body), ""
}

// Counts returns what happened since the start.
func (in *Inbox) Counts() Counts { return in.counts.snapshot() }

// admit judges everything but the body.
func (in *Inbox) admit(r *http.Request) (signature string, reason Reason) {
	if r.Method != http.MethodPost {
		return "", WrongMethod
	}
	if r.ContentLength > maxBody {
		return "", TooLarge
	}
	for _, e := range r.Header["Content-Encoding"] {
		if !strings.EqualFold(e, "identity") {
			return "", Encoded // the signature is over the bytes before, and unpacking is work for strangers
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

// authentic tries every key, also after one has matched, so that the time does not tell which.
func authentic(keys []Key, signature string, body []byte) (key Key, ok bool) {
	for _, k := range keys {
		if esign.Verify(k.URL, k.Secret, signature, body) {
			key, ok = k, true
		}
	}
	return key, ok
}

// open reads an authentic body. One that cannot be read is kept all the same: refusing it would only make the service
// send it again.
func (in *Inbox) open(key Key, body []byte) Received {
	r := Received{Body: append([]byte(nil), body...), URL: key.URL, Service: key.Service, At: in.opt.Now()}
	event, err := esign.ParseEvent(r.Body)
	if err != nil {
		r.Problem = err.Error()
	} else {
		r.Event, r.Parsed = event, true
	}
	r.ID = event.EventID
	if r.ID == "" || len(r.ID) > maxEventID || strings.ContainsFunc(r.ID, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		sum := sha256.Sum256(body)
		r.ID = "sha256:" + hex.EncodeToString(sum[:])
	}
	return r
}

// refuse answers without a word why, and counts.
func (in *Inbox) refuse(w http.ResponseWriter, r *http.Request, reason Reason) {
	in.counts.refuse(reason, r.RemoteAddr, in.opt.Now())
	status := reason.status()
	switch status {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", retryAfter)
	case http.StatusRequestEntityTooLarge, http.StatusRequestTimeout:
		w.Header().Set("Connection", "close") // the rest of the body is not worth reading
	}
	w.WriteHeader(status)
}
