package sandbox

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// signingKey is the RS256 key, made when it is first needed: most starts never sign an id_token.
type signingKey struct {
	mu  sync.Mutex
	key *rsa.PrivateKey
}

// What bucketKeys holds.
const (
	keyRS256 = "rs256" // signs id_tokens
	keyForms = "forms" // signs the forms on pages
)

// rsaKey returns the key kept in the state, making it the first time. In a read-only
// tx the first time fails with ErrTxNotWritable.
func (s *Server) rsaKey(tx *bolt.Tx) (*rsa.PrivateKey, error) {
	s.key.mu.Lock()
	defer s.key.mu.Unlock()
	if s.key.key != nil {
		return s.key.key, nil
	}
	der, err := get[[]byte](tx, bucketKeys, keyRS256)
	if errors.Is(err, errNotFound) {
		if !tx.Writable() {
			return nil, bolterrors.ErrTxNotWritable
		}
		key, err := rsa.GenerateKey(rand.Reader, s.opt.KeyBits)
		if err != nil {
			return nil, fmt.Errorf("making the signing key: %w", err)
		}
		if err := put(tx, bucketKeys, keyRS256, x509.MarshalPKCS1PrivateKey(key)); err != nil {
			return nil, err
		}
		tx.OnCommit(func() {
			s.key.mu.Lock()
			s.key.key = key
			s.key.mu.Unlock()
		})
		return key, nil
	}
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS1PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("reading the signing key: %w", err)
	}
	s.key.key = key
	return key, nil
}

func keyID(key *rsa.PrivateKey) string {
	sum := sha256.Sum256(x509.MarshalPKCS1PublicKey(&key.PublicKey))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// claims are the user claims (interface.md) that the scopes allow. The profile comes with profile and with openid.
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
		return "", refuse("invalid_grant", "The user has no account any more.")
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
	fetch := func(tx *bolt.Tx) (err error) {
		key, err = s.rsaKey(tx)
		return err
	}
	err := s.db.View(fetch)
	if errors.Is(err, bolterrors.ErrTxNotWritable) {
		err = s.db.Update(fetch)
	}
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

// caller is who an access token speaks for.
type caller struct {
	User
	ClientID string
	Scopes   []string
}

func (c caller) can(scope string) bool { return slices.Contains(c.Scopes, scope) }

// canUsePackages reports whether the token opens packages at all (interface.md, scopes).
func (c caller) canUsePackages() bool { return c.can("organization") || c.can("member") }

// sees reports whether the package is within the token's reach: the organization's, or the member's own.
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
		who = caller{User: u, ClientID: g.ClientID, Scopes: t.Scopes}
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
