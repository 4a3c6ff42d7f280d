package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

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
	var keys []string
	var err error
	for _, folder := range []string{r.global.home.belongs, r.global.home.former} {
		if folder == "" {
			continue
		}
		keys = append(keys, locations.Entries(folder)...)
		err = errors.Join(err, remove(folder), os.RemoveAll(locations.Moving(folder)))
		if errors.Is(err, single.ErrRunning) {
			return message.Error(message.Running(), err)
		}
	}
	if err != nil { // the key stays with what it seals
		return message.Error(message.NotAllRemoved(r.global.home.belongs), err)
	}
	for _, name := range keys {
		err = errors.Join(err, forgetKey(r.ctx, name))
	}
	err = errors.Join(err, notify.Forget("Countersign", "Countersign demo"), forgetCache())
	if r.program.Forget != nil {
		err = errors.Join(err, r.program.Forget())
	}
	if err != nil {
		return message.Error(message.NotAllForgotten(), err)
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

// forgetCache removes what is quicker to read than to make again.
func forgetCache() error {
	folder, err := os.UserCacheDir()
	if err != nil {
		return nil // then nothing was put there
	}
	return os.RemoveAll(filepath.Join(folder, "countersign"))
}

// remove removes a data folder, which nobody else may have meanwhile.
func remove(folder string) error {
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	instance, err := single.Acquire(folder)
	if err != nil {
		return err
	}
	err = os.RemoveAll(locations.State(folder)) // what it is held by goes last
	return errors.Join(err, instance.Close(), os.RemoveAll(folder))
}
