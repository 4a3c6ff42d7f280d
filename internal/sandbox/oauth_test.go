package sandbox

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

func TestCodeFlowGivesTokensAsDescribed(t *testing.T) {
	r := start(t, Options{})
	back := r.authorize(authorizeQuery(r, allScopes), adminMail, "allow")
	if got := back.Get("state"); got != "s t&a=te" {
		t.Errorf("state came back as %q", got)
	}
	a := r.exchange(back.Get("code"))
	wantStatus(t, a, 200)
	if got := a.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control %q", got)
	}
	v := a.json(t)
	if v["token_type"] != "Bearer" || v["expires_in"] != 1800.0 || v["scope"] != allScopes || v["refresh_token"] == nil {
		t.Errorf("answer %v", v)
	}

	d := r.do("GET", "/.well-known/openid-configuration", "", nil).json(t)
	if d["issuer"] != r.s.URL() {
		t.Errorf("issuer %v", d["issuer"])
	}
	var keys jose.JSONWebKeySet
	must(t, json.Unmarshal(r.do("GET", d["jwks_uri"].(string), "", nil).body, &keys))
	parsed, err := jwt.ParseSigned(v["id_token"].(string), []jose.SignatureAlgorithm{jose.RS256})
	must(t, err)
	claims := map[string]any{}
	must(t, parsed.Claims(keys.Key(parsed.Headers[0].KeyID)[0], &claims))
	u := r.s.opt.Users[0]
	for name, want := range map[string]any{
		"iss": r.s.URL(), "aud": r.client.ID, "nonce": "n-1", "email": adminMail, "given_name": "Olivia",
		"family_name": "Office", "s:organization": u.OrganizationID, "s:member": u.MemberID, "sub": u.subject(),
	} {
		if claims[name] != want {
			t.Errorf("claim %s is %v, want %v", name, claims[name], want)
		}
	}
	r.token = v["access_token"].(string)
	info := r.get("/connect/userinfo").json(t)
	if info["sub"] != u.subject() || info["email"] != adminMail || info["s:member"] != u.MemberID {
		t.Errorf("userinfo %v", info)
	}
}

func TestDecliningSaysAccessDenied(t *testing.T) {
	r := start(t, Options{})
	back := r.authorize(authorizeQuery(r, allScopes), adminMail, "deny")
	if back.Get("error") != "access_denied" || back.Get("code") != "" || back.Get("state") != "s t&a=te" {
		t.Errorf("came back with %v", back)
	}
}

func TestUnknownClientAndRedirectAreShownAndNeverFollowed(t *testing.T) {
	r := start(t, Options{Clients: []Client{{ID: "c", Secret: "s", Name: "C", Redirects: []string{
		"https://office.example/cb", "http://127.0.0.1/oauth/callback"}}}})
	for name, change := range map[string][2]string{
		"client":           {"client_id", "nobody"},
		"other host":       {"redirect_uri", "https://evil.example/cb"},
		"trailing slash":   {"redirect_uri", "https://office.example/cb/"},
		"letter case":      {"redirect_uri", "https://office.example/CB"},
		"plain http":       {"redirect_uri", "http://office.example/cb"},
		"other port":       {"redirect_uri", "https://office.example:444/cb"},
		"loopback path":    {"redirect_uri", "http://127.0.0.1:1/other"},
		"loopback by name": {"redirect_uri", "http://localhost:1/oauth/callback"},
		"fragment":         {"redirect_uri", "https://office.example/cb#x"},
		"missing":          {"redirect_uri", ""},
	} {
		q := authorizeQuery(r, "profile")
		q.Set(change[0], change[1])
		a := r.do("GET", "/connect/authorize?"+q.Encode(), "", nil)
		if a.StatusCode != 400 || a.Header.Get("Location") != "" {
			t.Errorf("%s: got %d to %q", name, a.StatusCode, a.Header.Get("Location"))
		}
	}
}

func TestWrongRequestsComeBackAsErrors(t *testing.T) {
	r := start(t, Options{})
	for _, c := range []struct{ field, value, want string }{
		{"response_type", "token", "unsupported_response_type"},
		{"response_type", "", "invalid_request"},
		{"scope", "profile everything", "invalid_scope"},
		{"code_challenge_method", "plain", "invalid_request"},
		{"code_challenge_method", "", "invalid_request"},
		{"code_challenge", "short", "invalid_request"},
		{"prompt", "maybe", "invalid_request"},
	} {
		q := authorizeQuery(r, "profile")
		q.Set(c.field, c.value)
		to, err := url.Parse(r.do("GET", "/connect/authorize?"+q.Encode(), "", nil).Header.Get("Location"))
		must(t, err)
		if got := to.Query(); got.Get("error") != c.want || got.Get("state") != "s t&a=te" {
			t.Errorf("%s=%q: got %v, want %s", c.field, c.value, got, c.want)
		}
	}
}

func TestCodeWorksOnceAndReplayRevokesItsTokens(t *testing.T) {
	r := start(t, Options{})
	code := r.authorize(authorizeQuery(r, allScopes), adminMail, "allow").Get("code")
	first := r.exchange(code)
	wantStatus(t, first, 200)
	r.token = first.json(t)["access_token"].(string)
	wantStatus(t, r.get("/connect/userinfo"), 200)
	wantError(t, r.exchange(code), 400, "invalid_grant")
	wantStatus(t, r.get("/connect/userinfo"), 401)
	wantError(t, r.refresh(first.json(t)["refresh_token"]), 400, "invalid_grant")
}

func (r *rig) refresh(token any) answer {
	return r.form("/connect/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token.(string)}}, "Authorization", r.basic())
}

func TestCodeIsBoundToItsRequest(t *testing.T) {
	other := Client{ID: "other", Secret: "o", Name: "O", Redirects: []string{"http://127.0.0.1/oauth/callback"}}
	r := start(t, Options{Clients: []Client{DemoClient(), other}})
	exchange := func(change func(url.Values), wait time.Duration, auth string) answer {
		code := r.authorize(authorizeQuery(r, "profile"), adminMail, "allow").Get("code")
		v := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier}}
		change(v)
		r.clock.add(wait)
		return r.form("/connect/token", v, "Authorization", auth)
	}
	same := func(url.Values) {}
	wantError(t, exchange(func(v url.Values) { v.Set("redirect_uri", "http://127.0.0.1:1/oauth/callback") }, 0, r.basic()), 400, "invalid_grant")
	wantError(t, exchange(func(v url.Values) { v.Set("code_verifier", strings.Repeat("x", 43)) }, 0, r.basic()), 400, "invalid_grant")
	wantError(t, exchange(func(v url.Values) { v.Del("code_verifier") }, 0, r.basic()), 400, "invalid_grant")
	wantError(t, exchange(func(v url.Values) { v.Set("code", "nothing") }, 0, r.basic()), 400, "invalid_grant")
	wantError(t, exchange(same, 61*time.Second, r.basic()), 400, "invalid_grant")
	wantError(t, exchange(same, 0, "Basic "+base64.StdEncoding.EncodeToString([]byte("other:o"))), 400, "invalid_grant")
	wantStatus(t, exchange(same, 59*time.Second, r.basic()), 200)
	wantStatus(t, exchange(func(v url.Values) { v.Del("redirect_uri") }, 0, r.basic()), 200) // interface.md does not mention it
}

func TestClientAuthenticationInEveryAllowedForm(t *testing.T) {
	c := Client{ID: "id+with:colon%41"[:7], Secret: "s%ec:r&t ü", Name: "N", Redirects: []string{"http://127.0.0.1/oauth/callback"}}
	r := start(t, Options{Clients: []Client{c}})
	refresh := r.signIn(adminMail, "profile offline_access")["refresh_token"].(string)
	try := func(v url.Values, header ...string) answer {
		v.Set("grant_type", "refresh_token")
		v.Set("refresh_token", refresh)
		return r.form("/connect/token", v, header...)
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(c.ID) + ":" + url.QueryEscape(c.Secret)))
	wantStatus(t, try(url.Values{}, "Authorization", r.basic()), 200)
	wantStatus(t, try(url.Values{}, "Authorization", "Basic "+encoded), 200)
	wantStatus(t, try(url.Values{"client_id": {c.ID}, "client_secret": {c.Secret}}), 200)
	wantError(t, try(url.Values{"client_id": {c.ID}, "client_secret": {c.Secret}}, "Authorization", r.basic()), 400, "invalid_request")
	a := try(url.Values{"client_id": {c.ID}, "client_secret": {"wrong"}})
	wantError(t, a, 401, "invalid_client")
	if a.Header.Get("WWW-Authenticate") == "" {
		t.Error("no WWW-Authenticate")
	}
	wantError(t, try(url.Values{}), 401, "invalid_client")

	v := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}}
	wantError(t, r.do("POST", "/connect/token?"+v.Encode(), "application/x-www-form-urlencoded", nil, "Authorization", r.basic()), 400, "invalid_request")
	wantError(t, r.do("POST", "/connect/token", "application/json", strings.NewReader("{}"), "Authorization", r.basic()), 400, "invalid_request")
	wantError(t, r.form("/connect/token", url.Values{"grant_type": {"password"}}, "Authorization", r.basic()), 400, "unsupported_grant_type")
}

func TestRefreshRollsWithSixtySecondsOfGrace(t *testing.T) {
	r := start(t, Options{})
	first := r.signIn(adminMail, allScopes)["refresh_token"]
	a := r.refresh(first)
	wantStatus(t, a, 200)
	second := a.json(t)["refresh_token"]
	if second == first {
		t.Fatal("the refresh token did not change")
	}
	r.clock.add(60 * time.Second)
	again := r.refresh(first)
	wantStatus(t, again, 200)
	third := again.json(t)["refresh_token"]
	if third == second || third == first {
		t.Error("the second redemption gives no fresh pair")
	}
	for _, token := range []any{second, third} {
		wantStatus(t, r.refresh(token), 200)
	}
	r.token = again.json(t)["access_token"].(string)
	wantStatus(t, r.get("/connect/userinfo"), 200)

	r.clock.add(time.Second)
	wantError(t, r.refresh(first), 400, "invalid_grant")
	wantError(t, r.refresh(third), 400, "invalid_grant") // reuse has ended the family
	wantStatus(t, r.get("/connect/userinfo"), 401)
}

func TestScopesDecideWhatIsGiven(t *testing.T) {
	r := start(t, Options{})
	v := r.signIn(adminMail, "profile")
	if v["refresh_token"] != nil || v["id_token"] != nil {
		t.Errorf("got %v", v)
	}
	wantError(t, r.post("/packages/list", object{}), 403, "package_not_authorized")
	wantError(t, r.post("/events/endpoints/set", object{"url": "https://a.example/"}), 403, "event_endpoint_not_authorized")

	v = r.signIn(memberMail, "profile organization member offline_access")
	if v["scope"] != "profile member offline_access" {
		t.Errorf("a plain member was granted %q", v["scope"])
	}
	wantError(t, r.post("/events/endpoints/set", object{"url": "https://a.example/"}), 403, "event_endpoint_not_authorized")
	wantStatus(t, r.post("/packages/list", object{}), 200)
	if info := r.get("/organizations/info").json(t); len(info["members"].([]any)) != 1 {
		t.Errorf("a member sees %v", info["members"])
	}
	r.signIn(adminMail, "organization")
	if info := r.get("/api/v1/organizations/info").json(t); len(info["members"].([]any)) != 2 {
		t.Errorf("an administrator sees %v", info["members"])
	}
}

func TestAccessTokenExpires(t *testing.T) {
	r := start(t, Options{AccessTokenLifetime: 5 * time.Minute})
	if v := r.signIn(adminMail, allScopes); v["expires_in"] != 300.0 {
		t.Errorf("expires_in %v", v["expires_in"])
	}
	r.clock.add(5*time.Minute - time.Second)
	wantStatus(t, r.get("/organizations/info"), 200)
	r.clock.add(time.Second)
	a := r.get("/organizations/info")
	wantError(t, a, 401, "access_token_invalid")
	if !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") {
		t.Errorf("WWW-Authenticate %q", a.Header.Get("WWW-Authenticate"))
	}
}

func TestRevokeEndsTheFamily(t *testing.T) {
	r := start(t, Options{})
	v := r.signIn(adminMail, allScopes)
	revoke := func(token string) answer {
		return r.form("/connect/revoke", url.Values{"token": {token}}, "Authorization", r.basic())
	}
	wantStatus(t, revoke("unknown"), 200)
	wantStatus(t, r.get("/connect/userinfo"), 200)
	wantStatus(t, revoke(v["refresh_token"].(string)), 200)
	wantStatus(t, r.get("/connect/userinfo"), 401)
	wantError(t, r.refresh(v["refresh_token"]), 400, "invalid_grant")
	wantError(t, r.form("/connect/revoke", url.Values{"token": {"x"}}), 401, "invalid_client")
}
