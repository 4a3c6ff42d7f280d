package compose

import (
	"cmp"
	"context"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/day"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

type documentList struct {
	docs       []*document
	folder     string // folder of the last file chosen
	fileBox    *fyne.Container
	deeds      *fyne.Container // actions for the documents
	target     *widgets.Tappable
	targetEdge *widgets.Back
	filesField *widgets.Field
	each       *widgets.Check
	add        *widgets.Button
	choose     *widgets.Button // chooses a template
	sweep      *widgets.Button
}

// manyFiles is how many files a folder may add without asking.
const manyFiles = 20

// mostFiles limits the files added at once. More would block the window for minutes, and the form stores them for the next start;
// dropping more is probably a mistake.
const mostFiles = 500

// atEnd is the place after the last document.
const atEnd = -1

// Add adds files in order, and of a folder the documents directly in it. Files that cannot be sent say so next to their name. A file
// that is already there is examined again.
func (s *Screen) Add(paths []string) { s.addAt(paths, atEnd) }

// addAt adds files before the document at a place in the list, or at its end.
func (s *Screen) addAt(paths []string, at int) {
	if len(paths) == 0 {
		return
	}
	async.Then(s.env.Work, func(ctx context.Context) (found, error) { return s.unfold(ctx, paths), nil }, func(f found, _ error) {
		if len(f.files) > mostFiles {
			f.files = f.files[:mostFiles]
			s.env.Notice(i18n.Message(message.DropTooMany(mostFiles)))
		}
		for _, folder := range f.empty {
			s.env.Notice(lang.L("No document in “{{.Folder}}” can be sent. Documents in its subfolders are not added.", i18n.V{"Folder": filepath.Base(folder)}))
		}
		add := func(files []office.FormFile) { s.addFiles(files, at); s.focusNeeded() }
		all := func() { add(f.files) }
		if list, sure, rest := s.listAmong(f.files); list.Path != "" && f.inFolders() == 0 {
			s.offerList(list, sure, rest, all)
			return
		}
		if f.inFolders() <= manyFiles {
			all()
			return
		}
		do := lang.L("Add {{.Documents}}", i18n.V{"Documents": i18n.Documents(len(f.files))})
		widgets.Ask(s.env.Window.Canvas(), widgets.Question{Title: lang.L("Add the whole folder?"),
			Text: lang.L("The folder contains many documents."), Safe: lang.L("Do not add"), OnSafe: func() { add(f.beside) }, Do: do, OnDo: all})
	})
}

// found is what dropped paths stand for.
type found struct {
	files  []office.FormFile
	beside []office.FormFile // those of them that did not come from folders
	empty  []string          // folders without documents
}

// inFolders is how many of them came from folders.
func (f found) inFolders() int { return len(f.files) - len(f.beside) }

// unfold reads which documents are in the folders among paths, until there are too many, and makes copies of those that may not last
// until they are sent, possibly after a restart: programs hand out temporary files and delete them at once. It runs off the UI
// goroutine.
func (s *Screen) unfold(ctx context.Context, paths []string) (f found) {
	kept := s.office.NewDelivery()
	for _, path := range paths {
		if len(f.files) > mostFiles {
			break
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			file := office.FormFile{Path: kept.Keep(ctx, path)} // a missing file is reported in its line
			if file.Path != path {
				file.From = path
			}
			f.files, f.beside = append(f.files, file), append(f.beside, file)
			continue
		}
		inside, err := browse.Documents(path)
		if err != nil || len(inside) == 0 {
			f.empty = append(f.empty, path)
		}
		f.files = append(f.files, asFiles(inside)...)
	}
	return f
}

func asFiles(paths []string) (files []office.FormFile) {
	for _, path := range paths {
		files = append(files, office.FormFile{Path: path})
	}
	return files
}

func (s *Screen) addFiles(files []office.FormFile, at int) {
	if len(files) == 0 {
		return
	}
	s.closeList() // the form shows what is added
	if at == atEnd || at > len(s.docs) {
		at = len(s.docs)
	}
	var fresh []*document
	for _, file := range files {
		place := cmp.Or(file.From, file.Path)
		i := slices.IndexFunc(s.docs, func(d *document) bool { return cmp.Or(d.from, d.path) == place })
		if i < 0 {
			i = at
			s.docs = slices.Insert(s.docs, i, s.newDocument(file.Path))
			at++
		}
		s.docs[i].path, s.docs[i].from = file.Path, file.From
		s.docs[i].looked, s.docs[i].refused = false, ""
		fresh = append(fresh, s.docs[i])
	}
	s.filesChanged()
	s.inspect(fresh)
}

// focusNeeded puts the cursor into the first field that has to be filled in to send what was added, unless it is in a field.
func (s *Screen) focusNeeded() {
	if at := s.env.Window.Canvas().Focused(); at != nil && at != fyne.Focusable(s.target) || !s.content.Visible() || s.lists.panel != nil || s.handing != nil {
		return
	}
	w := s.check(s.draft())
	if w.files = ""; w.any() {
		s.focusWrong(w)
	}
}

// inspect examines documents one after the other off the UI goroutine, and then draws their pictures, which take longer and do not
// delay sending. Removing a document meanwhile is harmless.
func (s *Screen) inspect(docs []*document) {
	var paths []string
	for _, d := range docs {
		paths = append(paths, d.path)
	}
	s.env.Work.Start(func(ctx context.Context) {
		drawn := make([]bool, len(docs))
		for i, d := range docs {
			if ctx.Err() != nil {
				return
			}
			info := s.office.Inspect(ctx, paths[i])
			drawn[i] = info.Problem.IsZero() && info.Pages > 0
			s.env.Work.Do(func() {
				if d.path != paths[i] {
					return // added again meanwhile
				}
				d.info, d.looked = info, true
				d.show(len(s.docs) > 1 && d.original == nil)
				if d.unsendable() {
					s.proposeName()
				}
				s.showSweep()
				s.changed()
				if p := s.lists.panel; p != nil && p.id == "" {
					p.refresh()
				}
				if !d.say.Hidden {
					s.layOutAnew()
				}
				s.pass()
			})
		}
		for i, d := range docs {
			if drawn[i] && ctx.Err() == nil {
				s.preview(ctx, d, paths[i])
			}
		}
	})
}

// preview shows page 1 if the office has a picture of it. It runs off the UI goroutine.
func (s *Screen) preview(ctx context.Context, d *document, path string) {
	if page, err := s.office.Preview(ctx, path, 3*int(pictureSize.Width)); err == nil {
		s.env.Work.Do(func() {
			if d.path != path {
				return // added again meanwhile
			}
			d.showPage(page)
			if p := s.lists.panel; p != nil && p.id == "" {
				p.showPage(s.files())
			}
		})
	}
}

func (s *Screen) showFiles() {
	rows := s.basis.show()
	s.add.Hidden = s.documentCount() == 0 && s.basis == nil
	if s.add.Hidden {
		rows = append(rows, s.target)
	}
	for _, d := range s.docs {
		d.show(len(s.docs) > 1)
		rows = append(rows, d.row)
	}
	s.fileBox.Objects = rows                        // drawn along with the rest, because many take long
	s.fileBox.Layout.Layout(rows, s.fileBox.Size()) // so that what is new has its width before it is measured
	s.each.Hidden = len(s.docs) < 2 || s.basis != nil
	s.showSweep()
	s.layOutAnew()
}

// wrongFiles are those that cannot be sent.
func (s *Screen) wrongFiles() []*document {
	return slices.DeleteFunc(slices.Clone(s.files()), func(d *document) bool { return !d.unsendable() })
}

func (s *Screen) showSweep() {
	s.sweep.Hidden = len(s.wrongFiles()) == 0
	s.sweep.Refresh()
	s.deeds.Refresh()
}

func (s *Screen) removeWrong() {
	s.docs = slices.DeleteFunc(s.docs, (*document).unsendable)
	for _, d := range s.files() {
		if d.unsendable() {
			d.original.instead = nil
		}
	}
	s.filesChanged()
	widgets.Focus(s.env.Window.Canvas(), s.adder())
}

// newTarget shows where to drop documents while there are none, although dropping works anywhere, and pressing it opens the file
// dialog. Its border can show errors.
func newTarget(pick func()) (target *widgets.Tappable, edge *widgets.Back) {
	add, say := widgets.NewTitle(lang.L("Add documents")), widgets.NewProse(lang.L("or drop them anywhere in this window"))
	add.Colour, add.Centred, say.Centred = theme.Ink, true, true
	edge = widgets.NewBack(theme.Surface)
	edge.Outline(theme.Line)
	target = widgets.NewTappable(container.NewStack(edge, widgets.PadHV(12, 20, widgets.Stack(12, container.NewCenter(widgets.Sheets()), widgets.Stack(2, add, say)))), pick)
	target.Says = func() string { return add.Text }
	return target, edge
}

// adder returns the control that adds documents now.
func (l *documentList) adder() fyne.Focusable {
	if l.add.Visible() {
		return l.add
	}
	return l.target
}

func (s *Screen) filesChanged() {
	s.proposeName()
	s.showFiles()
	s.changed()
}

// proposeName names the package after the first document that can be sent, until the person has named it.
func (s *Screen) proposeName() {
	name := ""
	if s.basis != nil {
		name = s.basis.template.Name
	} else if at := slices.IndexFunc(s.docs, func(d *document) bool { return !d.unsendable() }); at >= 0 {
		name = proposedName(s.docs[at].path)
	}
	if s.name.Text == "" || s.name.Text == s.proposed {
		s.proposed = name
		s.name.SetText(name)
	}
}

func (s *Screen) placeDocument(from, to int) {
	if from != to && s.handing == nil {
		s.docs = moved(s.docs, from, to)
		s.filesChanged()
	}
}

// removeDocument removes a document and focuses the next one.
func (s *Screen) removeDocument(d *document) {
	if d.original != nil && d.original.instead == d {
		d.original.restore()
		return
	}
	i := slices.Index(s.docs, d)
	if i < 0 || s.busy() {
		return
	}
	s.docs = slices.Delete(s.docs, i, i+1)
	s.filesChanged()
	s.removed(d.title(), func() {
		s.docs = slices.Insert(s.docs, min(i, len(s.docs)), d)
		s.filesChanged()
	})
	switch next := min(i, len(s.docs)-1); {
	case next < 0:
		widgets.Focus(s.env.Window.Canvas(), s.adder())
	case len(s.docs) == 1:
		widgets.Focus(s.env.Window.Canvas(), s.docs[0].remove)
	default:
		widgets.Focus(s.env.Window.Canvas(), s.docs[next].dragHandle)
	}
}

// document is an added file with its row. The row survives reordering, so that a drag or the focus does not lose it.
type document struct {
	path     string
	from     string         // its original path, if its bytes are elsewhere now
	info     agent.FileInfo // the office's findings, once looked is set
	looked   bool
	refused  string    // why it was refused the last time, a sentence; empty unless it was refused individually
	original *original // the template's document it replaces; nil for none

	row        fyne.CanvasObject
	edge       *widgets.Back
	dragHandle *dragHandle
	name       *widgets.Prose
	note       *widgets.Line
	busy       *widget.Activity
	picture    *fyne.Container   // page 1, or an icon
	sight      image.Image       // page 1; nil while there is no picture of it
	page       fyne.CanvasObject // and in its edge
	say        *widgets.Prose    // what is wrong, on as many lines as it needs
	find       *fyne.Container   // leads to a file that cannot be sent, in its folder
	remove     *widgets.Button
}

func (d *document) title() string {
	if d.info.Name != "" {
		return d.info.Name
	}
	return filepath.Base(d.path)
}

// pictureSize is the size of page 1 in a row.
var pictureSize = fyne.NewSize(44, 58)

func (s *Screen) newDocument(path string) *document {
	d := &document{path: path, name: widgets.NewFullName(""), note: widgets.NewCaption(""), busy: widget.NewActivity(),
		say: widgets.NewProse("")}
	d.remove = s.newButton("", fynetheme.DeleteIcon(), func() { s.removeDocument(d) }).Quiet()
	d.remove.Says = func() string { return cmp.Or(d.remove.Tip, widgets.Removing(d.title())) }
	d.dragHandle = s.newDragHandle(s.fileBox, func() int { return slices.Index(s.docs, d) }, s.placeDocument, func() { s.removeDocument(d) })
	d.dragHandle.Says = func() string { return moving(d.title()) }
	d.picture = container.NewStack()
	sheet := container.NewGridWrap(pictureSize, d.picture)
	left := widgets.Row(4, d.dragHandle, container.NewStack(sheet, container.NewCenter(d.busy)))
	d.find = widgets.Row(0, widgets.NewLink(lang.L("Show in folder"), func() { s.env.ShowInFolder(cmp.Or(d.from, d.path)) }))
	d.row, d.edge = tightCard(widgets.Across(left, widgets.Stack(2, d.name, d.say, d.note, d.find), d.remove))
	return d
}

// tightCard is a card with less padding, so that many documents stay visible. Its border can show errors.
func tightCard(content fyne.CanvasObject) (card fyne.CanvasObject, edge *widgets.Back) {
	edge = widgets.NewBack(theme.Surface)
	edge.Outline(theme.Line)
	return container.NewStack(edge, widgets.PadHV(8, 6, content)), edge
}

// show updates the row. many says that the order can be changed.
func (d *document) show(many bool) {
	d.name.Set(d.title())
	d.note.Set(d.facts())
	d.dragHandle.Hidden = !many
	d.note.Hidden, d.find.Hidden = d.note.Text == "", !d.unsendable()
	d.sayWhat()
	if d.looked {
		d.busy.Stop()
		d.busy.Hide()
	} else {
		d.busy.Show()
		d.busy.Start()
	}
	d.edge.Outline(theme.Line)
	switch {
	case d.wrong():
		d.edge.Outline(theme.Attention)
		d.showIcon(theme.MarkProblem.Resource())
	case d.page == nil && d.looked:
		d.showIcon(fynetheme.NewColoredResource(fynetheme.DocumentIcon(), theme.Secondary))
	case d.page != nil:
		widgets.Remake(d.picture, d.page)
	}
	d.row.Refresh()
}

func (d *document) showIcon(icon fyne.Resource) {
	widgets.Remake(d.picture, container.NewCenter(widgets.Mark(24, widget.NewIcon(icon))))
}

// unsendable reports that it cannot be sent as it is.
func (d *document) unsendable() bool { return !d.info.Problem.IsZero() }

func (d *document) wrong() bool { return !d.info.Problem.IsZero() || d.refused != "" }

// facts returns "3 pages · 48 KB".
func (d *document) facts() string {
	if !d.looked {
		return ""
	}
	var facts []string
	if d.info.Pages > 0 {
		facts = append(facts, pages(d.info.Pages))
	}
	if d.info.Size > 0 {
		facts = append(facts, i18n.Size(d.info.Size))
	}
	return strings.Join(facts, " · ")
}

// sayWhat shows the most important finding, if any.
func (d *document) sayWhat() {
	text := i18n.Message(d.info.Problem)
	d.say.Colour = theme.Attention
	switch {
	case text != "":
	case d.refused != "":
		text = d.refused
	default:
		text, d.say.Colour = i18n.Message(d.info.Warning), theme.Waiting
	}
	d.say.Hidden = text == ""
	d.say.Set(text)
	d.name.Hidden = strings.Contains(text, d.title()) // it says the name
}

func (d *document) showPage(page image.Image) {
	if page.Bounds().Empty() {
		return
	}
	d.sight, d.page = page, widgets.Sheet(page, pictureSize, theme.Line)
	if !d.wrong() {
		widgets.Remake(d.picture, d.page)
	}
}

func (s *Screen) days() day.Style { return day.Of(s.env.Country) }

// parseDue returns the end of the typed day, because a package is due until then; zero if the text is no day.
func parseDue(days day.Style, text string, now time.Time) time.Time {
	read, ok := days.Read(text, now)
	if !ok {
		return time.Time{}
	}
	return read.AddDate(0, 0, 1).Add(-time.Second)
}

// example returns a day as people may type it: the last of the year.
func example(days day.Style, now time.Time) string {
	return days.Write(time.Date(now.Year(), time.December, 31, 0, 0, 0, 0, now.Location()))
}

// hintDue shows below the field which day was understood or, for an empty field, how to write it.
func (s *Screen) hintDue(due time.Time) {
	switch now := s.env.Now(); {
	case !due.IsZero():
		s.dueField.Hint(i18n.Day(now, due))
	case s.due.Text == "" && s.inDue:
		s.dueField.Hint(lang.L("For example {{.Date}}, or +14 for 14 days from today", i18n.V{"Date": example(s.days(), now)}))
	default:
		s.dueField.Hint("")
	}
}

// dueFocus, when the field is left, writes the understood day into it or shows the error.
func (s *Screen) dueFocus(here bool) {
	s.inDue = here
	if read, ok := s.days().Read(s.due.Text, s.env.Now()); ok && !here && s.due.Text != s.days().Write(read) {
		s.due.SetText(s.days().Write(read))
	}
	s.changed()
}

func (s *Screen) pickDay() {
	now := s.env.Now()
	start := now
	if due := parseDue(s.days(), s.due.Text, now); !due.IsZero() {
		start = due
	}
	var pop *widgets.PopUp
	calendar := widgets.NewCalendar(now, start, s.days().First(), func(chosen time.Time) {
		s.due.SetText(s.days().Write(chosen))
		pop.Close()
		widgets.Focus(s.env.Window.Canvas(), s.due)
	})
	pop = widgets.OpenAt(s.env.Window.Canvas(), calendar, s.due, calendar.First(start), nil)
}
