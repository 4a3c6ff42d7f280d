package window

import (
	"context"
	"errors"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// account is the foot of the sidebar: who is signed in, and the way in and out.
type account struct {
	env     *env.Env
	content *fyne.Container

	known    bool // the office has told who is signed in
	signedIn bool
	who      string
	cancel   context.CancelFunc // ends the sign-in that runs; nil while none does
	address  string             // what that sign-in wants to be shown in a browser
	lost     bool               // no browser shows it
	pasted   *widgets.Entry
	problem  *widget.Label
}

func newAccount(d *env.Env) *account {
	a := &account{env: d, content: container.NewStack(), problem: widget.NewLabel("")}
	a.problem.Wrapping, a.problem.SizeName = fyne.TextWrapWord, theme.Caption
	a.problem.Importance = widget.DangerImportance
	a.pasted = widgets.NewEntry(lang.L("Paste address"))
	a.pasted.OnSubmitted = func(string) { a.paste() }
	a.pasted.OnEscape = a.stop
	a.draw()
	return a
}

// show takes what the office says.
func (a *account) show(s agent.Status) {
	a.known, a.signedIn, a.who = true, s.SignedIn, s.Account.Email
	if a.who == "" && s.SignedIn {
		a.who = s.Account.OrganizationID
	}
	if a.cancel == nil { // a running sign-in keeps its fields
		a.draw()
	}
}

func (a *account) draw() {
	parts := widgets.Stack(8)
	if a.problem.Text != "" {
		parts.Add(a.problem)
	}
	switch {
	case a.cancel != nil:
		a.drawRunning(parts)
	case a.signedIn:
		more := widgets.NewButtonWithIcon("", fynetheme.MoreVerticalIcon(), nil)
		more.Importance, more.Tip = widget.LowImportance, lang.L("Account")
		more.OnTapped = func() { a.menu(more) }
		state := widgets.NewLine(lang.L("Signed in"))
		parts.Objects = []fyne.CanvasObject{widgets.Stack(0, append(parts.Objects,
			widgets.Across(widget.NewIcon(theme.MarkSigned.Resource()), state, more), widgets.NewFullCaption(a.who))...)}
	case a.known:
		state := widgets.NewCaption(lang.L("Not signed in"))
		in := widgets.NewButtonWithIcon(lang.L("Sign in"), fynetheme.LoginIcon(), func() { a.signIn("") })
		in.Importance = widget.HighImportance
		parts.Add(widgets.Across(widget.NewIcon(theme.MarkLater.Resource()), state, nil))
		parts.Add(in)
	}
	widgets.Remake(a.content, widgets.PadHV(6, 8, parts))
}

func (a *account) drawRunning(parts *fyne.Container) {
	if a.lost { // the problem says what to do
		parts.Add(widgets.NewFullCaption(a.address))
	} else {
		text := widgets.NewProse(lang.L("Finish in your browser. If nothing happens here, copy the address from the browser and paste it below."))
		text.Colour = theme.Text
		parts.Add(text)
	}
	parts.Add(a.pasted)
	use := widgets.NewButton(lang.L("Continue"), a.paste)
	parts.Add(widgets.Flow(4, widgets.NewButton(lang.L("Cancel"), a.stop), use))
	if a.address != "" {
		link := widgets.NewButtonWithIcon(lang.L("Copy link"), fynetheme.ContentCopyIcon(), func() {
			a.env.Copy(a.address)
			a.env.Notice(lang.L("The sign-in link is copied."))
		})
		link.Importance = widget.LowImportance
		parts.Add(link)
	}
}

func (a *account) menu(at fyne.CanvasObject) {
	items := fyne.NewMenu("",
		fyne.NewMenuItem(lang.L("Sign in with another account"), func() { a.signIn("login") }),
		fyne.NewMenuItem(lang.L("Sign out"), a.askSignOut))
	widgets.OpenMenu(a.env.Window.Canvas(), items, at)
}

// signIn runs a sign-in in the browser; prompt is as in agent.SignInOptions.
func (a *account) signIn(prompt string) {
	if a.cancel != nil {
		return
	}
	a.address, a.lost = "", false
	a.problem.SetText("")
	a.pasted.SetText("")
	a.cancel = async.Try(a.env.Work, func(ctx context.Context) error {
		return a.env.Office.SignIn(ctx, agent.SignInOptions{Prompt: prompt}, a.open)
	}, a.ended)
	a.draw()
}

// open shows the address in the browser, from whatever goroutine. Without a browser the link can still be copied, so
// the sign-in goes on.
func (a *account) open(address string) error {
	a.env.Work.Do(func() {
		a.address = address
		a.draw()
		a.env.Browse(address, func(err error) {
			if err != nil && a.address == address {
				a.lost = true
				a.problem.SetText(i18n.NoBrowser(err))
				a.draw()
			}
		})
	})
	return nil
}

func (a *account) ended(err error) {
	a.cancel, a.address = nil, ""
	a.pasted.SetText("")
	a.problem.SetText("")
	if err != nil && !errors.Is(err, context.Canceled) {
		a.problem.SetText(i18n.Error(err))
	}
	a.reread()
}

// reread shows the account as it is now.
func (a *account) reread() {
	a.draw()
	async.Then(a.env.Work, func(context.Context) (agent.Status, error) { return a.env.Office.Status() },
		func(s agent.Status, _ error) { a.show(s) }) // who is signed in is known from memory
}

func (a *account) paste() {
	if a.pasted.Text == "" {
		return
	}
	address := a.pasted.Text
	async.Try(a.env.Work, func(context.Context) error { return a.env.Office.Paste(address) }, func(err error) {
		if err != nil {
			a.problem.SetText(i18n.Error(err))
			a.draw()
		}
	})
}

func (a *account) stop() {
	if a.cancel != nil {
		a.cancel()
	}
}

// askSignOut asks before what takes a sign-in in the browser to take back.
func (a *account) askSignOut() {
	widgets.Ask(a.env.Window.Canvas(), widgets.Question{Title: lang.L("Sign out?"),
		Text: lang.L("Until you sign in again, nothing is sent and signed documents are not saved."),
		Safe: lang.L("Stay signed in"), Do: lang.L("Sign out"), OnDo: a.signOut})
}

func (a *account) signOut() { a.env.Attempt(a.env.Office.SignOut, a.reread) }
