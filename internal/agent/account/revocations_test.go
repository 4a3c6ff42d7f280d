package account

import (
	"context"
	"net/http"
	"strings"
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

// leaving is an account that has a sign-in to revoke, since a while ago, at a service that is out of order.
func leaving(t *testing.T, since time.Duration) (*Service, *silent) {
	t.Helper()
	service := &silent{}
	x := New(looptest.Base(t, func() {}), Deps{
		Keeper: secret.Memory(), HTTP: &http.Client{Transport: service}, Words: message.English, Message: message.For,
		Address: func(context.Context) (string, bool) { return "", false }, Changed: func() {}, SignedUp: func() {},
		Unlocked: func() {}, Returned: func() {}, Failed: func(error) {},
	})
	x.Endpoint = &registration{}
	noErr(t, x.Load())
	t.Cleanup(x.Close)
	x.Begin(t.Context())
	owed := pendingRevocation{ID: "1", AuthURL: "https://sign.test", BaseURL: "https://sign.test", ClientID: "office", Refresh: "r", Since: x.Now().Add(-since), Next: x.Now()}
	noErr(t, x.keepPending(owed, esign.Tokens{}, map[string][]byte{}))
	return x, service
}

// The computer was off for a month when somebody had signed out, and the network is not there at once.
func TestARevocationIsNotGivenUpForATimeInWhichNobodyTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, _ := leaving(t, 30*24*time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- x.RunRevocations(ctx) }()
		time.Sleep(24 * time.Hour)
		if list, err := x.pendingNow(); err != nil || len(list) != 1 {
			t.Errorf("after a day: %+v, %v", list, err)
		}
		time.Sleep(revocationLimit)
		if list, err := x.pendingNow(); err != nil || len(list) != 0 {
			t.Errorf("it is told for ever: %+v, %v", list, err)
		}
		stop()
		noErr(t, <-ended)
	})
}

func TestNobodyWaitsLongToBeSignedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, _ := leavingSignedIn(t)
		x.HTTP.Transport = hanging{}
		begun := time.Now()
		err := x.SignOut(t.Context())
		if waited := time.Since(begun); waited > signOutLimit+closeLimit || !strings.Contains(message.For(err).String(), "could not be revoked") {
			t.Errorf("after %s: %v", waited, err)
		}
		if list, err := x.pendingNow(); err != nil || len(list) != 2 {
			t.Errorf("owed: %+v, %v", list, err)
		}
	})
}

// hanging never answers.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestARevocationThatCannotBeNotedIsNotSentWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, service := leaving(t, 0)
		x.Data.Freeze(message.MovingNow())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- x.RunRevocations(ctx) }()
		time.Sleep(time.Hour)
		if n := service.asked.Load(); n == 0 || n > 30 {
			t.Errorf("asked %d times in an hour", n)
		}
		x.Data.Thaw()
		time.Sleep(2 * time.Hour)
		if list, err := x.pendingNow(); err != nil || len(list) != 1 || list[0].Tries == 0 {
			t.Errorf("noted, once it can be: %+v, %v", list, err)
		}
		stop()
		noErr(t, <-ended)
	})
}

// What is owed to a service that was left before keeps nobody from leaving another one.
func TestARevocationIsKeptThoughTheOneBeforeIsDamaged(t *testing.T) {
	for name, damage := range map[string]func(x *Service) error{
		"sealed by nobody": func(x *Service) error { return x.spoil(sealedIn("1")) },
		"no object":        func(x *Service) error { return x.keys.Put(map[string][]byte{sealedIn("1"): []byte("[]")}) },
	} {
		x, _ := leaving(t, 0)
		noErr(t, damage(x))
		clear(x.keys.opened) // as after a restart
		noErr(t, x.keepPending(pendingRevocation{ID: "2", Refresh: "r"}, esign.Tokens{}, map[string][]byte{}))
		if list, err := x.pendingNow(); err != nil || len(list) != 1 || list[0].ID != "2" {
			t.Errorf("%s: owed are %+v, %v", name, list, err)
		}
	}
}
