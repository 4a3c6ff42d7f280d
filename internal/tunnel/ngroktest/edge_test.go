package ngroktest_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.ngrok.com/ngrok/v2"

	"countersign/internal/tunnel/ngroktest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The SDK's heartbeats look at their session only when the next beat is due or overdue.
		goleak.IgnoreAnyFunction("golang.ngrok.com/muxado/v2.(*Heartbeat).requester"),
		goleak.IgnoreAnyFunction("golang.ngrok.com/muxado/v2.(*Heartbeat).check"),
		// The SDK sleeps between two tries when its edge goes away first.
		goleak.IgnoreAnyFunction("golang.ngrok.com/ngrok/v2/internal/tunnel/client.(*reconnectingSession).connect"),
	)
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, opts ngroktest.Options) *ngroktest.Edge {
	t.Helper()
	e, err := ngroktest.Start(opts)
	must(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

// agent is the real SDK, connected to address.
func agent(t *testing.T, address string, cas *x509.CertPool, token string) (ngrok.Agent, context.Context) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a, err := ngrok.NewAgent(
		ngrok.WithAuthtoken(token), ngrok.WithAgentConnectURL(address), ngrok.WithAgentConnectCAs(cas),
		ngrok.WithLogger(slog.New(slog.DiscardHandler)),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = a.Disconnect()
	})
	return a, ctx
}

// serve binds url and answers every request with name.
func serve(t *testing.T, e *ngroktest.Edge, url, name string) ngrok.EndpointListener {
	t.Helper()
	a, ctx := agent(t, e.ConnectAddr(), e.Authority().Pool(), "token")
	var options []ngrok.EndpointOption
	if url != "" {
		options = append(options, ngrok.WithURL(url))
	}
	listener, err := a.Listen(ctx, options...)
	must(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, name)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	return listener
}

func get(t *testing.T, client *http.Client, url string) (status int, body string) {
	t.Helper()
	response, err := client.Get(url)
	must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, string(text)
}

func TestRequestsGoToWhoeverHasTheHost(t *testing.T) {
	e := start(t, ngroktest.Options{Hosts: []string{"nobody.ngrok.test"}})
	serve(t, e, "https://one.ngrok.test", "one")
	serve(t, e, "https://"+e.PublicAddr(), "address")
	if url := serve(t, e, "", "assigned").URL().String(); url != "https://assigned.ngrok.test" {
		t.Errorf("assigned %q", url)
	}
	for host, want := range map[string]string{
		"one.ngrok.test": "one", "ONE.ngrok.test:443": "one", e.PublicAddr(): "address", "assigned.ngrok.test": "assigned",
	} {
		if _, body := get(t, e.Client(), "https://"+host+"/"); body != want {
			t.Errorf("%s answered %q, want %q", host, body, want)
		}
	}
	status, body := get(t, e.Client(), "https://nobody.ngrok.test/x")
	if status != http.StatusNotFound || !strings.Contains(body, "ERR_NGROK_3200") {
		t.Errorf("a host nobody has: %d %q", status, body)
	}
	all := e.Requests()
	last := all[len(all)-1]
	if len(all) != 5 || last.Host != "nobody.ngrok.test" || last.Path != "/x" || last.Status != http.StatusNotFound {
		t.Errorf("the log says %+v", all)
	}
}

func TestAHostBelongsToOneAgent(t *testing.T) {
	e := start(t, ngroktest.Options{})
	first := serve(t, e, "https://one.ngrok.test", "first")
	a, ctx := agent(t, e.ConnectAddr(), e.Authority().Pool(), "token")
	_, err := a.Listen(ctx, ngrok.WithURL("https://one.ngrok.test"))
	var refused ngrok.Error
	if !errors.As(err, &refused) || refused.Code() != "ERR_NGROK_334" {
		t.Fatalf("the second agent got %v", err)
	}
	must(t, first.Close())
	if _, err := a.Listen(ctx, ngrok.WithURL("https://one.ngrok.test")); err != nil {
		t.Fatalf("after the first agent let go: %v", err)
	}
}

func TestAnotherCertificateIsNotTrusted(t *testing.T) {
	e := start(t, ngroktest.Options{})
	for wrong, fails := range map[bool]bool{true: true, false: false} {
		e.ShowWrongCertificate(wrong)
		conn, err := tls.Dial("tcp", e.ConnectAddr(), &tls.Config{RootCAs: e.Authority().Pool()})
		if (err != nil) != fails {
			t.Errorf("wrong certificate %v: %v", wrong, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}

func TestSilenceIsNeitherDataNorAnEnd(t *testing.T) {
	e := start(t, ngroktest.Options{})
	serve(t, e, "https://one.ngrok.test", "one")
	e.Silence()
	answer := make(chan string, 1)
	go func() {
		response, err := e.Client().Get("https://one.ngrok.test/")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		answer <- string(body)
	}()
	must(t, e.Wait(within(t), func(c ngroktest.Counts) bool { return c.Requests == 1 }))
	select {
	case got := <-answer:
		t.Fatalf("an answer in the silence: %q", got)
	default:
	}
	if c := e.Counts(); c.Sessions != 1 {
		t.Errorf("%+v", c)
	}
	e.Speak()
	if got := <-answer; got != "one" {
		t.Errorf("after the silence: %q", got)
	}
}

func TestRefuseAndReturn(t *testing.T) {
	e := start(t, ngroktest.Options{})
	must(t, e.Refuse())
	if conn, err := net.Dial("tcp", e.ConnectAddr()); err == nil {
		conn.Close()
		t.Fatal("a connection was accepted")
	}
	must(t, e.Return())
	conn, err := net.Dial("tcp", e.ConnectAddr())
	must(t, err)
	conn.Close()
}

// must ends the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
