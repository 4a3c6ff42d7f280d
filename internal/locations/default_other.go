//go:build !windows

package locations

import (
	"os"
	"path/filepath"
)

// Default is this user's data folder.
func Default() (folder string, err error) {
	base, err := os.UserConfigDir()
	return filepath.Join(base, "countersign"), err
}
