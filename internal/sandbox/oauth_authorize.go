package sandbox

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

var knownScopes = []string{"profile", "openid", "offline_access", "organization", "member"}

// authorizeRequest is a checked authorization request.
type authorizeRequest struct {
	Client    Client
	Redirect  string
	Scopes    []string
	State     string
	HasState  bool
	Nonce     string
	Prompt    []string
	Hint      string // login_hint of OpenID Connect: the email to offer first
	Challenge string
}

var challengeShape = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// authorize is GET /connect/authorize. Until the client and the redirect are known to belong together, an error is
// shown here and sent nowhere (RFC 6749 section 4.1.2.1).
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
		Nonce: q.Get("nonce"), Hint: q.Get("login_hint"), Prompt: strings.Fields(q.Get("prompt")),
		Scopes: uniqueFields(q.Get("scope")), Challenge: q.Get("code_challenge"),
	}
	if e := req.check(q); e != nil {
		req.fail(w, r, e)
		return
	}
	s.advance(w, r, s.logins.begin(req, s.browser(w, r)))
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

func (a *authorizeRequest) check(q url.Values) *oauthError {
	for name, values := range q {
		if len(values) > 1 {
			return refuse("invalid_request", "The parameter %q is given more than once.", name)
		}
	}
	if q.Get("response_type") == "" {
		return refuse("invalid_request", "The response_type is missing.")
	}
	if q.Get("response_type") != "code" {
		return refuse("unsupported_response_type", "Only the response type code is supported.")
	}
	if len(a.Scopes) == 0 {
		a.Scopes = []string{"profile"} // RFC 6749 section 3.3 lets the server choose
	}
	for _, scope := range a.Scopes {
		if !slices.Contains(knownScopes, scope) {
			return refuse("invalid_scope", "The scope %q is unknown.", scope)
		}
	}
	for _, p := range a.Prompt {
		if p != "login" && p != "consent" && (p != "none" || len(a.Prompt) > 1) {
			return refuse("invalid_request", "The prompt must be login or consent.")
		}
	}
	return a.checkPKCE(q.Get("code_challenge_method"))
}

// checkPKCE accepts S256 alone: plain protects nothing (RFC 7636 section 7.2).
func (a *authorizeRequest) checkPKCE(method string) *oauthError {
	switch {
	case a.Challenge == "" && method != "":
		return refuse("invalid_request", "There is a code_challenge_method without a code_challenge.")
	case a.Challenge == "" && a.Client.Secret == "":
		return refuse("invalid_request", "A client without a secret must use PKCE.")
	case a.Challenge == "":
		return nil
	case method != "S256":
		return refuse("invalid_request", "The code_challenge_method must be S256.")
	case !challengeShape.MatchString(a.Challenge):
		return refuse("invalid_request", "The code_challenge is not the base64url form of a SHA-256 hash.")
	}
	return nil
}

// back sends the browser to the application with these parameters and the state as it came.
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
	w.WriteHeader(http.StatusSeeOther) // a form was posted here; it must not be posted on
}

func (a *authorizeRequest) fail(w http.ResponseWriter, r *http.Request, e *oauthError) {
	a.back(w, r, url.Values{"error": {e.Code}, "error_description": {e.Description}})
}

// granted are the scopes this user can give: organization needs an Organization Administrator (interface.md, scopes).
func (a *authorizeRequest) granted(u User) []string {
	return slices.DeleteFunc(slices.Clone(a.Scopes), func(scope string) bool {
		return scope == "organization" && !u.Admin
	})
}

func consentKey(u User, c Client) string { return strings.ToLower(u.Email) + "|" + c.ID }

// consented reports whether the user gave the application all of these scopes before.
func (s *Server) consented(u User, a *authorizeRequest) bool {
	before, err := read[[]string](s.db, bucketConsents, consentKey(u, a.Client))
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(a.granted(u), func(scope string) bool { return !slices.Contains(before, scope) })
}

func (s *Server) rememberConsent(u User, a *authorizeRequest) error {
	key := consentKey(u, a.Client)
	return s.db.Update(func(tx *bolt.Tx) error {
		scopes, err := get[[]string](tx, bucketConsents, key)
		if err != nil && !errors.Is(err, errNotFound) {
			return err
		}
		for _, scope := range a.granted(u) {
			if !slices.Contains(scopes, scope) {
				scopes = append(scopes, scope)
			}
		}
		return put(tx, bucketConsents, key, scopes)
	})
}

// finish gives the application its code.
func (s *Server) finish(w http.ResponseWriter, r *http.Request, a *authorizeRequest, u User, authTime time.Time) {
	code, err := s.newCode(authCode{
		ClientID: a.Client.ID, Redirect: a.Redirect, Challenge: a.Challenge, Nonce: a.Nonce,
		Email: u.Email, Scopes: a.granted(u), AuthTime: authTime,
	})
	if err != nil {
		s.log.Error("making an authorization code failed", "error", err)
		a.fail(w, r, refuse("server_error", "Something unexpected happened in the service."))
		return
	}
	a.back(w, r, url.Values{"code": {code}})
}
