package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"time"

	"countersign/internal/compare"
	"countersign/internal/preview"
	"countersign/internal/sandbox/press"
	"countersign/internal/seal"
	"countersign/internal/table"
)

// pageCmd is the process in which a document is read, see preview.Reader: it draws a page, examines a seal, reads a table or
// compares documents.
type pageCmd struct {
	What string `arg:"" help:"A width in pixels, or that and a page, seal, authorities, table, or compare."`
}

// Limits of a process's processor time.
const (
	sealCPU    = 6 * time.Second
	tableCPU   = 15 * time.Second
	compareCPU = 2 * time.Minute
)

func (c *pageCmd) Run(r *run) error {
	switch c.What {
	case "seal", "authorities":
		return notRead(examine(os.Stdin, r.program.Stdout, c.What))
	case "table":
		return notRead(readTable(os.Stdin, r.program.Stdout))
	case "compare":
		return notRead(comparePages(r.ctx, os.Stdin, r.program.Stdout))
	}
	return notRead(preview.Serve(r.ctx, os.Stdin, r.program.Stdout, c.What))
}

func notRead(err error) error {
	if err == nil {
		return nil
	}
	return &failure{"The document could not be read: " + err.Error() + "."}
}

// examine prints what package seal finds in a document: its seal, or the authorities it names.
func examine(document *os.File, out io.Writer, what string) error {
	info, err := document.Stat()
	if err != nil {
		return err
	}
	if err := preview.Begin(out, sealCPU); err != nil {
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

// comparePages compares a document that was sent with one that came back; see compare.Compare. It gives up before its time limit, and
// does not stop PDFium, which may be at work until the process ends.
func comparePages(ctx context.Context, in io.Reader, out io.Writer) error {
	engine, _, err := preview.Start(ctx)
	if err != nil {
		return err
	}
	if err := preview.Begin(out, compareCPU); err != nil {
		return err
	}
	sent, back, err := preview.ReadBoth(in)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(compare.Compare(engine, sent, back, compareCPU*3/4))
}

// readTable prints the contents of a list; see table.Serve.
func readTable(in io.Reader, out io.Writer) error {
	if err := preview.Begin(out, tableCPU); err != nil {
		return err
	}
	return table.Serve(in, out)
}

// pressCmd is the process in which the embedded service reads a document, see press.Serve.
type pressCmd struct{}

// Its limits for one document.
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

// documentPress is the command that starts this program as the embedded service's document reader; nil if its own path is
// unknown.
func documentPress() []string { return itself("press") }

// documentReader is the command that starts this program as the document reader; nil if its own path is unknown.
func documentReader() []string { return itself("page") }

func itself(command string) []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, command}
}
