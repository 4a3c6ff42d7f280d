// Package browse lets people choose files and folders: documents to add, a folder to save in, a file to write. It uses the desktop's
// own dialog, or, if there is none, a picker of ours: Fyne's draws pictures from folders (.background.png) in our process, takes a
// single file, and ignores Escape once something in it has the focus. It reads file names off the UI goroutine and changes nothing
// on disk.
package browse

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/system"
	"countersign/ui/widgets"
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
	ask(d, system.FileDialog{Kind: system.SaveFile, Title: title, Accept: lang.L("Save here"), Name: name},
		func(paths []string, desktops bool) { chosen(paths[0], desktops) })
}

// SaveNew is Save for a file that replaces none.
func SaveNew(d *env.Env, title, name string, chosen func(path string)) {
	ask(d, system.FileDialog{Kind: system.SaveFile, Title: title, Accept: lang.L("Save here"), Name: name, New: true},
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
			var ours *picker
			ours = pick(d, q, func(paths []string) { chosen(paths, ours.there != "") })
		case len(paths) > 0:
			chosen(paths, true)
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
