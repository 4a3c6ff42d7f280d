//go:build unix

package cli

import (
	"bytes"
	"compress/flate"
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

// pressAlone reads a document as the embedded service does.
func pressAlone(t *testing.T, document []byte) ([]byte, *exec.Cmd, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	program := documentPress()
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Env = []string{"SYSTEMROOT="} // as the embedded service starts it: no variable names a settings folder
	// 0 requests the number of pages.
	cmd.Stdin = io.MultiReader(bytes.NewReader(binary.BigEndian.AppendUint64([]byte{0}, uint64(len(document)))), bytes.NewReader(document))
	answer, err := cmd.Output()
	if ctx.Err() != nil {
		t.Error("it took more than two minutes")
	}
	return answer, cmd, err
}

func TestADocumentThatUnpacksToGigabytesEndsNothingButItsOwnProcess(t *testing.T) {
	var packed bytes.Buffer
	z, _ := zlib.NewWriterLevel(&packed, zlib.BestCompression)
	z.Write(zeros(2048))
	z.Close()
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

// zeros is that many MiB of zeros in zlib format (RFC 1950). One MiB is compressed and repeated: compressing all would take
// minutes with the race detector.
func zeros(mebibytes int) []byte {
	var one bytes.Buffer
	w, _ := flate.NewWriter(&one, flate.BestCompression)
	w.Write(make([]byte, 1<<20))
	w.Flush()
	packed := append([]byte{0x78, 0xda}, bytes.Repeat(one.Bytes(), mebibytes)...)
	packed = append(packed, 3, 0) // the empty last block
	return binary.BigEndian.AppendUint32(packed, uint32(mebibytes<<20%65521)<<16|1)
}

func TestAnOrdinaryDocumentIsRead(t *testing.T) {
	f := must(assets.Samples().Open("Offer 2026-118.pdf"))
	defer f.Close()
	sample := must(io.ReadAll(f))
	if answer, _, err := pressAlone(t, sample); err != nil || len(answer) != 2 || answer[0] != 0 || answer[1] == 0 {
		t.Errorf("%v, %v", answer, err)
	}
}
