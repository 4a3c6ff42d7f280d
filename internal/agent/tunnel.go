package agent

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/tunnel"
)

// How long trouble with the public address may last before people are told. After a laptop slept, ngrok may hold
// the old session for up to a minute, so a domain in use is given longer.
const (
	tunnelGrace      = 20 * time.Second
	tunnelInUseGrace = 75 * time.Second
)

// tunnelLook is the longest pause before a public address that could not be opened, for a reason that trying again does
// not mend, is tried all the same.
const tunnelLook = 5 * time.Minute

// runTunnel keeps the public address open as the settings describe it, and starts over when they change.
func (a *Agent) runTunnel(ctx context.Context) error {
	for ctx.Err() == nil {
		s := a.Settings()
		t, err := a.makeTunnel(s, "")
		if err != nil {
			a.Log.Warn("the public address cannot be opened", "err", err)
			a.setTunnel(tunnel.State{Err: err}, "down")
		} else if t == nil {
			a.setTunnel(tunnel.State{}, "off")
		}
		if t == nil {
			limit := time.Duration(0)
			if err != nil { // what is missing may come without new settings: the key, a file
				limit = tunnelLook
			}
			if !a.waitForTunnelSettings(ctx, s, limit) {
				return nil
			}
			continue
		}
		err = a.holdTunnel(ctx, s, t)
		if ctx.Err() != nil {
			a.setTunnel(tunnel.State{}, "off")
			return nil
		}
		if err != nil {
			a.Log.Warn("the public address was given up", "err", err)
			a.setTunnel(tunnel.State{Phase: tunnel.Down, Err: err}, "down")
			// Trying again cannot mend it, but a person can at the other end: come back now and then.
			if !a.waitForTunnelSettings(ctx, s, tunnelLook) {
				return nil
			}
		}
	}
	return nil
}

// holdTunnel runs t until ctx ends, t gives up, or the settings that made it change.
func (a *Agent) holdTunnel(ctx context.Context, s office.Settings, t tunnel.Tunnel) error {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		if a.waitForTunnelSettings(ctx, s, 0) {
			cancel()
		}
	})
	err := t.Run(ctx, http.HandlerFunc(a.serve), func(st tunnel.State) { a.setTunnel(st, string(st.Phase)) })
	ended := ctx.Err() != nil
	cancel()
	watching.Wait()
	if ended {
		return nil
	}
	return err
}

// waitForTunnelSettings returns true when the tunnel is to be made anew: its settings changed, somebody asked for
// a retry, or limit (0 for none) has passed.
func (a *Agent) waitForTunnelSettings(ctx context.Context, was office.Settings, limit time.Duration) bool {
	if limit > 0 {
		return loop.Wait(ctx, limit, a.rings.tunnel)
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-a.rings.tunnel:
			if a.restartTunnel.Swap(false) || !sameTunnel(a.Settings(), was) {
				return true
			}
		}
	}
}

// retryTunnel makes the tunnel anew although its settings are the same: its authtoken changed, or somebody asked.
func (a *Agent) retryTunnel() {
	a.restartTunnel.Store(true)
	loop.Wake(a.rings.tunnel)
}

func sameTunnel(a, b office.Settings) bool {
	return a.Tunnel == b.Tunnel && a.NgrokDomain == b.NgrokDomain && a.NgrokConnectURL == b.NgrokConnectURL &&
		a.NgrokCA == b.NgrokCA && a.PublicURL == b.PublicURL && a.Listen == b.Listen
}

// makeTunnel returns nil where there is to be none. Without an authtoken the kept one is used.
func (a *Agent) makeTunnel(s office.Settings, authtoken string) (tunnel.Tunnel, error) {
	switch s.Tunnel {
	case office.TunnelNgrok:
		if authtoken == "" {
			kept, err := a.keys.get(sealedNgrokToken.Of(issuer.Ngrok(s)))
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
			Authtoken: authtoken, Domain: s.NgrokDomain, ConnectURL: s.NgrokConnectURL, CAs: pool, Log: a.Log,
		}), nil
	case office.TunnelExternal:
		return tunnel.External(tunnel.ExternalConfig{PublicURL: s.PublicURL, Listen: s.Listen, Log: a.Log}), nil
	case office.TunnelLoopback:
		cert, err := a.localhostCertificate()
		if err != nil {
			return nil, err
		}
		return tunnel.Loopback(tunnel.LoopbackConfig{Listen: s.Listen, Certificate: cert, Log: a.Log}), nil
	default:
		return nil, nil
	}
}

var errNoAuthtoken = errors.New("no ngrok authtoken is set")

func readCAs(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the ngrok CA file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the ngrok CA file %s holds no certificate", file)
	}
	return pool, nil
}

// setTunnel records where the tunnel is and wakes who depends on it.
func (a *Agent) setTunnel(st tunnel.State, state string) {
	kind := string(a.Settings().Tunnel)
	a.mu.Lock()
	old := a.tunnel
	next := TunnelStatus{Kind: kind, State: state, URL: st.URL, Since: old.Since}
	if next.State != old.State || next.URL != old.URL || old.Since.IsZero() {
		next.Since = a.Now()
	}
	a.tunnel = next
	if state == string(tunnel.Up) || state == "off" {
		a.trouble = tunnelTrouble{}
	} else {
		a.trouble.since = cmp.Or(a.trouble.since, a.Now())
		a.trouble.err = cmp.Or(st.Err, a.trouble.err)
	}
	a.mu.Unlock()

	a.tellTunnel()
	if state == string(tunnel.Up) {
		if old.State != state || old.URL != next.URL {
			a.Log.Info("the public address is open", "url", st.URL)
			loop.Wake(a.rings.endpoint)
			a.reconcileSoon(sweepReturn)
		}
	}
	if next != old {
		a.Signal(office.StatusChanged)
	}
}

// tunnelTrouble is why the public address is closed, and since when: through all the attempts to open it.
type tunnelTrouble struct {
	err   error
	since time.Time
}

// tellTunnel keeps the health issue about the public address in step. People are told once the trouble has lasted a
// while, or at once when only they can end it.
func (a *Agent) tellTunnel() {
	a.mu.Lock()
	trouble := a.trouble
	a.mu.Unlock()
	err := trouble.err
	if err == nil {
		a.Health.Clear(health.AddressClosed)
		return
	}
	var e *tunnel.Error
	known := errors.As(err, &e)
	grace := tunnelGrace
	if known && e.Kind == tunnel.DomainInUse {
		grace = tunnelInUseGrace
	}
	if known && e.Temporary() && !loop.CoolFor(trouble.since, grace).Over(a.Now()) {
		return
	}
	switch {
	case errors.Is(err, errNoAuthtoken):
		a.Health.Set(health.AddressRefused, message.Plain("The ngrok authtoken is missing. Enter it in Settings; until then signed documents arrive late."))
	case errors.Is(err, errLocked): // the keyring issue says it
	case known && e.Temporary():
		text := e.Sentence()
		if e.Kind == tunnel.Network {
			text += " Trying again." // which a test of the settings does not
		}
		a.Health.Set(health.AddressClosed, message.Plain(text))
	case known:
		a.Health.Set(health.AddressRefused, message.Plain(e.Sentence()))
	default:
		a.Health.Set(health.AddressRefused, message.Plain("The public address could not be connected: "+err.Error()+"."))
	}
}

// serve routes what arrives at the public address.
func (a *Agent) serve(w http.ResponseWriter, r *http.Request) {
	s := a.Settings()
	switch r.URL.Path {
	case webhookPath(s):
		a.serveEvent(w, r)
	case office.CallbackPath, office.BasePath(s) + office.CallbackPath, office.PathOf(s.RedirectURI):
		a.serveCallback(w, r)
	default:
		http.NotFound(w, r)
	}
}

// webhookURL is the address to register: the public address itself when it has a path, which an office with its own
// proxy chose; otherwise one with a path, because services differ in how they write a bare host.
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
