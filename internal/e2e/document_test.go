//go:build linux

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"countersign/internal/e2e/harness"
)

// The process that reads documents gets no environment; without a home it has to do without the compiled PDFium.
func TestADocumentIsReadWithoutAnEnvironment(t *testing.T) {
	t.Parallel()
	document, err := os.Open(harness.Sample(t, "Offer 2026-118"))
	harness.Must(t, err)
	defer document.Close()
	read := exec.CommandContext(t.Context(), harness.Program, "page", "0")
	read.Env, read.Stdin = []string{}, document
	out, err := read.Output()
	if want := []byte("R\x01\x00\x00\x00\x01\x00\x00\x00"); err != nil || !bytes.HasPrefix(out, want) {
		t.Errorf("it said %q, %v; want that it was read and has one page", out, err)
	}
}
