// Package settings is the screen on which an office chooses how Countersign works. It shows what the office keeps,
// checks what is typed, and hands it back as a whole. Secrets go one way only: in.
package settings

import (
	"context"
	"reflect"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/ui/desk"
	"countersign/ui/look"
	"countersign/ui/widgets"
	"countersign/ui/work"
)

// Screen is the settings screen. All methods belong to the window's goroutine.
type Screen struct {
	desk    *desk.Desk
	reader  *work.Reader[news]
	content fyne.CanvasObject
	form    *form
	kept    agent.Settings // as the office last gave them
	saving  bool

	text *widgets.Line
	save *widget.Button
	undo *widget.Button
}

// New returns the screen, empty until Reload.
func New(d *desk.Desk) *Screen {
	s := &Screen{desk: d, text: widgets.NewLine("")}
	s.text.Shorten = true
	s.reader = work.NewReader(d.Work, s.read, s.show)
	s.form = newForm(s.changed, s.pickFolder)
	s.save = widget.NewButton(lang.L("Save changes"), s.Save)
	s.save.Importance = widget.HighImportance
	s.undo = widget.NewButton(lang.L("Undo"), s.Undo)
	for _, e := range s.form.entries() {
		e.OnSubmitted = func(string) { s.Save() }
	}
	foot := widgets.On(look.Paper, container.NewVBox(widget.NewSeparator(),
		widgets.PadHV(20, 8, widgets.Across(nil, s.text, container.NewHBox(s.undo, s.save)))))
	head := widgets.PadHV(20, 16, widgets.NewHeading(lang.L("Settings")))
	s.content = container.NewBorder(head, foot, nil, nil, container.NewVScroll(widgets.PadHV(20, 4, s.form.content)))
	s.changed()
	return s
}

// Content is what the window shows.
func (s *Screen) Content() fyne.CanvasObject { return s.content }

// Reload reads the settings anew, beside the window's goroutine. What is typed and not saved stays.
func (s *Screen) Reload() { s.reader.Ask() }

// news is what Reload reads.
type news struct {
	settings      agent.Settings
	client, ngrok bool
}

func (s *Screen) read(context.Context) news {
	n := news{settings: s.desk.Office.Settings()}
	n.client, n.ngrok = s.desk.Office.HasSecrets()
	return n
}

func (s *Screen) show(n news) {
	untouched := !s.dirty()
	s.kept = n.settings
	if untouched {
		s.form.show(n.settings)
	}
	s.form.showSecrets(n.client, n.ngrok)
	s.changed()
}

// PickFolder asks for the folder for signed documents and saves the choice.
func (s *Screen) PickFolder() { s.askFolder(s.Save) }

func (s *Screen) pickFolder() { s.askFolder(func() {}) }

func (s *Screen) askFolder(chosen func()) {
	dialog.ShowFolderOpen(func(folder fyne.ListableURI, err error) {
		switch {
		case err != nil:
			s.desk.Notice(desk.Sentence(err.Error()))
		case folder != nil:
			s.form.folder.SetText(folder.Path())
			chosen()
		}
	}, s.desk.Window)
}

// dirty says whether something is typed that is not kept.
func (s *Screen) dirty() bool {
	return s.form.secrets() != (agent.Secrets{}) || !reflect.DeepEqual(normal(s.form.settings(s.kept)), normal(s.kept))
}

// normal makes an absent list and an empty one the same.
func normal(a agent.Settings) agent.Settings {
	a.Scopes = strings.Fields(strings.Join(a.Scopes, " "))
	return a
}

func (s *Screen) changed() {
	s.form.adapt()
	dirty := s.dirty()
	enable(s.save, dirty && !s.saving)
	enable(s.undo, dirty && !s.saving)
	if dirty {
		s.form.showWrong(check(s.form.settings(s.kept)))
		s.say(look.Secondary, lang.L("Not saved yet."))
	} else {
		s.form.showWrong(nil)
		if s.text.Colour == look.Secondary {
			s.say(look.Secondary, "")
		}
	}
}

func enable(b *widget.Button, on bool) {
	if on {
		b.Enable()
	} else {
		b.Disable()
	}
}

func (s *Screen) say(colour fyne.ThemeColorName, text string) {
	s.text.Colour, s.text.Text = colour, text
	s.text.Refresh()
}

// Said is the sentence beside the buttons.
func (s *Screen) Said() string { return s.text.Text }

// Fill types settings into the fields without saving them, for example those of a preset.
func (s *Screen) Fill(settings agent.Settings) {
	s.form.show(settings)
	s.changed()
}

// Undo shows the settings as they are kept.
func (s *Screen) Undo() {
	s.form.show(s.kept)
	s.form.clearSecrets()
	s.say(look.Secondary, "")
	s.changed()
}

// Save hands the settings to the office, which keeps and applies them. On an error everything typed stays.
func (s *Screen) Save() {
	if s.saving || !s.dirty() {
		return
	}
	settings, secrets := s.form.settings(s.kept), s.form.secrets()
	if wrong := check(settings); len(wrong) > 0 {
		s.form.showWrong(wrong)
		s.say(look.Attention, lang.L("Not saved: something is marked above."))
		return
	}
	s.saving = true
	s.changed()
	s.say(look.Secondary, lang.L("Saving…"))
	work.Then(s.desk.Work, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.desk.Office.Configure(ctx, settings, secrets)
	}, func(_ struct{}, err error) {
		s.saving = false
		if err != nil {
			s.changed()
			s.say(look.Attention, desk.Sentence(err.Error()))
			return
		}
		s.kept = settings
		s.form.clearSecrets()
		s.say(look.Done, lang.L("Saved and in use."))
		s.changed()
		s.Reload()
	})
}

// folderButton is the button beside the folder's field.
func folderButton(pick func()) *widget.Button {
	return widget.NewButtonWithIcon(lang.L("Choose…"), theme.FolderOpenIcon(), pick)
}
