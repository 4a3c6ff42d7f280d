package esign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/office"
)

// These tests are about an embarrassment: a package that was created and then sent again.

func TestOnlyAClearRefusalMeansThatThereIsNoPackage(t *testing.T) {
	const page = "<html><h1>Sign in to the guest network</h1></html>"
	html := []string{"Content-Type", "text/html"}
	for _, c := range []struct {
		name    string
		handler http.Handler
		kind    Kind
	}{
		{"connection lost", hijack(""), Unknown},
		{"cut in the headers", hijack("HTTP/1.1 200 OK\r\nContent-"), Unknown},
		{"cut in the body", hijack("HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{\"packageId\":\"p"), Unknown},
		{"cut in a refusal", hijack("HTTP/1.1 400 Bad Request\r\nContent-Length: 90\r\n\r\n{\"error\":\"package_inv"), Unknown},
		{"no HTTP", hijack("220 mail.example.com ESMTP\r\n"), Unknown},
		{"another protocol", hijack("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"), Unknown},
		{"only interim answers", hijack("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"), Unknown},
		{"half of the JSON", answering(200, `{"packageId":"p-1","pack`), Unknown},
		{"a page", answering(200, page, html...), Unknown},
		{"no id", answering(200, `{}`), Unknown},
		{"accepted for later", answering(202, ``), Unknown},
		{"no content", answering(204, ``), Unknown},
		{"too long", answering(200, strings.Repeat(" ", maxJSON+1)), Unknown},
		{"too many values", answering(200, `{"packageId":"p-1","documents":[`+strings.Repeat("0,", maxValues)+`0,0]}`), Unknown},
		{"too many objects", answering(200, `{"packageId":"p-1","documents":[`+strings.Repeat("{},", maxObjects)+`{}]}`), Unknown},
		{"300", answering(300, ``), Unknown},
		{"304", answering(304, ``), Unknown},
		{"a redirect to nowhere", answering(302, ``), Unknown},
		{"408", answering(408, `{"error":"package_invalid_time"}`), Unknown},
		{"500", answering(500, `{"error":"package_exception_x"}`), Unknown},
		{"503 with a time", answering(503, ``, "Retry-After", "1"), Unknown},
		{"an exception called 400", answering(400, `{"error":"package_exception_mail","message":"Mail failed."}`), Unknown},
		{"a gateway's JSON", answering(404, `{"status":404,"error":"Not Found","path":"/packages/add"}`), Unknown},
		{"a gateway's words", answering(403, `{"message":"Forbidden"}`), Unknown},
		{"a bare 404", answering(404, ``), Unknown},
		{"a proxy's 405", answering(405, page, html...), Unknown},
		{"a proxy's 400", answering(400, page, html...), Unknown},
		{"a proxy's 404", answering(404, page, html...), Unknown},
		{"a proxy's 401", answering(401, page, html...), Unknown},
		{"a proxy's 429", answering(429, page, html...), Unknown},

		{"400", answering(400, `{"error":"package_invalid_type","message":"No such type."}`), Refused},
		{"403", answering(403, `{"error":"package_not_authorized"}`), Forbidden},
		{"404", answering(404, `{"error":"file_not_found"}`), NotFound},
		{"409", answering(409, `{"error":"package_duplicate_recipients"}`), Refused},
		{"413", answering(413, `{"error":"package_length_body"}`), Refused},
		{"422 as a problem", answering(422, `{"title":"Invalid","detail":"No signers."}`, "Content-Type", "application/problem+json"), Refused},
		{"404 as a problem", answering(404, `{"title":"Not Found"}`, "Content-Type", "application/problem+json"), Unknown},
		{"a bare 401", answering(401, ``), SignedOut},
		{"a bare 405", answering(405, ``), Refused},
		{"a bare 429", answering(429, ``), TooMany},
		{"401 on a page", answering(401, page, "WWW-Authenticate", "Bearer"), SignedOut},
		{"405 on a page", answering(405, page, "Allow", "GET"), Refused},
		{"429 on a page", answering(429, page, "Retry-After", "1"), TooMany},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n++
				c.handler.ServeHTTP(w, r)
			}))
			_, err := client.AddPackage(context.Background(), offer())
			if kindOf(err) != c.kind || errors.Is(err, ErrOutcomeUnknown) != (c.kind == Unknown) {
				t.Errorf("%v", err)
			}
			if e, ok := errors.AsType[*Error](err); c.kind == Unknown && (n != 1 || !ok || e.Temporary()) {
				t.Errorf("it was sent %d times, and %v invites a repetition", n, e)
			}
			harmless(t, err, "at-secret", "guest")
			_, set := client.SetEndpoint(t.Context(), "https://x.example.com/")
			_, sent := client.Upload(t.Context(), fileOf("a.pdf", "%PDF-", ""))
			_, link := client.SignLink(t.Context(), "p", "s")
			for call, err := range map[string]error{"endpoints/set": set, "files/upload": sent, "link/sign": link} {
				if e, ok := errors.AsType[*Error](err); ok && e.MayBeDone != (c.kind == Unknown) {
					t.Errorf("%s: %v, %v", call, err, e)
				}
			}
		})
	}
	t.Run("never sent", func(t *testing.T) {
		s := httptest.NewServer(nil)
		s.Close()
		client := NewClient(Config{AuthURL: s.URL, BaseURL: s.URL, ClientID: "c"}, &tokens{})
		_, add := client.AddPackage(t.Context(), offer())
		_, set := client.SetEndpoint(t.Context(), "https://x.example.com/")
		for _, err := range []error{add, set} {
			if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Network || e.MayBeDone {
				t.Errorf("%v", err)
			}
		}
	})
	t.Run("not JSON", func(t *testing.T) {
		client, _ := api(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("sent") }))
		p := offer()
		p.ExternalData = json.RawMessage(`{`)
		if _, err := client.AddPackage(context.Background(), p); kindOf(err) != Invalid {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		client := within(t, func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		late, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		cancelled, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, cancel)
		for _, ctx := range []context.Context{late, cancelled} {
			if _, err := client.AddPackage(ctx, offer()); !errors.Is(err, ErrOutcomeUnknown) {
				t.Errorf("%v on the way: %v", ctx.Err(), err)
			}
		}
	})
}

func TestARedirectIsFollowedWithinTheHostAndByNoPackage(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for where, to := range map[string]string{"same host": "", "other host": other.URL} {
			t.Run(fmt.Sprint(status, " ", where), func(t *testing.T) {
				n := 0
				client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if n++; strings.HasSuffix(r.URL.Path, "/") {
						io.WriteString(w, bareStatus)
						return
					}
					http.Redirect(w, r, to+r.URL.Path+"/?token=at-secret-0", status)
				}))
				if _, err := client.AddPackage(t.Context(), offer()); !errors.Is(err, ErrOutcomeUnknown) || n != 1 {
					t.Errorf("%v after %d", err, n)
				}
				if _, err := client.Upload(t.Context(), fileOf("a.pdf", "%PDF-", "")); kindOf(err) != BadAnswer {
					t.Errorf("an upload: %v", err)
				}
				_, err := client.Status(t.Context(), "p-1")
				if (err == nil) != (to == "") || err != nil && kindOf(err) != BadAnswer {
					t.Errorf("a status: %v", err)
				}
				harmless(t, err, "at-secret")
			})
		}
	}
	expect(t, elsewhere.Load(), 0, "the other host was asked %d times")
}

func TestAPackageTakesTheFormOfItsPathFromTheUploadBeforeIt(t *testing.T) {
	for served, want := range map[string]string{
		"/files/upload /packages/add":                                   "/packages/add /packages/add",
		"/files/upload forbidden /api/v1/packages/add":                  "/api/v1/packages/add /api/v1/packages/add",
		"/files/upload /api/v1/organizations/info /api/v1/packages/add": "/api/v1/packages/add /api/v1/packages/add",
	} {
		var asked []string
		client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			asked = append(asked, r.URL.Path)
			if r.Header.Get("Authorization") == "" { // before it looks at the path
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			if strings.Contains(served, "forbidden") && strings.HasSuffix(r.URL.Path, "/info") {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			if !slices.Contains(strings.Fields(served), r.URL.Path) {
				http.NotFound(w, r)
				return
			}
			io.WriteString(w, `{"fileId":"f-1","packageId":"p-1"}`)
		}))
		must(client.Upload(context.Background(), fileOf("a.pdf", "%PDF-", "")))
		must(client.AddPackage(context.Background(), offer()))
		must(client.AddPackage(context.Background(), offer()))
		expect(t, strings.Join(asked, " "), "/api/v1/files/upload /files/upload /api/v1/organizations/info "+want, "asked %s")
	}
}

// net/http itself repeats some requests when a kept-alive connection is gone.
func TestNetHTTPDoesNotSendAPackageAgain(t *testing.T) {
	n := 0
	client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			io.WriteString(w, `{"items":[]}`)
			return
		}
		hijack("")(w, r)
	}))
	must(client.List(t.Context(), ListQuery{}))
	if _, err := client.AddPackage(t.Context(), offer()); !errors.Is(err, ErrOutcomeUnknown) || n != 2 {
		t.Errorf("%v after %d", err, n)
	}
}

func TestADownloadMayComeFromAStorageThatGetsNoToken(t *testing.T) {
	const file = "%PDF-1.7 signed"
	var seen []string
	note := func(r *http.Request) {
		seen = append(seen, r.URL.Path+" "+r.Header.Get("Authorization")+r.Header.Get("Referer")+r.Header.Get("Cookie"))
	}
	var service *httptest.Server
	var storage *httptest.Server
	mux := http.NewServeMux()
	storage = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r)
		switch r.URL.Path {
		case "/file":
			io.WriteString(w, file)
		case "/back":
			http.Redirect(w, r, service.URL+"/open", http.StatusFound)
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer storage.Close()
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { note(r) }))
	defer plain.Close()
	mux.HandleFunc("/open", func(w http.ResponseWriter, r *http.Request) {
		note(r)
		io.WriteString(w, file)
	})
	to := ""
	mux.HandleFunc("/api/v1/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
	service = httptest.NewTLSServer(mux)
	defer service.Close()
	src := &tokens{}
	// Both servers have the same certificate and name; only their ports differ, which net/http ignores.
	client := NewClient(Config{AuthURL: service.URL, BaseURL: service.URL, ClientID: "c", HTTP: service.Client()}, src)

	for _, c := range []struct {
		to   string
		kind Kind
		seen string // and by whom, with which credentials
	}{
		{storage.URL + "/file", "", "/file "},
		{storage.URL + "/back", "", "/back ,/open "},
		{service.URL + "/api/v1/again", BadAnswer, ""},
		{storage.URL + "/expired", Server, "/expired "},
		{plain.URL + "/file", BadAnswer, ""},
	} {
		to, seen = c.to, nil
		d, err := client.Download(t.Context(), office.FileSigned, "p", "d")
		if kindOf(err) != c.kind || strings.Join(seen, ",") != c.seen || len(src.invalid) != 0 {
			t.Errorf("%s: %v, seen were %q, and %q is no longer good", to, err, seen, src.invalid)
		}
		if c.kind == "" {
			b := must(io.ReadAll(d.Body))
			d.Body.Close()
			expect(t, string(b), file, "got %q")
		}
	}
	to, seen = storage.URL+"/file", nil
	if _, err := client.Status(t.Context(), "p"); kindOf(err) != BadAnswer || len(seen) != 0 {
		t.Errorf("another call: %v, %q", err, seen)
	}
}

func TestWhatIsAnsweredToAWithdrawalSaysWhetherItIsDone(t *testing.T) {
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		done    bool
		unknown bool
	}{
		"it is":              {answering(200, `{"packageId":"p-1"}`), true, false},
		"in capitals":        {answering(200, `{"packageId":"P-1"}`), true, false},
		"another package":    {answering(200, `{"packageId":"p-2"}`), false, true},
		"a page":             {answering(200, `<html>Sign in</html>`, "Content-Type", "text/html"), false, true},
		"trouble":            {answering(500, ``), false, true},
		"no such call":       {answering(404, `404 page not found`), false, false},
		"not by this member": {answering(403, `{"error":"package_not_authorized","message":"No."}`), false, false},
	} {
		client, _ := api(t, c.answer)
		err := client.Rescind(t.Context(), "p-1", "A mistake", true)
		if (err == nil) != c.done || errors.Is(err, ErrOutcomeUnknown) != c.unknown || NotServed(err) != (name == "no such call") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
