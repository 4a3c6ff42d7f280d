// Package browse lets people choose files and folders: documents to add, a folder to save in, a file to write. It uses the desktop's
// own dialog, or, if there is none, a picker of ours: Fyne's draws pictures from folders (.background.png) in our process, takes a
// single file, and ignores Escape once something in it has the focus. It reads file names off the UI goroutine and changes nothing
// on disk.
package browse

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/system"
	"countersign/ui/theme"
	"countersign/ui/widgets"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// endings are the document types listed.
var endings = office.SendableEndings()

// Files lets a person choose documents, starting in a folder; an empty start leaves that to the desktop. chosen gets at least one
// path.
func Files(d *env.Env, start string, chosen func(paths []string)) {
	ask(d, system.FileDialog{Kind: system.OpenFiles, Title: lang.L("Add documents"), Accept: lang.L("Add"), Folder: start,
		Kinds: []system.FileKind{{Name: lang.L("Documents"), Endings: append(slices.Clone(endings), ".csv")}, {Name: lang.L("All files")}}}, // .csv: a list for sending in bulk
		func(paths []string, _ bool) { chosen(paths) })
}

// Instead lets a person choose a document that takes the place of another, starting in a folder.
func Instead(d *env.Env, start, title string, chosen func(path string)) {
	ask(d, system.FileDialog{Kind: system.OpenFile, Title: title, Accept: lang.L("Replace"), Folder: start, Kinds: []system.FileKind{{Name: lang.L("Documents"), Endings: endings}}},
		func(paths []string, _ bool) { chosen(paths[0]) })
}

// Any lets a person choose files of any type. chosen gets at least one path.
func Any(d *env.Env, title, accept string, chosen func(paths []string)) {
	ask(d, system.FileDialog{Kind: system.OpenFiles, Title: title, Accept: accept, Kinds: []system.FileKind{{Name: lang.L("All files")}}},
		func(paths []string, _ bool) { chosen(paths) })
}

// Folder lets a person choose a folder, which need not exist yet.
func Folder(d *env.Env, start string, chosen func(path string)) {
	ask(d, system.FileDialog{Kind: system.OpenFolder, Title: lang.L("Choose a folder"), Accept: lang.L("Choose this folder"), Folder: start},
		func(paths []string, _ bool) { chosen(filepath.Clean(paths[0])) })
}

// One lets a person choose one file of a type, described by its name and endings.
func One(d *env.Env, title, kind string, endings []string, chosen func(path string)) {
	ask(d, system.FileDialog{Kind: system.OpenFile, Title: title, Kinds: []system.FileKind{{Name: kind, Endings: endings}}},
		func(paths []string, _ bool) { chosen(paths[0]) })
}

// Save lets a person choose where to write a file, proposing a name. chosen also gets whether an existing file may be replaced: the
// dialog has asked.
func Save(d *env.Env, title, name string, chosen func(path string, replace bool)) {
	ask(d, system.FileDialog{Kind: system.SaveFile, Title: title, Accept: lang.L("Save"), Name: name},
		func(paths []string, desktops bool) { chosen(paths[0], desktops) })
}

// SaveNew is Save for a file that replaces none.
func SaveNew(d *env.Env, title, name string, chosen func(path string)) {
	ask(d, system.FileDialog{Kind: system.SaveFile, Title: title, Accept: lang.L("Save"), Name: name, New: true},
		func(paths []string, _ bool) { chosen(paths[0]) })
}

// ask shows the desktop's dialog, or ours if there is none, and passes on the result. Meanwhile a panel covers the window, because
// not every desktop blocks it, and a dialog may open slowly or behind the window. Leaving the panel cancels the dialog. The panel
// takes no focus, so a second press of Enter does nothing.
func ask(d *env.Env, q system.FileDialog, chosen func(paths []string, desktops bool)) {
	q.Window, q.Title = env.Handle(d.Window), strings.TrimSuffix(q.Title, "…") // the "…" belongs only on the button
	var panel *widgets.PopUp
	left := false
	stop := async.Then(d.Work, func(ctx context.Context) ([]string, error) { return d.System.Choose(ctx, q) }, func(paths []string, err error) {
		if left {
			return
		}
		panel.Close()
		switch {
		case err != nil:
			slog.Info("the window asks for files itself", "err", err)
			if q.Kind == system.SaveFile {
				saveAs(d, q, func(path string, replace bool) { chosen([]string{path}, replace) })
				return
			}
			pick(d, q, func(paths []string) { chosen(paths, false) })
		case len(paths) > 0:
			before := paths[0]
			if q.Kind == system.SaveFile {
				paths[0] = ended(before, q.Name)
			}
			chosen(paths, paths[0] == before)
		}
	})
	text := widgets.NewParagraph(lang.L("Choose in the window that opens."))
	cancel := widgets.NewButton(lang.L("Cancel"), func() { panel.Close() })
	content := widgets.Pad(20, widgets.Stack(16, widgets.NewHeading(q.Title), text, widgets.Row(8, layout.NewSpacer(), cancel)))
	panel = widgets.Open(d.Window.Canvas(), content, fyne.NewSize(440, 0), nil, func() {
		left = true
		stop()
	})
}

// ended returns a path with the ending of a name: what it is, whatever was typed.
func ended(path, name string) string {
	if end := filepath.Ext(name); !strings.EqualFold(filepath.Ext(path), end) {
		path += end
	}
	return path
}

// saver is our own dialog for where to write a file: its name, and the folder in which one was saved last.
type saver struct {
	env           *env.Env
	asks          system.FileDialog
	pop           *widgets.PopUp
	name, folder  *widgets.Entry
	named, within *widgets.Field // contain them
	save          *widgets.Button
	turn          int    // counts what was pressed, typed and said: what comes of an earlier turn counts no more
	there         string // an existing file that the button offers to replace
	take          func(path string, replace bool)
}

// lastFolder is where a file was saved last; only the UI goroutine uses it.
var lastFolder string

var errNoFolder = errors.New("not a folder")

// saveAs shows our dialog. An existing file is replaced only by a press of the button that then says so.
func saveAs(d *env.Env, q system.FileDialog, take func(path string, replace bool)) *saver {
	s := &saver{env: d, asks: q, take: take, name: widgets.NewEntry(""), folder: widgets.NewEntry("")}
	choose := widgets.NewButton(lang.L("Choose…"), func() {
		pick(d, system.FileDialog{Kind: system.OpenFolder, Title: lang.L("Choose a folder"), Accept: lang.L("Choose this folder"), Folder: s.folder.Text},
			func(paths []string) { s.folder.SetText(paths[0]) })
	})
	s.named = widgets.NewField(lang.L("File name"), s.name, "")
	s.within = widgets.NewField(lang.L("Folder"), widgets.Across(nil, s.folder, choose), "")
	s.save = widgets.NewButton(q.Accept, s.accept).Primary()
	leave := func() { s.pop.Close() }
	begin, _ := whole(cmp.Or(q.Folder, lastFolder)) // without a home folder, the person has to choose
	s.name.SetText(q.Name)
	s.folder.SetText(begin)
	for _, e := range []*widgets.Entry{s.name, s.folder} {
		e.OnChanged = func(string) { s.say("", "", q.Accept) }
		e.OnSubmitted, e.OnEscape = func(string) { s.there = ""; s.accept() }, leave
	}
	s.named.Room(true)
	s.within.Room(true)
	s.pop = widgets.Open(d.Window.Canvas(), widgets.Pad(20, widgets.Stack(8, widgets.NewHeading(q.Title), s.named, s.within,
		widgets.Row(8, layout.NewSpacer(), widgets.NewButton(lang.L("Cancel"), leave), s.save))), fyne.NewSize(520, 0), s.name, func() { s.turn++ })
	s.name.SelectAll()
	return s
}

// say says what is wrong with the name or the folder, and what the button would do.
func (s *saver) say(name, folder, do string) {
	s.turn++
	s.there = ""
	s.named.Wrong(name)
	s.within.Wrong(folder)
	s.save.SetText(do)
	s.pop.Refresh()
}

// doublePress is how long a second press is taken for part of the first one, whose button has become another.
const doublePress = time.Second

func (s *saver) accept() {
	name := ended(s.name.Typed(), s.asks.Name)
	folder, bad := whole(s.folder.Typed())
	path := filepath.Join(folder, name)
	s.turn++
	turn, replace := s.turn, s.there == path
	async.Then(s.env.Work, func(context.Context) (fs.FileInfo, error) {
		if in, err := os.Stat(folder); bad != nil || err != nil || !in.IsDir() {
			return nil, errNoFolder
		}
		return os.Lstat(path)
	}, func(info fs.FileInfo, err error) {
		switch {
		case s.turn != turn:
		case errors.Is(err, errNoFolder):
			s.say("", lang.L("This folder cannot be opened."), s.asks.Accept)
		case s.name.Typed() == "" || strings.ContainsAny(name, `/\`) || err != nil && !errors.Is(err, fs.ErrNotExist), err == nil && (s.asks.New || !info.Mode().IsRegular()):
			s.say(lang.L("Choose another name."), "", s.asks.Accept)
		case err == nil && !replace:
			s.say(lang.L("This file already exists."), "", lang.L("Replace"))
			said := s.turn
			s.env.Later(doublePress, func() {
				if s.turn == said {
					s.there = path
				}
			})
		default:
			lastFolder = folder
			s.pop.Close()
			s.take(path, err == nil)
		}
	})
}

// picker is our own dialog for what is there already. The arrow keys move, Space chooses a document, Enter opens a folder or accepts the choice, Backspace
// goes up, Escape cancels.
type picker struct {
	env     *env.Env
	asks    system.DialogKind
	accepts string   // the button's label
	endings []string // of the files listed; empty to choose a folder
	pop     *widgets.PopUp
	list    *widgets.List
	path    *widgets.Entry
	add     *widgets.Button
	why     *widgets.Field    // contains path
	none    fyne.CanvasObject // says that the folder is empty
	folder  string            // the listed folder; empty if it cannot be opened
	opening int               // counts what was opened
	opened  time.Time         // when a row was last opened
	shown   string            // the path before the person edited it
	entries []entry
	chosen  []string // paths in the order of choosing
	take    func(paths []string)
}

// pick shows our dialog, starting in the home folder unless q names a folder. A folder to choose need not exist yet if it is typed
// by its path.
func pick(d *env.Env, q system.FileDialog, take func(paths []string)) *picker {
	p := &picker{env: d, asks: q.Kind, accepts: q.Accept, take: take}
	if len(q.Kinds) > 0 {
		if p.endings = q.Kinds[0].Endings; p.endings == nil {
			p.endings = []string{anyFile}
		}
	}
	p.show(q.Title)
	p.add.Hidden = q.Kind == system.OpenFile
	p.open(q.Folder)
	return p
}

// accept takes the choice. A typed path comes first: a folder is listed, a file is chosen.
func (p *picker) accept() {
	switch {
	case p.typed() && p.asks != system.OpenFolder:
		p.open(p.path.Text)
		return
	case p.asks == system.OpenFolder:
		path := p.path.Typed()
		if strings.HasPrefix(path, "~") {
			path, _ = whole(path)
		}
		if !filepath.IsAbs(path) {
			p.say(lang.L("Enter the full path of the folder."), "")
			return
		}
		p.chosen = []string{filepath.Clean(path)}
	}
	if len(p.chosen) > 0 {
		p.leave()
		p.take(p.chosen)
	}
}

func (p *picker) typed() bool { return p.path.Text != p.shown }

func (p *picker) show(title string) {
	p.path = widgets.NewEntry("")
	p.path.OnChanged = func(string) { p.count() }
	p.path.OnSubmitted = func(path string) {
		if p.typed() {
			p.open(path)
		} else {
			p.accept()
		}
	}
	up := widgets.NewButtonWithIcon("", fynetheme.MoveUpIcon(), p.up)
	up.Tip = lang.L("The folder above")
	p.why = widgets.NewField(lang.L("Folder"), widgets.Across(nil, p.path, up), "")
	p.list = widgets.NewList(func() int { return len(p.entries) }, func() fyne.CanvasObject { return newFileRow(p) }, func(at int, o fyne.CanvasObject) { o.(*fileRow).show(at) })
	p.list.HideSeparators, p.list.OnKey = true, p.pressed
	p.list.OnRune = func(r rune) { // the start of a path
		p.path.SetText(string(r))
		p.path.CursorColumn = 1
		p.env.Window.Canvas().Focus(p.path)
	}
	p.add = widgets.NewButton(p.accepts, p.accept).Primary()
	p.list.Says = p.why.Title
	head := widgets.Stack(12, widgets.NewHeading(title), p.why)
	foot := widgets.Row(8, layout.NewSpacer(), widgets.NewButton(lang.L("Cancel"), p.leave), p.add)
	none := lang.L("There are no files of this type in this folder.")
	if p.endings == nil {
		none = lang.L("There are no folders in this folder.")
	}
	p.none = container.NewCenter(widgets.NewCaption(none).Whole())
	p.none.Hide()
	back := widgets.NewBack("")
	back.Outline(theme.Line)
	content := widgets.Pad(20, widgets.Between(head, foot, widgets.PadHV(0, 8, container.NewStack(back, p.none, widgets.Pad(1, p.list)))))
	canvas := p.env.Window.Canvas()
	p.pop = widgets.Open(canvas, content, fyne.NewSize(560, min(560, canvas.Size().Height-32)), p.list, func() { p.opening++ })
}

// open lists a folder off the UI goroutine; a relative path starts in the home folder. When choosing a folder, one that does not
// exist yet is allowed, and its nearest existing parent is listed.
func (p *picker) open(folder string) {
	type content struct {
		folder, listed string
		file           string // set if the path is a file
		entries        []entry
	}
	p.opening++
	this := p.opening
	async.Then(p.env.Work, func(context.Context) (c content, err error) {
		if c.folder, err = whole(folder); err != nil {
			return c, err
		}
		c.listed = c.folder
		if info, err := os.Stat(c.folder); err == nil && !info.IsDir() && fits(p.endings, c.folder) {
			c.file, c.listed = c.folder, filepath.Dir(c.folder)
			c.folder = c.listed
		}
		c.entries, err = list(c.listed, p.endings)
		for p.asks == system.OpenFolder && errors.Is(err, fs.ErrNotExist) && filepath.Dir(c.listed) != c.listed {
			c.listed = filepath.Dir(c.listed)
			c.entries, err = list(c.listed, p.endings)
		}
		return c, err
	}, func(c content, err error) {
		if this != p.opening { // left, or another was opened meanwhile
			return
		}
		p.shown, p.folder = c.folder, ""
		p.path.SetText(c.folder)
		p.count()
		if err != nil {
			p.say(lang.L("This folder cannot be opened."), "")
			p.entries = nil
			widgets.Show(p.none, false)
			p.list.Refresh()
			return
		}
		hint := ""
		if c.listed != c.folder {
			hint = lang.L("The folder is created if it does not exist.")
		}
		p.say("", hint)
		p.folder, p.entries = c.listed, c.entries
		widgets.Show(p.none, len(c.entries) == 0)
		p.list.UnselectAll()
		p.list.Refresh()
		p.list.ScrollToTop()
		if at := slices.IndexFunc(c.entries, func(e entry) bool { return e.path == c.file }); at >= 0 && !slices.Contains(p.chosen, c.file) {
			p.list.Select(at)
			p.press(at)
		}
	})
}

// say shows an error or a hint at the path and reserves space for it.
func (p *picker) say(wrong, hint string) {
	p.why.Hint(hint)
	p.why.Wrong(wrong)
	p.pop.Refresh()
}

// whole completes a typed path: unless absolute, it starts in the home folder, which may be written as ~.
func whole(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, strings.TrimPrefix(path, "~")), err
}

// up lists the parent of the displayed path, even if that path cannot be opened.
func (p *picker) up() { p.open(filepath.Dir(p.path.Text)) }

// press opens a folder, or toggles a document.
func (p *picker) press(at int) {
	if at < 0 || at >= len(p.entries) {
		return
	}
	e := p.entries[at]
	i := slices.Index(p.chosen, e.path)
	switch {
	case e.folder:
		p.opened = time.Now()
		p.open(e.path)
		return
	case p.asks != system.OpenFiles:
		p.chosen = []string{e.path}
		p.accept()
		return
	case i >= 0:
		p.chosen = slices.Delete(p.chosen, i, i+1)
	default:
		p.chosen = append(p.chosen, e.path)
	}
	p.list.RefreshItem(at)
	p.count()
}

// enter accepts the chosen documents, or the current line if none is chosen.
func (p *picker) enter(at int) {
	switch {
	case at < 0 || at >= len(p.entries):
	case p.entries[at].folder, p.asks != system.OpenFiles:
		p.press(at)
	default:
		if len(p.chosen) == 0 {
			p.press(at)
		}
		p.accept()
	}
}

// count shows how many documents are chosen.
func (p *picker) count() {
	if p.asks != system.OpenFiles {
		return
	}
	n, text := len(p.chosen), p.accepts
	if n > 0 {
		text += " (" + strconv.Itoa(n) + ")"
	}
	p.add.SetText(text)
	widgets.Enable(p.add, n > 0 || p.typed())
}

func (p *picker) leave() { p.pop.Close() }

// pressed handles the list's own keys. Before a row is chosen they mean the first one, which has the ring.
func (p *picker) pressed(k *fyne.KeyEvent) (taken bool) {
	at := max(0, p.list.At())
	switch k.Name {
	case fyne.KeySpace:
		p.press(at)
	case fyne.KeyReturn, fyne.KeyEnter:
		p.enter(at)
	case fyne.KeyBackspace:
		p.up()
	case fyne.KeyEscape:
		p.leave()
	default:
		return false
	}
	return true
}

// fileRow is one line; a tap does what Space does. The second tap of a double one falls on whatever a folder shows there: nobody
// meant that.
type fileRow struct {
	widgets.ListRow
	picker *picker
	at     int
	icon   *widget.Icon
	name   *widgets.Line
	size   *widgets.Line
}

func newFileRow(p *picker) *fileRow {
	r := &fileRow{picker: p, icon: widget.NewIcon(fynetheme.FolderIcon()), name: widgets.NewLine(""), size: widgets.NewCaption("")}
	r.name.Shorten, r.size.Shorten = true, false
	r.Lines, r.Content = []*widgets.Line{r.name}, widgets.PadHV(8, 4, widgets.Across(r.icon, r.name, r.size))
	r.ExtendBaseWidget(r)
	return r
}

func (r *fileRow) Tapped(e *fyne.PointEvent) {
	if time.Since(r.picker.opened) < fyne.CurrentApp().Driver().DoubleTapDelay() {
		return
	}
	r.ListRow.Tapped(e)
	r.picker.press(r.at)
}

func (r *fileRow) show(at int) {
	p := r.picker
	e := p.entries[at]
	r.at = at
	r.name.Set(filepath.Base(e.path))
	size, icon := i18n.Size(e.size), fynetheme.CheckButtonIcon()
	switch {
	case e.folder:
		size, icon = "", fynetheme.FolderIcon()
	case p.asks != system.OpenFiles:
		icon = fynetheme.DocumentIcon()
	case slices.Contains(p.chosen, e.path):
		icon = fynetheme.NewColoredResource(fynetheme.CheckButtonCheckedIcon(), theme.Ink)
	}
	r.size.Set(size)
	r.icon.SetResource(icon)
	r.Shown()
}

// entry is a folder or a document in a folder.
type entry struct {
	path   string
	folder bool
	size   int64
}

// Documents returns the documents directly in a folder, sorted by name.
func Documents(folder string) (paths []string, err error) {
	entries, err := list(folder, endings)
	for _, e := range entries {
		if !e.folder {
			paths = append(paths, e.path)
		}
	}
	return paths, err
}

// anyFile is an ending that matches every file.
const anyFile = ""

func fits(endings []string, path string) bool {
	return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(strings.ToLower(path), e) })
}

// list returns the folders and the files with some endings in a folder, folders first, without hidden ones.
func list(folder string, endings []string) (entries []entry, err error) {
	inside, err := os.ReadDir(folder)
	for _, in := range inside {
		path := filepath.Join(folder, in.Name())
		info, err := os.Stat(path) // follows links
		if err != nil || strings.HasPrefix(in.Name(), ".") {
			continue
		}
		if info.IsDir() || fits(endings, path) {
			entries = append(entries, entry{path, info.IsDir(), info.Size()})
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		if a.folder == b.folder {
			return cmp.Compare(strings.ToLower(a.path), strings.ToLower(b.path))
		}
		if a.folder {
			return -1
		}
		return 1
	})
	return entries, err
}
