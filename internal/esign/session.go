package esign

import (
	"context"
	"errors"
	"io"
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

// Session turns one kept refresh token into access tokens. The access token stays in memory, the refresh token in
// the Vault. It is safe for concurrent use.
//
// It is the one owner of its sign-in. At most one flight is under way at a time: a renewal, an Adopt, a Leave or a
// Revoke. A flight reaches from reading the kept token over the exchange and the commit to what Access hands out, and
// only a flight calls the Vault: none can spend or overwrite what another one keeps. A renewal runs on its own goroutine
// and context, because a caller that gives up must not take along an answer that holds the only valid refresh token;
// everybody else waits for it.
type Session struct {
	cfg   Config
	vault Vault

	mu     sync.Mutex
	tokens Tokens // Refresh is always "" here
	out    bool   // signed out, until Adopt
	closed bool
	flight *flight

	// Owned by the flight under way.
	server  *authority // nil until discovered
	pending *Tokens    // answered by the service, not yet accepted by the Vault
}

type flight struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when access and err are set; neither is after what was no renewal
	access string
	err    error
}

// NewSession returns a Session that starts from what the Vault holds. It asks nobody anything yet.
func NewSession(cfg Config, vault Vault) *Session {
	return &Session{cfg: cfg, vault: vault}
}

// Access returns an access token that was good a moment ago: the cached one, or a renewed one. The refresh token
// that came with it is on disk by then. ErrSignedOut means that only a new sign-in helps, and stays until Adopt.
func (s *Session) Access(ctx context.Context) (string, error) {
	const op = "renewing the sign-in"
	for {
		if err := ctx.Err(); err != nil {
			return "", noAnswer(op, err)
		}
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
	case s.tokens.usable(s.cfg.now()):
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

// land ends a flight and lets everyone who waits for it go on.
func (s *Session) land(f *flight, access string, err error) {
	f.cancel()
	s.mu.Lock()
	if s.flight == f { // else the next one is there already
		s.flight = nil
	}
	s.mu.Unlock()
	f.access, f.err = access, err
	close(f.done)
}

// exclusive runs do as the flight under way, after stopping the one before. It is the next one from the start: those who
// waited for the one that it stops would begin another renewal before it, again and again.
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
			go func() { // what is under way is still to end before the next one begins
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
	s.land(f, "", nil) // whoever waited looks again
	return err
}

// Adopt makes the tokens of a finished sign-in the ones in use. keep commits the refresh token ("" for none) and
// whatever belongs to the same sign-in, at once; nil is for the Vault alone. A renewal under way is over before keep is
// called, and Access waits until it has returned. On an error nothing changed.
func (s *Session) Adopt(ctx context.Context, t Tokens, keep func(refresh string) error) error {
	const op = "keeping the sign-in"
	return s.exclusive(ctx, op, func(context.Context) error {
		if keep == nil {
			keep = s.inVault
		}
		if err := keep(t.Refresh); err != nil {
			return &Error{Op: op, Kind: NotKept, err: err}
		}
		s.pending = nil
		s.use(t)
		return nil
	})
}

// Leave ends the sign-in here, without a word to the service. forget commits that it has ended; it is given the tokens
// as they are, so that it can keep them for whoever revokes them. On an error nothing changed.
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
		s.pending = nil
		s.end()
		return nil
	})
}

// all is every token there is: an access token as long as it lives. Only the flight under way calls it.
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

// living are the tokens in use, without an access token that has come to its end.
func (s *Session) living() Tokens {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tokens
	if !s.cfg.now().Before(t.Expiry) {
		t.Access = ""
	}
	return t
}

// Ended reports whether the service has ended the sign-in, or Leave or Revoke has: only Adopt helps.
func (s *Session) Ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out
}

// Invalidate says that the service did not accept an access token, so that the next Access renews it. A token that
// is no longer the current one changes nothing.
func (s *Session) Invalidate(access string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens.Access == access {
		s.tokens.Access = ""
	}
}

// Close lets a renewal under way finish, because its answer may hold the only valid refresh token, but no longer than
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

// keep puts a refresh token into the Vault.
func (s *Session) keep(op, refresh string) error {
	if err := s.inVault(refresh); err != nil {
		return &Error{Op: op, Kind: NotKept, err: err}
	}
	return nil
}

// inVault is keep without a word about what it was for. It is not the caller's to cancel: the service has already
// replaced the old token.
func (s *Session) inVault(refresh string) error {
	ctx, cancel := context.WithTimeout(context.Background(), refreshBound/2)
	defer cancel()
	return s.vault.SetRefresh(ctx, refresh)
}

// use makes t the tokens that Access hands out.
func (s *Session) use(t Tokens) {
	t.Refresh = ""
	t.Issued, t.Expiry = t.Issued.Round(0), t.Expiry.Round(0)
	s.mu.Lock()
	s.tokens, s.out = t, false
	s.mu.Unlock()
}

func (s *Session) end() {
	s.mu.Lock()
	s.tokens, s.out = Tokens{}, true
	s.mu.Unlock()
}

// renew redeems the kept refresh token and returns the new access token. Only the flight under way calls it.
func (s *Session) renew(ctx context.Context) (string, error) {
	const op = "renewing the sign-in"
	if s.pending != nil {
		// The service answered last time, but the Vault failed. Redeeming the old token again would work for a
		// minute only; the new one is still good.
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
		if t := s.living(); t.Access != "" {
			return t.Access, nil
		}
		s.end()
		return "", &Error{Op: op, Kind: SignedOut}
	}

	t, err := s.redeem(ctx, op, kept)
	if errors.Is(err, ErrSignedOut) {
		// Perhaps another process renewed with the same token in the meantime (rclone's lesson).
		if other, verr := s.vault.Refresh(ctx); verr == nil && other != "" && other != kept {
			kept = other
			t, err = s.redeem(ctx, op, kept)
		}
	}
	if err == nil && t.Access == "" { // the refresh token alone, which has replaced the old one all the same
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

// commit puts the new refresh token into the Vault, and only then hands out the access token, if there is one.
func (s *Session) commit(op string, t Tokens) (string, error) {
	s.pending = &t
	if t.Refresh != "" {
		if err := s.keep(op, t.Refresh); err != nil {
			return "", err
		}
	}
	s.pending = nil
	s.use(t)
	return t.Access, nil
}

// replacedOr is errReplaced when Adopt, Leave or Revoke ended this flight, so that whoever waits looks again.
func (s *Session) replacedOr(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &Error{Op: "renewing the sign-in", Kind: Interrupted, err: errReplaced}
	}
	return err
}

// redeem exchanges a refresh token. When the answer is lost, the service may have replaced the token already; the
// same one stays good for 60 s (interface.md, "Token rules" 3), so it is tried again.
func (s *Session) redeem(ctx context.Context, op, refresh string) (t Tokens, err error) {
	attempts(ctx, func(attempt int) (again bool) {
		if attempt > 1 {
			s.cfg.log().Info("The answer to a renewal was lost; trying again with the same token", "attempt", attempt)
		}
		t, err = s.redeemOnce(ctx, op, refresh)
		return err != nil && answerLost(err)
	})
	return t, err
}

// attempts calls try until it asks for no further attempt, refreshAttempts times at most, with pauses that double from
// refreshPause. It ends early with ctx.
func attempts(ctx context.Context, try func(attempt int) (again bool)) {
	pause := refreshPause
	for attempt := 1; try(attempt) && attempt < refreshAttempts; attempt++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause *= 2
	}
}

func (s *Session) redeemOnce(ctx context.Context, op, refresh string) (Tokens, error) {
	server, err := s.authority(ctx)
	if err != nil {
		return Tokens{}, err
	}
	// A third of the whole, so that one answer that hangs leaves time for another attempt.
	one, cancel := context.WithTimeout(ctx, refreshBound/3)
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

// Known asks whether the service accepts the client and its secret, by a refresh token that nobody was given: a server looks
// at the client first (RFC 6749, 5.2), and says BadClient or SignedOut.
func (c Config) Known(ctx context.Context) error {
	server, err := discover(ctx, c)
	if err != nil {
		return err
	}
	_, err = server.askForTokens(ctx, c, "asking for the client", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"none"}})
	return err
}

// authority is the authorization server, discovered when it is first needed.
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

// forgetServer has the endpoints discovered anew when what answers is not the token endpoint, or no more.
func (s *Session) forgetServer(err error) {
	if e, ok := errors.AsType[*Error](err); ok && (e.Kind == BadAnswer || e.Kind == NotFound) {
		s.server = nil
	}
}

// answerLost is true when the service may have redeemed the token without us knowing the new one. A connection that
// was never made is not such a case, and neither is a service that names a time to come back.
func answerLost(err error) bool {
	var e *Error
	var dial *net.OpError
	if !errors.As(err, &e) || e.RetryAfter > 0 {
		return false
	}
	switch e.Kind {
	case Network:
		return !(errors.As(e.err, &dial) && dial.Op == "dial")
	case Server, BadAnswer:
		return !errors.Is(e.err, errOtherHost)
	}
	return false
}

// Revoke tells the service that the sign-in is over (RFC 7009, refresh token first, then the access token), and forgets
// the tokens once it knows. On an error they are still there to try again with.
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
		s.pending = nil
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
	defer res.Body.Close()
	switch {
	case res.StatusCode/100 == 2 && isPage(res): // somebody in between: the service has not heard of it
		return &Error{Op: op, Kind: BadAnswer, Status: res.StatusCode}
	case res.StatusCode/100 == 2:
		return nil
	case slices.Contains(noRevocation, res.StatusCode):
		s.cfg.log().Info("The service offers no revocation; the tokens were forgotten here", "status", res.StatusCode)
		return nil
	case hint == "access_token" && unsupportedToken(res):
		return nil // it ends by itself, within minutes
	default:
		return &Error{Op: op, Kind: statusKind(res.StatusCode), Status: res.StatusCode}
	}
}

// unsupportedToken reports whether the service says that it revokes no tokens of this kind (RFC 7009, 2.2.1), which it may say of all
// but refresh tokens.
func unsupportedToken(res *http.Response) bool {
	body, err := io.ReadAll(res.Body) // bounded, see oauthClient
	answer, readable := readTokenAnswer(body)
	return err == nil && readable && res.StatusCode == http.StatusBadRequest && answer.Error == "unsupported_token_type"
}
