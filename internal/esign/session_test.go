package esign

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/office"
)

func TestATokenThatAFastClockGotIsNotBelievedOnceTheClockIsRight(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		fast := 5 * time.Hour
		cfg.Now = func() time.Time { return time.Now().Add(fast) }
		s, _ := started(p, cfg)
		if access(t, s) != "at-1" {
			t.Fatal("not renewed")
		}
		fast = 0
		expect(t, access(t, s), "at-2", "%s is to be good for hours")
	})
}

func TestManyCallersShareOneRenewalAndNoneIsAheadOfTheVault(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		s, v := started(p, cfg)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if a, err := s.Access(context.Background()); err != nil || a != "at-1" || v.now() != "rt-1" {
					t.Errorf("%s %v, the vault holds %s", a, err, v.now())
				}
			})
		}
		wg.Wait()
		expect(t, len(p.asked()), 1, "%d renewals")
	})
}

func TestARenewalOutlivesTheCallerThatStartedIt(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		release := make(chan struct{})
		p.token = func(http.ResponseWriter, url.Values, int) bool { <-release; return false }
		s, v := started(p, cfg)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { _, err := s.Access(ctx); done <- err }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || kindOf(err) != Interrupted {
			t.Errorf("%v", err)
		}
		close(release)
		synctest.Wait()
		if access(t, s) != "at-1" || v.now() != "rt-1" || len(p.asked()) != 1 {
			t.Errorf("the answer was lost with the caller: %d renewals", len(p.asked()))
		}
	})
}

func TestALostAnswerIsAskedForAgainWithTheSameToken(t *testing.T) {
	lost := map[string]func(w http.ResponseWriter){
		"connection lost": func(w http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"cut short": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "500")
			w.Write([]byte(`{"access_token":"at-9","refresh_`))
		},
		"half of it":             func(w http.ResponseWriter) { w.Write([]byte(`{"access_token":"at-9","refresh_`)) },
		"a page":                 func(w http.ResponseWriter) { w.Write([]byte("<html>busy</html>")) },
		"502":                    func(w http.ResponseWriter) { w.WriteHeader(502) },
		"500 with a code":        func(w http.ResponseWriter) { w.WriteHeader(500); w.Write([]byte(`{"error":"invalid_grant"}`)) },
		"a gateway's 403":        func(w http.ResponseWriter) { w.WriteHeader(403); w.Write([]byte("<html>no</html>")) },
		"a gateway's 400":        func(w http.ResponseWriter) { w.WriteHeader(400); w.Write([]byte("<html>bad request</html>")) },
		"a page in a wrong form": func(w http.ResponseWriter) { w.WriteHeader(404); w.Write([]byte("error in %zz")) },
		"nothing":                func(w http.ResponseWriter) {},
		"null":                   func(w http.ResponseWriter) { w.Write([]byte("null")) },
		"an empty object":        func(w http.ResponseWriter) { w.Write([]byte("{}")) },
		"busy as 200":            func(w http.ResponseWriter) { w.Write([]byte(`{"error":"temporarily_unavailable"}`)) },
		"too late":               func(http.ResponseWriter) { time.Sleep(time.Minute) },
	}
	for name, answer := range lost {
		t.Run(name, func(t *testing.T) {
			bubble(t, answered(2, answer), func(t *testing.T, p *provider, cfg Config) {
				s, v := started(p, cfg)
				start := time.Now()
				if access(t, s) != "at-1" || v.now() != "rt-1" {
					t.Error("not renewed")
				}
				if d := time.Since(start); d > 60*time.Second {
					t.Errorf("outside the grace: %v", d)
				}
				for _, f := range p.asked() {
					expect(t, f.Get("refresh_token"), "rt-0", "asked with %s")
				}
				time.Sleep(time.Minute) // until anything late has arrived
			})
		})
	}
}

func TestASlowTokenEndpointIsHeardOutWithinTheGrace(t *testing.T) {
	slow := func(p *provider) {
		began := time.Now()
		p.token = func(w http.ResponseWriter, _ url.Values, _ int) bool {
			over := time.Since(began) > time.Minute
			if time.Sleep(25 * time.Second); over {
				p.json(w, 400, map[string]string{"error": "invalid_grant"})
			}
			return over
		}
	}
	bubble(t, slow, func(t *testing.T, p *provider, cfg Config) {
		s, v := started(p, cfg)
		if access(t, s) == "" || v.now() == "rt-0" {
			t.Error("not renewed")
		}
		time.Sleep(time.Minute) // until anything late has arrived
	})
}

func TestAnotherProcessMayHaveRenewedMeanwhile(t *testing.T) {
	v := &vault{token: "rt-0"}
	bubble(t, func(p *provider) {
		p.refresh["rt-new"] = true
		p.token = func(w http.ResponseWriter, form url.Values, n int) bool {
			if n == 1 {
				v.SetRefresh(context.Background(), "rt-new") // the other process, at the same moment
			}
			return false
		}
	}, func(t *testing.T, p *provider, cfg Config) {
		s := NewSession(cfg, v)
		if access(t, s) != "at-1" || v.now() != "rt-1" {
			t.Error("not renewed")
		}
	})
}

func TestAnAnswerWithoutRefreshTokenKeepsTheOld(t *testing.T) {
	bubble(t, answered(1, func(w http.ResponseWriter) { io.WriteString(w, `{"access_token":"at-x","expires_in":60}`) }), func(t *testing.T, p *provider, cfg Config) {
		s, v := started(p, cfg)
		if access(t, s) != "at-x" || v.now() != "rt-0" || len(v.events) != 0 {
			t.Errorf("the vault holds %s after %v", v.now(), v.events)
		}
	})
}

func TestNoAccessTokenBeforeItsRefreshTokenIsKept(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		s, v := started(p, cfg)
		full := errors.New("disk full")
		v.broken = full
		for range 3 {
			if a, err := s.Access(context.Background()); a != "" || kindOf(err) != NotKept || !errors.Is(err, full) || !strings.Contains(err.Error(), "disk full") {
				t.Fatalf("%q %v", a, err)
			}
		}
		expect(t, len(p.asked()), 1, "the new token was redeemed away: %d renewals")
		v.broken = nil
		if access(t, s) != "at-1" || v.now() != "rt-1" || len(p.asked()) != 1 {
			t.Error("the answer was lost")
		}
	})
	for _, again := range []bool{false, true} { // while the token lived no longer, or somebody signed in again
		bubble(t, func(p *provider) { p.refresh["r"] = true }, func(t *testing.T, p *provider, cfg Config) {
			s, v := started(p, cfg)
			v.broken = errors.New("locked")
			s.Access(t.Context())
			v.broken = nil
			want := "rt-1"
			if again {
				want = "r"
				noErr(t, s.Adopt(t.Context(), Tokens{Access: "a", Refresh: want, Expiry: time.Now().Add(time.Minute)}, in(v)))
			}
			time.Sleep(time.Hour)
			if a := access(t, s); a != "at-2" || !slices.Equal(v.events, []string{want, "rt-2"}) {
				t.Errorf("%s %v", a, v.events)
			}
		})
	}
}

func TestWithoutARefreshTokenTheAccessTokenLivesOut(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		v := &vault{token: "rt-of-before"}
		s := NewSession(cfg, v)
		noErr(t, s.Adopt(context.Background(), Tokens{Access: "a", Expiry: time.Now().Add(time.Minute)}, in(v)))
		expect(t, v.now(), "", "the token of the sign-in before is still there: %s")
		time.Sleep(59 * time.Second)
		expect(t, access(t, s), "a", "given up too early: %s")
		time.Sleep(time.Second)
		if _, err := s.Access(context.Background()); !errors.Is(err, ErrSignedOut) {
			t.Error(err)
		}
	})
}

func TestATokenThatCannotBeRenewedIsGivenUpOnceItIsRefusedElsewhereToo(t *testing.T) {
	for status, want := range map[int]Kind{200: "", 403: "", 404: "", 503: Server, 401: SignedOut} {
		bubble(t, func(p *provider) { p.info = status }, func(t *testing.T, p *provider, cfg Config) {
			s := NewSession(cfg, &vault{})
			noErr(t, s.Adopt(t.Context(), Tokens{Access: "a", Expiry: time.Now().Add(time.Hour)}, in(&vault{})))
			s.Invalidate("a")
			if a, err := s.Access(t.Context()); kindOf(err) != want || (a == "a") != (err == nil) || s.Ended() != (want == SignedOut) {
				t.Errorf("%d elsewhere: %q, %v; ended: %v", status, a, err, s.Ended())
			}
			p.info = 200
			if a, err := s.Access(t.Context()); (a == "a") != (want != SignedOut) {
				t.Errorf("%d elsewhere, and then accepted: %q, %v", status, a, err)
			}
		})
	}
}

func TestInvalidateConcernsOnlyTheCurrentToken(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		s, _ := started(p, cfg)
		first := access(t, s)
		s.Invalidate("something else")
		expect(t, access(t, s), first, "renewed for another token: %s")
		s.Invalidate(first)
		second := access(t, s)
		s.Invalidate(first)
		if second == first || access(t, s) != second {
			t.Error("renewed twice for one token")
		}
	})
}

func TestAdoptIsNextAfterARenewalThatManyWaitFor(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		hold := make(chan struct{})
		defer close(hold)
		p.token = func(http.ResponseWriter, url.Values, int) bool { <-hold; return false }
		s, _ := started(p, cfg)
		const waiting = 50
		got := make(chan string, waiting)
		for range waiting {
			go func() { a, _ := s.Access(context.Background()); got <- a }()
		}
		synctest.Wait()
		asked := 0
		noErr(t, s.Adopt(context.Background(), Tokens{Access: "a", Expiry: time.Now().Add(time.Hour)}, func(string) error {
			asked = len(p.asked())
			return nil
		}))
		expect(t, asked, 1, "the service was asked for %d renewals")
		for range waiting {
			if a := <-got; a != "a" {
				t.Errorf("a waiting caller got %q", a)
			}
		}
	})
}

func TestAnAdoptThatIsGivenUpLeavesTheSignInToTheOneUnderWay(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		hold := make(chan struct{})
		s := NewSession(cfg, watched{&vault{}, func(string) {}})
		go s.Leave(context.Background(), func(Tokens) error { <-hold; return errors.New("disk full") })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := s.Adopt(ctx, Tokens{Access: "given up"}, in(&vault{}))
		if kindOf(err) != Network && kindOf(err) != Interrupted {
			t.Error(err)
		}
		adopted := make(chan error)
		go func() {
			adopted <- s.Adopt(context.Background(), Tokens{Access: "a", Expiry: time.Now().Add(time.Hour)}, in(&vault{}))
		}()
		synctest.Wait()
		select {
		case <-adopted:
			t.Error("two at a time")
		default:
		}
		close(hold)
		noErr(t, <-adopted)
		if a := access(t, s); a != "a" {
			t.Errorf("got %q", a)
		}
	})
}

// watched is a Vault that reports each call before it is made.
type watched struct {
	*vault
	at func(point string)
}

func (w watched) Refresh(ctx context.Context) (string, error) {
	w.at("reading")
	return w.vault.Refresh(ctx)
}

func (w watched) SetRefresh(ctx context.Context, token string) error {
	w.at("keeping")
	defer w.at("kept")
	return w.vault.SetRefresh(ctx, token)
}

func TestASignInHasOneOwnerAtEveryPointOfARenewal(t *testing.T) {
	for _, point := range []string{"reading", "asking", "answering", "keeping", "kept"} {
		t.Run(point, func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
				reached, release := make(chan struct{}), make(chan struct{})
				var held atomic.Bool
				at := func(here string) {
					if here == point && held.CompareAndSwap(false, true) {
						close(reached)
						<-release
					}
				}
				p.token = func(w http.ResponseWriter, form url.Values, n int) bool {
					at("asking")
					p.grant(w, form)
					at("answering")
					return true
				}
				_, v := started(p, cfg)
				s := NewSession(cfg, watched{v, at})
				renewed := make(chan string)
				go func() { a, _ := s.Access(context.Background()); renewed <- a }()
				<-reached
				adopted := make(chan error)
				var keeping atomic.Bool
				go func() {
					adopted <- s.Adopt(context.Background(), Tokens{Access: "a", Refresh: "r", Expiry: time.Now().Add(time.Hour)},
						func(refresh string) error {
							keeping.Store(true)
							return v.SetRefresh(context.Background(), refresh)
						})
				}()
				synctest.Wait()
				inVault := point == "reading" || point == "keeping" || point == "kept"
				if keeping.Load() && inVault {
					t.Error("kept while the renewal has the vault")
				}
				close(release)
				noErr(t, <-adopted)
				<-renewed
				if v.now() != "r" || access(t, s) != "a" {
					t.Errorf("the vault holds %q, and %q is handed out", v.now(), access(t, s))
				}
				for _, f := range p.asked() {
					if f.Get("refresh_token") == "r" {
						t.Error("the new token was spent by the old sign-in")
					}
				}
			})
		})
	}
}

func TestASignInThatCannotBeKeptChangesNothing(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		s, v := started(p, cfg)
		before := access(t, s)
		full := errors.New("disk full")
		err := s.Adopt(context.Background(), Tokens{Access: "a", Refresh: "r", Expiry: time.Now().Add(time.Hour)},
			func(string) error { return full })
		if !errors.Is(err, full) || kindOf(err) != NotKept {
			t.Errorf("%v", err)
		}
		err = s.Leave(context.Background(), func(t Tokens) error { return full })
		if !errors.Is(err, full) || s.Ended() {
			t.Errorf("%v, ended: %v", err, s.Ended())
		}
		if access(t, s) != before || v.now() != "rt-1" {
			t.Errorf("the vault holds %q, and %q is handed out", v.now(), access(t, s))
		}
		v.unreadable = full
		if err := s.Leave(t.Context(), func(Tokens) error { t.Error("what cannot be read is forgotten"); return nil }); !errors.Is(err, full) || s.Ended() {
			t.Errorf("%v, ended: %v", err, s.Ended())
		}
	})
}

func TestAClientIsKnownByWhatIsSaidToATokenOfNobody(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		wrong := cfg
		wrong.ClientSecret = "wrong"
		if right, no := kindOf(cfg.Known(t.Context())), kindOf(wrong.Known(t.Context())); right != SignedOut || no != BadClient {
			t.Errorf("the right secret: %s, a wrong one: %s", right, no)
		}
	})
}

func TestLeavingHandsOverTheTokensOnceAndEndsTheSession(t *testing.T) {
	for access, broken := range map[string]error{"at-1": nil, "": errors.New("locked")} {
		bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
			s, v := started(p, cfg)
			v.broken = broken
			s.Access(t.Context())
			for _, want := range []Tokens{{Access: access, Refresh: "rt-1"}, {}} {
				var left Tokens
				noErr(t, s.Leave(t.Context(), func(t Tokens) error { left, v.token = t, ""; return nil }))
				if left.Access != want.Access || left.Refresh != want.Refresh || !s.Ended() {
					t.Errorf("%q %q, ended: %v", left.Access, left.Refresh, s.Ended())
				}
			}
			if _, err := s.Access(t.Context()); !errors.Is(err, ErrSignedOut) || len(p.revoked) > 0 {
				t.Errorf("%v, revoked: %v", err, p.revoked)
			}
		})
	}
}

func TestOnlyInvalidGrantMeansSignedOut(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   Kind
	}{
		{"invalid_grant", 400, `{"error":"invalid_grant","error_description":"rt-0 is used up"}`, SignedOut},
		{"invalid_grant as 200", 200, `{"error":"invalid_grant"}`, SignedOut},
		{"invalid_grant in an object", 400, `{"error":{"code":"invalid_grant","message":"rt-0 is used up"}}`, SignedOut},
		{"invalid_client", 401, `{"error":"invalid_client"}`, BadClient},
		{"401 without a word", 401, ``, BadClient},
		{"tokens as 400", 400, `{"access_token":"at-9","refresh_token":"rt-9"}`, Refused},
		{"invalid_request", 400, `{"error":"invalid_request"}`, Refused},
		{"a number for an error", 400, `{"error":17}`, Refused},
		{"another object", 400, `{"error":{"code":4,"message":"no"}}`, Refused},
		{"429", 429, `{"error":"invalid_grant"}`, TooMany},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, answered(1, func(w http.ResponseWriter) {
				w.WriteHeader(c.status)
				w.Write([]byte(c.body))
			}), func(t *testing.T, p *provider, cfg Config) {
				s, v := started(p, cfg)
				_, err := s.Access(context.Background())
				if kindOf(err) != c.want || errors.Is(err, ErrSignedOut) != (c.want == SignedOut) {
					t.Fatalf("%v", err)
				}
				harmless(t, err, "rt-0", p.secret)
				if c.want != SignedOut {
					access(t, s)
					return
				}
				if _, err := s.Access(context.Background()); !errors.Is(err, ErrSignedOut) || len(p.asked()) != 1 {
					t.Errorf("it did not stay signed out: %v", err)
				}
				expect(t, v.now(), "rt-0", "the vault was changed to %s")
				noErr(t, s.Adopt(context.Background(), Tokens{Access: "a", Refresh: "r", Expiry: time.Now().Add(time.Hour)}, in(v)))
				if access(t, s) != "a" || v.now() != "r" {
					t.Error("signing in again did not help")
				}
			})
		})
	}
}

func TestRevokeTellsTheServiceAndThenForgets(t *testing.T) {
	for _, want := range []string{"refresh_token rt-0", "refresh_token rt-1 access_token at-1"} {
		bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
			s, v := started(p, cfg)
			if strings.Contains(want, "access") {
				access(t, s)
			}
			noErr(t, s.Revoke(t.Context()))
			var revoked []string
			for _, form := range p.revoked {
				revoked = append(revoked, form.Get("token_type_hint"), form.Get("token"))
			}
			expect(t, strings.Join(revoked, " "), want, "revoked are %s")
			if _, err := s.Access(t.Context()); !errors.Is(err, ErrSignedOut) || v.now() != "" || p.revoked[0].Get("client_secret") != p.secret {
				t.Errorf("%v, the vault holds %q", err, v.now())
			}
		})
	}
	t.Run("not before it answers", func(t *testing.T) {
		for _, before := range []bool{false, true} { // the addresses are known
			bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
				s, v := started(p, cfg)
				if before {
					access(t, s)
				}
				cfg.HTTP.CloseIdleConnections()
				cfg.HTTP.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
					return nil, &net.OpError{Op: "dial", Err: errors.New("down")}
				}
				if err := s.Revoke(t.Context()); kindOf(err) != Network || v.now() == "" || s.Ended() {
					t.Errorf("%v, the vault holds %q", err, v.now())
				}
			})
		}
	})
}

// A service may revoke only refresh tokens (RFC 7009, 2): an access token expires by itself.
func TestAnAccessTokenThatTheServiceDoesNotRevokeIsLeftToEnd(t *testing.T) {
	for kind, want := range map[string]Kind{"access_token": "", "refresh_token": Refused} {
		bubble(t, func(p *provider) { p.irrevocable = kind }, func(t *testing.T, p *provider, cfg Config) {
			s, v := started(p, cfg)
			access(t, s)
			err := s.Revoke(context.Background())
			if (err == nil) != (want == "") || kindOf(err) != want || s.Ended() != (err == nil) || (v.now() == "") != (err == nil) {
				t.Errorf("%s: %v, the vault holds %q", kind, err, v.now())
			}
		})
	}
}

func TestCloseWaitsForTheRenewalUnderWay(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		hold := make(chan struct{})
		p.token = func(http.ResponseWriter, url.Values, int) bool { <-hold; return false }
		s, v := started(p, cfg)
		go s.Access(context.Background())
		synctest.Wait()
		var closed atomic.Bool
		go func() { s.Close(context.Background()); closed.Store(true) }()
		synctest.Wait()
		if closed.Load() {
			t.Error("it did not wait")
		}
		close(hold)
		synctest.Wait()
		if !closed.Load() || v.now() != "rt-1" {
			t.Errorf("the vault holds %q", v.now())
		}
		if _, err := s.Access(context.Background()); kindOf(err) != Interrupted {
			t.Error(err)
		}
	})
	t.Run("but no longer than it may", func(t *testing.T) {
		bubble(t, answered(1, func(http.ResponseWriter) { time.Sleep(20 * time.Second) }), func(t *testing.T, p *provider, cfg Config) {
			s, _ := started(p, cfg)
			go s.Access(context.Background())
			synctest.Wait()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			start := time.Now()
			s.Close(ctx)
			expect(t, time.Since(start), time.Second, "%v")
			time.Sleep(time.Minute)
		})
	})
}

// Only this package knows how a service spells a state, and whether it says "executed" in the state or with a separate flag.
func TestAStateHasOneFormWhateverAnswerItCameIn(t *testing.T) {
	for fields, want := range map[string]office.PackageState{
		`"state":"executed"`:                         office.PackageExecuted,
		`"state":" EXECUTED\n"`:                      office.PackageExecuted,
		`"state":"open","isExecuted":true`:           office.PackageExecuted,
		`"state":"Expired","isExecuted":"True"`:      office.PackageExecuted,
		`"state":"rescinded","isExecuted":1`:         office.PackageExecuted,
		`"isExecuted":true`:                          office.PackageExecuted,
		`"state":"executed","isExecuted":false`:      office.PackageExecuted,
		`"state":"Open","isExecuted":null`:           "open",
		`"state":" Rescinded"`:                       "rescinded",
		`"state":"Draft","isExecuted":"no"`:          "draft",
		`"state":"Brand New"`:                        "brand new",
		`"state":7`:                                  "7",
		`"state":{"word":"open"},"isExecuted":false`: "",
	} {
		record := `{"packageId":"p-1",` + fields + `,"documents":[{"documentId":"d-1","isExecuted":false}]}`
		status, _ := readStatus([]byte(record))
		whole, _ := readStatus([]byte(`{"package":` + record + `}`))
		page, _ := readPage([]byte(`{"items":[` + record + `],"total":1}`))
		added, _ := readAdded([]byte(`{"package":` + record + `}`))
		for shape, s := range map[string]Status{"status": status, "the full record": whole, "list": page.Items[0], "add": *added.Status} {
			if s.State != want || s.Documents[0].Executed != (want == office.PackageExecuted) {
				t.Errorf("%s with %s: %+v", shape, fields, s)
			}
		}
	}
}
