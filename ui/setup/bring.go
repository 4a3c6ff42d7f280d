package setup

import (
	"context"
	"fmt"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
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

// bring asks for the password of the file of another computer, shows what is in it, and brings it over into the folder that is
// chosen here, once somebody says so.
type bring struct {
	screen   *Screen
	path     string
	shown    agent.Arrival // what is in the file; without a digest before it is shown
	popup    *widgets.PopUp
	ask      *widgets.Field
	password *widgets.Entry
	says     *fyne.Container // what is in the file
	rows     *container.Scroll
	folder   *widgets.Entry
	said     *widgets.Prose
	saying   *fyne.Container
	do       *widgets.Button
}

// newBring asks for the password.
func newBring(s *Screen, path string) *bring {
	b := &bring{screen: s, path: path, password: widgets.NewSecret(), folder: widgets.NewEntry(""), said: widgets.NewProse("")}
	choose := widgets.NewButton(lang.L("Choose…"), func() { browse.Folder(s.env, b.folder.Text, b.folder.SetText) })
	place := widgets.NewField(lang.L("Folder for signed documents on this computer"), widgets.Across(nil, b.folder, choose), "")
	b.rows = widgets.NewVScroll(widgets.Stack(8))
	b.says = widgets.Stack(16, b.rows, place)
	b.says.Hide()
	b.said.Colour = theme.Attention
	b.saying = widgets.Across(widget.NewIcon(theme.MarkProblem.Resource()), b.said, nil)
	b.saying.Hide()
	b.do = widgets.NewButton(lang.L("Continue"), b.press)
	b.do.Importance = widget.HighImportance
	leave := widgets.NewButton(lang.L("Cancel"), func() { b.popup.Close() })
	for _, e := range []*widgets.Entry{b.password, b.folder} {
		e.OnSubmitted = func(string) { b.press() }
		e.OnEscape = func() { b.popup.Close() }
	}
	b.ask = widgets.NewField(lang.L("Password of the file"), b.password, "")
	content := widgets.Pad(20, widgets.Stack(16, widgets.NewHeading(lang.L("Bring over from another computer")),
		widgets.NewParagraph(lang.L("Nothing is taken over before you have seen what is in the file.")), b.ask, b.says, b.saying,
		widgets.Row(8, layout.NewSpacer(), leave, b.do)))
	b.popup = widgets.Open(s.env.Window.Canvas(), content, fyne.NewSize(520, 0), b.password, nil)
	return b
}

// press shows what is in the file, and then brings it over, beside the window's goroutine.
func (b *bring) press() {
	if b.do.Disabled() {
		return
	}
	office, password, digest, folder := b.screen.env.Office, b.password.Text, b.shown.Digest, b.folder.Text
	b.do.Disable()
	b.saying.Hide()
	if digest == "" {
		async.Then(b.screen.env.Work, func(ctx context.Context) (agent.Arrival, error) { return office.ReadMove(ctx, b.path, password) }, func(x agent.Arrival, err error) {
			if b.ended(err) {
				b.show(x)
			}
		})
		return
	}
	async.Try(b.screen.env.Work, func(ctx context.Context) error { return office.MoveIn(ctx, b.path, password, digest, folder) }, func(err error) {
		if b.ended(err) {
			b.popup.Close()
			b.screen.ways.Done()
		}
	})
}

// ended says what went wrong, and reports whether nothing did.
func (b *bring) ended(err error) bool {
	b.do.Enable()
	if err != nil {
		b.said.Set(i18n.Error(err))
		b.saying.Show()
		b.popup.Refresh()
	}
	return err == nil
}

// show shows what is in the file, and asks for the folder.
func (b *bring) show(x agent.Arrival) {
	b.shown = x
	rows := widgets.Stack(8)
	for _, row := range [][2]string{
		{lang.L("Sign-in at"), x.SignIn}, {lang.L("Documents go to"), x.Service}, {lang.L("Reports arrive at"), x.Events},
		{lang.L("Sign-in returns to"), x.Returns}, {lang.L("Account"), x.Account},
		{lang.L("From computer"), x.Computer + ", " + x.Made.Local().Format("2006-01-02 15:04")},
		{lang.L("Folder there"), x.Folder}, {lang.L("Watched folders, paused"), strings.Join(x.Watched, "\n")},
		{lang.L("Packages"), fmt.Sprint(x.Packages)}, {lang.L("Drafts"), fmt.Sprint(x.Drafts)},
	} {
		if strings.Trim(row[1], " ,") == "" {
			continue
		}
		for i, line := range strings.Split(row[1], "\n") {
			name := widgets.NewCaption([]string{row[0], ""}[min(i, 1)])
			rows.Add(container.NewBorder(nil, nil, container.NewGridWrap(fyne.NewSize(170, name.MinSize().Height), name), nil, widgets.NewProse(line)))
		}
	}
	for _, text := range x.LeftOut {
		rows.Add(widgets.Across(widget.NewIcon(theme.MarkLater.Resource()), widgets.NewProse(i18n.Message(text)), nil))
	}
	widgets.Turn(b.rows, rows, fyne.Position{})
	b.rows.SetMinSize(fyne.NewSize(0, min(rows.MinSize().Height+8, 280)))
	b.ask.Hide()
	b.says.Show()
	b.do.SetText(lang.L("Bring over"))
	b.popup.Refresh()
	b.screen.env.Window.Canvas().Focus(b.folder)
}
