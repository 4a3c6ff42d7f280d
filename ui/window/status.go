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
	"countersign/ui/compose"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/settings"
	"countersign/ui/signin"
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
	text, action := i18n.Message(issue.Message), i18n.Action(issue.Action)
	if action != "" { // says what to do
		text, _ = i18n.Words().Lines(issue.Message)
	}
	if issue.Action == agent.ActSignIn { // the account below has that button
		action = ""
	}
	w.health.Say(text, note, action, func() { w.Act(issue, nil) })
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
	case agent.ActSwitch:
		w.account.signIn("login")
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
	w.compose.ifMade(func(s *compose.Screen) { s.ShowStatus(o.status) })
	w.standing.ShowStatus(o.status)
	w.account.show(o.status)
	w.settings.ifMade(func(s *settings.Screen) {
		s.ShowStatus(o.status)
		s.ShowUpdate(o.update)
		s.ShowPause(w.pauseItem(o.paused))
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
	if !u.Since.IsZero() {
		passed = w.options.Now().Sub(u.Since)
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

	known    bool // whether signedIn and who have been read; not while nobody can sign in because another computer has the office
	signedIn bool
	who      string
	cancel   context.CancelFunc // cancels the running sign-in; nil if none
	blame    func(err error)    // opens the settings to which err belongs
	failed   error              // of the last sign-in, until somebody has seen it
	done     func()             // is called when a sign-in has ended
	only     bool               // only the menu is shown: there is no space or need for more
	lacking  bool               // space
	heard    bool               // the health banner says that nobody is signed in
	asking   bool               // the question whether to sign out is about to be shown
}

func newAccount(d *env.Env, o accounts) *account {
	a := &account{env: d, office: o, content: container.NewStack()}
	a.draw()
	return a
}

// show draws it anew only if it says something new: it may have the focus, and its menu stands beside it.
func (a *account) show(s agent.Status) {
	_, away := s.MovedAway()
	known, in, who := a.known, a.signedIn, a.who
	a.known, a.signedIn, a.who = !away, s.SignedIn, s.Account.Email
	if a.who == "" && s.SignedIn {
		a.who = s.Account.OrganizationID
	}
	if a.known != known || a.signedIn != in || a.who != who {
		a.draw()
	}
}

// hear sets whether the health banner says that nobody is signed in.
func (a *account) hear(said bool) {
	if a.heard != said {
		a.heard = said
		a.draw()
	}
}

// narrow sets whether the sidebar has space only for a button.
func (a *account) narrow(lacking bool) {
	if a.lacking = lacking; a.only != (lacking && a.signedIn) {
		a.draw()
	}
}

func (a *account) draw() {
	parts, edge := widgets.Stack(8), float32(6)
	a.only = a.lacking && a.signedIn
	switch {
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

func (a *account) menu(at fyne.CanvasObject) {
	items := fyne.NewMenu("",
		fyne.NewMenuItem(lang.L("Switch account"), func() { a.signIn("login") }),
		fyne.NewMenuItem(lang.L("Sign out"), a.askSignOut))
	widgets.OpenMenu(a.env.Window.Canvas(), items, at)
}

// signIn runs a sign-in in the browser; prompt is as in agent.SignInOptions.
func (a *account) signIn(prompt string) {
	if a.cancel == nil {
		a.cancel = async.Try(a.env.Work, func(ctx context.Context) error { return signin.Do(ctx, a.env, a.office, prompt) }, func(err error) {
			a.cancel = nil
			a.say(prompt, err)
			a.reread()
			a.done()
		})
	}
}

// say says why a sign-in with this prompt failed, if it did.
func (a *account) say(prompt string, err error) {
	if a.failed = err; err == nil || errors.Is(err, context.Canceled) {
		return
	}
	q := widgets.Question{Title: lang.L("Sign in"), Text: i18n.Error(err), Safe: lang.L("Close"), Do: lang.L("Try again"),
		OnSafe: func() { a.failed = nil }, OnDo: func() { a.signIn(prompt) }}
	if config := new(agent.ConfigError); errors.As(err, &config) {
		q.Do, q.OnDo = lang.L("Open settings"), func() { a.failed = nil; a.blame(err) }
	}
	widgets.Ask(a.env.Window.Canvas(), q)
}

func (a *account) reread() {
	a.draw()
	async.Then(a.env.Work, func(context.Context) (agent.Status, error) { return a.office.Status() },
		func(s agent.Status, _ error) { a.show(s) }) // read from memory
}

// askSignOut asks first, because only a sign-in in the browser reverses it, and what was sent may be on its way.
func (a *account) askSignOut() {
	if a.asking {
		return
	}
	a.asking = true
	var lists []office.Bulk
	async.Then(a.env.Work, func(context.Context) (drafts []office.Draft, err error) {
		if lists, err = a.office.Lists(); err != nil {
			return nil, err
		}
		return a.office.Drafts()
	}, func(drafts []office.Draft, _ error) { // of what cannot be read, health speaks
		a.asking = false
		text := lang.L("Until you sign in again, nothing is sent and signed documents are not saved.")
		if _, n := unsent(drafts, lists); n > 0 {
			text = lang.N("{{.PluralCount}} packages have not been sent yet.", n) + " " + text
		}
		widgets.Ask(a.env.Window.Canvas(), widgets.Question{Title: lang.L("Sign out?"), Text: text,
			Safe: lang.L("Stay signed in"), Do: lang.L("Sign out"), OnDo: a.signOut})
	})
}

func (a *account) signOut() { a.env.Attempt(a.office.SignOut, a.reread) }
