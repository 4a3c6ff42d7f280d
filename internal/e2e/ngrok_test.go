//go:build linux

package e2e

import (
	"crypto/x509"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"strings"
	"testing"

	"countersign/internal/tunnel/ngroktest"
)

const (
	domain    = "office.ngrok.test"
	authtoken = "the-authtoken-0815"
)

// ngrok is the stand-in for ngrok's servers, as a process of its own.
type ngrok struct {
	*process
	ngroktest.Addresses
	answers int // lines read so far
}

func startNgrok(t testing.TB, env []string) *ngrok {
	t.Helper()
	n := &ngrok{process: start(t, append(env, helperEnv+"=edge"), os.Args[0], "-host", domain, "-authtoken", authtoken)}
	n.read(&n.Addresses)
	return n
}

// read takes the next line the edge prints.
func (n *ngrok) read(v any) {
	n.t.Helper()
	var lines []string
	eventually(n.t, "the edge answers", func() bool {
		lines, _ = n.stdout.snapshot()
		return len(lines) > n.answers
	})
	if err := json.Unmarshal([]byte(lines[n.answers]), v); err != nil {
		n.t.Fatal(err)
	}
	n.answers++
}

// do has the edge obey one command.
func (n *ngrok) do(command string) (report ngroktest.Report) {
	n.t.Helper()
	if _, err := io.WriteString(n.in, command+"\n"); err != nil {
		n.t.Fatal(err)
	}
	var answer struct {
		ngroktest.Report
		Error string
	}
	n.read(&answer)
	if answer.Error != "" {
		n.t.Fatalf("the edge refuses %q: %s", command, answer.Error)
	}
	return answer.Report
}

// visitor is a visitor who reaches the domain through the edge.
func (n *ngrok) visitor() *visitor {
	n.t.Helper()
	pem, err := os.ReadFile(n.CA)
	if err != nil {
		n.t.Fatal(err)
	}
	a := &authority{pool: x509.NewCertPool()}
	a.pool.AppendCertsFromPEM(pem)
	v := newVisitor(a)
	v.reach(domain+":443", n.Public)
	return v
}

func TestTheJobThroughNgrok(t *testing.T) {
	t.Parallel()
	desk := newDesktop(t)
	n := startNgrok(t, desk.env())
	s := startService(t, desk.env(), serviceOptions{
		redirects: []string{"https://" + domain + "/oauth/callback"},
		flags:     []string{"--trust", n.CA, "--connect", domain + ":443=" + n.Public},
	})
	o := newOffice(t, desk, s, nil)
	ngrokFlags := []string{"--tunnel", "ngrok", "--ngrok-domain", domain, "--ngrok-connect-url", n.Connect, "--ngrok-ca", n.CA}
	setup := func(token string) {
		secrets := o.secrets
		o.secrets = append(secrets[:len(secrets):len(secrets)], "NGROK_AUTHTOKEN="+token)
		o.setup(ngrokFlags...)
		o.secrets = secrets
	}
	setup("not-the-authtoken")
	o.serve()
	st := o.until("the wrong token is told", func(s status) bool { return s.issue("tunnel") != "" })
	if text := st.issue("tunnel"); !strings.Contains(text, "authtoken") || strings.Contains(text, "ERR_") || strings.Contains(text, "not-the-authtoken") {
		t.Errorf("a wrong token is told as %q", text)
	}
	setup(authtoken) // beside the running program
	o.until("the tunnel is up", func(s status) bool { return s.Tunnel.State == "up" && s.issue("tunnel") == "" })

	// The sign-in returns through the tunnel.
	p := o.begin("login", "--no-browser")
	page, end, err := n.visitor().signIn(t.Context(), "http"+p.line("http"), olivia, true)
	if err != nil {
		t.Fatal(err)
	}
	if code := p.wait(); code != 0 || end.Host != domain || end.Path != "/oauth/callback" || !strings.Contains(page, "You are signed in") {
		t.Fatalf("login ended with %d at %s: %s", code, end, p.stderr)
	}
	st = o.registered()
	if u, err := url.Parse(st.Endpoint.URL); err != nil || "https://"+u.Host != st.Tunnel.URL || u.Host != domain {
		t.Errorf("the endpoint is %s, the tunnel %s", st.Endpoint.URL, st.Tunnel.URL)
	}
	if urls := s.endpoints(); len(urls) != 1 || urls[0] != st.Endpoint.URL {
		t.Errorf("the service reports to %s, the program says %s", urls, st.Endpoint.URL)
	}
	lease := o.sendLease()
	s.signAll(lease.ID)
	o.until("the first package is saved", func(s status) bool { return s.Packages.Saved == 1 })
	if st := o.status(); st.Events.Rejected != 0 || st.Events.Received == 0 {
		t.Errorf("events: %+v", st.Events)
	}

	// The session is cut and cannot come back at once.
	registered := len(s.requests("/events/endpoints/set"))
	n.do("refuse")
	n.do("kill")
	o.until("the cut is noticed", func(s status) bool { return s.Tunnel.State != "up" })
	offer := o.sendOffer()
	s.signAll(offer.ID)
	n.do("return")
	o.until("the tunnel is back", func(s status) bool { return s.Tunnel.State == "up" && s.Tunnel.URL == "https://"+domain })
	o.until("the second package is saved", func(s status) bool { return s.Packages.Saved == 2 })
	eventually(t, "the events that waited are delivered", s.allDelivered)
	if again := len(s.requests("/events/endpoints/set")); again != registered {
		t.Errorf("the endpoint was set %d times more, though nothing had changed", again-registered)
	}
	o.toldOnce(false, lease, offer)
	o.savedAsServed(lease, offer)
	for _, r := range n.do("log").Requests {
		if r.Host != domain || (r.Path != "/webhook" && r.Path != "/oauth/callback") {
			t.Errorf("through the tunnel came %+v", r)
		}
	}
	o.must("logout")
	o.stop()
	o.keepsSecrets()
}
