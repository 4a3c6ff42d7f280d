package cli

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"time"

	"countersign/internal/preview"
	"countersign/internal/sandbox/press"
	"countersign/internal/seal"
)

// pageCmd is the process in which a document is read, see preview.Reader: its first page is drawn, or its seal examined.
type pageCmd struct {
	What string `arg:"" help:"A width in pixels, seal, or authorities."`
}

func (c *pageCmd) Run(r *run) error {
	if width, err := strconv.Atoi(c.What); err == nil {
		return notRead(preview.Serve(r.ctx, os.Stdin, r.program.Stdout, width))
	}
	return notRead(examine(os.Stdin, r.program.Stdout, c.What))
}

func notRead(err error) error {
	if err == nil {
		return nil
	}
	return &failure{"The document could not be read: " + err.Error() + "."}
}

// examine says what package seal finds in a document: its seal, or the authorities that it names.
func examine(document *os.File, out io.Writer, what string) error {
	info, err := document.Stat()
	if err != nil {
		return err
	}
	if err := preview.Begin(out); err != nil {
		return err
	}
	var found any
	if what == "authorities" {
		found, err = seal.Authorities(document)
	} else {
		found, err = seal.Examine(document, info.Size())
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(found)
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
