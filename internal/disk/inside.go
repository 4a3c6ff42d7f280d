package disk

import (
	"os"
	"path/filepath"
)

// Inside reports whether path is dir or lies below it, whatever links lead there and however it is written. What is not there
// yet lies where the nearest folder lies that is.
func Inside(path, dir string) bool {
	written := filepath.Clean(dir)
	there, gone := os.Stat(dir)
	paths := []string{path}
	if real := resolved(path); real != path {
		paths = append(paths, real)
	}
	for _, p := range paths {
		for ; ; p = filepath.Dir(p) {
			if p == written {
				return true
			}
			if info, err := os.Stat(p); gone == nil && err == nil && os.SameFile(info, there) {
				return true
			}
			if filepath.Dir(p) == p {
				break
			}
		}
	}
	return false
}

// resolved is a path without links, as far as it is there.
func resolved(path string) string {
	for rest, p := "", path; ; rest, p = filepath.Join(filepath.Base(p), rest), filepath.Dir(p) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest)
		}
		if filepath.Dir(p) == p {
			return path
		}
	}
}

// Same reports whether two paths lead to the same file or folder, which is there.
func Same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
