package esign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const redirect = "https://office.example.com/oauth/callback"

func signIn(t *testing.T, p *provider, changes ...func(url.Values)) (Grant, error) {
	t.Helper()
	return signInWith(t, p, p.config(), changes...)
}

func TestSigningInWithAndWithoutDiscoveryOrALabel(t *testing.T) {
	for _, discovery := range []bool{true, false} {
		for _, plain := range []bool{true, false} {
			p := newProvider(t, func(p *provider) { p.discovery, p.plain = discovery, plain })
			g := must(signIn(t, p))
			if g.Account != (Account{"u-1", "ana@example.com", "org-1", "mem-1"}) || g.Tokens.Access != "at-1" || g.Tokens.Refresh != "rt-1" || !slices.Contains(g.Scopes, "organization") {
				t.Errorf("%+v %+v", g.Account, g.Scopes)
			}
			expect(t, g.Tokens.Expiry.Sub(g.Tokens.Issued), 1800*time.Second, "it lives for %v")
			if f := p.asked()[0]; f.Get("redirect_uri") != redirect || f.Get("code_verifier") == "" {
				t.Errorf("form %v", f)
			}
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
	for name, c := range map[string]struct {
		change func(*provider)
		says   string
	}{
		"another issuer":         {func(p *provider) { p.idToken["iss"] = "https://evil.example.com" }, "could not be verified"},
		"another audience":       {func(p *provider) { p.idToken["aud"] = "somebody-else" }, "could not be verified"},
		"another nonce":          {func(p *provider) { p.idToken["nonce"] = "n" }, "could not be verified"},
		"no nonce":               {func(p *provider) { p.idToken["nonce"] = nil }, "could not be verified"},
		"expired":                {func(p *provider) { p.idToken["exp"] = time.Now().Add(-time.Hour).Unix() }, "Check the date and the time"},
		"no subject":             {func(p *provider) { p.idToken["sub"] = "" }, "could not be verified"},
		"the client secret":      {func(p *provider) { p.alg = jose.HS256 }, "could not be verified"},
		"no signature":           {func(p *provider) { p.alg = "none" }, "could not be verified"},
		"another party's":        {func(p *provider) { p.idToken["aud"], p.idToken["azp"] = []string{"office&1", "x"}, "x" }, "could not be verified"},
		"issuer without discov.": {func(p *provider) { p.discovery = false; p.idToken["iss"] = "https://evil.example.com" }, "could not be verified"},
		"no keys":                {func(p *provider) { p.keysFail = 100 }, "keys could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, c.change, func(t *testing.T, p *provider, cfg Config) {
				l := must(StartLogin(t.Context(), cfg, redirect, ""))
				g, err := l.Finish(t.Context(), p.authorize(l.AuthorizeURL()))
				if unused := l.Unused(); unused.Access != "at-1" || unused.Refresh != "rt-1" {
					t.Errorf("nobody can revoke it: %v", unused)
				}
				said := Message(err).String()
				if kindOf(err) != BadAnswer || g.Tokens.Access+g.Tokens.Refresh != "" || !strings.Contains(said, c.says) || !strings.Contains(strings.ToLower(said), "sign in again") {
					t.Errorf("%v: %s, %v", err, said, g)
				}
				harmless(t, err, p.secret, "at-1", "rt-1", "the-code")
			})
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

func TestASignInIsNotLostOverAClockASlashOrKeysThatAreAMomentAway(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*provider)
		ahead  time.Duration // of this computer's clock
	}{
		"a little late":      {func(p *provider) { p.idToken["exp"] = time.Now().Add(-20 * time.Second).Unix() }, 0},
		"a slash":            {func(p *provider) { p.discovery, p.idToken["iss"] = false, "http://127.0.0.1:1/" }, 0},
		"late keys":          {func(p *provider) { p.keysFail = 2 }, 0},
		"clock ahead":        {nil, 3 * time.Hour},
		"clock behind":       {func(p *provider) { p.idToken["nbf"] = time.Now().Unix() }, -3 * time.Hour},
		"clock years behind": {func(p *provider) { p.idToken["nbf"] = time.Now().Unix() }, -20 * 365 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, c.change, func(t *testing.T, p *provider, cfg Config) {
				cfg.Now = func() time.Time { return time.Now().Add(c.ahead) }
				if g, err := signInWith(t, p, cfg); err != nil || g.Account.Email != "ana@example.com" {
					t.Errorf("%v %+v", err, g.Account)
				}
			})
		})
	}
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
		{"an id_token with an address alone", `{"sub":"u-1","email":"other@example.com","s:organization":"org-2","s:member":"mem-2"}`,
			map[string]any{"email": "ana@example.com", "s:organization": nil, "s:member": nil},
			Account{Subject: "u-1", Email: "ana@example.com", OrganizationID: "org-2", MemberID: "mem-2"}},
		{"a profile of somebody else", `{"sub":"u-9","email":"eve@example.com"}`, map[string]any{"email": nil},
			Account{Subject: "u-1", OrganizationID: "org-1", MemberID: "mem-1"}},
		{"a broken profile", `<html>`, nil, Account{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(p *provider) { p.userinfo, p.userinfoFails, p.idToken = c.userinfo, 2, c.idToken }, func(t *testing.T, p *provider, cfg Config) {
				g, err := signInWith(t, p, cfg)
				if err != nil || g.Account != c.want {
					t.Errorf("%+v %v", g.Account, err)
				}
			})
		})
	}
}

func TestNobodyWaitsForAProfileThatTheServiceDoesNotOffer(t *testing.T) {
	bubble(t, func(p *provider) { p.idToken = nil }, func(t *testing.T, p *provider, cfg Config) {
		began := time.Now()
		must(signInWith(t, p, cfg))
		expect(t, time.Since(began), 0, "it took %v")
	})
}

// A code counts once, and a second use may cost the tokens that the first one brought (RFC 6749, 4.1.2).
func TestACodeIsRedeemedAgainWhereItWasNotUsedAndNowhereElse(t *testing.T) {
	refused := func(status int, after string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.WriteHeader(status)
		}
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		asked  int
		waits  time.Duration // at least
	}{
		"out of order":                 {refused(503, ""), 3, 0},
		"busy":                         {refused(429, ""), 3, 0},
		"out of order for a moment":    {refused(503, "4"), 3, 8 * time.Second},
		"busy for longer than anybody": {refused(429, "3600"), 1, 0},
		"an error":                     {refused(500, ""), 1, 0},
		"a gateway's error":            {refused(502, ""), 1, 0},
		"an answer that was lost":      {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, answered(2, c.answer), func(t *testing.T, p *provider, cfg Config) {
				began := time.Now()
				_, err := signInWith(t, p, cfg)
				if n, took := len(p.asked()), time.Since(began); n != c.asked || (err == nil) != (n == 3) || took < c.waits || took > c.waits+2*time.Second {
					t.Errorf("after %d requests and %v: %v", n, took, err)
				}
			})
		})
	}
	t.Run("not reached", func(t *testing.T) {
		bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
			reach, missed := cfg.HTTP.Transport, 0
			cfg.HTTP.Transport = transport(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/connect/token") && missed < 2 {
					missed++
					return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
				}
				return reach.RoundTrip(r)
			})
			must(signInWith(t, p, cfg))
			expect(t, missed, 2, "missed %d times")
		})
	})
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

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
		if names := strings.Contains(Message(err).String(), "An administrator of your organization may"); names != scope {
			t.Errorf("%s: %s", code, Message(err).String())
		}
	}
}

func TestAServerThatCannotBeReachedIsAnErrorAndNotOneWithoutDiscovery(t *testing.T) {
	p := newProvider(t, nil)
	cfg := p.config()
	p.server.Close()
	_, err := StartLogin(context.Background(), cfg, redirect, "")
	if kindOf(err) != Network || Message(err).String() != "The signing service on this computer is not running. Start it." {
		t.Errorf("%v (%s)", err, Message(err).String())
	}
	var e *Error
	if errors.As(err, &e); !e.Temporary() {
		t.Error("not temporary")
	}
}

// A page comes from the network, or from a server for something else: its addresses would lead to more of the same.
func TestDiscoveryThatIsNoneLeavesTheAddressesOfTheInterfaceAndAPageIsNoServer(t *testing.T) {
	const page = "<html>Welcome to the hotel</html>"
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   Kind // "" for a server
	}{
		"404": {http.NotFound, ""},
		"501": {answering(501, ""), ""},
		"a page for whatever it does not know": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/.well-known/jwks" {
				io.WriteString(w, `{"keys":[{"kty":"RSA"}]}`)
				return
			}
			io.WriteString(w, page)
		}, ""},
		"an empty object":   {answering(200, "{}"), ""},
		"plain http inside": {answering(200, `{"token_endpoint":"http://auth.example.com/t","authorization_endpoint":"javascript:alert(1)"}`), ""},
		"a page":            {answering(200, page), BadAnswer},
		"a text":            {answering(200, "Welcome to the hotel"), BadAnswer},
		"nothing":           {answering(200, ""), BadAnswer},
		"a list":            {answering(200, "[]"), BadAnswer},
		"a filter's":        {answering(403, page), BadAnswer},
		"a way to its own page": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/welcome" {
				http.Redirect(w, r, "/welcome", http.StatusFound)
				return
			}
			io.WriteString(w, page)
		}, BadAnswer},
		"503": {answering(503, "", "Retry-After", "7"), Server},
		"429": {answering(429, "", "Retry-After", "7"), TooMany},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := api(t, c.answer)
			base := client.cfg.BaseURL
			client.cfg.AuthURL += "/"
			a, err := discover(t.Context(), client.cfg)
			if kindOf(err) != c.kind || c.kind == "" && (a.TokenURL != base+"/connect/token" || a.AuthURL != base+"/connect/authorize" || a.JWKSURL != base+"/.well-known/jwks") {
				t.Errorf("%+v %v", a, err)
			}
			if e, _ := errors.AsType[*Error](err); (c.kind == Server || c.kind == TooMany) && e.RetryAfter != 7*time.Second {
				t.Errorf("again after %v", e.RetryAfter)
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

func signInWith(t *testing.T, p *provider, cfg Config, changes ...func(url.Values)) (Grant, error) {
	t.Helper()
	l := must(StartLogin(context.Background(), cfg, redirect, ""))
	q := p.authorize(l.AuthorizeURL())
	for _, change := range changes {
		change(q)
	}
	return l.Finish(context.Background(), q)
}

func TestCredentialsArePresentedInTheWayTheServerTakes(t *testing.T) {
	for name, c := range map[string]struct {
		methods []string // nil for no discovery
		header  bool
	}{
		"discovery does not say": {nil, false},
		"discovery names all":    {[]string{"client_secret_basic", "client_secret_post"}, false},
		"the header alone":       {[]string{"client_secret_basic"}, true},
	} {
		bubble(t, func(p *provider) { p.discovery, p.methods = c.methods != nil, c.methods }, func(t *testing.T, p *provider, cfg Config) {
			s, _ := started(p, cfg)
			access(t, s)
			expect(t, p.header, c.header, name+": in the header %v")
			cfg.ClientSecret = "wrong"
			_, err := NewSession(cfg, &vault{token: "rt-1"}).Access(t.Context())
			if kindOf(err) != BadClient || !strings.Contains(Message(err).String(), "client secret") {
				t.Errorf("%s: %v", name, err)
			}
			harmless(t, err, "wrong")
		})
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
	"a list":                    {`{%s,"expires_in":[1800]}`, assumedLifetime},
	"a type that is a number":   {`{%s,"token_type":1}`, assumedLifetime},
	"an error that is none":     {`{%s,"error":false}`, assumedLifetime},
	"an error that is empty":    {`{%s,"error":""}`, assumedLifetime},
	"an error object":           {`{%s,"error":{}}`, assumedLifetime},
	"an error, and the tokens":  {`{%s,"error":"invalid_grant"}`, assumedLifetime},
	"an odd description":        {`{%s,"error_description":[],"error_uri":7}`, assumedLifetime},
	"a scope that is a list":    {`{%s,"scope":["openid","organization"]}`, assumedLifetime},
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
				p.refresh = map[string]bool{"rt-9": true}
				answered(1, func(w http.ResponseWriter) { io.WriteString(w, `{`+rest+`"refresh_token":"rt-9"}`) })(p)
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
	bubble(t, func(p *provider) {
		p.idToken, p.refresh["rt-9"] = nil, true
		answered(1, func(w http.ResponseWriter) { io.WriteString(w, `{"refresh_token":"rt-9"}`) })(p)
	}, func(t *testing.T, p *provider, cfg Config) {
		v := &vault{}
		s := NewSession(cfg, v)
		noErr(t, s.Adopt(t.Context(), must(signInWith(t, p, cfg)).Tokens, in(v)))
		expect(t, v.now(), "rt-9", "of the code exchange, the vault holds %s")
		expect(t, access(t, s), "at-1", "renewed to %q")
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
		"no code of ours":  {400, `{"error":"invalid_grant","error_description":"the-code is wrong"}`, Invalid},
		"a list of others": {200, `[1,2,"x"]`, BadAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, answered(9, func(w http.ResponseWriter) {
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}))
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
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		s, _ := started(p, cfg)
		access(t, s)
		answered(2, func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) })(p)
		s.Invalidate("at-1")
		found := s.server
		if access(t, s); s.server == found {
			t.Error("the endpoints were not asked for again")
		}
	})
}
