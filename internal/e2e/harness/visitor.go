//go:build linux

package harness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
)

// Visitor walks the service's pages as a person with a browser does, without a browser.
type Visitor struct {
	Client    *http.Client
	transport *http.Transport
}

// NewVisitor trusts what a issued, if there is one, and stops where it is sent to one of the addresses nobody, where
// nobody listens.
func NewVisitor(a *Authority, nobody ...string) *Visitor {
	jar, _ := cookiejar.New(nil) // without options there is nothing to fail
	transport := &http.Transport{DisableKeepAlives: true}
	if a != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: a.Pool()}
	}
	client := &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 10 {
			return errors.New("redirected without end")
		}
		for _, address := range nobody {
			if strings.HasPrefix(r.URL.String(), address+"?") {
				return http.ErrUseLastResponse
			}
		}
		return nil
	}}
	return &Visitor{client, transport}
}

// reach sends connections for one address to another.
func (v *Visitor) reach(address, instead string) {
	dialer := &net.Dialer{}
	v.transport.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
		if to == address {
			to = instead
		}
		return dialer.DialContext(ctx, network, to)
	}
}

var flowField = regexp.MustCompile(`name="flow" value="([^"]+)"`)

// SignIn follows an authorize address through the sign-in and consent pages, and returns the text and the address of
// the page it ends on.
func (v *Visitor) SignIn(ctx context.Context, address, email string, allow bool) (page string, end *url.URL, err error) {
	page, end, err = v.Do(ctx, http.MethodGet, address, nil)
	for range 5 {
		if err != nil {
			return "", nil, err
		}
		form := url.Values{}
		switch {
		case strings.HasSuffix(end.Path, "/connect/login"):
			form.Set("email", email)
		case strings.HasSuffix(end.Path, "/connect/consent") && allow:
			form.Set("decision", "allow")
		case strings.HasSuffix(end.Path, "/connect/consent"):
			form.Set("decision", "deny")
		default:
			return page, end, nil
		}
		field := flowField.FindStringSubmatch(page)
		if field == nil {
			return "", nil, fmt.Errorf("the page %s has no form", end.Path)
		}
		form.Set("flow", field[1])
		page, end, err = v.Do(ctx, http.MethodPost, end.Scheme+"://"+end.Host+end.Path, form)
	}
	return "", nil, errors.New("the sign-in goes in circles")
}

func (v *Visitor) Do(ctx context.Context, method, address string, form url.Values) (page string, end *url.URL, err error) {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return "", nil, err
	}
	req.Header.Set("Accept", "text/html")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := v.Client.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", nil, err
	}
	end = resp.Request.URL
	if l, err := resp.Location(); err == nil {
		end = l
	}
	return string(b), end, nil
}
