package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/assets"
	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/tunnel"
)

// Preset is a signing service that is known by name.
type Preset struct {
	Name            string `json:"name"`
	AuthURL         string `json:"auth_url"`
	BaseURL         string `json:"base_url"`
	SignatureHeader string `json:"signature_header"`
}

// Services returns the presets, the neutral one first.
func (a *Agent) Services() []Preset {
	var list []Preset
	if err := json.Unmarshal(assets.Services(), &list); err != nil {
		a.Log.Error("read the presets", "err", err)
	}
	return list
}

// TestService asks whether there is a signing service at both addresses of s: it begins a sign-in that nobody finishes,
// and asks for the API without a token. A *ConfigError says which of the two is wrong. Without a client ID it takes any.
func (a *Agent) TestService(ctx context.Context, s office.Settings) error {
	s = s.Normal()
	s.ClientID = cmp.Or(s.ClientID, "countersign")
	for _, f := range s.Check() {
		if slices.Contains([]string{office.FieldAuthURL, office.FieldBaseURL, office.FieldClientID, office.FieldScopes}, f.Field) {
			return &ConfigError{[]office.FieldError{f}}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	client := a.p.HTTP
	if client == nil {
		client = esign.NewHTTPClient()
		defer client.CloseIdleConnections()
	}
	cfg := esign.Config{AuthURL: s.AuthURL, BaseURL: s.BaseURL, ClientID: s.ClientID, Scopes: s.Scopes,
		SignatureHeader: s.SignatureHeader, HTTP: client, Now: a.Now, Log: a.Log}
	var api error
	var asking sync.WaitGroup
	asking.Go(func() { api = cfg.Answers(ctx) })
	signIn := signInPage(ctx, cfg, client, cmp.Or(s.ReturnAddress(), "https://localhost"+office.CallbackPath))
	asking.Wait()
	if err := context.Cause(ctx); errors.Is(err, context.Canceled) {
		return err
	}
	var bad []office.FieldError
	if signIn != nil {
		bad = append(bad, office.FieldError{Field: office.FieldAuthURL, Code: office.CodeNoService, Text: signInSentences.of(signIn)})
	}
	if api != nil {
		bad = append(bad, office.FieldError{Field: office.FieldBaseURL, Code: office.CodeNoService, Text: serviceSentences.of(api)})
	}
	if len(bad) > 0 {
		return &ConfigError{bad}
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

// addressSentences are what can be wrong at one of the service's addresses.
type addressSentences struct{ nothing, distrusted, ailing, other string }

var (
	signInSentences = addressSentences{
		nothing:    "Nothing answers at the sign-in address. Check the address and the internet connection.",
		distrusted: "The connection to the sign-in address is not secure. Check the address and the date of this computer.",
		ailing:     "The sign-in address answers, but the service has a technical problem. Try again later.",
		other:      "The sign-in address answers, but not as a signing service. Check the address.",
	}
	serviceSentences = addressSentences{
		nothing:    "Nothing answers at the service address. Check the address and the internet connection.",
		distrusted: "The connection to the service address is not secure. Check the address and the date of this computer.",
		ailing:     "The service address answers, but the service has a technical problem. Try again later.",
		other:      "The service address answers, but not as a signing service. Check the address.",
	}
)

// of says what err means.
func (s addressSentences) of(err error) string {
	var trust *tls.CertificateVerificationError
	var answer *esign.Error
	errors.As(err, &answer)
	switch {
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

// TestTunnel opens the public address of s for a moment and returns it. With an own public address it also asks
// whether what is sent there arrives here.
func (a *Agent) TestTunnel(ctx context.Context, s office.Settings, secrets office.Secrets) (publicURL string, err error) {
	s = s.Normal()
	if s.Tunnel == office.TunnelNone {
		return "", nil
	}
	for _, f := range s.Check() {
		switch f.Field {
		case office.FieldNgrokDomain, office.FieldNgrokConnect, office.FieldNgrokCA, office.FieldPublicURL, office.FieldListen, office.FieldTunnel:
			return "", &ConfigError{[]office.FieldError{f}}
		}
	}
	if now := a.Status().Tunnel; sameTunnel(s, a.Settings()) && secrets.NgrokAuthtoken == "" && now.State == "up" {
		return now.URL, nil // the very address is open already
	}
	t, err := a.makeTunnel(s, secrets.NgrokAuthtoken)
	if err != nil {
		return "", tunnelError(err)
	}
	bounded, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	publicURL, err = a.tryTunnel(bounded, s, t)
	if err != nil && ctx.Err() != nil { // what the attempts met meanwhile is nobody's concern
		err = context.Cause(ctx)
	}
	return publicURL, err
}

func (a *Agent) tryTunnel(ctx context.Context, s office.Settings, t tunnel.Tunnel) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	mark := "/countersign-check/" + rand.Text()
	up := newFuture[string]()
	var last error
	ended := make(chan error, 1)
	go func() {
		ended <- t.Run(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, mark) {
				http.NotFound(w, r)
				return
			}
			io.WriteString(w, mark)
		}), func(st tunnel.State) {
			if st.Phase == tunnel.Up {
				up.set(st.URL)
			} else if st.Err != nil {
				last = st.Err // read after Run has returned
			}
		})
	}()
	stop := func() error {
		cancel()
		return cmp.Or(<-ended, last)
	}
	select {
	case public := <-up.done():
		var err error
		if s.Tunnel == office.TunnelExternal {
			err = arrives(ctx, strings.TrimSuffix(public, "/")+mark, mark)
		}
		stop()
		return public, err
	case err := <-ended:
		cancel()
		return "", tunnelError(cmp.Or(err, last))
	case <-ctx.Done():
		return "", tunnelError(stop())
	}
}

// arrives asks for address and expects mark.
func arrives(ctx context.Context, address, mark string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return &SignInError{"The public address does not answer from here. Check that it leads to this computer and has a valid certificate."}
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if string(got) != mark {
		return &SignInError{"The public address answers, but does not lead to this computer with its path kept. Check the proxy."}
	}
	return nil
}

// tunnelError is err with a sentence for people.
func tunnelError(err error) error {
	if err == nil {
		return &SignInError{"The public address was not connected in time. Check the internet connection and try again."}
	}
	if err == errNoAuthtoken {
		return &SignInError{"The ngrok authtoken is missing."}
	}
	return err
}

// PreviewName is what the files of a real package, the latest one, would be called with s; of a made-up one where
// there is none. A pattern that is wrong is a *ConfigError, as Check finds it.
func (a *Agent) PreviewName(s office.Settings) (string, error) {
	t, err := archive.Parse(s.Normal().NameTemplate)
	if err != nil {
		return "", &ConfigError{[]office.FieldError{office.TemplateFinding(err)}}
	}
	p := office.Package{
		Name: "Lease Sonnenweg 4", Reference: "2026-118",
		Signers:   []office.Signer{{FirstName: "Jan", LastName: "Weber"}},
		Documents: []office.Document{{ID: "1", Name: "Lease"}},
	}
	err = a.Data.View(func(tx *store.Tx) error {
		return tx.Packages(func(x office.Package) bool {
			if len(x.Documents) == 0 {
				return true
			}
			p = x
			return false
		})
	})
	if err != nil {
		return "", err
	}
	return t.Name(p.FileFields(p.Documents[0], archive.Executed, a.Now())), nil
}

// About is what the About page and a report of a problem say.
type About struct {
	Version string
	DataDir string
	LogFile string
}

// About returns where things are.
func (a *Agent) About() About {
	return About{Version: a.p.Version, DataDir: a.p.DataDir, LogFile: locations.Log(a.p.DataDir)}
}

// Diagnostics is a text for whoever is asked for help: versions, settings and state, and nothing secret.
func (a *Agent) Diagnostics() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Countersign %s, %s/%s, %s\n\n", a.p.Version, runtime.GOOS, runtime.GOARCH, a.Now().Format(time.RFC3339))
	for _, part := range []struct {
		name  string
		value any
	}{{"settings", a.Settings()}, {"status", a.Status()}} {
		text, err := json.MarshalIndent(part.value, "", "  ")
		if err != nil {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n\n", part.name, text)
	}
	return b.String()
}
