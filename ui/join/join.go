// Package join makes this computer a desk of an office: the dialog in which to type an invitation's code, and the question whether
// to receive events from the hub named in an invitation.
package join

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// Office is an office that may become a desk.
type Office interface {
	FetchOffice(ctx context.Context, code, hub string) (agent.OfficeFile, error)
	ChangeSettings(ctx context.Context, change func(office.Settings) office.Settings, secrets office.Secrets) (office.Settings, error)
}

// Code asks for the code that a hub shows, and passes on what the hub gives for it. If the hub is not found, it asks where it is.
func Code(d *env.Env, o Office, got func(agent.OfficeFile)) {
	code, at := widgets.NewEntry("ABCD-EFGH-JKMN"), widgets.NewEntry("192.0.2.20:"+office.HubPort)
	typed := widgets.NewField(lang.L("Code"), code, lang.L("Whoever invites you sees it on their computer. Both computers must be in the same network."))
	where := widgets.NewField(lang.L("Address of the main computer"), at, lang.L("Leave empty to look for it in this network."))
	where.Hide()
	var popup *widgets.PopUp
	var do *widgets.Button
	leave, stop := func() { popup.Close() }, func() {}
	press := func() {
		if do.Disabled() {
			return
		}
		do.Disable()
		typed.Wrong("")
		typed.Hint(lang.L("Looking for the main computer…"))
		word, hub := code.Text, at.Text
		stop = async.Then(d.Work, func(ctx context.Context) (agent.OfficeFile, error) { return o.FetchOffice(ctx, word, hub) }, func(file agent.OfficeFile, err error) {
			do.Enable()
			if err == nil {
				popup.Close()
				got(file)
				return
			}
			typed.Wrong(i18n.Error(err))
			if why, _ := message.Of(err); why != message.CodeForm() {
				where.Show()
			}
			popup.Refresh()
			d.Window.Canvas().Focus(code)
		})
	}
	for _, e := range []*widgets.Entry{code, at} {
		e.OnSubmitted, e.OnEscape = func(string) { press() }, leave
	}
	do = widgets.NewButton(lang.L("Continue"), press).Primary()
	popup = widgets.Open(d.Window.Canvas(), widgets.Pad(20, widgets.Stack(16, widgets.NewHeading(lang.L("Join an office")), typed, where,
		widgets.Row(8, layout.NewSpacer(), widgets.NewButton(lang.L("Cancel"), leave), do))), fyne.NewSize(440, 0), code, func() { stop() })
}

// Ask asks whether an office already set up should receive its events from the hub named in an invitation. done is called once it
// does.
func Ask(d *env.Env, o Office, file agent.OfficeFile, done func()) {
	widgets.Ask(d.Window.Canvas(), widgets.Question{
		Title: lang.L("Get events from this computer?"),
		Text: lang.L("The invitation names the main computer, {{.Address}}. What the signing service reports then comes from there, and no longer to an address of this computer.",
			i18n.V{"Address": file.Settings.HubName()}),
		Safe: lang.L("Cancel"), Do: lang.L("Connect"),
		OnDo: func() {
			async.Try(d.Work, func(ctx context.Context) error {
				_, err := o.ChangeSettings(ctx, file.Into, office.Secrets{ClientSecret: file.ClientSecret, DeskKey: file.DeskKey})
				return err
			}, func(err error) {
				if err != nil { // the code is used up: what it gave is not dropped
					d.Notice(i18n.Error(err))
					Ask(d, o, file, done)
					return
				}
				done()
			})
		},
	})
}
