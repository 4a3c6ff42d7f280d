package record

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// memory is a log whose blocks are computed.
type memory [][]byte

func (m memory) Line(n int64) ([]byte, error) { return m[n], nil }

func (m memory) Block(level int, n int64) (tlog.Hash, error) { return NewBlock(m, level, n) }

// The script is the second reading of the tree: it knows nothing of package tlog.
func TestAnybodyCanCheckALineWithAShell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	dirname, err := exec.LookPath("dirname")
	if err != nil {
		t.Fatal(err)
	}
	var all memory
	for n := range 11 {
		all = append(all, fmt.Appendf(nil, `{"fact":"saved","n":%d}`, n))
	}
	for _, size := range []int64{1, 6, 11} {
		dir := t.TempDir()
		head, err := HeadOf(all, size)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{"head.txt": fmt.Appendf(nil, "countersign\n%d\n%s\n", head.N, head.Hash)}
		var lines []Proven
		for n := range size {
			p, err := Prove(all, size, n)
			if err != nil {
				t.Fatal(err)
			}
			lines, files[p.Name] = append(lines, p), p.Line
		}
		files["check.sh"] = Script(lines)
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		run := func() (string, error) {
			out, err := exec.CommandContext(t.Context(), "sh", filepath.Join(dir, "check.sh")).CombinedOutput()
			return string(out), err
		}
		if out, err := run(); err != nil || strings.Count(out, ": OK\n") != int(size) {
			t.Errorf("of %d lines: %v\n%s", size, err, out)
		}
		if err := os.WriteFile(filepath.Join(dir, lines[size/2].Name), []byte(`{"fact":"forged"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := run(); err == nil || strings.Count(out, ": FAILED\n") != 1 {
			t.Errorf("of %d lines, one of which is forged: %v\n%s", size, err, out)
		}
		if err := os.WriteFile(filepath.Join(dir, "head.txt"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := run(); err == nil || strings.Contains(out, "OK") || !strings.Contains(out, "holds no head") {
			t.Errorf("without a head: %v\n%s", err, out)
		}
		cmd := exec.CommandContext(t.Context(), sh, filepath.Join(dir, "check.sh"))
		cmd.Env = []string{"PATH=" + dir}
		if err := os.Symlink(dirname, filepath.Join(dir, "dirname")); err != nil {
			t.Fatal(err)
		}
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "This needs sha256sum") {
			t.Errorf("without the programs: %v\n%s", err, out)
		}
	}
}
