package esign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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
		return Endpoint{}, invalid(k.op, "There is no address to register yet.")
	}
	if err := k.jsonBody(endpointRequest{URL: url}); err != nil {
		return Endpoint{}, err
	}
	var raw json.RawMessage
	if err := c.json(ctx, k, &raw); err != nil {
		return Endpoint{}, err
	}
	var said struct {
		ID     text    `json:"eventEndpointId"`
		Name   text    `json:"name"`
		URL    *string `json:"url"`
		Secret string  `json:"secret"`
	}
	if err := json.Unmarshal(unwrap(raw, "endpoint"), &said); err != nil || said.Secret == "" {
		return Endpoint{}, k.unreadable()
	}
	e := Endpoint{ID: string(said.ID), Name: string(said.Name), URL: url, Secret: said.Secret}
	if said.URL != nil && *said.URL != "" {
		e.URL = *said.URL
	}
	return e, nil
}

// DeleteEndpoint removes the endpoint. One that is not there any more is no error.
func (c *Client) DeleteEndpoint(ctx context.Context, url string) error {
	k := &call{op: "removing the address for events", route: "endpoints/set", method: http.MethodPost, path: endpointPath}
	if url == "" {
		return invalid(k.op, "There is no address to remove.")
	}
	if err := k.jsonBody(endpointRequest{URL: url, Delete: true}); err != nil {
		return err
	}
	err := c.json(ctx, k, nil)
	var e *Error
	if errors.As(err, &e) && e.Kind == NotFound && !notServed(err) {
		return nil
	}
	return err
}
