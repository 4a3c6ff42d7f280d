package signin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

func TestMain(m *testing.M) { screentest.Main(m) }

type bench struct {
	*screentest.Bench
	ended bool
	err   error
}

// begin signs in until the browser has the page, or is known to be missing.
func begin(t *testing.T, o *officetest.Office, browser error) *bench {
	t.Helper()
	b := &bench{Bench: screentest.New(t, o)}
	b.Show(widgets.NewButton("beside", nil), screentest.Big)
	b.System.NoBrowser = browser
	async.Try(b.Env.Work, func(ctx context.Context) error { return Do(ctx, b.Env, b.Office, "") }, func(err error) { b.ended, b.err = true, err })
	b.Until(func() bool {
		return len(b.System.SoFar()) > 0 || browser != nil && strings.Contains(b.says(), "No browser")
	})
	return b
}

func (b *bench) says() string {
	if top := screentest.Top(b.Window); top != nil {
		return screentest.Text(top)
	}
	return ""
}

func (b *bench) paste(text string) {
	entry := screentest.All[*widgets.Entry](screentest.Top(b.Window))[0]
	entry.SetText(text)
	entry.OnSubmitted(text)
}

func TestTheBrowsersAddressCanBePasted(t *testing.T) {
	o := officetest.Empty()
	o.Kept.Redirect = office.RedirectPaste
	b := begin(t, o, nil)
	b.paste("nonsense")
	b.Until(func() bool { return strings.Contains(b.says(), message.WrongAddress().String()) })
	b.paste("https://localhost/oauth/callback?code=1")
	b.Until(func() bool { return b.ended })
	if b.err != nil || screentest.Top(b.Window) != nil || !officetest.Must(b.Office.Status()).SignedIn {
		t.Errorf("err %v; the window says %q", b.err, b.says())
	}
}

func TestWithoutABrowserTheAddressCanBeCopied(t *testing.T) {
	b := begin(t, officetest.Empty(), message.Error(message.NoBrowser(), nil))
	screentest.Button(screentest.Top(b.Window), "Copy sign-in link").OnTapped()
	if len(b.Copied) != 1 || !strings.HasPrefix(b.Copied[0], "https://sign.example.com/") {
		t.Errorf("copied %v", b.Copied)
	}
	b.Window.Canvas().Overlays().Top().(*widgets.PopUp).Leave() // Escape
	b.Until(func() bool { return b.ended })
	if !errors.Is(b.err, context.Canceled) {
		t.Errorf("err %v after the dialog was left", b.err)
	}
}

// Where the way back is an address to paste, the field for it is in sight.
func TestWhereAnAddressMustBePastedItsFieldIsOpen(t *testing.T) {
	for redirect, open := range map[office.RedirectKind]bool{office.RedirectPaste: true, office.RedirectLoopback: false} {
		o := officetest.Empty()
		o.Kept.Redirect = redirect
		b := screentest.New(t, o)
		w := &waiting{env: b.Env, office: o}
		w.show(func() {})
		if !w.help.Object.Visible() {
			t.Error("the help has no room before the link is there")
		}
		w.browse("https://sign.example.com/connect/authorize")
		screentest.Equal(t, string(redirect)+": the field is in sight", w.help.IsOpen(), open)
		screentest.Equal(t, string(redirect)+": what the browser will show is said", strings.Contains(screentest.Text(screentest.Top(b.Window)), "After you sign in"), open)
		w.pop.Close()
		b.Settle()
	}
}
