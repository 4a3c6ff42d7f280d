package account

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/assets"
	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/proxy"
	"countersign/internal/store"
	"countersign/internal/tunnel"
)

type SignInOptions struct {
	Prompt string `json:"prompt,omitempty"` // "", "login" (as someone else) or "consent"
}

// login is the single sign-in waiting for its answer. A newer one replaces it.
type login struct {
	state  string
	answer chan answer
	waits  context.Context // ends when nobody waits any more, with the cause for the sign-in
	end    context.CancelCauseFunc
}

// pasteLimit is how long the exchange of a pasted address may take.
const pasteLimit = 60 * time.Second

// answer is what the browser, or a person pasting its address, returned.
type answer struct {
	query  url.Values
	result chan<- error // gets the outcome, for the browser to show; has a buffer of one
}

// SignIn runs a whole sign-in: it passes the address for the browser to open, waits for the return that the settings chose (or
// Paste), and returns once the tokens are stored. It ends early with ctx, or when another SignIn starts.
func (r *Service) SignIn(ctx context.Context, o SignInOptions, open func(address string) error) error {
	err := r.signIn(ctx, o, open)
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("sign in", "err", err)
	}
	return cmp.Or(clientRefused(err), err)
}

// clientRefused reports next to the client secret that the service rejects it; nil for any other err.
func clientRefused(err error) error {
	if e, is := errors.AsType[*esign.Error](err); is && e.Kind == esign.BadClient {
		return &office.ConfigError{Fields: []office.FieldError{{Field: office.FieldClientSecret, Code: office.CodeRefused, Text: e.Message()}}}
	}
	return nil
}

func (r *Service) signIn(ctx context.Context, o SignInOptions, open func(address string) error) error {
	if r.keys.Locked() && !r.Unlock(ctx) {
		return r.keys.reason()
	}
	if r.Resume(); r.current.Get().service == nil {
		return errNotSetUp
	}
	back, err := r.openRedirect(ctx, r.Settings())
	if err != nil {
		return err
	}
	defer back.close()

	svc := r.current.Get().service
	if svc == nil {
		return errNotSetUp
	}
	flow, err := esign.StartLogin(ctx, svc.config, back.uri, o.Prompt)
	if err != nil {
		return fmt.Errorf("start the sign-in: %w", err)
	}
	l := r.startLogin(ctx, flow.State())
	defer r.endLogin(l)
	if err := open(flow.AuthorizeURL()); err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	select {
	case got := <-l.answer:
		grant, err := flow.Finish(ctx, got.query)
		if err == nil {
			err = r.adopt(ctx, l, svc, grant)
		} else {
			r.discard(svc, flow.Unused())
		}
		got.result <- err
		return err
	case <-l.waits.Done():
		return context.Cause(l.waits)
	}
}

var (
	errNotSetUp   = message.Error(message.NotSetUp(), nil)
	errOtherLogin = message.Error(message.OtherSignIn(), nil)
	errMovedOn    = message.Error(message.SettingsChanged(), nil)
)

func (r *Service) startLogin(ctx context.Context, state string) *login {
	l := &login{state: state, answer: make(chan answer)}
	l.waits, l.end = context.WithCancelCause(ctx)
	r.replaceLogin(l, errOtherLogin)
	return l
}

// replaceLogin makes next (nil for none) the waiting sign-in, and ends the previous one.
func (r *Service) replaceLogin(next *login, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.login != nil {
		r.login.end(why)
	}
	r.login = next
}

func (r *Service) endLogin(l *login) {
	l.end(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.login == l {
		r.login = nil
	}
}

// errNoLogin answers a callback or pasted address that belongs to no sign-in of ours.
var errNoLogin = message.Error(message.NotExpected(), nil)

// deliver passes query to the sign-in waiting for its state, and returns the outcome. A query with another state affects nobody.
func (r *Service) deliver(ctx context.Context, query url.Values) error {
	r.mu.Lock()
	l := r.login
	r.mu.Unlock()
	if l == nil || subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(l.state)) != 1 {
		return errNoLogin
	}
	result := make(chan error, 1)
	select {
	case l.answer <- answer{query, result}:
	case <-l.waits.Done():
		return errNoLogin
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Paste completes the running sign-in with the address at which the browser ended.
func (r *Service) Paste(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), pasteLimit)
	defer cancel()
	query, err := esign.ParseCallback(address)
	if err != nil {
		return message.Error(message.WrongAddress(), nil)
	}
	return r.deliver(ctx, query)
}

// adopt stores the tokens and the account in one commit, unless l or the service was replaced meanwhile. Tokens that are not stored
// are revoked.
func (r *Service) adopt(ctx context.Context, l *login, svc *service, g esign.Grant) error {
	err := r.current.Change(func(o Current) (Current, error) {
		if err := context.Cause(l.waits); err != nil {
			return o, err
		}
		if o.service == nil || !sameClient(o.service.config, svc.config) {
			return o, errMovedOn
		}
		if r.parked.Load() {
			return o, message.Error(message.MovingNow(), nil)
		}
		if err := r.checkAccount(o.Account, g.Account); err != nil {
			return o, err
		}
		o.Account = r.newAccount(o.Account, g)
		ctx := context.WithoutCancel(ctx)
		return o, o.service.session.Adopt(ctx, g.Tokens, func(refresh string) error {
			if err := o.service.vault.wait(ctx); err != nil {
				return err
			}
			var token []byte
			if refresh != "" {
				token = []byte(refresh)
			}
			return r.keys.Put(map[string][]byte{issuer.Refresh.Of(issuer.Of(o.Settings)): token},
				func(tx *store.Tx) error { return tx.PutDoc(Doc, o.Account) })
		})
	})
	if err != nil {
		r.discard(svc, g.Tokens)
		return fmt.Errorf("keep the sign-in: %w", err)
	}
	acc := r.current.Get().Account
	r.tellSignedOut()
	r.tellScopes()
	text := message.SignedIn()
	if acc.Email != "" {
		text = message.SignedInAs(acc.Email)
	}
	r.Record(office.Activity{Kind: office.ActivitySignedIn, Text: text})
	r.tellReplaced()
	r.Breaker.Close()
	r.SignedUp()
	r.Signal(office.StatusChanged)
	return nil
}

// newAccount returns the account signed in with g, replacing old.
func (r *Service) newAccount(old Record, g esign.Grant) Record {
	acc := Record{
		Account: Account{
			Email: g.Account.Email, OrganizationID: g.Account.OrganizationID, MemberID: g.Account.MemberID,
		},
		Subject: g.Account.Subject, Scopes: g.Scopes, SignedIn: true, Since: old.Since,
		Fleeting: g.Tokens.Refresh == "",
	}
	if acc.Since.IsZero() {
		acc.Since = r.Now().Round(0).UTC() // with the precision it has when read again
	}
	return acc
}

// checkAccount refuses an account of another organization while packages of the first one are stored here, and one of which the
// service does not say what it said of the old one: it may be anybody's, and what waits would be sent from it. If it said nothing of
// the old one, the packages tell the organization.
func (r *Service) checkAccount(old Record, next esign.Account) error {
	unsaid := func(was, is string) bool { return was != "" && is == "" }
	switch {
	case unsaid(old.OrganizationID, next.OrganizationID), unsaid(old.MemberID, next.MemberID), unsaid(old.Subject, next.Subject):
		return message.Error(message.SignInAnonymous(), nil)
	case next.OrganizationID == "", strings.EqualFold(old.OrganizationID, next.OrganizationID):
		return nil
	}
	foreign, err := data.Read(r.Data, "whose packages there are", func(tx *store.Tx) (foreign bool, err error) {
		if old.OrganizationID != "" {
			packages, err := tx.PackageCounts()
			return packages.Total > 0, err
		}
		err = tx.Packages(func(p office.Package) bool {
			if p.Away || p.OrganizationID == "" {
				return true
			}
			foreign = !strings.EqualFold(p.OrganizationID, next.OrganizationID)
			return foreign // until one is its own
		})
		return foreign, err
	})
	if err != nil || !foreign {
		return err
	}
	return message.Error(message.OtherOrganization(), nil)
}

// tellScopes reports to health what scopes that the sign-in lacks mean for the office.
func (r *Service) tellScopes() {
	r.telling.Lock()
	defer r.telling.Unlock()
	acc := r.current.Get().Account
	var short, none message.Message
	if acc.SignedIn && acc.Fleeting {
		short = message.SignInShort()
	}
	if acc.SignedIn && !acc.May("organization") && !acc.May("member") {
		none = message.MayNotSend()
	}
	r.Health.Update(health.SignInShort, short)
	r.Health.Update(health.MayNotSend, none)
}

// redirect is how a sign-in returns to this computer.
type redirect struct {
	uri   string // the redirect_uri
	close func() // closes what was opened for it
}

// returnOpens is how long a sign-in waits for the public address to open.
const returnOpens = 45 * time.Second

// openRedirect opens the way back that the settings chose. The tunnel is open already, or will be in a moment.
func (r *Service) openRedirect(ctx context.Context, s office.Settings) (redirect, error) {
	nothing := func() {}
	switch s.Redirect {
	case office.RedirectLocalhost:
		cert, err := r.Certificate()
		if err != nil {
			return redirect{}, err
		}
		return r.listenForReturn(ctx, s, func(listen string) tunnel.Tunnel {
			return tunnel.Loopback(tunnel.LoopbackConfig{Listen: listen, Certificate: cert, Log: r.Log})
		})
	case office.RedirectLoopback:
		return r.listenForReturn(ctx, s, tunnel.Plain)
	case office.RedirectPaste:
		if at := s.ReturnAddress(); at != "" { // open or not
			return redirect{at, nothing}, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, returnOpens)
	defer cancel()
	public, open := r.Address(ctx)
	if !open {
		return redirect{}, message.Error(message.Then(message.ReturnClosed(), r.tunnelAdvice()), nil)
	}
	switch {
	case s.RedirectURI != "":
		return redirect{s.RedirectURI, nothing}, nil
	case s.Tunnel == office.TunnelExternal:
		return redirect{office.ExternalReturn(s), nothing}, nil
	default:
		return redirect{public + office.CallbackPath, nothing}, nil
	}
}

func (r *Service) tunnelAdvice() message.Message {
	for _, i := range r.Health.List() {
		if i.ID == "tunnel" || i.ID == "setup" {
			return i.Message
		}
	}
	return message.CheckConnection()
}

// listenForReturn opens a listener on this computer for one sign-in, on the port of the settings' redirect address, or any free one
// without.
func (r *Service) listenForReturn(ctx context.Context, s office.Settings, open func(listen string) tunnel.Tunnel) (redirect, error) {
	listen := "127.0.0.1:0"
	if s.Redirect == office.RedirectLocalhost { // registered in advance, so it is fixed
		listen = "127.0.0.1:" + office.LocalhostPort
	}
	path := cmp.Or(office.ReturnPath(s), office.CallbackPath)
	if u, err := url.Parse(s.RedirectURI); err == nil && u.Port() != "" {
		listen = net.JoinHostPort("127.0.0.1", u.Port())
	}
	serve := func(w http.ResponseWriter, req *http.Request) { // not a mux pattern, which would interpret the path
		if req.URL.Path != path {
			http.NotFound(w, req)
			return
		}
		r.ServeCallback(w, req)
	}
	base, end, err := tunnel.Open(ctx, open(listen), http.HandlerFunc(serve))
	if end == nil {
		return redirect{}, cmp.Or(err, context.Cause(ctx))
	}
	return redirect{cmp.Or(s.RedirectURI, base+path), end}, nil
}

// Certificate returns the certificate for https://localhost, made once and stored, so that the browser warns only once.
func (r *Service) Certificate() (tls.Certificate, error) {
	pair, err := r.keys.Get(sealedLocalhost)
	if err != nil {
		return tls.Certificate{}, err
	}
	if cert, err := tls.X509KeyPair(pair, pair); err == nil && r.inForce(cert.Leaf) {
		return cert, nil
	}
	certPEM, keyPEM, err := tunnel.SelfSigned(r.Now(), "localhost", "127.0.0.1", "::1")
	if err != nil {
		return tls.Certificate{}, err
	}
	if err := r.keys.Put(map[string][]byte{sealedLocalhost: bytes.Join([][]byte{certPEM, keyPEM}, nil)}); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certPEM, keyPEM)
}

// inForce reports whether browsers will accept cert today and tomorrow. One that is not valid yet was made by a fast clock.
func (r *Service) inForce(cert *x509.Certificate) bool {
	now := r.Now()
	return !now.Before(cert.NotBefore) && now.Add(24*time.Hour).Before(cert.NotAfter)
}

// ServeCallback is where the browser returns. It answers with a page about the outcome; a request that belongs to no sign-in of ours
// ends none.
func (r *Service) ServeCallback(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	ctx, cancel := context.WithTimeout(req.Context(), 60*time.Second)
	defer cancel()
	err := r.deliver(ctx, req.URL.Query())
	o := r.current.Get()
	account, language := o.Account.Email, o.Settings.Language
	status, heading, text, next := http.StatusOK, message.YouAreSignedIn(), message.Connected(), message.ClosePage()
	switch {
	case err != nil:
		status, heading, text, next = http.StatusBadRequest, message.SignInFailed(), r.Message(err), message.BackToCountersign()
	case account != "":
		text = message.WorksFor(account)
	}
	words := r.Words()
	page := assets.Return{OK: err == nil, Language: language, Heading: words.Text(heading), Text: words.Text(text), Next: words.Text(next)}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", assets.ReturnPolicy)
	w.WriteHeader(status)
	if err := assets.WriteReturn(w, page); err != nil {
		r.Log.Debug("write the return page", "err", err)
	}
}

// Preset is a signing service known by name.
type Preset struct {
	Name            string `json:"name"`
	AuthURL         string `json:"auth_url"`
	BaseURL         string `json:"base_url"`
	SignatureHeader string `json:"signature_header"`
}

// Matches reports whether s uses this service, in everything that the preset defines. One with another service address beside the
// preset's sign-in address does not match, because its documents go elsewhere.
func (p Preset) Matches(s office.Settings) bool {
	of := office.Settings{ServiceSettings: office.ServiceSettings{AuthURL: p.AuthURL, BaseURL: p.BaseURL, SignatureHeader: p.SignatureHeader}}.Normal()
	s = s.Normal()
	root := func(base string) string { return strings.TrimSuffix(base, "/api/v1") } // both forms mean the same
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

// Test checks that there is a signing service at both addresses of s: it begins a sign-in without finishing it, and calls the API
// without a token. A *office.ConfigError says which address is wrong. Without a client ID it tries any.
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
		HTTP: r.HTTP, Now: r.Now, Log: r.Log}
	var api error
	var asking sync.WaitGroup
	asking.Go(func() { api = cfg.Answers(ctx) })
	signIn := signInPage(ctx, cfg, r.HTTP, cmp.Or(s.ReturnAddress(), "https://localhost"+office.CallbackPath))
	asking.Wait()
	if err := context.Cause(ctx); errors.Is(err, context.Canceled) {
		return err
	}
	both, refused := errors.Join(signIn, api), new(proxy.Error)
	switch { // errors that say nothing about either address
	case errors.As(both, &refused):
		return message.Error(refused.Message(), both)
	case signIn != nil && api != nil && signInMessages.of(signIn) == signInMessages.nothing && serviceMessages.of(api) == serviceMessages.nothing:
		return message.Error(message.ServiceNotFound(), both)
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

// TestClient asks s's service whether it accepts the client ID with a secret, or the stored one if empty. Other errors say nothing
// about them.
func (r *Service) TestClient(ctx context.Context, s office.Settings, secret string) error {
	s = s.Normal()
	if secret == "" {
		kept, err := r.keys.Get(issuer.ClientSecret.Of(issuer.Of(s)))
		if err != nil || len(kept) == 0 {
			return nil
		}
		secret = string(kept)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	config := issuer.Config(s)
	config.ClientSecret, config.HTTP, config.Now, config.Log = secret, r.HTTP, r.Now, r.Log
	return clientRefused(config.Known(ctx))
}

// signInPage reports whether there is a sign-in page at the sign-in address; its content is for the browser.
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

var errNoService = errors.New("not a signing service")

// addressMessages are what can be wrong with one of the service's addresses.
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
