package esign

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

var (
	errMismatch      = errors.New("the state or issuer does not match")
	errRejectedToken = errors.New("the id_token was not accepted")
	errStaleToken    = errors.New("the id_token has expired")
	errNoKeys        = errors.New("the keys for the id_token could not be fetched")
)

// asymmetric are the algorithms a published key can verify. HS256 and none are not among them: the first would let
// anyone who knows the client secret, the second anyone at all, say who signed in.
var asymmetric = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.PS256, oidc.EdDSA}

// claims are those of an id_token and of userinfo (interface.md, "Claims").
type claims struct {
	Subject         text   `json:"sub"`
	Email           text   `json:"email"`
	GivenName       text   `json:"given_name"`
	FamilyName      text   `json:"family_name"`
	Organization    text   `json:"s:organization"`
	Member          text   `json:"s:member"`
	AuthorizedParty string `json:"azp"`
}

func (c claims) account() Account {
	return Account{string(c.Subject), string(c.Email), string(c.GivenName), string(c.FamilyName),
		string(c.Organization), string(c.Member)}
}

// identify says who signed in: from the id_token, which must verify when there is one, and from userinfo for what
// the id_token does not say. Userinfo failing is no reason to fail a sign-in.
func (l *Login) identify(ctx context.Context, access string, answer tokenAnswer, scopes []string) (Account, error) {
	var a Account
	if idToken := string(answer.ID); idToken != "" {
		c, err := l.verifyIDToken(ctx, idToken, answer.sent)
		if err != nil {
			return Account{}, err
		}
		a = c.account()
	}
	if a.Email != "" || access == "" || !hasScope(scopes, "profile") {
		return a, nil
	}
	more, err := l.userInfo(ctx, access)
	if err != nil {
		l.cfg.log().Warn("The account's profile could not be read; the sign-in goes on without it")
		return a, nil
	}
	// OpenID Connect Core 5.3.2: claims about somebody else must not be used.
	if a.Subject != "" && more.Subject != a.Subject {
		l.cfg.log().Warn("The account's profile is about somebody else and was not used")
		return a, nil
	}
	more.OrganizationID = cmp.Or(more.OrganizationID, a.OrganizationID)
	more.MemberID = cmp.Or(more.MemberID, a.MemberID)
	return more, nil
}

// verifyIDToken checks signature, issuer, audience, expiry and nonce (OpenID Connect Core 3.1.3.7). The tokens that came
// with one that fails must not be used; the error says what was wrong with it. The expiry is one by the service's clock, which
// said sent as it gave the token out: that of this computer may be wrong. So it is of no moment from when on the token is valid,
// and the nonce says that it is new.
func (l *Login) verifyIDToken(ctx context.Context, raw string, sent time.Time) (claims, error) {
	rejected := &Error{Op: "verifying who signed in", Kind: BadAnswer, err: errRejectedToken}
	keys := &patientKeys{KeySet: oidc.NewRemoteKeySet(ctx, l.server.JWKSURL)}
	verifier := oidc.NewVerifier("", keys, &oidc.Config{
		ClientID:             l.cfg.ClientID,
		SupportedSigningAlgs: asymmetric,
		SkipIssuerCheck:      true, // done below: there may be two spellings
		SkipExpiryCheck:      true, // and there are two clocks
	})
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

// patientKeys ask again for keys that cannot be fetched: the code is used up by then, and the whole sign-in with it.
type patientKeys struct {
	oidc.KeySet
	missing bool // at the last try
}

// VerifySignature is oidc.KeySet.VerifySignature.
func (k *patientKeys) VerifySignature(ctx context.Context, jwt string) (payload []byte, err error) {
	attempts(ctx, func(int) (again bool) {
		payload, err = k.KeySet.VerifySignature(ctx, jwt)
		k.missing = err != nil && strings.HasPrefix(err.Error(), "fetching keys") // all that the library says of it
		return k.missing
	})
	return payload, err
}

func (l *Login) userInfo(ctx context.Context, access string) (Account, error) {
	info, err := l.server.NewProvider(ctx).UserInfo(ctx, oauth2.StaticTokenSource(&oauth2.Token{AccessToken: access}))
	if err != nil {
		return Account{}, err
	}
	var c claims
	if err := info.Claims(&c); err != nil {
		return Account{}, err
	}
	return c.account(), nil
}
