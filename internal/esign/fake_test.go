package esign

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"

	"countersign/internal/trytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider is a small authorization server. Its fields are set before use; mu guards the recorded requests.
type provider struct {
	t         *testing.T
	handler   http.Handler
	server    *httptest.Server // nil in a bubble
	url       string
	secret    string
	discovery bool                    // serves the discovery document
	path      string                  // prefix of the discovered endpoints
	idToken   map[string]any          // claims that override the defaults; nil for no id_token
	alg       jose.SignatureAlgorithm // ES256 unless set
	expiresIn any                     // 1800 unless set; nil field left out when noExpiry
	noExpiry  bool
	userinfo  string // JSON, "" for 404
	plain     bool   // answers JSON without a Content-Type
	tls       bool

	// token may answer instead of the provider; if it returns false, the provider answers.
	token func(w http.ResponseWriter, form url.Values, n int) bool

	key *ecdsa.PrivateKey

	keysFail, userinfoFails int // how often requests for them fail

	info int // the status of the answer to organizations/info; 0 for 404

	irrevocable string   // the kind of token that it does not revoke
	methods     []string // by which it says it takes the credentials
	header      bool     // they came in the header

	mu        sync.Mutex
	forms     []url.Values // POSTed to the token endpoint
	revoked   []url.Values
	nonce     string
	challenge string
	refresh   map[string]bool // valid tokens
	issued    int
}

// newProvider runs a provider on loopback.
func newProvider(t *testing.T, change func(p *provider)) *provider {
	p := makeProvider(t, change)
	p.server = httptest.NewUnstartedServer(p.handler)
	if p.tls {
		p.server.StartTLS()
	} else {
		p.server.Start()
	}
	p.url = p.server.URL
	t.Cleanup(p.server.Close)
	return p
}

func makeProvider(t *testing.T, change func(p *provider)) *provider {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	p := &provider{t: t, secret: "s3cr%t+&=/ é:", discovery: true, key: key, expiresIn: 1800, alg: jose.ES256,
		idToken: map[string]any{}, refresh: map[string]bool{}}
	if change != nil {
		change(p)
	}
	mux := http.NewServeMux()
	if p.discovery {
		p.path = "/oidc"
		mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
			u := p.url + p.path
			p.json(w, 200, map[string]any{"issuer": p.url, "authorization_endpoint": u + "/connect/authorize",
				"token_endpoint": u + "/connect/token", "userinfo_endpoint": u + "/connect/userinfo",
				"jwks_uri": u + "/keys", "revocation_endpoint": u + "/connect/revoke",
				"id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"}, "token_endpoint_auth_methods_supported": p.methods})
		})
		mux.HandleFunc("GET "+p.path+"/keys", p.keys)
	} else {
		mux.HandleFunc("GET /.well-known/jwks", p.keys)
	}
	mux.HandleFunc("POST "+p.path+"/connect/token", p.serveToken)
	mux.HandleFunc("POST "+p.path+"/connect/revoke", func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		p.mu.Lock()
		p.revoked = append(p.revoked, r.PostForm)
		p.mu.Unlock()
		if r.PostForm.Get("token_type_hint") == p.irrevocable {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error": "unsupported_token_type"}`)
		}
	})
	mux.HandleFunc("GET "+p.path+"/connect/userinfo", func(w http.ResponseWriter, r *http.Request) {
		if p.userinfoFails > 0 {
			p.userinfoFails--
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if p.userinfo == "" || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer at-") {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, p.userinfo)
	})
	mux.HandleFunc("GET /api/v1/organizations/info", func(w http.ResponseWriter, _ *http.Request) { p.json(w, cmp.Or(p.info, 404), map[string]any{}) })
	p.handler = mux
	return p
}

// officeScopes are the scopes that an office requests (interface.md, "Scopes").
var officeScopes = []string{"openid", "profile", "offline_access", "organization"}

func (p *provider) config() Config {
	cfg := Config{AuthURL: p.url, BaseURL: p.url, ClientID: "office&1", ClientSecret: p.secret, Scopes: officeScopes}
	if p.server != nil {
		cfg.HTTP = p.server.Client()
	}
	return cfg
}

func (p *provider) json(w http.ResponseWriter, status int, v any) {
	if !p.plain {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func (p *provider) keys(w http.ResponseWriter, r *http.Request) {
	if p.keysFail > 0 {
		p.keysFail--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	unreadable := map[string]any{"kty": "EC", "crv": "secp256k1", "x": "AAAA", "y": "AAAA"}
	p.json(w, 200, map[string]any{"keys": []any{unreadable, jose.JSONWebKey{Key: p.key.Public(), KeyID: "k1", Algorithm: "ES256", Use: "sig"}}})
}

// authorize plays the browser and the person: it returns the query of the redirect.
func (p *provider) authorize(address string) url.Values {
	u := must(url.Parse(address))
	q := u.Query()
	if q.Get("response_type") != "code" || q.Get("client_id") != "office&1" || q.Get("code_challenge_method") != "S256" {
		p.t.Errorf("authorize was asked %v", q)
	}
	p.mu.Lock()
	p.nonce, p.challenge = q.Get("nonce"), q.Get("code_challenge")
	p.mu.Unlock()
	return url.Values{"code": {"the-code"}, "state": {q.Get("state")}}
}

func (p *provider) serveToken(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	p.mu.Lock()
	if id, secret, ok := r.BasicAuth(); ok && !r.PostForm.Has("client_secret") {
		p.header = true
		r.PostForm.Set("client_id", id)
		r.PostForm.Set("client_secret", secret)
	}
	p.forms = append(p.forms, r.PostForm)
	n := len(p.forms)
	p.mu.Unlock()
	if r.UserAgent() != userAgent || p.token != nil && p.token(w, r.PostForm, n) {
		return
	}
	p.grant(w, r.PostForm)
}

// grant answers as interface.md says.
func (p *provider) grant(w http.ResponseWriter, form url.Values) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if form.Get("client_id") != "office&1" || form.Get("client_secret") != p.secret {
		p.json(w, 401, map[string]string{"error": "invalid_client"})
		return
	}
	switch form.Get("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		if form.Get("code") != "the-code" || form.Get("redirect_uri") == "" || base64.RawURLEncoding.EncodeToString(sum[:]) != p.challenge {
			p.json(w, 400, map[string]string{"error": "invalid_grant", "error_description": "the-code is wrong"})
			return
		}
	case "refresh_token":
		if !p.refresh[form.Get("refresh_token")] {
			p.json(w, 400, map[string]string{"error": "invalid_grant"})
			return
		}
	default:
		p.json(w, 400, map[string]string{"error": "unsupported_grant_type"})
		return
	}
	p.issued++
	refresh := fmt.Sprintf("rt-%d", p.issued)
	p.refresh[refresh] = true
	answer := map[string]any{"access_token": fmt.Sprintf("at-%d", p.issued), "refresh_token": refresh,
		"token_type": "Bearer", "expires_in": p.expiresIn, "scope": "openid profile offline_access organization"}
	if p.noExpiry {
		delete(answer, "expires_in")
	}
	if p.idToken != nil {
		answer["id_token"] = p.sign()
	}
	p.json(w, 200, answer)
}

func (p *provider) sign() string {
	claims := map[string]any{"iss": p.url, "aud": "office&1", "sub": "u-1", "nonce": p.nonce,
		"exp": time.Now().Add(5 * time.Minute).Unix(), "iat": time.Now().Unix(), "email": "ana@example.com",
		"given_name": "Ana", "family_name": "Ruiz", "s:organization": "org-1", "s:member": "mem-1"}
	maps.Copy(claims, p.idToken)
	var key any = jose.JSONWebKey{Key: p.key, KeyID: "k1"}
	if p.alg == jose.HS256 {
		key = []byte(strings.Repeat(p.secret, 3))
	}
	payload, _ := json.Marshal(claims)
	if p.alg == "none" {
		return "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString(payload) + "."
	}
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: p.alg, Key: key}, nil))
	jws := must(signer.Sign(payload))
	s, _ := jws.CompactSerialize()
	return s
}

func (p *provider) asked() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]url.Values(nil), p.forms...)
}

// vault is an in-memory Vault that can fail and records its calls.
type vault struct {
	mu     sync.Mutex
	token  string
	events []string

	broken, unreadable error
}

func (v *vault) Refresh(context.Context) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.token, v.unreadable
}

func (v *vault) SetRefresh(_ context.Context, token string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.broken != nil {
		return v.broken
	}
	v.token = token
	v.events = append(v.events, token)
	return nil
}

// in keeps the refresh token of a sign-in in v.
func in(v *vault) func(refresh string) error {
	return func(refresh string) error { return v.SetRefresh(context.Background(), refresh) }
}

func (v *vault) now() string { s, _ := v.Refresh(context.Background()); return s }

func kindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// harmless fails the test if an error, printed in any way, contains one of the secrets.
func harmless(t *testing.T, err error, secrets ...string) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		all := fmt.Sprintf("%v|%+v|%#v|%s", e, e, e, Message(e).String())
		for _, s := range secrets {
			if strings.Contains(all, s) || strings.Contains(all, url.QueryEscape(s)) {
				t.Errorf("an error shows %q: %s", s, all)
			}
		}
	}
}

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// within serves h in memory, for a synctest bubble, so that time is fake and waiting is free. It returns a client for it.
func within(t *testing.T, h http.HandlerFunc) *Client {
	conns := make(pipes)
	server := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	go server.Serve(conns)
	client := NewHTTPClient(func(ctx context.Context, _, _ string) (net.Conn, error) {
		near, far := net.Pipe()
		select {
		case conns <- far:
			return near, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	t.Cleanup(func() {
		client.CloseIdleConnections()
		server.Close()
		time.Sleep(callBound) // until what takes long has ended
	})
	const base = "http://127.0.0.1:1"
	return NewClient(Config{AuthURL: base, BaseURL: base, ClientID: "c", HTTP: client}, &tokens{})
}

// bubble runs f in a synctest bubble with a provider.
func bubble(t *testing.T, change func(*provider), f func(t *testing.T, p *provider, cfg Config)) {
	synctest.Test(t, func(t *testing.T) {
		p := makeProvider(t, change)
		client := within(t, p.handler.ServeHTTP)
		p.url = client.cfg.BaseURL
		cfg := p.config()
		cfg.HTTP = client.cfg.HTTP
		f(t, p, cfg)
	})
}

// answered makes the provider answer that many token requests like this.
func answered(requests int, answer func(w http.ResponseWriter)) func(*provider) {
	return func(p *provider) {
		p.token = func(w http.ResponseWriter, _ url.Values, n int) bool {
			if n <= requests {
				answer(w)
			}
			return n <= requests
		}
	}
}

// pipes is a listener for the far ends of connections.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func started(p *provider, cfg Config) (*Session, *vault) {
	p.mu.Lock()
	p.refresh["rt-0"] = true
	p.mu.Unlock()
	v := &vault{token: "rt-0"}
	return NewSession(cfg, v), v
}

func access(t *testing.T, s *Session) string {
	t.Helper()
	return must(s.Access(context.Background()))
}
