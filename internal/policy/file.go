//go:build !windows

package policy

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"countersign/internal/disk"
	"countersign/internal/message"
)

// parse reads the administrator's JSON. It reports anything beside the two lists, in particular a mistyped name, because
// whoever wrote it believes that it is in force.
func parse(path string, text []byte) (p Policy) {
	var written map[string]json.RawMessage
	if err := json.Unmarshal(text, &written); err != nil {
		return Policy{Wrong: message.PolicyNoJSON(path)}
	}
	p.Fixed, p.Defaults = map[string]any{}, map[string]any{}
	var wrong []message.Message
	for _, name := range slices.Sorted(maps.Keys(written)) {
		var list map[string]any
		err := json.Unmarshal(written[name], &list)
		switch {
		case strings.EqualFold(name, "fixed"):
			p.Fixed = list
		case strings.EqualFold(name, "defaults"):
			p.Defaults = list
		default:
			err = errUnknown
		}
		if err != nil {
			wrong = append(wrong, message.PolicyValueNotRead(name, path))
		}
	}
	p.Wrong = message.Then(wrong...)
	return p
}

var errUnknown = errors.New("nothing of ours is called so")

// read reads a file that only an administrator may be able to write.
func read(path string) Policy {
	wrong := func(m message.Message) Policy { return Policy{From: path, Wrong: m} }
	f, info, err := disk.OpenFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Policy{}
	case errors.Is(err, disk.ErrNotFile):
		return wrong(message.PolicyNoFile(path))
	case err != nil:
		return wrong(message.PolicyNotRead(path))
	}
	defer f.Close()
	if othersWrite(info) {
		return wrong(message.PolicyOpen(path))
	}
	if folder, err := os.Stat(filepath.Dir(path)); err != nil || othersWrite(folder) && folder.Mode()&os.ModeSticky == 0 {
		return wrong(message.PolicyOpen(filepath.Dir(path)))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return wrong(message.PolicyNotRead(path))
	case len(text) > maxFile:
		return wrong(message.PolicyTooLong(path))
	}
	p := parse(path, text)
	if len(p.Fixed)+len(p.Defaults) > maxValues {
		return wrong(message.PolicyTooLong(path))
	}
	p.From, p.Fixed, p.Defaults = path, home(p.Fixed), home(p.Defaults)
	return p
}

// othersWrite reports whether a file or folder can be written by somebody other than the administrator and the person who
// runs the program; that person decides only for themselves.
func othersWrite(info fs.FileInfo) bool {
	owner, known := info.Sys().(*syscall.Stat_t)
	return info.Mode().Perm()&0o022 != 0 || known && owner.Uid != 0 && int(owner.Uid) != os.Geteuid()
}
