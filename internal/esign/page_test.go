package esign

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// labels are what pages of a network say that they are; nil is for those that say nothing.
var labels = map[string][]string{"none": nil, "its own": {"application/xhtml+xml"}, "plain text": {"text/plain"}}

func TestAPageIsNoWordOfTheServiceWhateverItsLabel(t *testing.T) {
	for name, label := range labels {
		t.Run(name, func(t *testing.T) {
			portal := func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Header()["Content-Type"] = label
				io.WriteString(w, "\n<!doctype html><title>Welcome</title>")
			}
			client, _ := api(t, http.HandlerFunc(portal))
			if e, err := client.DeleteEndpoint(t.Context(), "https://office.example.com/"); kindOf(err) != BadAnswer {
				t.Errorf("taken for the deletion: %v %v", e, err)
			}
			if err := client.cfg.Answers(t.Context()); kindOf(err) != BadAnswer {
				t.Errorf("taken for the API: %v", err)
			}
			bubble(t, nil, func(t *testing.T, p *provider, cfg Config) {
				s, v := started(p, cfg)
				if _, err := s.Access(t.Context()); err != nil {
					t.Errorf("once the network is free: %v", err)
				}
				p.handler.(*http.ServeMux).HandleFunc("POST /", portal)
				s.server.RevokeURL = p.url + "/portal"
				if err := s.Revoke(t.Context()); kindOf(err) != BadAnswer || v.now() == "" || s.Ended() {
					t.Errorf("taken for the revocation: %v, the vault holds %q", err, v.now())
				}
			})
		})
	}
}

func TestAPageThatForbidsIsTheNetworksWordAndNotTheServices(t *testing.T) {
	blocked := answering(403, "<html><h1>Blocked by your network</h1></html>", "Content-Type", "text/html")
	client, _ := api(t, blocked)
	_, err := client.Status(t.Context(), "p-1")
	_, err2 := client.Upload(t.Context(), fileOf("a.pdf", "%PDF-", ""))
	_, err3 := client.SetEndpoint(t.Context(), "https://office.example.com/")
	_, err4 := client.Download(t.Context(), ExecutedFile, "p-1", "d-1")
	for _, err := range []error{err, err2, err3, err4, client.cfg.Answers(t.Context())} {
		var e *Error
		if e, _ = err.(*Error); e == nil || e.Kind != BadAnswer || !e.Temporary() {
			t.Errorf("%v", err)
		}
	}
	client, _ = api(t, answering(403, `{"error":"package_not_authorized"}`))
	if _, err := client.Status(t.Context(), "p-1"); kindOf(err) != Forbidden {
		t.Errorf("the service's own: %v", err)
	}
}

func TestAPageInPlaceOfATokenAnswerCostsNothing(t *testing.T) {
	for name, page := range map[string]func(w http.ResponseWriter, form url.Values){
		"401": func(w http.ResponseWriter, _ url.Values) {
			w.WriteHeader(401)
			io.WriteString(w, "<html>Sign in</html>")
		},
		"403": func(w http.ResponseWriter, _ url.Values) {
			w.WriteHeader(403)
			io.WriteString(w, "<html>Blocked</html>")
		},
		"it repeats what was sent": func(w http.ResponseWriter, form url.Values) {
			io.WriteString(w, `<html><form action="/login?`+form.Encode()+`"></form></html>`)
		},
		"it leads on with an error": func(w http.ResponseWriter, _ url.Values) {
			io.WriteString(w, `<html><a href="/login?a=b&error=invalid_grant&c=d">here</a></html>`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			closed := true
			bubble(t, func(p *provider) {
				p.token = func(w http.ResponseWriter, form url.Values, _ int) bool {
					if closed {
						page(w, form)
					}
					return closed
				}
			}, func(t *testing.T, p *provider, cfg Config) {
				s, v := started(p, cfg)
				_, err := s.Access(t.Context())
				if kindOf(err) != BadAnswer || v.now() != "rt-0" || s.Ended() || strings.Contains(err.Error(), "rt-0") {
					t.Errorf("%v, the vault holds %q", err, v.now())
				}
				closed = false
				if _, err := s.Access(t.Context()); err != nil {
					t.Errorf("once the network is free: %v", err)
				}
			})
		})
	}
}
