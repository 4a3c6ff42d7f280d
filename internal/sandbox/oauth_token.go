package sandbox

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"regexp"

	bolt "go.etcd.io/bbolt"
)

// oauthForm serves the form that a client posts about its tokens. A nil answer has no body.
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
			s.answerOAuthError(w, err)
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
			return nil, refuse("invalid_request", "The code is missing.")
		}
		return s.redeemCode(c, form.Get("code"), form.Get("redirect_uri"), form.Get("code_verifier"))
	case "refresh_token":
		if form.Get("refresh_token") == "" {
			return nil, refuse("invalid_request", "The refresh_token is missing.")
		}
		return s.refresh(c, form.Get("refresh_token"), form.Get("scope"))
	case "":
		return nil, refuse("invalid_request", "The grant_type is missing.")
	}
	return nil, refuse("unsupported_grant_type", "The grant_type must be authorization_code or refresh_token.")
}

func (s *Server) answerOAuthError(w http.ResponseWriter, err error) {
	var e *oauthError
	if !errors.As(err, &e) {
		s.log.Error("token request failed", "error", err)
		e = &oauthError{http.StatusInternalServerError, "server_error", "Something unexpected happened in the service."}
	}
	writeOAuthError(w, e)
}

var verifierShape = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// verifies is RFC 7636 section 4.6 for S256.
func verifies(verifier, challenge string) bool {
	sum := sha256.Sum256([]byte(verifier))
	return verifierShape.MatchString(verifier) && base64.RawURLEncoding.EncodeToString(sum[:]) == challenge
}

// revoke is POST /connect/revoke (RFC 7009). A refresh token takes its whole family along, an unknown token is no error.
func (s *Server) revoke(c Client, r *http.Request) (any, error) {
	token := r.PostForm.Get("token")
	if token == "" {
		return nil, refuse("invalid_request", "The token is missing.")
	}
	return nil, s.revokeToken(c.ID, token)
}

// revokeToken ends a token of the client, or of any client for "".
func (s *Server) revokeToken(clientID, token string) (failed error) {
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
		if clientID != "" && g.ClientID != clientID {
			failed = refuse("invalid_grant", "The token was given to another client.")
			return nil
		}
		if isRefresh {
			return revokeGrant(tx, id)
		}
		return remove(tx, bucketAccess, key)
	})
	return errors.Join(err, failed)
}
