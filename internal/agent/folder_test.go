package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"sync"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// loseState ends the agent, damages its data file and starts another agent.
func (o *testOffice) loseState() {
	o.t.Helper()
	o.stop()
	noErr(o.t, os.Truncate(locations.State(o.data), 5000))
	o.open()
	o.run()
}

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
			if err := o.service.RevokeRefreshTokens(); err != nil {
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
			noErr(t, o.Data.Store.Close()) // nothing can be committed from here on
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
			armed.Lock()
			arm = true
			armed.Unlock()
			noErr(t, o.service.ExpireAccessTokens())
			client, _ := o.account.Online()
			go client.List(t.Context(), esign.ListQuery{})
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
				_, err := client.List(t.Context(), esign.ListQuery{})
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

// Hold has a draft wait for a person, as one does whose sending was stopped.
func (o *testOffice) Hold(d office.NewPackage) (id string, err error) {
	ended, end := context.WithCancel(context.Background())
	end()
	d.Undo = time.Minute
	state, err := o.Send(ended, d, nil)
	if state.DraftID == "" {
		return "", err
	}
	_, err = o.Stop(state.DraftID)
	return state.DraftID, err
}
