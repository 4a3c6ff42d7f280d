package agent

import (
	"bytes"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"countersign/assets"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/tunnel"
)

// wayBack is how one sign-in returns to this computer.
type wayBack struct {
	uri   string // the redirect_uri
	close func() // gives up what was opened for it
}

// openWayBack opens the way back the settings chose. The tunnel is open already, or will be in a moment.
func (a *Agent) openWayBack(ctx context.Context, s office.Settings) (wayBack, error) {
	nothing := func() {}
	switch s.Redirect {
	case office.RedirectLocalhost:
		cert, err := a.localhostCertificate()
		if err != nil {
			return wayBack{}, err
		}
		return a.listenForReturn(ctx, s, func(listen string) tunnel.Tunnel {
			return tunnel.Loopback(tunnel.LoopbackConfig{Listen: listen, Certificate: cert, Log: a.Log})
		})
	case office.RedirectLoopback:
		return a.listenForReturn(ctx, s, tunnel.Plain)
	case office.RedirectPaste:
		if s.RedirectURI != "" {
			return wayBack{s.RedirectURI, nothing}, nil
		}
		// The address registered is the tunnel's, whether or not it is open.
		if s.Tunnel == office.TunnelExternal {
			return wayBack{office.ExternalReturn(s), nothing}, nil
		}
		if s.NgrokDomain != "" {
			return wayBack{office.HTTPSHost(s.NgrokDomain) + office.CallbackPath, nothing}, nil
		}
	}
	if s.RedirectURI != "" && s.Redirect != office.RedirectTunnel {
		return wayBack{s.RedirectURI, nothing}, nil
	}
	public, err := a.waitForTunnel(ctx, 45*time.Second)
	if err != nil {
		return wayBack{}, err
	}
	switch {
	case s.RedirectURI != "":
		return wayBack{s.RedirectURI, nothing}, nil
	case s.Tunnel == office.TunnelExternal:
		return wayBack{office.ExternalReturn(s), nothing}, nil
	default:
		return wayBack{public + office.CallbackPath, nothing}, nil
	}
}

// waitForTunnel waits until the public address is open.
func (a *Agent) waitForTunnel(ctx context.Context, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	address, open := a.webhook.WaitOpen(ctx)
	if !open {
		return "", &SignInError{message.Then(message.ReturnClosed(), a.tunnelAdvice())}
	}
	return address, nil
}

func (a *Agent) tunnelAdvice() message.Message {
	for _, i := range a.Health.List() {
		if i.ID == "tunnel" || i.ID == "setup" {
			return i.Message
		}
	}
	return message.CheckConnection()
}

// listenForReturn opens a listener on this computer for the time of one sign-in. With a redirect address in the
// settings its port is used, otherwise any free one.
func (a *Agent) listenForReturn(ctx context.Context, s office.Settings, open func(listen string) tunnel.Tunnel) (wayBack, error) {
	listen := "127.0.0.1:0"
	if s.Redirect == office.RedirectLocalhost { // registered in advance, so always the same
		listen = "127.0.0.1:" + office.LocalhostPort
	}
	path := office.CallbackPath
	if u, err := url.Parse(s.RedirectURI); err == nil && s.RedirectURI != "" {
		path = u.Path
		if u.Port() != "" {
			listen = net.JoinHostPort("127.0.0.1", u.Port())
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	up := make(chan string, 1)
	var running sync.WaitGroup
	var failed error
	running.Go(func() {
		mux := http.NewServeMux()
		mux.HandleFunc("GET "+path, a.serveCallback)
		err := open(listen).Run(ctx, mux, func(st tunnel.State) {
			if st.Phase == tunnel.Up {
				select {
				case up <- st.URL:
				default: // it was up before
				}
			}
		})
		failed = err
		cancel()
	})
	closeAll := func() {
		cancel()
		running.Wait()
	}
	select {
	case base := <-up:
		uri := base + path
		if s.RedirectURI != "" {
			uri = s.RedirectURI
		}
		return wayBack{uri, closeAll}, nil
	case <-ctx.Done():
		closeAll()
		if failed != nil {
			return wayBack{}, failed
		}
		return wayBack{}, context.Cause(ctx)
	}
}

func sameState(got, want string) bool {
	return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}

// localhostCertificate is the certificate for https://localhost, made once and kept, so that the browser warns once.
func (a *Agent) localhostCertificate() (tls.Certificate, error) {
	pair, err := a.keys.Get(sealedLocalhost)
	if err != nil {
		return tls.Certificate{}, err
	}
	if cert, err := tls.X509KeyPair(pair, pair); err == nil && a.inForce(cert.Leaf) {
		return cert, nil
	}
	certPEM, keyPEM, err := tunnel.SelfSigned(a.Now(), "localhost", "127.0.0.1", "::1")
	if err != nil {
		return tls.Certificate{}, err
	}
	if err := a.keys.Put(map[string][]byte{sealedLocalhost: bytes.Join([][]byte{certPEM, keyPEM}, nil)}); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certPEM, keyPEM)
}

// inForce reports whether a browser will take cert today and tomorrow. One that is not in force yet was made by a clock
// that was fast.
func (a *Agent) inForce(cert *x509.Certificate) bool {
	now := a.Now()
	return !now.Before(cert.NotBefore) && now.Add(24*time.Hour).Before(cert.NotAfter)
}

// serveCallback is where the browser returns. It answers with a page that says how the sign-in went; a request that
// belongs to no sign-in of ours ends none.
func (a *Agent) serveCallback(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 60*time.Second)
	defer cancel()
	err := a.deliver(ctx, r.URL.Query())
	o := a.current.Get()
	account, language := o.account.Email, o.settings.Language
	status, heading, text, next := http.StatusOK, message.YouAreSignedIn(), message.Connected(), message.ClosePage()
	switch {
	case err != nil:
		status, heading, text, next = http.StatusBadRequest, message.SignInFailed(), Message(err), message.BackToCountersign()
	case account != "":
		text = message.WorksFor(account)
	}
	words := a.p.Words()
	page := assets.Return{OK: err == nil, Language: language, Heading: words.Text(heading), Text: words.Text(text), Next: words.Text(next)}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:")
	w.WriteHeader(status)
	if err := assets.WriteReturn(w, page); err != nil {
		a.Log.Debug("write the return page", "err", err)
	}
}

// LocalhostCertificate is the certificate of addresses on this computer, for whoever has to trust it.
func (a *Agent) LocalhostCertificate() (*x509.Certificate, error) {
	cert, err := a.localhostCertificate()
	return cert.Leaf, err
}
