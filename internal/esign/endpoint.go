package esign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"countersign/internal/message"
)

// Endpoint is a registered webhook endpoint (interface.md, "Webhook endpoint record"). URL and Secret are exactly
// what the service answered, because they are what signatures are made of.
type Endpoint struct {
	ID     string // eventEndpointId
	Name   string
	URL    string
	Secret string
}

// String leaves the secret out.
func (e Endpoint) String() string { return fmt.Sprintf("esign.Endpoint{%s %s}", e.ID, e.URL) }

// GoString is String.
func (e Endpoint) GoString() string { return e.String() }

// LogValue is String.
func (e Endpoint) LogValue() slog.Value { return slog.StringValue(e.String()) }

type endpointRequest struct {
	URL    string `json:"url"`
	Delete bool   `json:"delete,omitempty"`
}

const endpointPath = "/events/endpoints/set"

// SetEndpoint registers url as the endpoint of this OAuth client, replacing the one before (interface.md, "POST
// /events/endpoints/set"). An answer without a secret is an error: nothing could be verified with it.
func (c *Client) SetEndpoint(ctx context.Context, url string) (Endpoint, error) {
	k := &call{op: "registering the address for events", route: "endpoints/set", method: http.MethodPost, path: endpointPath}
	if url == "" {
		return Endpoint{}, invalid(k.op, message.NothingToRegister())
	}
	if err := k.jsonBody(endpointRequest{URL: url}); err != nil {
		return Endpoint{}, err
	}
	var raw json.RawMessage
	if err := c.json(ctx, k, &raw); err != nil {
		return Endpoint{}, err
	}
	e := readEndpoint(raw)
	if e.Secret == "" {
		return Endpoint{}, k.unreadable()
	}
	e.URL = cmp.Or(e.URL, url)
	return e, nil
}

// readEndpoint is the endpoint of an answer; what it does not say is "".
func readEndpoint(answer []byte) Endpoint {
	var said struct {
		ID     text `json:"eventEndpointId"`
		Name   text `json:"name"`
		URL    text `json:"url"`
		Secret text `json:"secret"`
	}
	if json.Unmarshal(unwrap(answer, "endpoint"), &said) != nil {
		return Endpoint{}
	}
	return Endpoint{ID: string(said.ID), Name: string(said.Name), URL: string(said.URL), Secret: string(said.Secret)}
}

// DeleteEndpoint removes the endpoint of this OAuth client, whosever registration it is, and returns what the service
// says it removed, as far as it does. One that is not there any more is no error.
func (c *Client) DeleteEndpoint(ctx context.Context, url string) (Endpoint, error) {
	k := &call{op: "removing the address for events", route: "endpoints/set", method: http.MethodPost, path: endpointPath}
	if url == "" {
		return Endpoint{}, invalid(k.op, message.NothingToRemove())
	}
	if err := k.jsonBody(endpointRequest{URL: url, Delete: true}); err != nil {
		return Endpoint{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	body, err := c.answer(ctx, k)
	if e, ok := errors.AsType[*Error](err); ok && e.Kind == NotFound && !NotServed(err) {
		return Endpoint{}, nil
	}
	if err != nil {
		return Endpoint{}, err
	}
	return readEndpoint(body), nil
}
