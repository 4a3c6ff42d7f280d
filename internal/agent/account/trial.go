package account

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/assets"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/proxy"
)

// Preset is a signing service that is known by name.
type Preset struct {
	Name            string `json:"name"`
	AuthURL         string `json:"auth_url"`
	BaseURL         string `json:"base_url"`
	SignatureHeader string `json:"signature_header"`
}

// Matches reports whether s is this service in all that the preset says. One with another service address beside its own sign-in
// address is not: it takes the documents elsewhere.
func (p Preset) Matches(s office.Settings) bool {
	of := office.Settings{AuthURL: p.AuthURL, BaseURL: p.BaseURL, SignatureHeader: p.SignatureHeader}.Normal()
	s = s.Normal()
	root := func(base string) string { return strings.TrimSuffix(base, "/api/v1") } // with and without it mean the same
	return s.AuthURL == of.AuthURL && root(s.BaseURL) == root(of.BaseURL) && s.SignatureHeader == of.SignatureHeader
}

// Presets returns the presets, the neutral one first.
func (r *Service) Presets() []Preset {
	var list []Preset
	if err := json.Unmarshal(assets.Services(), &list); err != nil {
		r.Log.Error("read the presets", "err", err)
	}
	return list
}

// Test asks whether there is a signing service at both addresses of s: it begins a sign-in that nobody finishes,
// and asks for the API without a token. A *office.ConfigError says which of the two is wrong. Without a client ID it takes any.
func (r *Service) Test(ctx context.Context, s office.Settings) error {
	s = s.Normal()
	s.ClientID = cmp.Or(s.ClientID, "countersign")
	for _, f := range s.Check() {
		if slices.Contains([]string{office.FieldAuthURL, office.FieldBaseURL, office.FieldClientID, office.FieldScopes}, f.Field) {
			return &office.ConfigError{Fields: []office.FieldError{f}}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cfg := esign.Config{AuthURL: s.AuthURL, BaseURL: s.BaseURL, ClientID: s.ClientID, Scopes: s.Scopes,
		SignatureHeader: s.SignatureHeader, HTTP: r.HTTP, Now: r.Now, Log: r.Log}
	var api error
	var asking sync.WaitGroup
	asking.Go(func() { api = cfg.Answers(ctx) })
	signIn := signInPage(ctx, cfg, r.HTTP, cmp.Or(s.ReturnAddress(), "https://localhost"+office.CallbackPath))
	asking.Wait()
	if err := context.Cause(ctx); errors.Is(err, context.Canceled) {
		return err
	}
	var bad []office.FieldError
	if signIn != nil {
		bad = append(bad, office.FieldError{Field: office.FieldAuthURL, Code: office.CodeNoService, Text: signInMessages.of(signIn)})
	}
	if api != nil {
		bad = append(bad, office.FieldError{Field: office.FieldBaseURL, Code: office.CodeNoService, Text: serviceMessages.of(api)})
	}
	if len(bad) > 0 {
		return &office.ConfigError{Fields: bad}
	}
	return nil
}

// signInPage reports whether a page to sign in on is at the sign-in address; what it shows is for the browser.
func signInPage(ctx context.Context, cfg esign.Config, client *http.Client, redirect string) error {
	flow, err := esign.StartLogin(ctx, cfg, redirect, "")
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, flow.AuthorizeURL(), nil)
	if err != nil {
		return err
	}
	alone := *client
	alone.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := alone.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode >= 500 {
		return errNoService
	}
	return nil
}

// errNoService is an answer that no signing service gives.
var errNoService = errors.New("not a signing service")

// addressMessages are what can be wrong at one of the service's addresses.
type addressMessages struct{ nothing, distrusted, ailing, other message.Message }

var (
	signInMessages = addressMessages{
		nothing:    message.SignInAddressSilent(),
		distrusted: message.SignInAddressDistrusted(),
		ailing:     message.SignInAddressAiling(),
		other:      message.SignInAddressOther(),
	}
	serviceMessages = addressMessages{
		nothing:    message.ServiceAddressSilent(),
		distrusted: message.ServiceAddressDistrusted(),
		ailing:     message.ServiceAddressAiling(),
		other:      message.ServiceAddressOther(),
	}
)

// of says what err means.
func (s addressMessages) of(err error) message.Message {
	var trust *tls.CertificateVerificationError
	var answer *esign.Error
	errors.As(err, &answer)
	var refused *proxy.Error
	said := esign.Message(err)
	switch {
	case errors.As(err, &refused):
		return refused.Message()
	case errors.As(err, &trust) && said.ID() == message.ServiceInspected("", "").ID():
		return said
	case errors.As(err, &trust):
		return s.distrusted
	case answer != nil && (answer.Kind == esign.Server || answer.Kind == esign.TooMany):
		return s.ailing
	case errors.Is(err, errNoService), answer != nil && answer.Kind != esign.Network:
		return s.other
	default:
		return s.nothing
	}
}
