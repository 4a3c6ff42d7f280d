package settings

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// folders is the page of hot folders: a list, and in its place a form for one of them.
type folders struct {
	screen      *Screen
	reader      *async.Reader[foldersNews]
	content     fyne.CanvasObject
	list        *fyne.Container
	add         *widgets.Button
	overall     fyne.CanvasObject // the list and its surroundings
	form        *folderForm
	foldersNews                              // as shown
	answers     map[string]message.Message   // results of tests, by id
	deeds       map[string][]*widgets.Button // by row id
}

type foldersNews struct {
	rows  []office.HotFolderRow
	forOK map[string]int // by id, how many of their documents wait for an OK
}

func (f *folders) read(context.Context) (n foldersNews, err error) {
	drafts, err1 := f.screen.office.Drafts()
	rows, err2 := f.screen.office.HotFolders()
	n = foldersNews{rows, map[string]int{}}
	for _, d := range drafts {
		if d.AsksOK() {
			n.forOK[d.Folder]++
		}
	}
	return n, cmp.Or(err1, err2)
}

func newFolders(s *Screen) *folders {
	f := &folders{screen: s, list: widgets.Stack(12), answers: map[string]message.Message{}}
	f.reader = async.NewReader(s.env.Work, f.read, f.show)
	f.add = widgets.NewButtonWithIcon(lang.L("Add folder"), fynetheme.ContentAddIcon(), func() { f.edit(office.HotFolder{Ask: true}) })
	f.form = newFolderForm(f)
	f.overall = widgets.Card(widgets.Stack(16, widgets.NewProse(lang.L("Documents that appear in these folders are sent to their signers. Signed documents come back into “Signed”. What can’t be sent is moved to “Problems”.")),
		f.list, widgets.Row(0, f.add)))
	f.content = page(f.overall, f.form.content)
	f.form.content.Hide()
	return f
}

func (f *folders) reload() { f.reader.Ask() }

func (f *folders) show(n foldersNews, err error) {
	if err != nil {
		widgets.Remake(f.list, widgets.Failure(i18n.Error(err), f.reload))
		return
	}
	id, at := widgets.FocusedIn(f.screen.env.Window.Canvas(), f.deeds)
	f.foldersNews, f.deeds = n, map[string][]*widgets.Button{}
	var parts []fyne.CanvasObject
	for _, row := range n.rows {
		parts = append(parts, f.row(row))
	}
	widgets.Remake(f.list, parts...)
	widgets.Show(f.list, len(parts) > 0)
	if deeds := f.deeds[id]; deeds != nil {
		widgets.Focus(f.screen.env.Window.Canvas(), deeds[min(at, len(deeds)-1)])
	} else if id != "" { // the row is gone
		widgets.Focus(f.screen.env.Window.Canvas(), f.add)
	}
}

func (f *folders) row(x office.HotFolderRow) fyne.CanvasObject {
	mark, state := theme.MarkSigned, lang.L("Sends at once.")
	switch {
	case x.Paused:
		mark, state = theme.MarkLater, lang.L("Paused.")
	case !x.Problem.IsZero():
		mark, state = theme.MarkProblem, i18n.Message(x.Problem)
	case x.Refused > 0:
		mark, state = theme.MarkProblem, lang.N("{{.PluralCount}} documents could not be sent. They are in “Problems”, with the reason.", x.Refused)
	case x.Ask:
		state = lang.L("Asks before sending.")
	}
	asked := f.forOK[x.ID]
	if asked > 0 && mark == theme.MarkSigned {
		mark = theme.MarkNext
	}
	if others := x.Waiting - asked; others > 0 {
		state += " " + lang.N("{{.PluralCount}} documents are waiting.", others)
	}
	says := widgets.NewProse(state)
	if mark == theme.MarkProblem {
		says.Colour = mark.Colour()
	}
	text := widgets.Stack(2, widgets.NewFullName(x.Called()), widgets.NewFullCaption(x.Path),
		widgets.NewFullCaption(lang.L("To {{.People}}", i18n.V{"People": people(x.Signers)})), says)
	if asked > 0 {
		text.Add(widgets.PadHV(-2, -4, widgets.Row(0, widgets.NewLink(lang.N("{{.PluralCount}} documents are waiting for your OK", asked), func() { f.screen.env.Go.ShowForOK(x.ID) }))))
	}
	if m := f.answers[x.ID]; !m.IsZero() {
		text.Add(widgets.NewProse(i18n.Message(m)))
	}
	var deeds []fyne.CanvasObject
	add := func(b *widgets.Button) { deeds, f.deeds[x.ID] = append(deeds, b), append(f.deeds[x.ID], b) }
	if x.Confirm && !x.Paused {
		add(widgets.NewButton(lang.L("Confirm"), func() { f.put(x.HotFolder) }).Quiet())
	}
	add(widgets.NewButton(lang.L("Edit"), func() { f.edit(x.HotFolder) }).Quiet())
	add(widgets.NewMore(lang.L("More actions"), func() *fyne.Menu { return f.menu(x) }))
	return widgets.Across(nil, widgets.Beside(widgets.Mark(20, widget.NewIcon(mark.Resource())), text), widgets.Row(4, deeds...))
}

// menu is what can be done with a folder, apart from editing it.
func (f *folders) menu(x office.HotFolderRow) *fyne.Menu {
	pause := lang.L("Pause")
	if x.Paused {
		pause = lang.L("Resume")
	}
	return fyne.NewMenu("", fyne.NewMenuItem(lang.L("Open"), func() { f.screen.env.OpenFile(x.Path) }),
		fyne.NewMenuItem(lang.L("Test"), func() { f.test(x.HotFolder) }),
		fyne.NewMenuItem(pause, func() { f.pause(x.HotFolder) }),
		fyne.NewMenuItem(lang.L("Remove"), func() { f.remove(x) }))
}

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

// put stores a folder, unchanged or paused, to send from the account signed in.
func (f *folders) put(x office.HotFolder) {
	delete(f.answers, x.ID)
	f.screen.env.Attempt(func(context.Context) error {
		_, err := f.screen.office.PutHotFolder(x)
		return err
	}, f.reload)
}

func (f *folders) test(x office.HotFolder) {
	async.Then(f.screen.env.Work, func(context.Context) (message.Message, error) { return f.screen.office.TryHotFolder(x) }, func(m message.Message, err error) {
		if f.answers[x.ID] = m; err != nil {
			f.answers[x.ID] = message.For(err)
		}
		f.reload()
		f.screen.env.Later(widgets.ReadingTime(i18n.Message(f.answers[x.ID])), func() { f.forget(x.ID) })
	})
}

// forget clears a test's result: it has been read, or the folder has changed.
func (f *folders) forget(id string) {
	delete(f.answers, id)
	f.reload()
}

func (f *folders) remove(x office.HotFolderRow) {
	text := lang.L("The folder and its files stay as they are.")
	if x.Waiting > 0 { // what was changed there needs an OK also where the folder does not ask
		text += " " + lang.N("{{.PluralCount}} documents stay under “Packages”. What needs your OK keeps waiting for it; the rest is sent.", x.Waiting)
	}
	widgets.Ask(f.screen.env.Window.Canvas(), widgets.Question{Title: lang.L("Stop sending from this folder?"),
		Text: text, Safe: lang.L("Keep the folder"), Do: lang.L("Remove"),
		OnDo: func() {
			f.screen.env.Attempt(func(context.Context) error {
				_, err := f.screen.office.RemoveHotFolder(x.ID)
				return err
			}, f.reload)
		}})
}

func (f *folders) edit(x office.HotFolder) {
	delete(f.answers, x.ID)
	f.form.turn++
	f.form.save.Enable()
	f.form.show(x)
	f.form.shown = f.form.folderTyped()
	f.turn(true)
	widgets.Focus(f.screen.env.Window.Canvas(), f.form.folder)
}

// typing reports whether there is unsaved input for a folder.
func (f *folders) typing() bool {
	return f.form.content.Visible() && !reflect.DeepEqual(f.form.folderTyped(), f.form.shown)
}

func (f *folders) turn(form bool) {
	widgets.Show(f.overall, !form)
	widgets.Show(f.form.content, form)
	f.screen.scroll.ScrollToTop()
	f.screen.scroll.Refresh()
	f.screen.offerUndo()
	if !form {
		widgets.Focus(f.screen.env.Window.Canvas(), f.add)
	}
}

func (f *folders) continueFrom(old *folders) {
	if old.form.content.Visible() {
		f.form.fill(old.form)
		f.turn(true)
	}
}

// folderForm is the form of a hot folder.
type folderForm struct {
	folders *folders
	content *fyne.Container
	title   *widgets.Line
	about   office.HotFolder // the folder being changed
	shown   office.HotFolder // the form's initial content
	turn    int              // counts what the form was about

	folder, signers, name, message, due *widgets.Entry
	ask                                 *widgets.Choice
	order                               *widgets.Check
	fields                              map[string]*widgets.Field
	said                                *widgets.Prose
	saying                              fyne.CanvasObject
	save, cancel, presets               *widgets.Button
}

func newFolderForm(f *folders) *folderForm {
	p := &folderForm{folders: f, title: widgets.NewTitle(""), folder: widgets.NewEntry(""), signers: widgets.NewEntry(lang.L("Ana Ruiz <ana@example.com>")),
		name: widgets.NewEntry(i18n.Pattern("{document}")), message: widgets.NewEntry(""), due: widgets.NewEntry(lang.L("No due date")), said: widgets.NewProse("")}
	for _, e := range []*widgets.Entry{p.signers, p.message} {
		e.MultiLine, e.Wrapping = true, fyne.TextWrapWord
		e.SetMinRowsVisible(2)
	}
	p.ask = widgets.NewChoice([]widgets.Option{{Name: lang.L("Ask me first"), Text: lang.L("Documents wait under “Packages” until you send them.")},
		{Name: lang.L("Send at once"), Text: lang.L("Documents are sent without review.")}}, 0, func(int) { f.screen.offerUndo() }, nil)
	p.order = widgets.NewCheck(lang.L("Sign in the order shown"), func(bool) { f.screen.offerUndo() })
	p.presets = widgets.NewButtonWithIcon(lang.L("Presets"), fynetheme.MenuDropDownIcon(), p.offerPresets).Quiet()
	p.presets.IconPlacement = widget.ButtonIconTrailingText
	choose := widgets.NewButtonWithIcon(lang.L("Choose…"), fynetheme.FolderOpenIcon(), func() {
		browse.Folder(f.screen.env, p.folder.Typed(), p.folder.SetText)
	})
	p.fields = map[string]*widgets.Field{
		office.FieldHotPath:    widgets.NewField(lang.L("Folder"), widgets.Across(nil, p.folder, choose), "").Row(),
		office.FieldHotSigners: widgets.NewField(lang.L("Signers, one per line"), p.signers, "").Row(),
		office.FieldHotName:    widgets.NewField(lang.L("Package name"), p.name, lang.L("You can use {{.Placeholders}}.", i18n.V{"Placeholders": i18n.Pattern(strings.Join(office.HotPlaceholders(), " "))})).Row(),
		office.FieldHotDue:     widgets.NewField(lang.L("Days to sign"), widgets.Row(0, widgets.Column(160, p.due)), "").Row(),
	}
	p.said.Colour = theme.Attention
	p.saying = widgets.Across(widget.NewIcon(theme.MarkProblem.Resource()), p.said, nil)
	p.save, p.cancel = widgets.NewButton(lang.L("Save"), p.keep), widgets.NewButton(lang.L("Cancel"), p.leave)
	p.save.Importance = widget.HighImportance
	for _, e := range []*widgets.Entry{p.folder, p.name, p.due} {
		e.OnSubmitted = func(string) { p.keep() }
	}
	for _, e := range []*widgets.Entry{p.folder, p.signers, p.name, p.message, p.due} {
		e.OnEscape = p.leave
		e.OnFocusLost = f.screen.offerUndo
	}
	p.content = widgets.Stack(8, widgets.Across(nil, p.title, p.presets), widgets.Card(widgets.Stack(12, p.fields[office.FieldHotPath], p.fields[office.FieldHotSigners], widgets.NewField("", widgets.Outdent(p.order), "").Row(),
		p.fields[office.FieldHotName], p.fields[office.FieldHotDue],
		widgets.NewField(lang.L("Message to the signers"), p.message, "").Row(), widgets.NewField("", p.ask, "").Row(), p.saying, widgets.Row(8, p.save, p.cancel))))
	return p
}

func (p *folderForm) show(x office.HotFolder) {
	p.about = x
	p.title.Set(lang.L("Add folder"))
	if x.ID != "" {
		p.title.Set(lang.L("Change folder"))
	}
	due := ""
	if x.DueDays != 0 {
		due = strconv.Itoa(x.DueDays)
	}
	for e, text := range map[*widgets.Entry]string{p.folder: x.Path, p.signers: written(x.Signers), p.name: i18n.Pattern(x.Name), p.message: x.Message, p.due: due} {
		e.SetText(text)
	}
	p.ask.ChooseSecond(!x.Ask)
	p.order.SetChecked(x.Sequential)
	p.wrong(nil)
}

// fill takes over what is typed in an old form, right or wrong.
func (p *folderForm) fill(old *folderForm) {
	p.show(old.about)
	p.shown = old.shown
	for e, was := range map[*widgets.Entry]*widgets.Entry{p.folder: old.folder, p.signers: old.signers, p.message: old.message, p.due: old.due} {
		e.SetText(was.Text)
	}
	p.name.SetText(i18n.Pattern(i18n.CanonicalPattern(old.name.Text)))
	p.ask.ChooseSecond(old.ask.Chosen == 1)
	p.order.SetChecked(old.order.Checked)
}

func written(people []office.Signer) string {
	var lines []string
	for _, s := range people {
		lines = append(lines, office.Written(s))
	}
	return strings.Join(lines, "\n")
}

// offerPresets shows the presets, to fill one in.
func (p *folderForm) offerPresets() {
	s := p.folders.screen
	env.Get(s.env, func(context.Context) ([]office.FormPreset, error) { return s.office.FormPresets() }, func(list []office.FormPreset) {
		none := fyne.NewMenuItem(lang.L("No presets yet. Save one under “Send”."), nil)
		none.Disabled = true
		items := []*fyne.MenuItem{none}
		for i, x := range list {
			items = append(items[:i], fyne.NewMenuItem(x.Name, func() { p.use(x.Form) }))
		}
		widgets.OpenMenu(s.env.Window.Canvas(), fyne.NewMenu("", items...), p.presets)
	})
}

func (p *folderForm) use(f office.Form) {
	x := p.folderTyped()
	x.Signers, x.Sequential, x.Message = f.Signers, f.Sequential, cmp.Or(f.Message, x.Message)
	if days, err := strconv.Atoi(strings.TrimPrefix(f.Due, "+")); err == nil {
		x.DueDays = days
	}
	p.show(x)
}

// folderTyped returns the input. Signers that are all empty count as none.
func (p *folderForm) folderTyped() office.HotFolder {
	x := p.about
	x.Path, x.Name, x.Message = p.folder.Typed(), i18n.CanonicalPattern(p.name.Typed()), p.message.Typed()
	if p.signers.Text != written(x.Signers) { // what nobody typed is not read: it may have said more
		x.Signers = office.ReadPeople(p.signers.Text)
	}
	x.Sequential, x.Ask = p.order.Checked, p.ask.Chosen == 0
	x.DueDays = 0
	if text := p.due.Typed(); text != "" {
		days, err := strconv.Atoi(text)
		if x.DueDays = days; err != nil {
			x.DueDays = -1 // invalid for any folder
		}
	}
	return x
}

func (p *folderForm) keep() {
	x := p.folderTyped()
	p.save.Disable()
	turn := p.turn
	async.Try(p.folders.screen.env.Work, func(context.Context) error {
		_, err := p.folders.screen.office.PutHotFolder(x)
		return err
	}, func(err error) {
		if p.turn != turn { // the form is about another folder
			if err != nil {
				p.folders.screen.env.Notice(i18n.Error(err))
			}
			p.folders.reload()
			return
		}
		p.save.Enable()
		var config *agent.ConfigError
		switch {
		case errors.As(err, &config):
			wrong := i18n.Findings(config.Fields)
			if p.signers.Typed() != "" && len(x.Signers) == 0 {
				wrong[office.FieldHotSigners] = lang.L("Write each signer as Ana Ruiz <ana@example.com>.")
			}
			p.wrong(wrong)
		case err != nil:
			p.wrong(map[string]string{"": i18n.Error(err)})
		default:
			p.leave()
			p.folders.reload()
		}
	})
}

func (p *folderForm) leave() {
	p.turn++
	p.folders.turn(false)
}

// wrong marks errors by field, and shows the rest above the buttons.
func (p *folderForm) wrong(texts map[string]string) {
	var fields []*widgets.Field
	for key, field := range p.fields {
		field.Wrong(texts[key])
		fields = append(fields, field)
	}
	p.said.Set(texts[""])
	widgets.Show(p.saying, texts[""] != "")
	if slices.ContainsFunc(fields, (*widgets.Field).IsWrong) {
		widgets.FocusWrong(fields)
	}
}
