package locations

import (
	"os"
	"path/filepath"
)

// Fleeting reports whether path is in a folder for files that do not last.
func Fleeting(path string) bool {
	cache, _ := os.UserCacheDir() // "" for none
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", os.Getenv("XDG_RUNTIME_DIR"), cache} {
		for _, dir := range []string{dir, resolved(dir)} {
			if rel, err := filepath.Rel(dir, path); dir != "" && err == nil && filepath.IsLocal(rel) {
				return true
			}
		}
	}
	return false
}

// resolved is dir without links, "" when there is no such folder.
func resolved(dir string) string {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	return dir
}
