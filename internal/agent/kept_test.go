package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"sync"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// errUnchanged stands for an error where there is none to return.
var errUnchanged = errors.New("nothing changed")

func TestMemoryNeverLeadsTheCommit(t *testing.T) {
	tests := map[string]func(o *testOffice) error{
		"sign-out": func(o *testOffice) error { return o.SignOut(o.t.Context()) },
		"settings": func(o *testOffice) error {
			s := o.Settings()
			s.SaveTo, s.ClientID, s.Scopes = o.t.TempDir(), "another", []string{"profile"}
			return o.Configure(o.t.Context(), s, office.Secrets{ClientSecret: "another"})
		},
		"sign-in": func(o *testOffice) error {
			return o.SignIn(o.t.Context(), SignInOptions{Prompt: "login"}, visit)
		},
		"endpoint": func(o *testOffice) error {
			return o.webhook.Register(o.t.Context(), true)
		},
		"snooze": func(o *testOffice) error {
			o.Snooze(time.Now().Add(time.Hour))
			return errUnchanged // it has no error to return
		},
		"lapse": func(o *testOffice) error {
			if err := o.service.ExpireAccessTokens(); err != nil {
				return err
			}
			if err := o.service.RevokeRefreshTokens(""); err != nil {
				return err
			}
			o.status(o.t.Context(), "p") // by which the program notices
			o.eventually("the lapse is said", func() bool { return o.Health.Has(health.SignInLapsed) })
			return errUnchanged
		},
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOfficeWith(t, quick, sandbox.Options{})
			o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
			if err := o.Data.Store.Close(); err != nil { // nothing can be committed from here on
				t.Fatal(err)
			}
			was, snoozed := o.account.Current(), o.Snoozed()
			endpoint, _, _ := o.webhook.Endpoint()
			if err := do(o); err == nil {
				t.Error("it went well without a commit")
			}
			same := func(when string) {
				is := o.account.Current()
				if !reflect.DeepEqual(is.Settings, was.Settings) || !reflect.DeepEqual(is.Account, was.Account) {
					t.Errorf("%s: %+v %+v, was %+v %+v", when, is.Settings, is.Account, was.Settings, was.Account)
				}
				if id, _, _ := o.webhook.Endpoint(); id != endpoint {
					t.Errorf("%s: the endpoint is %q", when, id)
				}
				if !o.Snoozed().Equal(snoozed) {
					t.Errorf("%s: snoozed until %v", when, o.Snoozed())
				}
			}
			same("in memory")
			is := o.account.Current()
			client, _ := o.account.OnlineIn(is)
			if before, _ := o.account.OnlineIn(was); client != before {
				t.Error("another service is in use")
			}
			o.stop()
			o.open()
			same("after a restart")
		})
	}
}

func TestASnoozeOutlivesARestart(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	until := time.Now().Add(time.Hour).Round(0)
	o.Snooze(until)
	o.restart()
	if got := o.Snoozed(); !got.Equal(until) {
		t.Errorf("snoozed until %v", got)
	}
	o.Snooze(time.Time{})
	o.restart()
	if got := o.Snoozed(); !got.IsZero() {
		t.Errorf("snoozed until %v", got)
	}
}

func TestSigningInUnlocksTheKeyringFirst(t *testing.T) {
	o, ring := officeWithRing(t)
	o.stop()
	ring.turn(true)
	o.adjustPace(time.Hour) // a person unlocks, not the clock
	o.open()
	o.run()
	if o.issue("keyring") == nil {
		t.Fatalf("health: %+v", o.Status().Health)
	}
	ring.turn(false)
	if err := o.SignIn(t.Context(), SignInOptions{}, visit); err != nil {
		t.Errorf("the first attempt: %v", err)
	}
}

// exchanges is an HTTP client that notes the refresh tokens that were given out, by grant_type, and those that were spent.
type exchanges struct {
	http.Transport
	mu    sync.Mutex
	given map[string][]string
	spent []string
}

func (x *exchanges) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/connect/token" {
		return x.Transport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	form, _ := url.ParseQuery(string(body))
	res, err := x.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(answer))
	var said struct {
		Refresh string `json:"refresh_token"`
	}
	json.Unmarshal(answer, &said)
	x.mu.Lock()
	defer x.mu.Unlock()
	kind := form.Get("grant_type")
	x.given[kind] = append(x.given[kind], said.Refresh)
	if token := form.Get("refresh_token"); token != "" {
		x.spent = append(x.spent, token)
	}
	return res, nil
}

func TestSigningInAgainWhileTheOldSignInIsRenewedKeepsTheNewToken(t *testing.T) {
	for _, point := range []string{"renewed", "renewal kept"} {
		t.Run(point, func(t *testing.T) {
			x := &exchanges{given: map[string][]string{}}
			t.Cleanup(x.CloseIdleConnections)
			reached, release := make(chan struct{}), make(chan struct{})
			var armed sync.Mutex
			arm := false
			o := newOfficeWith(t, func(p *Params) {
				quick(p)
				p.HTTP = &http.Client{Transport: x}
				p.Crash = func(here string) {
					armed.Lock()
					hold := arm && here == point
					arm = arm && !hold
					armed.Unlock()
					if hold {
						close(reached)
						<-release
					}
				}
			}, sandbox.Options{})
			o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
			armed.Lock()
			arm = true
			armed.Unlock()
			noErr(t, o.service.ExpireAccessTokens())
			client, _ := o.account.Online()
			go client.Organization(t.Context())
			<-reached
			signedIn := make(chan error, 1)
			go func() { signedIn <- o.SignIn(t.Context(), SignInOptions{Prompt: "login"}, visit) }()
			o.eventually("the code is exchanged", func() bool {
				x.mu.Lock()
				defer x.mu.Unlock()
				return len(x.given["authorization_code"]) == 2
			})
			close(release)
			noErr(t, <-signedIn)
			kept, err := o.account.Vault().Get(issuer.Refresh.Of(issuer.Of(o.Settings())))
			if err != nil || string(kept) != x.given["authorization_code"][1] {
				t.Errorf("another token than the new one is kept (%v)", err)
			}
			o.restart()
			o.eventually("the sign-in goes on", func() bool {
				client, online := o.account.Online()
				if !online {
					return false
				}
				_, err := client.Organization(t.Context())
				return err == nil
			})
			x.mu.Lock()
			defer x.mu.Unlock()
			if len(x.spent) != 2 || x.spent[1] != x.given["authorization_code"][1] {
				t.Errorf("%d tokens were spent, and the last is not the new one", len(x.spent))
			}
		})
	}
}

func TestASignInDoesNotOutliveTheSettingsItBeganWith(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	err := o.SignIn(t.Context(), SignInOptions{}, func(address string) error {
		s := o.Settings()
		s.ClientID = "another"
		if err := o.Configure(t.Context(), s, office.Secrets{ClientSecret: "another"}); err != nil {
			return err
		}
		return visit(address)
	})
	if Message(err) != message.SettingsChanged() {
		t.Errorf("signed in: %v", err)
	}
}

func TestWhatAServiceIsOwedSurvivesARestart(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	o.send()
	o.service.Inject(sandbox.Fault{Path: "/connect/revoke", Status: http.StatusServiceUnavailable})
	if err := o.SignOut(t.Context()); err == nil {
		t.Fatal("the service did not answer, and nobody said so")
	}
	if list, err := o.owed(); err != nil || len(list) != 1 {
		t.Fatalf("owed: %v", err)
	}
	o.restart()
	if s := o.Status(); s.SignedIn || s.Endpoint.ID != "" {
		t.Errorf("status: %+v", s)
	}
	o.service.Heal(0)
	before := calls(o.service, "POST /connect/revoke")
	o.eventually("the service is told", func() bool {
		list, err := o.owed()
		return err == nil && len(list) == 0
	})
	if calls(o.service, "POST /connect/revoke") == before {
		t.Error("it was not told")
	}
}

func TestNothingIsOwedToAServiceForEver(t *testing.T) {
	o, clock := sleepy(t, sandbox.Options{})
	o.service.Inject(sandbox.Fault{Path: "/connect/revoke", Status: http.StatusServiceUnavailable})
	if err := o.SignOut(t.Context()); err == nil {
		t.Fatal("the service did not answer, and nobody said so")
	}
	o.eventually("it is given up", func() bool {
		clock.jump(7 * time.Hour) // longer than the longest pause between two tries
		o.account.Wake()
		list, err := o.owed()
		return err == nil && len(list) == 0
	})
}
