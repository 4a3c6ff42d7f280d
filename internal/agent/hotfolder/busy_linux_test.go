package hotfolder

import (
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/disk"
)

func TestAFileThatSomebodyWritesIsBusy(t *testing.T) {
	dir, err := disk.OpenDir(t.TempDir())
	noErr(t, err)
	defer dir.Close()
	scanner, err := os.Create(filepath.Join(dir.Path(), "scan.pdf"))
	noErr(t, err)
	info, err := scanner.Stat()
	noErr(t, err)
	if !busy(dir, info) {
		t.Error("it is open for writing")
	}
	noErr(t, scanner.Close())
	if busy(dir, info) {
		t.Error("nobody has it open")
	}
}
