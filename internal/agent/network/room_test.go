package network

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/office"
)

// page answers as a network that asks for a sign-in does.
type page func()

func (p page) RoundTrip(r *http.Request) (*http.Response, error) {
	p()
	return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"https://portal.test/"}}, Body: http.NoBody, Request: r}, nil
}

func TestAPageThatNobodyMindsIsLookedAtMoreAndMoreRarely(t *testing.T) {
	tools := looptest.Tools(t, func() {})
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		settings := office.DefaultSettings()
		settings.AuthURL, settings.BaseURL = "https://sign.test", "https://sign.test"
		r := New(tools, Needs{
			HTTP: &http.Client{Transport: page(func() { asked++ })}, Free: func() {},
			Settings: func() office.Settings { return settings },
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.Run(ctx)
		}()
		r.Failed(&esign.Error{Kind: esign.BadAnswer})
		within := func(d time.Duration) int {
			before := asked
			time.Sleep(d)
			synctest.Wait()
			return asked - before
		}
		if n := within(time.Minute); n < 10*2 {
			t.Errorf("within the first minute it asks %d times", n)
		}
		within(time.Hour)
		if n := within(time.Hour); n > 100 {
			t.Errorf("an hour later it asks %d times an hour", n)
		}
		if !tools.Health.Has(health.NetworkAsks) {
			t.Error("people are not told")
		}
		stop()
		<-ended
	})
}
