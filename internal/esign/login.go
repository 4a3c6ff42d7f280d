package esign

import (
	"cmp"
	"context"
	"crypto"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"

	"countersign/internal/message"
)

// Account is who signed in (interface.md, "Claims"); fields are empty if the service did not send them.
type Account struct {
	Subject        string // sub
	Email          string
	OrganizationID string // s:organization
	MemberID       string // s:member
}

// Grant is the result of a finished sign-in.
type Grant struct {
	Tokens  Tokens
	Account Account
	Scopes  []string // granted, perhaps fewer than requested
}

// Login is one sign-in attempt, from the address the browser is sent to until the redirect returns. It is safe for
// concurrent use.
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

// Unused are tokens that Finish received but rejected because it could not verify whose they are. They must be revoked.
func (l *Login) Unused() Tokens {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unused
}

// StartLogin prepares a sign-in (RFC 6749, 4.1 with RFC 7636) that returns to redirectURI. prompt is "", "login" or
// "consent" (interface.md, "GET /connect/authorize").
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
		state:    oauth2.GenerateVerifier(), // 256 random bits, allowed in a query
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

// State is what the redirect brings back; it tells which attempt a redirect belongs to.
func (l *Login) State() string { return l.state }

// Finish redeems the query of the redirect. It works once: a second call with the right state is Invalid. A call with a
// wrong state changes nothing, so that a stray request cannot end somebody's sign-in.
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
	answer, err := l.exchange(ctx, op, code)
	if e, ok := errors.AsType[*Error](err); ok {
		switch {
		case e.Kind == SignedOut: // here this means that the code was rejected
			e.Kind, e.told = Invalid, message.TooLate()
		case e.Kind == BadAnswer && e.err == nil: // the code is used up anyway
			e.err = errNoTokens
		}
	}
	if err != nil {
		return Grant{}, err
	}
	g := Grant{Tokens: answer.tokens(l.cfg.now()), Scopes: answer.scopesOr(l.cfg.Scopes)}
	g.Account, err = l.identify(ctx, g.Tokens.Access, answer, g.Scopes)
	if err != nil {
		l.mu.Lock()
		l.unused = g.Tokens
		l.mu.Unlock()
		return Grant{}, err
	}
	return g, nil
}

// exchange redeems the code. It tries again only where the answer proves that the code was not used: one that is used twice
// may cost the tokens that the first use brought (RFC 6749, 4.1.2).
func (l *Login) exchange(ctx context.Context, op, code string) (answer tokenAnswer, err error) {
	attempts(ctx, func(attempt int) (again bool) {
		answer, err = l.server.askForTokens(ctx, l.cfg, op, url.Values{
			"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {l.redirect}, "code_verifier": {l.verifier},
		}, code, l.verifier)
		e, failed := errors.AsType[*Error](err)
		return failed && attempt < refreshAttempts && e.RetryAfter <= codePatience && (e.Kind == TooMany || e.Status == http.StatusServiceUnavailable || neverSent(e)) &&
			sleep(ctx, e.RetryAfter)
	})
	return answer, err
}

// claim checks that the redirect belongs to this attempt and marks the attempt used.
func (l *Login) claim(callback url.Values) error {
	const op = "finishing the sign-in"
	states := callback["state"]
	if len(states) != 1 || subtle.ConstantTimeCompare([]byte(states[0]), []byte(l.state)) != 1 {
		return &Error{Op: op, Kind: Invalid, err: errMismatch,
			told: message.OtherAttempt()}
	}
	// RFC 9207: the server may identify itself.
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

// refusal interprets an error in the redirect (RFC 6749, 4.1.2.1; OpenID Connect Core 3.1.2.6).
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
	if (code == "access_denied" || code == "invalid_scope") && slices.Contains(l.cfg.Scopes, "organization") { // interface.md, "Scopes"
		e.told = message.Then(e.Message(), message.ScopeNeedsAdministrator())
	}
	return e
}

// ParseCallback reads the address that the browser ended on, as a person pastes it: with spaces, line breaks, quotes or
// angle brackets around it, without the scheme, or only from the question mark on. The error never quotes it.
func ParseCallback(pasted string) (url.Values, error) {
	const op = "reading the pasted address"
	s := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, pasted)
	s = strings.Trim(s, "\"'`<>()[]“”„‘’‚«»‹›")
	s = strings.ReplaceAll(s, "&amp;", "&") // copied from a page's source
	s, _, _ = strings.Cut(s, "#")
	if _, query, ok := strings.Cut(s, "?"); ok {
		s = query
	}
	values, err := url.ParseQuery(strings.TrimPrefix(s, "&"))
	switch {
	case err != nil, !values.Has("code") && !values.Has("error"):
		return nil, invalid(op, message.WrongAddress())
	case !values.Has("state"):
		return nil, invalid(op, message.IncompleteAddress())
	}
	return values, nil
}

var (
	errMismatch      = errors.New("the state or issuer does not match")
	errRejectedToken = errors.New("the id_token was not accepted")
	errStaleToken    = errors.New("the id_token has expired")
	errNoKeys        = errors.New("the keys for the id_token could not be fetched")
)

var (
	// asymmetric are the algorithms that a published key can verify.
	asymmetric = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.PS256, oidc.EdDSA}

	// unpublished are those that none can.
	unpublished = []jose.SignatureAlgorithm{jose.HS256, jose.HS384, jose.HS512, "none"}
)

// vouchedByTLS returns the algorithm of an id_token without a signature that a published key could verify, if it came over TLS:
// the certificate of the token endpoint then says who issued it (OpenID Connect Core 3.1.3.7, 6).
func (l *Login) vouchedByTLS(raw string) (alg string, ok bool) {
	token, err := jose.ParseSignedCompact(raw, unpublished)
	if err != nil || !strings.HasPrefix(l.server.TokenURL, "https://") {
		return "", false
	}
	return token.Signatures[0].Header.Algorithm, true
}

// claims are those of an id_token and of userinfo (interface.md, "Claims").
type claims struct {
	Subject         text   `json:"sub"`
	Email           text   `json:"email"`
	Organization    text   `json:"s:organization"`
	Member          text   `json:"s:member"`
	AuthorizedParty string `json:"azp"`
}

func (c claims) account() Account {
	return Account{string(c.Subject), string(c.Email), string(c.Organization), string(c.Member)}
}

// identify determines who signed in: from the id_token, which must verify if there is one, and from userinfo for what the
// id_token lacks. A userinfo call that fails again and again does not fail the sign-in: the service may offer none.
func (l *Login) identify(ctx context.Context, access string, answer tokenAnswer, scopes []string) (Account, error) {
	var a Account
	if idToken := string(answer.ID); idToken != "" {
		c, err := l.verifyIDToken(ctx, idToken, answer.sent)
		if err != nil {
			return Account{}, err
		}
		a = c.account()
	}
	whole := a.Email != "" && a.OrganizationID != "" && a.MemberID != ""
	if whole || access == "" || !hasScope(scopes, "profile") {
		return a, nil
	}
	more, err := l.userInfo(ctx, access)
	if err != nil {
		l.cfg.log().Warn("The account's profile could not be read; the sign-in goes on without it")
		return a, nil
	}
	// OpenID Connect Core 5.3.2: claims with a different subject must not be used.
	if a.Subject != "" && more.Subject != a.Subject {
		l.cfg.log().Warn("The account's profile is about somebody else and was not used")
		return a, nil
	}
	return Account{
		Subject: more.Subject, Email: cmp.Or(a.Email, more.Email),
		OrganizationID: cmp.Or(a.OrganizationID, more.OrganizationID), MemberID: cmp.Or(a.MemberID, more.MemberID),
	}, nil
}

// verifyIDToken checks signature (see vouchedByTLS), issuer, audience, expiry and nonce (OpenID Connect Core 3.1.3.7). If it
// fails, the tokens that came with the id_token must not be used; the error says what was wrong. The token counts as expired
// only if it is so both by this computer's clock, which may be wrong, and by sent, the service's time when it issued the
// token. For the same reason nbf is ignored; the nonce shows that the token is new.
func (l *Login) verifyIDToken(ctx context.Context, raw string, sent time.Time) (claims, error) {
	rejected := &Error{Op: "verifying who signed in", Kind: BadAnswer, err: errRejectedToken}
	keys := &patientKeys{fetch: func(ctx context.Context) ([]crypto.PublicKey, error) {
		return publishedKeys(ctx, l.cfg, l.server.JWKSURL)
	}}
	config := &oidc.Config{
		ClientID:             l.cfg.ClientID,
		SupportedSigningAlgs: asymmetric,
		SkipIssuerCheck:      true, // checked below: the issuer may be spelled in two ways
		SkipExpiryCheck:      true, // checked below, by two clocks
	}
	if alg, ok := l.vouchedByTLS(raw); ok {
		config.SupportedSigningAlgs, config.InsecureSkipSignatureCheck = []string{alg}, true
	}
	verifier := oidc.NewVerifier("", keys, config)
	token, err := verifier.Verify(ctx, raw)
	if err != nil {
		if ctx.Err() != nil {
			return claims{}, noAnswer(rejected.Op, ctx.Err())
		}
		if keys.missing { // the library's text may quote claims
			rejected.err = errNoKeys
		}
		return claims{}, rejected
	}
	expired := func(now time.Time) bool { return token.Expiry.Before(now.Add(-idTokenLeeway)) }
	if expired(l.cfg.now()) && (sent.IsZero() || expired(sent)) {
		rejected.err = errStaleToken
		return claims{}, rejected
	}
	var c claims
	if err := token.Claims(&c); err != nil {
		return claims{}, rejected
	}
	otherParty := len(token.Audience) > 1 && c.AuthorizedParty != "" && c.AuthorizedParty != l.cfg.ClientID
	if !l.server.issued(token.Issuer) || token.Nonce != l.nonce || token.Subject == "" || otherParty {
		return claims{}, rejected
	}
	return c, nil
}

// patientKeys retries keys that cannot be fetched: the code is already used up, and failing would waste the whole sign-in.
type patientKeys struct {
	fetch   func(ctx context.Context) ([]crypto.PublicKey, error)
	missing bool // the last attempt could not fetch the keys
}

// VerifySignature is oidc.KeySet.VerifySignature.
func (k *patientKeys) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	var keys oidc.StaticKeySet
	var err error
	attempts(ctx, func(int) (again bool) {
		keys.PublicKeys, err = k.fetch(ctx)
		k.missing = err != nil
		return k.missing
	})
	if err != nil {
		return nil, err
	}
	return keys.VerifySignature(ctx, jwt)
}

// userInfo retries, for the same reason as patientKeys, unless the server has no such call.
func (l *Login) userInfo(ctx context.Context, access string) (Account, error) {
	client := l.cfg.oauthClient()
	seen := &lastStatus{RoundTripper: client.Transport} // the library's error has it in its text alone
	client.Transport = seen
	ctx = oidc.ClientContext(ctx, client)
	var info *oidc.UserInfo
	var err error
	attempts(ctx, func(int) (again bool) {
		info, err = l.server.NewProvider(ctx).UserInfo(ctx, oauth2.StaticTokenSource(&oauth2.Token{AccessToken: access}))
		return err != nil && !slices.Contains(noSuchCall, seen.status)
	})
	if err != nil {
		return Account{}, err
	}
	var c claims
	if err := info.Claims(&c); err != nil {
		return Account{}, err
	}
	return c.account(), nil
}

// lastStatus remembers the status of the last answer.
type lastStatus struct {
	http.RoundTripper
	status int
}

func (s *lastStatus) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := s.RoundTripper.RoundTrip(req)
	if s.status = 0; err == nil {
		s.status = res.StatusCode
	}
	return res, err
}
