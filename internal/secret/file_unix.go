//go:build unix

package secret

import "os"

func openFile(path string) (*os.File, error) { return os.Open(path) }

// syncFolder makes a new name in folder survive a loss of power.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
