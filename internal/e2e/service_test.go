//go:build linux

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// The people the sandbox knows.
const (
	olivia = "olivia.office@example.com" // an Organization Administrator
	maxim  = "max.member@example.com"    // a plain member
)

// selfReturn is a return address of the tests' own, to get tokens beside the program's.
const selfReturn = "http://127.0.0.1/e2e"

// service is `countersign sandbox` as a process of its own.
type service struct {
	t              testing.TB
	url, admin     string
	client, secret string
	prefix         string // of the API's paths
	p              *process
}

// serviceOptions say how the service differs from the usual one.
type serviceOptions struct {
	secret    string
	redirects []string
	flags     []string
	prefix    string // "" is /api/v1; "none" is none
}

func startService(t testing.TB, env []string, o serviceOptions) *service {
	t.Helper()
	s := &service{t: t, client: "office-client", secret: o.secret, prefix: "/api/v1"}
	if s.secret == "" {
		s.secret = "the-client-secret-4711"
	}
	if o.prefix == "none" {
		s.prefix = ""
	}
	args := []string{"sandbox", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--dir", shortDir(t),
		"--oauth-client", s.client, "--retry-first", "100ms", "--redirect", selfReturn}
	for _, r := range o.redirects {
		args = append(args, "--redirect", r)
	}
	s.p = start(t, append(env, "COUNTERSIGN_CLIENT_SECRET="+s.secret), program, append(args, o.flags...)...)
	s.url = s.p.line("Signing service: ")
	s.admin = s.p.line("Admin port: ")
	return s
}

// tell calls the admin port.
func (s *service) tell(method, path string, in, out any) {
	s.t.Helper()
	if err := s.try(method, path, in, out); err != nil {
		s.t.Fatal(err)
	}
}

func (s *service) try(method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, s.admin+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("admin %s %s: %s: %s", method, path, resp.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// pack is a package as the service has it.
type pack struct {
	ID        string `json:"package_id"`
	Name      string `json:"name"`
	Documents []struct {
		ID   string `json:"document_id"`
		Name string `json:"name"`
	} `json:"documents"`
	Signers []struct {
		Name string `json:"name"`
		Turn bool   `json:"turn"`
		Page string `json:"page"`
	} `json:"signers"`
}

func (s *service) packages() (list []pack) {
	s.t.Helper()
	s.tell("GET", "/packages", nil, &list)
	return list
}

// named returns the one package with this name.
func (s *service) named(name string) pack {
	s.t.Helper()
	var found []pack
	for _, p := range s.packages() {
		if p.Name == name {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		s.t.Fatalf("the service has %d packages %q, want one", len(found), name)
	}
	return found[0]
}

// signAll lets everyone sign, in turn.
func (s *service) signAll(packageID string) {
	s.t.Helper()
	s.tell("POST", "/sign", map[string]string{"package_id": packageID}, nil)
}

// sentEvent is an event and how its delivery fared.
type sentEvent struct {
	ID        string     `json:"event_id"`
	Delivered *time.Time `json:"delivered"`
}

func (s *service) events() (list []sentEvent) {
	s.t.Helper()
	s.tell("GET", "/events", nil, &list)
	return list
}

// allDelivered reports whether nothing is on its way any more.
func (s *service) allDelivered() bool {
	s.t.Helper()
	for _, e := range s.events() {
		if e.Delivered == nil {
			return false
		}
	}
	return true
}

// asked is one request the service has served.
type asked struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
}

// requests returns what the service was asked at a path, without the API's prefix.
func (s *service) requests(path string) (list []asked) {
	s.t.Helper()
	var log struct{ Requests []asked }
	s.tell("GET", "/requests", nil, &log)
	for _, r := range log.Requests {
		if strings.TrimPrefix(r.Path, "/api/v1") == path {
			list = append(list, r)
		}
	}
	return list
}

// endpoints returns the addresses events are reported to.
func (s *service) endpoints() (urls []string) {
	s.t.Helper()
	var state struct{ Endpoints []struct{ URL string } }
	s.tell("GET", "/state", nil, &state)
	for _, e := range state.Endpoints {
		urls = append(urls, e.URL)
	}
	return urls
}

// token signs in as the administrator, as another program with the same client ID would, and returns an access token.
// It is the tests' own reading of interface.md.
func (s *service) token() string {
	s.t.Helper()
	const verifier = "a-verifier-of-at-least-forty-three-characters-it-is"
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {s.client}, "redirect_uri": {selfReturn}, "scope": {"profile organization"}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	_, end, err := newVisitor(nil, selfReturn).signIn(s.t.Context(), s.url+"/connect/authorize?"+q.Encode(), olivia, true)
	if err != nil {
		s.t.Fatal(err)
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {end.Query().Get("code")}, "redirect_uri": {selfReturn}, "code_verifier": {verifier}}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/connect/token", strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(url.QueryEscape(s.client), url.QueryEscape(s.secret))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.AccessToken == "" {
		s.t.Fatalf("the service gives out no token: %s, %v", resp.Status, err)
	}
	return answer.AccessToken
}

// download fetches a file as the API serves it.
func (s *service) download(token, path string) []byte {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+s.prefix+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("download %s: %s, %v: %.200s", path, resp.Status, err, b)
	}
	return b
}
