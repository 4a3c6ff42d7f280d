package system

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"countersign/internal/message"
)

// CopyFiles puts files on the clipboard as a file manager does, to be pasted into a folder or a mail. It may take a moment.
func (o Opener) CopyFiles(ctx context.Context, paths []string) error {
	paths, err := allExisting(paths)
	if err != nil {
		return err
	}
	if err := copyFiles(ctx, paths); err != nil {
		return message.Error(message.FilesNotCopied(), err)
	}
	return nil
}

// Mail is a mail for a person to complete.
type Mail struct {
	To      []string // addresses; invalid ones are left out
	Subject string
	Files   []string // paths of the attachments
}

// MailFiles opens a mail with attachments in the person's mail program. It waits until that has accepted them, or for some seconds:
// a command that runs longer has become the mail program itself.
func (o Opener) MailFiles(ctx context.Context, m Mail) (err error) {
	if m.Files, err = allExisting(m.Files); err != nil {
		return err
	}
	m.To = slices.DeleteFunc(slices.Clone(m.To), func(to string) bool { return !isAddress.MatchString(to) })
	ended, err := mailFiles(m)
	if err == nil {
		_, err = o.outcome(ctx, ended)
	}
	if err != nil {
		return message.Error(message.NoMailProgram(), err)
	}
	return nil
}

// isAddress matches what a mail program can only read as an address: not as an option, nor as a URI with its own fields.
var isAddress = regexp.MustCompile(`^[\pL\pN_][\pL\pN._+'-]*@[\pL\pN][\pL\pN.-]*$`)

// PrintFiles prints files, on the default printer if the system does not ask. It waits until they are accepted, or for some seconds.
func (o Opener) PrintFiles(ctx context.Context, paths []string) error {
	paths, err := allExisting(paths)
	if err != nil {
		return err
	}
	for _, path := range paths {
		ended, err := printFile(path)
		if err == nil {
			_, err = o.outcome(ctx, ended)
		}
		if err != nil {
			return message.Error(message.NotPrinted(filepath.Base(path)), err)
		}
	}
	return nil
}

// outcome waits for a result. late is true if that takes too long, or if ctx ends first, whose error is then returned.
func (o Opener) outcome(ctx context.Context, ended <-chan error) (late bool, err error) {
	wait, cancel := context.WithTimeout(ctx, cmp.Or(o.Patience, 8*time.Second))
	defer cancel()
	select {
	case err := <-ended:
		return false, err
	case <-wait.Done():
		return true, ctx.Err()
	}
}

// allExisting makes paths absolute and checks that all files exist.
func allExisting(paths []string) (all []string, err error) {
	for _, path := range paths {
		path, err := existing(path)
		if err != nil {
			return nil, err
		}
		all = append(all, path)
	}
	return all, nil
}

// startFound starts a command that may not be installed.
func startFound(name string, arguments ...string) (ended <-chan error, err error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	return start(append([]string{path}, arguments...), "")
}

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
