package sandbox

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	bolt "go.etcd.io/bbolt"
)

var knownScopes = []string{"profile", "openid", "offline_access", "organization", "member"}

// authorizeRequest is a validated authorization request.
type authorizeRequest struct {
	Client    Client
	Redirect  string
	Scopes    []string
	State     string
	HasState  bool
	Nonce     string
	Hint      string // login_hint of OpenID Connect: the email to suggest
	Challenge string
}

var challengeShape = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// authorize is GET and POST /connect/authorize: the page on which a person chooses a user and consents, and its form. Until
// it is verified that client and redirect belong together, errors are shown here and not sent to the redirect (RFC 6749
// section 4.1.2.1).
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	c, ok := s.client(q.Get("client_id"))
	if !ok || len(q["client_id"]) > 1 {
		s.showProblem(w, http.StatusBadRequest, "This application is not registered here.",
			"The sign-in was started by a program with an unknown client ID.")
		return
	}
	redirect := q.Get("redirect_uri")
	if len(q["redirect_uri"]) != 1 || !c.allowsRedirect(redirect) {
		s.showProblem(w, http.StatusBadRequest, "The return address is not registered for "+c.Name+".",
			"It must be one of the registered addresses, letter for letter, and HTTPS.")
		return
	}
	req := authorizeRequest{
		Client: c, Redirect: redirect, State: q.Get("state"), HasState: q.Has("state"),
		Nonce: q.Get("nonce"), Hint: q.Get("login_hint"),
		Scopes: uniqueFields(q.Get("scope")), Challenge: q.Get("code_challenge"),
	}
	if e := req.check(q); e != nil {
		req.fail(w, r, e)
		return
	}
	u, chosen := s.user(r.PostFormValue("email"))
	switch {
	case s.opt.AutoConsent:
		s.finish(w, r, &req, s.autoUser(req.Hint))
	case r.PostFormValue("decision") == "deny":
		req.fail(w, r, badRequest("access_denied", "The person did not allow it."))
	case chosen:
		s.finish(w, r, &req, u)
	default:
		s.show(w, http.StatusOK, "login.html", map[string]any{
			"Title": "Sign in", "Client": c.Name, "Scopes": scopeWords(req.Scopes), "Target": redirect, "Users": s.opt.Users, "Hint": req.Hint,
		})
	}
}

// autoUser is the user who signs in without a page: the hinted one, or else the first administrator.
func (s *Server) autoUser(hint string) User {
	if u, ok := s.user(hint); ok {
		return u
	}
	if u, ok := first(s.opt.Users, func(u User) bool { return u.Admin }); ok {
		return u
	}
	return s.opt.Users[0]
}

func uniqueFields(text string) []string {
	var out []string
	for f := range strings.FieldsSeq(text) {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

func (a *authorizeRequest) check(q url.Values) *apiError {
	for name, values := range q {
		if len(values) > 1 {
			return badRequest("invalid_request", "The parameter %q is given more than once.", name)
		}
	}
	if q.Get("response_type") == "" {
		return badRequest("invalid_request", "The response_type is missing.")
	}
	if q.Get("response_type") != "code" {
		return badRequest("unsupported_response_type", "Only the response type code is supported.")
	}
	if len(a.Scopes) == 0 {
		a.Scopes = []string{"profile"} // RFC 6749 section 3.3 lets the server choose
	}
	for _, scope := range a.Scopes {
		if !slices.Contains(knownScopes, scope) {
			return badRequest("invalid_scope", "The scope %q is unknown.", scope)
		}
	}
	for p := range strings.FieldsSeq(q.Get("prompt")) { // this page always asks for both
		if p != "login" && p != "consent" {
			return badRequest("invalid_request", "The prompt must be login or consent.")
		}
	}
	return a.checkPKCE(q.Get("code_challenge_method"))
}

// checkPKCE accepts only S256: plain protects nothing (RFC 7636 section 7.2).
func (a *authorizeRequest) checkPKCE(method string) *apiError {
	switch {
	case a.Challenge == "" && method != "":
		return badRequest("invalid_request", "There is a code_challenge_method without a code_challenge.")
	case a.Challenge == "" && a.Client.Secret == "":
		return badRequest("invalid_request", "A client without a secret must use PKCE.")
	case a.Challenge == "":
		return nil
	case method != "S256":
		return badRequest("invalid_request", "The code_challenge_method must be S256.")
	case !challengeShape.MatchString(a.Challenge):
		return badRequest("invalid_request", "The code_challenge is not the base64url form of a SHA-256 hash.")
	}
	return nil
}

// back redirects the browser to the application with these parameters and the unchanged state.
func (a *authorizeRequest) back(w http.ResponseWriter, r *http.Request, params url.Values) {
	if a.HasState {
		params.Set("state", a.State)
	}
	target := a.Redirect
	switch {
	case strings.HasSuffix(target, "?") || strings.HasSuffix(target, "&"):
	case strings.Contains(target, "?"):
		target += "&"
	default:
		target += "?"
	}
	noStore(w)
	w.Header().Set("Location", target+params.Encode())
	if r.Method == http.MethodGet {
		w.WriteHeader(http.StatusFound)
		return
	}
	w.WriteHeader(http.StatusSeeOther) // the request may be a POST, which must become a GET
}

func (a *authorizeRequest) fail(w http.ResponseWriter, r *http.Request, e *apiError) {
	a.back(w, r, url.Values{"error": {e.Code}, "error_description": {e.Message}})
}

// granted are the scopes that this user can grant: organization requires an Organization Administrator (interface.md,
// scopes).
func (a *authorizeRequest) granted(u User) []string {
	return slices.DeleteFunc(slices.Clone(a.Scopes), func(scope string) bool {
		return scope == "organization" && !u.Admin
	})
}

// finish sends the application its code.
func (s *Server) finish(w http.ResponseWriter, r *http.Request, a *authorizeRequest, u User) {
	code, now := newToken(), s.opt.Now()
	err := s.db.Update(func(tx *bolt.Tx) error {
		return put(tx, bucketCodes, hashed(code), authCode{
			ClientID: a.Client.ID, Redirect: a.Redirect, Challenge: a.Challenge, Nonce: a.Nonce,
			Email: u.Email, Scopes: a.granted(u), AuthTime: now, Expires: now.Add(codeLifetime),
		})
	})
	if err != nil {
		s.opt.Log.Error("making an authorization code failed", "error", err)
		a.fail(w, r, badRequest("server_error", "Something unexpected happened in the service."))
		return
	}
	a.back(w, r, url.Values{"code": {code}})
}

// errClient is the one answer to every failed client authentication.
var errClient = &apiError{http.StatusUnauthorized, "invalid_client", "The client is unknown or its secret is wrong."}

// writeOAuthError answers in the format of RFC 6749 section 5.2.
func writeOAuthError(w http.ResponseWriter, e *apiError) {
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="sandbox"`)
	}
	noStore(w)
	writeJSON(w, e.Status, map[string]string{"error": e.Code, "error_description": e.Message})
}

func noStore(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Pragma", "no-cache")
}

// readForm reads a request of the token or revocation endpoint: only a form body, without repeated parameters (RFC 6749
// section 3.2). Parameters in the query are ignored.
func readForm(w http.ResponseWriter, r *http.Request) *apiError {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		return badRequest("invalid_request", "The body must be application/x-www-form-urlencoded.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		return badRequest("invalid_request", "The body is not a form.")
	}
	for name, values := range r.PostForm {
		if len(values) > 1 {
			return badRequest("invalid_request", "The parameter %q is given more than once.", name)
		}
	}
	return nil
}

// authenticateClient authenticates the client of a form request by the Authorization header, or else by the body.
func (s *Server) authenticateClient(r *http.Request) (Client, *apiError) {
	header := r.Header.Get("Authorization")
	id, secret := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	if header == "" {
		return s.checkClient(id, secret)
	}
	if secret != "" {
		return Client{}, badRequest("invalid_request", "The client authenticates in the header and in the body; only one is allowed.")
	}
	scheme, encoded, _ := strings.Cut(header, " ")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	basicID, basicSecret, ok := strings.Cut(string(raw), ":")
	if !strings.EqualFold(scheme, "Basic") || err != nil || !ok {
		return Client{}, errClient
	}
	// interface.md encodes id and secret as they are, RFC 6749 section 2.3.1 form-encodes them first: both are accepted.
	c, failed := s.checkClient(basicID, basicSecret)
	if failed != nil {
		plainID, err1 := url.QueryUnescape(basicID)
		plainSecret, err2 := url.QueryUnescape(basicSecret)
		if err1 != nil || err2 != nil {
			return Client{}, errClient
		}
		c, failed = s.checkClient(plainID, plainSecret)
	}
	if failed == nil && id != "" && id != c.ID {
		return Client{}, badRequest("invalid_request", "The client in the header is not the client in the body.")
	}
	return c, failed
}

func (s *Server) checkClient(id, secret string) (Client, *apiError) {
	c, ok := s.client(id)
	if !ok || subtle.ConstantTimeCompare([]byte(hashed(secret)), []byte(hashed(c.Secret))) != 1 {
		return Client{}, errClient
	}
	return c, nil
}

// redirectProblem says what is wrong with a redirect address, "" for nothing. Allowed are HTTPS, and plain HTTP to a
// loopback IP address (RFC 8252 section 7.3).
func redirectProblem(redirect string) string {
	u, err := url.Parse(redirect)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return "is not a complete web address"
	case u.Fragment != "" || strings.Contains(redirect, "#"):
		return "has a fragment"
	case u.Scheme == "https", isLoopbackRedirect(u):
		return ""
	}
	return "is not HTTPS"
}

func isLoopbackRedirect(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && ip != nil && ip.IsLoopback() && u.User == nil
}

// allowsRedirect compares exactly, except for the port of a loopback address.
func (c Client) allowsRedirect(redirect string) bool {
	if redirectProblem(redirect) != "" {
		return false
	}
	if slices.Contains(c.Redirects, redirect) {
		return true
	}
	got, err := url.Parse(redirect)
	if err != nil || !isLoopbackRedirect(got) {
		return false
	}
	return slices.ContainsFunc(c.Redirects, func(registered string) bool {
		want, err := url.Parse(registered)
		return err == nil && isLoopbackRedirect(want) && got.Hostname() == want.Hostname() &&
			got.EscapedPath() == want.EscapedPath() && got.RawQuery == want.RawQuery
	})
}

const (
	codeLifetime    = time.Minute
	refreshLifetime = 180 * 24 * time.Hour // "several months" (interface.md, token rules 4)
	refreshGrace    = 60 * time.Second     // interface.md, limits
)

// authCode is a stored authorization code with the parameters of its request.
type authCode struct {
	ClientID  string    `json:"client_id"`
	Redirect  string    `json:"redirect"`
	Challenge string    `json:"challenge,omitempty"`
	Nonce     string    `json:"nonce,omitempty"`
	Email     string    `json:"email"`
	Scopes    []string  `json:"scopes"`
	AuthTime  time.Time `json:"auth_time"`
	Expires   time.Time `json:"expires"`
	Used      bool      `json:"used,omitempty"`
	GrantID   string    `json:"grant_id,omitempty"` // the grant it was exchanged for
}

// grant is the family of tokens from one sign-in. Revoking it ends them all.
type grant struct {
	GrantID  string    `json:"grant_id"`
	ClientID string    `json:"client_id"`
	Email    string    `json:"email"`
	Scopes   []string  `json:"scopes"`
	AuthTime time.Time `json:"auth_time"`
	Revoked  bool      `json:"revoked,omitempty"`
}

type accessToken struct {
	GrantID string    `json:"grant_id"`
	Expires time.Time `json:"expires"`
}

type refreshToken struct {
	GrantID  string     `json:"grant_id"`
	Expires  time.Time  `json:"expires"`
	Redeemed *time.Time `json:"redeemed,omitempty"` // the first redemption
}

// tokens is the token response (interface.md).
type tokens struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token,omitempty"`
	IDToken      string `json:"id_token,omitempty"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	Scope        string `json:"scope"`
}

// redeemCode exchanges a code once. A second attempt revokes the tokens from the first (RFC 6749 section 4.1.2). A wrong
// verifier uses up the code, so that it cannot be guessed.
func (s *Server) redeemCode(c Client, code, redirect, verifier string) (answer tokens, failed error) {
	now := s.opt.Now()
	err := s.db.Update(func(tx *bolt.Tx) error {
		a, err := get[authCode](tx, bucketCodes, hashed(code))
		if errors.Is(err, errNotFound) {
			failed = badRequest("invalid_grant", "The code is unknown.")
			return nil
		}
		if err != nil {
			return err
		}
		if a.ClientID != c.ID {
			failed = badRequest("invalid_grant", "The code was given to another client.")
			return nil
		}
		if a.Used {
			failed = badRequest("invalid_grant", "The code was used before.")
			return revokeGrant(tx, a.GrantID)
		}
		a.Used = true
		if failed = a.check(redirect, verifier, now); failed == nil {
			g := grant{GrantID: newID(), ClientID: c.ID, Email: a.Email, Scopes: a.Scopes, AuthTime: a.AuthTime}
			a.GrantID = g.GrantID
			if err := put(tx, bucketGrants, g.GrantID, g); err != nil {
				return err
			}
			if answer, err = s.issue(tx, g, a.Nonce, now); err != nil {
				return err
			}
		}
		return put(tx, bucketCodes, hashed(code), a)
	})
	return answer, errors.Join(err, failed)
}

// check compares the exchange with the request. interface.md lists no redirect_uri for the exchange, RFC 6749 section 4.1.3
// requires it: it may be missing, but must not differ.
func (a authCode) check(redirect, verifier string, now time.Time) error {
	switch {
	case now.After(a.Expires):
		return badRequest("invalid_grant", "The code has expired.")
	case redirect != "" && redirect != a.Redirect:
		return badRequest("invalid_grant", "The redirect_uri is not the one of the authorization request.")
	case a.Challenge == "" && verifier != "":
		return badRequest("invalid_grant", "There is a code_verifier, but the authorization request had no code_challenge.")
	case a.Challenge != "" && !verifies(verifier, a.Challenge):
		return badRequest("invalid_grant", "The code_verifier does not fit the code_challenge.")
	}
	return nil
}

// refresh redeems a refresh token. For 60 seconds after its first redemption it works again and yields another new pair;
// after that, its use means that it was copied, and ends the whole family.
func (s *Server) refresh(c Client, token string) (answer tokens, failed error) {
	now := s.opt.Now()
	err := s.db.Update(func(tx *bolt.Tx) error {
		t, err := get[refreshToken](tx, bucketRefresh, hashed(token))
		if errors.Is(err, errNotFound) {
			failed = badRequest("invalid_grant", "The refresh token is unknown.")
			return nil
		}
		if err != nil {
			return err
		}
		g, err := get[grant](tx, bucketGrants, t.GrantID)
		if err != nil {
			return fmt.Errorf("reading the grant of a refresh token: %w", err)
		}
		switch {
		case g.ClientID != c.ID:
			failed = badRequest("invalid_grant", "The refresh token was given to another client.")
		case g.Revoked:
			failed = badRequest("invalid_grant", "The refresh token was revoked.")
		case now.After(t.Expires):
			failed = badRequest("invalid_grant", "The refresh token has expired.")
		case t.Redeemed != nil && now.Sub(*t.Redeemed) > refreshGrace:
			failed = badRequest("invalid_grant", "The refresh token was redeemed before.")
			return revokeGrant(tx, t.GrantID)
		}
		if failed != nil {
			return nil
		}
		if t.Redeemed == nil {
			t.Redeemed = &now
			if err := put(tx, bucketRefresh, hashed(token), t); err != nil {
				return err
			}
		}
		answer, err = s.issue(tx, g, "", now)
		return err
	})
	return answer, errors.Join(err, failed)
}

// issue creates an access token and, depending on the scopes, a refresh token and an id_token.
func (s *Server) issue(tx *bolt.Tx, g grant, nonce string, now time.Time) (tokens, error) {
	t := tokens{
		AccessToken: newToken(),
		TokenType:   "Bearer",
		ExpiresIn:   int(s.opt.AccessTokenLifetime / time.Second),
		Scope:       strings.Join(g.Scopes, " "),
	}
	access := accessToken{GrantID: g.GrantID, Expires: now.Add(s.opt.AccessTokenLifetime)}
	if err := put(tx, bucketAccess, hashed(t.AccessToken), access); err != nil {
		return tokens{}, err
	}
	if slices.Contains(g.Scopes, "offline_access") {
		t.RefreshToken = newToken()
		refresh := refreshToken{GrantID: g.GrantID, Expires: now.Add(refreshLifetime)}
		if err := put(tx, bucketRefresh, hashed(t.RefreshToken), refresh); err != nil {
			return tokens{}, err
		}
	}
	if slices.Contains(g.Scopes, "openid") {
		idToken, err := s.idToken(tx, g, t.AccessToken, nonce, now)
		if err != nil {
			return tokens{}, err
		}
		t.IDToken = idToken
	}
	return t, nil
}

func revokeGrant(tx *bolt.Tx, id string) error {
	g, err := get[grant](tx, bucketGrants, id)
	if errors.Is(err, errNotFound) {
		return nil // the code's first exchange failed: there is nothing to revoke
	}
	if err != nil {
		return err
	}
	g.Revoked = true
	return put(tx, bucketGrants, id, g)
}

// keyRS256 is the key in bucketKeys that signs id_tokens.
const keyRS256 = "rs256"

// rsaKey returns the RS256 key, created on first use: most runs never sign an id_token.
func (s *Server) rsaKey(tx *bolt.Tx) (*rsa.PrivateKey, error) {
	der, err := get[[]byte](tx, bucketKeys, keyRS256)
	if err == nil {
		return x509.ParsePKCS1PrivateKey(der)
	}
	if !errors.Is(err, errNotFound) {
		return nil, err
	}
	key, err := rsa.GenerateKey(rand.Reader, s.opt.KeyBits)
	if err != nil {
		return nil, fmt.Errorf("making the signing key: %w", err)
	}
	return key, put(tx, bucketKeys, keyRS256, x509.MarshalPKCS1PrivateKey(key))
}

func keyID(key *rsa.PrivateKey) string {
	sum := sha256.Sum256(x509.MarshalPKCS1PublicKey(&key.PublicKey))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// claims are the user claims (interface.md) that the scopes allow. Both profile and openid include the profile.
func (u User) claims(scopes []string) map[string]any {
	c := map[string]any{"sub": u.subject(), "s:organization": u.OrganizationID, "s:member": u.MemberID}
	if slices.Contains(scopes, "profile") || slices.Contains(scopes, "openid") {
		c["email"], c["given_name"], c["family_name"] = u.Email, u.FirstName, u.LastName
		c["name"] = u.fullName()
	}
	return c
}

// idToken signs the claims of OpenID Connect Core section 2.
func (s *Server) idToken(tx *bolt.Tx, g grant, access, nonce string, now time.Time) (string, error) {
	u, ok := s.user(g.Email)
	if !ok {
		return "", badRequest("invalid_grant", "The user has no account any more.")
	}
	key, err := s.rsaKey(tx)
	if err != nil {
		return "", err
	}
	claims := u.claims(g.Scopes)
	claims["iss"], claims["aud"] = s.url, g.ClientID
	claims["iat"], claims["exp"] = now.Unix(), now.Add(s.opt.AccessTokenLifetime).Unix()
	claims["auth_time"] = g.AuthTime.Unix()
	half := sha256.Sum256([]byte(access))
	claims["at_hash"] = base64.RawURLEncoding.EncodeToString(half[:16])
	if nonce != "" {
		claims["nonce"] = nonce
	}
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: keyID(key)}},
		(&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("preparing the id_token: %w", err)
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}

// jwks is GET /.well-known/jwks.
func (s *Server) jwks(w http.ResponseWriter, r *http.Request) {
	var key *rsa.PrivateKey
	err := s.db.Update(func(tx *bolt.Tx) (err error) {
		key, err = s.rsaKey(tx)
		return err
	})
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: &key.PublicKey, KeyID: keyID(key), Algorithm: "RS256", Use: "sig"},
	}})
}

// discovery is GET /.well-known/openid-configuration.
func (s *Server) discovery(w http.ResponseWriter, r *http.Request) {
	if s.opt.NoDiscovery {
		writeJSON(w, http.StatusNotFound, errorBody("resource_not_found", "There is nothing at this address."))
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer":                                s.url,
		"authorization_endpoint":                s.url + "/connect/authorize",
		"token_endpoint":                        s.url + "/connect/token",
		"revocation_endpoint":                   s.url + "/connect/revoke",
		"userinfo_endpoint":                     s.url + "/connect/userinfo",
		"jwks_uri":                              s.url + "/.well-known/jwks",
		"scopes_supported":                      knownScopes,
		"claims_supported":                      []string{"sub", "email", "given_name", "family_name", "s:organization", "s:member"},
		"response_types_supported":              []string{"code"},
		"response_modes_supported":              []string{"query"},
		"grant_types_supported":                 []string{"authorization_code", "refresh_token"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"},
		"token_endpoint_auth_methods_supported": []string{"client_secret_basic", "client_secret_post"},
		"code_challenge_methods_supported":      []string{"S256"},
	})
}

// caller is the user and client for which an access token was issued.
type caller struct {
	User
	ClientID string
	Scopes   []string
}

func (c caller) can(scope string) bool { return slices.Contains(c.Scopes, scope) }

// canUsePackages reports whether the token gives access to packages at all (interface.md, scopes).
func (c caller) canUsePackages() bool { return c.can("organization") || c.can("member") }

// sees reports whether the token covers the package: the organization's, or the member's own.
func (c caller) sees(p *pack) bool {
	return c.OrganizationID == p.OrganizationID && (c.can("organization") || c.MemberID == p.MemberID)
}

var errNoAccess = errors.New("no valid access token")

// authenticate reads the Bearer token (RFC 6750 section 2.1) of a call.
func (s *Server) authenticate(r *http.Request) (caller, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return caller{}, errNoAccess
	}
	var who caller
	err := s.db.View(func(tx *bolt.Tx) error {
		t, err := get[accessToken](tx, bucketAccess, hashed(strings.TrimSpace(token)))
		if err != nil || !s.opt.Now().Before(t.Expires) {
			return errNoAccess
		}
		g, err := get[grant](tx, bucketGrants, t.GrantID)
		if err != nil || g.Revoked {
			return errNoAccess
		}
		u, ok := s.user(g.Email)
		if !ok {
			return errNoAccess
		}
		who = caller{User: u, ClientID: g.ClientID, Scopes: g.Scopes}
		return nil
	})
	return who, err
}

// userinfo is GET or POST /connect/userinfo.
func (s *Server) userinfo(_ http.ResponseWriter, _ *http.Request, who caller) (any, error) {
	if !who.can("profile") && !who.can("openid") {
		return nil, forbidden("user_not_authorized", "The profile or openid scope is needed.")
	}
	return who.claims(who.Scopes), nil
}

// scopeWords describes what the scopes allow.
func scopeWords(scopes []string) []string {
	words := map[string]string{
		"profile":        "see your name and email address",
		"openid":         "know who you are",
		"offline_access": "stay connected until you withdraw it",
		"organization":   "see the organization, send packages for all its members and receive its events, which an Organization Administrator alone can allow",
		"member":         "send packages as you",
	}
	out := make([]string, len(scopes))
	for i, scope := range scopes {
		out[i] = words[scope]
	}
	return out
}

// oauthForm handles a form that a client posts about its tokens. A nil answer has no body.
func (s *Server) oauthForm(answer func(Client, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if e := readForm(w, r); e != nil {
			writeOAuthError(w, e)
			return
		}
		c, e := s.authenticateClient(r)
		if e != nil {
			writeOAuthError(w, e)
			return
		}
		body, err := answer(c, r)
		if err != nil {
			if !errors.As(err, &e) {
				s.opt.Log.Error("token request failed", "error", err)
				e = &apiError{http.StatusInternalServerError, "server_error", "Something unexpected happened in the service."}
			}
			writeOAuthError(w, e)
			return
		}
		noStore(w)
		if body == nil {
			w.WriteHeader(http.StatusOK)
			return
		}
		writeJSON(w, http.StatusOK, body)
	}
}

// exchange is POST /connect/token (interface.md; RFC 6749 sections 4.1.3 and 6).
func (s *Server) exchange(c Client, r *http.Request) (any, error) {
	form := r.PostForm
	switch form.Get("grant_type") {
	case "authorization_code":
		if form.Get("code") == "" {
			return nil, badRequest("invalid_request", "The code is missing.")
		}
		return s.redeemCode(c, form.Get("code"), form.Get("redirect_uri"), form.Get("code_verifier"))
	case "refresh_token":
		if form.Get("refresh_token") == "" {
			return nil, badRequest("invalid_request", "The refresh_token is missing.")
		}
		return s.refresh(c, form.Get("refresh_token"))
	case "":
		return nil, badRequest("invalid_request", "The grant_type is missing.")
	}
	return nil, badRequest("unsupported_grant_type", "The grant_type must be authorization_code or refresh_token.")
}

var verifierShape = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// verifies is RFC 7636 section 4.6 for S256.
func verifies(verifier, challenge string) bool {
	sum := sha256.Sum256([]byte(verifier))
	return verifierShape.MatchString(verifier) && base64.RawURLEncoding.EncodeToString(sum[:]) == challenge
}

// revoke is POST /connect/revoke (RFC 7009). Revoking a refresh token revokes its whole family; an unknown token is no
// error.
func (s *Server) revoke(c Client, r *http.Request) (any, error) {
	token := r.PostForm.Get("token")
	if token == "" {
		return nil, badRequest("invalid_request", "The token is missing.")
	}
	var failed error
	key := hashed(token)
	err := s.db.Update(func(tx *bolt.Tx) error {
		refresh, err := get[refreshToken](tx, bucketRefresh, key)
		isRefresh, id := err == nil, refresh.GrantID
		if !isRefresh {
			access, err := get[accessToken](tx, bucketAccess, key)
			if errors.Is(err, errNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			id = access.GrantID
		}
		g, err := get[grant](tx, bucketGrants, id)
		if err != nil {
			return err
		}
		if g.ClientID != c.ID {
			failed = badRequest("invalid_grant", "The token was given to another client.")
			return nil
		}
		if isRefresh {
			return revokeGrant(tx, id)
		}
		return remove(tx, bucketAccess, key)
	})
	return nil, errors.Join(err, failed)
}
