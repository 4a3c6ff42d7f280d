package setup

import (
	"context"

	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/widgets"
)

// folder is the step that asks where signed documents go. After it, the office gets all settings.
type folder struct {
	*step
	screen      *Screen
	path        *widgets.Entry
	name        *widgets.Prose
	cac, master *widgets.Check
}

func newFolder(s *Screen) *folder {
	p := &folder{screen: s, path: widgets.NewEntry(""), name: widgets.NewFullName("")}
	a := s.answers
	s.bind(p.path, &a.settings.SaveTo)
	p.cac = widgets.NewCheck(lang.L("Also save the certificate of each document"), func(on bool) { a.settings.SaveCAC = on; s.keep() })
	p.master = widgets.NewCheck(lang.L("Also save the master file of each package"), func(on bool) { a.settings.SaveMaster = on; s.keep() })
	p.show()
	choose := widgets.NewButtonWithIcon(lang.L("Choose…"), theme.FolderOpenIcon(), p.pick)
	fields := map[string]*widgets.Field{
		office.FieldSaveTo: widgets.NewField(lang.L("Folder"), widgets.Across(nil, p.path, choose), lang.L("The folder is created if it does not exist.")),
	}
	content := widgets.Card(widgets.Stack(12, fields[office.FieldSaveTo], widgets.NewField(lang.L("Example file name"), p.name, ""),
		widgets.Stack(0, p.cac, p.master), widgets.NewProse(lang.L("Later, you can change file names, add subfolders, or save next to the originals."))))
	p.step = &step{key: "folder", name: lang.L("Folder"), title: lang.L("Where do signed documents go?"),
		text:    lang.L("When everyone has signed, Countersign saves the documents here. It never overwrites a file."),
		content: content, first: p.path, fields: fields, next: lang.L("Continue"), enter: p.enter,
		asking: lang.L("Saving the settings…"), ask: p.ask, answered: func() { a.finished = true }, blame: office.FieldSaveTo}
	return p
}

// show shows the answers that are no text.
func (p *folder) show() {
	p.cac.SetChecked(p.screen.answers.settings.SaveCAC)
	p.master.SetChecked(p.screen.answers.settings.SaveMaster)
}

func (p *folder) enter() {
	office, settings := p.screen.env.Office, p.screen.answers.settings
	async.Then(p.screen.env.Work, func(context.Context) (string, error) { return office.PreviewName(settings) },
		func(name string, _ error) { p.name.Set(name) })
}

func (p *folder) pick() {
	browse.Folder(p.screen.env, p.screen.answers.settings.SaveTo, p.path.SetText)
}

// ask hands all settings to the office, which makes the folder and tries to write there.
func (p *folder) ask() func(context.Context) error {
	a := p.screen.answers
	office, settings, secrets := p.screen.env.Office, p.screen.given(), a.secrets
	return func(ctx context.Context) error { return office.Configure(ctx, settings, secrets) }
}

// given are the settings as the office gets them: without what was typed for choices that were not taken.
func (s *Screen) given() office.Settings {
	settings := s.answers.settings
	if settings.Redirect != office.RedirectPaste {
		settings.RedirectURI = ""
	}
	return settings
}
