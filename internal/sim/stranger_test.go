package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// stranger is a colleague of the office who sends packages with another program. It speaks to the service in its own way.
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

// send makes a package and returns its name.
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

// token signs in anew: what the colleague had may be revoked.
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
