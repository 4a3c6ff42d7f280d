//go:build linux

package harness

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
	Olivia = "olivia.office@example.com" // an Organization Administrator
	Maxim  = "max.member@example.com"    // a plain member
)

// selfReturn is a return address of the tests' own, to get tokens beside the program's.
const selfReturn = "http://127.0.0.1/e2e"

// Service is `countersign sandbox` as a process of its own.
type Service struct {
	T              testing.TB
	URL, admin     string
	client, Secret string
	Prefix         string // of the API's paths
	P              *Process
}

// ServiceOptions say how the service differs from the usual one.
type ServiceOptions struct {
	Secret    string
	Redirects []string
	Flags     []string
	Prefix    string // "" is /api/v1; "none" is none
}

func StartService(t testing.TB, env []string, o ServiceOptions) *Service {
	t.Helper()
	s := &Service{T: t, client: "office-client", Secret: o.Secret, Prefix: "/api/v1"}
	if s.Secret == "" {
		s.Secret = "the-client-secret-4711"
	}
	if o.Prefix == "none" {
		s.Prefix = ""
	}
	args := []string{"sandbox", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--dir", ShortDir(t),
		"--oauth-client", s.client, "--retry-first", "100ms", "--redirect", selfReturn}
	for _, r := range o.Redirects {
		args = append(args, "--redirect", r)
	}
	s.P = Start(t, append(env, "COUNTERSIGN_CLIENT_SECRET="+s.Secret), Program, append(args, o.Flags...)...)
	s.URL = s.P.Line("Signing service: ")
	s.admin = s.P.Line("Admin port: ")
	return s
}

// Tell calls the admin port.
func (s *Service) Tell(method, path string, in, out any) {
	s.T.Helper()
	Must(s.T, s.Try(method, path, in, out))
}

func (s *Service) Try(method, path string, in, out any) error {
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

// Pack is a package as the service has it.
type Pack struct {
	ID        string   `json:"package_id"`
	Name      string   `json:"name"`
	State     string   `json:"state"`
	Notified  []string `json:"notified"` // of what its people were told
	Documents []struct {
		ID   string `json:"document_id"`
		Name string `json:"name"`
	} `json:"documents"`
	Signers []struct {
		Name string `json:"name"`
		Turn bool   `json:"turn"`
		Page string `json:"page"`
	} `json:"signers"`
	Recipients []struct {
		Email string `json:"email"`
		Type  string `json:"type"`
	} `json:"recipients"`
}

func (s *Service) Packages() (list []Pack) {
	s.T.Helper()
	s.Tell("GET", "/packages", nil, &list)
	return list
}

// Named returns the one package with this name.
func (s *Service) Named(name string) Pack {
	s.T.Helper()
	var found []Pack
	for _, p := range s.Packages() {
		if p.Name == name {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		s.T.Fatalf("the service has %d packages %q, want one", len(found), name)
	}
	return found[0]
}

// SignAll lets everyone sign, in turn.
func (s *Service) SignAll(packageID string) {
	s.T.Helper()
	s.Tell("POST", "/sign", map[string]string{"package_id": packageID}, nil)
}

// SentEvent is an event and how its delivery fared.
type SentEvent struct {
	ID        string     `json:"event_id"`
	Delivered *time.Time `json:"delivered"`
}

func (s *Service) Events() (list []SentEvent) {
	s.T.Helper()
	s.Tell("GET", "/events", nil, &list)
	return list
}

// AllDelivered reports whether nothing is on its way any more.
func (s *Service) AllDelivered() bool {
	s.T.Helper()
	for _, e := range s.Events() {
		if e.Delivered == nil {
			return false
		}
	}
	return true
}

// Asked is one request the service has served.
type Asked struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
}

// Requests returns what the service was asked at a path, without the API's prefix.
func (s *Service) Requests(path string) (list []Asked) {
	s.T.Helper()
	var log struct{ Requests []Asked }
	s.Tell("GET", "/requests", nil, &log)
	for _, r := range log.Requests {
		if strings.TrimPrefix(r.Path, "/api/v1") == path {
			list = append(list, r)
		}
	}
	return list
}

// Endpoints returns the addresses events are reported to.
func (s *Service) Endpoints() (urls []string) {
	s.T.Helper()
	var state struct{ Endpoints []struct{ URL string } }
	s.Tell("GET", "/state", nil, &state)
	for _, e := range state.Endpoints {
		urls = append(urls, e.URL)
	}
	return urls
}

// Token signs in as the administrator, as another program with the same client ID would, and returns an access token.
// It is the tests' own reading of interface.md.
func (s *Service) Token() string {
	s.T.Helper()
	const verifier = "a-verifier-of-at-least-forty-three-characters-it-is"
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {s.client}, "redirect_uri": {selfReturn}, "scope": {"profile organization"}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	_, end, err := NewVisitor(nil, selfReturn).SignIn(s.T.Context(), s.URL+"/connect/authorize?"+q.Encode(), Olivia, true)
	Must(s.T, err)
	form := url.Values{"grant_type": {"authorization_code"}, "code": {end.Query().Get("code")}, "redirect_uri": {selfReturn}, "code_verifier": {verifier}}
	req, err := http.NewRequestWithContext(s.T.Context(), http.MethodPost, s.URL+"/connect/token", strings.NewReader(form.Encode()))
	Must(s.T, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(url.QueryEscape(s.client), url.QueryEscape(s.Secret))
	resp, err := http.DefaultClient.Do(req)
	Must(s.T, err)
	defer resp.Body.Close()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.AccessToken == "" {
		s.T.Fatalf("the service gives out no token: %s, %v", resp.Status, err)
	}
	return answer.AccessToken
}

// Download fetches a file as the API serves it.
func (s *Service) Download(token, path string) []byte {
	s.T.Helper()
	req, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, s.URL+s.Prefix+path, nil)
	Must(s.T, err)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	Must(s.T, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.T.Fatalf("download %s: %s, %v: %.200s", path, resp.Status, err, b)
	}
	return b
}

// Misbehave makes the service misbehave, as the sandbox's faults describe it.
func (s *Service) Misbehave(fault map[string]any) {
	s.T.Helper()
	s.Tell("POST", "/faults", fault, nil)
}
