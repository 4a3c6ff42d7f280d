package system

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoDialog says that the desktop has shown no dialog, or took it away before the person had answered. It is for the
// program, which then asks in its own window.
var ErrNoDialog = errors.New("the desktop shows no file dialog")

type DialogKind int

const (
	OpenFiles  DialogKind = iota // several files that are there
	OpenFile                     // one file that is there
	OpenFolder                   // a folder
	SaveFile                     // where a file is written; the desktop has asked before it names one that is there
)

// FileDialog is a question that the desktop's own dialog asks.
type FileDialog struct {
	Kind   DialogKind
	Title  string
	Accept string     // on the button that accepts; empty for the desktop's word, which Windows and macOS always take
	Folder string     // where it begins; empty where the desktop pleases
	Name   string     // proposed for SaveFile
	Kinds  []FileKind // of files that are listed, the first one to begin with; none for all
	Window uintptr    // over which it stands: its X11 or Windows handle; 0 where it has none, as on Wayland and macOS
}

type FileKind struct {
	Name    string
	Endings []string // each with its dot, in small letters; none for every file
}

// Choose shows the desktop's own file dialog and waits for the person: the portal's on Linux and its like
// (https://flatpak.github.io/xdg-desktop-portal), those of Windows and macOS through package zenity. It returns absolute
// paths, exactly as the files are called, and none when the person cancels. The end of ctx closes the dialog, and Choose
// returns at most a second later. ErrNoDialog is the answer where there is no dialog, at the latest after some seconds.
func (o Opener) Choose(ctx context.Context, d FileDialog) (paths []string, err error) {
	d.Folder = standing(d.Folder)
	return o.choose(ctx, d)
}

// standing is the folder itself or, where it is not there yet, the nearest one above it.
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

// patterns are the kind's endings as the shell would write them, with letters folded by fold.
func (k FileKind) patterns(fold func(string) string) (list []string) {
	if len(k.Endings) == 0 {
		return []string{"*"}
	}
	for _, ending := range k.Endings {
		list = append(list, "*"+fold(ending))
	}
	return list
}

// eitherCase is a pattern for an ending in small or capital letters, as "*.[pP][dD][fF]".
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
