package setup

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/i18n"
	"countersign/ui/signin"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// signIn is the last step: the browser opens and returns.
type signIn struct {
	*step
	screen *Screen

	where, warning, said *widgets.Prose // said: why the last sign-in failed
	announced, failure   *fyne.Container
}

func newSignIn(s *Screen) *signIn {
	p := &signIn{screen: s}
	later := widgets.NewButton(lang.L("Sign in later"), func() {
		if s.cancel == nil {
			s.exits.Done()
		}
	}).Quiet()
	p.where, p.warning = widgets.NewParagraph(""), widgets.NewParagraph("")
	p.said = widgets.NewParagraph("")
	p.said.Colour = theme.Attention
	p.failure = widgets.Across(widget.NewIcon(theme.MarkProblem.Resource()), p.said, nil)
	p.announced = widgets.Stack(0, widgets.Card(widgets.Across(widget.NewIcon(fynetheme.InfoIcon()), p.warning, nil)))
	content := widgets.Stack(16, widgets.Card(widgets.Stack(12, p.where,
		widgets.NewProse(lang.L("Use an account that is allowed to send documents for your office. Countersign never sees the password.")))),
		p.announced, p.failure, widgets.Outdent(widgets.Row(0, later)))
	p.step = &step{key: "signin", name: lang.L("Sign in"), title: lang.L("Sign in to finish"),
		text:    lang.L("Your browser opens the signing service's sign-in page. Once you have signed in there, Countersign is ready."),
		content: content, next: lang.L("Sign in"), enter: p.announce, ask: p.ask}
	return p
}

// announce says where one signs in, and what the browser will show.
func (p *signIn) announce() {
	s := p.screen.given()
	text := signin.Warning(s)
	p.warning.Set(text)
	p.announced.Hidden = text == ""
	signIn, service := s.Hosts()
	where := lang.L("You sign in at {{.Host}}. Check that your browser shows this name.", i18n.V{"Host": signIn})
	if service != "" {
		where += " " + lang.L("Your documents go to {{.Service}}.", i18n.V{"Service": service})
	}
	p.where.Set(where)
	p.say("")
}

func (p *signIn) say(text string) {
	p.said.Set(text)
	p.failure.Hidden = text == ""
	p.content.Refresh()
}

func (p *signIn) ask() func(context.Context) error {
	p.say("")
	office, d := p.screen.office, p.screen.env
	return func(ctx context.Context) error { return signin.Do(ctx, d, office, "") }
}
