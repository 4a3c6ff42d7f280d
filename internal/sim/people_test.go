package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/internal/secret"
)

// ask lets a person ask something of the program and wait for the answer; they give up when the program ends.
func (w *world) ask(patience time.Duration, what func(ctx context.Context, a *agent.Agent)) {
	if w.office == nil {
		return
	}
	a := w.office
	ctx, cancel := context.WithTimeout(w.living, patience)
	w.people.Go(func() {
		defer cancel()
		what(ctx, a)
	})
	synctest.Wait()
}

// answered checks the answer to what somebody asked for then: while nothing is wrong, it is done.
func (w *world) answered(what string, asked time.Time, err error) {
	if calm := w.calmSince(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !w.forgets && !w.host.gone() && w.living.Err() == nil && !calm.IsZero() && !calm.After(asked) {
		w.model.breaks("what people ask for is done: %s: %v", what, err)
	}
}

// signIn makes somebody sign in, and waits for it.
func (w *world) signIn() error {
	var err error
	asked, done := time.Now(), make(chan struct{})
	w.ask(3*time.Minute, func(ctx context.Context, a *agent.Agent) {
		err = a.SignIn(ctx, agent.SignInOptions{}, w.browser(w.host, a, w.settings))
		close(done)
	})
	<-done
	if err == nil {
		w.model.member()
		w.lapsed, w.mayBeOut = false, w.full || w.flaky.Load() > 0 // what a full disk cannot store is lost with the process
		w.owesSweep("somebody signed in")
	}
	w.trace.add("signed in: %v", err)
	w.answered("somebody can sign in", asked, err)
	return err
}

// browser is a host's browser, which follows every redirect.
func (w *world) browser(h *host, a *agent.Agent, s office.Settings) func(address string) error {
	return func(address string) error {
		w.people.Go(func() { w.browse(h, a, s.Redirect == office.RedirectPaste, address) })
		return nil
	}
}

func (w *world) browse(h *host, a *agent.Agent, paste bool, address string) {
	dial := func(ctx context.Context, _, to string) (net.Conn, error) { return w.net.dial(ctx, h, to) }
	transport := &http.Transport{DialContext: dial, DialTLSContext: dial}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if paste && r.URL.Path == "/oauth/callback" {
			return http.ErrUseLastResponse
		}
		return nil
	}
	answer, err := client.Get(address)
	if err != nil {
		return
	}
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	if back := answer.Header.Get("Location"); paste && back != "" {
		a.Paste(back)
	}
}

// keyring is the computer's keyring, which may be locked.
type keyring struct {
	secret.Keeper
	mu     sync.Mutex
	locked bool
}

func newKeyring() *keyring { return &keyring{Keeper: secret.Memory()} }

func (k *keyring) lock(locked bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.locked = locked
}

func (k *keyring) state() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.locked {
		return &secret.UnavailableError{Reason: secret.Locked}
	}
	return nil
}

func (k *keyring) Load(ctx context.Context) (secret.Key, error) {
	if err := k.state(); err != nil {
		return secret.Key{}, err
	}
	return k.Keeper.Load(ctx)
}

func (k *keyring) Create(ctx context.Context) (secret.Key, error) {
	if err := k.state(); err != nil {
		return secret.Key{}, err
	}
	return k.Keeper.Create(ctx)
}

// stranger is a colleague in the office who sends packages with another program, which uses the service in its own way.
type stranger struct {
	w      *world
	client *http.Client
	sent   int
	tokens map[*service]string
}

const strangerReturn = "http://127.0.0.1/callback"

func newStranger(w *world) *stranger {
	dial := func(ctx context.Context, _, address string) (net.Conn, error) { return w.net.dial(ctx, nil, address) }
	return &stranger{w: w, tokens: map[*service]string{}, client: &http.Client{
		Transport: &http.Transport{DialContext: dial},
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if r.URL.Path == "/callback" {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}}
}

func (x *stranger) close() { x.client.CloseIdleConnections() }

// elsewhere makes the colleague send a package, and returns its name.
func (w *world) elsewhere() (name string) {
	name, err := w.stranger.send(w.services[w.current])
	w.model.holds("the world cannot send from elsewhere", err)
	return name
}

// send creates a package and returns its name.
func (x *stranger) send(s *service) (name string, err error) {
	x.sent++
	name = fmt.Sprintf("Elsewhere %d", x.sent)
	token, err := x.token(s)
	if err != nil {
		return "", err
	}
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	part, err := parts.CreateFormFile("file", "Elsewhere.pdf")
	if err != nil {
		return "", err
	}
	part.Write(document(-x.sent, 0))
	parts.Close()
	var uploaded struct {
		Files []struct {
			FileID string `json:"fileId"`
		} `json:"files"`
	}
	if err := x.call(s, token, "/files/upload?type=temporary", parts.FormDataContentType(), &form, &uploaded); err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]any{
		"name": name, "state": "open", "type": "Sequential",
		"documents": []any{map[string]any{"fileId": uploaded.Files[0].FileID, "name": x.nameOfNext(), "fileName": "Elsewhere.pdf"}},
		"signers":   []any{map[string]any{"firstName": "Ana", "lastName": "Ruiz", "email": "ana@example.com"}},
	})
	if err != nil {
		return "", err
	}
	return name, x.call(s, token, "/packages/add", "application/json", bytes.NewReader(body), &struct{}{})
}

func (x *stranger) call(s *service, token, path, kind string, body io.Reader, answer any) error {
	r, err := http.NewRequest(http.MethodPost, s.url+"/api/v1"+path, body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", kind)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	got, err := x.client.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	said, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", path, got.StatusCode, said)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(said, answer)
}

// token signs in again: the colleague's earlier token may have been revoked.
func (x *stranger) token(s *service) (string, error) {
	q := url.Values{"response_type": {"code"}, "client_id": {strangerID}, "redirect_uri": {strangerReturn}, "scope": {"profile organization"}}
	got, err := x.client.Get(s.url + "/connect/authorize?" + q.Encode())
	if err != nil {
		return "", err
	}
	got.Body.Close()
	back, err := got.Location()
	if err != nil {
		return "", fmt.Errorf("sign the colleague in: %d, %w", got.StatusCode, err)
	}
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {strangerReturn},
		"client_id": {strangerID}, "client_secret": {"secret of the colleague"},
	}
	answer, err := x.client.Post(s.url+"/connect/token", "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var token struct {
		Access string `json:"access_token"`
	}
	err = json.NewDecoder(answer.Body).Decode(&token)
	return token.Access, err
}

const strangerID = "another-program"
