package account

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/secret"
)

// silent is a service that is out of order, and counts who asks.
type silent struct{ asked atomic.Int64 }

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// leaving is an account that owes a farewell, since a while ago, to a service that is out of order.
func leaving(t *testing.T, since time.Duration) (*Room, *silent) {
	t.Helper()
	service := &silent{}
	x := New(looptest.Tools(t, func() {}), Needs{
		Keeper: secret.Memory(), HTTP: &http.Client{Transport: service}, Words: message.English, Message: message.For,
		Address: func(context.Context) (string, bool) { return "", false }, Changed: func() {}, SignedUp: func() {},
		Unlocked: func() {}, Returned: func() {}, Failed: func(error) {}, Crash: func(string) {},
	})
	x.Endpoint = &registration{}
	if err := x.Load(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	x.Begin(t.Context())
	owed := farewell{ID: "1", AuthURL: "https://sign.test", BaseURL: "https://sign.test", ClientID: "office", Refresh: "r", Since: x.Now().Add(-since), Next: x.Now()}
	if err := x.owe(owed, esign.Tokens{}, map[string][]byte{}); err != nil {
		t.Fatal(err)
	}
	return x, service
}

// The computer was off for a month when somebody had signed out, and the network is not there at once.
func TestAFarewellIsNotGivenUpForATimeInWhichNobodyTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, _ := leaving(t, 30*24*time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- x.RunFarewells(ctx) }()
		time.Sleep(24 * time.Hour)
		if list, err := x.owed(); err != nil || len(list) != 1 {
			t.Errorf("after a day: %+v, %v", list, err)
		}
		time.Sleep(maxFarewell)
		if list, err := x.owed(); err != nil || len(list) != 0 {
			t.Errorf("it is told for ever: %+v, %v", list, err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestAFarewellThatCannotBeNotedIsNotSaidWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, service := leaving(t, 0)
		x.Data.Freeze(message.MovingNow())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- x.RunFarewells(ctx) }()
		time.Sleep(time.Hour)
		if n := service.asked.Load(); n == 0 || n > 30 {
			t.Errorf("asked %d times in an hour", n)
		}
		x.Data.Thaw()
		time.Sleep(2 * time.Hour)
		if list, err := x.owed(); err != nil || len(list) != 1 || list[0].Tries == 0 {
			t.Errorf("noted, once it can be: %+v, %v", list, err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
