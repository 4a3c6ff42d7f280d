package esign

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"
)

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
		if access := s.unexpired(s.cfg.now()); access != "" {
			return access, nil
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
	// An answer that brought a refresh token alone has replaced the old one all the same: the new one is kept, and
	// redeemed in turn. Where it is not accepted, the old one may still be, in its grace.
	for rest := refreshAttempts; err == nil && t.Access == ""; rest-- {
		if _, kerr := s.commit(op, t); kerr != nil {
			return "", kerr
		}
		if rest == 0 {
			err = &Error{Op: op, Kind: BadAnswer}
			break
		}
		former := kept
		kept = t.Refresh
		if t, err = s.redeem(ctx, op, kept); errors.Is(err, ErrSignedOut) {
			t, err = s.redeem(ctx, op, former)
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
