package setup

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/signin"
	"countersign/ui/theme"
	"countersign/ui/widgets"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// service is the step that asks which signing service it is: one known by name, another one by its two addresses, or, last, the
// built-in one, which is the demo.
type service struct {
	*step
	screen     *Screen
	kind       *widgets.Choice
	presets    []agent.Preset // one for each option; the demo has none
	auth, base *widgets.Entry
	own        *fyne.Container // the addresses
}

func newService(s *Screen) *service {
	p := &service{screen: s, auth: widgets.NewEntry("https://sign.example.com"), base: widgets.NewEntry("https://sign.example.com/api/v1")}
	a := s.answers
	s.bind(p.auth, &a.settings.AuthURL)
	s.bind(p.base, &a.settings.BaseURL)
	fields := map[string]*widgets.Field{
		office.FieldAuthURL: widgets.NewField(lang.L("Sign-in address"), p.auth, lang.L("The web page on which you sign in.")),
		office.FieldBaseURL: widgets.NewField(lang.L("Service address"), p.base, lang.L("Countersign sends your documents there. Often the same address.")),
	}
	p.own = widgets.Stack(0, widgets.Card(widgets.Halves(fields[office.FieldAuthURL], fields[office.FieldBaseURL])))
	p.kind = widgets.NewChoice(p.list(), -1, p.choose, s.Next)
	p.step = &step{key: "service", name: lang.L("Signing service"), title: lang.L("Which signing service does your office use?"),
		text:    lang.L("Countersign sends documents through your office's account with this service."),
		content: widgets.Stack(16, widgets.Card(p.kind), p.own), fields: fields, next: lang.L("Continue"),
		asking: lang.L("Looking for the service…"), enter: p.enter, ask: p.ask,
		reveal: func() { p.own.Show() }}
	return p
}

// list returns the services to choose from: those known by name, then any other, then the demo.
func (p *service) list() (list []widgets.Option) {
	var other agent.Preset
	for _, preset := range p.screen.office.Services() { // from memory
		if preset.AuthURL == "" {
			other = preset
			continue
		}
		p.presets = append(p.presets, preset)
		list = append(list, widgets.Option{Name: preset.Name,
			Text: hosts(office.Settings{ServiceSettings: office.ServiceSettings{AuthURL: preset.AuthURL, BaseURL: preset.BaseURL}})})
	}
	p.presets = append(p.presets, other)
	list = append(list, widgets.Option{Name: lang.L("Another service"), Text: lang.L("You need its two addresses. Your administrator knows them.")})
	if p.screen.exits.Demo != nil {
		list = append(list, widgets.Option{Name: lang.L("Try it without an account"), Text: lang.L("The demo shows how it all works, on this computer only and with made-up signers.")})
	}
	return list
}

// hosts names the host of the sign-in, for people to compare with their browser, and the host for documents, if different.
func hosts(s office.Settings) string {
	signIn, service := s.Hosts()
	if service == "" {
		return signIn
	}
	return lang.L("{{.Host}}; documents go to {{.Service}}", i18n.V{"Host": signIn, "Service": service})
}

// enter shows the service of the answers, wherever they came from.
func (p *service) enter() {
	p.own.Hide()
	at := p.chosen()
	p.first = p.kind.Items[max(at, 0)]
	if at >= 0 {
		p.kind.Choose(at)
	}
}

// chosen returns the service of the answers: one known by name whose preset matches entirely, otherwise "another one". Without
// addresses it is the option chosen, negative for none.
func (p *service) chosen() int {
	s := p.screen.answers.settings
	if s.AuthURL == "" && s.BaseURL == "" {
		return p.kind.Chosen
	}
	at := slices.IndexFunc(p.presets, func(x agent.Preset) bool { return x.Matches(s) })
	if at < 0 {
		at = len(p.presets) - 1
	}
	return at
}

func (p *service) demo() bool { return p.kind.Chosen == len(p.presets) }

// choose fills in a service. Choosing "another one" clears a preset's values and keeps typed ones.
func (p *service) choose(i int) {
	p.next = lang.L("Continue")
	p.own.Hidden = p.demo() || p.presets[i].AuthURL != ""
	if p.demo() {
		p.next = lang.L("Start the demo")
	} else {
		p.fill(p.presets[i])
	}
	if s := p.screen; s.cancel == nil && len(s.steps) > 0 && s.current() == p.step {
		s.bar.next.SetText(p.next)
		s.bar.say("", "")
	}
	p.content.Refresh()
	if s := p.screen; !p.own.Hidden && s.scroll != nil {
		s.scroll.Refresh()
		s.scroll.ScrollToBottom() // where they are
	}
}

func (p *service) fill(now agent.Preset) {
	a := p.screen.answers
	if now.Matches(a.settings) {
		return
	}
	known := slices.ContainsFunc(p.presets, func(x agent.Preset) bool { return x.AuthURL != "" && x.Matches(a.settings) })
	if now.AuthURL == "" && !known {
		return // typed, or from a file
	}
	a.settings.SignatureHeader = now.SignatureHeader
	p.auth.SetText(now.AuthURL)
	p.base.SetText(now.BaseURL)
}

func (p *service) ask() func(context.Context) error {
	office, settings := p.screen.office, p.screen.answers.settings
	return func(ctx context.Context) error { return office.TestService(ctx, settings) }
}

// bind shows a text and stores the input without surrounding white space.
func (s *Screen) bind(e *widgets.Entry, into *string) {
	e.SetText(*into)
	e.OnChanged = func(text string) {
		*into = strings.TrimSpace(text)
		s.touched()
	}
	e.OnFocusLost = s.keep
	e.OnSubmitted = func(string) { s.Next() }
	e.OnEscape = s.Leave
	s.bound = append(s.bound, func() { e.SetText(*into) })
}

// registration is the step that asks what the service gave the office when it registered Countersign.
type registration struct {
	*step
	screen         *Screen
	client, secret *widgets.Entry
	secretKept     bool
}

func newRegistration(s *Screen) *registration {
	p := &registration{screen: s, client: widgets.NewEntry(""), secret: widgets.NewSecret()}
	a := s.answers
	s.bind(p.client, &a.settings.ClientID)
	s.bind(p.secret, &a.secrets.ClientSecret)
	fields := map[string]*widgets.Field{
		office.FieldClientID: widgets.NewField(lang.L("Client ID"), p.client,
			lang.L("Identifies your office to the service. It isn’t secret.")),
		office.FieldClientSecret: widgets.NewField(lang.L("Client secret"), p.secret,
			lang.L("The password for the client ID. Countersign stores it in the keyring and never shows it.")),
	}
	p.step = &step{key: "registration", name: lang.L("Registration"), title: lang.L("How is your office registered with the service?"),
		text:    lang.L("The service issues a client ID and a client secret when someone registers Countersign there. Enter both exactly as you received them."),
		content: widgets.Card(widgets.Stack(14, fields[office.FieldClientID], fields[office.FieldClientSecret])),
		fields:  fields, next: lang.L("Continue"), asking: lang.L("Testing the connection…"), enter: p.enter, ask: p.ask}
	return p
}

// enter says where to get the secret that an invitation does not contain, and puts the cursor where something is missing.
func (p *registration) enter() {
	a := p.screen.answers
	p.first = p.client
	if a.settings.ClientID != "" {
		p.first = p.secret
	}
	if a.secrets.DeskKey != "" && !p.secretKept {
		p.fields[office.FieldClientSecret].Hint(lang.L("The invitation doesn’t contain it. Whoever invited you can tell you, or send a new code that includes it."))
	}
}

func (p *registration) ask() func(context.Context) error {
	office, settings, secret := p.screen.office, p.screen.answers.settings, p.screen.answers.secrets.ClientSecret
	return func(ctx context.Context) error { return office.TestClient(ctx, settings, secret) }
}

func (p *registration) know(k kept) {
	p.secretKept = k.client
	if k.client {
		p.fields[office.FieldClientSecret].Hint(lang.L("Stored in the keyring. Enter a new one to replace it."))
	}
}

// check adds errors that the settings alone cannot detect.
func (p *registration) check(wrong map[string]string) {
	if p.screen.answers.secrets.ClientSecret == "" && !p.secretKept {
		wrong[office.FieldClientSecret] = lang.L("Enter the client secret that the service gave your office.")
	}
}

// letter tells an administrator, as far as the answers allow, exactly what to register, what to send back, and how to make the file
// that answers everything. It contains no secret.
func (s *Screen) letter() (subject, text string) {
	a := s.answers
	x := s.sound()
	back := cmp.Or(x.ReturnAddress(), "https://YOUR-NGROK-DOMAIN/oauth/callback")
	subject = lang.L("Countersign: registration with the signing service")
	lines := []string{
		lang.L("I am setting up Countersign, which sends our documents for signature. It must be registered once with the signing service."),
		"",
		lang.L("Register an application with these values:"),
		"• " + lang.L("Signing service: {{.Service}}", i18n.V{"Service": cmp.Or(hosts(x), lang.L("the one our office uses"))}),
		"• " + lang.L("Return address (redirect URI, must match exactly): {{.Address}}", i18n.V{"Address": back}),
		"• " + lang.L("Scopes: {{.Scopes}}", i18n.V{"Scopes": strings.Join(x.Scopes, " ")}),
		"• " + lang.L("Grant: authorization code with PKCE, and refresh tokens"),
		"",
		lang.L("Send me back:"),
		"• " + lang.L("the client ID"),
		"• " + lang.L("the client secret, in a way that nobody else can read"),
	}
	if x.AuthURL == "" || x.BaseURL == "" {
		lines = append(lines, "• "+lang.L("the sign-in address and the service address"))
	}
	if x.Tunnel == office.TunnelNgrok && a.secrets.NgrokAuthtoken == "" && !s.address.tokenKept {
		lines = append(lines, "• "+lang.L("the authtoken and the domain of our ngrok account"))
	}
	if x.Tunnel == office.TunnelExternal && (x.PublicURL == "" || x.Listen == "") {
		lines = append(lines, "• "+lang.L("the public address of our web server, and where on this computer it sends what arrives"))
	}
	lines = append(lines, "", lang.L("Or make a file that I open with a double click:"), "    "+command(x, back), "",
		lang.L("The account that signs in should be an administrator of our organization at the signing service. Otherwise signatures arrive later."))
	return subject, strings.Join(lines, "\n")
}

// sound returns the answers without invalid ones, and those that a shell would take for more than a word.
func (s *Screen) sound() office.Settings {
	x := s.given().Normal()
	bad := x.Check()
	for field, value := range map[string]*string{office.FieldAuthURL: &x.AuthURL, office.FieldBaseURL: &x.BaseURL, office.FieldNgrokDomain: &x.NgrokDomain,
		office.FieldPublicURL: &x.PublicURL, office.FieldListen: &x.Listen, office.FieldRedirectURI: &x.RedirectURI} {
		if strings.ContainsAny(*value, "\"'`$&;|<>(){}[]*?!\\%^~") || slices.ContainsFunc(bad, func(f office.FieldError) bool { return f.Field == field }) {
			*value = ""
		}
	}
	return x
}

// command returns the command that makes the file on the administrator's computer. Others may read it on its way.
func command(x office.Settings, back string) string {
	words := []string{"countersign", "setup", "--auth-url", cmp.Or(x.AuthURL, "URL"), "--base-url", cmp.Or(x.BaseURL, "URL"), "--client-id", "ID",
		"--tunnel", string(x.Tunnel), "--redirect", string(x.Redirect)}
	switch x.Tunnel {
	case office.TunnelNgrok:
		words = append(words, "--ngrok-domain", cmp.Or(x.NgrokDomain, "DOMAIN"))
	case office.TunnelExternal:
		words = append(words, "--public-url", cmp.Or(x.PublicURL, "URL"), "--listen", cmp.Or(x.Listen, "HOST:PORT"))
	}
	if x.Redirect == office.RedirectPaste {
		words = append(words, "--redirect-uri", back)
	}
	return strings.Join(append(words, "--export", agent.OfficeName), " ")
}

func (s *Screen) AskAdministrator() {
	subject, text := s.letter()
	lines := widgets.Stack(2)
	for line := range strings.SplitSeq(text, "\n") {
		lines.Add(widgets.NewParagraph(cmp.Or(strings.TrimSpace(line), " ")))
	}
	trouble := widgets.NewProse("")
	trouble.Colour = theme.Attention
	trouble.Hide()
	var pop *widgets.PopUp
	copyIt := widgets.NewCopyButton(lang.L("Copy"), s.env.Later, s.env.Copy, func() string { trouble.Hide(); return text })
	copyIt.Button.Importance = widget.HighImportance
	mail := widgets.NewButtonWithIcon(lang.L("Write an e-mail"), fynetheme.MailComposeIcon(), func() {
		s.env.Browse(env.Mailto("", subject, text), func(err error) {
			if err != nil {
				trouble.Set(lang.L("No mail program could be opened. Copy the text instead."))
				trouble.Show()
			}
		})
	})
	shut := widgets.NewButton(lang.L("Close"), func() { pop.Close() })
	foot := widgets.Stack(8, trouble, widgets.Row(8, layout.NewSpacer(), shut, mail, copyIt))
	head := widgets.Stack(8, widgets.NewHeading(lang.L("Ask your administrator")),
		widgets.NewProse(lang.L("This request contains no secrets. Each step you complete adds to it.")))
	content := widgets.Pad(20, container.NewBorder(head, foot, nil, nil,
		widgets.PadHV(0, 12, widgets.Card(widgets.NewVScroll(lines)))))
	room := s.env.Window.Canvas().Size()
	pop = widgets.Open(s.env.Window.Canvas(), content, fyne.NewSize(min(680, room.Width-48), min(540, room.Height-48)), copyIt.Button, nil)
}

// known is the first step for people with a code or a file: it shows whom they are about to trust, and checks what the skipped steps
// would have checked.
type known struct {
	*step
	screen  *Screen
	facts   *fyne.Container
	skipped []*step
	failing *step // the skipped step that failed; nil for none
}

func newKnown(s *Screen) *known {
	p := &known{screen: s, facts: widgets.Stack(0)}
	change := widgets.NewButton(lang.L("Change these answers…"), func() {
		if s.cancel == nil {
			s.open(s.service.step)
		}
	}).Quiet()
	p.step = &step{key: "known", name: lang.L("Your office"), title: lang.L("Is this your office?"),
		text:    lang.L("Your code or file says the following. Continue if you know these names."),
		content: widgets.Stack(16, widgets.Card(p.facts), widgets.Outdent(widgets.Row(0, change))),
		next:    lang.L("Continue"), enter: p.enter, asking: lang.L("Testing the connection…"), ask: p.ask, answered: p.answered}
	return p
}

func (p *known) enter() {
	s := p.screen.answers.settings
	name := ""
	if at := slices.IndexFunc(p.screen.service.presets, func(x agent.Preset) bool { return x.AuthURL != "" && x.Matches(s) }); at >= 0 {
		name = p.screen.service.presets[at].Name
	}
	signIn, service := s.Hosts()
	events, returns := s.Reached()
	if s.Tunnel == office.TunnelNone {
		events = lang.L("No public address")
	}
	widgets.Remake(p.facts, facts([][2]string{{lang.L("Signing service"), name}, {lang.L("Sign-in at"), signIn}, {lang.L("Documents go to"), service},
		{lang.L("Main computer"), s.HubName()}, {lang.L("Events arrive at"), events}, {lang.L("Sign-in returns to"), returns}, {lang.L("Client ID"), s.ClientID}}))
}

func (p *known) ask() func(context.Context) error {
	p.failing = nil
	asks := map[*step]func(context.Context) error{}
	for _, of := range p.skipped {
		if of.ask != nil {
			asks[of] = of.ask()
		}
	}
	return func(ctx context.Context) error {
		for _, of := range p.skipped {
			if ask := asks[of]; ask != nil {
				if err := ask(ctx); err != nil {
					p.screen.env.Work.Do(func() { p.failing = of })
					return err
				}
			}
		}
		return nil
	}
}

func (p *known) answered() {
	for _, of := range p.skipped {
		if of.answered != nil {
			of.answered()
		}
	}
}

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
