// Package browse is how people point at files and folders: several documents to add, a folder to save in, a file to write.
// It asks with the desktop's own dialog, and with a picker of ours where the desktop has none: Fyne's draws what pictures it
// finds in folders (.background.png) in the window's own process, takes one file, and cannot be left with Escape once something
// in it has the focus. It reads names from the disk, beside the window's goroutine, and changes nothing there.
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

// endings are the kinds of documents that are listed; dropping takes any file, and the service decides.
var endings = office.SendableEndings()

// Files lets a person choose documents, beginning in a folder; an empty one leaves that to the desktop. chosen gets at least
// one path.
func Files(d *env.Env, start string, chosen func(paths []string)) {
	ask(d, system.FileDialog{Kind: system.OpenFiles, Title: lang.L("Add documents"), Accept: lang.L("Add"), Folder: start,
		Kinds: []system.FileKind{{Name: lang.L("Documents"), Endings: append(slices.Clone(endings), ".csv")}, {Name: lang.L("All files")}}}, // a list
		func(paths []string, _ bool) { chosen(paths) })
}

// Any lets a person choose files of any kind. chosen gets at least one path.
func Any(d *env.Env, title, accept string, chosen func(paths []string)) {
	ask(d, system.FileDialog{Kind: system.OpenFiles, Title: title, Accept: accept, Kinds: []system.FileKind{{Name: lang.L("All files")}}},
		func(paths []string, _ bool) { chosen(paths) })
}

// Folder lets a person choose a folder, beginning in one. It may be one that is not there yet.
func Folder(d *env.Env, start string, chosen func(path string)) {
	ask(d, system.FileDialog{Kind: system.OpenFolder, Title: lang.L("Choose a folder"), Accept: lang.L("Choose this folder"), Folder: start},
		func(paths []string, _ bool) { chosen(filepath.Clean(paths[0])) })
}

// One lets a person choose one file of a kind, by its name and its endings.
func One(d *env.Env, title, kind string, endings []string, chosen func(path string)) {
	ask(d, system.FileDialog{Kind: system.OpenFile, Title: title, Kinds: []system.FileKind{{Name: kind, Endings: endings}}},
		func(paths []string, _ bool) { chosen(paths[0]) })
}

// Save lets a person choose where a file is written, beginning with a name. chosen also gets whether a file that is there may
// be replaced: the desktop has asked then, and ours does not offer it.
func Save(d *env.Env, title, name string, chosen func(path string, replace bool)) {
	ask(d, system.FileDialog{Kind: system.SaveFile, Title: title, Accept: lang.L("Save here"), Name: name},
		func(paths []string, desktops bool) { chosen(paths[0], desktops) })
}

// ask shows the desktop's dialog and hands on what it gives; ours asks in its place where there is none. Meanwhile a panel
// covers the window: not every desktop keeps the person from it, and a dialog may start slowly, or behind. Leaving the panel
// leaves the dialog. The panel takes no focus, so that a second press of Enter does nothing.
func ask(d *env.Env, q system.FileDialog, chosen func(paths []string, desktops bool)) {
	q.Window, q.Title = env.Handle(d.Window), strings.TrimSuffix(q.Title, "…") // which says of a button that this follows
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
			pick(d, q, func(paths []string) { chosen(paths, false) })
		case len(paths) > 0:
			chosen(paths, true)
		}
	})
	text := widgets.NewParagraph(lang.L("Choose in the window that has opened."))
	cancel := widgets.NewButton(lang.L("Cancel"), func() { panel.Close() })
	content := widgets.Pad(20, widgets.Stack(16, widgets.NewHeading(q.Title), text, widgets.Row(8, layout.NewSpacer(), cancel)))
	panel = widgets.Open(d.Window.Canvas(), content, fyne.NewSize(440, 0), nil, func() {
		left = true
		stop()
	})
}
