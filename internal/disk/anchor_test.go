package disk

import (
	"os"
	"path/filepath"
	"testing"
)

func TestASubfolderIsMadeAndTheFolderAroundItNever(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "share")
	if err := MkdirIn(folder, filepath.Join("Waiting", "one"), 0o755); err == nil {
		t.Error("it was made in a folder that is not there")
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the folder around it was made")
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := MkdirIn(folder, filepath.Join("Waiting", "one"), 0o755); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(filepath.Join(folder, "Waiting", "one")); err != nil || !info.IsDir() {
		t.Error(info, err)
	}
}
