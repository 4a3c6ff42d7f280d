package setup

import (
	"context"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
	"countersign/ui/widgets"
)

// service is the step that asks which signing service it is, and who the office is there.
type service struct {
	*step
	screen         *Screen
	preset         *widgets.Select
	presets        []agent.Preset
	auth, base     *widgets.Entry
	client, secret *widgets.Entry
	secretKept     bool
}

func newService(s *Screen) *service {
	p := &service{screen: s, auth: widgets.NewEntry("https://sign.example.com"), base: widgets.NewEntry("https://sign.example.com/api/v1"),
		client: widgets.NewEntry(""), secret: widgets.NewSecret()}
	p.preset = widgets.NewSelect(nil, p.choose)
	p.preset.PlaceHolder = lang.L("Choose a service")
	a := s.answers
	s.bind(p.auth, &a.settings.AuthURL)
	s.bind(p.base, &a.settings.BaseURL)
	s.bind(p.client, &a.settings.ClientID)
	s.bind(p.secret, &a.secrets.ClientSecret)
	fields := map[string]*widgets.Field{
		agent.FieldAuthURL:      widgets.NewField(lang.L("Sign-in address"), p.auth, ""),
		agent.FieldBaseURL:      widgets.NewField(lang.L("Service address"), p.base, ""),
		agent.FieldClientID:     widgets.NewField(lang.L("Client id"), p.client, ""),
		agent.FieldClientSecret: widgets.NewField(lang.L("Client secret"), p.secret, ""),
	}
	content := widgets.Stack(16,
		widgets.Card(widgets.Stack(12, widgets.NewField(lang.L("Signing service"), widgets.Outlined(p.preset), ""),
			widgets.Halves(fields[agent.FieldAuthURL], fields[agent.FieldBaseURL]))),
		widgets.Card(widgets.Stack(12, widgets.Halves(fields[agent.FieldClientID], fields[agent.FieldClientSecret]),
			note(lang.L("You get both from the signing service when it registers Countersign. It will ask for the return address, which step 3 shows.")))))
	p.step = &step{name: lang.L("Signing service"), title: lang.L("Which signing service does your office use?"),
		text:    lang.L("Countersign sends documents through your office's account with this service."),
		content: content, first: p.preset, fields: fields, next: lang.L("Continue"),
		asking: lang.L("Looking for the service…"), ask: p.ask, blame: agent.FieldAuthURL}
	return p
}

// know shows the services that are known by name, and whether a client secret is kept already.
func (p *service) know(k kept) {
	p.presets, p.secretKept = k.services, k.client
	p.preset.Options = nil
	for _, preset := range k.services {
		name := preset.Name
		if preset.AuthURL == "" {
			name = lang.L("Other service")
		}
		p.preset.Options = append(p.preset.Options, name)
	}
	p.preset.Selected = p.screen.answers.preset
	p.preset.Refresh()
	if k.client {
		p.fields[agent.FieldClientSecret].Hint(lang.L("Stored in the keyring. Enter a new one to replace it."))
	}
}

// choose fills in a preset. The neutral one empties what another preset has filled in, and leaves what was typed.
func (p *service) choose(name string) {
	a := p.screen.answers
	var before, now agent.Preset
	for i, option := range p.preset.Options {
		if option == a.preset {
			before = p.presets[i]
		}
		if option == name {
			now = p.presets[i]
		}
	}
	a.preset = name
	a.settings.SignatureHeader = now.SignatureHeader
	if now.AuthURL != "" || p.auth.Text == before.AuthURL {
		p.auth.SetText(now.AuthURL)
	}
	if now.BaseURL != "" || p.base.Text == before.BaseURL {
		p.base.SetText(now.BaseURL)
	}
}

// check says what agent.Settings.Check cannot know.
func (p *service) check(wrong map[string]string) {
	if p.screen.answers.secrets.ClientSecret == "" && !p.secretKept {
		wrong[agent.FieldClientSecret] = lang.L("Type the client secret that the service gave you.")
	}
}

func (p *service) ask() func(context.Context) error {
	office, settings := p.screen.desk.Office, p.screen.answers.settings
	return func(ctx context.Context) error { return office.TestService(ctx, settings) }
}

// bind shows a text and keeps what is typed, without the room around it.
func (s *Screen) bind(e *widgets.Entry, into *string) {
	e.SetText(*into)
	e.OnChanged = func(text string) {
		*into = strings.TrimSpace(text)
		s.touched()
	}
	e.OnSubmitted = func(string) { s.Next() }
	e.OnEscape = s.Leave
}

// note is a small explanation.
func note(text string) fyne.CanvasObject { return widgets.NewProse(text) }
