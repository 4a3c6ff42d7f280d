package ui

import (
	"errors"
	"os"
	"path/filepath"

	"countersign/ui/system"
)

// Forget removes what the window keeps of this person: Fyne's folders, that of their preferences and that of its icons, and the
// start with the computer.
func Forget() error {
	var err error
	for _, base := range []func() (string, error){os.UserConfigDir, os.UserCacheDir} {
		folder, unknown := base()
		if unknown != nil {
			continue // nothing was kept there either
		}
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, "fyne", DefaultID)))
		_ = os.Remove(filepath.Join(folder, "fyne")) // unless other programs are there
	}
	return errors.Join(err, system.ForgetAutostart())
}
