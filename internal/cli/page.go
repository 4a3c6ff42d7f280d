package cli

import (
	"os"

	"countersign/internal/preview"
)

// pageCmd is the process in which a document is read, see preview.Reader.
type pageCmd struct {
	Width int `arg:""`
}

func (c *pageCmd) Run(r *run) error {
	if err := preview.Serve(r.ctx, os.Stdin, r.program.Stdout, c.Width); err != nil {
		return &failure{"The document could not be read: " + err.Error() + "."}
	}
	return nil
}

// documentReader is this program as the reader of documents; nil where it does not know its own path.
func documentReader() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, "page"}
}
