// Package browse is how people point at files and folders: several documents to add, a folder to save in, a file to write.
// Fyne's dialogs take one file, begin in the wrong place, and cannot be left with Escape. It reads names from the disk,
// beside the window's goroutine, and changes nothing there.
package browse

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// endings are the kinds of documents that the picker lists; dropping takes any file, and the service decides.
var endings = []string{".pdf", ".docx", ".doc", ".odt", ".rtf", ".txt", ".xlsx", ".xls", ".ods", ".pptx", ".ppt", ".odp", ".png", ".jpg", ".jpeg", ".tif", ".tiff"}

// picked is one line of the picker: a folder or a document.
type picked struct {
	path   string
	folder bool
	size   int64
}

// browser is one such dialog. The arrows move, Space chooses a document, Enter opens a folder or takes what is chosen,
// Backspace goes up, Escape leaves.
type browser struct {
	env    *env.Env
	files  bool // documents are listed, not only folders
	many   bool // and several of them chosen
	pop    *widgets.PopUp
	list   *fileList
	path   *widgets.Entry
	name   *widgets.Entry // of the file to write; nil where none is written
	add    *widgets.Button
	why    *widgets.Field // around path
	folder string
	lines  []picked
	chosen []string          // paths, in the order they were chosen
	done   func()            // takes what is chosen
	kinds  []string          // endings of the files that are listed
	take   func(path string) // takes the one file that is pressed; nil where files are chosen otherwise
}

// Files lets a person choose documents, beginning in a folder; an empty one is the home folder. chosen gets the folder
// they were chosen in and their paths, in the order in which they were chosen.
func Files(d *env.Env, start string, chosen func(folder string, paths []string)) *browser {
	b := &browser{env: d, files: true, many: true, kinds: endings}
	b.done = func() {
		if len(b.chosen) > 0 {
			b.leave()
			chosen(b.folder, b.chosen)
		}
	}
	b.show(lang.L("Add documents"), lang.L("Press Space to select files and Enter to add them."), nil)
	b.open(start)
	return b
}

// Folder lets a person choose a folder, beginning in one. It may be one that is not there yet, typed by its path.
func Folder(d *env.Env, start string, chosen func(path string)) *browser {
	b := &browser{env: d}
	b.done = func() {
		if path := strings.TrimSpace(b.path.Text); filepath.IsAbs(path) {
			b.leave()
			chosen(filepath.Clean(path))
			return
		}
		b.why.Wrong(lang.L("Enter the full path of the folder."))
	}
	b.show(lang.L("Choose a folder"), "", nil)
	b.add.SetText(lang.L("Choose this folder"))
	b.open(start)
	return b
}

// One lets a person choose one file of a kind, by its ending, beginning in the home folder.
func One(d *env.Env, title, ending string, chosen func(path string)) *browser {
	b := &browser{env: d, files: true, kinds: []string{ending}, done: func() {}}
	b.take = func(path string) {
		b.leave()
		chosen(path)
	}
	b.show(title, lang.L("Press the file to open it."), nil)
	b.add.Hide()
	b.open("")
	return b
}

// Save lets a person choose where a file is written, beginning in a folder and with a name. A file that is there already
// is not taken.
func Save(d *env.Env, title, start, name string, chosen func(path string)) *browser {
	b := &browser{env: d, files: true, kinds: endings, name: widgets.NewEntry("")}
	field := widgets.NewField(lang.L("File name"), b.name, "")
	b.name.SetText(name)
	b.done = func() {
		path := filepath.Join(b.folder, filepath.Base(strings.TrimSpace(b.name.Text)))
		async.Then(d.Work, func(context.Context) (bool, error) {
			_, err := os.Lstat(path)
			return errors.Is(err, fs.ErrNotExist), nil
		}, func(free bool, _ error) {
			if !free || strings.TrimSpace(b.name.Text) == "" {
				field.Wrong(lang.L("Choose another name. There is already a file with this name."))
				return
			}
			b.leave()
			chosen(path)
		})
	}
	b.name.OnSubmitted = func(string) { b.done() }
	b.show(title, "", field)
	b.add.SetText(lang.L("Save here"))
	b.open(start)
	return b
}

// show opens the dialog; below stands under the list and may be nil.
func (b *browser) show(title, keys string, below fyne.CanvasObject) {
	b.path = widgets.NewEntry("")
	b.path.OnSubmitted = func(text string) { b.open(text) }
	b.why = widgets.NewField(lang.L("Folder"), b.path, "")
	b.list = newFileList(b)
	up := widgets.NewButtonWithIcon("", theme.MoveUpIcon(), b.up)
	b.add = widgets.NewButton("", func() { b.done() })
	b.add.Importance = widget.HighImportance
	head := widgets.Stack(8, widgets.NewHeading(title), widgets.Across(nil, b.why, up), b.places())
	foot := widgets.Stack(8, widgets.Across(nil, widgets.NewCaption(keys), container.NewHBox(widgets.NewButton(lang.L("Cancel"), b.leave), b.add)))
	if below != nil {
		foot.Objects = append([]fyne.CanvasObject{below}, foot.Objects...)
	}
	content := widgets.Pad(16, container.NewBorder(head, widgets.PadHV(0, 8, foot), nil, nil, container.NewStack(layout.NewSpacer(), b.list)))
	room := b.env.Window.Canvas().Size()
	b.pop = widgets.Open(b.env.Window.Canvas(), content, fyne.NewSize(640, room.Height-32), b.list, nil)
	if b.many {
		b.count()
	}
}

// place is a folder people keep documents in.
type place struct{ name, path string }

// places are buttons for those that exist; the disk is asked beside the window's goroutine.
func (b *browser) places() fyne.CanvasObject {
	row := container.NewHBox()
	names := []place{{lang.L("Home"), ""}, {lang.L("Desktop"), "Desktop"}, {lang.L("Documents"), "Documents"}, {lang.L("Downloads"), "Downloads"}}
	async.Then(b.env.Work, func(context.Context) (there []place, err error) {
		home, err := os.UserHomeDir()
		for _, n := range names {
			n.path = filepath.Join(home, n.path)
			if info, err := os.Stat(n.path); err == nil && info.IsDir() {
				there = append(there, n)
			}
		}
		return there, err
	}, func(there []place, _ error) { // without a home there are none
		for _, n := range there {
			to := widgets.NewButton(n.name, func() { b.open(n.path) })
			to.Importance = widget.LowImportance
			row.Add(to)
		}
	})
	return row
}

// open lists a folder, read beside the window's goroutine; an empty path is the home folder. Where a folder is chosen, one
// that is not there yet may be, and the nearest one above it is listed.
func (b *browser) open(folder string) {
	type content struct {
		folder, shown string
		lines         []picked
	}
	async.Then(b.env.Work, func(context.Context) (c content, err error) {
		if c.folder = folder; folder == "" {
			if c.folder, err = os.UserHomeDir(); err != nil {
				return c, err
			}
		}
		c.shown = c.folder
		c.lines, err = listed(c.shown, b.kinds)
		for !b.files && errors.Is(err, fs.ErrNotExist) && filepath.Dir(c.shown) != c.shown {
			c.shown = filepath.Dir(c.shown)
			c.lines, err = listed(c.shown, b.kinds)
		}
		return c, err
	}, func(c content, err error) {
		b.path.SetText(c.folder)
		if err != nil {
			b.why.Wrong(lang.L("This folder cannot be opened."))
			return
		}
		b.why.Wrong("")
		b.why.Hint("")
		if c.shown != c.folder {
			b.why.Hint(lang.L("The folder is created if it does not exist."))
		}
		b.folder, b.lines = c.shown, c.lines
		b.list.UnselectAll()
		b.list.Refresh()
		b.list.ScrollToTop()
		if len(c.lines) > 0 {
			b.list.Select(0)
		}
	})
}

// Documents are the documents that lie in a folder itself, in the order of their names.
func Documents(folder string) (paths []string, err error) {
	lines, err := listed(folder, endings)
	for _, line := range lines {
		if !line.folder {
			paths = append(paths, line.path)
		}
	}
	return paths, err
}

// listed are the folders in a folder and the files of some kinds, folders first, without what is hidden.
func listed(folder string, kinds []string) (lines []picked, err error) {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		line := picked{path: filepath.Join(folder, e.Name())}
		info, err := os.Stat(line.path) // follows links
		if err != nil || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		line.folder, line.size = info.IsDir(), info.Size()
		if line.folder || slices.Contains(kinds, strings.ToLower(filepath.Ext(e.Name()))) {
			lines = append(lines, line)
		}
	}
	slices.SortStableFunc(lines, func(a, b picked) int {
		if a.folder != b.folder {
			if a.folder {
				return -1
			}
			return 1
		}
		return strings.Compare(strings.ToLower(a.path), strings.ToLower(b.path))
	})
	return lines, err
}

func (b *browser) up() { b.open(filepath.Dir(b.folder)) }

// press chooses a document, or no longer, and opens a folder.
func (b *browser) press(at int) {
	if at < 0 || at >= len(b.lines) {
		return
	}
	line := b.lines[at]
	if line.folder {
		b.open(line.path)
		return
	}
	if b.take != nil {
		b.take(line.path)
		return
	}
	if !b.many {
		b.name.SetText(filepath.Base(line.path))
		return
	}
	if i := slices.Index(b.chosen, line.path); i >= 0 {
		b.chosen = slices.Delete(b.chosen, i, i+1)
	} else {
		b.chosen = append(b.chosen, line.path)
	}
	b.list.RefreshItem(at)
	b.count()
}

// enter takes what is chosen; with nothing chosen it is the line itself that is meant.
func (b *browser) enter(at int) {
	if len(b.chosen) == 0 || b.lines[at].folder {
		b.press(at)
		if b.lines[at].folder {
			return
		}
	}
	b.done()
}

func (b *browser) count() {
	b.add.SetText(lang.L("Add"))
	if n := len(b.chosen); n > 0 {
		b.add.SetText(lang.L("Add {{.Documents}}", i18n.V{"Documents": i18n.Documents(n)}))
		b.add.Enable()
		return
	}
	b.add.Disable()
}

func (b *browser) leave() { b.pop.Close() }
