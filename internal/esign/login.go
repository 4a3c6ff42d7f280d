package esign

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"sync"

	"countersign/internal/message"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Account is who signed in (interface.md, "Claims"); empty where the service did not say.
type Account struct {
	Subject        string // sub
	Email          string
	GivenName      string
	FamilyName     string
	OrganizationID string // s:organization
	MemberID       string // s:member
}

// Grant is what a finished sign-in gave.
type Grant struct {
	Tokens  Tokens
	Account Account
	Scopes  []string // granted, which may be fewer than asked for
}

// Login is one attempt to sign in, from the address a browser is sent to until the redirect comes back. It is safe
// for concurrent use.
type Login struct {
	cfg      Config
	server   authority
	redirect string
	prompt   string
	state    string
	nonce    string
	verifier string

	mu     sync.Mutex
	used   bool
	unused Tokens
}

// Unused are the tokens that a Finish got and refused, because nobody knows whose they are. They are there to be revoked.
func (l *Login) Unused() Tokens {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unused
}

// StartLogin prepares a sign-in (RFC 6749, 4.1 with RFC 7636) that comes back to redirectURI. prompt is "", "login"
// or "consent" (interface.md, "GET /connect/authorize").
func StartLogin(ctx context.Context, cfg Config, redirectURI, prompt string) (*Login, error) {
	if redirectURI == "" {
		return nil, invalid("starting the sign-in", message.NoWayBack())
	}
	server, err := discover(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Login{
		cfg:      cfg,
		server:   server,
		redirect: redirectURI,
		prompt:   prompt,
		state:    oauth2.GenerateVerifier(), // 256 random bits, fit for a query
		nonce:    oauth2.GenerateVerifier(),
		verifier: oauth2.GenerateVerifier(),
	}, nil
}

// AuthorizeURL is the address to open in a browser.
func (l *Login) AuthorizeURL() string {
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(l.verifier), oidc.Nonce(l.nonce)}
	if l.prompt != "" {
		options = append(options, oauth2.SetAuthURLParam("prompt", l.prompt))
	}
	return l.server.oauth(l.cfg, l.redirect).AuthCodeURL(l.state, options...)
}

// State is what the redirect brings back; it tells whose redirect one is.
func (l *Login) State() string { return l.state }

// Finish redeems the query of the redirect. It does its work once: a second call with the right state is Invalid. A
// call with a wrong state changes nothing, so that no stray request can end somebody's sign-in.
func (l *Login) Finish(ctx context.Context, callback url.Values) (Grant, error) {
	const op = "finishing the sign-in"
	if err := l.claim(callback); err != nil {
		return Grant{}, err
	}
	if code := callback.Get("error"); code != "" {
		return Grant{}, l.refusal(code, callback.Get("error_description"))
	}
	code := callback.Get("code")
	if code == "" || len(callback["code"]) != 1 {
		return Grant{}, invalid(op, message.NoCode())
	}

	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	answer, err := l.server.askForTokens(ctx, l.cfg, op, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {l.redirect}, "code_verifier": {l.verifier},
	}, code, l.verifier)
	if e, ok := errors.AsType[*Error](err); ok {
		switch {
		case e.Kind == SignedOut: // here it is the code that is not accepted
			e.Kind, e.told = Invalid, message.TooLate()
		case e.Kind == BadAnswer && e.err == nil: // the code is used up all the same
			e.err = errNoTokens
		}
	}
	if err != nil {
		return Grant{}, err
	}
	g := Grant{Tokens: answer.tokens(l.cfg.now()), Scopes: answer.scopesOr(l.cfg.Scopes)}
	ctx = oidc.ClientContext(ctx, l.server.client(l.cfg))
	g.Account, err = l.identify(ctx, g.Tokens.Access, answer, g.Scopes)
	if err != nil {
		l.mu.Lock()
		l.unused = g.Tokens
		l.mu.Unlock()
		return Grant{}, err
	}
	return g, nil
}

// claim checks that the redirect belongs to this attempt and marks the attempt used.
func (l *Login) claim(callback url.Values) error {
	const op = "finishing the sign-in"
	states := callback["state"]
	if len(states) != 1 || subtle.ConstantTimeCompare([]byte(states[0]), []byte(l.state)) != 1 {
		return &Error{Op: op, Kind: Invalid, err: errMismatch,
			told: message.OtherAttempt()}
	}
	// RFC 9207: the server may say who it is.
	if iss := callback.Get("iss"); iss != "" && !l.server.issued(iss) {
		return &Error{Op: op, Kind: Invalid, err: errMismatch,
			told: message.OtherService()}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used {
		return invalid(op, message.AlreadyFinished())
	}
	l.used = true
	return nil
}

// refusal is what an error in the redirect means (RFC 6749, 4.1.2.1; OpenID Connect Core 3.1.2.6).
func (l *Login) refusal(code, description string) *Error {
	e := &Error{Op: "finishing the sign-in", Kind: Refused, Code: cleanCode(code), Said: cleanMessage(description)}
	switch code {
	case "access_denied", "consent_required", "interaction_required", "login_required", "account_selection_required":
		e.Kind = Denied
	case "unauthorized_client", "invalid_client":
		e.Kind = BadClient
	case "server_error", "temporarily_unavailable":
		e.Kind = Server
	}
	return e
}
