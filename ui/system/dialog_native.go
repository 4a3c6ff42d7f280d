//go:build windows || darwin

package system

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/ncruces/zenity"
)

// dialogCloses is how long a dialog may take to close. It runs on its own thread or in its own process, and whatever delays it must
// not keep the program from ending.
const dialogCloses = time.Second

func (Opener) choose(ctx context.Context, d FileDialog) ([]string, error) {
	type answer struct {
		paths []string
		err   error
	}
	done := make(chan answer, 1)
	go onDialogThread(ctx, func(options ...zenity.Option) {
		paths, err := show(d, options)
		done <- answer{paths, err}
	})
	select {
	case a := <-done:
		if ctx.Err() == nil {
			return a.paths, a.err
		}
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(dialogCloses):
		}
	}
	return nil, ctx.Err()
}

// show asks with the dialogs of Windows (IFileOpenDialog and IFileSaveDialog) and macOS (through osascript, a separate process, so
// that nothing of ours must be built on a Mac).
func show(d FileDialog, options []zenity.Option) (paths []string, err error) {
	options = append(options, zenity.Title(d.Title), zenity.ConfirmOverwrite())
	if d.Window != 0 && runtime.GOOS == "windows" {
		options = append(options, zenity.Attach(d.Window))
	}
	if begin := filepath.Join(d.Folder, d.Name); begin != "" {
		options = append(options, zenity.Filename(begin))
	}
	for _, kind := range d.Kinds {
		options = append(options, zenity.FileFilter{Name: kind.Name, Patterns: kind.patterns(func(ending string) string { return ending })})
	}
	var path string
	switch d.Kind {
	case OpenFiles:
		paths, err = zenity.SelectFileMultiple(options...)
	case OpenFile:
		path, err = zenity.SelectFile(options...)
	case OpenFolder:
		path, err = zenity.SelectFile(append(options, zenity.Directory())...)
	case SaveFile:
		path, err = zenity.SelectFileSave(options...)
	}
	switch {
	case errors.Is(err, zenity.ErrCanceled):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoDialog, err)
	case path != "":
		return []string{path}, nil
	}
	return paths, nil
}
