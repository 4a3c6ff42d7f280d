package demo

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"countersign/assets"
)

func TestTheDemoHasAFolderThatSendsAndLeavesWhatPeoplePutThere(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, used := range []bool{false, true} {
		t.Setenv("TMPDIR", t.TempDir())
		t.Setenv("TMP", os.Getenv("TMPDIR")) // Windows
		d := must(Start(t.Context(), Options{Folder: t.TempDir(), Version: "test", ByHand: true}))
		folders, err := d.Agent.HotFolders()
		if err != nil || len(folders) != 1 || folders[0].Called() != sendFolder {
			t.Fatalf("%+v, %v", folders, err)
		}
		if used {
			noErr(t, os.CopyFS(folders[0].Path, assets.Samples()))
			err := d.waitFor(t.Context(), func() (bool, error) {
				lines, err := d.Agent.Lines()
				return len(lines) == 3, err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		err = d.Close()
		left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*"))
		if want := map[bool]int{true: 1}[used]; err != nil || len(left) != want {
			t.Errorf("used %v: left %q, %v", used, left, err)
		}
		if used && len(pdfs(t, folders[0].Path)) != 3 {
			t.Errorf("of three documents %q are left", pdfs(t, folders[0].Path))
		}
	}
}
