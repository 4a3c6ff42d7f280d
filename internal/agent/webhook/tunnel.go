package webhook

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/inbox"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/secret"
	"countersign/internal/tunnel"
)

// How long problems with the public address may last before people are told. After a laptop has slept, ngrok may hold the old
// session for up to a minute, so a domain in use is given longer.
const (
	tunnelGrace      = 20 * time.Second
	tunnelInUseGrace = 75 * time.Second
)

// tunnelLook is the longest pause before reopening a public address is tried again although the cause is not one that a retry fixes.
const tunnelLook = 5 * time.Minute

// RunTunnel keeps the public address open as configured, and starts over when the settings change or a person requests it.
func (r *Service) RunTunnel(ctx context.Context) error {
	for ctx.Err() == nil {
		r.restart.Store(false)
		s := r.Current().Settings
		t, err := r.makeTunnel(s, "")
		if t != nil {
			err = loop.RunUntil(ctx, r.wakeTunnel, func() bool { return r.restart.Load() || !sameTunnel(r.Current().Settings, s) }, func(ctx context.Context) error {
				return t.Run(ctx, http.HandlerFunc(r.serve), func(st tunnel.State) { r.setState(st, string(st.Phase)) })
			})
			if ctx.Err() != nil {
				r.setState(tunnel.State{}, "off")
				return nil
			}
			if err == nil {
				continue
			}
		}
		if err != nil {
			r.Log.Warn("the public address cannot be opened", "err", err)
			r.setState(tunnel.State{Err: err}, "down")
		} else {
			r.setState(tunnel.State{}, "off")
		}
		// What is missing, a key or a file, may appear without new settings, and a person at the other end may fix what a retry does not.
		loop.Wait(ctx, tunnelLook, r.wakeTunnel)
	}
	return nil
}

// Reopen remakes the tunnel although its settings are unchanged: its authtoken has, or a person requested it.
func (r *Service) Reopen() {
	r.restart.Store(true)
	loop.Wake(r.wakeTunnel)
}

func sameTunnel(a, b office.Settings) bool {
	return a.Tunnel == b.Tunnel && a.NgrokDomain == b.NgrokDomain && a.NgrokConnectURL == b.NgrokConnectURL &&
		a.NgrokCA == b.NgrokCA && a.PublicURL == b.PublicURL && a.Listen == b.Listen
}

// makeTunnel returns nil if there should be no tunnel. Without an authtoken the stored one is used.
func (r *Service) makeTunnel(s office.Settings, authtoken string) (tunnel.Tunnel, error) {
	switch s.Tunnel {
	case office.TunnelNgrok:
		if authtoken == "" {
			kept, err := r.Vault.Get(issuer.NgrokToken.Of(issuer.Ngrok(s)))
			if err != nil {
				return nil, err
			}
			authtoken = string(kept)
		}
		if authtoken == "" {
			return nil, errNoAuthtoken
		}
		pool, err := readCAs(s.NgrokCA)
		if err != nil {
			return nil, err
		}
		return tunnel.Ngrok(tunnel.NgrokConfig{
			Authtoken: authtoken, Domain: s.NgrokDomain, ConnectURL: s.NgrokConnectURL, CAs: pool, Dial: r.Dial, Log: r.Log,
		}), nil
	case office.TunnelExternal:
		return tunnel.External(tunnel.ExternalConfig{PublicURL: s.PublicURL, Listen: s.Listen, Open: r.OpenPort, Log: r.Log}), nil
	case office.TunnelLoopback:
		cert, err := r.Certificate()
		if err != nil {
			return nil, err
		}
		return tunnel.Loopback(tunnel.LoopbackConfig{Listen: s.Listen, Certificate: cert, Log: r.Log}), nil
	default:
		return nil, nil
	}
}

// Diagnose tests the way to ngrok with settings that need not be in use; see tunnel.Diagnose.
func (r *Service) Diagnose(ctx context.Context, s office.Settings, byProxy bool) (tunnel.Diagnosis, error) {
	pool, err := readCAs(s.NgrokCA)
	if err != nil {
		return tunnel.Diagnosis{}, err
	}
	return tunnel.Diagnose(ctx, tunnel.NgrokConfig{ConnectURL: s.NgrokConnectURL, CAs: pool, Dial: r.Dial, Log: r.Log}, byProxy), nil
}

// Trouble returns why the public address is closed; nil if it is open or being opened.
func (r *Service) Trouble() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trouble.err == nil {
		return nil
	}
	return tunnelError(r.trouble.err)
}

var errNoAuthtoken = errors.New("no ngrok authtoken is set")

func readCAs(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, message.Error(message.CertificateFileUnusable(), fmt.Errorf("read the ngrok CA file: %w", err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, message.Error(message.CertificateFileUnusable(), fmt.Errorf("the ngrok CA file %s holds no certificate", file))
	}
	return pool, nil
}

// setState records the tunnel's state and wakes those who depend on it.
func (r *Service) setState(st tunnel.State, state string) {
	kind := string(r.Current().Settings.Tunnel)
	r.mu.Lock()
	old := r.address
	next := Address{Kind: kind, State: state, URL: st.URL, Since: old.Since}
	if next.State != old.State || next.URL != old.URL || old.Since.IsZero() {
		next.Since.Time = r.Now()
	}
	r.address = next
	close(r.moved)
	r.moved = make(chan struct{})
	if state == string(tunnel.Up) || state == "off" {
		r.trouble = trouble{}
	} else {
		r.trouble.since = cmp.Or(r.trouble.since, r.Now())
		r.trouble.err = cmp.Or(st.Err, r.trouble.err)
	}
	r.mu.Unlock()

	r.tellAddress()
	if state == string(tunnel.Up) {
		if old.State != state || old.URL != next.URL {
			r.Log.Info("the public address is open", "url", st.URL)
			loop.Wake(r.wakeEndpoint)
			r.Returned()
		}
	}
	if next != old {
		r.Signal(office.StatusChanged)
	}
}

// trouble is why the public address is closed, and since when, across all attempts to open it.
type trouble struct {
	err   error
	since time.Time
}

// tellAddress updates the health issue about the public address. People are told once the problem has lasted a while, or at once if
// only they can solve it.
func (r *Service) tellAddress() {
	r.mu.Lock()
	trouble := r.trouble
	r.mu.Unlock()
	err := trouble.err
	if err == nil {
		r.Health.Clear(health.AddressClosed)
		return
	}
	e, known := errors.AsType[*tunnel.Error](err)
	grace := tunnelGrace
	if known && e.Kind == tunnel.DomainInUse {
		grace = tunnelInUseGrace
	}
	if known && e.Temporary() && !loop.CoolFor(trouble.since, grace).Over(r.Now()) {
		return
	}
	switch {
	case errors.Is(err, errNoAuthtoken):
		r.Health.Set(health.AddressRefused, message.TokenMissingLate())
	case errors.Is(err, secret.ErrUnavailable): // the keyring's issue covers it
	case known && e.Temporary():
		text := e.Message()
		if e.Kind == tunnel.Network {
			text = message.Then(text, message.TryingAgain()) // unlike a test of the settings
		}
		r.Health.Set(health.AddressClosed, text)
	case known:
		r.Health.Set(health.AddressRefused, e.Message())
	default:
		m, ok := message.Of(err)
		if !ok {
			m = message.NotOpened()
		}
		r.Health.Set(health.AddressRefused, m)
	}
}

// serve routes requests at the public address.
func (r *Service) serve(w http.ResponseWriter, req *http.Request) {
	s := r.Current().Settings
	switch path := req.URL.Path; {
	case path == webhookPath(s):
		r.ServeEvent(w, req)
	case path == office.CallbackPath, path == office.BasePath(s)+office.CallbackPath, path == office.ReturnPath(s):
		r.Callback(w, req)
	case r.forEvents(s, path):
		r.ServeEvent(w, req)
	default:
		http.NotFound(w, req)
	}
}

// forEvents reports whether the service may send events to path: the one to register, or one that is registered. Services change
// letter case, and add or drop a final slash.
func (r *Service) forEvents(s office.Settings, path string) bool {
	same := func(other string) bool {
		return strings.EqualFold(strings.TrimSuffix(path, "/"), strings.TrimSuffix(other, "/"))
	}
	return same(webhookPath(s)) || slices.ContainsFunc(r.valid(r.Now()), func(k inbox.Key) bool { return same(office.PathOf(k.URL)) })
}

// webhookURL is the address to register: the public address itself if it has a path, chosen by an office with its own proxy;
// otherwise one with a path, because services differ in how they write a bare host.
func webhookURL(s office.Settings, public string) string {
	if office.BasePath(s) != "" {
		return public
	}
	return strings.TrimSuffix(public, "/") + "/webhook"
}

func webhookPath(s office.Settings) string {
	if s.Tunnel == office.TunnelExternal {
		if p := office.PathOf(s.PublicURL); p != "" && p != "/" {
			return p
		}
	}
	return "/webhook"
}

// Test briefly opens the public address of s and returns it. If it is the office's own, Test also checks whether requests to it
// arrive here.
func (r *Service) Test(ctx context.Context, s office.Settings, secrets office.Secrets) (publicURL string, err error) {
	s = s.Normal()
	if !s.HasAddress() {
		return "", nil
	}
	for _, f := range s.Check() {
		switch f.Field {
		case office.FieldNgrokDomain, office.FieldNgrokConnect, office.FieldNgrokCA, office.FieldPublicURL, office.FieldListen, office.FieldTunnel:
			return "", &office.ConfigError{Fields: []office.FieldError{f}}
		}
	}
	if now := r.Address(); sameTunnel(s, r.Current().Settings) && secrets.NgrokAuthtoken == "" && now.State == "up" {
		return now.URL, nil // this address is already open
	}
	t, err := r.makeTunnel(s, secrets.NgrokAuthtoken)
	if err != nil {
		return "", tunnelError(err)
	}
	bounded, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	publicURL, err = r.try(bounded, s, t)
	if err != nil && ctx.Err() != nil { // errors of the attempts no longer matter
		err = context.Cause(ctx)
	}
	if local, is := errors.AsType[*tunnel.Error](err); is && s.Tunnel == office.TunnelExternal && local.Kind == tunnel.Listen {
		err = &office.ConfigError{Fields: []office.FieldError{{Field: office.FieldListen, Text: local.Message()}}}
	}
	return publicURL, err
}

func (r *Service) try(ctx context.Context, s office.Settings, t tunnel.Tunnel) (string, error) {
	mark := "/countersign-check/" + rand.Text()
	public, end, err := tunnel.Open(ctx, t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !strings.HasSuffix(req.URL.Path, mark) {
			http.NotFound(w, req)
			return
		}
		io.WriteString(w, mark)
	}))
	if end == nil {
		return "", tunnelError(err)
	}
	defer end()
	if s.Tunnel == office.TunnelExternal {
		err = r.arrives(ctx, strings.TrimSuffix(public, "/")+mark, mark)
	}
	return public, err
}

func (r *Service) arrives(ctx context.Context, address, mark string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := r.HTTP.Do(req)
	if err != nil {
		return message.Error(message.PublicAddressSilent(), err)
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if string(got) != mark {
		return message.Error(message.PublicAddressOther(), nil)
	}
	return nil
}

func tunnelError(err error) error {
	if err == nil {
		return message.Error(message.PublicAddressLate(), nil)
	}
	if err == errNoAuthtoken {
		return message.Error(message.TokenMissing(), err)
	}
	return err
}
