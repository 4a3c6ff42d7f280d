package inbox

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/trytest"

	"go.uber.org/goleak"
)

func must[T any](value T, err error) T { return trytest.Must(value, err) }

func TestForgedRequestsAreRefusedAndNeverStored(t *testing.T) {
	good := sign(hookURL, hookSecret, eventBody)
	reencoded := strings.Replace(eventBody, `"externalData":null,`, `"externalData": null,`, 1)
	const h = hookHeader
	for _, c := range []struct {
		name    string
		body    string
		headers []string
		status  int
	}{
		{"no signature", eventBody, nil, 401},
		{"an empty signature", eventBody, []string{h, ""}, 401},
		{"a mangled signature", eventBody, []string{h, "!" + good[1:]}, 401},
		{"JSON encoded again", reencoded, []string{h, good}, 401},
		{"another secret", eventBody, []string{h, sign(hookURL, hookSecret+"0", eventBody)}, 401},
		{"an empty body", "", []string{h, sign(hookURL, hookSecret, "")}, 401},
		{"two signatures", eventBody, []string{h, good, h, good}, 401},
		{"two signatures in one line", eventBody, []string{h, good + ", " + good}, 401},
		{"the signature under another name", eventBody, []string{"X-Other-Signature", good}, 401},
		{"a compressed body", eventBody, []string{h, good, "Content-Encoding", "gzip"}, 415},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s shelf
			_, address := serve(t, Options{Keys: oneKey, Store: s.store, Wake: func() { t.Error("woken") }})
			res, body := send(t, request(t, address, c.body, c.headers...))
			if res.StatusCode != c.status {
				t.Errorf("status %d, want %d", res.StatusCode, c.status)
			}
			if body != "" {
				t.Errorf("the sender was told %q", body)
			}
			if len(s.all()) != 0 {
				t.Error("it was stored")
			}
		})
	}
}

func TestABodyOf32MBIsRefusedUnread(t *testing.T) {
	var s shelf
	in, address := serve(t, Options{Keys: oneKey, Store: s.store})
	conn := must(net.Dial("tcp", strings.TrimPrefix(address, "http://")))
	defer conn.Close()
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nX-Service-Signature: %s\r\n\r\n", 32<<20, sign(hookURL, hookSecret, eventBody))
	res := must(http.ReadResponse(bufio.NewReader(conn), nil))
	if res.StatusCode != http.StatusRequestEntityTooLarge || !res.Close {
		t.Errorf("status %d, close %v", res.StatusCode, res.Close)
	}
	if in.Rejected()[TooLarge] != 1 || len(s.all()) != 0 {
		t.Errorf("%+v", in.Rejected())
	}
}

func TestAChunkedBodyIsRefusedOnceItIsTooLarge(t *testing.T) {
	var s shelf
	in := receiver(Options{Keys: oneKey, Store: s.store})
	r := request(t, "/", "", signed(eventBody)...)
	r.Body, r.ContentLength = io.NopCloser(io.LimitReader(endless('x'), 4<<20)), -1
	rec := httptest.NewRecorder()
	in.ServeHTTP(rec, r)
	if rec.Code != http.StatusRequestEntityTooLarge || len(s.all()) != 0 {
		t.Errorf("status %d", rec.Code)
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestOtherMethodsAreToldWhichOneWorks(t *testing.T) {
	_, address := serve(t, Options{Keys: oneKey, Store: new(shelf).store})
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		r := request(t, address, eventBody, signed(eventBody)...)
		r.Method = method
		res, _ := send(t, r)
		if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != http.MethodPost {
			t.Errorf("%s: %d, Allow %q", method, res.StatusCode, res.Header.Get("Allow"))
		}
	}
}

func TestAuthenticEventsAreStoredBeforeTheAnswer(t *testing.T) {
	large := `{"action":"package_sent","eventId":"e-2","externalData":"` + strings.Repeat("x", 300<<10) + `"}`
	full := `{"eventId":"e-3","x":"` + strings.Repeat("x", maxBody-len(`{"eventId":"e-3","x":""}`)) + `"}`
	for _, c := range []struct {
		name, body, id, action string
	}{
		{"the plain case", eventBody, "e-1", "package_executed"},
		{"an unknown action", `{"action":"package_teleported","eventId":"e-9"}`, "e-9", "package_teleported"},
		{"white space and another order", "{ \"eventId\" : \"e-7\",\r\n\"action\":\"document_signed\" }\n", "e-7", "document_signed"},
		{"a large one", large, "e-2", "package_sent"},
		{"exactly as large as allowed", full, "e-3", ""},
		{"no eventId", `{"action":"package_executed"}`, "sha256:", "package_executed"},
		{"an absurd eventId", `{"eventId":"` + strings.Repeat("e", 300) + `"}`, "sha256:", ""},
		{"an eventId of blanks", `{"eventId":"e 1"}`, "sha256:", ""},
		{"an eventId of zeros", `{"eventId":"00000000-0000-0000-0000-000000000000"}`, "sha256:", ""},
		{"an eventId that is deleted", "{\"eventId\":\"e\x7f1\"}", "sha256:", ""},
		{"as long as an eventId may be", `{"eventId":"` + strings.Repeat("e", maxEventID) + `"}`, strings.Repeat("e", maxEventID), ""},
		{"not JSON", `package executed!`, "sha256:", ""},
		{"not UTF-8", "{\"a\":\"\xff\"}", "sha256:", ""},
		{"a list", `[1]`, "sha256:", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s shelf
			woken := make(chan struct{}, 1)
			_, address := serve(t, Options{Keys: oneKey, Store: s.store, Wake: func() { woken <- struct{}{} }})
			res, _ := send(t, request(t, address, c.body, signed(c.body)...))
			if res.StatusCode != http.StatusOK {
				t.Fatalf("status %d", res.StatusCode)
			}
			<-woken
			kept := s.all()
			if len(kept) != 1 || string(kept[0].Body) != c.body {
				t.Fatalf("kept %d", len(kept))
			}
			r := kept[0]
			if !strings.HasPrefix(r.ID, c.id) || r.Event.Action != c.action || r.URL != hookURL {
				t.Errorf("kept as %q %q %q", r.ID, r.Event.Action, r.URL)
			}
		})
	}
}

func TestAChunkedEventIsAccepted(t *testing.T) {
	var s shelf
	_, address := serve(t, Options{Keys: oneKey, Store: s.store})
	r := request(t, address, "", signed(eventBody)...)
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(eventBody)), -1
	if res, _ := send(t, r); res.StatusCode != http.StatusOK || len(s.all()) != 1 {
		t.Errorf("status %d, %d kept", res.StatusCode, len(s.all()))
	}
}

func TestADuplicateIsAnsweredLikeTheFirst(t *testing.T) {
	var s shelf
	woken := make(chan struct{}, 10)
	_, address := serve(t, Options{Keys: oneKey, Store: s.store, Wake: func() { woken <- struct{}{} }})
	for range 3 {
		if res, _ := send(t, request(t, address, eventBody, signed(eventBody)...)); res.StatusCode != http.StatusOK {
			t.Fatalf("status %d", res.StatusCode)
		}
	}
	if c := len(s.all()); c != 1 || len(woken) != 1 {
		t.Errorf("%+v, woken %d times", c, len(woken))
	}
}

// What the service cannot have sent is not stored for another desk either, and does not block later events.
func TestAnotherDeskHandsOnNoMoreThanTheServiceSends(t *testing.T) {
	var s shelf
	in := New(Options{Keys: oneKey, Store: s.store})
	for _, x := range []struct {
		url  string
		body []byte
	}{{hookURL, nil}, {hookURL, make([]byte, maxBody+1)}, {strings.Repeat("x", maxHanded+1), []byte(eventBody)}, {hookURL, []byte(eventBody)}} {
		if err := in.Take(t.Context(), Key{URL: x.url}, "", x.body); err != nil {
			t.Error(err)
		}
	}
	if got := s.all(); len(got) != 1 {
		t.Errorf("%d are stored", len(got))
	}
}

func TestThePreviousKeyCountsWhileItIsGiven(t *testing.T) {
	var s shelf
	var mu sync.Mutex
	keys := []Key{{hookURL, "new", hookService}, {"https://old.example.com/h", "old", "https://old.example.com"}}
	_, address := serve(t, Options{Store: s.store, Keys: func() []Key {
		mu.Lock()
		defer mu.Unlock()
		return keys
	}})
	header := func(k Key) []string { return []string{hookHeader, sign(k.URL, k.Secret, eventBody)} }
	old := header(keys[1])
	if res, _ := send(t, request(t, address, eventBody, old...)); res.StatusCode != http.StatusOK {
		t.Errorf("the previous key: %d", res.StatusCode)
	}
	if kept := s.all(); len(kept) != 1 || kept[0].URL != "https://old.example.com/h" || kept[0].Service != "https://old.example.com" {
		t.Errorf("kept %v", kept)
	}
	mu.Lock()
	keys = keys[:1]
	mu.Unlock()
	if res, _ := send(t, request(t, address, eventBody, old...)); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("the forgotten key: %d", res.StatusCode)
	}
}

func TestTheHeaderNameIsASetting(t *testing.T) {
	var s shelf
	_, address := serve(t, Options{Keys: oneKey, Store: s.store, Header: func() string { return "X-Syngrafii-Signature" }})
	sum := sign(hookURL, hookSecret, eventBody)
	if res, _ := send(t, request(t, address, eventBody, "x-syngrafii-signature", sum)); res.StatusCode != http.StatusOK {
		t.Errorf("status %d", res.StatusCode)
	}
	if res, _ := send(t, request(t, address, eventBody, hookHeader, sum)); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("the other name: status %d", res.StatusCode)
	}
}

func TestWhatCouldNotBeStoredIsAskedForAgain(t *testing.T) {
	s := shelf{broken: errors.New("disk full")}
	in, address := serve(t, Options{Keys: oneKey, Store: s.store, Wake: func() { t.Error("woken") }})
	res, _ := send(t, request(t, address, eventBody, signed(eventBody)...))
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
	}
	if c := in.Rejected(); c[NotStored] != 1 {
		t.Errorf("%+v", c)
	}
}

func TestAKeyPrintsWithoutItsSecret(t *testing.T) {
	if s := fmt.Sprintf("%v %+v %#v %s", Key{hookURL, hookSecret, hookService}, Key{hookURL, hookSecret, hookService}, Key{hookURL, hookSecret, hookService}, oneKey()); strings.Contains(s, hookSecret) {
		t.Error(s)
	}
}

func TestASlowStoreIsNotTakenForASlowSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		in := receiver(Options{Keys: oneKey, Store: func(ctx context.Context, r Received) (bool, error) {
			select {
			case <-ctx.Done():
				return false, ctx.Err()
			case <-time.After(time.Minute):
			}
			return s.store(ctx, r)
		}})
		dial, end := overPipes(in)
		defer end()
		c := dial()
		defer c.Close()
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nX-Service-Signature: %s\r\n\r\n%s",
			len(eventBody), sign(hookURL, hookSecret, eventBody), eventBody)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%v %v", res, err)
		}
	})
}

func TestLargeBodiesDoNotCrowdOutSmallOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		in := receiver(Options{Keys: oneKey, Store: s.store})
		var codes []int
		var mu sync.Mutex
		var pipes []*io.PipeWriter
		for range largeBodies + 1 {
			r, w := io.Pipe()
			pipes = append(pipes, w)
			go func() {
				rec := httptest.NewRecorder()
				req := httptest.NewRequest(http.MethodPost, "/", r)
				req.Header.Set(hookHeader, sign(hookURL, hookSecret, eventBody))
				in.ServeHTTP(rec, req)
				r.Close()
				mu.Lock()
				codes = append(codes, rec.Code)
				mu.Unlock()
			}()
			go w.Write(make([]byte, smallBody+10))
			synctest.Wait()
		}
		rec := httptest.NewRecorder()
		in.ServeHTTP(rec, request(t, "/", eventBody, signed(eventBody)...))
		if rec.Code != http.StatusOK {
			t.Errorf("a small one: %d", rec.Code)
		}
		for _, w := range pipes {
			w.Close()
		}
		synctest.Wait()
		slices.Sort(codes)
		if want := []int{401, 401, 401, 401, 503}; !slices.Equal(codes, want) {
			t.Errorf("large ones: %v, want %v", codes, want)
		}
		large := `{"eventId":"e-2","x":"` + strings.Repeat("x", smallBody) + `"}`
		for range 2 * largeBodies { // one at a time; each releases its buffer
			for code, key := range map[int]string{http.StatusOK: large, http.StatusUnauthorized: eventBody, http.StatusBadRequest: large} {
				r := request(t, "/", large, signed(key)...)
				if code == http.StatusBadRequest { // because it is truncated
					r.ContentLength++
				}
				rec := httptest.NewRecorder()
				if in.ServeHTTP(rec, r); rec.Code != code {
					t.Fatalf("a large one: %d, want %d", rec.Code, code)
				}
			}
		}
		if got := in.Rejected(); got[Busy] != 1 || got[Cut] != 2*largeBodies || in.Rejected()[Forged] != got[Forged] {
			t.Errorf("%+v", got)
		}
	})
}

func TestAFloodOfRefusalsIsASample(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	var told []Refusal
	in := receiver(Options{Keys: oneKey, Store: new(shelf).store, Now: func() time.Time { return now },
		Refused: func(r Refusal) { told = append(told, r) }})
	flood := func(n int) {
		for range n {
			in.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader("x")))
		}
	}
	flood(100)
	if len(told) != 3 {
		t.Fatalf("told %d times", len(told))
	}
	now = now.Add(time.Minute)
	flood(1)
	if last := told[len(told)-1]; len(told) != 4 || last.Suppressed != 97 || last.Reason != Unsigned || last.At != now {
		t.Errorf("%+v", last)
	}
	if n := in.Rejected()[Unsigned]; n != 101 {
		t.Errorf("counted %d", n)
	}
}

// overPipes serves the connections that dial makes, until end is called.
func overPipes(in *Inbox) (dial func() net.Conn, end func() error) {
	l := newPipes()
	server := &http.Server{Handler: in}
	go server.Serve(l)
	return l.dial, server.Close
}

// pipes is a listener for in-memory connections, so that time can be fake.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.done) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	hookHeader  = "X-Service-Signature"
	hookURL     = "https://Office.example.com/Hooks/a1"
	hookService = "https://sign.example.com"
	hookSecret  = "6f9c2d41e8b7a05364de"
	eventBody   = `{"action":"package_executed","packageId":"7b0c1f4e-0000-4000-8000-000000000001","externalData":null,` +
		`"eventId":"e-1","eventOwnerOrganizationId":"o-1","eventOwnerMemberId":"m-1","eventTime":"2026-11-20T09:14:00.1234567Z"}`
)

// sign is this file's own interpretation of interface.md, "Webhook authentication" 3.
func sign(url, secret, body string) string {
	return base64.StdEncoding.EncodeToString(digest(url, secret, body))
}

func digest(url, secret, body string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	io.WriteString(mac, url+body)
	return mac.Sum(nil)
}

// shelf is an in-memory Store.
type shelf struct {
	mu     sync.Mutex
	kept   []Received
	seen   map[string]bool
	broken error
}

func (s *shelf) store(_ context.Context, r Received) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return false, s.broken
	}
	if s.seen[r.ID] {
		return false, nil
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[r.ID] = true
	s.kept = append(s.kept, r)
	return true, nil
}

func (s *shelf) all() []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Received(nil), s.kept...)
}

func oneKey() []Key { return []Key{{URL: hookURL, Secret: hookSecret, Service: hookService}} }

// receiver is an inbox that uses the default header.
func receiver(opt Options) *Inbox {
	if opt.Header == nil {
		opt.Header = func() string { return hookHeader }
	}
	return New(opt)
}

// serve runs an inbox on loopback and returns its address.
func serve(t testing.TB, opt Options) (*Inbox, string) {
	in := receiver(opt)
	server := httptest.NewServer(in)
	t.Cleanup(server.Close)
	return in, server.URL
}

func request(t testing.TB, address, body string, headers ...string) *http.Request {
	t.Helper()
	r := must(http.NewRequest(http.MethodPost, address, strings.NewReader(body)))
	for i := 0; i < len(headers); i += 2 {
		r.Header[http.CanonicalHeaderKey(headers[i])] = append(r.Header[http.CanonicalHeaderKey(headers[i])], headers[i+1])
	}
	return r
}

// send returns the answer with its body read.
func send(t testing.TB, r *http.Request) (*http.Response, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res := must(client.Do(r))
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res, string(b)
}

func signed(body string) []string {
	return []string{hookHeader, sign(hookURL, hookSecret, body)}
}

// bareHandler is the baseline: net/http and an HMAC, without any of the promises.
var bareHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	claimed, _ := base64.StdEncoding.DecodeString(r.Header.Get(hookHeader))
	mac := hmac.New(sha256.New, []byte(hookSecret))
	io.WriteString(mac, hookURL)
	mac.Write(body)
	if !hmac.Equal(mac.Sum(nil), claimed) {
		w.WriteHeader(http.StatusUnauthorized)
	}
})

// BenchmarkAgainstTheFloor sends the same requests over loopback to the bare handler and to an inbox.
func BenchmarkAgainstTheFloor(b *testing.B) {
	in := receiver(Options{Keys: oneKey, Store: new(shelf).store})
	good := sign(hookURL, hookSecret, eventBody)
	for _, traffic := range []struct{ name, body, signature string }{
		{"accepted", eventBody, good},
		{"unsigned", eventBody, ""},
		{"forged", eventBody, sign(hookURL, "other", eventBody)},
		{"oversized", strings.Repeat("x", 2<<20), good},
	} {
		for _, target := range []struct {
			name    string
			handler http.Handler
		}{{"floor", bareHandler}, {"inbox", in}} {
			b.Run(fmt.Sprintf("%s/%s", traffic.name, target.name), func(b *testing.B) {
				server := httptest.NewServer(target.handler)
				defer server.Close()
				client := server.Client()
				b.ReportAllocs()
				for b.Loop() {
					r := request(b, server.URL, traffic.body)
					if traffic.signature != "" {
						r.Header.Set(hookHeader, traffic.signature)
					}
					res, err := client.Do(r)
					if err != nil {
						continue // refused unread, and reset while it was being sent
					}
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			})
		}
	}
}
