package setup

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"sync"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
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
	way                    *fyne.Container // checks of the way to ngrok, after it was unreachable
	tokenKept              bool
}

var tunnels = []office.TunnelKind{office.TunnelNone, office.TunnelNgrok, office.TunnelExternal, office.TunnelOffice}

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
		{Name: lang.L("No public address"), Text: lang.L("Works everywhere. Signatures show up a few minutes later.")},
		{Name: lang.L("An ngrok address"), Text: lang.L("ngrok gives this computer an address of its own. A free account will do.")},
		{Name: lang.L("Your office's web server (reverse proxy)"), Text: lang.L("It forwards what it receives to this computer.")},
		{Name: lang.L("Another computer in your office"), Text: lang.L("It shares its events with this one. The invitation says which it is.")},
	}, -1, p.choose, s.Next)
	p.ngrok = widgets.Stack(12, widgets.Halves(fields[office.FieldNgrokToken], fields[office.FieldNgrokDomain]))
	p.external = widgets.Stack(12, widgets.Halves(fields[office.FieldPublicURL], fields[office.FieldListen]),
		widgets.NewProse(lang.L("The web server must keep the path of the requests it forwards.")))
	mark, line := widgets.MarkLine(theme.MarkSigned, "")
	p.found, p.foundLine = mark, line
	p.way = widgets.Stack(8)
	content := widgets.Stack(16, widgets.Card(p.kind), widgets.Stack(0, p.ngrok, p.external), p.found, p.way)
	p.step = &step{key: "address", name: lang.L("Public address"), title: lang.L("How does the service reach this computer?"),
		text:    lang.L("Countersign checks for signatures every few minutes. With a web address that leads to this computer, the signing service reports each one at once."),
		content: content, fields: fields, next: lang.L("Test and continue"), asking: lang.L("Testing the connection…"),
		enter: p.enter, ask: p.ask, answered: p.answered, failed: p.failed, blame: office.FieldTunnel}
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
	p.kind.Offer(slices.Index(tunnels, office.TunnelOffice), p.screen.answers.settings.Office != "")
	p.kind.Choose(max(0, slices.Index(tunnels, kind)))
	p.first = p.kind.Items[p.kind.Chosen]
}

func (p *address) choose(i int) {
	a := p.screen.answers
	a.settings.Tunnel = tunnels[i]
	p.ngrok.Hidden = a.settings.Tunnel != office.TunnelNgrok
	p.external.Hidden = a.settings.Tunnel != office.TunnelExternal
	p.blame = map[office.TunnelKind]string{office.TunnelNgrok: office.FieldNgrokToken, office.TunnelExternal: office.FieldPublicURL}[tunnels[i]]
	p.showFound()
	widgets.Remake(p.way)
	p.content.Refresh()
	p.screen.touched() // relabels, too
}

func (p *address) relabel() {
	a := p.screen.answers
	p.next = lang.L("Test and continue")
	switch {
	case !a.settings.HasAddress(), a.didOpen():
		p.next = lang.L("Continue")
	case a.wasSilent():
		p.next = lang.L("Continue anyway")
	}
	if s := p.screen; s.cancel == nil && s.current() == p.step && s.bar.next.Text != p.next {
		s.bar.next.SetText(p.next)
		s.bar.content.Refresh()
	}
}

// failed lets the person continue with an address that does not answer from here: many networks cannot reach their own public
// address from inside.
func (p *address) failed(err error) {
	if a := p.screen.answers; a.settings.Tunnel == office.TunnelExternal && message.For(err) == message.PublicAddressSilent() {
		a.silent = a.fingerprint()
		p.relabel()
	}
}

// showFound says that this address was open a moment ago.
func (p *address) showFound() {
	a := p.screen.answers
	p.found.Hidden = !a.didOpen()
	p.foundLine.Set(lang.L("Reachable: {{.Address}}", i18n.V{"Address": a.address}))
}

func (p *address) check(wrong map[string]string) {
	a := p.screen.answers
	if a.settings.Tunnel == office.TunnelNgrok && a.secrets.NgrokAuthtoken == "" && !p.tokenKept {
		wrong[office.FieldNgrokToken] = lang.L("Enter the authtoken of your ngrok account.")
	}
}

// ask briefly opens the address, unless this same address has opened before.
func (p *address) ask() func(context.Context) error {
	a := p.screen.answers
	if !a.settings.HasAddress() || a.didOpen() || a.wasSilent() {
		return nil
	}
	widgets.Remake(p.way)
	agent, settings, secrets, mark := p.screen.office, a.settings, a.secrets, a.fingerprint()
	return func(ctx context.Context) error {
		beside, cancel := context.WithCancel(ctx)
		defer cancel()
		var diagnosis sync.WaitGroup
		if settings.Tunnel == office.TunnelNgrok {
			diagnosis.Go(func() {
				agent.TryNgrok(beside, settings, func(steps []office.Check) {
					p.screen.env.Work.Do(func() { p.showWay(steps) })
				})
			})
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

// showWay shows the results of checking the way to ngrok.
func (p *address) showWay(steps []office.Check) {
	var rows []fyne.CanvasObject
	for _, c := range steps {
		mark, colour := theme.MarkLater, theme.Secondary
		switch c.Result {
		case office.CheckFine:
			mark, colour = theme.MarkSigned, theme.Text
		case office.CheckWrong:
			mark, colour = theme.MarkProblem, theme.Attention
		case office.CheckUnderWay:
			mark = theme.MarkNext
		}
		text, next := i18n.Words().Lines(c.Found)
		found := widgets.NewParagraph(text)
		found.Colour = colour
		what := widgets.Stack(1, found)
		if next != "" {
			what.Add(widgets.NewProse(next))
		}
		name := widgets.Column(150, widgets.NewProse(i18n.Message(c.Step)))
		rows = append(rows, widgets.Across(widgets.Row(8, widget.NewIcon(mark.Resource()), name), what, nil))
	}
	widgets.Remake(p.way, rows...)
}

// answered fills in the domain assigned by ngrok if none was typed, because the return address to register contains it.
func (p *address) answered() {
	a := p.screen.answers
	if u, err := url.Parse(a.address); err == nil && a.settings.Tunnel == office.TunnelNgrok && a.settings.NgrokDomain == "" {
		p.domain.SetText(cmp.Or(u.Host, a.settings.NgrokDomain))
		a.opened = a.fingerprint()
	}
	widgets.Remake(p.way)
	p.showFound()
}

// folder is the step that asks where signed documents go. After it, the office gets all settings.
type folder struct {
	*step
	screen      *Screen
	path        *widgets.Entry
	name        *widgets.Prose
	cac, master *widgets.Check
}

func newFolder(s *Screen) *folder {
	p := &folder{screen: s, path: widgets.NewEntry(""), name: widgets.NewFullName("")}
	a := s.answers
	s.bind(p.path, &a.settings.SaveTo)
	p.cac = widgets.NewCheck(lang.L("Certificate of each document"), func(on bool) { a.settings.SaveCAC = on; s.keep() })
	p.master = widgets.NewCheck(lang.L("Combined PDF of each package"), func(on bool) { a.settings.SaveMaster = on; s.keep() })
	p.show()
	choose := widgets.NewButtonWithIcon(lang.L("Choose…"), fynetheme.FolderOpenIcon(), p.pick)
	fields := map[string]*widgets.Field{
		office.FieldSaveTo: widgets.NewField(lang.L("Folder"), widgets.Across(nil, p.path, choose), lang.L("The folder is created if it does not exist.")),
	}
	content := widgets.Card(widgets.Stack(12, fields[office.FieldSaveTo], widgets.NewField(lang.L("Example file name"), p.name, ""),
		widgets.NewField(lang.L("Additional files"), widgets.Outdent(widgets.Stack(0, p.cac, p.master)), ""), widgets.NewProse(lang.L("You can change file names, add subfolders, or save next to the originals later."))))
	p.step = &step{key: "folder", name: lang.L("Folder"), title: lang.L("Where do signed documents go?"),
		text:    lang.L("When everyone has signed, Countersign saves the documents here. It never overwrites a file."),
		content: content, first: p.path, fields: fields, next: lang.L("Continue"), enter: p.enter,
		asking: lang.L("Saving the settings…"), ask: p.ask, answered: func() { a.finished = true }}
	return p
}

// show shows the answers that are not text.
func (p *folder) show() {
	p.cac.SetChecked(p.screen.answers.settings.SaveCAC)
	p.master.SetChecked(p.screen.answers.settings.SaveMaster)
}

func (p *folder) enter() {
	office, settings := p.screen.office, p.screen.answers.settings
	async.Then(p.screen.env.Work, func(context.Context) (string, error) { return office.PreviewName(settings) },
		func(name string, _ error) { p.name.Set(name) })
}

func (p *folder) pick() {
	browse.Folder(p.screen.env, p.screen.answers.settings.SaveTo, p.path.SetText)
}

// ask passes all settings to the office, which creates the folder and tries to write there.
func (p *folder) ask() func(context.Context) error {
	a := p.screen.answers
	o, settings, secrets := p.screen.office, p.screen.given(), a.secrets
	return func(ctx context.Context) error {
		_, err := o.ChangeSettings(ctx, func(office.Settings) office.Settings { return settings }, secrets)
		return err
	}
}

// given returns the settings for the office, without input for choices that were not made.
func (s *Screen) given() office.Settings {
	settings := s.answers.settings
	if settings.Redirect != office.RedirectPaste {
		settings.RedirectURI = ""
	}
	if !settings.HasAddress() && settings.Redirect == office.RedirectTunnel {
		settings.Redirect = office.RedirectLocalhost
	}
	return settings
}

// ShowHealth says if the keyring, without which no input can be stored, is unavailable, and what to do about it. Once it is
// available, input from before the program ended is restored, and newer input is stored. It also reports problems with the office's
// data, because this may be all that is left of an office.
func (s *Screen) ShowHealth(issues []agent.Issue) {
	if at := slices.IndexFunc(issues, func(i agent.Issue) bool { return i.ID == agent.IssueKeyring }); at >= 0 {
		s.tell(issues[at])
		return
	}
	if at := slices.IndexFunc(issues, agent.Issue.ConcernsData); at >= 0 {
		s.tell(issues[at])
	} else if s.strip.Visible() {
		s.strip.Clear()
		s.hush()
		if s.env.Window.Canvas().Focused() == nil {
			s.Focus()
		}
	}
	a := s.answers
	if a.recalled || a.finished || s.cancel != nil {
		return
	}
	a.recalled = true
	if a.recall(s.office) { // from the local store
		s.showAnswers()
		s.resume()
		s.show(a.at)
	}
	s.keep()
}

// tell shows an issue, with a button for what can be done about it here.
func (s *Screen) tell(issue agent.Issue) {
	button := ""
	if slices.Contains([]agent.Action{agent.ActRetry, agent.ActUnlock, agent.ActDismiss}, issue.Action) {
		button = i18n.Action(issue.Action)
	}
	s.strip.Say(i18n.Message(issue.Message), "", button, func() { s.act(issue) })
}

func (s *Screen) act(issue agent.Issue) {
	office := s.office
	async.Try(s.env.Work, func(ctx context.Context) error { return office.Act(ctx, issue) }, func(err error) {
		if err != nil && !errors.Is(err, context.Canceled) {
			s.Say(i18n.Again(err, s.strip.Text()))
		}
	})
}

// hush removes the text shown, unless something is running.
func (s *Screen) hush() {
	if s.cancel == nil {
		s.bar.say("", "")
	}
}
