package hotfolder

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFileThatSomebodyWritesIsBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scan.pdf")
	scanner, err := os.Create(path)
	noErr(t, err)
	if !busy(path) {
		t.Error("it is open for writing")
	}
	noErr(t, scanner.Close())
	if busy(path) {
		t.Error("nobody has it open")
	}
}
