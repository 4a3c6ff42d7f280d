package settings

import (
	"context"
	"errors"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// tests try what is typed for the service and the public address, and show what to register for the way back.
type tests struct {
	screen                *Screen
	service, tunnel       *trial
	ngrok, external, none *fyne.Container
	back                  *fyne.Container
	address               *widgets.Prose
	copyBack              *widgets.CopyButton
}

func newTests(s *Screen) *tests {
	t := &tests{screen: s, address: widgets.NewFullName("")}
	t.service = newTrial(s, lang.L("Test the service"), func(ctx context.Context, settings office.Settings, _ office.Secrets) (string, error) {
		return lang.L("The service answers."), s.env.Office.TestService(ctx, settings)
	})
	t.tunnel = newTrial(s, lang.L("Test the address"), func(ctx context.Context, settings office.Settings, secrets office.Secrets) (string, error) {
		address, err := s.env.Office.TestTunnel(ctx, settings, secrets)
		return lang.L("The address works: {{.Address}}", i18n.V{"Address": address}), err
	})
	t.address.Bold = true
	t.copyBack = widgets.NewCopyButton(lang.L("Copy"), s.env.Later, func(copied func()) {
		s.env.Copy(t.address.Text)
		copied()
	})
	t.back = widgets.Stack(4, widgets.NewCaption(lang.L("Address to register with the signing service")),
		widgets.Across(nil, t.address, t.copyBack))
	return t
}

// show says how the public address is now.
func (t *tests) show(s agent.Status) {
	t.tunnel.button.Hidden = t.screen.kept.Tunnel == office.TunnelNone
	if t.tunnel.said {
		return // the answer to a test stays until the next one
	}
	switch {
	case s.Tunnel.State == "up":
		t.tunnel.say(theme.MarkSigned, lang.L("Connected: {{.Address}}", i18n.V{"Address": s.Tunnel.URL}))
	case s.Tunnel.State == "down":
		t.tunnel.say(theme.MarkProblem, lang.L("The address cannot be reached now."))
	case s.Tunnel.State == "connecting":
		t.tunnel.say(theme.MarkNext, lang.L("Connecting…"))
	default:
		t.tunnel.say("", "")
	}
}

// showReturn shows the return address that follows from what is chosen.
func (t *tests) showReturn() {
	address := t.screen.settings().ReturnAddress()
	if t.address.Text != address {
		t.copyBack.Forget()
		t.address.Set(address)
	}
	t.back.Hidden = address == ""
}

// forget takes away the answers to what was tested: something else stands there now.
func (t *tests) forget() {
	for _, x := range []*trial{t.service, t.tunnel} {
		if x.said {
			x.said = false
			x.say("", "")
		}
	}
}

// trial is a button that tries something, with the answer beside it. Pressed again, it stops.
type trial struct {
	screen  *Screen
	content *fyne.Container
	button  *widgets.Button
	name    string
	mark    *widget.Icon
	line    *widgets.Prose
	try     func(context.Context, office.Settings, office.Secrets) (string, error)
	cancel  context.CancelFunc
	said    bool // the line is the answer of a trial
}

func newTrial(s *Screen, name string, try func(context.Context, office.Settings, office.Secrets) (string, error)) *trial {
	t := &trial{screen: s, name: name, try: try, mark: widget.NewIcon(theme.MarkSigned.Resource()), line: widgets.NewProse("")}
	t.button = widgets.NewButton(name, t.press)
	t.content = widgets.Across(t.mark, t.line, t.button)
	t.say("", "")
	return t
}

func (t *trial) press() {
	if t.cancel != nil {
		t.cancel()
		return
	}
	settings, secrets := t.screen.settings(), t.screen.form.secrets()
	t.button.SetText(lang.L("Stop"))
	t.say(theme.MarkNext, lang.L("Testing…"))
	t.cancel = async.Then(t.screen.env.Work, func(ctx context.Context) (string, error) { return t.try(ctx, settings, secrets) }, t.ended)
}

func (t *trial) ended(answer string, err error) {
	t.cancel, t.said = nil, true
	t.button.SetText(t.name)
	switch {
	case errors.Is(err, context.Canceled):
		t.said = false
		t.say("", "")
	case err != nil:
		t.say(theme.MarkProblem, i18n.Error(err))
	default:
		t.say(theme.MarkSigned, answer)
	}
}

func (t *trial) say(mark theme.Mark, text string) {
	t.mark.Hidden = mark == ""
	t.line.Colour = theme.Secondary
	if mark != "" {
		t.mark.SetResource(mark.Resource())
		t.line.Colour = mark.Colour()
	}
	t.line.Text = text
	t.line.Refresh()
	t.content.Refresh()
}
