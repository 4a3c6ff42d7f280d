//go:build !windows

package locations

import (
	"os"
	"path/filepath"
)

// Default is the data folder of this user.
func Default() (folder string, err error) {
	base, err := os.UserConfigDir()
	return filepath.Join(base, "countersign"), err
}
