package agent

import (
	"errors"
	"os"

	"countersign/internal/office"
)

// tryFolder makes a folder for documents if need be, and makes sure that files can be written there; "" when they can.
func tryFolder(path string) office.Code {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return office.CodeNotMade
	}
	f, err := os.CreateTemp(path, ".countersign-*")
	if err != nil {
		return office.CodeNotWritable
	}
	if errors.Join(f.Close(), os.Remove(f.Name())) != nil {
		return office.CodeNotWritable
	}
	return ""
}
