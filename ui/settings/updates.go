package settings

import (
	"context"
	"errors"
	"path/filepath"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// updates shows the newest version, checks for it, and installs it if that takes one click.
type updates struct {
	screen     *Screen
	content    *fyne.Container // includes the choice; hidden if there is no address to ask
	line, note *widgets.Prose
	check, get *widgets.Button
	known      office.Update
	cancel     context.CancelFunc // cancels what is in progress
	percent    int                // of the download, as shown
	wrong      string             // error of the last request here; empty after success or news since
}

func newUpdates(s *Screen) *updates {
	u := &updates{screen: s, line: widgets.NewFullName(""), note: widgets.NewFullCaption("")}
	u.check = widgets.NewButton(lang.L("Check now"), u.ask)
	u.get = widgets.NewButton("", u.fetch).Primary()
	return u
}

// section is the part of the page with the choice in it.
func (u *updates) section(choice fyne.CanvasObject) fyne.CanvasObject {
	u.content = widgets.Stack(0, widgets.Section(lang.L("Updates"), 12, choice,
		widgets.Across(nil, widgets.Stack(2, u.line, u.note), widgets.Row(8, u.get, u.check)))) // check stays where it is pressed
	u.content.Hide()
	return u.content
}

// show shows what is known, except for what a person has just started here.
func (u *updates) show(known office.Update) {
	if !known.Checked.Equal(u.known.Checked) {
		u.wrong = ""
	}
	u.known = known
	u.content.Hidden = !known.Offered
	if u.cancel == nil {
		u.tell()
	}
}

func (u *updates) tell() {
	k, now := u.known, u.screen.env.Now()
	switch {
	case k.Newer && k.OneClick:
		u.say(i18n.Message(message.UpdateAvailable(k.Newest)), lang.L("Countersign installs the update and restarts. It finishes sending and saving first."))
		u.get.SetText(lang.L("Install"))
	case k.Newer:
		u.say(i18n.Message(message.UpdateAvailable(k.Newest)), i18n.Message(k.Todo))
		u.get.SetText(lang.L("Download"))
	case k.Checked.IsZero():
		u.say(lang.L("Not checked yet."), "")
	default:
		u.say(i18n.Message(message.UpdateNone(k.Version)), lang.L("Checked: {{.When}}", i18n.V{"When": i18n.Exactly(now, k.Checked)}))
	}
	u.get.Hidden = !k.Newer || !k.Offers || k.Path != ""
	if !k.Trouble.IsZero() {
		u.note.Text = i18n.Message(k.Trouble)
	}
	if u.wrong != "" {
		u.note.Text, u.note.Hidden = u.wrong, false
	}
	u.check.SetText(lang.L("Check now"))
	u.content.Refresh()
}

func (u *updates) say(line, note string) {
	u.line.Text, u.note.Text = line, note
	u.note.Colour, u.note.Hidden = theme.Secondary, note == ""
	u.content.Refresh()
}

// begin shows that something is in progress, which the remaining button stops.
func (u *updates) begin(text string, cancel context.CancelFunc) {
	u.cancel, u.percent, u.wrong = cancel, -1, ""
	u.get.Hide()
	u.check.SetText(lang.L("Stop"))
	u.say(text, "")
}

func (u *updates) over(err error) {
	u.cancel = nil
	if err != nil && !errors.Is(err, context.Canceled) {
		u.wrong = i18n.Error(err)
	}
	u.tell()
}

func (u *updates) ask() {
	if u.cancel != nil {
		u.cancel()
		return
	}
	s := u.screen
	u.begin(lang.L("Asking…"), async.Then(s.env.Work, s.office.CheckUpdate, func(known office.Update, err error) {
		if err == nil {
			u.known = known
		}
		u.over(err)
	}))
}

// fetch installs the newest version, after which the program ends; if that takes more than a click, it says where the checked file
// is.
func (u *updates) fetch() {
	s := u.screen
	u.begin(lang.L("Downloading…"), async.Then(s.env.Work, func(ctx context.Context) (string, error) {
		return s.office.InstallUpdate(ctx, func(step office.UpdateStep) { s.env.Work.Do(func() { u.progress(step) }) })
	}, func(path string, err error) {
		if err == nil && path != "" {
			u.known = s.office.Update()
		} else if err == nil {
			u.say(lang.L("Countersign restarts in a moment."), "")
			s.env.Go.Quit()
			return
		}
		u.over(err)
	}))
}

func (u *updates) progress(step office.UpdateStep) {
	percent := int(100 * step.Got / max(1, step.Total))
	switch {
	case u.cancel == nil:
	case step.Waits:
		u.say(lang.L("Finishing what is being sent and saved…"), "")
	case percent != u.percent:
		u.percent = percent
		u.say(lang.L("Downloading… {{.Percent}}%", i18n.V{"Percent": percent}), "")
	}
}

// moving moves the office to another computer, or takes it back from there.
func (s *Screen) moving() fyne.CanvasObject {
	s.out = deed(lang.L("Move to another computer"),
		widgets.NewProse(lang.L("Everything is saved in one encrypted file for the new computer. This computer is then signed out.")),
		widgets.NewButton(lang.L("Move…"), func() { newMove(s) }))
	take := widgets.NewButton(i18n.Action(agent.ActTakeBack), nil)
	take.OnTapped = func() {
		take.Disable()
		s.env.Go.Act(s.moved, take.Enable)
	}
	s.into = widgets.NewProse("")
	s.back = widgets.Across(nil, s.into, take)
	s.back.Hide()
	return widgets.Card(widgets.Stack(0, s.out, s.back))
}

// move is the dialog that asks for a password and a place for the file, and writes the office into it.
type move struct {
	screen          *Screen
	popup           *widgets.PopUp
	password, again *widgets.Entry
	first, second   *widgets.Field
	next            *widgets.Button
}

func newMove(s *Screen) *move {
	m := &move{screen: s, password: widgets.NewSecret(), again: widgets.NewSecret()}
	m.first = widgets.NewField(lang.L("Password for the file"), m.password, lang.L("At least {{.Least}} characters. Keep it safe: the file can’t be opened without it.", i18n.V{"Least": agent.LeastPassword}))
	m.second = widgets.NewField(lang.L("Repeat the password"), m.again, "")
	m.next = widgets.NewButton(lang.L("Choose where to save…"), m.press).Primary()
	leave := func() { m.popup.Leave() }
	for _, e := range []*widgets.Entry{m.password, m.again} {
		e.OnSubmitted, e.OnEscape = func(string) { m.press() }, leave
	}
	m.popup = widgets.Open(s.env.Window.Canvas(), widgets.Pad(20, widgets.Stack(16, widgets.NewHeading(lang.L("Move to another computer")), m.first, m.second,
		widgets.Row(8, layout.NewSpacer(), widgets.NewButton(lang.L("Cancel"), leave), m.next))), fyne.NewSize(440, 0), m.password, nil)
	return m
}

// press validates the input, and asks where the file goes and whether this computer should stop.
func (m *move) press() {
	m.first.Wrong("")
	m.second.Wrong("")
	password := m.password.Text
	if len([]rune(password)) < agent.LeastPassword {
		m.first.Wrong(lang.L("Type at least {{.Least}} characters.", i18n.V{"Least": agent.LeastPassword}))
	} else if m.again.Text != password {
		m.second.Wrong(lang.L("The passwords do not match."))
	}
	if m.first.IsWrong() || m.second.IsWrong() {
		m.popup.Refresh()
		widgets.FocusWrong([]*widgets.Field{m.first, m.second})
		return
	}
	browse.SaveNew(m.screen.env, lang.L("Move to another computer"), lang.L("Office moving")+agent.OfficeEnding, func(path string) {
		widgets.Ask(m.screen.env.Window.Canvas(), widgets.Question{
			Title: lang.L("Stop using Countersign on this computer?"),
			Text:  lang.L("Once the file is saved, this computer no longer sends, receives or saves anything for the office."),
			Safe:  lang.L("Stay here"), Do: lang.L("Save the file and stop"),
			OnDo: func() { m.write(path, password) },
		})
	})
}

func (m *move) write(path, password string) {
	office := m.screen.office
	says := m.next.Text
	m.next.SetText(lang.L("Saving…"))
	m.popup.Hold(true)
	async.Try(m.screen.env.Work, func(ctx context.Context) error { return office.MoveOut(ctx, path, password) }, func(err error) {
		m.popup.Hold(false)
		m.next.SetText(says)
		if err != nil {
			m.second.Wrong(i18n.Error(err))
			m.popup.Refresh()
			return
		}
		m.popup.Close()
		m.screen.env.Notice(lang.L("“{{.File}}” is saved. Open it on the new computer.", i18n.V{"File": filepath.Base(path)}))
	})
}
