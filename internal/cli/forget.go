package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/notify"
	"countersign/internal/secret"
	"countersign/internal/single"
)

// forgetCmd removes everything that Countersign has stored for a person on this computer, except documents and folders that
// people chose. It is for uninstallers, and for removing the program by hand.
type forgetCmd struct {
	Everything bool `required:"" help:"Remove settings, sign-in, drafts, list of packages and backups for good. Documents that were saved stay."`
}

func (forgetCmd) Run(r *run) error {
	if r.global.chosen {
		return &usage{"forget is about the usual data folder; remove another one yourself."}
	}
	err := forgetData(r.global.Data, func(name string) error { return forgetKey(r.ctx, name) })
	if errors.Is(err, errStays) {
		return err
	}
	err = errors.Join(err, notify.Forget("Countersign", "Countersign demo"), forgetCache(r.global.Data))
	if r.program.Forget != nil {
		err = errors.Join(err, r.program.Forget())
	}
	if err != nil {
		return message.Error(message.NotAllForgotten(), err)
	}
	return nil
}

// errStays means that some data could not be removed, so its key is kept, too.
var errStays = errors.New("there is data left")

// forgetData removes a data folder and its key. The folder goes last: only it knows the key's name in the keyring, so that
// this can be repeated if the keyring is unreachable.
func forgetData(folder string, forgetKey func(name string) error) error {
	stays := func(m message.Message, err error) error { return message.Error(m, errors.Join(errStays, err)) }
	if _, err := os.Lstat(folder); err != nil {
		return nil
	}
	held, err := single.Acquire(folder) // keeps everybody else out meanwhile
	if errors.Is(err, single.ErrRunning) {
		return stays(message.Running(), err)
	}
	if err != nil {
		return stays(message.NotAllRemoved(folder), err)
	}
	name, err := locations.Noted(folder)
	if err := errors.Join(err, locations.Clear(folder)); err != nil {
		return errors.Join(stays(message.NotAllRemoved(folder), err), held.Close())
	}
	if name != "" {
		if err := forgetKey(name); err != nil {
			return errors.Join(err, held.Close())
		}
	}
	if err := errors.Join(held.Close(), os.RemoveAll(folder)); err != nil {
		return stays(message.NotAllRemoved(folder), err)
	}
	return nil
}

// forgetKey removes a key from the keyring. Without a keyring there is nothing to remove.
func forgetKey(ctx context.Context, name string) error {
	err := secret.Forget(ctx, "Countersign", name)
	if none, ok := errors.AsType[*secret.UnavailableError](err); ok && (none.Reason == secret.NoBus || none.Reason == secret.NoService) {
		return nil
	}
	return err
}

// forgetCache removes the cache. On Windows it lies in the data folder, which may have to stay for now: see forgetData.
func forgetCache(data string) error {
	base, err := os.UserCacheDir()
	if err != nil {
		return nil // nothing can have been cached
	}
	folder := filepath.Join(base, "countersign")
	if disk.Same(folder, data) {
		return nil
	}
	return os.RemoveAll(folder)
}
