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

// forgetCmd removes all that a person has of Countersign on a computer, but for the documents and folders that people chose. It
// is for uninstallers, and for who removes the program in other ways.
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

// errStays means that data is left, and with it the key of what it seals.
var errStays = errors.New("there is data left")

// forgetData removes a data folder and its key. The folder goes last: it alone knows what its key is called, so that this can be
// done once more where the keyring cannot be reached.
func forgetData(folder string, forgetKey func(name string) error) error {
	stays := func(m message.Message, err error) error { return message.Error(m, errors.Join(errStays, err)) }
	if _, err := os.Lstat(folder); err != nil {
		return nil
	}
	held, err := single.Acquire(folder) // nobody else may have it meanwhile
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

// forgetKey has the keyring forget a key. Where there is no keyring, there is none in it.
func forgetKey(ctx context.Context, name string) error {
	err := secret.Forget(ctx, "Countersign", name)
	if none, ok := errors.AsType[*secret.UnavailableError](err); ok && (none.Reason == secret.NoBus || none.Reason == secret.NoService) {
		return nil
	}
	return err
}

// forgetCache removes what is quicker to read than to make again. On Windows that lies in the data folder, which may have to stay for
// a while: see forgetData.
func forgetCache(data string) error {
	base, err := os.UserCacheDir()
	if err != nil {
		return nil // then nothing was put there
	}
	folder := filepath.Join(base, "countersign")
	if disk.Same(folder, data) {
		return nil
	}
	return os.RemoveAll(folder)
}
