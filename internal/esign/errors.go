package esign

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"countersign/internal/message"
)

// Kind classifies an Error by what the caller should do about it.
type Kind string

const (
	SignedOut   Kind = "signed out"          // only signing in again helps
	Denied      Kind = "denied"              // the person at the browser said no
	BadClient   Kind = "client refused"      // the client ID or secret is not accepted
	Forbidden   Kind = "forbidden"           // this account may not do that
	NotFound    Kind = "not found"           // or not visible to this account
	Refused     Kind = "refused"             // the service says the request is wrong
	TooMany     Kind = "too many requests"   // wait, RetryAfter if it is set
	Server      Kind = "server error"        // the service itself failed
	Network     Kind = "network error"       // no answer, or an incomplete one
	NotReady    Kind = "not ready"           // ask again later
	BadAnswer   Kind = "unreadable answer"   // an answer that makes no sense
	Unknown     Kind = "outcome unknown"     // it may have happened; only for AddPackage and Rescind
	Invalid     Kind = "invalid"             // detected here, nothing was sent; see told
	NotKept     Kind = "could not be stored" // the Vault failed; it has the reason
	Interrupted Kind = "interrupted"         // the caller's context was cancelled, or the Session closed
)

var (
	// ErrSignedOut matches every error that only a new sign-in can resolve.
	ErrSignedOut = errors.New("signed out")
	// ErrOutcomeUnknown matches errors of AddPackage after which the package may exist, and of Rescind after which it may be
	// withdrawn. After any other error it does not exist, or is not withdrawn.
	ErrOutcomeUnknown = errors.New("the outcome is unknown")
)

// Error describes what went wrong with one call. Its text never holds a token, code, secret or body. Said, the service's own
// words for people, is not part of the text.
type Error struct {
	Op         string        // what was being done, and to which object: "asking for the status of package 5b1e"
	Kind       Kind          // what to do about it
	Status     int           // HTTP status, 0 when there was no answer
	Code       string        // the service's error code, "" if it gave none
	Said       string        // the service's words, one line, at most 300 characters
	RetryAfter time.Duration // 0 if the service gave none

	// MayBeDone means that the request went out and was not clearly refused, so the service may have carried it out. It is
	// meaningless for a call that changes nothing.
	MayBeDone bool

	named bool // Code refers to something in the path of the call, or the path is known to be served

	told message.Message // the message for people; if empty, that of Kind

	err error // the cause; never a *url.Error or an oauth2 error, whose texts contain secrets
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Op, e.Kind)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (%d)", e.Status)
	}
	if e.Code != "" {
		fmt.Fprintf(&b, " %s", e.Code)
	}
	if e.err != nil && e.Kind == NotKept {
		fmt.Fprintf(&b, ": %v", e.err) // the Vault is ours, its text is harmless
	} else if cause := causeText(e.err); cause != "" {
		fmt.Fprintf(&b, ": %s", cause)
	}
	return b.String()
}

// GoString leaves out the service's words.
func (e *Error) GoString() string { return e.Error() }

// Unwrap returns the cause: the context's, the network's or the Vault's error.
func (e *Error) Unwrap() error { return e.err }

// Is supports errors.Is with ErrSignedOut and ErrOutcomeUnknown.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrSignedOut:
		return e.Kind == SignedOut
	case ErrOutcomeUnknown:
		return e.Kind == Unknown
	}
	return false
}

// Temporary reports whether the same call may succeed later with nothing changed. It is false for Unknown, which must not be
// repeated blindly.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case TooMany, Server, Network, NotReady, BadAnswer, NotKept:
		return true
	}
	return false
}

// invalid is the error for a call rejected before anything was sent; told is for people.
func invalid(op string, told message.Message) *Error {
	return &Error{Op: op, Kind: Invalid, told: told}
}

// noAnswer converts a failed round trip into an Error. It drops *url.Error, whose text contains the address with its query.
func noAnswer(op string, err error) *Error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	switch {
	case errors.Is(err, context.Canceled):
		return &Error{Op: op, Kind: Interrupted, err: err}
	case errors.Is(err, errOtherHost), errors.Is(err, errTooLong):
		return &Error{Op: op, Kind: BadAnswer, err: err}
	}
	if causeText(err) == "" {
		err = errMalformed
	}
	return &Error{Op: op, Kind: Network, err: err}
}

// maybe sets MayBeDone and returns e.
func (e *Error) maybe(done bool) *Error {
	marked := *e
	marked.MayBeDone = done
	return &marked
}

// errMalformed replaces causes whose text may contain anything: the error of a malformed answer, for example, quotes it.
var errMalformed = errors.New("no usable answer")

// causeText is the text of a cause if it is known to be harmless, otherwise "".
func causeText(err error) string {
	var (
		dns   *net.DNSError
		errno syscall.Errno
		verif *tls.CertificateVerificationError
		auth  x509.UnknownAuthorityError
		host  x509.HostnameError
		ne    net.Error
		own   *Error
	)
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, io.ErrUnexpectedEOF, io.EOF, errOtherHost,
		errTooLong, errMalformed, errNotServed, errRejectedToken, errStaleToken, errNoKeys, errNoTokens, errReplaced, errClosed, errMismatch, errChanged, net.ErrClosed} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	told, isTold := message.Of(err)
	switch {
	case errors.As(err, &own):
		return own.Error()
	case isTold:
		return told.String()
	case errors.As(err, &dns):
		return "the name of the server was not found"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &verif), errors.As(err, &auth), errors.As(err, &host):
		return "the certificate of the server is not trusted"
	case errors.As(err, &ne) && ne.Timeout():
		return "timed out"
	}
	return ""
}

// statusKind is the Kind of an HTTP status if nothing more is known (service-facts.md, 10; RFC 9110).
func statusKind(status int) Kind {
	switch {
	case status == http.StatusUnauthorized:
		return SignedOut
	case status == http.StatusForbidden:
		return Forbidden
	case status == http.StatusNotFound, status == http.StatusGone:
		return NotFound
	case status == http.StatusTooManyRequests:
		return TooMany
	case status >= 500, status == http.StatusRequestTimeout:
		return Server
	case status >= 400:
		return Refused
	}
	return BadAnswer
}

// cleanCode is an error code made fit for a log line, or "". Codes are words like package_invalid_type.
func cleanCode(s string, secrets ...string) string {
	ok := len(s) <= 80 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.: ", r))
	})
	if !ok || scrub(s, secrets) != s {
		return ""
	}
	return s
}

// cleanMessage reduces a message to one harmless line of at most 300 characters, without any of the request's secrets.
func cleanMessage(s string, secrets ...string) string {
	return message.OneLine(scrub(strings.ToValidUTF8(s, ""), secrets), 300)
}

func scrub(s string, secrets []string) string {
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		s = strings.ReplaceAll(s, secret, "…")
		s = strings.ReplaceAll(s, url.QueryEscape(secret), "…")
	}
	return s
}

// retryAfter reads the header in both its forms, seconds and date (RFC 9110, 10.2.3). A date is by the service's clock, so
// it is compared with the answer's Date if there is one (RFC 9110, 6.6.1): this computer's clock may be wrong.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	var d time.Duration
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		d = time.Duration(min(n, int64(maxRetryAfter/time.Second))) * time.Second
	} else if t, err := http.ParseTime(v); err == nil {
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			now = date
		}
		d = t.Sub(now)
	}
	return max(0, min(d, maxRetryAfter))
}

// Message is the text for people of an error of this package: what happened and, if there is something, what to do about it.
// It is empty for nil. The caller adds whether and when it tries again.
func Message(err error) message.Message {
	if err == nil {
		return message.Message{}
	}
	if m, ok := message.Of(err); ok {
		return m
	}
	switch {
	case errors.Is(err, ErrSignedOut):
		return message.SignInLapsed()
	case errors.Is(err, ErrOutcomeUnknown):
		return message.NotConfirmed()
	case errors.Is(err, context.DeadlineExceeded):
		return message.ServiceSilent()
	}
	return message.Unexpected()
}

func (e *Error) Message() message.Message {
	if !e.told.IsZero() {
		return e.told
	}
	if e.RetryAfter >= time.Hour { // longer than what usually passes by itself
		return message.ServicePauses(int((e.RetryAfter + time.Hour - 1) / time.Hour))
	}
	switch e.Kind {
	case SignedOut:
		return message.SignInLapsed()
	case Denied:
		return message.SignInDenied()
	case BadClient:
		return message.ClientRefused()
	case Forbidden:
		return e.because(message.NotAllowed, message.NotAllowedBecause)
	case NotFound:
		return message.ServiceKnowsNot()
	case Refused:
		if m, known := refusals[e.Code]; known {
			return m
		}
		return e.because(message.ServiceRefused, message.ServiceRefusedBecause)
	case TooMany:
		return message.ServiceBusy()
	case Server:
		return message.ServiceAiling()
	case Network:
		return networkMessage(e.err)
	case NotReady:
		return message.NotReady()
	case BadAnswer:
		switch {
		case errors.Is(e.err, errRejectedToken):
			return message.SignInUnverified()
		case errors.Is(e.err, errStaleToken):
			return message.SignInStale()
		case errors.Is(e.err, errNoKeys):
			return message.SignInNoKeys()
		case errors.Is(e.err, errNoTokens):
			return message.SignInOdd()
		}
		return message.ServiceOdd()
	case Unknown:
		return message.NotConfirmed()
	case Invalid:
		return e.told
	case NotKept:
		return message.SignInNotKept()
	case Interrupted:
		return message.Interrupted()
	}
	return message.Unexpected()
}

// refusals are the messages for error codes that say what to do (service-facts.md, 10).
var refusals = map[string]message.Message{
	"package_duplicate_recipients":        message.CopiesTwice(),
	"package_duplicate_recipients_signer": message.CopiesSign(),
}

// because uses the service's own words if there are any.
func (e *Error) because(without func() message.Message, with func(why string) message.Message) message.Message {
	if why := cmp.Or(e.Said, e.Code); why != "" {
		return with(why)
	}
	return without()
}

func networkMessage(err error) message.Message {
	var (
		dns   *net.DNSError
		verif *tls.CertificateVerificationError
		auth  x509.UnknownAuthorityError
		host  x509.HostnameError
		op    *net.OpError
	)
	if m, ok := message.Of(err); ok {
		return m
	}
	switch {
	case errors.As(err, &dns):
		return message.ServiceNotFound()
	case errors.As(err, &auth) && errors.As(err, &verif) && len(verif.UnverifiedCertificates) > 0:
		return distrusted(verif.UnverifiedCertificates)
	case errors.As(err, &verif), errors.As(err, &auth), errors.As(err, &host):
		return message.ServiceDistrusted()
	case errors.As(err, &op) && op.Op == "dial":
		if at, ok := op.Addr.(*net.TCPAddr); ok && at.IP.IsLoopback() {
			return message.ServiceNotRunning()
		}
		return message.ServiceUnreachable()
	}
	return message.ServiceSilent()
}

// distrusted is the message for a server whose certificates cannot be verified: the network may intercept TLS.
func distrusted(shown []*x509.Certificate) message.Message {
	by := shown[len(shown)-1].Issuer
	signer := cmp.Or(by.CommonName, strings.Join(by.Organization, " "))
	if len(shown[0].DNSNames) == 0 || signer == "" {
		return message.ServiceDistrusted()
	}
	return message.ServiceInspected(signer, shown[0].DNSNames[0])
}

// The types in this file decode whatever the service might write for a value. They never fail, because one odd field must
// not hide the rest of an answer.

// text is a string, the digits of a number, or "" for anything else.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	switch {
	case isPlain(b):
		*t = text(b[1 : len(b)-1])
	case json.Unmarshal(b, &s) == nil:
		*t = text(s)
	case len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9'):
		*t = text(b)
	default:
		*t = ""
	}
	return nil
}

// isPlain reports whether b is a JSON string without escapes: nearly all are, and a list has thousands.
func isPlain(b []byte) bool {
	end := len(b) - 1
	if end < 1 || b[0] != '"' || b[end] != '"' {
		return false
	}
	for _, c := range b[1:end] {
		if c == '"' || c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// state is the name of a state, normalized to lower case without surrounding space.
type state string

func (s *state) UnmarshalJSON(b []byte) error {
	var t text
	t.UnmarshalJSON(b)
	*s = state(strings.ToLower(strings.TrimSpace(string(t))))
	return nil
}

// flag is true for true, "true", 1 and "1".
type flag bool

func (f *flag) UnmarshalJSON(b []byte) error {
	switch strings.ToLower(strings.Trim(string(b), `"`)) {
	case "true", "1":
		*f = true
	default:
		*f = false
	}
	return nil
}

// number is an integer, also written as a string or with a fraction; anything else is 0.
type number int

func (n *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil || f < -1<<31 || f > 1<<31 {
		f = 0
	}
	*n = number(f)
	return nil
}

// list is an array, or a single object instead of an array of one. Elements that are not objects are dropped.
type list[T any] []T

func (l *list[T]) UnmarshalJSON(b []byte) error {
	*l = nil
	for _, r := range elements(b) {
		var v T
		if len(r) > 0 && r[0] == '{' && json.Unmarshal(r, &v) == nil {
			*l = append(*l, v)
		}
	}
	return nil
}

// elements returns the elements of an array, or b itself.
func elements(b []byte) (raw []json.RawMessage) {
	if json.Unmarshal(b, &raw) != nil {
		return []json.RawMessage{b}
	}
	return raw
}

// stamp is a point in time, zero if missing or unreadable.
type stamp struct{ time.Time }

func (t *stamp) UnmarshalJSON(b []byte) error {
	var s text
	s.UnmarshalJSON(b)
	t.Time, _ = parseTime(string(s))
	return nil
}

var timeLayouts = []string{
	"2006-01-02T15:04:05Z07:00",
	"2006-01-02T15:04:05Z0700",
	"2006-01-02T15:04:05Z07",
	"2006-01-02T15:04:05",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02",
}

// parseTime reads ISO 8601 as services write it: any number of fraction digits after a dot or a comma, a space instead of
// the T, with or without an offset. Without one it is UTC (interface.md, "Events").
func parseTime(s string) (time.Time, bool) {
	s = strings.ToUpper(strings.TrimSpace(s))
	if len(s) > 10 && s[10] == ' ' {
		s = s[:10] + "T" + s[11:]
	}
	if i := strings.IndexAny(s, ".,"); i >= 0 && (i+1 == len(s) || s[i+1] < '0' || s[i+1] > '9') {
		s = s[:i] + s[i+1:] // a dot with no digits after it
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil && t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 {
			return t.UTC(), true // a year that JSON can represent
		}
	}
	return time.Time{}, false
}

// rawOrNil is nil for null and absent.
func rawOrNil(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	return raw
}

// unwrap returns the object or array that answer holds under the first matching name, otherwise answer itself.
func unwrap(answer []byte, names ...string) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(answer, &fields) != nil {
		return answer
	}
	for _, name := range names {
		if v := fields[name]; len(v) > 0 && (v[0] == '{' || v[0] == '[') {
			return v
		}
	}
	return answer
}
