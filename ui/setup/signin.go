package setup

import (
	"context"
	"errors"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// signIn is the last step: the browser opens and returns.
type signIn struct {
	*step
	screen  *Screen
	pasted  *widgets.Entry
	field   *widgets.Field
	running *fyne.Container
	later   *widgets.Button
	link    *widgets.CopyButton
	address string // the page for the browser
	shown   *widgets.Prose

	where, warning *widgets.Prose
	announced      *fyne.Container
}

func newSignIn(s *Screen) *signIn {
	p := &signIn{screen: s, pasted: widgets.NewEntry("https://"), shown: widgets.NewFullName("")}
	p.pasted.OnSubmitted = func(string) { p.paste() }
	p.pasted.OnEscape = s.Stop
	p.field = widgets.NewField(lang.L("Address from the browser"),
		widgets.Across(nil, p.pasted, widgets.NewButton(lang.L("Continue"), p.paste)), lang.L("Copy the address from the browser and paste it here."))
	p.link = widgets.NewCopyButton(lang.L("Copy sign-in link"), s.env.Later, s.env.Copy, func() string { return p.address })
	p.running = widgets.Stack(0)
	p.running.Hide()
	p.later = widgets.NewButton(lang.L("Sign in later"), func() {
		if s.cancel == nil {
			s.exits.Done()
		}
	}).Quiet()
	p.where, p.warning = widgets.NewParagraph(""), widgets.NewParagraph("")
	p.announced = widgets.Stack(0, widgets.Card(widgets.Across(widget.NewIcon(fynetheme.InfoIcon()), p.warning, nil)))
	content := widgets.Stack(16, widgets.Card(widgets.Stack(12, p.where,
		widgets.NewProse(lang.L("Use an account that is allowed to send documents for your office. Countersign never sees the password.")), p.running)),
		p.announced, widgets.Outdent(widgets.Row(0, p.later)))
	p.step = &step{key: "signin", name: lang.L("Sign in"), title: lang.L("Sign in to finish"),
		text:    lang.L("Your browser opens the signing service's sign-in page. Once you have signed in there, Countersign is ready."),
		content: content, next: lang.L("Sign in"), enter: p.rest,
		asking: lang.L("Finish the sign-in in your browser."), ask: p.ask}
	return p
}

// announce says which unexpected page the browser will show, and what to press there.
func (p *signIn) announce() {
	s := p.screen.given()
	text := ""
	switch {
	case s.Redirect == office.RedirectLocalhost:
		text = lang.L("After you sign in, the browser warns once that the connection is not private, because this computer made the security certificate itself. In Chrome, press “Advanced” and then “Proceed to localhost”. In Edge, press “Advanced” and then “Continue to localhost”. In Firefox, press “Advanced” and then “Accept the Risk and Continue”.")
	case s.Redirect == office.RedirectTunnel && s.Tunnel == office.TunnelNgrok:
		text = lang.L("With a free ngrok plan, the browser shows a page from ngrok after you sign in. Press “Visit Site” there.")
	case s.Redirect == office.RedirectPaste:
		text = lang.L("After you sign in, the browser might show a page that cannot be opened. Copy the address of that page and paste it here.")
	}
	p.warning.Set(text)
	p.announced.Hidden = text == ""
	signIn, service := s.Hosts()
	where := lang.L("You sign in at {{.Host}}. Check that your browser shows this name.", i18n.V{"Host": signIn})
	if service != "" {
		where += " " + lang.L("Your documents go to {{.Service}}.", i18n.V{"Service": service})
	}
	p.where.Set(where)
}

func (p *signIn) rest() {
	p.announce()
	p.running.Hide()
	p.field.Wrong("")
	p.pasted.SetText("")
}

func (p *signIn) ask() func(context.Context) error {
	office, d := p.screen.office, p.screen.env
	p.rest()
	p.address = ""
	open := func(address string) error {
		d.Work.Do(func() { p.opened(address) })
		return nil // without a browser the link can still be copied
	}
	return func(ctx context.Context) error {
		err := office.SignIn(ctx, agent.SignInOptions{}, open)
		d.Work.Do(p.ended)
		if ctx.Err() != nil && err != nil {
			return errors.Join(context.Canceled, err)
		}
		return err
	}
}

func (p *signIn) opened(address string) {
	p.address = address
	p.shown.Set(address)
	p.help(p.screen.given().Redirect == office.RedirectPaste)
	p.running.Show()
	p.later.Hide()
	p.content.Refresh()
	p.screen.env.Browse(address, func(err error) {
		if err != nil && p.screen.cancel != nil && p.address == address {
			p.help(true)
			p.screen.bar.say(theme.MarkProblem, i18n.Error(err))
		}
	})
}

// help shows what to do if the browser does not work.
func (p *signIn) help(open bool) {
	widgets.Remake(p.running, widgets.NewFold(lang.L("Nothing happens?"), open, widgets.Stack(12,
		widgets.NewField(lang.L("Sign-in page"), widgets.Across(nil, p.shown, p.link), lang.L("If no browser opens, open this address yourself.")), p.field)).Object)
}

func (p *signIn) ended() {
	p.running.Hide()
	p.later.Show()
	p.content.Refresh()
}

// paste passes on the address at which the browser ended.
func (p *signIn) paste() {
	text, office := p.pasted.Text, p.screen.office
	if text == "" || p.screen.cancel == nil {
		return
	}
	async.Try(p.screen.env.Work, func(context.Context) error { return office.Paste(text) }, func(err error) {
		if err != nil {
			p.field.Wrong(i18n.Error(err))
			p.content.Refresh()
		}
	})
}
