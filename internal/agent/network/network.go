// Package network examines the office's network: whether it demands a sign-in in the browser before letting anybody out (a captive
// portal), and, on request, how each stage of the way to the service and to ngrok works.
//
// It promises that a page which the network shows instead of the service is recognized as such, and that this ends by itself when
// the network is free. It sends no token anywhere. It must not know what is sent and kept.
package network

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/proxy"
)

// Deps are what a Service needs from outside. All are required, and none may wait for it.
type Deps struct {
	HTTP     *http.Client
	Settings func() office.Settings
	Free     func() // called when the network no longer blocks
}

// Service watches the network. All methods are safe for concurrent use.
type Service struct {
	loop.Base
	Deps
	wake chan struct{}
	page atomic.Pointer[string] // where the network demands a sign-in
}

func New(tools loop.Base, n Deps) *Service {
	return &Service{Base: tools, Deps: n, wake: make(chan struct{}, 1)}
}

const (
	lookTime = 20 * time.Second // limit of one check

	// Between two checks while the service does not answer although the network demands nothing; doubled each time.
	restTime, longestRest = 30 * time.Second, 5 * time.Minute

	// Between two checks while it demands a sign-in: a tenth of the time it has been doing so, because a page that nobody handles
	// stays for a weekend.
	shortestWait, longestWait = 3 * time.Second, 2 * time.Minute
)

// Failed is told of each call that the service did not answer. It returns at once.
func (r *Service) Failed(err error) {
	if Suspicious(err) {
		r.Look()
	}
}

// Look requests a check soon. It returns at once.
func (r *Service) Look() { loop.Wake(r.wake) }

// Run checks the network whenever the service does not answer, and follows a sign-in page until the network is free.
func (r *Service) Run(ctx context.Context) error {
	var looked time.Time
	for rest := restTime; ; rest = min(2*rest, longestRest) {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		}
		if asked := r.follow(ctx); asked || r.Now().Sub(looked).Abs() > 2*longestRest {
			rest = restTime
		}
		looked = r.Now()
		if !loop.Sleep(ctx, rest) {
			return nil
		}
	}
}

// follow checks until the network demands nothing, and reports whether it demanded anything.
func (r *Service) follow(ctx context.Context) (asked bool) {
	var waited time.Duration
	for {
		page, asks := r.Asks(ctx, r.Settings())
		if ctx.Err() != nil {
			return asked
		}
		if !asks {
			if r.Health.Clear(health.NetworkAsks) {
				r.Log.Info("the network asks for no sign-in any more")
				r.Free()
			}
			return asked
		}
		r.page.Store(&page)
		if !r.Health.Has(health.NetworkAsks) {
			r.Log.Warn("the network asks for a sign-in in the browser")
		}
		r.Health.Set(health.NetworkAsks, message.NetworkWantsBrowser())
		wait := min(max(waited/10, shortestWait), longestWait)
		asked = true
		if !loop.Sleep(ctx, wait) { // failures meanwhile are nothing new
			return asked
		}
		waited += wait
	}
}

// Page returns the address at which the network demands a sign-in.
func (r *Service) Page() string {
	if page := r.page.Load(); page != nil {
		return *page
	}
	return ""
}

// Suspicious reports whether err may come from a network that shows everybody its own page: the certificate is a different one, the
// answer is a web page or leads elsewhere, or nothing answers.
func Suspicious(err error) bool {
	e, answered := errors.AsType[*esign.Error](err)
	return answered && (e.Kind == esign.Network || e.Kind == esign.BadAnswer || e.Status == http.StatusNetworkAuthenticationRequired)
}

// Asks checks whether the network demands a sign-in in the browser, and at which page. It first checks whether the service answers;
// if not, it requests a page that does not exist from the service's host, without TLS if the address has TLS. Only a network in
// between answers that with a page or a redirect to another host. It contacts no third party.
func (r *Service) Asks(ctx context.Context, s office.Settings) (page string, asks bool) {
	s = s.Normal()
	address, err := url.Parse(s.BaseURL)
	if err != nil || address.Host == "" {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	config := issuer.Config(s)
	config.HTTP, config.Now, config.Log = r.HTTP, r.Now, r.Log
	err = config.Answers(ctx)
	if !Suspicious(err) {
		return "", false
	}
	open := plain(address, "/")
	if refused, by := errors.AsType[*proxy.Error](err); by {
		if refused.Page != "" {
			open = refused.Page
		}
		return open, refused.WantsBrowser()
	}
	page, asks = r.stranger(ctx, s, address)
	signIn, err := url.Parse(s.AuthURL)
	if asks && err == nil && signIn.Host != "" && signIn.Host != address.Host {
		_, asks = r.stranger(ctx, s, signIn) // a network answers so at every address, a wrong address only by itself
	}
	return page, asks
}

// stranger requests a page that does not exist at an address of the service. It reports whether somebody else answers, and where
// browsers are sent then.
func (r *Service) stranger(ctx context.Context, s office.Settings, address *url.URL) (page string, yes bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, plain(address, "/countersign-network-check"), nil)
	if err != nil {
		return "", false
	}
	request.Header.Set("User-Agent", "Countersign")
	client := *r.HTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Do(request)
	if err != nil {
		return "", false
	}
	defer response.Body.Close()
	to, elsewhere := leadsElsewhere(response, s)
	if elsewhere {
		return to, true
	}
	return plain(address, "/"), response.StatusCode == http.StatusNetworkAuthenticationRequired || response.StatusCode/100 == 2 && isPage(response)
}

// plain returns a page of the same host without TLS.
func plain(address *url.URL, path string) string {
	host := address.Host
	if address.Scheme == "https" {
		host = address.Hostname()
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
	}
	return (&url.URL{Scheme: "http", Host: host, Path: path}).String()
}

// leadsElsewhere reports whether an answer redirects browsers to a host other than the service's, and where.
func leadsElsewhere(response *http.Response, s office.Settings) (to string, yes bool) {
	if response.StatusCode/100 != 3 {
		return "", false
	}
	target, err := response.Location()
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Hostname() == "" || target.User != nil {
		return "", false
	}
	for _, own := range []string{s.BaseURL, s.AuthURL} {
		u, err := url.Parse(own)
		if err == nil && related(u.Hostname(), target.Hostname()) && (u.Port() == target.Port() || u.Scheme == "https") {
			return "", false
		}
	}
	return target.String(), true
}

// related reports whether two hosts belong together, like www.sign.test and sign.test.
func related(a, b string) bool {
	a, b = strings.TrimPrefix(strings.ToLower(a), "www."), strings.TrimPrefix(strings.ToLower(b), "www.")
	return a == b || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a)
}

// isPage reports whether an answer is a web page, whatever its content type says.
func isPage(response *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	head, _ := io.ReadAll(io.LimitReader(response.Body, 512))
	return kind == "text/html" || bytes.HasPrefix(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n"), []byte("<"))
}
