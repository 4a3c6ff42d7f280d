package system

import (
	"cmp"
	"context"
	"os/exec"
	"path/filepath"
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

// MailFiles begins a mail with files attached, in the person's mail program. It waits until that has taken them, or for some
// seconds: a program that takes longer has become the mail program itself.
func (o Opener) MailFiles(ctx context.Context, paths []string) error {
	paths, err := allExisting(paths)
	if err != nil {
		return err
	}
	ended, err := mailFiles(paths)
	if err == nil {
		_, err = o.outcome(ctx, ended)
	}
	if err != nil {
		return message.Error(message.NoMailProgram(), err)
	}
	return nil
}

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
