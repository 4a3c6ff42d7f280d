package setup

import (
	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/widgets"
)

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
			lang.L("The name under which the service knows your office's Countersign. It is not secret.")),
		office.FieldClientSecret: widgets.NewField(lang.L("Client secret"), p.secret,
			lang.L("The password that goes with the client ID. Countersign stores it in the keyring and never shows it.")),
	}
	help := widgets.NewButton(lang.L("Ask your administrator…"), s.AskAdministrator)
	p.step = &step{key: "registration", name: lang.L("Registration"), title: lang.L("How is your office registered with the service?"),
		text: lang.L("The service gives your office a client ID and a client secret once, when someone registers Countersign there. Enter both as you got them."),
		content: widgets.Stack(16, widgets.Card(widgets.Stack(14, fields[office.FieldClientID], fields[office.FieldClientSecret])),
			widgets.Card(widgets.Across(nil, widgets.NewParagraph(lang.L("You do not have them? A ready-made letter lists what to register and what to send back to you.")), help))),
		first: p.client, fields: fields, next: lang.L("Continue"), blame: office.FieldClientID}
	return p
}

// know takes whether a client secret is kept already.
func (p *registration) know(k kept) {
	p.secretKept = k.client
	if k.client {
		p.fields[office.FieldClientSecret].Hint(lang.L("Stored in the keyring. Enter a new one to replace it."))
	}
}

// check says what the settings alone cannot know.
func (p *registration) check(wrong map[string]string) {
	if p.screen.answers.secrets.ClientSecret == "" && !p.secretKept {
		wrong[office.FieldClientSecret] = lang.L("Enter the client secret that the service gave your office.")
	}
}
