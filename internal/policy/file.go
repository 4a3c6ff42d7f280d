//go:build !windows

package policy

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"countersign/internal/message"
)

// readFile reads a file in which the administrator writes JSON.
func readFile(path string) Policy {
	return readAs(path, func(text []byte) (p Policy) {
		var written struct {
			Fixed    map[string]any `json:"fixed"`
			Defaults map[string]any `json:"defaults"`
		}
		if err := json.Unmarshal(text, &written); err != nil {
			return Policy{Wrong: message.PolicyNoJSON(path)}
		}
		return Policy{Fixed: written.Fixed, Defaults: written.Defaults}
	})
}

// readAs reads a file that only an administrator may be able to write, and has parse say what it holds.
func readAs(path string, parse func(text []byte) Policy) Policy {
	wrong := func(m message.Message) Policy { return Policy{From: path, Wrong: m} }
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Policy{}
	case err != nil:
		return wrong(message.PolicyNotRead(path))
	case !info.Mode().IsRegular():
		return wrong(message.PolicyNoFile(path))
	case info.Mode().Perm()&0o022 != 0:
		return wrong(message.PolicyOpen(path))
	}
	text, err := readAll(path)
	switch {
	case err != nil:
		return wrong(message.PolicyNotRead(path))
	case len(text) > maxFile:
		return wrong(message.PolicyTooLong(path))
	}
	p := parse(text)
	if len(p.Fixed)+len(p.Defaults) > maxValues {
		return wrong(message.PolicyTooLong(path))
	}
	p.From, p.Fixed, p.Defaults = path, home(p.Fixed), home(p.Defaults)
	return p
}

func readAll(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}
