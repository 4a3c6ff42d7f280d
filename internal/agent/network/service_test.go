package network

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/proxy"
)

// answers are what a network does with each request.
type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// page is the answer of a network that asks for a sign-in.
func page(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"https://portal.test/"}}, Body: http.NoBody, Request: r}, nil
}

func refuse(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED }

func TestANetworkThatStaysAsItIsIsLookedAtMoreAndMoreRarely(t *testing.T) {
	tools := looptest.Base(t, func() {})
	synctest.Test(t, func(t *testing.T) {
		var asked, freed atomic.Int64
		var answer atomic.Pointer[answers]
		settings := office.DefaultSettings()
		settings.AuthURL, settings.BaseURL = "https://sign.test", "https://sign.test"
		r := New(tools, Deps{
			HTTP:     &http.Client{Transport: answers(func(q *http.Request) (*http.Response, error) { asked.Add(1); return (*answer.Load())(q) })},
			Settings: func() office.Settings { return settings }, Free: func() { freed.Add(1) },
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.Run(ctx)
		}()
		nothing, portal := answers(refuse), answers(page)
		for _, c := range []struct {
			when        string
			answer      *answers
			during      time.Duration
			fails       bool // a call of the service, every second
			least, most int  // requests
			told        bool
			freed       int
		}{
			{"nothing answers", &nothing, time.Minute, true, 2 * 2, 10, false, 0},
			{"still nothing", &nothing, time.Hour, true, 2, 100, false, 0},
			{"an hour later", &nothing, time.Hour, true, 2, 100, false, 0},
			{"the network asks for a sign-in", &portal, 5*time.Minute + time.Second, true, 3, 100, true, 0},
			{"and does not any more", &nothing, time.Minute, true, 2 * 2, 10, false, 1},
			{"still nothing again", &nothing, time.Hour, true, 2, 100, false, 1},
			{"nobody needs the service", &nothing, time.Hour, false, 0, 4, false, 1},
			{"somebody does", &nothing, time.Minute, true, 2 * 2, 10, false, 1},
			{"the network asks again", &portal, time.Hour, true, 100, 400, true, 1},
			{"an hour later", &portal, time.Hour, true, 3, 100, true, 1},
			{"signed in", &nothing, 3 * time.Minute, false, 2, 4, false, 2},
		} {
			answer.Store(c.answer)
			before := asked.Load()
			for range int(c.during / time.Second) {
				if c.fails {
					r.Failed(&esign.Error{Kind: esign.BadAnswer})
				}
				r.Failed(&esign.Error{Kind: esign.Refused})
				time.Sleep(time.Second)
			}
			n, told := int(asked.Load()-before), tools.Health.Has(health.NetworkAsks)
			if n < c.least || n > c.most || told != c.told || int(freed.Load()) != c.freed || told && r.Page() != "https://portal.test/" {
				t.Errorf("%s: it asks %d times; people are told: %v, of %q; freed %d times", c.when, n, told, r.Page(), freed.Load())
			}
		}
		stop()
		<-ended
	})
}

func TestAPageIsTheNetworksWhereNobodyElseCanHaveSentIt(t *testing.T) {
	says := func(status int, header, value, body string) answers {
		return func(q *http.Request) (*http.Response, error) {
			from := io.NopCloser(strings.NewReader(body))
			return &http.Response{StatusCode: status, Header: http.Header{header: {value}}, Body: from, Request: q}, nil
		}
	}
	kind := "Content-Type"
	sends := func(to string) answers { return says(http.StatusFound, "Location", to, "") }
	fails := func(err error) answers { return func(*http.Request) (*http.Response, error) { return nil, err } }
	welcome, missing := says(http.StatusOK, kind, "", "\xef\xbb\xbf\n <p>Welcome"), says(http.StatusNotFound, kind, "text/html", "<html>sorry</html>")
	text, label := says(http.StatusOK, kind, "text/plain", "1 < 2"), says(http.StatusOK, kind, "text/html", "Welcome")
	at := func(host string, there, elsewhere answers) answers {
		return func(q *http.Request) (*http.Response, error) {
			if q.URL.Host == host {
				return there(q)
			}
			return elsewhere(q)
		}
	}
	const here = "https://sign.test"
	tools := looptest.Base(t, func() {})
	for name, c := range map[string]struct {
		service, signIn string
		network         answers
		want            string // the page; empty for none of the network
	}{
		"its own page for nothing":        {here, here, missing, ""},
		"its gateway":                     {here, here, says(http.StatusBadGateway, kind, "text/html", "<html>sorry</html>"), ""},
		"an answer of the service":        {here, here, says(http.StatusUnauthorized, kind, "application/json", "{}"), ""},
		"another program":                 {"https://sign.test:8443", here, at("sign.test:8443", missing, text), ""},
		"a way to itself":                 {here, here, sends("/maintenance"), ""},
		"a way to its other name":         {here, here, sends("http://WWW.Sign.test:8080/"), ""},
		"a way to its sign-in":            {here, "https://id.test", sends("https://id.test/login"), ""},
		"a way to another port":           {"http://sign.test:8080", "http://sign.test:8080", sends("http://sign.test:9090/"), "http://sign.test:9090/"},
		"a way to somebody else":          {here, here, sends("https://portal.test/in"), "https://portal.test/in"},
		"a way to no page":                {here, here, sends("ftp://portal.test/"), ""},
		"a way to nobody":                 {here, here, sends("http:///in"), ""},
		"a way with a password":           {here, here, sends("http://me:you@portal.test/"), ""},
		"a way to nowhere":                {here, here, sends(""), ""},
		"a page":                          {here, here, welcome, "http://sign.test/"},
		"a page after a refusal":          {here, here, says(http.StatusForbidden, kind, "text/html", "<html>"), ""},
		"a demand":                        {here, here, says(http.StatusNetworkAuthenticationRequired, kind, "", ""), "http://sign.test/"},
		"a page without TLS alone":        {"https://sign.test:8443", here, at("sign.test:8443", refuse, label), "http://sign.test/"},
		"a page at an address of numbers": {"https://[::1]:8443", here, welcome, "http://[::1]/"},
		"a page without TLS":              {"http://sign.test:8080", here, welcome, "http://sign.test:8080/"},
		"a page at one address alone":     {here, "https://id.test", at("sign.test", welcome, missing), ""},
		"a page at both":                  {here, "https://id.test", welcome, "http://sign.test/"},
		"a page, and no sign-in address":  {here, "", welcome, "http://sign.test/"},
		"a page, and half a sign-in":      {here, "https://[", welcome, "http://sign.test/"},
		"an address with a space":         {" https://sign.test/ ", here, welcome, "http://sign.test/"},
		"no address":                      {"", here, welcome, ""},
		"an address in error":             {"https://[", here, welcome, ""},
		"nothing at all":                  {here, here, refuse, ""},
		"a proxy that has a page":         {here, here, fails(&proxy.Error{Status: http.StatusFound, Page: "http://portal.test/"}), "http://portal.test/"},
		"a proxy that demands a sign-in":  {here, here, fails(&proxy.Error{Status: http.StatusNetworkAuthenticationRequired}), "http://sign.test/"},
		"a proxy that refuses":            {here, here, fails(&proxy.Error{Status: http.StatusForbidden}), ""},
	} {
		r := New(tools, Deps{HTTP: &http.Client{Transport: c.network}})
		s := office.DefaultSettings()
		s.AuthURL, s.BaseURL = c.signIn, c.service
		if page, asks := r.Asks(t.Context(), s); asks != (c.want != "") || asks && page != c.want {
			t.Errorf("%s: %v, at %q", name, asks, page)
		}
	}
}
