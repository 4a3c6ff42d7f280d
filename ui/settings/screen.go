// Package settings is the screen on which an office chooses how Countersign works. A choice is kept at once, a text
// when the person leaves its field or presses Enter; beside the field it says that it is changed, kept, or what is wrong
// with it. What is wrong stays as it was typed, and does not keep the rest from being kept. Secrets go one way only: in.
package settings

import (
	"cmp"
	"context"
	"errors"
	"reflect"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// Screen is the settings screen. All methods belong to the window's goroutine.
type Screen struct {
	env     *env.Env
	reader  *async.Reader[news]
	content fyne.CanvasObject
	form    *form
	pages   []fyne.CanvasObject
	scroll  *container.Scroll
	tabs    *widgets.Tabs

	kept          office.Settings // as the office last gave them
	saving, again bool

	preview *preview
	account *account
	tests   *tests
	starter *starter
	folders *folders
	updates *updates
	move    *move

	connection *connection

	foot *fyne.Container
	text *widgets.Line
	undo *widgets.Button
}

// New returns the screen with the settings as they are in memory: what is done on it at once is about these. Reload reads the rest.
func New(d *env.Env) *Screen {
	s := &Screen{env: d, text: widgets.NewLine("")}
	s.text.Shorten = true
	s.reader = async.NewReader(d.Work, s.read, s.show)
	s.form = newForm(s.changed, s.chosen, s.PickFolder)
	for e, k := range s.form.inputs {
		e.OnSubmitted = func(string) { s.Save() }
		e.OnFocusLost = func() { s.left(e) }
		e.OnEscape = func() { s.takeBack(e, k) }
	}
	s.preview, s.account = newPreview(s), newAccount(s)
	s.tests, s.starter, s.folders, s.updates = newTests(s), newStarter(s), newFolders(s), newUpdates(s)
	s.move = newMove(s)
	s.connection = newConnection(s)
	s.build()
	s.kept = d.Office.Settings()
	s.form.show(s.kept, s.kept, true)
	s.form.lock(d.Office.Fixed)
	s.adapt()
	s.offerUndo()
	return s
}

// Content is what the window shows.
func (s *Screen) Content() fyne.CanvasObject { return s.content }

// Reload reads the settings anew, beside the window's goroutine. What is typed and not kept stays.
func (s *Screen) Reload() {
	s.reader.Ask()
	s.folders.reload()
}

// ReloadFolders reads how the folders that send stand, which nothing else on the screen tells of.
func (s *Screen) ReloadFolders() { s.folders.reload() }

// news is what Reload reads.
type news struct {
	settings      office.Settings
	status        agent.Status
	client, ngrok bool
	autostart     bool
	autostartErr  error
	update        office.Update
}

func (s *Screen) read(context.Context) (n news, err error) {
	n.settings = s.env.Office.Settings()
	if s.env.Autostart != nil {
		n.autostart, n.autostartErr = s.env.Autostart.Enabled()
	}
	n.update = s.env.Office.Update()
	status, err1 := s.env.Office.Status()
	client, ngrok, err2 := s.env.Office.HasSecrets()
	n.status, n.client, n.ngrok = status, client, ngrok
	return n, cmp.Or(err1, err2)
}

// show shows what was read. The settings and who is signed in are always known; health says why the rest could not be read.
func (s *Screen) show(n news, err error) {
	s.form.show(n.settings, s.kept, false)
	s.form.lock(s.env.Office.Fixed)
	s.kept = n.settings
	if err == nil {
		s.form.showSecrets(n.client, n.ngrok)
	}
	s.ShowStatus(n.status)
	s.starter.show(n.autostart, n.autostartErr)
	s.updates.show(n.update)
	s.adapt()
	s.offerUndo()
	s.preview.ask()
}

// Continue shows what another screen of the same office showed, in the same place and with what is typed there: the window
// was given another language. The input that had the focus there has it here.
func (s *Screen) Continue(old *Screen, focused fyne.Focusable) {
	typed, secrets := old.settings(), old.form.secrets()
	s.form.show(typed, s.kept, true)
	s.kept = old.kept
	s.form.filling = true
	s.form.clientSecret.SetText(secrets.ClientSecret)
	s.form.ngrokToken.SetText(secrets.NgrokAuthtoken)
	s.form.filling = false
	s.tabs.Choose(old.tabs.Chosen())
	s.folders.continueFrom(old.folders)
	s.adapt()
	s.offerUndo()
	s.preview.ask()
	s.scroll.Offset = old.scroll.Offset
	s.scroll.Refresh()
	for i, k := range old.form.all {
		if input, is := k.input.(fyne.Focusable); is && input == focused {
			s.env.Window.Canvas().Focus(s.form.all[i].input.(fyne.Focusable))
		}
	}
}

// ShowStatus shows who is signed in and how the public address is.
func (s *Screen) ShowStatus(status agent.Status) {
	s.account.show(status)
	s.tests.show(status)
	s.move.show(status)
	s.connection.reload()
}

// ShowUpdate shows what is known of newer versions of the program.
func (s *Screen) ShowUpdate(known office.Update) { s.updates.show(known) }

// settings is what is shown, kept or not.
func (s *Screen) settings() office.Settings { return s.form.settings(s.kept) }

// PickFolder asks for the folder for signed documents and keeps the choice.
func (s *Screen) PickFolder() {
	s.tabs.Choose(tabDocuments)
	browse.Folder(s.env, typed(s.form.folder), func(path string) {
		s.form.folder.SetText(path)
		s.Save()
	})
}

// ShowFolders shows the page of the folders that send.
func (s *Screen) ShowFolders() { s.tabs.Choose(tabFolders) }

// ShowProgram shows the page of the program itself: colours, language, starting.
func (s *Screen) ShowProgram() { s.tabs.Choose(tabProgram) }

// ShowsProgram says whether the page of the program itself is shown.
func (s *Screen) ShowsProgram() bool { return s.tabs.Chosen() == tabProgram }

// dirty says whether something is typed that is not kept.
func (s *Screen) dirty() bool {
	if s.form.secrets() != (office.Secrets{}) {
		return true
	}
	for _, k := range s.form.all {
		if k.differs(s.kept) {
			return true
		}
	}
	return false
}

// changed says beside a field that it is not kept yet; k is nil for a secret.
func (s *Screen) changed(k *setting) {
	s.tests.forget()
	if k != nil {
		k.field.Wrong("")
		if k.differs(s.kept) {
			k.field.Note(theme.Waiting, k.remark())
		}
	}
	s.sayMarked()
	s.adapt()
	s.offerUndo()
	s.preview.ask()
}

// chosen keeps a choice at once.
func (s *Screen) chosen(k *setting) {
	s.changed(k)
	s.Save()
}

// left keeps what was typed once the person has gone on to something else. When the whole window lost the focus,
// nothing is kept: the address may be half typed, to be completed from another window.
func (s *Screen) left(e *widgets.Entry) {
	async.Try(s.env.Work, func(context.Context) error { return nil }, func(error) { // when the focus is where it goes
		if s.env.Window.Canvas().Focused() != fyne.Focusable(e) {
			s.Save()
		}
	})
}

// takeBack shows what is kept in place of what is typed in one field.
func (s *Screen) takeBack(e *widgets.Entry, k *setting) {
	if k == nil {
		e.SetText("")
		return
	}
	e.SetText(k.read(s.kept)) // which also takes the remark away
}

// Undo shows the settings as they are kept.
func (s *Screen) Undo() {
	s.form.show(s.kept, s.kept, true)
	s.form.clearSecrets()
	for _, k := range s.form.all {
		k.field.Wrong("")
	}
	s.say(theme.Secondary, "")
	s.adapt()
	s.offerUndo()
	s.preview.ask()
}

// Fill types settings into the fields without keeping them, for example those of a preset.
func (s *Screen) Fill(settings office.Settings) {
	s.form.show(settings, s.kept, true)
	s.adapt()
	s.offerUndo()
}

// Save keeps all that is right and shows beside its field what is wrong, which stays as it was typed.
func (s *Screen) Save() {
	if s.saving {
		s.again = true
		return
	}
	shown, secrets := s.settings(), s.form.secrets()
	wrong := i18n.Findings(shown.Check())
	s.showWrong(wrong)
	s.form.tidy(shown.Normal(), wrong)
	settings := s.acceptable(shown).Normal()
	if reflect.DeepEqual(settings, s.kept.Normal()) && secrets == (office.Secrets{}) {
		return
	}
	s.saving = true
	async.Try(s.env.Work, func(ctx context.Context) error { return s.env.Office.Configure(ctx, settings, secrets) },
		func(err error) { s.saved(settings, secrets, err) })
}

// acceptable is as much of what is shown as can be kept: a field that is wrong stays as it is kept, and where that does
// not do, like with an address that lacks a part, all of the public address and the way back.
func (s *Screen) acceptable(shown office.Settings) office.Settings {
	wrong := i18n.Findings(shown.Check())
	for _, also := range [][]string{nil, {office.FieldTunnel, office.FieldNgrokDomain, office.FieldNgrokConnect, office.FieldNgrokCA, office.FieldPublicURL, office.FieldListen, office.FieldRedirect, office.FieldRedirectURI},
		{office.FieldQuietFrom, office.FieldQuietTo}} {
		for _, key := range also {
			wrong[key] = "as it was"
		}
		for key := range wrong {
			if k := s.form.by[key]; k != nil {
				k.write(&shown, k.read(s.kept))
			}
		}
		if len(shown.Check()) == 0 {
			return shown
		}
	}
	return s.kept
}

// saved says beside each field how it went.
func (s *Screen) saved(settings office.Settings, secrets office.Secrets, err error) {
	s.saving = false
	if err != nil {
		s.blame(err)
		return
	}
	before := s.kept
	s.kept = settings
	var noted []*setting
	for _, k := range s.form.all {
		if !k.differs(s.kept) && k.read(before) != k.read(s.kept) {
			k.field.Note(theme.Done, lang.L("Saved and in use."))
			noted = append(noted, k)
		}
	}
	if s.form.secrets() == secrets {
		s.form.clearSecrets()
	}
	if s.dirty() {
		s.say(theme.Attention, lang.L("Not everything is saved. Check the marked fields."))
	} else {
		s.say(theme.Done, lang.L("Saved and in use."))
	}
	s.quietLater(noted)
	s.offerUndo()
	s.Reload()
	if s.again {
		s.again = false
		s.Save()
	}
}

// quietLater takes away what is said at the foot and beside fields, once it is read.
func (s *Screen) quietLater(noted []*setting) {
	text := s.text.Text
	s.env.Later(widgets.ReadingTime(text), func() {
		for _, k := range noted {
			k.field.Note("", "")
		}
		if s.text.Text == text && !s.dirty() {
			s.say(theme.Secondary, "")
		}
	})
}

// showWrong marks what is wrong. The marks of other fields go.
func (s *Screen) showWrong(wrong map[string]string) {
	for _, k := range s.form.all {
		if k.field.IsWrong() || wrong[k.key] != "" {
			k.field.Wrong(wrong[k.key])
		}
	}
	s.sayMarked()
}

// sayMarked says at the foot whether a field is marked, for as long as one is.
func (s *Screen) sayMarked() {
	for _, k := range s.form.all {
		if k.field.IsWrong() {
			s.say(theme.Attention, lang.L("Not everything is saved. Check the marked fields."))
			return
		}
	}
	s.say(theme.Secondary, "")
}

// blame shows an error of the office beside the fields it names, else at the foot.
func (s *Screen) blame(err error) {
	s.say(theme.Attention, i18n.Error(err))
	var config *agent.ConfigError
	if !errors.As(err, &config) {
		return
	}
	for _, wrong := range config.Fields {
		if k := s.form.by[wrong.Field]; k != nil {
			k.field.Wrong(i18n.Message(wrong.Text))
			s.tabs.Choose(k.tab)
		}
	}
}

func (s *Screen) offerUndo() {
	s.undo.Hidden = !s.dirty()
	s.foot.Hidden = s.undo.Hidden && s.text.Text == ""
	s.foot.Refresh()
	s.content.Refresh()
}

func (s *Screen) say(colour fyne.ThemeColorName, text string) {
	s.text.Colour, s.text.Text = colour, text
	s.text.Refresh()
	if s.undo != nil {
		s.offerUndo()
	}
}

// Said is the sentence at the foot.
func (s *Screen) Said() string { return s.text.Text }
