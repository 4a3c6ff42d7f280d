package settings

import (
	"context"
	"path/filepath"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// move writes the office into a file for another computer.
type move struct {
	screen          *Screen
	content         fyne.CanvasObject
	password, again *widgets.Entry
	first, second   *widgets.Field
	said            *widgets.Prose
	saying          *fyne.Container
	mark            *widget.Icon
	begin           *widgets.Button
	away            bool // the office has moved away from this computer
}

func newMove(s *Screen) *move {
	m := &move{screen: s, password: widgets.NewSecret(), again: widgets.NewSecret(), said: widgets.NewProse(""), mark: widget.NewIcon(theme.MarkProblem.Resource())}
	m.first = widgets.NewField(lang.L("Password for the file"), m.password, "")
	m.second = widgets.NewField(lang.L("The same password again"), m.again, "")
	m.begin = widgets.NewButton(lang.L("Move to another computer…"), m.press)
	for _, e := range []*widgets.Entry{m.password, m.again} {
		e.OnSubmitted = func(string) { m.press() }
	}
	m.saying = widgets.Across(m.mark, m.said, nil)
	m.saying.Hide()
	m.content = widgets.Stack(12, widgets.NewProse(lang.L("One sealed file takes settings, packages and drafts to the new computer. Open it there in the first window of Countersign and sign in. This computer signs out and stops working for the office.")),
		widgets.Halves(m.first, m.second), m.saying, widgets.Row(8, m.begin))
	return m
}

// press checks what was typed, and asks where the file goes and whether this computer is to stop.
func (m *move) press() {
	m.first.Wrong("")
	m.second.Wrong("")
	m.saying.Hide()
	password := m.password.Text
	switch {
	case len([]rune(password)) < agent.LeastPassword:
		m.first.Wrong(lang.L("Type at least {{.Least}} characters.", i18n.V{"Least": agent.LeastPassword}))
		widgets.FocusWrong([]*widgets.Field{m.first})
		return
	case m.again.Text != password:
		m.second.Wrong(lang.L("This is another password."))
		widgets.FocusWrong([]*widgets.Field{m.second})
		return
	}
	browse.Save(m.screen.env, lang.L("Move to another computer"), lang.L("Office moving")+agent.OfficeEnding, func(path string, _ bool) {
		widgets.Ask(m.screen.env.Window.Canvas(), widgets.Question{
			Title: lang.L("Stop working on this computer?"),
			Text:  lang.L("Once the file is written, this computer sends, receives and saves nothing more for the office. Keep the password: nobody can open the file without it."),
			Safe:  lang.L("Stay here"), Do: lang.L("Write the file and stop"),
			OnDo: func() { m.write(path, password) },
		})
	})
}

// write writes the file beside the window's goroutine.
func (m *move) write(path, password string) {
	office := m.screen.env.Office
	m.begin.Disable()
	async.Try(m.screen.env.Work, func(ctx context.Context) error { return office.MoveOut(ctx, path, password) }, func(err error) {
		m.begin.Enable()
		if err != nil {
			m.say(theme.MarkProblem, i18n.Error(err))
			return
		}
		m.password.SetText("")
		m.again.SetText("")
		m.say(theme.MarkSaved, lang.L("“{{.File}}” is written. Take it to the new computer.", i18n.V{"File": filepath.Base(path)}))
	})
}

// show takes what the office says. Once it is taken back, nothing is to be taken to the new computer any more.
func (m *move) show(status agent.Status) {
	was := m.away
	m.away = slices.ContainsFunc(status.Health, func(i agent.Issue) bool { return i.Action == agent.ActTakeBack })
	if was && !m.away {
		m.saying.Hide()
		m.screen.content.Refresh()
	}
}

func (m *move) say(mark theme.Mark, text string) {
	m.mark.SetResource(mark.Resource())
	m.said.Set(text)
	m.saying.Show()
	m.screen.content.Refresh()
}
