package esign

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

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
		{"an object for an error", 400, `{"error":{"code":"invalid_grant"}}`, SignedOut},
		{"a number for an error", 400, `{"error":17}`, Refused},
		{"another object", 400, `{"error":{"code":4,"message":"no"}}`, Refused},
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
				must(t, s.Adopt(context.Background(), Tokens{Access: "a", Refresh: "r", Expiry: time.Now().Add(time.Hour)}, nil))
				if access(t, s) != "a" || v.now() != "r" {
					t.Error("signing in again did not help")
				}
			})
		})
	}
}

func TestRevokeTellsTheServiceAndThenForgets(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
		s, v := started(p, cfg)
		access(t, s)
		must(t, s.Revoke(context.Background()))
		if len(p.revoked) != 2 || p.revoked[0].Get("token") != "rt-1" || p.revoked[0].Get("token_type_hint") != "refresh_token" ||
			p.revoked[1].Get("token") != "at-1" || p.revoked[0].Get("client_secret") != p.secret {
			t.Errorf("%v", p.revoked)
		}
		if _, err := s.Access(context.Background()); !errors.Is(err, ErrSignedOut) || v.now() != "" {
			t.Errorf("%v, the vault holds %q", err, v.now())
		}
	})
	t.Run("not before it answers", func(t *testing.T) {
		bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
			s, v := started(p, cfg)
			cfg.HTTP.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Err: errors.New("down")}
			}
			if err := s.Revoke(context.Background()); kindOf(err) != Network || v.now() != "rt-0" || s.Ended() {
				t.Errorf("%v, the vault holds %q", err, v.now())
			}
		})
	})
}

// A service may revoke refresh tokens alone (RFC 7009, 2): an access token ends by itself.
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
