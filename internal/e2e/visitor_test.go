//go:build linux

package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
)

// visitor walks the service's pages as a person with a browser does, without a browser.
type visitor struct{ client *http.Client }

// newVisitor trusts what the front, which may be nil, shows.
func newVisitor(a *authority) *visitor {
	jar, _ := cookiejar.New(nil) // without options there is nothing to fail
	transport := &http.Transport{DisableKeepAlives: true}
	if a != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: a.pool}
	}
	return &visitor{&http.Client{Jar: jar, Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 10 {
			return errors.New("redirected without end")
		}
		if strings.HasPrefix(r.URL.String(), selfReturn+"?") {
			return http.ErrUseLastResponse // nobody listens there: the address is what was wanted
		}
		return nil
	}}}
}

var flowField = regexp.MustCompile(`name="flow" value="([^"]+)"`)

// signIn follows an authorize address through the sign-in and consent pages, and returns the text and the address of
// the page it ends on.
func (v *visitor) signIn(ctx context.Context, address, email string, allow bool) (page string, end *url.URL, err error) {
	page, end, err = v.do(ctx, http.MethodGet, address, nil)
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
		page, end, err = v.do(ctx, http.MethodPost, end.Scheme+"://"+end.Host+end.Path, form)
	}
	return "", nil, errors.New("the sign-in goes in circles")
}

func (v *visitor) do(ctx context.Context, method, address string, form url.Values) (page string, end *url.URL, err error) {
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
	resp, err := v.client.Do(req)
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
