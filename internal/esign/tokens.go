package esign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// Tokens are what the token endpoint hands out (interface.md, "Token response"). They print as nothing.
type Tokens struct {
	Access  string
	Refresh string    // "" without the offline_access scope
	Issued  time.Time // when the answer came; zero is taken for now
	Expiry  time.Time // of Access
}

// String tells until when, and no token.
func (t Tokens) String() string {
	return fmt.Sprintf("esign.Tokens{until %s}", t.Expiry.Format(time.RFC3339))
}

// GoString is String.
func (t Tokens) GoString() string { return t.String() }

// LogValue is String.
func (t Tokens) LogValue() slog.Value { return slog.StringValue(t.String()) }

// Vault keeps the refresh token. A Session calls it from one goroutine at a time. Its errors must not quote the token.
type Vault interface {
	// Refresh returns the kept token, "" when there is none. An error means that it is not known whether there is.
	Refresh(ctx context.Context) (string, error)
	// SetRefresh keeps token in place of the one before; "" forgets. When it returns nil, the token is on disk.
	SetRefresh(ctx context.Context, token string) error
}

// tokensFrom translates x/oauth2's answer. Its own Expiry is not used: it comes from another clock.
func tokensFrom(t *oauth2.Token, now time.Time) Tokens {
	lifetime := time.Duration(t.ExpiresIn) * time.Second
	if lifetime <= 0 {
		lifetime = assumedLifetime
	}
	return Tokens{Access: t.AccessToken, Refresh: t.RefreshToken, Issued: now, Expiry: now.Add(lifetime)}
}

// usable is true while the access token may be handed out: until shortly before its end when it can be renewed.
func (t Tokens) usable(now time.Time) bool {
	skew := min(refreshSkew, t.Expiry.Sub(t.Issued)/10)
	return t.Access != "" && now.Before(t.Expiry.Add(-skew))
}

// tokenError turns what x/oauth2 says about a failed token request into an Error. The library's texts hold the whole
// answer; secrets are what the request carried, in case the answer repeats it.
func tokenError(op string, err error, now time.Time, secrets ...string) *Error {
	var re *oauth2.RetrieveError
	if !errors.As(err, &re) {
		e := noAnswer(op, err)
		if e.Kind == Network && !isTransport(err) {
			e.Kind, e.err = BadAnswer, nil // truncated, not JSON, or without an access token
		}
		return e
	}
	e := &Error{
		Op:         op,
		Status:     re.Response.StatusCode,
		Code:       cleanCode(re.ErrorCode, secrets...),
		Message:    cleanMessage(re.ErrorDescription, secrets...),
		RetryAfter: retryAfter(re.Response.Header, now),
	}
	// RFC 6749, 5.2. Some servers send these with status 200.
	switch re.ErrorCode {
	case "invalid_grant":
		e.Kind = SignedOut
	case "invalid_client", "unauthorized_client":
		e.Kind = BadClient
	case "temporarily_unavailable", "server_error":
		e.Kind = Server
	case "":
		e.Kind = statusKind(e.Status)
	default:
		e.Kind = Refused
	}
	switch {
	case e.Status >= 500:
		e.Kind = Server
	case e.Status == http.StatusTooManyRequests:
		e.Kind = TooMany
	case e.Status == http.StatusUnauthorized && e.Kind == SignedOut && re.ErrorCode == "":
		e.Kind = BadClient // RFC 6749, 5.2: 401 is about the client, not about the grant
	}
	return e
}

// isTransport is true for an error of the round trip itself, as opposed to one of x/oauth2 about the answer.
func isTransport(err error) bool {
	var ue interface{ Timeout() bool } // *url.Error, net.Error, context errors
	return errors.As(err, &ue)
}

// scopesFrom is what was granted; RFC 6749, 5.1 lets the service leave it out when that is what was asked for.
func scopesFrom(t *oauth2.Token, asked []string) []string {
	switch v := t.Extra("scope").(type) {
	case string:
		if f := strings.Fields(v); len(f) > 0 {
			return f
		}
	case []any: // not the standard's form, but seen in the wild
		var scopes []string
		for _, s := range v {
			if s, ok := s.(string); ok {
				scopes = append(scopes, s)
			}
		}
		return scopes
	}
	return append([]string(nil), asked...)
}
