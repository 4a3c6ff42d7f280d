package settings

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"
)

// tests tests the input for service and public address, and shows what to register for the return address.
type tests struct {
	screen                *Screen
	service, tunnel       *trial
	stamp                 *trial
	ngrok, external, none *fyne.Container
	back                  *widgets.Field
	address               *widgets.Prose
	copyBack              *widgets.CopyButton
}

func newTests(s *Screen) *tests {
	t := &tests{screen: s, address: widgets.NewFullName("")}
	t.service = newTrial(s, lang.L("Test the service"), func(ctx context.Context, settings office.Settings, secrets office.Secrets) (string, error) {
		err := s.office.TestService(ctx, settings)
		if err == nil {
			err = s.office.TestClient(ctx, settings, secrets.ClientSecret)
		}
		return lang.L("The service answers."), err
	})
	t.tunnel = newTrial(s, lang.L("Test the address"), func(ctx context.Context, settings office.Settings, secrets office.Secrets) (string, error) {
		address, err := s.office.TestTunnel(ctx, settings, secrets)
		return lang.L("Reachable: {{.Address}}", i18n.V{"Address": address}), err
	})
	t.stamp = newTrial(s, lang.L("Test the time stamps"), func(ctx context.Context, settings office.Settings, _ office.Secrets) (string, error) {
		authority, err := s.office.TestStamp(ctx, settings)
		return lang.L("Confirmed by “{{.Name}}”.", i18n.V{"Name": authority}), err
	})
	t.address.Bold = true
	t.copyBack = widgets.NewCopyButton(lang.L("Copy"), s.env.Later, s.env.Copy, func() string { return t.address.Text })
	t.back = widgets.NewField(lang.L("Address to register with the signing service"), widgets.Across(nil, t.address, t.copyBack), "").Row()
	return t
}

// show shows the public address's state.
func (t *tests) show(s agent.Status) {
	t.tunnel.button.Hidden = !t.screen.kept.HasAddress()
	if t.tunnel.said || t.tunnel.cancel != nil {
		return // a test's result stays until the next test
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

func (t *tests) showReturn() {
	address := t.screen.settings().ReturnAddress()
	if t.address.Text != address {
		t.copyBack.Forget()
		t.address.Set(address)
	}
	t.back.Hidden = address == ""
	t.stamp.content.Hidden = t.screen.settings().StampURL == ""
}

// forget clears the results of tests because the input has changed.
func (t *tests) forget() {
	for _, x := range []*trial{t.service, t.tunnel, t.stamp} {
		if x.said {
			x.said = false
			x.say("", "")
		}
	}
}

// trial is a button that runs a test, with the result next to it. Pressing it again stops the test.
type trial struct {
	screen  *Screen
	content *fyne.Container
	button  *widgets.Button
	name    string
	mark    *widget.Icon
	line    *widgets.Prose
	try     func(context.Context, office.Settings, office.Secrets) (string, error)
	cancel  context.CancelFunc
	said    bool // the line shows a test's result
	page    int  // on which it was begun
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
	t.page = t.screen.tabs.Chosen()
	t.button.SetText(lang.L("Stop"))
	t.say(theme.MarkNext, lang.L("Testing…"))
	defer t.screen.lock() // input under test must not change
	t.cancel = async.Then(t.screen.env.Work, func(ctx context.Context) (string, error) { return t.try(ctx, settings, secrets) }, func(answer string, err error) {
		if !reflect.DeepEqual(settings, t.screen.settings()) {
			err = context.Canceled // the answer is about other input
		}
		t.ended(answer, err)
	})
}

func (t *trial) ended(answer string, err error) {
	t.cancel, t.said = nil, true
	t.button.SetText(t.name)
	t.screen.lock()
	switch {
	case errors.Is(err, context.Canceled):
		t.said = false
		t.say("", "")
	case t.screen.marks(err, t.screen.content.Visible() && t.screen.tabs.Chosen() == t.page):
		t.say(theme.MarkProblem, lang.L("Check the marked fields."))
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

// account shows who is signed in. The window handles signing in and out.
type account struct {
	screen          *Screen
	content         *fyne.Container
	face            *widgets.Avatar
	who, of, id     *widgets.Prose
	organization    *widgets.Field // with id
	in, other, gone *widgets.Button
}

func newAccount(s *Screen) *account {
	a := &account{screen: s, face: widgets.NewAvatar("", theme.MarkLater), who: widgets.NewFullName(""), of: widgets.NewFullCaption(""), id: widgets.NewFullName("")}
	a.organization = widgets.NewField(lang.L("Organization"), a.id, "").Row()
	a.in = widgets.NewButton(lang.L("Sign in"), func() { s.env.Go.SignIn("") }).Primary()
	a.other = widgets.NewButton(lang.L("Switch account"), func() { s.env.Go.SignIn("login") }).Quiet()
	a.gone = widgets.NewButton(lang.L("Sign out"), s.env.Go.SignOut).Quiet()
	a.content = widgets.Aside(260, widgets.Across(a.face, widgets.Stack(2, a.who, a.of), nil), widgets.Row(8, a.in, a.other, a.gone))
	a.content.Hide() // until known
	return a
}

func (a *account) show(s agent.Status) {
	_, away := s.MovedAway() // then nobody can sign in
	a.content.Show()
	a.in.Hidden = s.SignedIn || away
	a.other.Hidden, a.gone.Hidden = !s.SignedIn, !s.SignedIn
	a.face.Set("", theme.MarkLater)
	a.who.Text, a.of.Text = lang.L("Not signed in"), lang.L("Documents signed in the meantime are saved after you sign in.")
	if service, _ := a.screen.kept.Hosts(); s.SignedIn {
		a.face.Set(s.Account.Email, theme.MarkSigned)
		a.who.Text, a.of.Text = cmp.Or(s.Account.Email, lang.L("Signed in")), lang.L("Signed in at {{.Service}}", i18n.V{"Service": service})
	}
	if away {
		a.of.Text = ""
	}
	a.content.Refresh()
	a.id.Set(s.Account.OrganizationID)
	widgets.Show(a.organization, a.id.Text != "")
}

// showExpired lists the packages whose papers need not be kept any longer, earliest signed first.
func showExpired(s *Screen) {
	env.Get(s.env, func(context.Context) ([]office.Package, error) {
		return s.office.MayGo(office.Query{Sort: office.ByExecuted, Reverse: true})
	}, func(list []office.Package) {
		rows := widgets.Stack(8)
		for _, p := range list {
			when := widgets.NewCaption(lang.L("signed {{.Date}}", i18n.V{"Date": p.Executed.Local().Format(time.DateOnly)}))
			rows.Add(widgets.Across(nil, widgets.NewFullName(i18n.Title(p.Name)), when))
		}
		says := lang.L("Countersign never deletes them. Delete them in their folders if you no longer need them.")
		if len(list) == 0 {
			says = lang.L("No document is past its retention period yet.")
			if s.kept.KeepYears == "" {
				says = lang.L("No retention period is set.")
			}
		}
		parts := []fyne.CanvasObject{widgets.NewHeading(lang.L("Documents past their retention period")), widgets.NewParagraph(says)}
		if len(list) > 0 {
			parts = append(parts, widgets.Tall(260, widgets.NewVScroll(rows)))
		}
		var pop *widgets.PopUp
		leave := widgets.NewButton(lang.L("Close"), func() { pop.Close() })
		parts = append(parts, widgets.Row(8, layout.NewSpacer(), leave))
		pop = widgets.Open(s.env.Window.Canvas(), widgets.Pad(20, widgets.Stack(16, parts...)), fyne.NewSize(460, 0), leave, nil)
	})
}
