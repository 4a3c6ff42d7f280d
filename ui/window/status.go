package window

import (
	"cmp"
	"context"
	"errors"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/about"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/settings"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// showHealth shows the gravest problem on every screen but the status, which lists all, and marks the status entry, also for mere
// limitations. Limitations are explained only on the status screen; issues that need nobody are not marked.
func (w *Window) showHealth(issues []agent.Issue) {
	issue, others := env.Problem(issues)
	w.troubled(issue.Severity)
	w.account.hear(issue.Action == agent.ActSignIn && issue.Severity == agent.Problem && w.at != showStatus)
	if issue.Severity != agent.Problem || w.at == showStatus {
		if w.health.Visible() {
			w.health.Clear()
		}
		return
	}
	note := i18n.Since(w.options.Now(), issue.Since)
	if others > 0 {
		note = lang.N("{{.PluralCount}} more problems", others)
	}
	action := i18n.Action(issue.Action)
	if issue.Action == agent.ActSignIn { // the account below has that button
		action = ""
	}
	w.health.Say(i18n.Message(issue.Message), note, action, func() { w.Act(issue, nil) })
}

// Act performs an issue's action: it opens a screen, or asks the office. done, which may be nil, is called when that has finished
// and the button may be pressed again.
func (w *Window) Act(issue agent.Issue, done func()) {
	if done == nil {
		done = func() {}
	}
	switch issue.Action {
	case agent.ActSignIn:
		w.account.signIn("")
	case agent.ActSettings:
		w.ShowSettings()
		w.settings.get().ShowCause(issue.ID)
	case agent.ActFolders:
		w.ShowSettings()
		w.settings.get().ShowFolders()
	case agent.ActChooseFolder:
		w.ShowSettings()
		w.settings.get().PickFolder()
	case agent.ActReview:
		w.Go(showPackages)
		w.packages.ShowProblems()
	case agent.ActNetwork:
		w.env.OpenAddress(w.office.NetworkPage())
	case agent.ActQuit:
		w.options.Quit()
	case agent.ActTakeBack:
		widgets.Ask(w.env.Window.Canvas(), widgets.Question{
			Title: lang.L("Take the office back?"),
			Text:  lang.L("Do this only if the file was never brought over, or the other computer is out of use. You then sign in here again."),
			Safe:  lang.L("Leave it there"), Do: lang.L("Take the office back"),
			OnDo: func() { w.try(issue, done) },
		})
	default:
		w.try(issue, done)
		return
	}
	done()
}

func (w *Window) try(issue agent.Issue, done func()) {
	office := w.office
	async.Try(w.pool, func(ctx context.Context) error { return office.Act(ctx, issue) }, func(err error) {
		if err != nil {
			w.env.Notice(i18n.Again(err, w.health.Text()))
		}
		done()
		w.status.Ask()
	})
}

const lastSaved = 5

const lastUsed = 5

// overview is the data for the health banner, the status screen, the account and the tray.
type overview struct {
	status agent.Status
	saved  []office.Job // newest first
	paused time.Time    // until when notifications are paused; zero if they are not

	templates bool                  // the service may have templates
	used      []office.UsedTemplate // used here, most recent first
	update    office.Update
}

func overviewOf(office trayOffice) (overview, error) {
	status, err1 := office.Status()
	saved, err2 := office.Saved(lastSaved)
	used, err3 := office.UsedTemplates(lastUsed)
	return overview{status, saved, office.Snoozed(), office.TemplatesOffered(), used, office.Update()}, cmp.Or(err1, err2, err3)
}

// showOverview shows what was read. After an error, the old state stays and health explains.
func (w *Window) showOverview(o overview, err error) {
	if err != nil && w.last != nil {
		o.saved, o.used, o.status.Events, o.status.Packages, o.status.Saves = w.last.saved, w.last.used, w.last.status.Events, w.last.status.Packages, w.last.status.Saves
	}
	w.last = &o
	if !o.paused.After(w.options.Now()) {
		o.paused = time.Time{}
	}
	if o.paused != w.paused {
		w.paused = o.paused
		if !o.paused.IsZero() {
			w.later(o.paused.Sub(w.options.Now()), w.status.Ask) // until then, the tray shows the pause
		}
	}
	w.showHealth(o.status.Health)
	w.packages.ShowStatus(o.status)
	w.standing.ShowStatus(o.status)
	w.account.show(o.status)
	w.settings.ifMade(func(s *settings.Screen) {
		s.ShowStatus(o.status)
		s.ShowUpdate(o.update)
	})
	w.about.ifMade(func(s *about.Screen) { s.ShowUpdate(o.update) })
	w.tray.show(o)
	if w.setup != nil {
		w.setup.ShowHealth(o.status.Health)
	}
}

// say tells the person something where it is seen: in the wizard, which covers the window, at its foot.
func (w *Window) say(text string) {
	if w.setup != nil {
		w.setup.Say(text)
		return
	}
	w.notice.Say(text)
}

// soon offers to undo an action, even while the window is hidden.
func (w *Window) soon(u env.Undoable) (over func()) {
	var passed time.Duration
	if !u.Pressed.IsZero() {
		passed = w.options.Now().Sub(u.Pressed)
	}
	return w.grace.Begin(u.Says, passed, lang.L("Undo"), u.Undone)
}

// later calls f on the UI goroutine after d, unless the view has been left by then.
func (w *Window) later(d time.Duration, f func()) {
	w.after(w.watcher, d, f)
}

func (w *Window) after(pool *async.Pool, d time.Duration, f func()) {
	passed := w.options.After(d)
	pool.Start(func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-passed:
			pool.Do(f)
		}
	})
}

// account is the foot of the sidebar: who is signed in, and how to sign in and out.
type account struct {
	env     *env.Env
	office  accounts
	content *fyne.Container

	known    bool // whether signedIn and who have been read
	signedIn bool
	who      string
	cancel   context.CancelFunc // cancels the running sign-in; nil if none
	address  string             // the page it must show in a browser
	lost     bool               // no browser could be opened
	pasted   *widgets.Entry
	problem  *widget.Label
	blame    func(err error) // opens the settings to which err belongs
	failed   error           // of the last sign-in
	done     func()          // is called when a sign-in has ended
	lead     fyne.CanvasObject
	only     bool // only the menu is shown: there is no space or need for more
	lacking  bool // space
	heard    bool // the health banner says that nobody is signed in
}

func newAccount(d *env.Env, o accounts) *account {
	a := &account{env: d, office: o, content: container.NewStack(), problem: widget.NewLabel("")}
	a.problem.Wrapping, a.problem.SizeName = fyne.TextWrapWord, theme.Caption
	a.problem.Importance = widget.DangerImportance
	a.pasted = widgets.NewEntry(lang.L("Paste address"))
	a.pasted.OnSubmitted = func(string) { a.paste() }
	a.pasted.OnEscape = a.stop
	a.draw()
	return a
}

func (a *account) show(s agent.Status) {
	a.known, a.signedIn, a.who = true, s.SignedIn, s.Account.Email
	if a.who == "" && s.SignedIn {
		a.who = s.Account.OrganizationID
	}
	if a.cancel == nil { // keeps the fields of a running sign-in
		a.draw()
	}
}

// hear sets whether the health banner says that nobody is signed in.
func (a *account) hear(said bool) {
	if a.heard != said {
		a.heard = said
		if a.cancel == nil {
			a.draw()
		}
	}
}

// narrow sets whether the sidebar has space only for a button.
func (a *account) narrow(lacking bool) {
	if a.lacking = lacking; a.only != (lacking && a.short()) {
		a.draw()
	}
}

// short reports whether the menu alone is enough.
func (a *account) short() bool {
	return a.signedIn && a.cancel == nil && a.problem.Text == "" && a.lead == nil
}

func (a *account) draw() {
	parts, edge := widgets.Stack(8), float32(6)
	a.only = a.lacking && a.short()
	if a.problem.Text != "" {
		parts.Add(a.problem)
	}
	if a.lead != nil {
		parts.Add(a.lead)
	}
	switch {
	case a.cancel != nil:
		a.drawRunning(parts)
	case a.signedIn:
		who := widgets.NewProse(a.who)
		who.Colour, who.Most = theme.Text, 4 // a long domain takes three
		var words fyne.CanvasObject = who
		if a.only {
			words, edge = nil, 0
		}
		more := widgets.NewTappable(widgets.Pad(6, widgets.Across(widgets.NewAvatar(a.who, theme.MarkSigned), words, nil)), nil)
		more.OnPress, more.Lines = func() { a.menu(more) }, []*widgets.Line{&who.Line}
		more.Says = func() string { return widgets.Said(lang.L("Account"), a.who) }
		parts.Add(more)
	case a.known:
		state := widgets.NewCaption(lang.L("Not signed in"))
		in := widgets.NewButtonWithIcon(lang.L("Sign in"), fynetheme.LoginIcon(), func() { a.signIn("") })
		if a.heard {
			parts.Add(in)
		} else {
			parts.Add(widgets.Aside(120, widgets.Across(widget.NewIcon(theme.MarkLater.Resource()), state, nil), in))
		}
	}
	widgets.Remake(a.content, widgets.PadHV(edge, 8, parts))
}

// drawRunning says where the sign-in continues; the help for other cases is folded unless no browser opens.
func (a *account) drawRunning(parts *fyne.Container) {
	if !a.lost { // otherwise the problem says what to do
		parts.Add(widgets.NewParagraph(lang.L("Finish the sign-in in your browser.")))
	}
	parts.Add(widgets.Row(0, widgets.NewButton(lang.L("Cancel"), a.stop)))
	help := widgets.Stack(8)
	if a.address != "" {
		help.Add(widgets.NewFullCaption(a.address))
		help.Add(widgets.Row(0, widgets.NewButtonWithIcon(lang.L("Copy link"), fynetheme.ContentCopyIcon(), func() {
			a.env.Copy(a.address)
			a.env.Notice(lang.L("The sign-in link is copied."))
		})))
	}
	help.Add(widgets.NewProse(lang.L("Copy the address from the browser and paste it here.")))
	help.Add(a.pasted)
	help.Add(widgets.Row(0, widgets.NewButton(lang.L("Continue"), a.paste)))
	parts.Add(widgets.NewFold(lang.L("Nothing happens?"), a.lost, help).Object)
}

func (a *account) menu(at fyne.CanvasObject) {
	items := fyne.NewMenu("",
		fyne.NewMenuItem(lang.L("Switch account"), func() { a.signIn("login") }),
		fyne.NewMenuItem(lang.L("Sign out"), a.askSignOut))
	widgets.OpenMenu(a.env.Window.Canvas(), items, at)
}

// signIn runs a sign-in in the browser; prompt is as in agent.SignInOptions.
func (a *account) signIn(prompt string) {
	if a.cancel != nil {
		return
	}
	a.address, a.lost, a.lead = "", false, nil
	a.say(nil)
	a.pasted.SetText("")
	a.cancel = async.Try(a.env.Work, func(ctx context.Context) error {
		return a.office.SignIn(ctx, agent.SignInOptions{Prompt: prompt}, a.open)
	}, a.ended)
	a.draw()
}

// open shows the address in the browser, from any goroutine. Without a browser the link can still be copied, so the sign-in
// continues.
func (a *account) open(address string) error {
	a.env.Work.Do(func() {
		a.address = address
		a.draw()
		a.env.Browse(address, func(err error) {
			if err != nil && a.address == address {
				a.lost = true
				a.problem.SetText(i18n.Error(err))
				a.draw()
			}
		})
	})
	return nil
}

func (a *account) ended(err error) {
	a.cancel, a.address = nil, ""
	a.pasted.SetText("")
	a.say(err)
	a.reread()
	a.done()
}

// say says why the last sign-in failed, if it did.
func (a *account) say(err error) {
	a.failed = err
	a.problem.SetText("")
	if err != nil && !errors.Is(err, context.Canceled) {
		a.problem.SetText(i18n.Error(err))
	}
	if config := new(agent.ConfigError); errors.As(err, &config) {
		a.lead = widgets.NewButton(lang.L("Open settings"), func() { a.blame(err) })
	}
}

func (a *account) reread() {
	a.draw()
	async.Then(a.env.Work, func(context.Context) (agent.Status, error) { return a.office.Status() },
		func(s agent.Status, _ error) { a.show(s) }) // read from memory
}

func (a *account) paste() {
	if a.pasted.Text == "" {
		return
	}
	address := a.pasted.Text
	async.Try(a.env.Work, func(context.Context) error { return a.office.Paste(address) }, func(err error) {
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

// askSignOut asks first, because only a sign-in in the browser reverses it.
func (a *account) askSignOut() {
	widgets.Ask(a.env.Window.Canvas(), widgets.Question{Title: lang.L("Sign out?"),
		Text: lang.L("Until you sign in again, nothing is sent and signed documents are not saved."),
		Safe: lang.L("Stay signed in"), Do: lang.L("Sign out"), OnDo: a.signOut})
}

func (a *account) signOut() { a.env.Attempt(a.office.SignOut, a.reread) }
