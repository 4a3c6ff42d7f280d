//go:build unix

package cli

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"countersign/assets"
)

// pressAlone has a document read as the embedded service has it read.
func pressAlone(t *testing.T, document []byte) ([]byte, *exec.Cmd, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	program := documentPress()
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Stdin = io.MultiReader(bytes.NewReader(binary.BigEndian.AppendUint64(nil, uint64(len(document)))), bytes.NewReader(document))
	answer, err := cmd.Output()
	if ctx.Err() != nil {
		t.Error("it took more than two minutes")
	}
	return answer, cmd, err
}

func TestADocumentThatUnpacksToGigabytesEndsNothingButItsOwnProcess(t *testing.T) {
	var packed bytes.Buffer
	for level := range 2 {
		source := bytes.Clone(packed.Bytes())
		packed.Reset()
		z, _ := zlib.NewWriterLevel(&packed, zlib.BestCompression)
		if level == 0 {
			for range 2048 {
				z.Write(make([]byte, 1<<20))
			}
		} else {
			z.Write(source)
		}
		z.Close()
	}
	head := "%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[]/Count 0>>\nendobj\n"
	bomb := fmt.Appendf(nil, "%s3 0 obj\n<</Type/XRef/Root 1 0 R/Size 900000000/W[1 1 1]/Filter[/FlateDecode/FlateDecode]/Length %d>>\nstream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n",
		head, packed.Len(), packed.Bytes(), len(head))
	answer, cmd, err := pressAlone(t, bomb)
	if err == nil && (len(answer) == 0 || answer[0] == 0) {
		t.Errorf("%d bytes were read: %v", len(bomb), answer)
	}
	if peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; runtime.GOOS == "linux" && peak<<10 > pressMemory {
		t.Errorf("it had %d MiB", peak>>10)
	}
}

func TestAnOrdinaryDocumentIsRead(t *testing.T) {
	f, err := assets.Samples().Open("Offer 2026-118.pdf")
	must(t, err)
	defer f.Close()
	sample, err := io.ReadAll(f)
	must(t, err)
	if answer, _, err := pressAlone(t, sample); err != nil || len(answer) != 2 || answer[0] != 0 || answer[1] == 0 {
		t.Errorf("%v, %v", answer, err)
	}
}
