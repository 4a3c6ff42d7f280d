package esign

import (
	"context"
	"encoding/json"

	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// oddAnswers are bodies of a token answer as some service might write them: %s is where access_token, refresh_token and
// id_token go.
var oddAnswers = map[string]struct {
	body string
	life time.Duration
}{
	"a fraction":                {`{%s,"expires_in":1799.5}`, 1799500 * time.Millisecond},
	"a string":                  {`{%s,"expires_in":"1800"}`, 1800 * time.Second},
	"an empty string":           {`{%s,"expires_in":""}`, assumedLifetime},
	"an exponent":               {`{%s,"expires_in":18e2}`, 1800 * time.Second},
	"beyond int64":              {`{%s,"expires_in":99999999999999999999}`, longestLifetime},
	"beyond float64":            {`{%s,"expires_in":1e999}`, longestLifetime},
	"negative":                  {`{%s,"expires_in":-1}`, assumedLifetime},
	"null":                      {`{%s,"expires_in":null}`, assumedLifetime},
	"a word":                    {`{%s,"expires_in":"NaN"}`, assumedLifetime},
	"a list":                    {`{%s,"expires_in":[1800]}`, assumedLifetime},
	"an object":                 {`{%s,"expires_in":{"seconds":1800}}`, assumedLifetime},
	"a type that is a number":   {`{%s,"token_type":1}`, assumedLifetime},
	"a type that is null":       {`{%s,"token_type":null}`, assumedLifetime},
	"a type that is a list":     {`{%s,"token_type":["Bearer"]}`, assumedLifetime},
	"an error that is none":     {`{%s,"error":false}`, assumedLifetime},
	"an error that is null":     {`{%s,"error":null}`, assumedLifetime},
	"an error that is empty":    {`{%s,"error":""}`, assumedLifetime},
	"an error that is 0":        {`{%s,"error":0}`, assumedLifetime},
	"an error object":           {`{%s,"error":{}}`, assumedLifetime},
	"an error, and the tokens":  {`{%s,"error":"invalid_grant"}`, assumedLifetime},
	"an odd description":        {`{%s,"error_description":[],"error_uri":7}`, assumedLifetime},
	"a scope that is a list":    {`{%s,"scope":["openid","organization"]}`, assumedLifetime},
	"a scope that is null":      {`{%s,"scope":null}`, assumedLifetime},
	"a scope that is a number":  {`{%s,"scope":1}`, assumedLifetime},
	"a scope list of anything":  {`{%s,"scope":[1,null,{}]}`, assumedLifetime},
	"members nobody knows":      {`{"a":{"b":[1,2,{}]},%s,"z":1e400}`, assumedLifetime},
	"in an array":               {`[{%s,"expires_in":60}]`, time.Minute},
	"with a byte order mark":    {"\xef\xbb\xbf{%s}", assumedLifetime},
	"with something behind":     {"{%s}\n<!-- served by 7 -->", assumedLifetime},
	"with white space in front": {"\r\n\t {%s}", assumedLifetime},
}

// odd makes the provider's answer one of oddAnswers, as tokens that work.
func (p *provider) odd(body string) {
	p.token = func(w http.ResponseWriter, _ url.Values, n int) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		refresh := fmt.Sprintf("rt-%d", n)
		p.refresh[refresh] = true
		members := fmt.Sprintf(`"access_token":"at-%d","refresh_token":%q`, n, refresh)
		if p.idToken != nil && p.nonce != "" {
			members += fmt.Sprintf(`,"id_token":%q`, p.sign())
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, body, members)
		return true
	}
}

func TestAnOddTokenAnswerNeverCostsTheSignIn(t *testing.T) {
	for name, c := range oddAnswers {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(p *provider) { p.odd(c.body) }, func(t *testing.T, p *provider, cfg Config) {
				s, v := started(p, cfg)
				if access(t, s) != "at-1" || v.now() != "rt-1" || len(p.asked()) != 1 {
					t.Fatalf("the vault holds %s after %d requests", v.now(), len(p.asked()))
				}
				time.Sleep(c.life - refreshSkew - time.Second)
				if a := access(t, s); a != "at-1" {
					t.Errorf("renewed too early: %s", a)
				}
				time.Sleep(refreshSkew + time.Second)
				if a := access(t, s); a != "at-2" || v.now() != "rt-2" {
					t.Errorf("%s and %s after the end", a, v.now())
				}
			})
		})
	}
}

func TestAnOddAnswerToTheCodeSignsIn(t *testing.T) {
	for name, c := range oddAnswers {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, func(p *provider) { p.odd(c.body) })
			g, err := signIn(t, p, nil)
			must(t, err)
			if g.Tokens.Access != "at-1" || g.Tokens.Refresh != "rt-1" || g.Account.Email != "ana@example.com" {
				t.Errorf("%+v", g.Account)
			}
			if d := g.Tokens.Expiry.Sub(g.Tokens.Issued); d != c.life {
				t.Errorf("lifetime %v", d)
			}
			if !slices.Contains(g.Scopes, "organization") {
				t.Errorf("scopes %v", g.Scopes)
			}
		})
	}
}

// A new refresh token has replaced the old one, whatever came with it or did not.
func TestTheNewRefreshTokenIsKeptBeforeTheRestIsJudged(t *testing.T) {
	for name, rest := range map[string]string{
		"no access token": ``, "null": `"access_token":null,`, "an object": `"access_token":{},`,
		"one that fits no header": `"access_token":"at\r\nX-Evil: 1",`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(p *provider) {
				p.token = func(w http.ResponseWriter, _ url.Values, n int) bool {
					if n == 1 {
						p.mu.Lock()
						defer p.mu.Unlock()
						p.refresh = map[string]bool{"rt-9": true}
						w.Write([]byte(`{` + rest + `"refresh_token":"rt-9"}`))
					}
					return n == 1
				}
			}, func(t *testing.T, p *provider, cfg Config) {
				s, v := started(p, cfg)
				if a := access(t, s); a != "at-1" || !slices.Equal(v.events, []string{"rt-9", "rt-1"}) {
					t.Errorf("%s, the vault kept %v", a, v.events)
				}
			})
		})
	}
	t.Run("and the old one serves where the new one does not", func(t *testing.T) {
		bubble(t, func(p *provider) {
			p.token = func(w http.ResponseWriter, _ url.Values, n int) bool {
				if n == 1 {
					w.Write([]byte(`{"refresh_token":"rt-of-nobody"}`))
				}
				return n == 1
			}
		}, func(t *testing.T, p *provider, cfg Config) {
			s, v := started(p, cfg)
			if a := access(t, s); a != "at-1" || v.now() != "rt-1" {
				t.Errorf("%s, the vault holds %s", a, v.now())
			}
		})
	})
	t.Run("also when none ever comes with an access token", func(t *testing.T) {
		bubble(t, func(p *provider) {
			p.token = func(w http.ResponseWriter, _ url.Values, n int) bool {
				fmt.Fprintf(w, `{"refresh_token":"rt-%d"}`, n)
				return true
			}
		}, func(t *testing.T, p *provider, cfg Config) {
			s, v := started(p, cfg)
			_, err := s.Access(context.Background())
			asked := len(p.asked())
			if kindOf(err) != BadAnswer || v.now() != fmt.Sprintf("rt-%d", asked) || asked > 2*refreshAttempts {
				t.Errorf("%v, the vault holds %s after %d requests", err, v.now(), asked)
			}
		})
	})
	t.Run("at the code exchange", func(t *testing.T) {
		p := newProvider(t, func(p *provider) {
			p.idToken = nil
			p.token = func(w http.ResponseWriter, form url.Values, n int) bool {
				if form.Get("grant_type") == "authorization_code" {
					p.mu.Lock()
					defer p.mu.Unlock()
					p.refresh["rt-9"] = true
					w.Write([]byte(`{"refresh_token":"rt-9"}`))
				}
				return form.Get("grant_type") == "authorization_code"
			}
		})
		g, err := signIn(t, p, nil)
		must(t, err)
		v := &vault{}
		s := NewSession(p.config(), v)
		if err := s.Adopt(context.Background(), g.Tokens, nil); err != nil || v.now() != "rt-9" {
			t.Fatalf("%v, the vault holds %s", err, v.now())
		}
		if access(t, s) != "at-1" {
			t.Error("not renewed")
		}
	})
}

func TestAnAnswerToTheCodeThatSaysNothingIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   Kind
	}{
		"a page":           {200, "<html>log in</html>", BadAnswer},
		"a page as 400":    {400, "<html>bad</html>", BadAnswer},
		"half of it":       {200, `{"access_token":"at-1"`, BadAnswer},
		"an error as 200":  {200, `{"error":"invalid_client"}`, BadClient},
		"no code of ours":  {200, `{"error":"invalid_grant"}`, Invalid},
		"a list of others": {200, `[1,2,"x"]`, BadAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, func(p *provider) {
				p.token = func(w http.ResponseWriter, _ url.Values, _ int) bool {
					w.WriteHeader(c.status)
					w.Write([]byte(c.body))
					return true
				}
			})
			_, err := signIn(t, p, nil)
			if kindOf(err) != c.want || len(p.asked()) != 1 {
				t.Errorf("%v after %d requests", err, len(p.asked()))
			}
			if s := Message(err).String(); c.want != BadClient && !strings.Contains(s, "Sign in again") {
				t.Errorf("said: %s", s)
			}
			harmless(t, err, "the-code", p.secret, "at-1")
		})
	}
}

func TestATokenEndpointThatMovedIsFoundAgain(t *testing.T) {
	moved := false
	p := newProvider(t, func(p *provider) {
		p.token = func(w http.ResponseWriter, _ url.Values, n int) bool {
			if moved && n == 2 {
				http.NotFound(w, nil)
				return true
			}
			return false
		}
	})
	s, _ := started(p, p.config())
	access(t, s)
	moved = true
	s.Invalidate("at-1")
	found := s.server
	if access(t, s); s.server == found {
		t.Error("the endpoints were not asked for again")
	}
}

func FuzzTokenAnswer(f *testing.F) {
	for _, c := range oddAnswers {
		f.Add(fmt.Appendf(nil, c.body, `"access_token":"a","refresh_token":"r"`))
	}
	f.Add([]byte("access_token=a&refresh_token=r&expires_in=1e9"))
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		a, _ := readTokenAnswer(body)
		tokens := a.tokens(now)
		if d := tokens.Expiry.Sub(now); d <= 0 || d > longestLifetime {
			t.Errorf("lives for %v", d)
		}
		var plain struct {
			Refresh string `json:"refresh_token"`
		}
		if json.Unmarshal(body, &plain) == nil && plain.Refresh != "" && tokens.Refresh != plain.Refresh {
			t.Errorf("read %q, want %q", tokens.Refresh, plain.Refresh)
		}
	})
}
