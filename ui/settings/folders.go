package settings

import (
	"context"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// folders is the page with the folders that send: a list, and in its place a form for one of them.
type folders struct {
	screen  *Screen
	reader  *async.Reader[[]office.HotFolderRow]
	content fyne.CanvasObject
	list    *fyne.Container
	add     *widgets.Button
	overall fyne.CanvasObject // the list with what belongs to it
	form    *folderForm
	rows    []office.HotFolderRow        // as shown
	answers map[string]message.Message   // to what was tested, by id
	deeds   map[string][]*widgets.Button // of each row, by id
}

func newFolders(s *Screen) *folders {
	f := &folders{screen: s, list: widgets.Stack(12), answers: map[string]message.Message{}}
	f.reader = async.NewReader(s.env.Work, func(context.Context) ([]office.HotFolderRow, error) { return s.env.Office.HotFolders() }, f.show)
	f.add = widgets.NewButtonWithIcon(lang.L("Add folder"), fynetheme.ContentAddIcon(), func() { f.edit(office.HotFolder{Ask: true}) })
	f.form = newFolderForm(f)
	f.overall = widgets.Section(lang.L("Folders that send"), 16, widgets.NewProse(lang.L("A document that appears in one of these folders, from a scanner or another program, is sent to the people of the folder. Signed documents also come back into its subfolder “Signed”. What cannot be sent is moved to “Problems”, with a text saying why.")),
		f.list, widgets.Row(0, f.add))
	f.content = page(f.overall, f.form.content)
	f.form.content.Hide()
	return f
}

func (f *folders) reload() { f.reader.Ask() }

func (f *folders) show(rows []office.HotFolderRow, err error) {
	if err != nil {
		widgets.Remake(f.list, widgets.Failure(i18n.Error(err), f.reload))
		return
	}
	id, at := f.focused()
	f.rows, f.deeds = rows, map[string][]*widgets.Button{}
	var parts []fyne.CanvasObject
	for _, row := range rows {
		parts = append(parts, f.row(row))
	}
	widgets.Remake(f.list, parts...)
	widgets.Show(f.list, len(parts) > 0)
	if deeds := f.deeds[id]; deeds != nil {
		f.screen.env.Window.Canvas().Focus(deeds[at])
	} else if id != "" { // the row is gone
		f.screen.env.Window.Canvas().Focus(f.add)
	}
}

// focused is the folder of which a button has the focus, and which one; "" for none.
func (f *folders) focused() (id string, at int) {
	focused := f.screen.env.Window.Canvas().Focused()
	for id, deeds := range f.deeds {
		for at, b := range deeds {
			if focused == fyne.Focusable(b) {
				return id, at
			}
		}
	}
	return "", 0
}

// row is one folder with what can be done with it.
func (f *folders) row(x office.HotFolderRow) fyne.CanvasObject {
	mark, state := theme.MarkSigned, lang.L("Sends at once.")
	switch {
	case x.Paused:
		mark, state = theme.MarkLater, lang.L("Paused.")
	case !x.Problem.IsZero():
		mark, state = theme.MarkProblem, i18n.Message(x.Problem)
	case x.Ask:
		state = lang.L("Asks before sending.")
	}
	if x.Waiting > 0 {
		state += " " + lang.N("{{.PluralCount}} documents are waiting.", x.Waiting)
	}
	says := widgets.NewProse(state)
	says.Colour = theme.Secondary
	if mark == theme.MarkProblem {
		says.Colour = mark.Colour()
	}
	text := widgets.Stack(2, widgets.NewFullName(x.Called()), widgets.NewFullCaption(x.Path),
		widgets.NewFullCaption(lang.L("To {{.People}}", i18n.V{"People": people(x.Signers)})), says)
	pause := lang.L("Pause")
	if x.Paused {
		pause = lang.L("Resume")
	}
	var deeds []fyne.CanvasObject
	add := func(name string, do func()) {
		b := widgets.NewButton(name, do)
		deeds, f.deeds[x.ID] = append(deeds, b), append(f.deeds[x.ID], b)
	}
	if x.Confirm && !x.Paused {
		add(lang.L("Confirm"), func() { f.put(x.HotFolder) })
	}
	add(lang.L("Open"), func() { f.screen.env.OpenFile(x.Path) })
	add(lang.L("Edit"), func() { f.edit(x.HotFolder) })
	add(pause, func() { f.pause(x.HotFolder) })
	add(lang.L("Test"), func() { f.test(x.HotFolder) })
	add(lang.L("Remove"), func() { f.remove(x.HotFolder) })
	row := widgets.Stack(8, widgets.Across(widget.NewIcon(mark.Resource()), text, nil), widgets.Flow(4, deeds...))
	if m := f.answers[x.ID]; !m.IsZero() { // below the buttons, which stay under the mouse
		row.Add(widgets.NewProse(i18n.Message(m)))
	}
	return row
}

// people are the names of signers in one line.
func people(signers []office.Signer) string {
	var names []string
	for _, s := range signers {
		names = append(names, s.DisplayName())
	}
	return strings.Join(names, ", ")
}

func (f *folders) pause(x office.HotFolder) {
	x.Paused = !x.Paused
	f.put(x)
}

// put keeps a folder as it is, or paused, from which the account that is signed in sends.
func (f *folders) put(x office.HotFolder) {
	delete(f.answers, x.ID)
	f.screen.env.Attempt(func(context.Context) error {
		_, err := f.screen.env.Office.PutHotFolder(x)
		return err
	}, f.reload)
}

func (f *folders) test(x office.HotFolder) {
	async.Then(f.screen.env.Work, func(context.Context) (message.Message, error) { return f.screen.env.Office.TryHotFolder(x) }, func(m message.Message, err error) {
		if f.answers[x.ID] = m; err != nil {
			f.answers[x.ID] = message.For(err)
		}
		f.reload()
		f.screen.env.Later(widgets.ReadingTime(i18n.Message(f.answers[x.ID])), func() { f.forget(x.ID) })
	})
}

// forget takes away the answer to a test: it is read, or about a folder that is another one now.
func (f *folders) forget(id string) {
	delete(f.answers, id)
	f.reload()
}

func (f *folders) remove(x office.HotFolder) {
	widgets.Ask(f.screen.env.Window.Canvas(), widgets.Question{Title: lang.L("Stop sending from this folder?"),
		Text: lang.L("The folder and the files in it stay as they are. What it has taken is still sent."), Safe: lang.L("Keep sending"), Do: lang.L("Remove"),
		OnDo: func() {
			f.screen.env.Attempt(func(context.Context) error {
				_, err := f.screen.env.Office.RemoveHotFolder(x.ID)
				return err
			}, f.reload)
		}})
}

// edit shows the form for a folder, a new one when it has no id.
func (f *folders) edit(x office.HotFolder) {
	delete(f.answers, x.ID)
	f.form.show(x)
	f.turn(true)
	f.screen.env.Window.Canvas().Focus(f.form.folder)
}

// turn shows the form, or the list.
func (f *folders) turn(form bool) {
	widgets.Show(f.overall, !form)
	widgets.Show(f.form.content, form)
	f.screen.scroll.ScrollToTop()
	f.screen.scroll.Refresh()
	if !form {
		f.screen.env.Window.Canvas().Focus(f.add)
	}
}

// continueFrom shows what is typed in the form of another screen.
func (f *folders) continueFrom(old *folders) {
	if old.form.content.Visible() {
		f.form.show(old.form.folderTyped())
		f.turn(true)
	}
}
