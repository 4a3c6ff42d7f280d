package cli

import (
	"context"
	"errors"
	"io/fs"
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
	if r.global.home == (home{}) {
		return &usage{"forget is about the usual data folder; remove another one yourself."}
	}
	err := forgetData([]string{r.global.home.belongs, r.global.home.former}, func(name string) error { return forgetKey(r.ctx, name) })
	if errors.Is(err, errStays) {
		return err
	}
	err = errors.Join(err, notify.Forget("Countersign", "Countersign demo"), forgetCache(r.global.home.belongs))
	if r.program.Forget != nil {
		err = errors.Join(err, r.program.Forget())
	}
	if err != nil {
		return message.Error(message.NotAllForgotten(), err)
	}
	return nil
}

// errStays means that data is left, and with it the keys of what it seals.
var errStays = errors.New("there is data left")

// forgetData removes data folders and their keys; an empty name is that of none. The folders go last: they alone know what their
// keys are called, so that this can be done once more where the keyring cannot be reached.
func forgetData(folders []string, forgetKey func(name string) error) (err error) {
	held := map[string]*single.Instance{} // nobody else may have them meanwhile
	defer func() {
		for _, instance := range held {
			err = errors.Join(err, instance.Close())
		}
	}()
	stays := func(m message.Message, err error) error { return message.Error(m, errors.Join(errStays, err)) }
	var keys []string
	for _, folder := range folders {
		if folder == "" {
			continue
		}
		keys = append(keys, locations.Entries(folder)...)
		if err := os.RemoveAll(locations.Moving(folder)); err != nil {
			return stays(message.NotAllRemoved(locations.Moving(folder)), err)
		}
		if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		instance, err := single.Acquire(folder)
		switch {
		case errors.Is(err, single.ErrRunning):
			return stays(message.Running(), err)
		case err != nil:
			return stays(message.NotAllRemoved(folder), err)
		}
		held[folder] = instance
	}
	for folder := range held {
		if err := locations.Clear(folder); err != nil {
			return stays(message.NotAllRemoved(folder), err)
		}
	}
	for _, name := range keys {
		err = errors.Join(err, forgetKey(name))
	}
	if err != nil {
		return err
	}
	for folder, instance := range held {
		delete(held, folder)
		if err := errors.Join(instance.Close(), os.RemoveAll(folder)); err != nil {
			return stays(message.NotAllRemoved(folder), err)
		}
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
