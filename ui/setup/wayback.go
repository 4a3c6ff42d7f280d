package setup

import (
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/widgets"
)

// wayBack is the step that asks how the sign-in returns from the browser.
type wayBack struct {
	*step
	screen     *Screen
	kind       *widgets.Choice
	registered *widgets.Entry
	other      *widgets.Field
	shown      *widgets.Prose
	copyIt     *widgets.CopyButton
	card       *fyne.Container
}

var redirects = []office.RedirectKind{office.RedirectTunnel, office.RedirectLocalhost, office.RedirectPaste}

func newWayBack(s *Screen) *wayBack {
	p := &wayBack{screen: s, registered: widgets.NewEntry("https://office.example/callback"), shown: widgets.NewFullName("")}
	p.shown.Bold = true
	s.bind(p.registered, &s.answers.settings.RedirectURI)
	p.registered.OnChanged = func(text string) {
		s.answers.settings.RedirectURI = text
		p.showAddress()
		s.touched()
	}
	p.kind = widgets.NewChoice([]widgets.Option{
		{Name: lang.L("Through your office's public address"), Text: lang.L("The browser returns through your public address. With a free ngrok plan, a page from ngrok appears first. Continue from there.")},
		{Name: lang.L("To this computer, https://localhost"), Text: lang.L("Works without a public address. The browser shows a warning once. The last step says what to press.")},
		{Name: lang.L("By copy and paste"), Text: lang.L("Always works. After you sign in, you copy the address from the browser and paste it into Countersign.")},
	}, -1, p.choose, s.Next)
	p.other = widgets.NewField(lang.L("Return address registered with the service"), p.registered,
		lang.L("Fill in only if a different address is already registered."))
	p.copyIt = widgets.NewCopyButton(lang.L("Copy"), s.env.Later, func(copied func()) {
		s.env.Copy(p.returns())
		copied()
	})
	p.card = widgets.Stack(0, widgets.Card(widgets.Stack(6, widgets.NewCaption(lang.L("Address to register with the signing service")),
		widgets.Across(nil, p.shown, p.copyIt),
		widgets.NewProse(lang.L("You can sign in only if exactly this address is registered for your client ID. The letter to your administrator contains it.")))))
	fields := map[string]*widgets.Field{office.FieldRedirectURI: p.other}
	p.step = &step{key: "return", name: lang.L("Return address"), title: lang.L("How does the browser return to Countersign?"),
		text:    lang.L("You sign in with your browser. It then opens the return address, and Countersign knows that you are signed in. The signing service must know this address."),
		content: widgets.Stack(16, widgets.Card(p.kind), p.other, p.card), fields: fields, next: lang.L("Continue"), enter: p.enter}
	p.first = p.kind.Items[0]
	return p
}

func (p *wayBack) enter() {
	s := &p.screen.answers.settings
	public := s.Tunnel != office.TunnelNone
	p.kind.Offer(0, public)
	if !public && s.Redirect == office.RedirectTunnel {
		s.Redirect = office.RedirectLocalhost
	}
	p.kind.Choose(max(0, slices.Index(redirects, s.Redirect)))
	p.first = p.kind.Items[p.kind.Chosen]
}

func (p *wayBack) choose(i int) {
	p.screen.answers.settings.Redirect = redirects[i]
	p.other.Hidden = redirects[i] != office.RedirectPaste
	p.copyIt.Forget()
	p.showAddress()
}

// returns is the address to register; empty when nothing that was typed tells it.
func (p *wayBack) returns() string {
	s := p.screen.answers.settings
	if s.Redirect != office.RedirectPaste {
		s.RedirectURI = "" // belongs to pasting
	}
	return s.ReturnAddress()
}

func (p *wayBack) showAddress() {
	address := p.returns()
	p.card.Hidden = address == ""
	p.shown.Set(address)
	p.content.Refresh()
}
