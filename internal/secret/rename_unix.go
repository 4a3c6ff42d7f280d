//go:build unix && !linux && !darwin

package secret

import "os"

// renameNew gives a file a second name and fails with fs.ErrExist when that is taken; the caller removes the first.
func renameNew(from, to string) error { return os.Link(from, to) }
