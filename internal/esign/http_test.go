package esign

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/proxy"
	"countersign/internal/proxy/proxytest"
	"countersign/internal/tunnel/ngroktest"
)

func TestAConnectionWithoutAByteIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, move := range map[string]func(net.Conn, []byte) (int, error){"read": net.Conn.Read, "written": net.Conn.Write} {
			near, far := net.Pipe()
			defer far.Close()
			start := time.Now()
			if _, err := move(&watchedConn{Conn: near}, []byte{1}); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != idleTimeout {
				t.Errorf("nothing is %s: %v after %v", name, err, time.Since(start))
			}
		}
	})
}

func TestWhileOneDirectionMovesTheOtherMayWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := &watchedConn{Conn: near}
		answer := make(chan error)
		go func() { // as net/http does during an upload
			_, err := io.ReadFull(c, make([]byte, 2))
			answer <- err
		}()
		for range 10 { // slowly, but it moves
			time.AfterFunc(idleTimeout-time.Second, func() { io.ReadFull(far, make([]byte, 1)) })
			must(c.Write([]byte{1}))
		}
		time.Sleep(idleTimeout - time.Second)
		io.WriteString(far, "ok")
		noErr(t, <-answer)
		near.Close()
		far.Close()
	})
}

// A service may convert and check what it was sent before it answers.
func TestTheAnswerToAFileOrAPackageMayTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := within(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			time.Sleep(callBound - time.Second)
			io.WriteString(w, `{"fileId":"f-1","packageId":"p"}`)
		})
		if id, err := client.Upload(t.Context(), fileOf("a.pdf", "%PDF-1.4", "")); id != "f-1" || err != nil {
			t.Errorf("a file: %q, %v", id, err)
		}
		if added, err := client.AddPackage(t.Context(), offer()); added.PackageID != "p" || err != nil {
			t.Errorf("a package: %+v, %v", added, err)
		}
		start := time.Now()
		if _, err := client.List(t.Context(), ListQuery{}); err == nil || time.Since(start) != idleTimeout {
			t.Errorf("a list, on the same connection: %v after %v", err, time.Since(start))
		}
	})
}

func TestEveryKindHasASentence(t *testing.T) {
	for _, k := range []Kind{SignedOut, Denied, BadClient, Forbidden, NotFound, Refused, TooMany, Server, Network, NotReady, BadAnswer,
		Unknown, NotKept, Interrupted, "new"} {
		s := Message(&Error{Op: "o", Kind: k}).String()
		if s == "" || !strings.HasSuffix(s, ".") || strings.Contains(s, "!") {
			t.Errorf("%s: %q", k, s)
		}
	}
	for _, err := range []error{ErrSignedOut, ErrOutcomeUnknown, context.DeadlineExceeded, errors.New("x")} {
		if Message(err).String() == "" {
			t.Errorf("%v", err)
		}
	}
	expect(t, Message(nil).String(), "", "of nothing: %s")
	for _, k := range []Kind{TooMany, Server} { // for which somebody would wait a few minutes otherwise
		expect(t, Message(&Error{Kind: k, RetryAfter: 59 * time.Minute}), Message(&Error{Kind: k}), "a short pause: %v, want %v", Message(&Error{Kind: k}))
		expect(t, Message(&Error{Kind: k, RetryAfter: maxRetryAfter - time.Minute}), message.ServicePauses(24), "a long pause: %v")
	}
	if text := (&Error{Op: "o", Kind: Network, err: &net.DNSError{Name: "inside.example.com"}}).Error(); strings.Contains(text, "inside") {
		t.Errorf("the log learns %q", text)
	}
	for _, p := range []FileProblem{FileInvalid, FileUnsupported, FileProtected, FileRejected, FileTooLarge, FileChanged, FileUnreadable, FileEmpty} {
		if s := Message(&FileError{FileName: "Offer.pdf", Problem: p}).String(); !strings.Contains(s, "“Offer.pdf”") {
			t.Errorf("%s: %q", p, s)
		}
	}
}

// Over HTTP/2, net/http repeats requests endlessly, see NewHTTPClient: so it is not used even if a service offers it.
func TestNothingIsAskedOverHTTP2(t *testing.T) {
	var asked, over2 atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		over2.Add(int64(r.ProtoMajor - 1))
		io.Copy(io.Discard, r.Body)
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	service := NewHTTPClient((&net.Dialer{}).DialContext)
	transport := service.Transport.(*http.Transport)
	transport.TLSClientConfig = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	defer transport.CloseIdleConnections()

	cfg := Config{AuthURL: server.URL, BaseURL: server.URL, ClientID: "c", HTTP: service}
	client := NewClient(cfg, &tokens{})
	client.List(t.Context(), ListQuery{})
	client.Download(t.Context(), office.FileMaster, "p-1", "")
	client.Upload(t.Context(), fileOf("a.pdf", "%PDF-1.4", ""))
	client.AddPackage(t.Context(), offer())
	session := NewSession(cfg, &vault{token: "rt-0"})
	session.Access(t.Context())
	session.Revoke(t.Context())
	if asked.Load() < 6 || over2.Load() > 0 {
		t.Errorf("%d of %d requests went over HTTP/2", over2.Load(), asked.Load())
	}
}

func TestBothFormsOfAPathAreFoundAndRemembered(t *testing.T) {
	for name, no := range map[string]struct {
		status int
		body   string
	}{
		"in no words": {404, `404 page not found`},
		"with a page": {200, "<!doctype html><title>Sign in</title>"}, // of the service's web application
		"in general":  {404, `{"error":"not_found","message":"Not found"}`},
		"about paths": {404, `{"error":"resource_not_found","message":"There is nothing at this address."}`},
		"one word":    {404, `{"error":"Not Found","message":"Cannot GET"}`},
		"by the way":  {302, ``}, // to its sign-in
		"the method":  {405, `{"error":"method_not_allowed","message":"Method not allowed"}`},
	} {
		for _, serve := range []string{"", "/api/v1"} {
			t.Run(name+" "+serve, func(t *testing.T) {
				var asked []string
				client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					asked = append(asked, r.URL.Path)
					if strings.HasPrefix(r.URL.Path, "/api/v1") != (serve != "") {
						w.Header().Set("Content-Type", "application/json")
						w.Header().Set("Location", "http://sign-in.example.com/")
						w.WriteHeader(no.status)
						io.WriteString(w, no.body)
						return
					}
					switch strings.TrimPrefix(r.URL.Path, "/api/v1") {
					case "/packages/p-1/status":
						io.WriteString(w, bareStatus)
					case "/masterfiles/p-1/pdf/download":
						io.WriteString(w, "%PDF-1.7")
					case "/events/endpoints/set":
						io.WriteString(w, `{"endpoint":{"eventEndpointId":"e","url":"https://x.example.com/A/","secret":"s"}}`)
					default:
						w.WriteHeader(404)
						io.WriteString(w, `{"error":"package_not_found","message":"No such package."}`)
					}
				}))
				ctx := context.Background()
				for range 2 {
					if _, err := client.Status(ctx, "p-2"); kindOf(err) != NotFound || NotServed(err) || !strings.Contains(err.Error(), "package_not_found") {
						t.Errorf("an unknown package: %v", err)
					}
					if serve != "" && len(asked) != 1 && len(asked) != 3 {
						t.Errorf("the service's own answer is an answer: asked %q", asked)
					}
					if s, err := client.Status(ctx, "p-1"); err != nil || s.State != office.PackageExecuted {
						t.Errorf("status: %+v, %v", s, err)
					}
				}
				d, err := client.Download(ctx, office.FileMaster, "p-1", "")
				if err != nil {
					t.Fatalf("download: %v", err)
				}
				d.Body.Close()
				if _, err := client.SetEndpoint(ctx, "https://x.example.com/A/"); err != nil {
					t.Errorf("endpoint: %v", err)
				}
				if path := serve + "/events/endpoints/set"; slices.Index(asked, path) < 0 || slices.Index(asked, path) != len(asked)-1 {
					t.Errorf("a POST arrives more than once: %q", asked)
				}
				before := len(asked)
				client.Status(ctx, "p-2")
				if len(asked) != before+1 {
					t.Errorf("once the form is known: %s", fmt.Sprint(asked[before:]))
				}
			})
		}
	}
}

func TestACodeNamesSomethingInThePathOrThePathIsNotServed(t *testing.T) {
	for path, codes := range map[string]map[string]bool{
		"/packages/note-7/status":              {"package_not_found": true, "PACKAGES_x": true, "status_unknown": true, "not_found": false, "resource_not_found": false, "package": false},
		"/packages/p-1/link/sign/s-1":          {"signer_not_found": true},
		"/packages/p/documents/d/pdf/download": {"document_not_ready": true, "pdfs_missing": false, "doc_missing": false, "docu_missing": true},
	} {
		for code, want := range codes {
			expect(t, (&call{path: path}).named(code), want, "%[2]s in %[3]s is named: %[1]v", code, path)
		}
	}
}

func TestOnlyTheAPIItselfAnswersAtItsAddress(t *testing.T) {
	for answer, want := range map[string]Kind{"200 {}": "", "401 ": "", "403 {}": "", "429 ": "", "404 ": BadAnswer, "302 ": BadAnswer, "200 <html>": BadAnswer,
		"403 <html>": BadAnswer, "500 ": Server, "503 <html>": Server} {
		for _, served := range []string{"/api/v1/organizations/info", "/organizations/info"} {
			status, body, _ := strings.Cut(answer, " ")
			client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != served {
					http.NotFound(w, r)
					return
				}
				answering(must(strconv.Atoi(status)), body)(w, r)
			}))
			expect(t, kindOf(client.cfg.Answers(t.Context())), want, "%[2]s at %[3]s: %[1]q", answer, served)
		}
	}
}

func TestAGatewaysAnswerDoesNotTellWhichFormIsServed(t *testing.T) {
	n := 0
	client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n++; {
		case n == 1:
			w.WriteHeader(http.StatusTooManyRequests)
		case strings.HasPrefix(r.URL.Path, apiPrefix):
			http.NotFound(w, r)
		default:
			io.WriteString(w, bareStatus)
		}
	}))
	_, err := client.Status(t.Context(), "p-1")
	expect(t, kindOf(err), TooMany, "%s")
	must(client.Status(t.Context(), "p-1"))
}

// behind returns a client that reaches https://example.com, the given service, through a proxy.
func behind(t *testing.T, service *httptest.Server, trusted *x509.CertPool, o proxytest.Options) (*Client, *proxytest.Proxy) {
	t.Helper()
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "")
	}
	o.Hosts = map[string]string{"example.com:443": service.Listener.Addr().String()}
	p := must(proxytest.Start(o))
	t.Cleanup(p.Close)
	at := p.URL()
	at.User = nil
	network := &proxy.Finder{Ask: func(context.Context, *url.URL) (proxy.Answer, error) {
		return proxy.Answer{Ways: []*url.URL{at}, Source: proxy.System}, nil
	}}
	client := NewHTTPClient(network.DialContext)
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
	t.Cleanup(client.CloseIdleConnections)
	return NewClient(Config{AuthURL: "https://example.com", BaseURL: "https://example.com", ClientID: "c", HTTP: client}, &tokens{}), p
}

// tlsService is a service that only knows the organization.
func tlsService(t *testing.T) (*httptest.Server, *x509.CertPool) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"id":"o-1"}`) }))
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s, pool
}

func TestAProxyThatOpensTLSIsTrustedWhenTheComputerTrustsIt(t *testing.T) {
	s, pool := tlsService(t)
	inspection, err := ngroktest.NewAuthority("Office inspection")
	if err != nil {
		t.Fatal(err)
	}
	opening := proxytest.Options{Certificate: func(host string) (tls.Certificate, error) { return inspection.Issue(host) }, Upstream: &tls.Config{RootCAs: pool}}
	trusting, _ := behind(t, s, inspection.Pool(), opening)
	expect(t, trusting.cfg.Answers(context.Background()), nil, "with its certificate installed: %v")
	distrusting, _ := behind(t, s, pool, opening)
	_, err = distrusting.Status(context.Background(), "p")
	for _, want := range []string{"Office inspection", "example.com"} {
		if text := Message(err).String(); !strings.Contains(text, want) || kindOf(err) != Network {
			t.Errorf("people read %q, without %q", text, want)
		}
	}
}

func TestWhatTheProxySaysReachesPeople(t *testing.T) {
	s, pool := tlsService(t)
	for want, o := range map[string]proxytest.Options{
		"network.proxy-wants-sign-in":   {User: "u", Password: "proxySECRET"},
		"network.proxy-blocks":          {Status: http.StatusForbidden},
		"network.network-wants-browser": {Status: http.StatusNetworkAuthenticationRequired},
	} {
		client, _ := behind(t, s, pool, o)
		_, err := client.Status(context.Background(), "p")
		if got := Message(err); got.ID() != want || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("people read %q, want %q (%v)", got, want, err)
		}
		if answerLost(err) {
			t.Errorf("%s: what never went out is taken for a lost answer", want)
		}
	}
}

// labels are the Content-Types of a network's pages; nil means none.
var labels = map[string][]string{"none": nil, "HTML": {"text/html; charset=utf-8"}, "its own": {"application/xhtml+xml"}, "plain text": {"text/plain"}}

func TestAPageIsNoWordOfTheServiceWhateverItsLabel(t *testing.T) {
	for name, label := range labels {
		t.Run(name, func(t *testing.T) {
			status := 403
			portal := func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Header()["Content-Type"] = label
				w.WriteHeader(status)
				io.WriteString(w, "\n<!doctype html><title>Welcome</title>")
			}
			client, _ := api(t, http.HandlerFunc(portal))
			for _, status = range []int{403, 200} {
				_, download := client.Download(t.Context(), office.FileSigned, "p-1", "d-1")
				_, upload := client.Upload(t.Context(), fileOf("a.pdf", "%PDF-", ""))
				e, end := client.DeleteEndpoint(t.Context(), "https://office.example.com/")
				for _, err := range []error{download, upload, end, client.cfg.Answers(t.Context())} {
					if kindOf(err) != BadAnswer {
						t.Errorf("%d: taken for the service's word: %v, %v", status, err, e)
					}
				}
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

func TestAPageInPlaceOfATokenAnswerCostsNothing(t *testing.T) {
	for name, page := range map[string]func(w http.ResponseWriter, form url.Values){
		"503": func(w http.ResponseWriter, _ url.Values) { w.WriteHeader(503) }, // no page, but for as long
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
				if want := map[bool]Kind{true: Server, false: BadAnswer}[name == "503"]; kindOf(err) != want || v.now() != "rt-0" || s.Ended() || strings.Contains(err.Error(), "rt-0") {
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
