// Package browse is how people point at files and folders: several documents to add, a folder to save in, a file to write.
// It asks with the desktop's own dialog, and with a picker of ours where the desktop has none: Fyne's draws what pictures it
// finds in folders (.background.png) in the window's own process, takes one file, and cannot be left with Escape once something
// in it has the focus. It reads names from the disk, beside the window's goroutine, and changes nothing there.
package browse

import (
	"path/filepath"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/env"
	"countersign/ui/system"
)

// endings are the kinds of documents that are listed; dropping takes any file, and the service decides.
var endings = office.SendableEndings()

// Files lets a person choose documents, beginning in a folder; an empty one leaves that to the desktop. chosen gets at least
// one path.
func Files(d *env.Env, start string, chosen func(paths []string)) {
	ask(d, system.FileDialog{Kind: system.OpenFiles, Title: lang.L("Add documents"), Accept: lang.L("Add"), Folder: start,
		Kinds: []system.FileKind{{Name: lang.L("Documents"), Endings: endings}, {Name: lang.L("All files")}}},
		chosen, func() { pickFiles(d, start, chosen) })
}

// Folder lets a person choose a folder, beginning in one. It may be one that is not there yet.
func Folder(d *env.Env, start string, chosen func(path string)) {
	ask(d, system.FileDialog{Kind: system.OpenFolder, Title: lang.L("Choose a folder"), Accept: lang.L("Choose this folder"), Folder: start},
		func(paths []string) { chosen(filepath.Clean(paths[0])) }, func() { pickFolder(d, start, chosen) })
}

// One lets a person choose one file of a kind, by its name and its ending.
func One(d *env.Env, title, kind, ending string, chosen func(path string)) {
	ask(d, system.FileDialog{Kind: system.OpenFile, Title: title, Kinds: []system.FileKind{{Name: kind, Endings: []string{ending}}}},
		func(paths []string) { chosen(paths[0]) }, func() { pickOne(d, title, ending, chosen) })
}

// Save lets a person choose where a file is written, beginning with a name. chosen also gets whether a file that is there may
// be replaced: the desktop has asked then, and ours does not offer it.
func Save(d *env.Env, title, name string, chosen func(path string, replace bool)) {
	ask(d, system.FileDialog{Kind: system.SaveFile, Title: title, Accept: lang.L("Save here"), Name: name},
		func(paths []string) { chosen(paths[0], true) }, func() { pickName(d, title, name, func(path string) { chosen(path, false) }) })
}
