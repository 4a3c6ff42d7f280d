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

	"countersign/internal/agent/issuer"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/proxy"
)

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
