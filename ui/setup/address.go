package setup

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"sync"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/checks"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// address is the step that asks how the service reaches this computer.
type address struct {
	*step
	screen                 *Screen
	kind                   *widgets.Choice
	token, domain          *widgets.Entry
	public, listen         *widgets.Entry
	ngrok, external, found *fyne.Container
	foundLine              *widgets.Line
	way                    *checks.List // to ngrok, after it could not be reached
	tokenKept              bool
}

var tunnels = []office.TunnelKind{office.TunnelNgrok, office.TunnelExternal, office.TunnelNone}

func newAddress(s *Screen) *address {
	p := &address{screen: s, token: widgets.NewSecret(), domain: widgets.NewEntry("office.ngrok.app"),
		public: widgets.NewEntry("https://sign.office.example"), listen: widgets.NewEntry("127.0.0.1:8080")}
	a := s.answers
	s.bind(p.token, &a.secrets.NgrokAuthtoken)
	s.bind(p.domain, &a.settings.NgrokDomain)
	s.bind(p.public, &a.settings.PublicURL)
	s.bind(p.listen, &a.settings.Listen)
	fields := map[string]*widgets.Field{
		office.FieldNgrokToken: widgets.NewField(lang.L("ngrok authtoken"), p.token, lang.L("From the page “Your Authtoken” of the ngrok account.")),
		office.FieldNgrokDomain: widgets.NewField(lang.L("ngrok domain"), p.domain,
			lang.L("Leave empty to use your ngrok account's own domain.")),
		office.FieldPublicURL: widgets.NewField(lang.L("Public address"), p.public, ""),
		office.FieldListen:    widgets.NewField(lang.L("Address the web server forwards to"), p.listen, ""),
	}
	p.kind = widgets.NewChoice([]widgets.Option{
		{Name: lang.L("An ngrok address"), Text: lang.L("ngrok gives this computer an address of its own. A free account will do.")},
		{Name: lang.L("Your office's web server (reverse proxy)"), Text: lang.L("It forwards what it receives to this computer.")},
		{Name: lang.L("No public address"), Text: lang.L("Works everywhere. Signatures show up a few minutes later.")},
	}, -1, p.choose, s.Next)
	p.ngrok = widgets.Stack(12, widgets.Halves(fields[office.FieldNgrokToken], fields[office.FieldNgrokDomain]))
	p.external = widgets.Stack(12, widgets.Halves(fields[office.FieldPublicURL], fields[office.FieldListen]),
		widgets.NewProse(lang.L("The web server must keep the path of the requests it forwards.")))
	mark, line := widgets.MarkLine(theme.MarkSigned, "")
	p.found, p.foundLine = mark, line
	p.way = checks.New(s.env.Now)
	content := widgets.Stack(16, widgets.Card(p.kind), widgets.Stack(0, p.ngrok, p.external), p.found, p.way.Content)
	p.step = &step{key: "address", name: lang.L("Public address"), title: lang.L("How does the service reach this computer?"),
		text:    lang.L("A public address is a web address that leads to this computer. The signing service reports each signature there. If you are not sure, choose “No public address”."),
		content: content, fields: fields, next: lang.L("Test and continue"), asking: lang.L("Connecting the address for a moment…"),
		enter: p.enter, ask: p.ask, answered: p.answered, blame: office.FieldTunnel}
	p.first = p.kind.Items[0]
	return p
}

func (p *address) know(k kept) {
	p.tokenKept = k.ngrok
	if k.ngrok {
		p.fields[office.FieldNgrokToken].Hint(lang.L("Stored in the keyring. Enter a new one to replace it."))
	}
}

func (p *address) enter() {
	kind := p.screen.answers.settings.Tunnel
	p.kind.Choose(max(0, slices.Index(tunnels, kind)))
	p.first = p.kind.Items[p.kind.Chosen]
}

// choose shows what goes with a kind of address.
func (p *address) choose(i int) {
	a := p.screen.answers
	a.settings.Tunnel = tunnels[i]
	p.ngrok.Hidden = a.settings.Tunnel != office.TunnelNgrok
	p.external.Hidden = a.settings.Tunnel != office.TunnelExternal
	p.next = lang.L("Test and continue")
	p.blame = map[office.TunnelKind]string{office.TunnelNgrok: office.FieldNgrokToken, office.TunnelExternal: office.FieldPublicURL}[tunnels[i]]
	if a.settings.Tunnel == office.TunnelNone {
		p.next = lang.L("Continue")
	}
	p.showFound()
	p.way.Show(nil)
	if s := p.screen; s.cancel == nil {
		s.bar.next.SetText(p.next)
	}
	p.content.Refresh()
}

// showFound says that this very address was open a moment ago.
func (p *address) showFound() {
	a := p.screen.answers
	p.found.Hidden = a.address == "" || a.opened != a.fingerprint()
	p.foundLine.Set(lang.L("The address works: {{.Address}}", i18n.V{"Address": a.address}))
}

func (p *address) check(wrong map[string]string) {
	a := p.screen.answers
	if a.settings.Tunnel == office.TunnelNgrok && a.secrets.NgrokAuthtoken == "" && !p.tokenKept {
		wrong[office.FieldNgrokToken] = lang.L("Enter the authtoken of your ngrok account.")
	}
}

// ask opens the address for a moment, unless that very address did open before.
func (p *address) ask() func(context.Context) error {
	a := p.screen.answers
	if a.settings.Tunnel == office.TunnelNone || a.address != "" && a.opened == a.fingerprint() {
		return nil
	}
	p.way.Show(nil)
	agent, settings, secrets, mark := p.screen.env.Office, a.settings, a.secrets, a.fingerprint()
	return func(ctx context.Context) error {
		beside, cancel := context.WithCancel(ctx)
		defer cancel()
		var diagnosis sync.WaitGroup
		if settings.Tunnel == office.TunnelNgrok {
			diagnosis.Go(func() { p.diagnose(beside, settings) })
		}
		public, err := agent.TestTunnel(ctx, settings, secrets)
		if err == nil {
			cancel()
		}
		diagnosis.Wait()
		if err != nil {
			return err
		}
		p.screen.env.Work.Do(func() { a.opened, a.address = mark, public })
		return nil
	}
}

// answered takes the domain that ngrok gave, where none was typed: the return address to register needs it.
func (p *address) answered() {
	a := p.screen.answers
	if u, err := url.Parse(a.address); err == nil && a.settings.Tunnel == office.TunnelNgrok && a.settings.NgrokDomain == "" {
		p.domain.SetText(cmp.Or(u.Host, a.settings.NgrokDomain))
		a.opened = a.fingerprint()
	}
	p.way.Show(nil)
	p.showFound()
}

// diagnose shows how far the way to ngrok leads.
func (p *address) diagnose(ctx context.Context, settings office.Settings) {
	work := p.screen.env.Work
	p.screen.env.Office.TryNgrok(ctx, settings, func(steps []office.Check) {
		work.Do(func() { p.way.Show(steps) })
	})
}
