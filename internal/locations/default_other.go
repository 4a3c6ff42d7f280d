//go:build !windows

package locations

import (
	"os"
	"path/filepath"
)

func defaults() (folder, former string, err error) {
	base, err := os.UserConfigDir()
	return filepath.Join(base, "countersign"), "", err
}
