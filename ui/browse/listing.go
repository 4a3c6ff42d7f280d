package browse

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// entry is a folder or a document in a folder.
type entry struct {
	path   string
	folder bool
	size   int64
}

// Documents are the documents that lie in a folder itself, in the order of their names.
func Documents(folder string) (paths []string, err error) {
	entries, err := list(folder, endings)
	for _, e := range entries {
		if !e.folder {
			paths = append(paths, e.path)
		}
	}
	return paths, err
}

// list returns the folders in a folder and the files with some endings, folders first, without what is hidden.
func list(folder string, endings []string) (entries []entry, err error) {
	inside, err := os.ReadDir(folder)
	for _, in := range inside {
		path := filepath.Join(folder, in.Name())
		info, err := os.Stat(path) // follows links
		if err != nil || strings.HasPrefix(in.Name(), ".") {
			continue
		}
		if info.IsDir() || slices.Contains(endings, strings.ToLower(filepath.Ext(path))) {
			entries = append(entries, entry{path, info.IsDir(), info.Size()})
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		if a.folder == b.folder {
			return cmp.Compare(strings.ToLower(a.path), strings.ToLower(b.path))
		}
		if a.folder {
			return -1
		}
		return 1
	})
	return entries, err
}
