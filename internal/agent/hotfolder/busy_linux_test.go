package hotfolder

import (
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/disk"
)

func TestAFileThatSomebodyWritesIsBusy(t *testing.T) {
	dir := must(disk.OpenDir(t.TempDir()))
	defer dir.Close()
	scanner := must(os.Create(filepath.Join(dir.Path(), "scan.pdf")))
	info := must(scanner.Stat())
	if !busy(dir, info) {
		t.Error("it is open for writing")
	}
	noErr(t, scanner.Close())
	if busy(dir, info) {
		t.Error("nobody has it open")
	}
}
