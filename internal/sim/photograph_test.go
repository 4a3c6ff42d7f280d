package sim

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// photo is folders as they were at a moment.
type photo struct{ kept map[string]string } // folder -> its copy

// photograph copies folders. What is never written to again once it has its name is linked; see stays.
func photograph(folders []string) (photo, error) {
	p := photo{map[string]string{}}
	for _, dir := range folders {
		p.kept[dir] = filepath.Join(filepath.Dir(dir), "photo of "+filepath.Base(dir))
		if err := copyTree(dir, p.kept[dir]); err != nil {
			return p, err
		}
	}
	return p, nil
}

// restore brings them back.
func (p photo) restore() error {
	var all error
	for dir, kept := range p.kept {
		all = errors.Join(all, os.RemoveAll(dir), os.Rename(kept, dir))
	}
	return all
}

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case e.IsDir():
			return os.MkdirAll(target, 0o700)
		case stays(e.Name()):
			return os.Link(path, target)
		case e.Type().IsRegular():
			return copyFile(path, target)
		}
		return nil
	})
}

// stays reports whether nobody writes to the file of a name: a whole document, or a sealed backup, of which a folder of data has
// hundreds.
func stays(name string) bool {
	return strings.HasSuffix(name, ".pdf") && !strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".countersign-backup")
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
