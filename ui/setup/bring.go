package setup

import (
	"context"
	"errors"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// bring asks for the password of the file that brings an office over from another computer, and, where its folder is not
// here, for a folder.
type bring struct {
	screen   *Screen
	path     string
	popup    *widgets.PopUp
	password *widgets.Entry
	folder   *widgets.Entry
	place    *widgets.Field
	said     *widgets.Prose
	saying   *fyne.Container
	do       *widgets.Button
}

// newBring asks for what a file of another computer needs.
func newBring(s *Screen, path string) *bring {
	b := &bring{screen: s, path: path, password: widgets.NewSecret(), folder: widgets.NewEntry(""), said: widgets.NewProse("")}
	choose := widgets.NewButton(lang.L("Choose…"), func() { browse.Folder(s.env, b.folder.Text, b.folder.SetText) })
	b.place = widgets.NewField(lang.L("Folder"), widgets.Across(nil, b.folder, choose), "")
	b.place.Hide()
	b.said.Colour = theme.Attention
	b.saying = widgets.Across(widget.NewIcon(theme.MarkProblem.Resource()), b.said, nil)
	b.saying.Hide()
	b.do = widgets.NewButton(lang.L("Bring over"), b.press)
	b.do.Importance = widget.HighImportance
	leave := widgets.NewButton(lang.L("Cancel"), func() { b.popup.Close() })
	for _, e := range []*widgets.Entry{b.password, b.folder} {
		e.OnSubmitted = func(string) { b.press() }
		e.OnEscape = func() { b.popup.Close() }
	}
	text := widgets.NewParagraph(lang.L("The file brings an office over from another computer, with its sign-in, drafts and history."))
	content := widgets.Pad(20, widgets.Stack(16, widgets.NewHeading(lang.L("Bring over from another computer")), text,
		widgets.NewField(lang.L("Password of the file"), b.password, ""), b.place, b.saying, widgets.Row(8, layout.NewSpacer(), leave, b.do)))
	b.popup = widgets.Open(s.env.Window.Canvas(), content, fyne.NewSize(480, 0), b.password, nil)
	return b
}

// press brings the office over beside the window's goroutine.
func (b *bring) press() {
	if b.do.Disabled() {
		return
	}
	s, office, password, folder := b.screen, b.screen.env.Office, b.password.Text, b.folder.Text
	b.do.Disable()
	b.saying.Hide()
	async.Then(s.env.Work, func(ctx context.Context) (agent.Brought, error) {
		return office.MoveIn(ctx, b.path, password, folder)
	}, func(brought agent.Brought, err error) {
		b.do.Enable()
		if err != nil {
			var missing *agent.MissingFolderError
			widgets.Show(b.place, b.place.Visible() || errors.As(err, &missing))
			b.said.Set(i18n.Error(err))
			b.saying.Show()
			b.popup.Refresh()
			return
		}
		b.popup.Close()
		s.ways.Done()
	})
}
