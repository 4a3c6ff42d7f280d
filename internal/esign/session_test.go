package esign

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs f in a synctest bubble with a provider behind in-memory connections, so that time is a fake and
// waiting costs nothing.
func bubble(t *testing.T, change func(*provider), f func(t *testing.T, p *provider, cfg Config)) {
	synctest.Test(t, func(t *testing.T) {
		p := makeProvider(t, change)
		p.url = "http://127.0.0.1:1"
		conns := make(chan net.Conn)
		server := &http.Server{Handler: p.handler, ErrorLog: log.New(io.Discard, "", 0)}
		l := &pipeListener{conns: conns, done: make(chan struct{})}
		go server.Serve(l)
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			near, far := net.Pipe()
			select {
			case conns <- far:
				return near, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}
		cfg := p.config()
		cfg.HTTP = &http.Client{Transport: transport}
		f(t, p, cfg)
		transport.CloseIdleConnections()
		server.Close()
	})
}

type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func started(p *provider, cfg Config) (*Session, *vault) {
	p.mu.Lock()
	p.refresh["rt-0"] = true
	p.mu.Unlock()
	v := &vault{token: "rt-0"}
	return NewSession(cfg, v), v
}

func access(t *testing.T, s *Session) string {
	t.Helper()
	a, err := s.Access(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestATokenIsUsedUntilShortlyBeforeItsEnd(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*provider)
		lifetime time.Duration
		skew     time.Duration
	}{
		{"half an hour", nil, 1800 * time.Second, 30 * time.Second},
		{"three seconds", func(p *provider) { p.expiresIn = 3 }, 3 * time.Second, 300 * time.Millisecond},
		{"as a string", func(p *provider) { p.expiresIn = "100" }, 100 * time.Second, 10 * time.Second},
		{"not said", func(p *provider) { p.noExpiry = true }, assumedLifetime, 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, c.change, func(t *testing.T, p *provider, cfg Config) {
				s, v := started(p, cfg)
				if access(t, s) != "at-1" || v.now() != "rt-1" {
					t.Fatal("not renewed")
				}
				time.Sleep(c.lifetime - c.skew - time.Millisecond)
				if a := access(t, s); a != "at-1" {
					t.Errorf("renewed too early: %s", a)
				}
				time.Sleep(2 * time.Millisecond)
				if a := access(t, s); a != "at-2" || v.now() != "rt-2" {
					t.Errorf("not renewed: %s", a)
				}
			})
		})
	}
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
		if n := len(p.asked()); n != 1 {
			t.Errorf("%d renewals", n)
		}
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
		"half of it":      func(w http.ResponseWriter) { w.Write([]byte(`{"access_token":"at-9","refresh_`)) },
		"a page":          func(w http.ResponseWriter) { w.Write([]byte("<html>busy</html>")) },
		"502":             func(w http.ResponseWriter) { w.WriteHeader(502) },
		"500 with a code": func(w http.ResponseWriter) { w.WriteHeader(500); w.Write([]byte(`{"error":"invalid_grant"}`)) },
		"no access token": func(w http.ResponseWriter) { w.Write([]byte(`{"refresh_token":"rt-9"}`)) },
	}
	for name, answer := range lost {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(p *provider) {
				p.token = func(w http.ResponseWriter, _ url.Values, n int) bool {
					if n <= 2 {
						answer(w)
						return true
					}
					return false
				}
			}, func(t *testing.T, p *provider, cfg Config) {
				s, v := started(p, cfg)
				start := time.Now()
				if access(t, s) != "at-1" || v.now() != "rt-1" {
					t.Error("not renewed")
				}
				if d := time.Since(start); d > 60*time.Second {
					t.Errorf("outside the grace: %v", d)
				}
				for _, f := range p.asked() {
					if f.Get("refresh_token") != "rt-0" {
						t.Errorf("asked with %s", f.Get("refresh_token"))
					}
				}
			})
		})
	}
}

func TestAServiceThatStaysAwayIsAnErrorAndTheTokenIsKept(t *testing.T) {
	bubble(t, func(p *provider) {
		p.token = func(w http.ResponseWriter, _ url.Values, n int) bool {
			if n <= refreshAttempts {
				w.WriteHeader(503)
			}
			return n <= refreshAttempts
		}
	}, func(t *testing.T, p *provider, cfg Config) {
		s, v := started(p, cfg)
		_, err := s.Access(context.Background())
		if kindOf(err) != Server || v.now() != "rt-0" {
			t.Errorf("%v", err)
		}
		harmless(t, err, "rt-0", p.secret)
		if access(t, s) != "at-1" {
			t.Error("did not recover")
		}
	})
}

func TestAnAnswerThatHangsIsGivenUp(t *testing.T) {
	bubble(t, func(p *provider) {
		p.token = func(w http.ResponseWriter, _ url.Values, n int) bool {
			if n == 1 {
				time.Sleep(time.Minute)
			}
			return n == 1
		}
	}, func(t *testing.T, p *provider, cfg Config) {
		s, _ := started(p, cfg)
		if access(t, s) != "at-1" {
			t.Error("not renewed")
		}
		time.Sleep(time.Minute) // let the first answer end
	})
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
		{"invalid_client", 401, `{"error":"invalid_client"}`, BadClient},
		{"401 without a word", 401, ``, BadClient},
		{"invalid_request", 400, `{"error":"invalid_request"}`, Refused},
		{"a gateway's 403", 403, `<html>`, Forbidden},
		{"429", 429, `{"error":"invalid_grant"}`, TooMany},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(p *provider) {
				p.token = func(w http.ResponseWriter, _ url.Values, n int) bool {
					if n == 1 {
						w.WriteHeader(c.status)
						w.Write([]byte(c.body))
					}
					return n == 1
				}
			}, func(t *testing.T, p *provider, cfg Config) {
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
				if v.now() != "rt-0" {
					t.Error("the vault was changed")
				}
				if err := s.Adopt(context.Background(), Tokens{Access: "a", Refresh: "r", Expiry: time.Now().Add(time.Hour)}); err != nil {
					t.Fatal(err)
				}
				if access(t, s) != "a" || v.now() != "r" {
					t.Error("signing in again did not help")
				}
			})
		})
	}
}

func TestAnotherProcessMayHaveRenewedMeanwhile(t *testing.T) {
	v := &vault{token: "rt-0"}
	bubble(t, func(p *provider) {
		p.refresh["rt-new"] = true
		p.token = func(w http.ResponseWriter, form url.Values, n int) bool {
			if n == 1 {
				v.SetRefresh(context.Background(), "rt-new") // the other process, just now
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
	bubble(t, func(p *provider) {
		p.token = func(w http.ResponseWriter, _ url.Values, n int) bool {
			p.json(w, 200, map[string]any{"access_token": "at-x", "expires_in": 60})
			return true
		}
	}, func(t *testing.T, p *provider, cfg Config) {
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
			if a, err := s.Access(context.Background()); a != "" || kindOf(err) != NotKept || !errors.Is(err, full) {
				t.Fatalf("%q %v", a, err)
			}
		}
		if n := len(p.asked()); n != 1 {
			t.Errorf("the new token was redeemed away: %d renewals", n)
		}
		v.broken = nil
		if access(t, s) != "at-1" || v.now() != "rt-1" || len(p.asked()) != 1 {
			t.Error("the answer was lost")
		}
	})
	t.Run("even when it took longer than the token lives", func(t *testing.T) {
		bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
			s, v := started(p, cfg)
			v.broken = errors.New("locked")
			s.Access(context.Background())
			v.broken = nil
			time.Sleep(time.Hour)
			if a := access(t, s); a != "at-2" || !slices.Equal(v.events, []string{"rt-1", "rt-2"}) {
				t.Errorf("%s %v", a, v.events)
			}
		})
	})
}

func TestWithoutARefreshTokenTheAccessTokenLivesOut(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		v := &vault{token: "rt-of-before"}
		s := NewSession(cfg, v)
		if err := s.Adopt(context.Background(), Tokens{Access: "a", Expiry: time.Now().Add(time.Minute)}); err != nil {
			t.Fatal(err)
		}
		if v.now() != "" {
			t.Error("the token of the sign-in before is still there")
		}
		time.Sleep(59 * time.Second)
		if access(t, s) != "a" {
			t.Error("given up too early")
		}
		time.Sleep(time.Second)
		if _, err := s.Access(context.Background()); !errors.Is(err, ErrSignedOut) {
			t.Error(err)
		}
	})
}

func TestInvalidateConcernsOnlyTheCurrentToken(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		s, _ := started(p, cfg)
		first := access(t, s)
		s.Invalidate("something else")
		if access(t, s) != first {
			t.Error("renewed for another token")
		}
		s.Invalidate(first)
		second := access(t, s)
		s.Invalidate(first)
		if second == first || access(t, s) != second {
			t.Error("renewed twice for one token")
		}
	})
}

func TestAdoptWinsOverARenewalUnderWay(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		hold := make(chan struct{})
		p.token = func(http.ResponseWriter, url.Values, int) bool { <-hold; return false }
		s, v := started(p, cfg)
		got := make(chan string)
		go func() { a, _ := s.Access(context.Background()); got <- a }()
		synctest.Wait()
		if err := s.Adopt(context.Background(), Tokens{Access: "a", Refresh: "r", Expiry: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if a := <-got; a != "a" {
			t.Errorf("the waiting caller got %q", a)
		}
		close(hold)
		synctest.Wait()
		if v.now() != "r" || access(t, s) != "a" {
			t.Error("the old renewal won")
		}
	})
}

func TestRevokeForgetsHereAndTellsTheService(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		s, v := started(p, cfg)
		access(t, s)
		if err := s.Revoke(context.Background()); err != nil {
			t.Fatal(err)
		}
		if len(p.revoked) != 2 || p.revoked[0].Get("token") != "rt-1" || p.revoked[0].Get("token_type_hint") != "refresh_token" ||
			p.revoked[1].Get("token") != "at-1" || p.revoked[0].Get("client_secret") != p.secret {
			t.Errorf("%v", p.revoked)
		}
		if _, err := s.Access(context.Background()); !errors.Is(err, ErrSignedOut) || v.now() != "" {
			t.Errorf("%v, the vault holds %q", err, v.now())
		}
	})
	t.Run("also when it does not answer", func(t *testing.T) {
		bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
			s, v := started(p, cfg)
			cfg.HTTP.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Err: errors.New("down")}
			}
			if err := s.Revoke(context.Background()); kindOf(err) != Network || v.now() != "" {
				t.Errorf("%v, the vault holds %q", err, v.now())
			}
		})
	})
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
		bubble(t, func(p *provider) {
			p.token = func(http.ResponseWriter, url.Values, int) bool { time.Sleep(20 * time.Second); return false }
		}, func(t *testing.T, p *provider, cfg Config) {
			s, _ := started(p, cfg)
			go s.Access(context.Background())
			synctest.Wait()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			start := time.Now()
			s.Close(ctx)
			if d := time.Since(start); d != time.Second {
				t.Errorf("%v", d)
			}
			time.Sleep(time.Minute)
		})
	})
}
