package settings

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/join"
	"countersign/ui/theme"
	"countersign/ui/widgets"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"
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

// desks is the card about them. In an office with one desk it says how to work together.
type desks struct {
	screen  *Screen
	reader  *async.Reader[[]office.DeskRow]
	begin   fyne.CanvasObject // for an office with one desk
	hub     fyne.CanvasObject // for the hub
	desk    fyne.CanvasObject // for a desk
	mine    fyne.CanvasObject // for both
	section fyne.CanvasObject // for all
	where   *widgets.Prose
	list    *fyne.Container
	away    bool              // another computer has the office
	codes   map[string]func() // end the codes of invitations, by the name of the desk
}

func newDesks(s *Screen) *desks {
	d := &desks{screen: s, list: widgets.Stack(12), where: widgets.NewProse(""), codes: map[string]func(){}}
	d.reader = async.NewReader(s.env.Work, func(ctx context.Context) ([]office.DeskRow, error) { return s.office.Desks(ctx), nil }, d.show)
	d.begin = widgets.Stack(12, deed(lang.L("Work together"), widgets.NewProse(lang.L("Several people can work in this office, each on their own computer.")),
		widgets.NewButton(lang.L("Share with other computers…"), d.makeHub)),
		widget.NewSeparator(), deed(lang.L("Join an office"), nil, widgets.NewButton(lang.L("Enter a code…"), d.enter)))
	d.hub = widgets.Stack(12, deed(lang.L("Main computer"), widgets.NewProse(lang.L("This computer shares events with the others. Keep it switched on.")),
		widgets.NewButton(lang.L("Add a computer…"), func() { d.invite("") }), widgets.NewMore(lang.L("More actions"), d.menu)), d.list)
	d.desk = widgets.Stack(12, deed(lang.L("Main computer"), d.where), widget.NewSeparator(),
		widgets.NewProse(lang.L("Is it gone? Make this the main computer, or enter the code that a new one shows.")),
		widgets.Flow(8, widgets.NewButton(lang.L("Make this the main computer…"), d.takeOver), widgets.NewButton(lang.L("Enter a code…"), d.enter).Quiet()),
		widget.NewSeparator(), d.check("saved_elsewhere"))
	d.mine = widgets.Stack(12, widget.NewSeparator(), d.check("notify_mine"))
	d.section = widgets.Card(widgets.Stack(12, d.begin, d.hub, d.desk, d.mine))
	return d
}

// deed is something that can be done, its name above what there is to say of it, with its buttons beside it.
func deed(name string, says fyne.CanvasObject, buttons ...fyne.CanvasObject) fyne.CanvasObject {
	words := widgets.Stack(2, widgets.NewFullName(name))
	if says != nil {
		words.Add(says)
	}
	return widgets.Across(nil, words, widgets.Row(4, buttons...))
}

// menu is what a hub can do with all desks.
func (d *desks) menu() *fyne.Menu {
	stop := fyne.NewMenuItem(lang.L("Stop sharing…"), d.stop)
	if len(d.list.Objects) == 0 {
		return fyne.NewMenu("", stop)
	}
	return fyne.NewMenu("", fyne.NewMenuItem(lang.L("Reconnect computers…"), d.tellMoved), stop)
}

// menuOf is what can be done with a desk.
func (d *desks) menuOf(x office.DeskRow) *fyne.Menu {
	remove := fyne.NewMenuItem(lang.L("Remove"), func() { d.remove(x.Name) })
	if x.Connected {
		return fyne.NewMenu("", remove)
	}
	return fyne.NewMenu("", fyne.NewMenuItem(lang.L("New code…"), func() { d.invite(x.Name) }), remove)
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
	widgets.Show(d.section, !d.away)
	widgets.Show(d.mine, desk || s.IsHub())
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
		parts = append(parts, widget.NewSeparator(), d.row(x))
	}
	widgets.Remake(d.list, parts...)
	widgets.Show(d.list, len(parts) > 0)
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
	return widgets.Across(nil, widgets.Beside(widgets.Mark(20, widget.NewIcon(mark.Resource())), text),
		widgets.NewMore(lang.L("More actions"), func() *fyne.Menu { return d.menuOf(x) }))
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

// invite asks for a new desk's name, or invites the one of that name again, and offers its invitation.
func (d *desks) invite(again string) {
	name := widgets.NewEntry(lang.L("Reception"))
	name.SetText(again)
	secret := widgets.NewCheck(lang.L("Include the client secret"), nil)
	called := widgets.NewField(lang.L("Name of the computer"), name, "")
	about := widgets.NewField("", widgets.Outdent(secret), lang.L("Otherwise, whoever sets up that computer has to enter it. The invitation is for one computer; whoever has it reads what the service reports to this office."))
	title, first, beside, fields := lang.L("Add a computer"), fyne.Focusable(name), called, []fyne.CanvasObject{called, about}
	if again != "" {
		title, first, beside, fields = lang.L("Invite {{.Name}}", i18n.V{"Name": again}), nil, about, fields[1:]
	}
	var file agent.OfficeFile
	d.ask(title, lang.L("Continue"), first, beside, func(ctx context.Context) (err error) {
		file, err = d.screen.office.InviteDesk(ctx, office.DeskInvite{Name: name.Text, WithSecret: secret.Checked, Again: again != ""})
		return err
	}, func() { d.offer(strings.TrimSpace(name.Text), file) }, fields...)
}

// ask shows fields until the action succeeds; until then it shows the error next to a field. Without first, the button gets the
// focus.
func (d *desks) ask(title, do string, first fyne.Focusable, beside *widgets.Field, done func(context.Context) error, then func(), fields ...fyne.CanvasObject) {
	var popup *widgets.PopUp
	var act *widgets.Button
	leave := func() { popup.Leave() }
	press := func() {
		if act.Disabled() {
			return
		}
		popup.Hold(true)
		async.Try(d.screen.env.Work, done, func(err error) {
			popup.Hold(false)
			if err == nil {
				leave()
				then()
				return
			}
			beside.Wrong(i18n.Error(err))
			popup.Refresh()
			widgets.Focus(d.screen.env.Window.Canvas(), first)
		})
	}
	act = widgets.NewButton(do, press).Primary()
	if first == nil {
		first = act
	}
	if e, typed := first.(*widgets.Entry); typed {
		e.OnSubmitted, e.OnEscape = func(string) { press() }, leave
	}
	rows := append([]fyne.CanvasObject{widgets.NewHeading(title)}, fields...)
	rows = append(rows, widgets.Row(8, layout.NewSpacer(), widgets.NewButton(lang.L("Cancel"), leave), act))
	popup = widgets.Open(d.screen.env.Window.Canvas(), widgets.Pad(20, widgets.Stack(16, rows...)), fyne.NewSize(480, 0), first, nil)
}

// tellMoved offers what tells all desks where the hub is now.
func (d *desks) tellMoved() {
	env.Get(d.screen.env, func(context.Context) (agent.OfficeFile, error) { return d.screen.office.MovedHub("") }, func(file agent.OfficeFile) { d.offer("", file) })
}

// offer shows an invitation's code until it is used, or, without a name, the code of what all desks are told. It stays valid when
// this is closed. The same can be saved as a file.
func (d *desks) offer(name string, file agent.OfficeFile) {
	all := name == ""
	title, called, how := lang.L("Invite {{.Name}}", i18n.V{"Name": name}), name, lang.L("On the other computer, choose “Enter a code…” in Countersign and type this code. It is valid once, for ten minutes.")
	if all {
		title, called, how = lang.L("Reconnect the computers"), lang.L("Main computer"), lang.L("If this computer took over from another, tell the rest: on each of them, choose “Enter a code…” in Settings and type this code. It is valid for ten minutes.")
	}
	code, says := widgets.NewFullHeading("…"), widgets.NewParagraph(how) // as they are shown first, so that it opens in the middle
	code.Scale = theme.Code
	var popup *widgets.PopUp
	closed := false
	var again, save *widgets.Button
	say := func(text string, valid, renew bool) {
		says.Set(text)
		widgets.Show(code, valid)
		widgets.Show(again, renew)
		popup.Refresh()
	}
	show := func() {
		code.Set("…")
		say(how, true, false)
		d.endCode(name)
		d.codes[name] = async.Try(d.screen.env.Work, func(ctx context.Context) error {
			return d.screen.office.OfferDesk(ctx, file, func(now string) error {
				d.screen.env.Work.Do(func() { code.Set(now) })
				return nil
			})
		}, func(err error) {
			switch {
			case err == nil:
				save.Hide()
				got := lang.L("{{.Name}} has its invitation. The list shows it as connected once it is set up.", i18n.V{"Name": name})
				if say(got, false, false); closed {
					d.screen.env.Notice(got)
				}
			case !errors.Is(err, context.Canceled):
				say(i18n.Error(err), false, true)
			}
		})
	}
	again = widgets.NewButton(lang.L("New code"), func() {
		if all {
			show()
			return
		}
		popup.Close() // a computer may have what the old code gave out
		d.invite(name)
	})
	save = widgets.NewButton(lang.L("Save as a file…"), func() {
		browse.SaveNew(d.screen.env, lang.L("Invitation"), office.FileName(called+agent.OfficeEnding), func(path string) {
			async.Try(d.screen.env.Work, func(context.Context) error { return agent.WriteOffice(path, file) }, func(err error) {
				if err != nil {
					say(i18n.Error(err), code.Visible(), again.Visible())
					return
				}
				d.endCode(name) // it would be for the same computer
				widgets.Show(save, all)
				say(lang.L("The invitation is saved. Open the file with Countersign on the other computer, and delete it then."), false, all)
			})
		})
	}).Quiet()
	leave := widgets.NewButton(lang.L("Close"), func() { popup.Close() })
	popup = widgets.Open(d.screen.env.Window.Canvas(), widgets.Pad(20, widgets.Stack(16, widgets.NewHeading(title), code, says,
		widgets.Row(8, save, layout.NewSpacer(), again, leave))), fyne.NewSize(480, 0), leave, func() {
		closed = true
		d.reader.Ask()
	})
	show()
}

// endCode ends the code of a desk's invitation; without a name, of what all desks are told.
func (d *desks) endCode(name string) {
	if end := d.codes[name]; end != nil {
		end()
	}
}

// takeOver makes this desk the hub in place of one that is gone: first its address, then what the others need to find it.
func (d *desks) takeOver() {
	s := d.screen.office.Settings()
	kinds := []office.TunnelKind{office.TunnelNone, office.TunnelNgrok, office.TunnelExternal}
	token := widgets.NewSecret()
	secret := widgets.NewField(lang.L("ngrok authtoken"), token, lang.L("From the page “Your Authtoken” of the ngrok account."))
	options := []widgets.Option{
		{Name: lang.L("No public address"), Text: lang.L("Works everywhere. Signatures show up a few minutes later.")},
		{Name: lang.L("An ngrok address"), Text: cmp.Or(s.NgrokDomain, lang.L("ngrok gives this computer an address of its own. A free account will do."))},
		{Name: lang.L("Your office's web server (reverse proxy)"), Text: lang.L("Have it forward {{.Address}} to this computer.", i18n.V{"Address": s.PublicURL})},
	}
	tunnel := office.TunnelNone
	switch {
	case s.PublicURL != "":
		tunnel = office.TunnelExternal
	case s.NgrokDomain != "":
		tunnel = office.TunnelNgrok
	}
	kind := widgets.NewChoice(options, -1, func(i int) {
		tunnel = kinds[i]
		widgets.Show(secret, tunnel == office.TunnelNgrok)
	}, nil)
	kind.Offer(2, s.PublicURL != "")
	kind.Choose(slices.Index(kinds, tunnel))
	d.ask(lang.L("Make this the main computer?"), lang.L("Make this the main computer"), kind.Items[kind.Chosen], secret, func(ctx context.Context) error {
		_, err := d.screen.office.ChangeSettings(ctx, func(s office.Settings) office.Settings {
			s.Tunnel, s.Office, s.OfficePin, s.OfficeListen, s.SavedElsewhere = tunnel, "", "", hubPort, false
			return s
		}, office.Secrets{NgrokAuthtoken: token.Text})
		return err
	}, func() {
		d.screen.Reload()
		d.tellMoved()
	}, widgets.NewParagraph(lang.L("The signing service then reports to this computer, documents are saved here, and the other computers connect to it. How does the service reach it?")),
		kind, secret, widgets.NewProse(lang.L("The system may ask whether Countersign may take connections from the network. Allow it for private networks: only invited computers get in.")))
}
