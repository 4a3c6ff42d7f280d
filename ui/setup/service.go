package setup

import (
	"context"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// service is the step that asks which signing service it is: one of those known by name, another one by its two
// addresses, or, last, the one inside this program, which is the demo.
type service struct {
	*step
	screen     *Screen
	kind       *widgets.Choice
	presets    []agent.Preset // one for each way; the demo has none
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
	bring := widgets.NewButton(lang.L("Bring over from another computer…"), s.PickMove)
	bring.Importance = widget.LowImportance
	p.step = &step{key: "service", name: lang.L("Signing service"), title: lang.L("Which signing service does your office use?"),
		text:    lang.L("Countersign sends documents through your office's account with this service."),
		content: widgets.Stack(16, widgets.Card(p.kind), p.own, widgets.Row(0, bring)), fields: fields, next: lang.L("Continue"),
		asking: lang.L("Looking for the service…"), enter: p.enter, ask: p.ask, blame: office.FieldAuthURL,
		reveal: func() { p.own.Show() }}
	return p
}

// list are the services to choose from: those known by name, then any other, then the demo.
func (p *service) list() (list []widgets.Option) {
	var other agent.Preset
	for _, preset := range p.screen.env.Office.Services() { // from memory
		if preset.AuthURL == "" {
			other = preset
			continue
		}
		p.presets = append(p.presets, preset)
		list = append(list, widgets.Option{Name: preset.Name, Text: hosts(office.Settings{AuthURL: preset.AuthURL, BaseURL: preset.BaseURL})})
	}
	p.presets = append(p.presets, other)
	list = append(list, widgets.Option{Name: lang.L("Another service"), Text: lang.L("You need its two addresses. Your administrator knows them.")})
	if p.screen.ways.Demo != nil {
		list = append(list, widgets.Option{Name: lang.L("Try it without an account"), Text: lang.L("The demo shows how it all works, on this computer only and with made-up signers.")})
	}
	return list
}

// hosts names the computer that people sign in at, and compare with what the browser shows, and the one that documents go to
// where that is another one.
func hosts(s office.Settings) string {
	signIn, service := s.Hosts()
	if service == "" {
		return signIn
	}
	return lang.L("{{.Host}}; documents go to {{.Service}}", i18n.V{"Host": signIn, "Service": service})
}

// enter shows which service the answers are about, wherever they came from.
func (p *service) enter() {
	p.own.Hide()
	at := p.chosen()
	p.first = p.kind.Items[max(at, 0)]
	if at >= 0 {
		p.kind.Choose(at)
	}
}

// chosen is which service the answers are about: one known by name that is the same in all that it says, else another one. It is
// what was chosen while there are no addresses, and negative for nothing.
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

// demo says whether the demo is chosen.
func (p *service) demo() bool { return p.kind.Chosen == len(p.presets) }

// choose fills in a service. Another one empties what a known one has filled in, and leaves what was typed.
func (p *service) choose(i int) {
	p.next = lang.L("Continue")
	p.own.Hidden = p.demo() || p.presets[i].AuthURL != ""
	if p.demo() {
		p.next = lang.L("Start the demo")
	} else {
		p.fill(p.presets[i])
	}
	if p.screen.bar != nil && p.screen.cancel == nil {
		p.screen.bar.next.SetText(p.next)
		p.screen.bar.say("", "")
	}
	p.content.Refresh()
}

func (p *service) fill(now agent.Preset) {
	a := p.screen.answers
	if now.Matches(a.settings) {
		return
	}
	known := slices.ContainsFunc(p.presets, func(x agent.Preset) bool { return x.AuthURL != "" && x.Matches(a.settings) })
	if now.AuthURL == "" && !known {
		return // what was typed, or came in a file
	}
	a.settings.SignatureHeader = now.SignatureHeader
	p.auth.SetText(now.AuthURL)
	p.base.SetText(now.BaseURL)
}

func (p *service) ask() func(context.Context) error {
	office, settings := p.screen.env.Office, p.screen.answers.settings
	return func(ctx context.Context) error { return office.TestService(ctx, settings) }
}

// bind shows a text and keeps what is typed, without the room around it.
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
