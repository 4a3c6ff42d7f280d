package check

import (
	"errors"
	"os"

	"fyne.io/fyne/v2/lang"
)

// Folder makes a folder for documents if need be, and makes sure that files can be written there. Unlike Settings it
// touches the disk and may take a moment. Its errors are sentences.
func Folder(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return errors.New(lang.L("This folder cannot be created. Choose another one."))
	}
	f, err := os.CreateTemp(path, ".countersign-*")
	if err != nil {
		return errors.New(lang.L("Files cannot be saved in this folder. Choose another one."))
	}
	if errors.Join(f.Close(), os.Remove(f.Name())) != nil {
		return errors.New(lang.L("Files cannot be saved in this folder. Choose another one."))
	}
	return nil
}
