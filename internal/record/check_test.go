package record

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"countersign/internal/trytest"
)

var noErr = trytest.NoErr

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// memory is a log whose blocks are computed on demand.
type memory [][]byte

func (m memory) Line(n int64) ([]byte, error) { return m[n], nil }

func (m memory) Block(level int, n int64) (tlog.Hash, error) { return NewBlock(m, level, n) }

// The script is a second implementation of the tree: it does not use package tlog.
func TestAnybodyCanCheckALineWithAShell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	sh := must(exec.LookPath("sh"))
	dirname := must(exec.LookPath("dirname"))
	var all memory
	for n := range 11 {
		all = append(all, fmt.Appendf(nil, `{"fact":"saved","n":%d,"file":{"sha256":"%s"}}`, n, Sum(fmt.Append(nil, n))))
	}
	for _, size := range []int64{1, 6, 11} {
		dir := filepath.Join(t.TempDir(), "record")
		document := filepath.Join(dir, "..", "documents", "0 $(exit).pdf")
		noErr(t, errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(filepath.Dir(document), 0o700), os.WriteFile(document, []byte("0"), 0o600)))
		head := must(HeadOf(all, size))
		files := map[string][]byte{"head.txt": fmt.Appendf(nil, "countersign\n%d\n%s\n", head.N, head.Hash)}
		var lines []Proven
		for n := range size {
			p := must(Prove(all, size, n))
			lines, files[p.Name] = append(lines, p), p.Line
		}
		files["check.sh"] = Script(lines)
		for name, content := range files {
			noErr(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		}
		run := func() (string, error) {
			out, err := exec.CommandContext(t.Context(), "sh", filepath.Join(dir, "check.sh")).CombinedOutput()
			return string(out), err
		}
		if out, err := run(); err != nil || strings.Count(out, ": OK\n") != int(size)+1 {
			t.Errorf("of %d lines: %v\n%s", size, err, out)
		}
		noErr(t, os.WriteFile(document, []byte("another"), 0o600))
		noErr(t, os.WriteFile(filepath.Join(dir, "0.json"), fmt.Appendf(nil, `{"sha256":"%s"}`, Sum([]byte("another"))), 0o600)) // which no head stands for
		if out, err := run(); err == nil || strings.Count(out, ": NOT IN THE RECORD\n") != 1 {
			t.Errorf("of another document: %v\n%s", err, out)
		}
		noErr(t, os.WriteFile(filepath.Join(dir, lines[size/2].Name), []byte(`{"fact":"forged"}`), 0o600))
		if out, err := run(); err == nil || strings.Count(out, ": FAILED\n") != 1 {
			t.Errorf("of %d lines, one of which is forged: %v\n%s", size, err, out)
		}
		noErr(t, os.WriteFile(filepath.Join(dir, "head.txt"), nil, 0o600))
		if out, err := run(); err == nil || strings.Contains(out, "OK") || !strings.Contains(out, "holds no head") {
			t.Errorf("without a head: %v\n%s", err, out)
		}
		cmd := exec.CommandContext(t.Context(), sh, filepath.Join(dir, "check.sh"))
		cmd.Env = []string{"PATH=" + dir}
		noErr(t, os.Symlink(dirname, filepath.Join(dir, "dirname")))
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "This needs sha256sum") {
			t.Errorf("without the programs: %v\n%s", err, out)
		}
	}
}
