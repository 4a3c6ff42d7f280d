package esign

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

var (
	errReplaced = errors.New("replaced by another sign-in")
	errClosed   = errors.New("the session is closed")
)

// Session turns one stored refresh token into access tokens. The access token stays in memory, the refresh token in the
// Vault. It is safe for concurrent use.
//
// It is the only owner of its sign-in. At most one flight runs at a time: a renewal, an Adopt, a Leave or a Revoke. A flight
// covers everything from reading the stored token over the exchange and the commit to what Access returns, and only a flight
// calls the Vault: so none can spend or overwrite the token of another. A renewal runs on its own goroutine and context,
// because a caller that gives up must not discard an answer that holds the only valid refresh token; everybody else waits
// for it.
type Session struct {
	cfg   Config
	vault Vault

	mu      sync.Mutex
	tokens  Tokens // Refresh is always "" here
	refused bool   // the service has rejected the access token once
	out     bool   // signed out, until Adopt
	closed  bool
	flight  *flight

	// Owned by the current flight.
	server  *authority // nil until discovered
	pending *Tokens    // received from the service, but not yet stored in the Vault
}

type flight struct {
	cancel context.CancelFunc
	done   chan struct{} // closed once access and err are set; both are empty after a flight that was no renewal
	access string
	err    error
}

// NewSession returns a Session that starts from what the Vault holds. It makes no call yet.
func NewSession(cfg Config, vault Vault) *Session {
	return &Session{cfg: cfg, vault: vault}
}

// Access returns an access token that should be valid: the cached one or a renewed one. A refresh token that came with it is
// already on disk. ErrSignedOut means that only a new sign-in helps, and persists until Adopt.
func (s *Session) Access(ctx context.Context) (string, error) {
	const op = "renewing the sign-in"
	for {
		access, f, err := s.current(op)
		if err != nil || f == nil {
			return access, err
		}
		select {
		case <-ctx.Done():
			return "", noAnswer(op, ctx.Err())
		case <-f.done:
		}
		if f.err == nil && f.access != "" {
			return f.access, nil
		}
		if f.err != nil && !errors.Is(f.err, errReplaced) {
			return "", f.err
		}
	}
}

// current returns a usable token, or the flight to wait for.
func (s *Session) current(op string) (string, *flight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return "", nil, &Error{Op: op, Kind: Interrupted, err: errClosed}
	case s.flight != nil:
		return "", s.flight, nil
	case s.out:
		return "", nil, &Error{Op: op, Kind: SignedOut}
	case !s.refused && s.tokens.usable(s.cfg.now()):
		return s.tokens.Access, nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), refreshBound)
	f := &flight{cancel: cancel, done: make(chan struct{})}
	s.flight = f
	go func() {
		access, err := s.renew(ctx)
		s.land(f, access, err)
	}()
	return "", f, nil
}

// land ends a flight and wakes everyone who waits for it.
func (s *Session) land(f *flight, access string, err error) {
	f.cancel()
	s.mu.Lock()
	if s.flight == f { // otherwise the next flight has already replaced it
		s.flight = nil
	}
	s.mu.Unlock()
	f.access, f.err = access, err
	close(f.done)
}

// exclusive stops the current flight and runs do as the next one. It registers the new flight at once: otherwise those who
// waited for the stopped flight would start another renewal first, again and again.
func (s *Session) exclusive(ctx context.Context, op string, do func(ctx context.Context) error) error {
	f := &flight{done: make(chan struct{})}
	ctx, f.cancel = context.WithCancel(ctx)
	closed := &Error{Op: op, Kind: Interrupted, err: errClosed}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		f.cancel()
		return closed
	}
	before := s.flight
	s.flight = f
	s.mu.Unlock()
	if before != nil {
		before.cancel()
		select {
		case <-before.done:
		case <-ctx.Done():
			go func() { // the stopped flight must end before the next one begins
				<-before.done
				s.land(f, "", nil)
			}()
			return noAnswer(op, ctx.Err())
		}
	}
	s.mu.Lock()
	late := s.closed
	s.mu.Unlock()
	var err error = closed
	if !late {
		err = do(ctx)
	}
	s.land(f, "", nil) // those who waited check again
	return err
}

// Adopt puts the tokens of a finished sign-in into use. keep commits the refresh token ("" for none) together with whatever
// else belongs to the sign-in. A running renewal has ended before keep is called, and Access waits until keep has returned.
// On an error nothing has changed.
func (s *Session) Adopt(ctx context.Context, t Tokens, keep func(refresh string) error) error {
	const op = "keeping the sign-in"
	return s.exclusive(ctx, op, func(context.Context) error {
		if err := keep(t.Refresh); err != nil {
			return &Error{Op: op, Kind: NotKept, err: err}
		}
		s.use(t)
		return nil
	})
}

// Leave ends the sign-in on this computer without telling the service. forget commits that it has ended; it gets the current
// tokens, so that it can keep them for a later revocation. On an error nothing has changed.
func (s *Session) Leave(ctx context.Context, forget func(Tokens) error) error {
	const op = "signing out"
	return s.exclusive(ctx, op, func(ctx context.Context) error {
		t, err := s.all(ctx, op)
		if err != nil {
			return err
		}
		if err := forget(t); err != nil {
			return &Error{Op: op, Kind: NotKept, err: err}
		}
		s.end()
		return nil
	})
}

// all returns both tokens, the access token only while it is valid. Only the current flight calls it.
func (s *Session) all(ctx context.Context, op string) (Tokens, error) {
	refresh, err := s.vault.Refresh(ctx)
	if err != nil {
		return Tokens{}, &Error{Op: op, Kind: NotKept, err: err}
	}
	if s.pending != nil && s.pending.Refresh != "" {
		refresh = s.pending.Refresh
	}
	t := s.living()
	t.Refresh = refresh
	return t, nil
}

// living are the tokens in use, without an expired access token.
func (s *Session) living() Tokens {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tokens
	if !s.cfg.now().Before(t.Expiry) {
		t.Access = ""
	}
	return t
}

// Ended reports whether the sign-in was ended, by the service, Leave or Revoke: only Adopt helps.
func (s *Session) Ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out
}

// Invalidate reports that the service rejected an access token, so that the next Access renews it; one that cannot be renewed
// is tried elsewhere first. It ignores a token that is no longer the current one.
func (s *Session) Invalidate(access string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens.Access == access {
		s.refused = true
	}
}

// Close lets a running renewal finish, because its answer may hold the only valid refresh token, but waits no longer than
// ctx. Afterwards the Session has no goroutine and Access fails.
func (s *Session) Close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	f := s.flight
	s.mu.Unlock()
	if f == nil {
		return
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		f.cancel()
		<-f.done
	}
}

// keep stores a refresh token in the Vault. The caller cannot cancel it: the service has already replaced the old token.
func (s *Session) keep(op, refresh string) error {
	ctx, cancel := context.WithTimeout(context.Background(), refreshBound/2)
	defer cancel()
	if err := s.vault.SetRefresh(ctx, refresh); err != nil {
		return &Error{Op: op, Kind: NotKept, err: err}
	}
	return nil
}

// use makes t the tokens that Access returns. Like end, only the current flight calls it.
func (s *Session) use(t Tokens) {
	s.pending = nil
	t.Refresh = ""
	t.Issued, t.Expiry = t.Issued.Round(0), t.Expiry.Round(0)
	s.mu.Lock()
	s.tokens, s.refused, s.out = t, false, false
	s.mu.Unlock()
}

func (s *Session) end() {
	s.pending = nil
	s.mu.Lock()
	s.tokens, s.out = Tokens{}, true
	s.mu.Unlock()
}

// renew redeems the stored refresh token and returns the new access token. Only the current flight calls it.
func (s *Session) renew(ctx context.Context) (string, error) {
	const op = "renewing the sign-in"
	if s.pending != nil {
		// The service answered last time, but the Vault failed. The old token could be redeemed again for only a minute; the
		// new one is still good.
		late := *s.pending
		access, err := s.commit(op, late)
		if err != nil || late.usable(s.cfg.now()) {
			return access, err
		}
	}
	kept, err := s.vault.Refresh(ctx)
	if err != nil {
		return "", s.replacedOr(ctx, &Error{Op: op, Kind: NotKept, err: err})
	}
	if kept == "" {
		t := s.living()
		if t.Access != "" {
			err = s.tryElsewhere(ctx, t)
		}
		if t.Access == "" || errors.Is(err, ErrSignedOut) {
			s.end()
			return "", &Error{Op: op, Kind: SignedOut}
		}
		return t.Access, s.replacedOr(ctx, err)
	}

	t, err := s.redeem(ctx, op, kept)
	if errors.Is(err, ErrSignedOut) {
		// Another process may have renewed with the same token meanwhile (rclone's lesson).
		if other, verr := s.vault.Refresh(ctx); verr == nil && other != "" && other != kept {
			kept = other
			t, err = s.redeem(ctx, op, kept)
		}
	}
	if err == nil && t.Access == "" { // only a refresh token, which has replaced the old one nonetheless
		if _, err = s.commit(op, t); err == nil {
			err = &Error{Op: op, Kind: BadAnswer}
		}
	}
	if err != nil {
		if errors.Is(err, ErrSignedOut) {
			s.end()
		}
		return "", s.replacedOr(ctx, err)
	}
	if t.Refresh == kept {
		t.Refresh = "" // unchanged, nothing to commit
	}
	return s.commit(op, t)
}

// tryElsewhere returns an error unless a token that was rejected is accepted by another route: a service may reject one object
// in this way.
func (s *Session) tryElsewhere(ctx context.Context, t Tokens) error {
	s.mu.Lock()
	refused := s.refused
	s.mu.Unlock()
	if !refused {
		return nil
	}
	res, err := NewClient(s.cfg, onlyToken(t.Access)).do(ctx, probe())
	if err == nil {
		res.Body.Close()
	}
	if e, ok := errors.AsType[*Error](err); ok && (e.Kind == SignedOut || e.Temporary()) {
		return err
	}
	s.use(t)
	return nil
}

// onlyToken is the TokenSource of a token that cannot be renewed.
type onlyToken string

func (t onlyToken) Access(context.Context) (string, error) { return string(t), nil }
func (onlyToken) Invalidate(string)                        {}

// commit stores the new refresh token in the Vault, and only then returns the access token, if there is one.
func (s *Session) commit(op string, t Tokens) (string, error) {
	s.pending = &t
	if t.Refresh != "" {
		if err := s.keep(op, t.Refresh); err != nil {
			return "", err
		}
	}
	s.use(t)
	return t.Access, nil
}

// replacedOr returns errReplaced if Adopt, Leave or Revoke stopped this flight, so that those who wait check again.
func (s *Session) replacedOr(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &Error{Op: "renewing the sign-in", Kind: Interrupted, err: errReplaced}
	}
	return err
}

// redeem exchanges a refresh token. If the answer is lost, the service may already have replaced the token; the old one
// stays valid for 60 s (interface.md, "Token rules" 3), so redeem tries again.
func (s *Session) redeem(ctx context.Context, op, refresh string) (t Tokens, err error) {
	bound := refreshFirst
	attempts(ctx, func(attempt int) (again bool) {
		if attempt > 1 {
			s.cfg.log().Info("The answer to a renewal was lost; trying again with the same token", "attempt", attempt)
			bound *= 3
		}
		t, err = s.redeemOnce(ctx, op, refresh, bound)
		return err != nil && answerLost(err)
	})
	return t, err
}

// attempts calls try until it wants no further attempt, at most refreshAttempts times, with pauses that double from
// refreshPause. It ends early with ctx.
func attempts(ctx context.Context, try func(attempt int) (again bool)) {
	pause := refreshPause
	for attempt := 1; try(attempt) && attempt < refreshAttempts; attempt++ {
		if !sleep(ctx, pause) {
			return
		}
		pause *= 2
	}
}

// sleep waits for d and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (s *Session) redeemOnce(ctx context.Context, op, refresh string, bound time.Duration) (Tokens, error) {
	server, err := s.authority(ctx)
	if err != nil {
		return Tokens{}, err
	}
	one, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	answer, err := server.askForTokens(one, s.cfg, op,
		url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}}, refresh)
	if err != nil {
		s.forgetServer(err)
		return Tokens{}, err
	}
	t := answer.tokens(s.cfg.now())
	if t.Access == "" && (t.Refresh == "" || t.Refresh == refresh) {
		return Tokens{}, &Error{Op: op, Kind: BadAnswer}
	}
	return t, nil
}

// Known asks whether the service accepts the client and its secret. It sends a refresh token that was never issued: a server
// checks the client first (RFC 6749, 5.2), and answers BadClient or SignedOut.
func (c Config) Known(ctx context.Context) error {
	server, err := discover(ctx, c)
	if err != nil {
		return err
	}
	_, err = server.askForTokens(ctx, c, "asking for the client", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"none"}})
	return err
}

// authority is the authorization server, discovered on first use.
func (s *Session) authority(ctx context.Context) (*authority, error) {
	if s.server == nil {
		server, err := discover(ctx, s.cfg)
		if err != nil {
			return nil, err
		}
		s.server = &server
	}
	return s.server, nil
}

// forgetServer triggers a new discovery if the answer did not come from a token endpoint.
func (s *Session) forgetServer(err error) {
	if e, ok := errors.AsType[*Error](err); ok && (e.Kind == BadAnswer || e.Kind == NotFound) {
		s.server = nil
	}
}

// answerLost reports whether the service may have redeemed the token although the new one did not arrive. That is not so if
// no connection was made, or if the service says when to come back.
func answerLost(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.RetryAfter > 0 {
		return false
	}
	switch e.Kind {
	case Network:
		return !neverSent(e)
	case Server, BadAnswer:
		return !errors.Is(e.err, errOtherHost)
	}
	return false
}

// neverSent reports whether no connection was made.
func neverSent(e *Error) bool {
	var dial *net.OpError
	return errors.As(e.err, &dial) && dial.Op == "dial"
}

// Revoke tells the service that the sign-in is over (RFC 7009; first the refresh token, then the access token), and then
// forgets the tokens. On an error it keeps them, so that it can be tried again.
func (s *Session) Revoke(ctx context.Context) error {
	const op = "signing out"
	return s.exclusive(ctx, op, func(ctx context.Context) error {
		t, err := s.all(ctx, op)
		if err != nil {
			return err
		}
		for _, t := range []struct{ token, hint string }{{t.Refresh, "refresh_token"}, {t.Access, "access_token"}} {
			if t.token == "" {
				continue
			}
			if rerr := s.revoke(ctx, op, t.token, t.hint); rerr != nil && err == nil {
				err = rerr
			}
		}
		if err == nil {
			err = s.keep(op, "")
		}
		if err != nil {
			return err
		}
		s.end()
		return nil
	})
}

func (s *Session) revoke(ctx context.Context, op, token, hint string) error {
	server, err := s.authority(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, refreshBound/2)
	defer cancel()
	res, err := server.post(ctx, s.cfg, op, server.RevokeURL, url.Values{"token": {token}, "token_type_hint": {hint}})
	if err != nil {
		return err
	}
	body := content(res)
	switch {
	case res.StatusCode/100 == 2 && looksLikePage(body): // an intermediary answered: the service has not heard of it
		return &Error{Op: op, Kind: BadAnswer, Status: res.StatusCode}
	case res.StatusCode/100 == 2:
		return nil
	case slices.Contains(noSuchCall, res.StatusCode):
		s.cfg.log().Info("The service offers no revocation; the tokens were forgotten here", "status", res.StatusCode)
		return nil
	case hint == "access_token" && res.StatusCode == http.StatusBadRequest && unsupportedToken(body):
		return nil // it expires by itself within minutes
	default:
		return &Error{Op: op, Kind: statusKind(res.StatusCode), Status: res.StatusCode}
	}
}

// unsupportedToken reports whether the service says that it does not revoke tokens of this kind (RFC 7009, 2.2.1), which it
// may do for all but refresh tokens.
func unsupportedToken(body []byte) bool {
	answer, _ := readTokenAnswer(body)
	return answer.Error == "unsupported_token_type"
}
