package esign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const redirect = "https://office.example.com/oauth/callback"

func signIn(t *testing.T, p *provider, changes ...func(url.Values)) (Grant, error) {
	t.Helper()
	return signInWith(t, p, p.config(), changes...)
}

func TestSigningInWithAndWithoutDiscovery(t *testing.T) {
	for name, discovery := range map[string]bool{"with discovery": true, "without": false} {
		for name2, plain := range map[string]bool{"": false, ", JSON not called JSON": true} {
			t.Run(name+name2, func(t *testing.T) {
				p := newProvider(t, func(p *provider) { p.discovery, p.plain = discovery, plain })
				g := must(signIn(t, p))
				want := Account{"u-1", "ana@example.com", "org-1", "mem-1"}
				if g.Account != want || g.Tokens.Access != "at-1" || g.Tokens.Refresh != "rt-1" || !slices.Contains(g.Scopes, "organization") {
					t.Errorf("%+v %+v", g.Account, g.Scopes)
				}
				if d := g.Tokens.Expiry.Sub(g.Tokens.Issued); d != 1800*time.Second {
					t.Errorf("lifetime %v", d)
				}
				if f := p.asked()[0]; f.Get("redirect_uri") != redirect || f.Get("code_verifier") == "" {
					t.Errorf("form %v", f)
				}
			})
		}
	}
}

func TestTheAuthorizeAddress(t *testing.T) {
	p := newProvider(t, nil)
	address := func(prompt string) url.Values {
		l := must(StartLogin(context.Background(), p.config(), redirect, prompt))
		u, _ := url.Parse(l.AuthorizeURL())
		if u.Query().Get("state") != l.State() || len(l.State()) < 43 {
			t.Errorf("state %q", l.State())
		}
		return u.Query()
	}
	q := address("")
	if q.Has("prompt") || q.Has("code_verifier") || q.Get("scope") != "openid profile offline_access organization" || q.Get("redirect_uri") != redirect || q.Get("nonce") == "" {
		t.Errorf("%v", q)
	}
	if q := address("login"); q.Get("prompt") != "login" {
		t.Errorf("%v", q)
	}
	if a, b := address("").Get("state"), address("").Get("state"); a == b {
		t.Error("two sign-ins share a state")
	}
}

func TestAnIDTokenThatDoesNotVerifyIsRefused(t *testing.T) {
	for name, change := range map[string]func(*provider){
		"another issuer":         func(p *provider) { p.idToken["iss"] = "https://evil.example.com" },
		"another audience":       func(p *provider) { p.idToken["aud"] = "somebody-else" },
		"another nonce":          func(p *provider) { p.idToken["nonce"] = "n" },
		"no nonce":               func(p *provider) { p.idToken["nonce"] = nil },
		"expired":                func(p *provider) { p.idToken["exp"] = time.Now().Add(-time.Hour).Unix() },
		"no subject":             func(p *provider) { p.idToken["sub"] = "" },
		"the client secret":      func(p *provider) { p.alg = jose.HS256 },
		"no signature":           func(p *provider) { p.alg = "none" },
		"another party's":        func(p *provider) { p.idToken["aud"] = []string{"office&1", "x"}; p.idToken["azp"] = "x" },
		"issuer without discov.": func(p *provider) { p.discovery = false; p.idToken["iss"] = "https://evil.example.com" },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, change)
			g, err := signIn(t, p)
			if kindOf(err) != BadAnswer || g.Tokens.Access != "" {
				t.Errorf("%v, %v", err, g)
			}
			harmless(t, err, p.secret, "at-1", "rt-1", "the-code")
		})
	}
	for _, alg := range []jose.SignatureAlgorithm{jose.HS256, "none"} {
		t.Run(string(alg)+" over TLS is fine", func(t *testing.T) {
			p := newProvider(t, func(p *provider) { p.alg, p.tls = alg, true })
			if g, err := signIn(t, p); err != nil || g.Account.Subject != "u-1" {
				t.Error(err, g)
			}
			for claim, other := range map[string]any{"iss": "https://evil.example.com", "aud": "x", "nonce": "n", "exp": 1, "sub": ""} {
				p.idToken = map[string]any{claim: other}
				if _, err := signIn(t, p); kindOf(err) != BadAnswer {
					t.Error(claim, err)
				}
			}
		})
	}
	t.Run("a little late is fine", func(t *testing.T) {
		p := newProvider(t, func(p *provider) { p.idToken["exp"] = time.Now().Add(-20 * time.Second).Unix() })
		if _, err := signIn(t, p); err != nil {
			t.Error(err)
		}
	})
	t.Run("an issuer with a slash, without discovery", func(t *testing.T) {
		p := newProvider(t, func(p *provider) { p.discovery = false })
		p.idToken["iss"] = p.server.URL + "/"
		if _, err := signIn(t, p); err != nil {
			t.Error(err)
		}
	})
	t.Run("a key nobody published", func(t *testing.T) {
		p, other := newProvider(t, func(p *provider) { p.tls = true }), newProvider(t, nil)
		p.token = func(w http.ResponseWriter, form url.Values, n int) bool {
			other.nonce, other.idToken = p.nonce, map[string]any{"iss": p.server.URL}
			p.json(w, 200, map[string]any{"access_token": "at-1", "id_token": other.sign()})
			return true
		}
		if _, err := signIn(t, p); kindOf(err) != BadAnswer {
			t.Error(err)
		}
	})
}

func TestTheProfileCompletesTheAccount(t *testing.T) {
	for _, c := range []struct {
		name, userinfo string
		idToken        map[string]any
		want           Account
	}{
		{"no id_token", `{"sub":"u-2","email":"jan@example.com","s:organization":"o"}`, nil, Account{Subject: "u-2", Email: "jan@example.com", OrganizationID: "o"}},
		{"no id_token and no profile", "", nil, Account{}},
		{"an id_token without an address", `{"sub":"u-1","email":"ana@example.com"}`, map[string]any{"email": nil},
			Account{Subject: "u-1", Email: "ana@example.com", OrganizationID: "org-1", MemberID: "mem-1"}},
		{"a profile of somebody else", `{"sub":"u-9","email":"eve@example.com"}`, map[string]any{"email": nil},
			Account{Subject: "u-1", OrganizationID: "org-1", MemberID: "mem-1"}},
		{"a broken profile", `<html>`, nil, Account{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProvider(t, func(p *provider) { p.userinfo, p.idToken = c.userinfo, c.idToken })
			g, err := signIn(t, p)
			if err != nil || g.Account != c.want {
				t.Errorf("%+v %v", g.Account, err)
			}
		})
	}
}

func TestAStrayRedirectDoesNotEndTheSignIn(t *testing.T) {
	p := newProvider(t, nil)
	l := must(StartLogin(context.Background(), p.config(), redirect, ""))
	good := p.authorize(l.AuthorizeURL())
	for _, q := range []url.Values{
		{"code": {"x"}}, {"code": {"x"}, "state": {"wrong"}}, {"error": {"access_denied"}, "state": {""}},
		{"code": {"the-code"}, "state": {l.State(), l.State()}},
		{"code": {"the-code"}, "state": {l.State()}, "iss": {"https://evil.example.com"}},
	} {
		if _, err := l.Finish(context.Background(), q); kindOf(err) != Invalid {
			t.Errorf("%v: %v", q, err)
		}
	}
	if n := len(p.asked()); n != 0 {
		t.Fatalf("the token endpoint was asked %d times", n)
	}
	must(l.Finish(context.Background(), good))
	if _, err := l.Finish(context.Background(), good); kindOf(err) != Invalid {
		t.Errorf("a second time: %v", err)
	}
	expect(t, len(p.asked()), 1, "the token endpoint was asked %d times")
}

func TestARefusedSignInSaysWhy(t *testing.T) {
	for code, want := range map[string]Kind{
		"access_denied": Denied, "login_required": Denied, "unauthorized_client": BadClient,
		"server_error": Server, "invalid_scope": Refused,
	} {
		_, err := signIn(t, newProvider(t, nil), func(q url.Values) {
			q.Del("code")
			q.Set("error", code)
			q.Set("error_description", "because\r\n\x1b[31m")
		})
		if kindOf(err) != want || strings.ContainsAny(Message(err).String(), "\r\n\x1b") {
			t.Errorf("%s: %v (%s)", code, err, Message(err).String())
		}
		scope := code == "access_denied" || code == "invalid_scope" // of which one needs an administrator
		if names := strings.Contains(Message(err).String(), "scope organization needs an administrator"); names != scope {
			t.Errorf("%s: %s", code, Message(err).String())
		}
	}
	t.Run("the code is not accepted", func(t *testing.T) {
		p := newProvider(t, nil)
		_, err := signIn(t, p, func(q url.Values) { q.Set("code", "another-code") })
		if kindOf(err) != Invalid {
			t.Error(err)
		}
		harmless(t, err, "another-code", "the-code", p.secret)
	})
	t.Run("the client secret is not accepted", func(t *testing.T) {
		p := newProvider(t, nil)
		cfg := p.config()
		cfg.ClientSecret = "wrong-secret"
		_, err := signInWith(t, p, cfg)
		if kindOf(err) != BadClient {
			t.Error(err)
		}
		harmless(t, err, "wrong-secret", "the-code")
	})
}

func TestAServerThatCannotBeReachedIsAnErrorAndNotOneWithoutDiscovery(t *testing.T) {
	p := newProvider(t, nil)
	cfg := p.config()
	p.server.Close()
	_, err := StartLogin(context.Background(), cfg, redirect, "")
	if kindOf(err) != Network || Message(err).String() != "The signing service could not be reached. Check the internet connection." {
		t.Errorf("%v (%s)", err, Message(err).String())
	}
	var e *Error
	if errors.As(err, &e); !e.Temporary() {
		t.Error("not temporary")
	}
}

func TestDiscoveryThatIsNoneLeavesTheAddressesOfTheInterface(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"404": http.NotFound,
		"a page for whatever it does not know": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/.well-known/jwks" {
				w.Write([]byte(`{"keys":[{"kty":"RSA"}]}`))
				return
			}
			w.Write([]byte("<html>hello</html>"))
		},
		"an empty object": func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("{}")) },
		"plain http inside": func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte(`{"token_endpoint":"http://auth.example.com/t","authorization_endpoint":"javascript:alert(1)"}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(handler)
			defer s.Close()
			a, err := discover(context.Background(), Config{AuthURL: s.URL + "/", BaseURL: s.URL, ClientID: "c", HTTP: s.Client()})
			if err != nil || a.TokenURL != s.URL+"/connect/token" || a.AuthURL != s.URL+"/connect/authorize" || a.JWKSURL != s.URL+"/.well-known/jwks" {
				t.Errorf("%+v %v", a, err)
			}
		})
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(503)
	}))
	defer s.Close()
	_, err := discover(context.Background(), Config{AuthURL: s.URL, BaseURL: s.URL, ClientID: "c", HTTP: s.Client()})
	var e *Error
	if !errors.As(err, &e) || e.Kind != Server || e.RetryAfter != 7*time.Second {
		t.Errorf("503: %v", err)
	}
}

// Such a page comes from the network, or from a server for something else: its addresses would lead to more of the same.
func TestAPageInThePlaceOfDiscoveryIsNoServer(t *testing.T) {
	page := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			w.Write([]byte(text))
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"a page":     page(http.StatusOK, "<html>Welcome to the hotel</html>"),
		"a text":     page(http.StatusOK, "Welcome to the hotel"),
		"nothing":    page(http.StatusOK, ""),
		"a list":     page(http.StatusOK, "[]"),
		"a filter's": page(http.StatusForbidden, "<html>This site is blocked</html>"),
		"a way to its own page": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/welcome" {
				http.Redirect(w, r, "/welcome", http.StatusFound)
				return
			}
			w.Write([]byte("<html>Welcome to the hotel</html>"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(handler)
			defer s.Close()
			l, err := StartLogin(context.Background(), Config{AuthURL: s.URL, BaseURL: s.URL, ClientID: "c", HTTP: s.Client()}, redirect, "")
			if kindOf(err) != BadAnswer {
				t.Errorf("%+v, %v", l, err)
			}
		})
	}
}

func TestPastedAddresses(t *testing.T) {
	for name, pasted := range map[string]string{
		"the address":      redirect + "?code=a%2Bb&state=s",
		"spaces around":    "  \n" + redirect + "?code=a%2Bb&state=s \t\r\n",
		"wrapped lines":    redirect + "?code=a%2B\n   b&sta\nte=s",
		"quotes":           `"` + redirect + `?code=a%2Bb&state=s"`,
		"typographic ones": "„" + redirect + "?code=a%2Bb&state=s“",
		"angle brackets":   "<" + redirect + "?code=a%2Bb&state=s>",
		"no scheme":        "office.example.com/oauth/callback?code=a%2Bb&state=s",
		"only the query":   "code=a%2Bb&state=s",
		"with its mark":    "?code=a%2Bb&state=s",
		"a fragment":       redirect + "?code=a%2Bb&state=s#_=_",
		"page source":      redirect + "?code=a%2Bb&amp;state=s",
	} {
		v, err := ParseCallback(pasted)
		if err != nil || v.Get("code") != "a+b" || v.Get("state") != "s" {
			t.Errorf("%s: %v %v", name, v, err)
		}
	}
	for name, pasted := range map[string]string{
		"nothing": "", "no state": redirect + "?code=sEcReT", "something else": "https://example.com/sEcReT", "broken": "?code=%zz&state=sEcReT",
	} {
		_, err := ParseCallback(pasted)
		if kindOf(err) != Invalid || Message(err).String() == "" {
			t.Errorf("%s: %v", name, err)
		}
		harmless(t, err, "sEcReT")
	}
}

func TestTheClockOfThisComputerDoesNotKeepAnybodyFromSigningIn(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ahead": 3 * time.Hour, "behind": -3 * time.Hour, "years behind": -20 * 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, func(p *provider) { p.idToken["nbf"] = time.Now().Unix() })
			cfg := p.config()
			cfg.Now = func() time.Time { return time.Now().Add(ahead) }
			g, err := signInWith(t, p, cfg)
			if err != nil || g.Account.Email != "ana@example.com" {
				t.Errorf("%v %+v", err, g.Account)
			}
		})
	}
}

func TestASignInThatIsNotUsedSaysWhatHappened(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*provider)
		says   string
	}{
		"another audience": {func(p *provider) { p.idToken["aud"] = "x" }, "could not be verified"},
		"out of date":      {func(p *provider) { p.idToken["exp"] = time.Now().Add(-time.Hour).Unix() }, "Check the date and the time"},
		"no keys":          {func(p *provider) { p.keysFail = 100 }, "keys could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
				c.change(p)
				g, err := signInWith(t, p, cfg)
				if kindOf(err) != BadAnswer || g.Tokens.Refresh != "" || !strings.Contains(Message(err).String(), c.says) || !strings.Contains(strings.ToLower(Message(err).String()), "sign in again") {
					t.Errorf("%v: %s", err, Message(err).String())
				}
				harmless(t, err, "at-1", "rt-1", "the-code", p.secret)
			})
		})
	}
}

func TestKeysThatAreAMomentAwayDoNotCostTheSignIn(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		p.keysFail = 2
		if g, err := signInWith(t, p, cfg); err != nil || g.Account.Email != "ana@example.com" {
			t.Errorf("%v %+v", err, g.Account)
		}
	})
}

func signInWith(t *testing.T, p *provider, cfg Config, changes ...func(url.Values)) (Grant, error) {
	t.Helper()
	l := must(StartLogin(context.Background(), cfg, redirect, ""))
	q := p.authorize(l.AuthorizeURL())
	for _, change := range changes {
		change(q)
	}
	return l.Finish(context.Background(), q)
}

const oddID, oddSecret = "client+1", "a+b/c=d&e%f g:ü"

// newPickyServer is a server whose discovery lists methods (nil for no discovery). It rejects the credentials of a token
// request, which asked returns.
func newPickyServer(t *testing.T, methods []string) (s *Session, asked *http.Request) {
	asked = new(http.Request)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+discoveryPath, func(w http.ResponseWriter, _ *http.Request) {
		if methods == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"token_endpoint_auth_methods_supported": methods})
	})
	mux.HandleFunc("POST /connect/token", func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		*asked = *r
		w.WriteHeader(http.StatusUnauthorized)
		json.NewEncoder(w).Encode(map[string]string{"error": "invalid_client"})
	})
	p := httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return NewSession(Config{AuthURL: p.URL, BaseURL: p.URL, ClientID: oddID, ClientSecret: oddSecret}, &vault{token: "r1"}), asked
}

func TestCredentialsArePresentedInTheWayTheServerTakes(t *testing.T) {
	for name, c := range map[string]struct {
		methods []string
		header  bool
	}{
		"discovery does not say": {nil, false},
		"discovery names all":    {[]string{"client_secret_basic", "client_secret_post"}, false},
		"the header alone":       {[]string{"client_secret_basic"}, true},
	} {
		s, asked := newPickyServer(t, c.methods)
		_, err := s.Access(t.Context())
		if err == nil || !strings.Contains(Message(err).String(), "client secret") {
			t.Errorf("%s: %v", name, err)
		}
		harmless(t, err, oddSecret)
		id, secret, header := asked.BasicAuth()
		if !header {
			id, secret = asked.PostForm.Get("client_id"), asked.PostForm.Get("client_secret")
		}
		if header != c.header || id != oddID || secret != oddSecret || header && asked.PostForm.Has("client_secret") {
			t.Errorf("%s: %q and %q were sent, in the header: %v", name, id, secret, header)
		}
	}
}

// oddAnswers are bodies of token answers as some service might write them: %s stands for access_token, refresh_token and
// id_token.
var oddAnswers = map[string]struct {
	body string
	life time.Duration
}{
	"three seconds":             {`{%s,"expires_in":3}`, 3 * time.Second},
	"nothing said":              {`{%s}`, assumedLifetime},
	"a fraction":                {`{%s,"expires_in":1799.5}`, 1799 * time.Second},
	"a string":                  {`{%s,"expires_in":"1800"}`, 1800 * time.Second},
	"an empty string":           {`{%s,"expires_in":""}`, assumedLifetime},
	"an exponent":               {`{%s,"expires_in":18e2}`, 1800 * time.Second},
	"beyond int64":              {`{%s,"expires_in":99999999999999999999}`, assumedLifetime},
	"a month":                   {`{%s,"expires_in":2592000}`, longestLifetime},
	"negative":                  {`{%s,"expires_in":-1}`, assumedLifetime},
	"null":                      {`{%s,"expires_in":null}`, assumedLifetime},
	"a word":                    {`{%s,"expires_in":"NaN"}`, assumedLifetime},
	"a list":                    {`{%s,"expires_in":[1800]}`, assumedLifetime},
	"an object":                 {`{%s,"expires_in":{"seconds":1800}}`, assumedLifetime},
	"a type that is a number":   {`{%s,"token_type":1}`, assumedLifetime},
	"a type that is null":       {`{%s,"token_type":null}`, assumedLifetime},
	"a type that is a list":     {`{%s,"token_type":["Bearer"]}`, assumedLifetime},
	"an error that is none":     {`{%s,"error":false}`, assumedLifetime},
	"an error that is null":     {`{%s,"error":null}`, assumedLifetime},
	"an error that is empty":    {`{%s,"error":""}`, assumedLifetime},
	"an error that is 0":        {`{%s,"error":0}`, assumedLifetime},
	"an error object":           {`{%s,"error":{}}`, assumedLifetime},
	"an error, and the tokens":  {`{%s,"error":"invalid_grant"}`, assumedLifetime},
	"an odd description":        {`{%s,"error_description":[],"error_uri":7}`, assumedLifetime},
	"a scope that is a list":    {`{%s,"scope":["openid","organization"]}`, assumedLifetime},
	"a scope that is null":      {`{%s,"scope":null}`, assumedLifetime},
	"a scope list of anything":  {`{%s,"scope":[1,null,{}]}`, assumedLifetime},
	"members nobody knows":      {`{"a":{"b":[1,2,{}]},%s,"z":1e400}`, assumedLifetime},
	"with a byte order mark":    {"\xef\xbb\xbf{%s}", assumedLifetime},
	"with something behind":     {"{%s}\n<!-- served by 7 -->", assumedLifetime},
	"with white space in front": {"\r\n\t {%s}", assumedLifetime},
}

// odd makes the provider answer with one of oddAnswers, with valid tokens.
func (p *provider) odd(body string) {
	p.token = func(w http.ResponseWriter, _ url.Values, n int) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		refresh := fmt.Sprintf("rt-%d", n)
		p.refresh[refresh] = true
		members := fmt.Sprintf(`"access_token":"at-%d","refresh_token":%q`, n, refresh)
		if p.idToken != nil && p.nonce != "" {
			members += fmt.Sprintf(`,"id_token":%q`, p.sign())
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, body, members)
		return true
	}
}

func TestATokenIsUsedUntilShortlyBeforeItsEndHoweverOddItsAnswerIs(t *testing.T) {
	for name, c := range oddAnswers {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(p *provider) { p.odd(c.body) }, func(t *testing.T, p *provider, cfg Config) {
				s, v := started(p, cfg)
				if access(t, s) != "at-1" || v.now() != "rt-1" || len(p.asked()) != 1 {
					t.Fatalf("the vault holds %s after %d requests", v.now(), len(p.asked()))
				}
				skew := min(refreshSkew, c.life/10) // it is renewed before its end
				time.Sleep(c.life - skew - time.Millisecond)
				expect(t, access(t, s), "at-1", "renewed too early: %s")
				time.Sleep(2 * time.Millisecond)
				if a := access(t, s); a != "at-2" || v.now() != "rt-2" {
					t.Errorf("%s and %s after the end", a, v.now())
				}
			})
			bubble(t, func(p *provider) { p.odd(c.body) }, func(t *testing.T, p *provider, cfg Config) {
				g, err := signInWith(t, p, cfg)
				if err != nil || g.Tokens.Access != "at-1" || g.Tokens.Refresh != "rt-1" || g.Account.Email != "ana@example.com" ||
					g.Tokens.Expiry.Sub(g.Tokens.Issued) != c.life || !slices.Contains(g.Scopes, "organization") {
					t.Errorf("the code: %+v, %+v, %v", g.Account, g.Scopes, err)
				}
			})
		})
	}
}

// A new refresh token has replaced the old one, whatever else the answer contains or lacks.
func TestTheNewRefreshTokenIsKeptBeforeTheRestIsJudged(t *testing.T) {
	for name, rest := range map[string]string{
		"no access token": ``, "null": `"access_token":null,`, "an object": `"access_token":{},`,
		"one that fits no header": `"access_token":"at\r\nX-Evil: 1",`, "one of two words": `"access_token":"at 1",`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(p *provider) {
				p.token = func(w http.ResponseWriter, _ url.Values, n int) bool {
					if n == 1 {
						p.mu.Lock()
						defer p.mu.Unlock()
						p.refresh = map[string]bool{"rt-9": true}
						w.Write([]byte(`{` + rest + `"refresh_token":"rt-9"}`))
					}
					return n == 1
				}
			}, func(t *testing.T, p *provider, cfg Config) {
				s, v := started(p, cfg)
				if _, err := s.Access(t.Context()); kindOf(err) != BadAnswer {
					t.Errorf("%v", err)
				}
				if a := access(t, s); a != "at-1" || !slices.Equal(v.events, []string{"rt-9", "rt-1"}) {
					t.Errorf("%s, the vault kept %v", a, v.events)
				}
			})
		})
	}
	t.Run("at the code exchange", func(t *testing.T) {
		p := newProvider(t, func(p *provider) {
			p.idToken = nil
			p.token = func(w http.ResponseWriter, form url.Values, n int) bool {
				if form.Get("grant_type") == "authorization_code" {
					p.mu.Lock()
					defer p.mu.Unlock()
					p.refresh["rt-9"] = true
					w.Write([]byte(`{"refresh_token":"rt-9"}`))
				}
				return form.Get("grant_type") == "authorization_code"
			}
		})
		g := must(signIn(t, p))
		v := &vault{}
		s := NewSession(p.config(), v)
		if err := s.Adopt(context.Background(), g.Tokens, nil); err != nil || v.now() != "rt-9" {
			t.Fatalf("%v, the vault holds %s", err, v.now())
		}
		if access(t, s) != "at-1" {
			t.Error("not renewed")
		}
	})
}

func TestAnAnswerToTheCodeThatSaysNothingIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   Kind
	}{
		"a page":           {200, "<html>log in</html>", BadAnswer},
		"a page as 400":    {400, "<html>bad</html>", BadAnswer},
		"half of it":       {200, `{"access_token":"at-1"`, BadAnswer},
		"an error as 200":  {200, `{"error":"invalid_client"}`, BadClient},
		"no code of ours":  {200, `{"error":"invalid_grant"}`, Invalid},
		"a list of others": {200, `[1,2,"x"]`, BadAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, func(p *provider) {
				p.token = func(w http.ResponseWriter, _ url.Values, _ int) bool {
					w.WriteHeader(c.status)
					w.Write([]byte(c.body))
					return true
				}
			})
			_, err := signIn(t, p)
			if kindOf(err) != c.want || len(p.asked()) != 1 {
				t.Errorf("%v after %d requests", err, len(p.asked()))
			}
			if s := Message(err).String(); c.want != BadClient && !strings.Contains(s, "Sign in again") {
				t.Errorf("said: %s", s)
			}
			harmless(t, err, "the-code", p.secret, "at-1")
		})
	}
}

func TestATokenEndpointThatMovedIsFoundAgain(t *testing.T) {
	moved := false
	p := newProvider(t, func(p *provider) {
		p.token = func(w http.ResponseWriter, _ url.Values, n int) bool {
			if moved && n == 2 {
				http.NotFound(w, nil)
				return true
			}
			return false
		}
	})
	s, _ := started(p, p.config())
	access(t, s)
	moved = true
	s.Invalidate("at-1")
	found := s.server
	if access(t, s); s.server == found {
		t.Error("the endpoints were not asked for again")
	}
}

func FuzzTokenAnswer(f *testing.F) {
	for _, c := range oddAnswers {
		f.Add(fmt.Appendf(nil, c.body, `"access_token":"a","refresh_token":"r"`))
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		a, _ := readTokenAnswer(body)
		tokens := a.tokens(now)
		if d := tokens.Expiry.Sub(now); d <= 0 || d > longestLifetime {
			t.Errorf("lives for %v", d)
		}
		var plain struct {
			Refresh string `json:"refresh_token"`
		}
		if json.Unmarshal(body, &plain) == nil && plain.Refresh != "" && tokens.Refresh != plain.Refresh {
			t.Errorf("read %q, want %q", tokens.Refresh, plain.Refresh)
		}
	})
}
