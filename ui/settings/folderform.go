package settings

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// folderForm is where a folder that sends is typed.
type folderForm struct {
	folders *folders
	content *fyne.Container
	title   *widgets.Line
	about   office.HotFolder // what is changed

	folder, signers, name, message, due *widgets.Entry
	ask, order                          *widgets.Choice
	fields                              map[string]*widgets.Field
	said                                *widgets.Prose
	saying                              fyne.CanvasObject
	save, cancel                        *widgets.Button
}

func newFolderForm(f *folders) *folderForm {
	p := &folderForm{folders: f, title: widgets.NewTitle(""), folder: widgets.NewEntry(""), signers: widgets.NewEntry(lang.L("Ana Ruiz <ana@example.com>")),
		name: widgets.NewEntry(i18n.Pattern("{document}")), message: widgets.NewEntry(""), due: widgets.NewEntry(lang.L("No due date")), said: widgets.NewProse("")}
	for _, e := range []*widgets.Entry{p.signers, p.message} {
		e.MultiLine, e.Wrapping = true, fyne.TextWrapWord
		e.SetMinRowsVisible(2)
	}
	ignore := func(int) {}
	p.ask = widgets.NewChoice([]widgets.Option{{Name: lang.L("Ask me first"), Text: lang.L("Documents wait in the outbox until you send them.")},
		{Name: lang.L("Send at once"), Text: lang.L("Nobody looks at a document before it is sent.")}}, 0, ignore, nil)
	p.order = widgets.NewChoice([]widgets.Option{{Name: lang.L("In any order")}, {Name: lang.L("In the order shown")}}, 0, ignore, nil)
	choose := widgets.NewButtonWithIcon(lang.L("Choose…"), fynetheme.FolderOpenIcon(), func() {
		browse.Folder(f.screen.env, typed(p.folder), p.folder.SetText)
	})
	p.fields = map[string]*widgets.Field{
		office.FieldHotPath:    widgets.NewField(lang.L("Folder"), widgets.Across(nil, p.folder, choose), lang.L("The folder is created if it does not exist.")),
		office.FieldHotSigners: widgets.NewField(lang.L("Signers, one per line"), p.signers, ""),
		office.FieldHotName:    widgets.NewField(lang.L("Package name"), p.name, lang.L("You can use {{.Placeholders}}.", i18n.V{"Placeholders": i18n.Pattern(strings.Join(office.HotPlaceholders(), " "))})),
		office.FieldHotDue:     widgets.NewField(lang.L("Days to sign"), p.due, ""),
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
	}
	p.content = widgets.Stack(8, p.title, widgets.Card(widgets.Stack(16, p.fields[office.FieldHotPath], p.fields[office.FieldHotSigners], p.order,
		widgets.Halves(p.fields[office.FieldHotName], p.fields[office.FieldHotDue]),
		widgets.NewField(lang.L("Message to the signers"), p.message, ""), p.ask, p.saying, widgets.Row(8, p.save, p.cancel))))
	return p
}

// show shows a folder to be changed, or a new one.
func (p *folderForm) show(x office.HotFolder) {
	p.about = x
	p.title.Set(lang.L("Add folder"))
	if x.ID != "" {
		p.title.Set(lang.L("Change folder"))
	}
	var lines []string
	for _, s := range x.Signers {
		lines = append(lines, office.Written(s))
	}
	due := ""
	if x.DueDays != 0 {
		due = strconv.Itoa(x.DueDays)
	}
	for e, text := range map[*widgets.Entry]string{p.folder: x.Path, p.signers: strings.Join(lines, "\n"), p.name: i18n.Pattern(x.Name), p.message: x.Message, p.due: due} {
		e.SetText(text)
	}
	p.ask.Choose(index(!x.Ask))
	p.order.Choose(index(x.Sequential))
	p.wrong(nil)
}

func index(second bool) int {
	if second {
		return 1
	}
	return 0
}

// folderTyped is what is typed. Signers that are none make it one without signers.
func (p *folderForm) folderTyped() office.HotFolder {
	x := p.about
	x.Path, x.Name, x.Message = typed(p.folder), i18n.CanonicalPattern(typed(p.name)), typed(p.message)
	x.Signers = office.ReadPeople(p.signers.Text)
	x.Sequential, x.Ask = p.order.Chosen == 1, p.ask.Chosen == 0
	x.DueDays = 0
	if text := typed(p.due); text != "" {
		days, err := strconv.Atoi(text)
		if x.DueDays = days; err != nil {
			x.DueDays = -1 // which no folder has
		}
	}
	return x
}

// keep keeps what is typed, or shows what is wrong with it.
func (p *folderForm) keep() {
	x := p.folderTyped()
	if typed(p.signers) != "" && len(x.Signers) == 0 {
		p.wrong(map[string]string{office.FieldHotSigners: lang.L("Write each signer as Ana Ruiz <ana@example.com>.")})
		return
	}
	p.save.Disable()
	async.Try(p.folders.screen.env.Work, func(context.Context) error {
		_, err := p.folders.screen.env.Office.PutHotFolder(x)
		return err
	}, func(err error) {
		p.save.Enable()
		var config *agent.ConfigError
		switch {
		case errors.As(err, &config):
			p.wrong(i18n.Findings(config.Fields))
		case err != nil:
			p.wrong(map[string]string{"": i18n.Error(err)})
		default:
			p.leave()
			p.folders.reload()
		}
	})
}

// leave shows the list again.
func (p *folderForm) leave() { p.folders.turn(false) }

// wrong marks what is wrong, by field, and says the rest above the buttons.
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
