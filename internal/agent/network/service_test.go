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
	t.Run("it asks for a sign-in", func(t *testing.T) { looksMoreRarely(t, page, true) })
	t.Run("it lets nobody through", func(t *testing.T) { looksMoreRarely(t, refuse, false) })
}

// looksMoreRarely has calls of the service fail every second for hours.
func looksMoreRarely(t *testing.T, answer answers, asks bool) {
	tools := looptest.Base(t, func() {})
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		settings := office.DefaultSettings()
		settings.AuthURL, settings.BaseURL = "https://sign.test", "https://sign.test"
		r := New(tools, Deps{
			HTTP: &http.Client{Transport: answers(func(q *http.Request) (*http.Response, error) { asked.Add(1); return answer(q) })}, Free: func() {},
			Settings: func() office.Settings { return settings },
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.Run(ctx)
		}()
		within := func(d time.Duration) int {
			before := asked.Load()
			for range int(d / time.Second) {
				r.Failed(&esign.Error{Kind: esign.BadAnswer})
				time.Sleep(time.Second)
			}
			return int(asked.Load() - before)
		}
		if n := within(time.Minute); n < 2 || asks && n < 10*2 {
			t.Errorf("within the first minute it asks %d times", n)
		}
		within(time.Hour)
		if n := within(time.Hour); n > 100 {
			t.Errorf("an hour later it asks %d times an hour", n)
		}
		if told := tools.Health.Has(health.NetworkAsks); told != asks {
			t.Errorf("people are told: %v", told)
		}
		stop()
		<-ended
	})
}

func TestAServiceThatFailsIsNotTakenForTheNetwork(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		header http.Header
	}{
		"its own page for what is not there": {http.StatusNotFound, http.Header{"Content-Type": {"text/html"}}},
		"its gateway":                        {http.StatusBadGateway, http.Header{"Content-Type": {"text/html"}}},
		"a way to itself":                    {http.StatusFound, http.Header{"Location": {"/maintenance"}}},
	} {
		r := New(looptest.Base(t, func() {}), Deps{HTTP: &http.Client{Transport: answers(func(q *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(strings.NewReader("<html>sorry</html>")), Request: q}, nil
		})}})
		s := office.DefaultSettings()
		s.AuthURL, s.BaseURL = "https://sign.test", "https://sign.test"
		if at, asks := r.Asks(t.Context(), s); asks {
			t.Errorf("%s was taken for a sign-in page of the network at %q", name, at)
		}
	}
}
