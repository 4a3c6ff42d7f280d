//go:build linux

package harness

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Chromium is a real browser without a window.
type Chromium struct {
	T   testing.TB
	Ctx context.Context
}

// StartChromium starts a browser that trusts the front's certificate, and nothing else it would not trust anyway.
func StartChromium(t testing.TB, d *Desktop, f *Front) *Chromium {
	t.Helper()
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath("chromium"), chromedp.UserDataDir(filepath.Join(d.Home, "chromium")),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-extensions", true), chromedp.Flag("password-store", "basic"),
		chromedp.Flag("ignore-certificate-errors-spki-list", f.pin), chromedp.WindowSize(1000, 1400),
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) { cmd.SysProcAttr = diesWithUs() }),
		chromedp.NoInheritEnv, chromedp.Env(d.Env()...),
	)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("end chromium: %v", err)
		}
		end()
		stop() // waits for the process
	})
	c := &Chromium{t, ctx}
	if err := chromedp.Do(ctx); err != nil { // starts it; a limit would be the browser's own
		t.Fatalf("start chromium: %v", err)
	}
	return c
}

// Do carries out actions one after the other.
func (c *Chromium) Do(what string, actions ...chromedp.Action[chromedp.Void]) {
	c.T.Helper()
	limited, cancel := context.WithTimeout(c.Ctx, Patience)
	defer cancel()
	if err := chromedp.Do(limited, actions...); err != nil {
		c.T.Fatalf("in the browser, %s: %v; the page shows\n%s", what, err, c.text())
	}
}

// text is what the page shows, as far as it has one: between two pages there is none to read.
func (c *Chromium) text() string {
	limited, cancel := context.WithTimeout(c.Ctx, Patience)
	defer cancel()
	text, err := chromedp.Run(limited, chromedp.Evaluate[string](`document.body.innerText`))
	if err != nil {
		return ""
	}
	return text
}

// Shows waits for a text anywhere on the page.
func (c *Chromium) Shows(text string) {
	c.T.Helper()
	Eventually(c.T, "the browser shows "+text, func() bool { return strings.Contains(c.text(), text) })
}
