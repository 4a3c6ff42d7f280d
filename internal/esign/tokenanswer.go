package esign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// errNoTokens is an answer to a code that holds no tokens.
var errNoTokens = errors.New("the answer holds no tokens")

// tokenAnswer is what the token endpoint said (interface.md, "Token response"; RFC 6749, 5.1 and 5.2), as far as it
// can be made out. A refresh token is used up by the answer that brings the next one, so nothing else in that answer
// may keep the next one from being read: an odd member is one that was not sent.
type tokenAnswer struct {
	Access      text      `json:"access_token"`
	Refresh     text      `json:"refresh_token"`
	ID          text      `json:"id_token"`
	Lifetime    lifetime  `json:"expires_in"`
	Scopes      scopes    `json:"scope"`
	Error       errorCode `json:"error"`
	Description text      `json:"error_description"`

	sent time.Time // by the service's own clock; zero where it did not say
}

// empty is true for an answer that says nothing of what is asked of the token endpoint.
func (a tokenAnswer) empty() bool { return a.Access == "" && a.Refresh == "" && a.Error == "" }

// tokens are those of the answer. An access token that fits no header (RFC 6750, 2.1) is none.
func (a tokenAnswer) tokens(now time.Time) Tokens {
	t := Tokens{Access: strings.TrimSpace(string(a.Access)), Refresh: string(a.Refresh), Issued: now}
	if strings.ContainsFunc(t.Access, func(r rune) bool { return r <= ' ' || r > '~' }) {
		t.Access = ""
	}
	life := time.Duration(a.Lifetime)
	if life <= 0 {
		life = assumedLifetime
	}
	t.Expiry = now.Add(life)
	return t
}

// scopesOr is what was granted; RFC 6749, 5.1 lets the service leave it out when that is what was asked for.
func (a tokenAnswer) scopesOr(asked []string) []string {
	if len(a.Scopes) > 0 {
		return a.Scopes
	}
	return append([]string(nil), asked...)
}

// post sends form, with the client's credentials, to one of the server's addresses.
func (a authority) post(ctx context.Context, cfg Config, op, address string, form url.Values) (*http.Response, error) {
	form.Set("client_id", cfg.ClientID)
	if cfg.ClientSecret != "" {
		form.Set("client_secret", cfg.ClientSecret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, noAnswer(op, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	res, err := a.client(cfg).Do(req)
	if err != nil {
		return nil, noAnswer(op, err)
	}
	return res, nil
}

// askForTokens posts form to the token endpoint. Its error never holds one of the secrets, which are what the form
// carried, in case the answer repeats it. An answer with either token is a success, whatever else it holds.
func (a authority) askForTokens(ctx context.Context, cfg Config, op string, form url.Values, secrets ...string) (tokenAnswer, error) {
	res, err := a.post(ctx, cfg, op, a.TokenURL, form)
	if err != nil {
		return tokenAnswer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body) // bounded, see oauthClient
	if err != nil {
		return tokenAnswer{}, noAnswer(op, err)
	}
	answer, readable := readTokenAnswer(body)
	if readable && res.StatusCode/100 == 2 && (answer.Access != "" || answer.Refresh != "") {
		answer.sent, _ = http.ParseTime(res.Header.Get("Date"))
		return answer, nil
	}
	return tokenAnswer{}, &Error{
		Op:         op,
		Kind:       refusalKind(res.StatusCode, string(answer.Error), readable, looksLikePage(body)),
		Status:     res.StatusCode,
		Code:       cleanCode(string(answer.Error), append(secrets, cfg.ClientSecret)...),
		Said:       cleanMessage(string(answer.Description), append(secrets, cfg.ClientSecret)...),
		RetryAfter: retryAfter(res.Header, cfg.now()),
	}
}

// refusalKind is what a token answer without tokens means. readable says whether it is the authorization server's at
// all: a page of something in between is no word about the sign-in.
func refusalKind(status int, code string, readable, page bool) Kind {
	switch {
	case status >= 500:
		return Server
	case status == http.StatusTooManyRequests:
		return TooMany
	}
	switch code { // RFC 6749, 5.2. Some servers send these with status 200.
	case "invalid_grant":
		return SignedOut
	case "invalid_client", "unauthorized_client":
		return BadClient
	case "temporarily_unavailable", "server_error":
		return Server
	case "":
	default:
		return Refused
	}
	switch kind := statusKind(status); {
	case page:
		return BadAnswer
	case kind == SignedOut:
		return BadClient // RFC 6749, 5.2: 401 is about the client, not about the grant
	case kind != Server && !readable:
		return BadAnswer
	default:
		return kind
	}
}

// readTokenAnswer finds the members of a token answer: in a JSON object, in an array around it, with anything after it,
// or in a form (which some services send). It reports whether it is one of those.
func readTokenAnswer(body []byte) (a tokenAnswer, ok bool) {
	body = bytes.TrimSpace(trimBOM(body))
	if looksLikePage(body) { // which may repeat what was sent to it, the refresh token among that
		return tokenAnswer{}, false
	}
	var raw json.RawMessage
	if json.NewDecoder(bytes.NewReader(body)).Decode(&raw) == nil {
		var all list[tokenAnswer]
		json.Unmarshal(raw, &all) // a list never fails
		for _, a = range all {
			if !a.empty() {
				break
			}
		}
		return a, len(all) > 0
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return tokenAnswer{}, false
	}
	a = tokenAnswer{
		Access: text(form.Get("access_token")), Refresh: text(form.Get("refresh_token")), ID: text(form.Get("id_token")),
		Lifetime: seconds(form.Get("expires_in")), Scopes: strings.Fields(form.Get("scope")),
		Error: errorCode(form.Get("error")), Description: text(form.Get("error_description")),
	}
	return a, !a.empty()
}

// lifetime is a number of seconds, also with a fraction, an exponent or in quotes; 0 for anything else.
type lifetime time.Duration

func (l *lifetime) UnmarshalJSON(b []byte) error {
	*l = seconds(strings.Trim(string(b), `"`))
	return nil
}

// seconds reads a number of seconds, at most longestLifetime; 0 when there is none.
func seconds(s string) lifetime {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(f) || f <= 0 {
		return 0
	}
	return lifetime(min(f, longestLifetime.Seconds()) * float64(time.Second))
}

// scopes are the words of a string, or of a list of strings.
type scopes []string

func (s *scopes) UnmarshalJSON(b []byte) error {
	*s = nil
	var one string
	var many []any
	if json.Unmarshal(b, &one) == nil {
		*s = strings.Fields(one)
	}
	if json.Unmarshal(b, &many) == nil {
		for _, v := range many {
			if v, ok := v.(string); ok {
				*s = append(*s, strings.Fields(v)...)
			}
		}
	}
	return nil
}

// errorCode is a string, or what an object holds under code or error. Anything else is none.
type errorCode string

func (c *errorCode) UnmarshalJSON(b []byte) error {
	*c = ""
	var s string
	var o struct{ Code, Error any }
	if json.Unmarshal(b, &s) == nil {
		*c = errorCode(s)
	} else if json.Unmarshal(b, &o) == nil {
		for _, v := range []any{o.Code, o.Error} {
			if s, ok := v.(string); ok && *c == "" {
				*c = errorCode(s)
			}
		}
	}
	return nil
}
