package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	codeLifetime    = time.Minute
	refreshLifetime = 180 * 24 * time.Hour // "several months" (interface.md, token rules 4)
	refreshGrace    = 60 * time.Second     // interface.md, limits
)

// authCode is an authorization code as stored, bound to all the request was made of.
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
	GrantID   string    `json:"grant_id,omitempty"` // what it was exchanged for
}

// grant is the family of tokens that one sign-in gave. Revoking it ends them all.
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
	Scopes  []string  `json:"scopes"`
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

// newCode stores a fresh code.
func (s *Server) newCode(c authCode) (string, error) {
	code := newToken()
	c.Expires = s.opt.Now().Add(codeLifetime)
	err := s.db.Update(func(tx *bolt.Tx) error { return put(tx, bucketCodes, hashed(code), c) })
	return code, err
}

// redeemCode exchanges a code once. A second use revokes what the first one gave (RFC 6749 section 4.1.2), and a
// wrong verifier uses the code up, so that it cannot be guessed at.
func (s *Server) redeemCode(c Client, code, redirect, verifier string) (answer tokens, failed error) {
	now := s.opt.Now()
	err := s.db.Update(func(tx *bolt.Tx) error {
		a, err := get[authCode](tx, bucketCodes, hashed(code))
		if errors.Is(err, errNotFound) {
			failed = refuse("invalid_grant", "The code is unknown.")
			return nil
		}
		if err != nil {
			return err
		}
		if a.ClientID != c.ID {
			failed = refuse("invalid_grant", "The code was given to another client.")
			return nil
		}
		if a.Used {
			failed = refuse("invalid_grant", "The code was used before.")
			return revokeGrant(tx, a.GrantID)
		}
		a.Used = true
		if failed = a.check(redirect, verifier, now); failed == nil {
			g := grant{GrantID: newID(), ClientID: c.ID, Email: a.Email, Scopes: a.Scopes, AuthTime: a.AuthTime}
			a.GrantID = g.GrantID
			if err := put(tx, bucketGrants, g.GrantID, g); err != nil {
				return err
			}
			if answer, err = s.issue(tx, g, g.Scopes, a.Nonce, now); err != nil {
				return err
			}
		}
		return put(tx, bucketCodes, hashed(code), a)
	})
	return answer, errors.Join(err, failed)
}

// check compares the exchange with the request. interface.md lists no redirect_uri for the exchange, RFC 6749
// section 4.1.3 wants it: it may be left out, but not differ.
func (a authCode) check(redirect, verifier string, now time.Time) error {
	switch {
	case now.After(a.Expires):
		return refuse("invalid_grant", "The code has expired.")
	case redirect != "" && redirect != a.Redirect:
		return refuse("invalid_grant", "The redirect_uri is not the one of the authorization request.")
	case a.Challenge == "" && verifier != "":
		return refuse("invalid_grant", "There is a code_verifier, but the authorization request had no code_challenge.")
	case a.Challenge != "" && !verifies(verifier, a.Challenge):
		return refuse("invalid_grant", "The code_verifier does not fit the code_challenge.")
	}
	return nil
}

// refresh redeems a refresh token. For 60 seconds after its first redemption it works again and gives another fresh
// pair; after that its use means that it was copied, and ends the whole family.
func (s *Server) refresh(c Client, token, scope string) (answer tokens, failed error) {
	now := s.opt.Now()
	err := s.db.Update(func(tx *bolt.Tx) error {
		t, err := get[refreshToken](tx, bucketRefresh, hashed(token))
		if errors.Is(err, errNotFound) {
			failed = refuse("invalid_grant", "The refresh token is unknown.")
			return nil
		}
		if err != nil {
			return err
		}
		g, err := get[grant](tx, bucketGrants, t.GrantID)
		if err != nil {
			return fmt.Errorf("reading the grant of a refresh token: %w", err)
		}
		scopes, narrowed := narrow(g.Scopes, scope)
		switch {
		case g.ClientID != c.ID:
			failed = refuse("invalid_grant", "The refresh token was given to another client.")
		case g.Revoked:
			failed = refuse("invalid_grant", "The refresh token was revoked.")
		case now.After(t.Expires):
			failed = refuse("invalid_grant", "The refresh token has expired.")
		case t.Redeemed != nil && now.Sub(*t.Redeemed) > refreshGrace:
			failed = refuse("invalid_grant", "The refresh token was redeemed before.")
			return revokeGrant(tx, t.GrantID)
		case !narrowed:
			failed = refuse("invalid_scope", "The scope is wider than what was granted.")
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
		answer, err = s.issue(tx, g, scopes, "", now)
		return err
	})
	return answer, errors.Join(err, failed)
}

// narrow returns the scopes asked for, all of them when none are; false when they exceed the granted ones.
func narrow(granted []string, asked string) ([]string, bool) {
	wanted := strings.Fields(asked)
	if len(wanted) == 0 {
		return granted, true
	}
	for _, w := range wanted {
		if !slices.Contains(granted, w) {
			return nil, false
		}
	}
	return wanted, true
}

// issue makes an access token and, as the scopes say, a refresh token and an id_token.
func (s *Server) issue(tx *bolt.Tx, g grant, scopes []string, nonce string, now time.Time) (tokens, error) {
	t := tokens{
		AccessToken: newToken(),
		TokenType:   "Bearer",
		ExpiresIn:   int(s.opt.AccessTokenLifetime / time.Second),
		Scope:       strings.Join(scopes, " "),
	}
	access := accessToken{GrantID: g.GrantID, Scopes: scopes, Expires: now.Add(s.opt.AccessTokenLifetime)}
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
	if slices.Contains(scopes, "openid") {
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
		return nil // the code failed its first exchange: there is nothing to revoke
	}
	if err != nil {
		return err
	}
	g.Revoked = true
	return put(tx, bucketGrants, id, g)
}

// sweepTokens forgets what nobody can use any more.
func (s *Server) sweepTokens() error {
	now := s.opt.Now()
	return s.db.Update(func(tx *bolt.Tx) error {
		return errors.Join(
			sweep(tx, bucketCodes, func(c authCode) bool { return now.Sub(c.Expires) > 24*time.Hour }),
			sweep(tx, bucketAccess, func(t accessToken) bool { return now.Sub(t.Expires) > 24*time.Hour }),
			sweep(tx, bucketRefresh, func(t refreshToken) bool { return now.After(t.Expires) }),
			sweep(tx, bucketSessions, func(t session) bool { return now.Sub(t.Time) > sessionLifetime }),
		)
	})
}
