package update

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
)

// Between the check and the start, and for as long as the installer runs, whoever can write to the folder must not put something
// else in its place.
func TestWhatWasCheckedIsWhatIsInstalled(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "update")
	path := filepath.Join(folder, "setup.exe")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("MZ"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("MZ"))
	f := File{Size: 2, SHA256: hex.EncodeToString(sum[:])}
	held, err := Hold(path, f)
	if err != nil {
		t.Fatal(err)
	}
	if os.WriteFile(path, []byte("XX"), 0o600) == nil {
		t.Error("it was changed")
	}
	if os.Rename(path, path+".old") == nil {
		t.Error("it was moved away")
	}
	if os.Remove(path) == nil {
		t.Error("it was removed")
	}
	if err := Verify(path, f); err != nil { // which reads it meanwhile, as the installer does
		t.Error(err)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	if err := Clear(folder); err != nil {
		t.Error(err)
	}
}
