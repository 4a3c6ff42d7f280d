// Package network knows the network that the office is in: whether it asks for a sign-in in the browser before it lets
// anybody out (a captive portal), and, when somebody asks, how each step of the way to the service and to ngrok goes.
//
// It promises that a page which the network shows instead of the service is named as such, and that this ends by itself when
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

// Deps are what a Service needs from outside. All of them are required, and none may wait for it.
type Deps struct {
	HTTP     *http.Client
	Settings func() office.Settings
	Free     func() // the network lets everybody out again
}

// Service watches the network. All methods are safe for concurrent use.
type Service struct {
	loop.Base
	Deps
	wake chan struct{}
	page atomic.Pointer[string] // where the network wants people to sign in
}

func New(tools loop.Base, n Deps) *Service {
	return &Service{Base: tools, Deps: n, wake: make(chan struct{}, 1)}
}

const (
	lookTime = 20 * time.Second // for one look at the network

	// Between two, while the network asks for nothing and the service does not answer all the same: doubled with each.
	restTime, longestRest = 30 * time.Second, 5 * time.Minute

	// Between two, while it does: a tenth of the time for which it did, for a page that nobody minds stays for a weekend.
	shortestWait, longestWait = 3 * time.Second, 2 * time.Minute
)

// Failed is told of each call that the service has not answered. It returns at once.
func (r *Service) Failed(err error) {
	if Suspicious(err) {
		r.Look()
	}
}

// Look has the network looked at soon. It returns at once.
func (r *Service) Look() { loop.Wake(r.wake) }

// Run looks at the network whenever the service does not answer, and follows a sign-in page until the network is free.
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

// follow looks until the network asks for nothing, and reports whether it did ask for something.
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
		if !loop.Sleep(ctx, wait) { // what fails meanwhile tells nothing new
			return asked
		}
		waited += wait
	}
}

// Page is the address at which the network wants people to sign in.
func (r *Service) Page() string {
	if page := r.page.Load(); page != nil {
		return *page
	}
	return ""
}

// Suspicious says whether err may come from a network that shows a page of its own to everybody: the certificate is
// another one, the answer is a page or leads elsewhere, or nothing answers.
func Suspicious(err error) bool {
	var e *esign.Error
	return errors.As(err, &e) && (e.Kind == esign.Network || e.Kind == esign.BadAnswer || e.Status == http.StatusNetworkAuthenticationRequired)
}

// Asks looks whether the network asks for a sign-in in the browser, and at which page. It asks the service whether it is
// there; when something else answers, or nothing, it asks the service's name for a page that does not exist, without TLS
// where there is TLS. Only a network in between answers that with a page, or sends whoever asks to somebody else. It asks no
// third party.
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
	var refused *proxy.Error
	if errors.As(err, &refused) {
		if refused.Page != "" {
			open = refused.Page
		}
		return open, refused.WantsBrowser()
	}
	page, asks = r.stranger(ctx, s, address)
	signIn, err := url.Parse(s.AuthURL)
	if asks && err == nil && signIn.Host != "" && signIn.Host != address.Host {
		_, asks = r.stranger(ctx, s, signIn) // the network does so everywhere; a wrong address, only there
	}
	return page, asks
}

// stranger asks at an address of the service for a page that does not exist, and says whether somebody else answers, and
// where browsers are to go then.
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

// plain is a page of the same host without TLS.
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

// leadsElsewhere says whether an answer sends browsers to somebody who is not the service, and where to.
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

// related says whether two hosts belong to one another: www.sign.test and sign.test.
func related(a, b string) bool {
	a, b = strings.TrimPrefix(strings.ToLower(a), "www."), strings.TrimPrefix(strings.ToLower(b), "www.")
	return a == b || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a)
}

// isPage says whether an answer is a web page, whatever it is labelled.
func isPage(response *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	head, _ := io.ReadAll(io.LimitReader(response.Body, 512))
	return kind == "text/html" || bytes.HasPrefix(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n"), []byte("<"))
}
