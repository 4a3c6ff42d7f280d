package account

import (
	"bytes"
	"cmp"
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

// redirect is how one sign-in returns to this computer.
type redirect struct {
	uri   string // the redirect_uri
	close func() // gives up what was opened for it
}

// openRedirect opens the way back the settings chose. The tunnel is open already, or will be in a moment.
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
		if s.RedirectURI != "" {
			return redirect{s.RedirectURI, nothing}, nil
		}
		// The address registered is the tunnel's, whether or not it is open.
		if s.Tunnel == office.TunnelExternal {
			return redirect{office.ExternalReturn(s), nothing}, nil
		}
		if s.NgrokDomain != "" {
			return redirect{office.HTTPSHost(s.NgrokDomain) + office.CallbackPath, nothing}, nil
		}
	}
	if s.RedirectURI != "" && s.Redirect != office.RedirectTunnel {
		return redirect{s.RedirectURI, nothing}, nil
	}
	public, err := r.waitForTunnel(ctx, 45*time.Second)
	if err != nil {
		return redirect{}, err
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

// waitForTunnel waits until the public address is open.
func (r *Service) waitForTunnel(ctx context.Context, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	address, open := r.Address(ctx)
	if !open {
		return "", &SignInError{message.Then(message.ReturnClosed(), r.tunnelAdvice())}
	}
	return address, nil
}

func (r *Service) tunnelAdvice() message.Message {
	for _, i := range r.Health.List() {
		if i.ID == "tunnel" || i.ID == "setup" {
			return i.Message
		}
	}
	return message.CheckConnection()
}

// listenForReturn opens a listener on this computer for the time of one sign-in. With a redirect address in the
// settings its port is used, otherwise any free one.
func (r *Service) listenForReturn(ctx context.Context, s office.Settings, open func(listen string) tunnel.Tunnel) (redirect, error) {
	listen := "127.0.0.1:0"
	if s.Redirect == office.RedirectLocalhost { // registered in advance, so always the same
		listen = "127.0.0.1:" + office.LocalhostPort
	}
	path := cmp.Or(office.ReturnPath(s), office.CallbackPath)
	if u, err := url.Parse(s.RedirectURI); err == nil && u.Port() != "" {
		listen = net.JoinHostPort("127.0.0.1", u.Port())
	}
	serve := func(w http.ResponseWriter, req *http.Request) { // no pattern of a mux: it would read its own meaning into the path
		if req.URL.Path != path {
			http.NotFound(w, req)
			return
		}
		r.ServeCallback(w, req)
	}
	ctx, cancel := context.WithCancel(ctx)
	up := make(chan string, 1)
	var running sync.WaitGroup
	var failed error
	running.Go(func() {
		err := open(listen).Run(ctx, http.HandlerFunc(serve), func(st tunnel.State) {
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
		return redirect{uri, closeAll}, nil
	case <-ctx.Done():
		closeAll()
		if failed != nil {
			return redirect{}, failed
		}
		return redirect{}, context.Cause(ctx)
	}
}

func sameState(got, want string) bool {
	return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}

// Certificate is the certificate for https://localhost, made once and kept, so that the browser warns once.
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

// inForce reports whether a browser will take cert today and tomorrow. One that is not in force yet was made by a clock
// that was fast.
func (r *Service) inForce(cert *x509.Certificate) bool {
	now := r.Now()
	return !now.Before(cert.NotBefore) && now.Add(24*time.Hour).Before(cert.NotAfter)
}

// ServeCallback is where the browser returns. It answers with a page that says how the sign-in went; a request that
// belongs to no sign-in of ours ends none.
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
