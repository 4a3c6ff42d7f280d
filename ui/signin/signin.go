// Package signin signs in with the browser: a dialog says so until the browser is back, and helps where it does not come back.
package signin

import (
	"context"
	"errors"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// Office is what a sign-in needs of the office.
type Office interface {
	Settings() office.Settings
	SignIn(ctx context.Context, options agent.SignInOptions, open func(address string) error) error
	Paste(address string) error
}

// Do signs in, off the UI goroutine; prompt is as in agent.SignInOptions. Leaving the dialog stops it, and the error is then
// context.Canceled.
func Do(ctx context.Context, d *env.Env, o Office, prompt string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := &waiting{env: d, office: o}
	d.Work.Do(func() { w.show(stop) })
	err := o.SignIn(ctx, agent.SignInOptions{Prompt: prompt}, func(address string) error {
		d.Work.Do(func() { w.browse(address) })
		return nil // without a browser the link can still be copied
	})
	if err != nil && ctx.Err() != nil {
		err = errors.Join(context.Canceled, err)
	}
	d.Work.Do(func() { w.pop.Close() })
	return err
}

// Warning says which unexpected page the browser will show, and what to press there; empty for none.
func Warning(s office.Settings) string {
	switch {
	case s.Redirect == office.RedirectLocalhost:
		return lang.L("After you sign in, the browser warns once that the connection is not private, because this computer made the security certificate itself. In Chrome, press “Advanced” and then “Proceed to localhost”. In Edge, press “Advanced” and then “Continue to localhost”. In Firefox, press “Advanced” and then “Accept the Risk and Continue”.")
	case s.Redirect == office.RedirectTunnel && s.Tunnel == office.TunnelNgrok:
		return lang.L("With a free ngrok plan, the browser shows a page from ngrok after you sign in. Press “Visit Site” there.")
	case s.Redirect == office.RedirectPaste:
		return lang.L("After you sign in, the browser might show a page that cannot be opened. Copy the address of that page and paste it here.")
	}
	return ""
}

// waiting is the dialog.
type waiting struct {
	env    *env.Env
	office Office
	pop    *widgets.PopUp
	left   bool
	text   *widgets.Prose
	help   *widgets.Fold
	page   *widgets.Prose // the address for the browser
	pasted *widgets.Entry
	field  *widgets.Field
}

func (w *waiting) show(stop func()) {
	w.text, w.page, w.pasted = widgets.NewParagraph(lang.L("Finish the sign-in in your browser.")), widgets.NewFullName(""), widgets.NewEntry("https://")
	w.pasted.OnSubmitted = func(string) { w.paste() }
	w.pasted.OnEscape = func() { w.pop.Close() }
	s := w.office.Settings()
	w.field = widgets.NewField(lang.L("Address from the browser"), widgets.Across(nil, w.pasted, widgets.NewButton(lang.L("Continue"), w.paste)),
		lang.L("After you have signed in, copy the address from the browser and paste it here."))
	copies := func(what string, text func() string) fyne.CanvasObject {
		return widgets.NewCopyButton(what, w.env.Later, w.env.Copy, text)
	}
	link := copies(lang.L("Copy sign-in link"), func() string { return w.page.Text })
	parts := widgets.Stack(12, widgets.NewField(lang.L("Sign-in page"), widgets.Across(nil, w.page, link), ""), w.field)
	if back := s.ReturnAddress(); back != "" {
		parts.Add(widgets.NewField(lang.L("Return address"), widgets.Across(nil, widgets.NewFullName(back), copies(lang.L("Copy"), func() string { return back })),
			lang.L("If the sign-in page says that the return address is not registered, your administrator must register exactly this one.")))
	}
	w.help = widgets.NewFold(lang.L("Nothing happens?"), s.Redirect == office.RedirectPaste, parts)
	warning := widgets.NewProse(Warning(s))
	widgets.Show(warning, warning.Text != "")
	cancel := widgets.NewButton(lang.L("Cancel"), func() { w.pop.Close() })
	content := widgets.Pad(20, widgets.Stack(16, widgets.NewHeading(lang.L("Sign in")), w.text, warning, w.help.Object, widgets.Row(8, layout.NewSpacer(), cancel)))
	w.pop = widgets.Open(w.env.Window.Canvas(), content, fyne.NewSize(520, 0), nil, func() {
		w.left = true
		stop()
	})
}

// browse opens the service's page. The help opens by itself where no browser does; where the address must be pasted, it is open.
func (w *waiting) browse(address string) {
	w.page.Set(address)
	w.env.Browse(address, func(err error) {
		if err == nil || w.left {
			return
		}
		w.text.Set(i18n.Error(err))
		w.help.Open(true)
	})
}

// paste passes on the address at which the browser ended.
func (w *waiting) paste() {
	text := w.pasted.Text
	if text == "" {
		return
	}
	async.Try(w.env.Work, func(context.Context) error { return w.office.Paste(text) }, func(err error) {
		if err != nil && !w.left {
			w.field.Wrong(i18n.Error(err))
			w.pop.Refresh()
		}
	})
}
