package system

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoDialog says that the desktop did not show a dialog, or removed it before the person answered. The program then asks in its
// own window.
var ErrNoDialog = errors.New("the desktop shows no file dialog")

type DialogKind int

const (
	OpenFiles  DialogKind = iota // several existing files
	OpenFile                     // one existing file
	OpenFolder                   // a folder
	SaveFile                     // a file to write; the desktop asks before returning an existing one
)

// FileDialog configures a desktop file dialog.
type FileDialog struct {
	Kind   DialogKind
	Title  string
	Accept string     // label of the accept button; empty for the desktop's own, which Windows and macOS always use
	Folder string     // where to start; empty for the desktop's choice
	Name   string     // proposed name for SaveFile
	New    bool       // no file may be replaced; only our own dialog heeds it
	Kinds  []FileKind // file types to list, the first one preselected; none for all
	Window uintptr    // X11 or Windows handle of the parent; 0 if there is none, as on Wayland and macOS
}

type FileKind struct {
	Name    string
	Endings []string // lower case, each with its dot; none for every file
}

// Choose shows the desktop's own file dialog and waits for the person: the portal's on Linux and similar systems
// (https://flatpak.github.io/xdg-desktop-portal), those of Windows and macOS through package zenity. It returns absolute paths with
// the files' exact names, or none if the person cancels. When ctx ends, the dialog closes and Choose returns within a second. If
// there is no dialog, it returns ErrNoDialog, at the latest after some seconds.
func (o Opener) Choose(ctx context.Context, d FileDialog) (paths []string, err error) {
	d.Folder = standing(d.Folder)
	return o.choose(ctx, d)
}

// standing returns the folder, or its nearest existing parent.
func standing(folder string) string {
	if !filepath.IsAbs(folder) {
		return ""
	}
	for {
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			return folder
		}
		above := filepath.Dir(folder)
		if above == folder {
			return ""
		}
		folder = above
	}
}

// patterns returns the type's endings as glob patterns, with letters converted by fold.
func (k FileKind) patterns(fold func(string) string) (list []string) {
	if len(k.Endings) == 0 {
		return []string{"*"}
	}
	for _, ending := range k.Endings {
		list = append(list, "*"+fold(ending))
	}
	return list
}

// eitherCase returns a pattern for an ending in lower or upper case, such as "*.[pP][dD][fF]".
func eitherCase(ending string) string {
	var b strings.Builder
	for _, letter := range ending {
		if small, capital := strings.ToLower(string(letter)), strings.ToUpper(string(letter)); small != capital {
			b.WriteString("[" + small + capital + "]")
			continue
		}
		b.WriteRune(letter)
	}
	return b.String()
}
