package esign

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/internal/message"
)

// The kinds of events: interface.md names some, service-facts.md, 11.3 adds the rest. Others exist and must be accepted.
const (
	PackageExecuted  = "package_executed"
	DocumentExecuted = "document_executed"
	DocumentSigned   = "document_signed"
	PackageAdd       = "package_add"
	PackageSent      = "package_sent"
	PackageRescinded = "package_rescinded" // assumed, see assumed.go
)

// Event is one notification (interface.md, "Payload fields"). Null and absent fields are zero.
type Event struct {
	Action         string
	PackageID      string
	DocumentID     string
	SignerID       string
	NextSignerID   string
	EventID        string
	OrganizationID string          // eventOwnerOrganizationId
	MemberID       string          // eventOwnerMemberId
	ExternalData   json.RawMessage // as sent, nil when null; a copy
	ExternalID     string          // a string as it is, any other JSON as its text
	Time           time.Time       // eventTime in UTC, zero when absent or unreadable
}

// ParseEvent reads the body of a notification whose signature was already verified. It is lenient about the fields'
// contents. Its errors describe the format and never quote the body.
func ParseEvent(raw []byte) (Event, error) {
	raw = trimBOM(raw)                    // RFC 8259, 8.1 allows a parser to ignore it
	var fields map[string]json.RawMessage // exact names: in a struct, encoding/json would accept PackageID for packageId
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil || !utf8.Valid(raw) {
		return Event{}, errors.New("the event cannot be read: it is no JSON object")
	}
	var e Event
	for name, to := range map[string]*string{
		"action":                   &e.Action,
		"packageId":                &e.PackageID,
		"documentId":               &e.DocumentID,
		"signerId":                 &e.SignerID,
		"nextSignerId":             &e.NextSignerID,
		"eventId":                  &e.EventID,
		"eventOwnerOrganizationId": &e.OrganizationID,
		"eventOwnerMemberId":       &e.MemberID,
	} {
		v := fields[name]
		decides := to == &e.Action || to == &e.PackageID || to == &e.EventID
		if decides && len(v) > 0 && (v[0] == '{' || v[0] == '[' || v[0] == 't' || v[0] == 'f') {
			return Event{}, fmt.Errorf("the event cannot be read: %s is no string", name)
		}
		var t text
		if v != nil {
			t.UnmarshalJSON(v)
		}
		*to = string(t)
	}
	e.Action = strings.ToLower(strings.TrimSpace(e.Action))
	if nobody := strings.Trim(e.NextSignerID, "0-") == ""; nobody || e.NextSignerID == e.SignerID {
		e.NextSignerID = ""
	}
	e.ExternalData = bytes.Clone(rawOrNil(fields["externalData"]))
	e.ExternalID = externalID(fields["externalId"])
	var at stamp
	at.UnmarshalJSON(fields["eventTime"])
	e.Time = at.Time
	return e, nil
}

// externalID is the value of a string, or the JSON text of any other value.
func externalID(raw json.RawMessage) string {
	raw = rawOrNil(raw)
	var s string
	if raw == nil || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var b bytes.Buffer
	json.Compact(&b, raw)
	return b.String()
}

// SignatureLength is the length of every well-formed signature: the base64 of 32 bytes.
const SignatureLength = 44

// Verify reports whether header is the signature of a notification sent to url (interface.md, "Webhook authentication"): the
// base64 of the HMAC-SHA256 over url and the raw body, keyed with secret as UTF-8 bytes. url is used exactly as registered.
// With an empty argument nothing is authentic. The comparison takes constant time.
func Verify(url, secret, header string, body []byte) bool {
	if url == "" || secret == "" || len(body) == 0 {
		return false
	}
	claimed, ok := DecodeSignature(header)
	if !ok {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(url))
	mac.Write(body)
	var sum [sha256.Size]byte
	return hmac.Equal(mac.Sum(sum[:0]), claimed[:])
}

// DecodeSignature decodes the header's value: standard base64 with padding (RFC 4648, 4) and nothing around it. It cheaply
// rejects, before a body is read, what cannot be a signature.
func DecodeSignature(header string) (sum [sha256.Size]byte, ok bool) {
	if len(header) != SignatureLength { // the decoder would ignore line breaks
		return sum, false
	}
	var buf [33]byte // the most that 44 characters can hold
	n, err := base64.StdEncoding.Strict().Decode(buf[:], []byte(header))
	if err != nil || n != len(sum) {
		return sum, false
	}
	copy(sum[:], buf[:])
	return sum, true
}

// Endpoint is a registered webhook endpoint (interface.md, "Webhook endpoint record"). URL and Secret are exactly what the
// service answered, because signatures are computed from them.
type Endpoint struct {
	ID     string // eventEndpointId
	URL    string
	Secret string
}

// Format leaves out the secret with every verb.
func (e Endpoint) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "esign.Endpoint{%s %s}", e.ID, e.URL) }

type endpointRequest struct {
	URL    string `json:"url"`
	Delete bool   `json:"delete,omitempty"`
}

const setRoute = "endpoints/set"

// SetEndpoint registers url as the endpoint of this OAuth client, replacing any earlier one (interface.md, "POST
// /events/endpoints/set"). An answer without a secret is an error: without it no event could be verified.
func (c *Client) SetEndpoint(ctx context.Context, url string) (Endpoint, error) {
	k := &call{op: "registering the address for events"}
	body, err := c.endpoint(ctx, k, endpointRequest{URL: url}, message.NothingToRegister())
	if err != nil {
		return Endpoint{}, err
	}
	e := readEndpoint(body)
	if e.Secret == "" {
		return Endpoint{}, k.unreadable()
	}
	e.URL = cmp.Or(e.URL, url)
	return e, nil
}

// endpoint makes a call to set or delete the endpoint; nothing is the message for a request without an address.
func (c *Client) endpoint(ctx context.Context, k *call, r endpointRequest, nothing message.Message) ([]byte, error) {
	k.route, k.method, k.path = setRoute, http.MethodPost, "/events/endpoints/set"
	if r.URL == "" {
		return nil, invalid(k.op, nothing)
	}
	if err := k.jsonBody(r); err != nil {
		return nil, err
	}
	return c.whole(ctx, k)
}

func readEndpoint(answer []byte) Endpoint {
	var said struct {
		ID     text `json:"eventEndpointId"`
		URL    text `json:"url"`
		Secret text `json:"secret"`
	}
	if json.Unmarshal(unwrap(answer, "endpoint"), &said) != nil {
		return Endpoint{}
	}
	return Endpoint{ID: string(said.ID), URL: string(said.URL), Secret: string(said.Secret)}
}

// DeleteEndpoint removes the endpoint of this OAuth client, whoever registered it, and returns what the service says it
// removed, if anything. An endpoint that no longer exists is no error.
func (c *Client) DeleteEndpoint(ctx context.Context, url string) (Endpoint, error) {
	k := &call{op: "removing the address for events"}
	body, err := c.endpoint(ctx, k, endpointRequest{URL: url, Delete: true}, message.NothingToRemove())
	if e, ok := errors.AsType[*Error](err); ok && e.Kind == NotFound && !NotServed(err) {
		return Endpoint{}, nil
	}
	if err != nil {
		return Endpoint{}, err
	}
	return readEndpoint(body), nil
}
