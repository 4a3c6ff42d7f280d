package esign

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// pickyServer is a token endpoint that takes the credentials in one way only, and counts its requests.
type pickyServer struct {
	*httptest.Server
	asked   int
	basic   int
	accepts func(r *http.Request) bool
}

const oddID, oddSecret = "client+1", "a+b/c=d&e%f g:ü"

func newPickyServer(t *testing.T, methods []string, accepts func(*http.Request) bool) *pickyServer {
	p := &pickyServer{accepts: accepts}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+discoveryPath, func(w http.ResponseWriter, _ *http.Request) {
		if methods == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"issuer": p.URL, "token_endpoint_auth_methods_supported": methods})
	})
	answer := func(w http.ResponseWriter, r *http.Request) {
		p.asked++
		if r.Header.Get("Authorization") != "" {
			p.basic++
		}
		if !p.accepts(r) {
			w.WriteHeader(http.StatusUnauthorized)
			json.NewEncoder(w).Encode(map[string]string{"error": "invalid_client"})
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"access_token": "a", "refresh_token": "r2", "token_type": "Bearer", "expires_in": 1})
	}
	mux.HandleFunc("POST /connect/token", answer)
	mux.HandleFunc("POST /connect/revoke", answer)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func header(pair string) func(*http.Request) bool {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(pair))
	return func(r *http.Request) bool {
		return r.Header.Get("Authorization") == want && r.PostFormValue("client_secret") == ""
	}
}

func TestCredentialsArePresentedInTheWayTheServerTakes(t *testing.T) {
	body := func(r *http.Request) bool {
		return r.PostFormValue("client_id") == oddID && r.PostFormValue("client_secret") == oddSecret
	}
	literal := header(oddID + ":" + oddSecret)
	encoded := header(url.QueryEscape(oddID) + ":" + url.QueryEscape(oddSecret))
	post, basic := []string{"client_secret_post"}, []string{"client_secret_basic"}
	for name, c := range map[string]struct {
		methods []string
		accepts func(*http.Request) bool
		first   int // requests until the first success
		noBasic bool
	}{
		"body":                             {nil, body, 1, true},
		"literal header":                   {nil, literal, 2, false},
		"encoded header":                   {nil, encoded, 3, false},
		"body, as discovery says":          {post, body, 1, true},
		"header, as discovery says":        {basic, literal, 1, false},
		"encoded header, discovery says":   {basic, encoded, 2, false},
		"body although discovery says not": {basic, body, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPickyServer(t, c.methods, c.accepts)
			s := NewSession(Config{AuthURL: p.URL, BaseURL: p.URL, ClientID: oddID, ClientSecret: oddSecret}, &vault{token: "r1"})
			if _, err := s.Access(t.Context()); err != nil {
				t.Fatal(err)
			}
			if p.asked != c.first || c.noBasic && p.basic > 0 {
				t.Errorf("%d requests, %d with a header", p.asked, p.basic)
			}
			// What worked is remembered, for revoking too.
			must(t, s.Revoke(t.Context()))
			if p.asked > c.first+2 {
				t.Errorf("%d requests after revoking two tokens", p.asked)
			}
		})
	}
}

func TestAWrongSecretIsToldAndNamesNoSecret(t *testing.T) {
	p := newPickyServer(t, nil, func(*http.Request) bool { return false })
	s := NewSession(Config{AuthURL: p.URL, BaseURL: p.URL, ClientID: oddID, ClientSecret: oddSecret}, &vault{token: "r1"})
	_, err := s.Access(t.Context())
	if err == nil || !strings.Contains(Message(err).String(), "client secret") || strings.Contains(err.Error(), oddSecret) {
		t.Errorf("%v", err)
	}
	if p.asked != 3 {
		t.Errorf("%d requests", p.asked)
	}
}
