package settings

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/join"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// Desks are the office's other computers.
type Desks interface {
	Desks(ctx context.Context) []office.DeskRow
	InviteDesk(ctx context.Context, q office.DeskInvite) (agent.OfficeFile, error)
	MovedHub(servers string) (agent.OfficeFile, error)
	OfferDesk(ctx context.Context, file agent.OfficeFile, tell func(code string) error) error
	FetchOffice(ctx context.Context, code, hub string) (agent.OfficeFile, error)
	RemoveDesk(ctx context.Context, name string) error
}

const hubPort = ":" + office.HubPort

// desks is the section about them. In an office with one desk it is a quiet button.
type desks struct {
	screen  *Screen
	reader  *async.Reader[[]office.DeskRow]
	begin   fyne.CanvasObject // for an office with one desk
	hub     fyne.CanvasObject // for the hub
	desk    fyne.CanvasObject // for a desk
	section fyne.CanvasObject // for both
	where   *widgets.Prose
	list    *fyne.Container
	tell    *widgets.Button   // tells the desks where the hub is
	away    bool              // another computer has the office
	codes   map[string]func() // end the codes of invitations, by the name of the desk
}

func newDesks(s *Screen) *desks {
	d := &desks{screen: s, list: widgets.Stack(12), where: widgets.NewProse(""), codes: map[string]func(){}}
	d.reader = async.NewReader(s.env.Work, func(ctx context.Context) ([]office.DeskRow, error) { return s.office.Desks(ctx), nil }, d.show)
	d.begin = widgets.Section(lang.L("Work together"), 12, widgets.NewProse(lang.L("Several people can work in this office, each on their own computer.")),
		widgets.Flow(8, widgets.NewButton(lang.L("Share with other computers…"), d.makeHub), widgets.NewButton(lang.L("Enter a code…"), d.enter).Quiet()))
	d.tell = widgets.NewButton(lang.L("Reconnect computers…"), d.tellMoved).Quiet()
	d.hub = widgets.Stack(12, widgets.NewProse(lang.L("This is the main computer: it shares events with the others. Keep it switched on.")),
		d.list, widgets.Flow(8, widgets.NewButton(lang.L("Add a computer…"), func() { d.invite("") }), d.tell, widgets.NewButton(lang.L("Stop sharing…"), d.stop).Quiet()))
	d.desk = widgets.Stack(12, d.where, widgets.NewProse(lang.L("Is it gone? Make this the main computer, or enter the code that a new one shows.")),
		widgets.Flow(8, widgets.NewButton(lang.L("Make this the main computer…"), d.takeOver), widgets.NewButton(lang.L("Enter a code…"), d.enter).Quiet()),
		d.check("saved_elsewhere"))
	d.section = widgets.Section(lang.L("Work together"), 12, d.hub, d.desk, d.check("notify_mine"))
	return d
}

// check is a check box aligned with the rest of the section.
func (d *desks) check(key string) fyne.CanvasObject {
	k := d.screen.form.by[key]
	k.tab = tabComputers
	return k.field
}

// adapt shows what matches the stored settings.
func (d *desks) adapt(s office.Settings) {
	desk := s.Tunnel == office.TunnelOffice
	widgets.Show(d.begin, !desk && !s.IsHub() && !d.away)
	widgets.Show(d.section, (desk || s.IsHub()) && !d.away)
	widgets.Show(d.hub, s.IsHub())
	widgets.Show(d.desk, desk)
	d.where.Set(lang.L("Events come from the main computer, {{.Address}}.", i18n.V{"Address": s.HubName()}))
	if s.IsHub() {
		d.reader.Ask()
	}
}

func (d *desks) show(rows []office.DeskRow, _ error) {
	var parts []fyne.CanvasObject
	for _, x := range rows {
		parts = append(parts, d.row(x))
	}
	widgets.Remake(d.list, parts...)
	widgets.Show(d.list, len(parts) > 0)
	widgets.Show(d.tell, len(parts) > 0)
	d.section.Refresh()
}

func (d *desks) row(x office.DeskRow) fyne.CanvasObject {
	mark, state := theme.MarkLater, lang.L("It hasn’t connected yet.")
	switch {
	case x.Connected:
		mark, state = theme.MarkSigned, lang.L("Connected.")
	case !x.Seen.IsZero():
		state = lang.L("Last seen {{.When}}.", i18n.V{"When": i18n.Clock(d.screen.env.Now(), x.Seen)})
	}
	if x.Waiting > 0 {
		state += " " + lang.N("{{.PluralCount}} events are waiting.", x.Waiting)
	}
	if x.Person != "" {
		state = x.Person + " · " + state
	}
	text := widgets.Stack(2, widgets.NewFullName(x.Name), widgets.NewProse(state))
	var buttons []fyne.CanvasObject
	if !x.Connected {
		buttons = append(buttons, widgets.NewButton(lang.L("New code…"), func() { d.invite(x.Name) }).Quiet())
	}
	buttons = append(buttons, widgets.NewButton(lang.L("Remove"), func() { d.remove(x.Name) }).Quiet())
	return widgets.Across(nil, widgets.Beside(widgets.Mark(20, widget.NewIcon(mark.Resource())), text), widgets.Row(4, buttons...))
}

// makeHub explains what the system is about to ask, and lets others connect.
func (d *desks) makeHub() {
	widgets.Ask(d.screen.env.Window.Canvas(), widgets.Question{
		Title: lang.L("Share with other computers?"),
		Text: lang.L("Several people can then work in this office, each on their own computer. This one becomes the main computer: it stays on and shares events with the others.") + "\n\n" +
			lang.L("The system may ask whether Countersign may take connections from the network. Allow it for private networks: only invited computers get in."),
		Safe: lang.L("Cancel"), Do: lang.L("Make this the main computer"), OnDo: func() { d.listen(hubPort) },
	})
}

// enter lets this computer join the office whose hub shows a code.
func (d *desks) enter() {
	join.Code(d.screen.env, d.screen.office, func(file agent.OfficeFile) { join.Ask(d.screen.env, d.screen.office, file, d.screen.Reload) })
}

func (d *desks) stop() {
	widgets.Ask(d.screen.env.Window.Canvas(), widgets.Question{
		Title: lang.L("Stop sharing with the other computers?"), Text: lang.L("The other computers then ask the signing service themselves, and documents reach them a little later."),
		Safe: lang.L("Cancel"), Do: lang.L("Stop sharing"), OnDo: func() {
			for name := range d.codes {
				d.endCode(name)
			}
			d.listen("")
		},
	})
}

func (d *desks) listen(at string) {
	d.screen.env.Attempt(func(ctx context.Context) error {
		_, err := d.screen.office.ChangeSettings(ctx, func(s office.Settings) office.Settings {
			s.OfficeListen, s.Office, s.OfficePin = at, "", ""
			return s
		}, office.Secrets{})
		return err
	}, d.screen.Reload)
}

func (d *desks) remove(name string) {
	widgets.Ask(d.screen.env.Window.Canvas(), widgets.Question{
		Title: lang.L("Remove the computer {{.Name}}?", i18n.V{"Name": name}),
		Text:  lang.L("It is cut off at once and gets no more events from here. What it has saved stays there."),
		Safe:  lang.L("Cancel"), Do: lang.L("Remove"),
		OnDo: func() {
			d.endCode(name)
			d.screen.env.Attempt(func(ctx context.Context) error { return d.screen.office.RemoveDesk(ctx, name) }, d.reader.Ask)
		},
	})
}
