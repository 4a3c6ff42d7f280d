package system

import (
	"cmp"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"countersign/internal/message"
)

// CopyFiles puts files on the clipboard, as a file manager does: they can be pasted into a folder or a mail. It may take a
// moment.
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

// Mail is a mail that a person is to complete.
type Mail struct {
	To      []string // addresses; what is none is left out
	Subject string
	Files   []string // paths of what is attached
}

// MailFiles begins a mail with files attached, in the person's mail program. It waits until that has taken them, or for some
// seconds: a program that takes longer has become the mail program itself.
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

// isAddress is what a mail program takes for nothing but an address: no option, and no address of a page with fields of its own.
var isAddress = regexp.MustCompile(`^[\pL\pN_][\pL\pN._+'-]*@[\pL\pN][\pL\pN.-]*$`)

// PrintFiles prints files, on the printer that is the usual one where the system does not ask. It waits until they are taken, or
// for some seconds.
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

// outcome is how something ended. It is late when that takes longer than anybody waits for, or ctx ends first, which is the error
// then.
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

// allExisting makes paths absolute and checks that all files are there.
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

// startFound starts a command that may not be on this computer.
func startFound(name string, arguments ...string) (ended <-chan error, err error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	return start(append([]string{path}, arguments...), "")
}
