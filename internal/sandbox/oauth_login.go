package sandbox

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// login is one authorization request on its way through the pages. It belongs to one browser and is forgotten when
// the service stops; what it leads to, the session and the consent, is kept.
type login struct {
	id        string
	browser   string // hash of the cookie it was begun with
	request   authorizeRequest
	began     time.Time
	signedIn  bool // the person has signed in for this very request (prompt=login)
	consented bool // the person has agreed for this very request (prompt=consent)
}

const (
	loginLifetime   = 15 * time.Minute
	sessionLifetime = 12 * time.Hour
	cookieBrowser   = "sandbox_browser"
	cookieSession   = "sandbox_session"
)

// session is a browser's sign-in.
type session struct {
	Email string    `json:"email"`
	Time  time.Time `json:"time"`
}

// mustSignIn reports whether a session from before is not enough.
func (in login) mustSignIn() bool {
	return slices.Contains(in.request.Prompt, "login") && !in.signedIn
}

// logins may be used from any goroutine; the login values in it are replaced, never changed.
type logins struct {
	mu   sync.Mutex
	byID map[string]login
}

func (l *logins) begin(req authorizeRequest, browser string) login {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil {
		l.byID = map[string]login{}
	}
	for id, old := range l.byID {
		if time.Since(old.began) > loginLifetime {
			delete(l.byID, id)
		}
	}
	in := login{id: newToken(), browser: hashed(browser), request: req, began: time.Now()}
	l.byID[in.id] = in
	return in
}

func (l *logins) find(id, browser string) (login, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in, ok := l.byID[id]
	return in, ok && in.browser == hashed(browser) && time.Since(in.began) <= loginLifetime
}

func (l *logins) keep(in login) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID[in.id] = in
}

func (l *logins) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byID, id)
}

func (s *Server) setCookie(w http.ResponseWriter, name, value string) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: strings.HasPrefix(s.url, "https:"),
	})
}

// browser is the value that tells browsers apart, set on first sight.
func (s *Server) browser(w http.ResponseWriter, r *http.Request) string {
	if s.opt.AutoConsent {
		return "" // a program without cookies must come through too
	}
	if c, err := r.Cookie(cookieBrowser); err == nil && c.Value != "" {
		return c.Value
	}
	value := newToken()
	s.setCookie(w, cookieBrowser, value)
	return value
}

// session returns who this browser is signed in as.
func (s *Server) session(r *http.Request) (User, time.Time, bool) {
	c, err := r.Cookie(cookieSession)
	if err != nil {
		return User{}, time.Time{}, false
	}
	in, err := read[session](s.db, bucketSessions, hashed(c.Value))
	if err != nil || s.opt.Now().Sub(in.Time) > sessionLifetime {
		return User{}, time.Time{}, false
	}
	u, ok := s.user(in.Email)
	return u, in.Time, ok
}

func (s *Server) signIn(w http.ResponseWriter, u User) (time.Time, error) {
	token, now := newToken(), s.opt.Now()
	err := s.db.Update(func(tx *bolt.Tx) error {
		return put(tx, bucketSessions, hashed(token), session{Email: u.Email, Time: now})
	})
	if err == nil {
		s.setCookie(w, cookieSession, token)
	}
	return now, err
}

// advance takes a login to the next page it needs, and to the application when it needs none.
func (s *Server) advance(w http.ResponseWriter, r *http.Request, in login) {
	u, at, ok := s.session(r)
	forced := in.mustSignIn()
	if (!ok || forced) && s.opt.AutoConsent {
		var err error
		u, ok, forced = s.autoUser(in.request.Hint), true, false
		if at, err = s.signIn(w, u); err != nil {
			s.showFailure(w, err)
			return
		}
	}
	s.advanceAs(w, r, in, u, at, ok && !forced)
}

// advanceAs is advance for a known person, who may have signed in within this very request.
func (s *Server) advanceAs(w http.ResponseWriter, r *http.Request, in login, u User, at time.Time, signedIn bool) {
	req := &in.request
	silent := slices.Contains(req.Prompt, "none")
	asked := slices.Contains(req.Prompt, "consent") && !in.consented
	switch {
	case !signedIn && silent:
		s.logins.end(in.id)
		req.fail(w, r, refuse("login_required", "You are not signed in."))
	case !signedIn:
		http.Redirect(w, r, "/connect/login?flow="+in.id, http.StatusSeeOther)
	case (asked || !s.consented(u, req)) && silent:
		s.logins.end(in.id)
		req.fail(w, r, refuse("consent_required", "Consent was not given before."))
	case asked || !s.consented(u, req):
		http.Redirect(w, r, "/connect/consent?flow="+in.id, http.StatusSeeOther)
	default:
		s.logins.end(in.id)
		s.finish(w, r, req, u, at)
	}
}

// autoUser is who signs in when nobody is there: the hinted user, or else the first administrator.
func (s *Server) autoUser(hint string) User {
	if u, ok := s.user(hint); ok {
		return u
	}
	if u, ok := first(s.opt.Users, func(u User) bool { return u.Admin }); ok {
		return u
	}
	return s.opt.Users[0]
}

// flow finds the login of a page request, or explains that it is over.
func (s *Server) flow(w http.ResponseWriter, r *http.Request) (login, bool) {
	in, ok := s.logins.find(r.FormValue("flow"), s.browser(w, r))
	if !ok {
		s.showProblem(w, http.StatusBadRequest, "This sign-in is over.",
			"It was finished, took too long, or was started in another browser. Start it again from the application.")
	}
	return in, ok
}

// loginPage is GET /connect/login.
func (s *Server) loginPage(w http.ResponseWriter, r *http.Request) {
	in, ok := s.flow(w, r)
	if !ok {
		return
	}
	s.show(w, http.StatusOK, "login.html", map[string]any{
		"Title": "Sign in", "Flow": in.id, "Client": in.request.Client.Name,
		"Users": s.opt.Users, "Hint": in.request.Hint,
	})
}

// loginChoice is POST /connect/login.
func (s *Server) loginChoice(w http.ResponseWriter, r *http.Request) {
	in, ok := s.flow(w, r)
	if !ok {
		return
	}
	u, ok := s.user(r.PostFormValue("email"))
	if !ok {
		http.Redirect(w, r, "/connect/login?flow="+in.id, http.StatusSeeOther)
		return
	}
	at, err := s.signIn(w, u)
	if err != nil {
		s.showFailure(w, err)
		return
	}
	in.signedIn = true
	s.logins.keep(in)
	s.advanceAs(w, r, in, u, at, true)
}

// consentPage is GET /connect/consent. With AutoConsent the page agrees by itself: a browser shows it for a moment,
// a program is sent on at once.
func (s *Server) consentPage(w http.ResponseWriter, r *http.Request) {
	in, ok := s.flow(w, r)
	if !ok {
		return
	}
	if s.opt.AutoConsent && r.FormValue("decision") != "" {
		s.consentChoice(w, r)
		return
	}
	agree := "/connect/consent?flow=" + in.id + "&decision=allow"
	if s.opt.AutoConsent && !strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Redirect(w, r, agree, http.StatusSeeOther)
		return
	}
	u, _, ok := s.session(r)
	if !ok || (in.mustSignIn() && !s.opt.AutoConsent) {
		http.Redirect(w, r, "/connect/login?flow="+in.id, http.StatusSeeOther)
		return
	}
	page := map[string]any{
		"Title": "Allow access", "Flow": in.id, "Client": in.request.Client.Name, "User": u,
		"Scopes": scopeWords(in.request.granted(u)), "Target": in.request.Redirect,
		"Narrowed": len(in.request.granted(u)) < len(in.request.Scopes),
	}
	if s.opt.AutoConsent {
		page["Refresh"] = agree
	}
	s.show(w, http.StatusOK, "consent.html", page)
}

// consentChoice is POST /connect/consent.
func (s *Server) consentChoice(w http.ResponseWriter, r *http.Request) {
	in, ok := s.flow(w, r)
	if !ok {
		return
	}
	u, at, ok := s.session(r)
	if !ok && s.opt.AutoConsent {
		u, at, ok = s.autoUser(in.request.Hint), s.opt.Now(), true
	}
	if !ok || (in.mustSignIn() && !s.opt.AutoConsent) {
		http.Redirect(w, r, "/connect/login?flow="+in.id, http.StatusSeeOther)
		return
	}
	if r.FormValue("decision") != "allow" {
		s.logins.end(in.id)
		in.request.fail(w, r, refuse("access_denied", "The person did not allow it."))
		return
	}
	if err := s.rememberConsent(u, &in.request); err != nil {
		s.showFailure(w, err)
		return
	}
	in.consented = true
	s.logins.keep(in)
	s.advanceAs(w, r, in, u, at, true)
}

// scopeWords says in plain words what the scopes allow.
func scopeWords(scopes []string) []string {
	words := map[string]string{
		"profile":        "see your name and email address",
		"openid":         "know who you are",
		"offline_access": "stay connected until you withdraw it",
		"organization":   "see the organization, send packages for all its members and receive its events",
		"member":         "send packages as you",
	}
	out := make([]string, len(scopes))
	for i, scope := range scopes {
		out[i] = words[scope]
	}
	return out
}
