package account

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
	"countersign/internal/store"
)

// eachFault has something happen while each of the calls fails in each way, at a service of its own: some are waited for. Another host,
// which is pointed to, must not be asked.
func eachFault(t *testing.T, paths []string, happens func(t *testing.T, x *testService, path, fault string, begin func())) {
	t.Helper()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("another host was asked: %s", r.URL) }))
	t.Cleanup(other.Close)
	for _, path := range paths {
		for name, f := range map[string]sandbox.Fault{
			"dropped": {Drop: true}, "cut in the middle": {TruncateAfter: 20}, "401": {Status: 401}, "404": {Status: 404}, "500": {Status: 500},
			"a web page": {Status: 200, Body: "<html>Welcome</html>", Headers: map[string]string{"Content-Type": "text/html"}},
			"a redirect": {Status: 307, Headers: map[string]string{"Location": other.URL + "/elsewhere"}},
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				t.Parallel()
				x := newService(t)
				x.setUp(t)
				f.Path = path
				happens(t, x, path, name, func() { x.service.Inject(f) })
			})
		}
	}
}

func TestASignInThatFailsSaysSoInOneSentenceAndTheNextOneWorks(t *testing.T) {
	paths := []string{"/.well-known/openid-configuration", "/.well-known/jwks", "/connect/userinfo", "/connect/token"}
	eachFault(t, paths, func(t *testing.T, x *testService, path, fault string, begin func()) {
		begin()
		err := x.tryToSignIn(t)
		if text := message.For(err).String(); strings.ContainsAny(text, "\n{}") || strings.Contains(text, "://") || strings.Contains(text, "connect/") {
			t.Errorf("told: %q", text)
		}
		if x.SignedIn() != (err == nil) || err == nil && path == "/connect/token" {
			t.Errorf("signed in %v, %v", x.SignedIn(), err)
		}
		if given := err != nil && path != "/connect/token" && path != "/.well-known/openid-configuration"; given && x.owed(t) == 0 {
			t.Error("nobody revokes what was given out")
		}
		x.service.Heal(0)
		x.signIn(t)
	})
}

// What the service does not know, or knows no more, is as good as deleted.
func TestSigningOutHappensHereWhateverTheServiceAnswers(t *testing.T) {
	told := map[string]string{"/events/endpoints/set": "The address for events could not be deleted", "/connect/revoke": "The sign-in could not be revoked"}
	eachFault(t, slices.Collect(maps.Keys(told)), func(t *testing.T, x *testService, path, fault string, begin func()) {
		x.signIn(t)
		begin()
		err := x.SignOut(t.Context())
		well := fault == "404" || path == "/connect/revoke" && fault == "cut in the middle" // whose answer says nothing
		if (err == nil) != well || err != nil && !strings.Contains(message.For(err).String(), told[path]) {
			t.Errorf("told: %v", err)
		}
		if x.SignedIn() || x.Current().Account.Email != "" || !x.Health.Has(health.SignedOut) {
			t.Errorf("%+v, health: %+v", x.Current().Account, x.Health.List())
		}
	})
}

func configure(t *testing.T, x *Service, change func(*office.Settings)) error {
	s := x.Settings()
	change(&s)
	_, err := x.Configure(t.Context(), s, office.Secrets{}, keepNothing)
	return err
}

// leavingSignedIn is leaving, and somebody was signed in when the program ended the last time.
func leavingSignedIn(t *testing.T) (*Service, *silent) {
	x, service := leaving(t, 0)
	noErr(t, configure(t, x, func(s *office.Settings) {
		s.AuthURL, s.BaseURL, s.ClientID = "https://sign.test", "https://sign.test", "office"
	}))
	noErr(t, x.keys.Put(map[string][]byte{issuer.Refresh.Of(issuer.Of(x.Settings())): []byte("r")},
		func(tx *store.Tx) error {
			return errors.Join(tx.PutDoc(Doc, Record{SignedIn: true}), tx.PutDoc(DocKeyID, "another"))
		}))
	noErr(t, x.Load())
	x.connect()
	clear(x.keys.opened)
	return x, service
}

// What follows the commit is for health alone, or for the service.
func TestAChangeIsKeptWholeOrNotAtAll(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(t *testing.T, x *Service) error
		want func(*Current)
	}{
		"a language": {func(t *testing.T, x *Service) error {
			return configure(t, x, func(s *office.Settings) { s.Language = "de" })
		},
			func(o *Current) { o.Settings.Language = "de" }},
		"a client": {func(t *testing.T, x *Service) error {
			return configure(t, x, func(s *office.Settings) { s.ClientID = "another" })
		},
			func(o *Current) { o.Settings.ClientID, o.Account.SignedIn = "another", false }},
		"signing out": {func(t *testing.T, x *Service) error { return x.SignOut(t.Context()) }, func(o *Current) { o.Account.SignedIn = false }},
	} {
		looptest.Bubble(t, name, func(t *testing.T) {
			for n, again := 1, true; again; n++ {
				x, _ := leavingSignedIn(t)
				was, accesses := x.Current(), 0
				x.Data.Store.Fault = func() error {
					if accesses++; accesses == n {
						return looptest.ErrFault
					}
					return nil
				}
				err := c.do(t, x)
				again = accesses >= n
				x.Data.Store.Fault = nil
				want := was
				if !errors.Is(err, looptest.ErrFault) {
					c.want(&want)
				}
				disk := New(x.Base, x.Deps)
				noErr(t, disk.Load())
				for where, is := range map[string]Current{"in memory": x.Current(), "on disk": disk.Current()} {
					if !reflect.DeepEqual(is.Settings, want.Settings) || is.Account.SignedIn != want.Account.SignedIn {
						t.Errorf("%s, access %d failed, and it said %v; %s: %+v", name, n, err, where, is)
					}
				}
			}
		})
	}
}

func TestWhatTheDiskRefusesIsNotTakenForDone(t *testing.T) {
	in := func(do func(tx *store.Tx) error) func(*Service) error {
		return func(x *Service) error { return x.Data.Update(do) }
	}
	for name, do := range map[string]func(x *Service) error{
		"owed": func(x *Service) error {
			return x.keepPending(pendingRevocation{ID: "2", Refresh: "r"}, esign.Tokens{}, map[string][]byte{})
		},
		"put off": func(x *Service) error {
			return x.amend("1", func(f *pendingRevocation) bool { f.Tries++; return true })
		},
		"said":            func(x *Service) error { return x.amend("1", func(*pendingRevocation) bool { return false }) },
		"which are owed":  func(x *Service) error { _, err := x.pendingNow(); return err },
		"which there are": func(x *Service) error { _, _, err := x.HasSecrets(); return err },
		"handed over": func(x *Service) error {
			_, err := x.HandOver(t.Context(), func(*store.Tx) error { return nil })
			return err
		},
		"read":          (*Service).Load,
		"entered":       func(x *Service) error { return x.KeepFirstRun(FirstRun{}) },
		"was entered":   func(x *Service) error { _, _, err := x.FirstRun(); return err },
		"a certificate": func(x *Service) error { _, err := x.Certificate(); return err },
		"unlocked": func(x *Service) error {
			next := New(x.Base, x.Deps)
			return next.keys.unlock(t.Context())
		},
		"replaced":  in(func(tx *store.Tx) error { ReplaceSealed(tx, map[string][]byte{"a": {1}, "b": {2}}); return nil }),
		"forgotten": in(func(tx *store.Tx) error { ForgetPassing(tx); return nil }),
		"lapsed":    in(func(tx *store.Tx) error { Expire(tx); return nil }),
	} {
		t.Run(name, func(t *testing.T) {
			looptest.EachFault(t, func() (*Service, *data.Data) {
				x, _ := leavingSignedIn(t)
				return x, x.Data
			}, do)
		})
	}
}

func TestWhatIsCarriedOverIsNothingOfTheMoment(t *testing.T) {
	x, _ := leaving(t, 0)
	names := func() (list []string) {
		noErr(t, x.Data.Store.View(func(tx *store.Tx) (err error) { list, err = tx.SealedNames(); return err }))
		return list
	}
	noErr(t, x.Data.Update(func(tx *store.Tx) error {
		ReplaceSealed(tx, map[string][]byte{"client-secret@a": {1}, "refresh-token@a": {2}, "endpoint@a": {3}, "endpoint-previous@a": {4}})
		return nil
	}))
	if got := names(); len(got) != 4 {
		t.Errorf("there are %q", got)
	}
	noErr(t, x.Data.Update(func(tx *store.Tx) error { ForgetPassing(tx); return nil }))
	if got := names(); !slices.Equal(got, []string{"client-secret@a"}) {
		t.Errorf("left are %q", got)
	}
	for _, before := range []Record{{SignedIn: true}, {}} {
		var after Record
		noErr(t, x.Data.Update(func(tx *store.Tx) error {
			tx.PutDoc(Doc, before)
			Expire(tx)
			_, err := tx.GetDoc(Doc, &after)
			return err
		}))
		if after.SignedIn || after.Lapsed != before.SignedIn {
			t.Errorf("%+v became %+v", before, after)
		}
	}
}

func TestEachOfTheServicesAddressesIsTried(t *testing.T) {
	a := newService(t)
	service := a.service
	answering := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	blank := answering(http.NotFound)
	page := answering(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<!doctype html><p>Welcome"))
	})
	elsewhere := answering(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://example.com", http.StatusFound)
	})
	ill := answering(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, c := range map[string]struct {
		auth, base string
		want       []string // the fields that are wrong
		text       string
	}{
		"both right":        {service.URL(), service.URL(), nil, ""},
		"with the prefix":   {service.URL(), service.URL() + "/api/v1", nil, ""},
		"nothing there":     {service.URL(), gone.URL, []string{"base_url"}, "Nothing answers at the service address."},
		"another server":    {service.URL(), blank, []string{"base_url"}, "The service address answers, but not as a signing service."},
		"a web application": {service.URL(), page, []string{"base_url"}, "The service address answers, but not as a signing service."},
		"a redirect":        {service.URL(), elsewhere, []string{"base_url"}, "The service address answers, but not as a signing service."},
		"out of order":      {service.URL(), ill, []string{"base_url"}, "The service address answers, but the service has a technical problem."},
		"no sign-in":        {blank, service.URL(), []string{"auth_url"}, "The sign-in address answers, but not as a signing service."},
		"no sign-in server": {gone.URL, service.URL(), []string{"auth_url"}, "Nothing answers at the sign-in address."},
		"no address":        {"nonsense", service.URL(), []string{"auth_url"}, ""},
		"neither":           {gone.URL, gone.URL, nil, "The signing service was not found."},
	} {
		t.Run(name, func(t *testing.T) {
			s := office.DefaultSettings()
			s.AuthURL, s.BaseURL = c.auth, c.base
			for _, s.ClientID = range []string{"", sandbox.DemoClient().ID} { // the client ID may come later
				var config *office.ConfigError
				err := a.Test(t.Context(), s)
				var got []string
				if errors.As(err, &config) {
					for _, f := range config.Fields {
						got = append(got, f.Field)
					}
				}
				if !slices.Equal(got, c.want) || (err == nil) != (c.text == "" && c.want == nil) || !strings.Contains(message.For(err).String(), c.text) {
					t.Errorf("client %q: %v: %v", s.ClientID, got, err)
				}
				if strings.Contains(message.For(err).String(), "Settings") {
					t.Errorf("points to Settings: %v", err)
				}
			}
		})
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	s := office.DefaultSettings()
	s.AuthURL, s.BaseURL = service.URL(), gone.URL
	if err := a.Test(stopped, s); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

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
		looptest.Run(t, x.RunRevocations)
		time.Sleep(24 * time.Hour)
		if list, err := x.pendingNow(); err != nil || len(list) != 1 {
			t.Errorf("after a day: %+v, %v", list, err)
		}
		time.Sleep(revocationLimit)
		if list, err := x.pendingNow(); err != nil || len(list) != 0 {
			t.Errorf("it is told for ever: %+v, %v", list, err)
		}
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

type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestARevocationThatCannotBeNotedIsNotSentWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, service := leaving(t, 0)
		x.Data.Freeze(message.MovingNow())
		looptest.Run(t, x.RunRevocations)
		time.Sleep(time.Hour)
		if n := service.asked.Load(); n == 0 || n > 30 {
			t.Errorf("asked %d times in an hour", n)
		}
		x.Data.Thaw()
		time.Sleep(2 * time.Hour)
		if list, err := x.pendingNow(); err != nil || len(list) != 1 || list[0].Tries == 0 {
			t.Errorf("noted, once it can be: %+v, %v", list, err)
		}
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
