//go:build linux

package e2e

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

func TestTheJobThroughNgrok(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	n := harness.StartNgrok(t)
	s := harness.StartService(t, desk.Env(), harness.ServiceOptions{
		Redirects: []string{"https://" + harness.Domain + "/oauth/callback"},
		Flags:     []string{"--trust", n.CA.File, "--connect", harness.Domain + ":443=" + n.PublicAddr()},
	})
	o := harness.NewOffice(t, desk, s, nil)
	ngrokFlags := []string{"--tunnel", "ngrok", "--ngrok-domain", harness.Domain, "--ngrok-connect-url", n.ConnectAddr(), "--ngrok-ca", n.CA.File}
	setup := func(token string) {
		secrets := o.Secrets
		o.Secrets = append(slices.Clip(secrets), "NGROK_AUTHTOKEN="+token)
		o.Setup(ngrokFlags...)
		o.Secrets = secrets
	}
	setup("not-the-authtoken")
	o.Serve()
	st := o.Until("the wrong token is told", func(s harness.Status) bool { return s.Issue("tunnel") != "" })
	if text := st.Issue("tunnel"); !strings.Contains(text, "authtoken") || strings.Contains(text, "ERR_") || strings.Contains(text, "not-the-authtoken") {
		t.Errorf("a wrong token is told as %q", text)
	}
	setup(harness.Authtoken) // beside the running program
	o.Until("the tunnel is up", func(s harness.Status) bool { return s.Tunnel.State == "up" && s.Issue("tunnel") == "" })

	// The sign-in returns through the tunnel.
	p := o.Begin("login", "--no-browser")
	page, end, err := n.Visitor().SignIn(t.Context(), "http"+p.Line("http"), harness.Olivia, true)
	harness.Must(t, err)
	if code := p.Wait(); code != 0 || end.Host != harness.Domain || end.Path != "/oauth/callback" || !strings.Contains(page, "You are signed in") {
		t.Fatalf("login ended with %d at %s: %s", code, end, p.Stderr)
	}
	st = o.Registered()
	if u, err := url.Parse(st.Endpoint.URL); err != nil || "https://"+u.Host != st.Tunnel.URL || u.Host != harness.Domain {
		t.Errorf("the endpoint is %s, the tunnel %s", st.Endpoint.URL, st.Tunnel.URL)
	}
	if urls := s.Endpoints(); len(urls) != 1 || urls[0] != st.Endpoint.URL {
		t.Errorf("the service reports to %s, the program says %s", urls, st.Endpoint.URL)
	}
	lease := sendLease(o)
	s.SignAll(lease.ID)
	o.Until("the first package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	if st := o.Status(); st.Events.Rejected != 0 || st.Events.Received == 0 {
		t.Errorf("events: %+v", st.Events)
	}

	// The session is cut and cannot come back at once.
	registered := len(s.Requests("/events/endpoints/set"))
	harness.Must(t, n.Refuse())
	n.KillSessions()
	o.Until("the cut is noticed", func(s harness.Status) bool { return s.Tunnel.State != "up" })
	offer := sendOffer(o)
	s.SignAll(offer.ID)
	harness.Must(t, n.Return())
	o.Until("the tunnel is back", func(s harness.Status) bool {
		return s.Tunnel.State == "up" && s.Tunnel.URL == "https://"+harness.Domain
	})
	o.Until("the second package is saved", func(s harness.Status) bool { return s.Packages.Saved == 2 })
	harness.Eventually(t, "the events that waited are delivered", s.AllDelivered)
	if again := len(s.Requests("/events/endpoints/set")); again != registered {
		t.Errorf("the endpoint was set %d times more, though nothing had changed", again-registered)
	}
	toldOnce(o, false, lease, offer)
	savedAsServed(o, lease, offer)
	for _, r := range n.Requests() {
		if r.Host != harness.Domain || (r.Path != "/webhook" && r.Path != "/oauth/callback") {
			t.Errorf("through the tunnel came %+v", r)
		}
	}
	o.Must("logout")
	o.Stop()
	keepsSecrets(o)
}
