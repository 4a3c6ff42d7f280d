package setup

import (
	"context"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/widgets"
)

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
