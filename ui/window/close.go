package window

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"runtime/debug"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/join"
	"countersign/ui/setup"
	"countersign/ui/system"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// These preferences record that the person has been told where the program is while the window is closed: in the tray, or, told
// separately, nowhere visible.
const (
	toldTrayKey = "told-that-it-stays-in-the-tray"
	toldKey     = "told-that-it-keeps-running"
)

type leaving struct {
	asking   bool           // asking the panel whether there is a tray
	question *widgets.PopUp // says how to reopen the window; nil before the first time
	key      string         // the preference that records the telling
}

// Hide closes the window; the program keeps running. The first time, it says how to reopen the window.
func (w *Window) Hide() {
	canvas, told := w.window.Canvas(), w.app.Preferences()
	switch {
	case told.Bool(toldKey) && !w.options.Demo:
		w.vanish()
		return
	case w.leaving.question != nil && canvas.Overlays().Top() == w.leaving.question: // closing again counts as an answer
		w.leaving.question.Close()
		w.leaveFor(w.leaving.key)
		return
	case w.leaving.asking:
		return
	}
	w.leaving.asking = true
	async.Then(w.pool, func(ctx context.Context) (bool, error) { return w.options.HasTray(ctx), nil }, func(has bool, _ error) {
		w.leaving.asking = false
		switch {
		case has && told.Bool(toldTrayKey):
			w.vanish()
		case has:
			w.askToLeave(toldTrayKey, lang.L("Countersign keeps saving signed documents after you close the window. To open the window, click its icon in the tray."))
		case w.options.Demo: // nobody would find it again
			w.askToQuit()
		default:
			w.askToLeave(toldKey, lang.L("Countersign keeps saving signed documents after you close the window. To open the window, start Countersign again."))
		}
	})
}

// askToLeave says how to reopen the window, then closes it. key is the preference that records this.
func (w *Window) askToLeave(key, text string) {
	w.leaving.key = key
	w.leaving.question = widgets.Ask(w.window.Canvas(), widgets.Question{Title: lang.L("Keep running?"), Text: text,
		Safe: lang.L("Keep running"), Stay: true, Do: lang.L("Quit"), OnDo: w.askToQuit, OnSafe: func() { w.leaveFor(key) }})
}

func (w *Window) leaveFor(key string) {
	w.app.Preferences().SetBool(key, true)
	w.vanish()
}

func (w *Window) vanish() {
	w.clearLanding()
	w.keepMaximized()
	w.window.Hide()
	w.Rest()
}

const maximizedKey = "maximized"

func (w *Window) keepMaximized() {
	w.maximized = w.maximized || system.IsMaximized(env.Handle(w.window))
	w.app.Preferences().SetBool(maximizedKey, w.maximized)
}

// restAfter is how long after closing the window memory is returned to the system. By then ongoing work has ended, and reopening at
// once is not slowed down.
const restAfter = 5 * time.Second

// Rest frees what only a visible window needs, until Show.
func (w *Window) Rest() {
	w.resting = true
	w.later(restAfter, func() {
		if w.resting {
			w.packages.Rest()
			w.own.Start(func(context.Context) { debug.FreeOSMemory() })
		}
	})
}

type quitting struct {
	looking  bool           // looking for unfinished work
	question *widgets.PopUp // nil before the first question
	text     string         // of the question
}

// askToQuit quits at a person's request. If work that people take for done is unfinished, it asks first; asking again meanwhile
// quits at once.
func (w *Window) askToQuit() {
	if w.quitting.looking || w.asksToQuit() {
		w.options.Quit()
		return
	}
	w.quitting.looking = true
	w.lookForUndone(func(text string) {
		w.quitting.looking = false
		if text == "" {
			w.options.Quit()
			return
		}
		w.Show()
		w.showQuestion(text)
	})
}

func (w *Window) asksToQuit() bool {
	return w.quitting.question != nil && w.window.Canvas().Overlays().Top() == w.quitting.question
}

func (w *Window) lookForUndone(then func(text string)) {
	var sent []office.Bulk
	var desks []office.DeskRow
	async.Then(w.pool, func(ctx context.Context) ([]office.Draft, error) {
		lists, err1 := w.office.Lists()
		sent, desks = lists, w.office.Desks(ctx)
		drafts, err2 := w.office.Drafts()
		return drafts, cmp.Or(err1, err2)
	}, func(drafts []office.Draft, err error) {
		text := w.leftUndone(drafts, sent, desks)
		if text == "" && err != nil && !errors.Is(err, context.Canceled) { // nobody knows what is unfinished
			text = i18n.Error(err)
		}
		then(text)
	})
}

func (w *Window) showQuestion(text string) {
	w.quitting.text = text
	w.quitting.question = widgets.Ask(w.window.Canvas(), widgets.Question{Title: lang.L("Quit now?"), Text: text,
		Safe: lang.L("Keep running"), Do: lang.L("Quit"), OnDo: w.options.Quit})
}

// askAnew updates the open question about quitting. It stays until it is answered: a person may be about to press one of its buttons.
func (w *Window) askAnew() {
	if !w.asksToQuit() {
		return
	}
	w.lookForUndone(func(text string) {
		text = cmp.Or(text, lang.L("Nothing is left to finish."))
		if w.asksToQuit() && text != w.quitting.text {
			w.quitting.question.Close()
			w.showQuestion(text)
		}
	})
}

// leftUndone describes the work that quitting now would leave unfinished; empty for none. What waits for a person does not count.
func (w *Window) leftUndone(drafts []office.Draft, lists []office.Bulk, desks []office.DeskRow) string {
	if w.grace.Busy() {
		return w.grace.Text() + "\n" + lang.L("If you quit now, you can no longer undo it. What is not done yet will be done when you start Countersign again.")
	}
	if w.hands() {
		return lang.L("A package is being sent. Continue when it is done.")
	}
	names, open := unsent(drafts, lists)
	unknown := 0
	for _, d := range drafts {
		if d.State == office.DraftUnknown && !d.Away && !d.OfBefore() {
			unknown++
		}
	}
	switch {
	case open > 0:
		return i18n.Names(names) + "\n" + lang.N("{{.PluralCount}} packages have not been sent yet. They will be sent when you start Countersign again.", open)
	case unknown > 0:
		return i18n.Message(message.OutcomesUnknown(unknown))
	case len(desks) > 0 && w.office.Settings().IsHub():
		return lang.L("This is the main computer. While Countersign is closed here, the others hear of signatures later.")
	}
	return ""
}

// unsent names what goes out by itself and has not yet, and counts its packages.
func unsent(drafts []office.Draft, lists []office.Bulk) (names []string, packages int) {
	for _, d := range drafts {
		if !d.Away && (d.State == office.DraftQueued || d.State == office.DraftAdding || d.Decision.Send) {
			names, packages = append(names, i18n.Title(d.Name)), packages+1
		}
	}
	for _, l := range lists {
		if l.State == office.BulkRunning && !l.Away {
			names, packages = append(names, l.File), packages+l.Lines-l.Next
		}
	}
	return names, packages
}

// openSetup replaces the screens with the wizard, including its earlier input.
func (w *Window) openSetup() {
	exits := setup.Exits{Done: w.closeSetup}
	if w.options.StartDemo != nil {
		exits.Demo = w.tryDemo
	}
	w.setup = setup.New(w.env, w.office, &w.answers, exits)
	w.hang(w.setup.Content())
	w.setup.Focus()
}

// openOffice passes an administrator's file to the wizard. A file cannot change an office that is already set up.
func (w *Window) openOffice(path string) {
	if w.setup == nil && w.played.Load() != nil {
		w.LeaveDemo()
	}
	if w.setup == nil {
		w.openInvitation(path)
		return
	}
	w.setup.OpenFile(path)
}

// openInvitation asks whether to receive events from the hub named in a file from now on.
func (w *Window) openInvitation(path string) {
	o := w.office
	env.Get(w.env, func(context.Context) (agent.OfficeFile, error) { return o.ReadOffice(path) }, func(file agent.OfficeFile) {
		if file.Settings.Tunnel != office.TunnelOffice {
			w.env.Notice(lang.L("Countersign is already set up here, so “{{.File}}” was not opened. Change what is different in Settings.",
				i18n.V{"File": filepath.Base(path)}))
			return
		}
		join.Ask(w.env, o, file, w.settings.Reload)
	})
}

func (w *Window) closeSetup() {
	w.setup = nil
	w.answers = setup.Answers{}
	w.hang(w.main)
	at := w.at // the Send screen, if files were handed over meanwhile
	w.at = -1
	w.Go(at)
	w.settings.Reload()
}

// demo is a demo started here: its office, and how to end it.
type demo struct {
	office Office
	stop   func()
}

// tryDemo starts the demo and shows it once ready; the returned function stops waiting for it.
func (w *Window) tryDemo() (cancel func()) {
	return async.Then(w.own, func(ctx context.Context) (*demo, error) {
		office, stop, err := w.options.StartDemo(ctx)
		if err != nil {
			return nil, err
		}
		d := &demo{office, stop}
		w.played.Store(d) // from now on Close ends it if nobody else does
		if ctx.Err() != nil {
			w.endDemo()
		}
		return d, ctx.Err()
	}, func(d *demo, err error) {
		switch {
		case errors.Is(err, context.Canceled):
			w.setup.DemoFailed("")
		case err != nil:
			w.setup.DemoFailed(i18n.Error(err))
		default:
			w.at = showPackages
			w.enter(d.office, true)
		}
	})
}

// endDemo ends a demo started here, if any. It may be called from any goroutine and takes a moment.
func (w *Window) endDemo() {
	if d := w.played.Swap(nil); d != nil {
		d.stop()
	}
}

// LeaveDemo returns to the office and ends the demo off the UI goroutine.
func (w *Window) LeaveDemo() {
	w.at = showPackages
	w.enter(w.options.Office, w.options.Demo)
	w.own.Start(func(context.Context) { w.endDemo() })
}

// demoBanner says that this is the demo and, if it was started from the wizard, how to leave it.
func (w *Window) demoBanner() *widgets.Banner {
	strip := widgets.NewBanner(theme.Calm, nil)
	leave := ""
	if w.played.Load() != nil {
		leave = lang.L("Leave the demo")
	}
	strip.Say(lang.L("Demo: the signing service runs inside this program. Nothing leaves this computer."), "", leave, w.LeaveDemo)
	return strip
}

// late makes a screen on first use, because making all of them takes as long as everything else before the window appears. Only the
// UI goroutine may use it.
type late[S screen] struct {
	create func() S
	place  *fyne.Container // its container
	it     S
	made   bool
}

func newLate[S screen](create func() S) *late[S] {
	return &late[S]{create: create, place: container.NewStack()}
}

// get returns the screen. The first call makes it and reads its data.
func (l *late[S]) get() S {
	if !l.made {
		l.it, l.made = l.create(), true
		l.place.Add(l.it.Content())
		l.it.Reload()
	}
	return l.it
}

// ifMade calls do if the screen exists; a screen made later reads the current state anyway.
func (l *late[S]) ifMade(do func(S)) {
	if l.made {
		do(l.it)
	}
}

func (l *late[S]) open() { l.get() }

func (l *late[S]) Content() fyne.CanvasObject { return l.place }

func (l *late[S]) Reload() { l.ifMade(S.Reload) }
