//go:build linux

package e2e

import (
	"strings"
	"testing"

	"countersign/internal/e2e/harness"

	"github.com/chromedp/chromedp"
)

// press clicks the button that has this value.
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
	c.Do("choose a user", chromedp.Navigate("http"+login.Line("http")), press(harness.Olivia))
	c.Do("decline", press("deny"))
	c.Shows("The sign-in did not work")
	code := login.Wait()
	sentence := strings.TrimPrefix(strings.TrimSpace(login.Stderr.String()), "countersign: ")
	if code != 1 || sentence == "" || strings.Contains(sentence, "\n") {
		t.Errorf("declined, login ended with %d: %q", code, login.Stderr)
	}
	c.Shows(sentence)

	// The browser still knows who is there, so only the consent is asked for.
	login = o.Begin("login", "--no-browser")
	c.Do("allow", chromedp.Navigate("http"+login.Line("http")), press("allow"))
	c.Shows("You are signed in")
	c.Shows(harness.Olivia)
	// On the office's own address, whose bar no longer shows the code.
	if at, err := chromedp.Run(c.Ctx, chromedp.Location()); err != nil || at != f.URL+"/oauth/callback" {
		t.Errorf("the sign-in ended on %s, %v", at, err)
	}
	if code := login.Wait(); code != 0 {
		t.Errorf("login ended with %d: %s", code, login.Stderr)
	}
	o.Registered()

	// Asked to, the service lets someone else in.
	login = o.Begin("login", "--no-browser", "--prompt", "login")
	c.Do("choose again", chromedp.Navigate("http"+login.Line("http")), press(harness.Olivia))
	c.Shows("You are signed in")
	if code := login.Wait(); code != 0 {
		t.Errorf("login ended with %d: %s", code, login.Stderr)
	}

	lease := sendLease(o)
	signTyped(c, lease.Signers[0].Page)
	signDrawn(c, s.Named("Lease").Signers[1].Page)
	o.Until("the package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	savedAsServed(o, lease)
	toldOnce(o, false, lease)
}

// signTyped signs with the name that the page proposes.
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
