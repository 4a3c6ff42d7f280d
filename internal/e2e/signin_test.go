//go:build linux

package e2e

import (
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"countersign/internal/e2e/harness"
	"countersign/internal/proxy/proxytest"
)

// press clicks the button with this value.
func press(value string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.CSS(`button[value="`+value+`"]`), chromedp.NodeVisible)
}

func TestSignInAndSignaturesInARealBrowser(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	o := harness.UsualOffice(t, desk)
	s, f := o.Service, o.Front
	o.Setup()
	o.Serve()
	c := harness.StartChromium(t, desk, f)

	// Declining ends with one clear sentence, in the browser and on the command line.
	login := o.Begin("login", "--no-browser")
	c.Do("decline", chromedp.Navigate("http"+login.Line("http")), press("deny"))
	c.Shows("Sign-in failed")
	code := login.Wait()
	sentence := strings.TrimPrefix(strings.TrimSpace(login.Stderr.String()), "countersign: ")
	if code != 1 || sentence == "" || strings.Contains(sentence, "\n") {
		t.Errorf("declined, login ended with %d: %q", code, login.Stderr)
	}
	c.Shows(sentence)

	login = o.Begin("login", "--no-browser", "--prompt", "login")
	c.Do("allow", chromedp.Navigate("http"+login.Line("http")), press(harness.Olivia))
	c.Shows("You are signed in")
	c.Shows(harness.Olivia)
	// The browser ends on the office's own address, without the code.
	if at, err := chromedp.Run(c.Ctx, chromedp.Location()); err != nil || at != f.URL+"/oauth/callback" {
		t.Errorf("the sign-in ended on %s, %v", at, err)
	}
	if code := login.Wait(); code != 0 {
		t.Errorf("login ended with %d: %s", code, login.Stderr)
	}
	o.Registered()

	lease := sendLease(o)
	signTyped(c, lease.Signers[0].Page)
	signDrawn(c, s.Named("Lease").Signers[1].Page)
	o.Until("the package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	savedAsServed(o, lease)
	toldOnce(o, false, lease)
}

// signTyped signs with the name that the page suggests.
func signTyped(c *harness.Chromium, page string) {
	c.T.Helper()
	c.Do("sign", chromedp.Navigate(page), press("sign"))
	c.Shows("you signed")
	c.Shows("You have signed.")
}

// signDrawn signs with the mouse.
func signDrawn(c *harness.Chromium, page string) {
	c.T.Helper()
	c.Do("find the drawing area", chromedp.Navigate(page), chromedp.ScrollIntoView(chromedp.CSS("#pad")))
	pad, err := chromedp.Run(c.Ctx, chromedp.Evaluate[struct{ X, Y, W, H float64 }](
		`(r => ({X: r.x, Y: r.y, W: r.width, H: r.height}))(document.querySelector("#pad").getBoundingClientRect())`))
	if err != nil || pad.W < 50 || pad.H < 20 {
		c.T.Fatalf("the drawing area is %+v, %v", pad, err)
	}
	x := func(part float64) float64 { return pad.X + part*pad.W }
	y := func(part float64) float64 { return pad.Y + part*pad.H }
	c.Do("draw",
		chromedp.MouseEvent(chromedp.MousePressed, x(.2), y(.8), chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseMoved, x(.4), y(.2), chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseMoved, x(.6), y(.8), chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, x(.8), y(.2), chromedp.ButtonLeft))
	drawn, err := chromedp.Run(c.Ctx, chromedp.Evaluate[string](`document.querySelector("#drawn").value`))
	if err != nil || !strings.HasPrefix(drawn, "data:image/png;base64,") {
		c.T.Errorf("what was drawn is %.40q, %v", drawn, err)
	}
	c.Do("sign", press("sign"))
	c.Shows("Everyone has signed.")
}

func TestAPastedAddressSignsIn(t *testing.T) {
	t.Parallel()
	const nobody = "https://office.example.com/signed-in"
	desk := harness.NewDesktop(t)
	s := harness.StartService(t, desk.Env(), harness.ServiceOptions{Redirects: []string{nobody}})
	o := harness.NewOffice(t, desk, s, nil)
	o.Setup("--tunnel", "none", "--redirect", "paste", "--redirect-uri", nobody)
	for _, beside := range []bool{false, true} {
		if beside {
			o.Serve()
		}
		p := o.Begin("login", "--no-browser")
		_, end, err := harness.NewVisitor(nil, nobody).SignIn(t.Context(), "http"+p.Line("http"), harness.Olivia, true)
		harness.Must(t, err)
		// A wrong address is reported, and the command continues to wait.
		wrong := strings.Replace(end.String(), "state=", "state=x", 1)
		for _, line := range []string{"what is this", wrong, end.String()} {
			if _, err := io.WriteString(p.In, line+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		if code := p.Wait(); code != 0 || strings.Count(p.Stderr.String(), "countersign: ") != 2 {
			t.Errorf("login ended with %d: %s", code, p.Stderr)
		}
		if s := o.Status(); !s.SignedIn || s.Account.Email != harness.Olivia {
			t.Errorf("after pasting: %+v", s)
		}
		o.Must("logout")
	}
}

// The office's network only allows connections through its proxy, which demands a password and alone can resolve ngrok's
// name.
func TestTheJobThroughTheProxyOfTheOffice(t *testing.T) {
	t.Parallel()
	const connect, password = "connect.ngrok.test:443", "proxy-password-0815"
	desk := harness.NewDesktop(t)
	n := harness.StartNgrok(t)
	proxy, err := proxytest.Start(proxytest.Options{User: "office", Password: password, Hosts: map[string]string{connect: n.ConnectAddr()}})
	harness.Must(t, err)
	t.Cleanup(proxy.Close)
	s := harness.StartService(t, desk.Env(), harness.ServiceOptions{
		Redirects: []string{"https://" + harness.Domain + "/oauth/callback"},
		Flags:     []string{"--trust", n.CA.File, "--connect", harness.Domain + ":443=" + n.PublicAddr()},
	})
	o := harness.NewOffice(t, desk, s, nil)
	o.Secrets = append(slices.Clip(o.Secrets), "NGROK_AUTHTOKEN="+harness.Authtoken)
	o.More = []string{"HTTPS_PROXY=" + proxy.URL().String(), "NO_PROXY=", "no_proxy=", "https_proxy="}
	o.Setup("--tunnel", "ngrok", "--ngrok-domain", harness.Domain, "--ngrok-connect-url", connect, "--ngrok-ca", n.CA.File)
	o.Serve()
	o.Until("the tunnel is up", func(s harness.Status) bool { return s.Tunnel.State == "up" })
	p := o.Begin("login", "--no-browser")
	_, _, err = n.Visitor().SignIn(t.Context(), "http"+p.Line("http"), harness.Olivia, true)
	harness.Must(t, err)
	if code := p.Wait(); code != 0 {
		t.Fatalf("login ended with %d: %s", code, p.Stderr)
	}
	o.Registered()
	lease := sendLease(o)
	s.SignAll(lease.ID)
	o.Until("the package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	savedAsServed(o, lease)
	for _, to := range proxy.Connected() {
		if to != connect {
			t.Errorf("%s was reached through the proxy", to)
		}
	}
	if len(proxy.Connected()) == 0 {
		t.Error("nothing was reached through the proxy")
	}
	log, err := os.ReadFile(filepath.Join(o.Data, "logs", "countersign.log"))
	harness.Must(t, err)
	if text := string(log) + o.Must("status", "--json"); strings.Contains(text, password) {
		t.Error("the proxy's password is in the log or in the status")
	}
}

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
