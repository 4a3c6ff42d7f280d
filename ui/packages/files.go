package packages

import (
	"path/filepath"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// fileLine is one line of a package's documents and files: what it is called, where it stands, and the file to open.
type fileLine struct {
	name, note string
	mark       theme.Mark
	path       string // of what can be opened, empty when there is nothing on this computer
}

// files are everything that belongs to a package: its files, the signed documents first, and the documents of which
// there is no signed file yet.
func (p record) files() (list []fileLine) {
	filed := map[string]bool{} // documents of which the signed file is saved or planned
	for _, f := range p.row.Files {
		if f.Kind == office.FileSigned {
			filed[f.DocumentID] = true
		}
		list = append(list, p.file(f))
	}
	var open []fileLine
	for i, d := range p.row.Documents {
		if d.ID == "" || !filed[d.ID] {
			open = append(open, p.document(i, d))
		}
	}
	return append(open, list...)
}

// file is the line of a file in the folder, or on its way there.
func (p record) file(f office.File) fileLine {
	folder := i18n.V{"Folder": filepath.Base(filepath.Dir(f.Path))}
	l := fileLine{name: filepath.Base(f.Path), mark: theme.MarkSaved, path: f.Path}
	kind := map[office.FileKind]string{office.FileSigned: lang.L("Signed document"), office.FileCertificate: lang.L("Certificate"),
		office.FileMaster: lang.L("Master file")}[f.Kind]
	where := lang.L("saved in {{.Folder}}", folder)
	switch {
	case p.missing[f.Path]:
		l.mark, l.path, where = theme.MarkProblem, "", lang.L("no longer in {{.Folder}}", folder)
	case f.State == office.JobFailed:
		l.mark, l.path, where = theme.MarkProblem, "", lang.L("could not be saved")
	case f.State != office.JobDone:
		l.mark, l.path, where = theme.MarkNext, "", lang.L("waiting to be saved")
	}
	l.note = where
	if kind != "" {
		l.note = kind + " · " + where
	}
	return l
}

// document is the line of a document that has no signed file yet. What it was sent from can be looked at.
func (p record) document(i int, d office.Document) fileLine {
	l := fileLine{name: i18n.DocumentName(d), mark: theme.MarkNext, note: i18n.Progress(len(d.SignedBy), len(p.row.Signers))}
	switch p.row.Standing() {
	case office.StandsWithdrawn, office.StandsExpired, office.StandsDeclined: // nobody is waited for any more
		l.mark = theme.MarkEnded
	}
	if d.Executed {
		l.mark, l.note = theme.MarkSigned, lang.L("fully signed")
	}
	if len(p.draft.Files) == len(p.row.Documents) { // in the order they were added
		l.path = p.originals[i]
	}
	return l
}

// documentsOf lists the documents and files.
func (s *Screen) documentsOf(p record) fyne.CanvasObject {
	list := widgets.Stack(10)
	for i, l := range p.files() {
		list.Add(s.fileLine(l, i < maxPictures))
	}
	if len(list.Objects) == 0 {
		list.Add(widgets.NewProse(lang.L("The signing service has not listed the documents yet.")))
	}
	return widgets.Section(lang.L("Documents"), 0, list)
}

// fileLine shows one of them. Its picture has its place before it comes.
func (s *Screen) fileLine(l fileLine, pictured bool) fyne.CanvasObject {
	name := widgets.NewFullName(l.name)
	note := widgets.NewProse(l.note)
	if l.mark == theme.MarkProblem {
		note.Colour = theme.Attention
	}
	text := widgets.Stack(2, name, widgets.Across(small(widget.NewIcon(l.mark.Resource())), note, nil))
	if l.path == "" {
		return widgets.Across(s.page(l, pictured), text, nil)
	}
	open := widgets.NewButton(lang.L("Open"), func() { s.env.OpenFile(l.path) })
	show := widgets.NewButtonWithIcon("", fynetheme.FolderOpenIcon(), func() { s.env.ShowInFolder(l.path) })
	show.Says = func() string { return lang.L("Show {{.File}} in its folder", i18n.V{"File": l.name}) }
	menu := func() *fyne.Menu { return s.menuOfFile(l.path) }
	buttons := widgets.Row(4, open, show, s.more(titleOf(l), menu))
	return s.newFileRow(widgets.Across(s.page(l, pictured), widgets.Aside(110, text, buttons), nil), menu)
}
