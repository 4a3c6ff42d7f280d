package setup

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
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
	"countersign/ui/join"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// bring asks for the password of another computer's file, shows its content, and moves that office to the folder chosen here, once a
// person confirms.
type bring struct {
	screen   *Screen
	path     string
	shown    agent.Arrival // the file's content; no digest before it is shown
	popup    *widgets.PopUp
	ask      *widgets.Field
	password *widgets.Entry
	says     *fyne.Container // shows the file's content
	rows     *container.Scroll
	folder   *widgets.Entry
	place    *widgets.Field // contains it
	do       *widgets.Button
}

func newBring(s *Screen, path string) *bring {
	b := &bring{screen: s, path: path, password: widgets.NewSecret(), folder: widgets.NewEntry("")}
	choose := widgets.NewButton(lang.L("Choose…"), func() { browse.Folder(s.env, b.folder.Text, b.folder.SetText) })
	b.place = widgets.NewField(lang.L("Folder for signed documents on this computer"), widgets.Across(nil, b.folder, choose), "")
	b.rows = widgets.NewVScroll(widgets.Stack(8))
	b.says = widgets.Stack(16, b.rows, b.place)
	b.says.Hide()
	b.do = widgets.NewButton(lang.L("Continue"), b.press).Primary()
	leave := widgets.NewButton(lang.L("Cancel"), func() { b.popup.Leave() })
	for _, e := range []*widgets.Entry{b.password, b.folder} {
		e.OnSubmitted, e.OnChanged = func(string) { b.press() }, func(string) { b.say("") }
		e.OnEscape = func() { b.popup.Leave() }
	}
	b.ask = widgets.NewField(lang.L("Password of the file"), b.password, "")
	content := widgets.Pad(20, widgets.Stack(16, widgets.NewHeading(lang.L("Bring over from another computer")),
		widgets.NewParagraph(lang.L("You’ll see what is in the file before anything is brought over.")), b.ask, b.says,
		widgets.Row(8, layout.NewSpacer(), leave, b.do)))
	b.popup = widgets.Open(s.env.Window.Canvas(), content, fyne.NewSize(520, 0), b.password, nil)
	return b
}

// press first shows the file's content, and then moves it in, off the UI goroutine.
func (b *bring) press() {
	if b.do.Disabled() {
		return
	}
	b.say("")
	office, password, digest, folder := b.screen.office, b.password.Text, b.shown.Digest, b.folder.Text
	if digest == "" {
		b.do.Disable()
		async.Then(b.screen.env.Work, func(ctx context.Context) (agent.Arrival, error) { return office.ReadMove(ctx, b.path, password) }, func(x agent.Arrival, err error) {
			if b.ended(err) {
				b.password.SetText(password) // which opened it, whatever was typed meanwhile
				b.show(x)
			}
		})
		return
	}
	b.popup.Hold(true)
	async.Try(b.screen.env.Work, func(ctx context.Context) error { return office.MoveIn(ctx, b.path, password, digest, folder) }, func(err error) {
		b.popup.Hold(false)
		if b.ended(err) {
			b.popup.Close()
			b.screen.exits.Done()
		}
	})
}

// ended shows a failure next to the field that is asked for, and reports whether there was none.
func (b *bring) ended(err error) bool {
	b.do.Enable()
	if err != nil {
		b.say(i18n.Error(err))
		widgets.FocusWrong([]*widgets.Field{b.asked()})
	}
	return err == nil
}

// asked is the field of the password, or the folder once the file is open.
func (b *bring) asked() *widgets.Field {
	if b.shown.Digest == "" {
		return b.ask
	}
	return b.place
}

// say says what is wrong with what is asked for; nothing for an empty text.
func (b *bring) say(wrong string) {
	b.asked().Wrong(wrong)
	b.popup.Refresh()
}

func (b *bring) show(x agent.Arrival) {
	b.shown = x
	rows := facts([][2]string{
		{lang.L("Sign-in at"), x.SignIn}, {lang.L("Documents go to"), x.Service}, {lang.L("Events arrive at"), x.Events},
		{lang.L("Sign-in returns to"), x.Returns}, {lang.L("Account"), x.Account},
		{lang.L("From computer"), x.Computer + ", " + x.Made.Local().Format("2006-01-02 15:04")},
		{lang.L("Folder there"), x.Folder}, {lang.L("Watched folders, paused"), strings.Join(x.Watched, "\n")},
		{lang.L("Packages"), fmt.Sprint(x.Packages)}, {lang.L("Drafts"), fmt.Sprint(x.Drafts)},
	})
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

// facts lists names with their values, leaving out empty ones.
func facts(list [][2]string) *fyne.Container {
	rows := widgets.Stack(8)
	for _, fact := range list {
		if strings.Trim(fact[1], " ,") == "" {
			continue
		}
		for i, line := range strings.Split(fact[1], "\n") {
			rows.Add(widgets.Across(widgets.Column(170, widgets.NewCaption([]string{fact[0], ""}[min(i, 1)])), widgets.NewParagraph(line), nil))
		}
	}
	return rows
}

// PickFile lets the person choose a file made by an administrator, a hub or another computer.
func (s *Screen) PickFile() {
	if s.cancel == nil {
		browse.One(s.env, lang.L("Open a setup file"), lang.L("Settings"), []string{agent.OfficeEnding}, s.OpenFile)
	}
}

// EnterCode fills the wizard with the invitation whose code the office's hub shows.
func (s *Screen) EnterCode() {
	if s.cancel == nil {
		join.Code(s.env, s.office, s.take)
	}
}

// OpenFile takes the answers from an administrator's file and shows them, so that the person sees which service it is before
// anything is asked or stored. An invalid file changes nothing.
//
// For a file from another computer, which moves its office here, it asks for the password.
func (s *Screen) OpenFile(path string) {
	office, move := s.office, false
	async.Then(s.env.Work, func(context.Context) (file agent.OfficeFile, err error) {
		if move = agent.IsMove(path); !move {
			file, err = office.ReadOffice(path)
		}
		return file, err
	}, func(file agent.OfficeFile, err error) {
		switch {
		case s.cancel != nil || s.answers.finished: // the settings are being stored
			s.bar.say(theme.MarkProblem, lang.L("The file was not opened, because something is still running."))
		case err != nil:
			s.bar.say(theme.MarkProblem, i18n.Error(err))
		case move:
			s.hush() // clears the text about an earlier file
			newBring(s, path)
		default:
			s.take(file)
		}
	})
}

func (s *Screen) take(file agent.OfficeFile) {
	a := s.answers
	a.settings, a.given = file.Into(a.settings), true
	a.secrets.ClientSecret = cmp.Or(file.ClientSecret, a.secrets.ClientSecret)
	a.secrets.DeskKey = cmp.Or(file.DeskKey, a.secrets.DeskKey)
	s.showAnswers()
	s.walk()
	s.show(0)
}

// resume goes to the step where the program ended, but not beyond the folder, after which settings exist.
func (s *Screen) resume() {
	a := s.answers
	s.walk()
	a.at = max(0, slices.IndexFunc(s.steps, func(p *step) bool { return p.key == a.step && (p != s.signIn.step || a.finished) }))
}

// keep makes the office store changed input off the UI goroutine. On failure the answers remain in memory.
func (s *Screen) keep() {
	a := s.answers
	now := a.entered()
	if a.finished || len(s.steps) == 0 || reflect.DeepEqual(now, a.kept) {
		return
	}
	a.kept = now
	office := s.office
	async.Try(s.env.Work, func(context.Context) error { return office.KeepFirstRun(now) }, func(err error) {
		if err != nil && reflect.DeepEqual(a.kept, now) {
			a.kept = agent.FirstRun{} // retry next time
		}
	})
}

func (s *Screen) showAnswers() {
	for _, show := range s.bound {
		show()
	}
	s.folder.show()
}
