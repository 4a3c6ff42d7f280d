//go:build linux

package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// chromium is a real browser without a window.
type chromium struct {
	t   testing.TB
	ctx context.Context
}

// startChromium starts a browser that trusts the front's certificate, and nothing else it would not trust anyway.
func startChromium(t testing.TB, d *desktop, f *front) *chromium {
	t.Helper()
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath("chromium"), chromedp.UserDataDir(filepath.Join(d.home, "chromium")),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-extensions", true), chromedp.Flag("password-store", "basic"),
		chromedp.Flag("ignore-certificate-errors-spki-list", f.pin), chromedp.WindowSize(1000, 1400),
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) { cmd.SysProcAttr = diesWithUs() }),
		chromedp.NoInheritEnv, chromedp.Env(d.env()...),
	)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("end chromium: %v", err)
		}
		end()
		stop() // waits for the process
	})
	c := &chromium{t, ctx}
	if err := chromedp.Do(ctx); err != nil { // starts it; a limit would be the browser's own
		t.Fatalf("start chromium: %v", err)
	}
	return c
}

// do carries out actions one after the other.
func (c *chromium) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	limited, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	if err := chromedp.Do(limited, actions...); err != nil {
		c.t.Fatalf("in the browser, %s: %v; the page shows\n%s", what, err, c.text())
	}
}

// text is what the page shows, as far as it has one: between two pages there is none to read.
func (c *chromium) text() string {
	limited, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(limited, chromedp.Evaluate[string](`document.body.innerText`))
	if err != nil {
		return ""
	}
	return text
}

// press clicks the button that has this value.
func press(value string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.CSS(`button[value="`+value+`"]`), chromedp.NodeVisible)
}

// shows waits for a text anywhere on the page.
func (c *chromium) shows(text string) {
	c.t.Helper()
	eventually(c.t, "the browser shows "+text, func() bool { return strings.Contains(c.text(), text) })
}

func TestSignInAndSignaturesInARealBrowser(t *testing.T) {
	t.Parallel()
	desk := newDesktop(t)
	o := usualOffice(t, desk)
	s, f := o.service, o.front
	o.setup()
	o.serve()
	c := startChromium(t, desk, f)

	// Declining ends with one clear sentence, in the browser and on the command line.
	login := o.begin("login", "--no-browser")
	c.do("choose a user", chromedp.Navigate("http"+login.line("http")), press(olivia))
	c.do("decline", press("deny"))
	c.shows("The sign-in did not work")
	code := login.wait()
	sentence := strings.TrimPrefix(strings.TrimSpace(login.stderr.String()), "countersign: ")
	if code != 1 || sentence == "" || strings.Contains(sentence, "\n") {
		t.Errorf("declined, login ended with %d: %q", code, login.stderr)
	}
	c.shows(sentence)

	// The browser still knows who is there, so only the consent is asked for.
	login = o.begin("login", "--no-browser")
	c.do("allow", chromedp.Navigate("http"+login.line("http")), press("allow"))
	c.shows("You are signed in")
	c.shows(olivia)
	if at, err := chromedp.Run(c.ctx, chromedp.Location()); err != nil || !strings.HasPrefix(at, f.url+"/oauth/callback?") {
		t.Errorf("the sign-in ended on %s, %v", at, err)
	}
	if code := login.wait(); code != 0 {
		t.Errorf("login ended with %d: %s", code, login.stderr)
	}
	o.registered()

	// Asked to, the service lets someone else in.
	login = o.begin("login", "--no-browser", "--prompt", "login")
	c.do("choose again", chromedp.Navigate("http"+login.line("http")), press(olivia))
	c.shows("You are signed in")
	if code := login.wait(); code != 0 {
		t.Errorf("login ended with %d: %s", code, login.stderr)
	}

	lease := o.sendLease()
	c.signTyped(lease.Signers[0].Page)
	c.signDrawn(s.named("Lease").Signers[1].Page)
	o.until("the package is saved", func(s status) bool { return s.Packages.Saved == 1 })
	o.savedAsServed(lease)
	o.toldOnce(false, lease)
}

// signTyped signs with the name that the page proposes.
func (c *chromium) signTyped(page string) {
	c.t.Helper()
	c.do("sign", chromedp.Navigate(page), press("sign"))
	c.shows("you signed")
	c.shows("You have signed.")
}

// signDrawn signs with the mouse.
func (c *chromium) signDrawn(page string) {
	c.t.Helper()
	c.do("find the drawing area", chromedp.Navigate(page), chromedp.ScrollIntoView(chromedp.CSS("#pad")))
	pad, err := chromedp.Run(c.ctx, chromedp.Evaluate[struct{ X, Y, W, H float64 }](
		`(r => ({X: r.x, Y: r.y, W: r.width, H: r.height}))(document.querySelector("#pad").getBoundingClientRect())`))
	if err != nil || pad.W < 50 || pad.H < 20 {
		c.t.Fatalf("the drawing area is %+v, %v", pad, err)
	}
	x := func(part float64) float64 { return pad.X + part*pad.W }
	y := func(part float64) float64 { return pad.Y + part*pad.H }
	c.do("draw",
		chromedp.MouseEvent(chromedp.MousePressed, x(.2), y(.8), chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseMoved, x(.4), y(.2), chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseMoved, x(.6), y(.8), chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, x(.8), y(.2), chromedp.ButtonLeft))
	drawn, err := chromedp.Run(c.ctx, chromedp.Evaluate[string](`document.querySelector("#drawn").value`))
	if err != nil || !strings.HasPrefix(drawn, "data:image/png;base64,") {
		c.t.Errorf("what was drawn is %.40q, %v", drawn, err)
	}
	c.do("sign", press("sign"))
	c.shows("Everyone has signed.")
}
