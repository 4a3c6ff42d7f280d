package cli

import (
	"os"
	"time"

	"countersign/internal/preview"
	"countersign/internal/sandbox/press"
)

// pageCmd is the process in which a document is read, see preview.Reader.
type pageCmd struct {
	Width int `arg:""`
}

func (c *pageCmd) Run(r *run) error {
	return notRead(preview.Serve(r.ctx, os.Stdin, r.program.Stdout, c.Width))
}

func notRead(err error) error {
	if err == nil {
		return nil
	}
	return &failure{"The document could not be read: " + err.Error() + "."}
}

// pressCmd is the process in which the embedded service reads a document, see press.Serve.
type pressCmd struct{}

// What it may use for one document.
const (
	pressMemory = 1 << 30 // bytes
	pressCPU    = 20 * time.Second
)

func (c *pressCmd) Run(r *run) error {
	if err := preview.Confine(pressMemory, pressCPU); err != nil {
		return notRead(err)
	}
	return notRead(press.Serve(os.Stdin, r.program.Stdout))
}

// documentPress is this program as the embedded service's reader of documents, likewise.
func documentPress() []string { return itself("press") }

// documentReader is this program as the reader of documents; nil where it does not know its own path.
func documentReader() []string { return itself("page") }

func itself(command string) []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, command}
}
