package settings

import (
	"cmp"
	"context"
	"errors"
	"slices"

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

// add asks what the desk is called.
func (d *desks) add() {
	name := widgets.NewEntry(lang.L("Reception"))
	d.ask(lang.L("Add a desk"), lang.L("Continue"), name, func() bool {
		called := name.Text
		if called != "" {
			env.Get(d.screen.env, func(ctx context.Context) (agent.OfficeFile, error) {
				return d.screen.office.InviteDesk(ctx, called, "", false)
			}, func(file agent.OfficeFile) { d.offer(called, file) })
		}
		return called != ""
	}, widgets.NewField(lang.L("Name of the desk"), name, lang.L("The invitation is for one computer. Whoever has it reads what the service reports to this office, so hand it over safely.")))
}

// ask shows fields and what is done with them, which reports whether they are filled in.
func (d *desks) ask(title, do string, first fyne.Focusable, done func() bool, fields ...fyne.CanvasObject) {
	var popup *widgets.PopUp
	leave := func() { popup.Close() }
	press := func() {
		if done() {
			leave()
		}
	}
	if e, typed := first.(*widgets.Entry); typed {
		e.OnSubmitted, e.OnEscape = func(string) { press() }, leave
	}
	rows := append([]fyne.CanvasObject{widgets.NewHeading(title)}, fields...)
	rows = append(rows, widgets.Row(8, layout.NewSpacer(), widgets.NewButton(lang.L("Cancel"), leave), widgets.NewButton(do, press).Primary()))
	popup = widgets.Open(d.screen.env.Window.Canvas(), widgets.Pad(20, widgets.Stack(16, rows...)), fyne.NewSize(480, 0), first, nil)
}

// tellMoved offers what tells all desks where the hub is now.
func (d *desks) tellMoved() {
	env.Get(d.screen.env, func(context.Context) (agent.OfficeFile, error) { return d.screen.office.MovedHub("") }, func(file agent.OfficeFile) { d.offer("", file) })
}

// offer shows the code of an invitation until it was typed; without a name, of what all desks are told, for as long as it is valid. The
// same is to be had as a file. A desk whose invitation nobody got is removed: nobody has its key.
func (d *desks) offer(name string, file agent.OfficeFile) {
	title, how := lang.L("Invite {{.Name}}", i18n.V{"Name": name}), lang.L("On the other computer, choose “Enter a code…” in Countersign and type this code. It is valid once, for ten minutes, while this stays open.")
	if name == "" {
		title, how = lang.L("Tell all desks where the hub is"), lang.L("On each of the other desks, choose “Enter a code…” in Settings and type this code. It is valid for ten minutes, while this stays open.")
	}
	code, says := widgets.NewFullHeading(""), widgets.NewParagraph(how)
	code.Scale = theme.Code
	has := name == "" // somebody has the invitation
	stop := func() {}
	var popup *widgets.PopUp
	var show func()
	again := widgets.NewButton(lang.L("New code"), func() { show() })
	leave := widgets.NewButton(lang.L("Cancel"), func() { popup.Close() })
	if has {
		leave.SetText(lang.L("Close"))
	}
	var save *widgets.Button
	have := func(text string) {
		if has = true; name != "" {
			stop()
			code.Hide()
			save.Hide()
		}
		says.Set(text)
		leave.SetText(lang.L("Close"))
		popup.Refresh()
	}
	show = func() {
		again.Hide()
		code.Set("…")
		code.Show()
		says.Set(how)
		popup.Refresh()
		stop = async.Try(d.screen.env.Work, func(ctx context.Context) error {
			return d.screen.office.OfferDesk(ctx, file, func(now string) error {
				d.screen.env.Work.Do(func() { code.Set(now) })
				return nil
			})
		}, func(err error) {
			switch {
			case err == nil:
				have(lang.L("{{.Name}} has its invitation. The list shows it as connected once it is set up.", i18n.V{"Name": name}))
			case !errors.Is(err, context.Canceled):
				code.Hide()
				says.Set(i18n.Error(err))
				again.Show()
				popup.Refresh()
			}
		})
	}
	save = widgets.NewButton(lang.L("Save as a file…"), func() {
		browse.Save(d.screen.env, lang.L("Invitation"), map[bool]string{true: lang.L("Hub"), false: name}[name == ""]+agent.OfficeEnding, func(path string, _ bool) {
			async.Try(d.screen.env.Work, func(context.Context) error { return agent.WriteOffice(path, file) }, func(err error) {
				if err != nil {
					says.Set(i18n.Error(err))
					popup.Refresh()
					return
				}
				have(lang.L("The invitation is saved. Open the file with Countersign on the other computer, and delete it then."))
			})
		})
	}).Quiet()
	popup = widgets.Open(d.screen.env.Window.Canvas(), widgets.Pad(20, widgets.Stack(16, widgets.NewHeading(title), code, says,
		widgets.Row(8, save, layout.NewSpacer(), again, leave))), fyne.NewSize(480, 0), leave, func() {
		stop()
		if !has {
			d.screen.env.Attempt(func(ctx context.Context) error { return d.screen.office.RemoveDesk(ctx, name) }, d.reader.Ask)
		}
		d.reader.Ask()
	})
	show()
}

// takeOver makes this desk the hub, in the place of one that is gone: its address, and then what the others need to find it.
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
	s.Tunnel = office.TunnelNone
	switch {
	case s.PublicURL != "":
		s.Tunnel = office.TunnelExternal
	case s.NgrokDomain != "":
		s.Tunnel = office.TunnelNgrok
	}
	kind := widgets.NewChoice(options, -1, func(i int) {
		s.Tunnel = kinds[i]
		widgets.Show(secret, s.Tunnel == office.TunnelNgrok)
	}, nil)
	kind.Offer(2, s.PublicURL != "")
	kind.Choose(slices.Index(kinds, s.Tunnel))
	d.ask(lang.L("Make this computer the hub?"), lang.L("Make this computer the hub"), kind.Items[kind.Chosen], func() bool {
		s.Office, s.OfficePin, s.OfficeListen, s.SavedElsewhere = "", "", hubPort, false
		secrets := office.Secrets{NgrokAuthtoken: token.Text}
		async.Try(d.screen.env.Work, func(ctx context.Context) error { return d.screen.office.Configure(ctx, s, secrets) }, func(err error) {
			if d.screen.Reload(); err != nil {
				d.screen.env.Notice(i18n.Error(err))
				return
			}
			d.tellMoved()
		})
		return true
	}, widgets.NewParagraph(lang.L("The signing service then reports to this computer, documents are saved here, and the other desks connect to it. How does the service reach it?")),
		kind, secret, widgets.NewProse(lang.L("The system may ask whether Countersign may take connections from the network. Allow it for private networks: only invited desks get in.")))
}
