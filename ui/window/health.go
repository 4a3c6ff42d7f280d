package window

import (
	"context"
	"strings"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// showHealth shows the issue that matters most, or nothing.
func (w *Window) showHealth(s agent.Status) {
	issue, others := env.Problem(s.Health)
	w.issue = issue
	if issue.Message.IsZero() {
		if w.health.Visible() {
			w.health.Clear()
		}
		return
	}
	notes := []string{}
	if since := i18n.Since(w.options.Now(), issue.Since); since != "" {
		notes = append(notes, since)
	}
	if others > 0 {
		notes = append(notes, lang.N("{{.PluralCount}} more problems", others))
	}
	w.health.Say(i18n.Message(issue.Message), strings.Join(notes, ", "), i18n.Action(issue.Action), func() { w.act(issue, nil) })
}

// act does what the button of an issue says: here where it leads to a screen, else through the office. done, which may
// be nil, is called when the office has done its part.
func (w *Window) act(issue agent.Issue, done func()) {
	switch issue.Action {
	case agent.ActSignIn:
		w.account.signIn("")
		return
	case agent.ActSettings:
		w.ShowSettings()
		return
	case agent.ActFolders:
		w.ShowSettings()
		w.settings.get().ShowFolders()
		return
	case agent.ActChooseFolder:
		w.ShowSettings()
		w.settings.get().PickFolder()
		return
	case agent.ActReview:
		w.ShowCompose()
		return
	case agent.ActNetwork:
		w.env.OpenAddress(w.env.Office.NetworkPage())
		if done != nil {
			done()
		}
		return
	case agent.ActQuit:
		w.options.Quit()
		return
	}
	if issue.Action == agent.ActTakeBack {
		widgets.Ask(w.env.Window.Canvas(), widgets.Question{
			Title: lang.L("Take the office back?"),
			Text:  lang.L("Do this only if the file was never brought over, or the other computer is out of use. You then sign in here again."),
			Safe:  lang.L("Leave it there"), Do: lang.L("Take the office back"),
			OnDo: func() { w.try(issue, done) }, OnSafe: done,
		})
		return
	}
	w.try(issue, done)
}

// try has the office do what can be done about an issue.
func (w *Window) try(issue agent.Issue, done func()) {
	office := w.env.Office
	async.Try(w.pool, func(ctx context.Context) error { return office.Act(ctx, issue) }, func(err error) {
		if err != nil {
			w.env.Notice(i18n.Again(err, w.health.Text()))
		}
		if done != nil {
			done()
		}
		w.status.Ask()
	})
}
