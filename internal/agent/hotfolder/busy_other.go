//go:build !linux && !windows

package hotfolder

import (
	"io/fs"

	"countersign/internal/disk"
)

// busy cannot be determined here; the file being unchanged for a while has to do.
func busy(*disk.Dir, fs.FileInfo) bool { return false }

// hidden reports whether the file is hidden from people; here only its name decides.
func hidden(fs.FileInfo) bool { return false }
