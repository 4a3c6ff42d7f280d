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

// Read reads the policy as it is now.
func Read() Policy { return readFile(place) }

func readFile(path string) Policy {
	p := Policy{From: path}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Policy{}
	case err != nil:
		p.Wrong = message.PolicyNotRead(path)
		return p
	case !info.Mode().IsRegular():
		p.Wrong = message.PolicyNoFile(path)
		return p
	case info.Mode().Perm()&0o022 != 0:
		p.Wrong = message.PolicyOpen(path)
		return p
	}
	text, err := readAll(path)
	if err != nil {
		p.Wrong = message.PolicyNotRead(path)
		return p
	}
	var written struct {
		Fixed    map[string]any `json:"fixed"`
		Defaults map[string]any `json:"defaults"`
	}
	switch err := json.Unmarshal(text, &written); {
	case len(text) > maxFile, err == nil && len(written.Fixed)+len(written.Defaults) > maxValues:
		p.Wrong = message.PolicyTooLong(path)
	case err != nil:
		p.Wrong = message.PolicyNoJSON(path)
	default:
		p.Fixed, p.Defaults = home(written.Fixed), home(written.Defaults)
	}
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
