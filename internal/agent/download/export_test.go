package download

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/office"
	"countersign/internal/store"
)

// keepFile stores a package with a saved file of a name and content.
func (x *testService) keepFile(id, name, content string) office.Job {
	x.t.Helper()
	j := x.plan(id)[0]
	j.Target = name
	x.update(func(tx *store.Tx) error { return tx.PutJob(j) })
	return x.savedAs(j, content)
}

func inside(t *testing.T, folder string) (names []string) {
	t.Helper()
	noErr(t, filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			rel, _ := filepath.Rel(folder, path)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	}))
	return names
}

func TestAnExportCopiesWhatIsSavedAndReplacesNothing(t *testing.T) {
	x := newService(t)
	x.keepFile("p", "Lease/Lease.pdf", "lease")
	x.keepFile("q", "Offer.pdf", "offer")
	x.plan("waits")
	to := t.TempDir()
	noErr(t, os.WriteFile(filepath.Join(to, "offer.PDF"), []byte("another one"), 0o600))
	for range 2 { // the second time everything is there
		got, err := x.Export(t.Context(), []string{"p", "q", "waits", "unknown"}, to)
		if want := (office.Exported{Packages: 2, Files: 2, Copied: 2}); err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
		expect(t, inside(t, to), []string{"Lease/Lease.pdf", "Offer (2).pdf", "offer.PDF"}, "there are %q")
	}
	if old, err := os.ReadFile(filepath.Join(to, "offer.PDF")); string(old) != "another one" || err != nil {
		t.Errorf("what was there is %q, %v", old, err)
	}
	if got, err := os.ReadFile(filepath.Join(to, "Offer (2).pdf")); string(got) != "%PDF-1.7\noffer\n%%EOF\n" || err != nil {
		t.Errorf("the copy is %q, %v", got, err)
	}
	own, err1 := os.Stat(filepath.Join(x.settings.SaveTo, "Offer.pdf"))
	copied, err2 := os.Stat(filepath.Join(to, "Offer (2).pdf"))
	if err1 != nil || err2 != nil || own.Mode() != copied.Mode() {
		t.Errorf("the copy may be read by %v, the document by %v", copied.Mode(), own.Mode())
	}
}

func TestAnExportGoesOnAfterAFileThatIsLostAndSaysSo(t *testing.T) {
	x := newService(t)
	lost := x.keepFile("p", "Lease.pdf", "lease")
	x.keepFile("q", "Offer.pdf", "offer")
	noErr(t, os.Remove(filepath.Join(lost.Folder, lost.Target)))
	to := t.TempDir()
	got, err := x.Export(t.Context(), []string{"p", "q"}, to)
	if want := (office.Exported{Packages: 2, Files: 2, Copied: 1, Lost: 1}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := x.Export(t.Context(), []string{"q"}, filepath.Join(to, "a", "new one")); err != nil || got.Copied != 1 {
		t.Errorf("a folder that is not there yet gets %+v, %v", got, err)
	}
	if got, err := x.Export(t.Context(), []string{"q"}, filepath.Join(to, "Offer.pdf")); err == nil || got.Copied != 0 {
		t.Errorf("what is no folder gets %+v", got)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if got, err := x.Export(ended, []string{"q"}, t.TempDir()); err != nil || got.Copied != 0 || got.Problem.IsZero() {
		t.Errorf("one that was ended says %+v, %v", got, err)
	}
}
