package settings

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

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
	code, says := widgets.NewFullHeading(""), widgets.NewParagraph("")
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
		browse.SaveNew(d.screen.env, lang.L("Invitation"), called+agent.OfficeEnding, func(path string) {
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
