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
