package download

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
)

// A damaged record costs what is known of a package, never its signed document.
func TestADocumentIsSavedThoughTheRecordOfItsPackageCannotBeRead(t *testing.T) {
	x := newService(t)
	x.settings.NameTemplate = "{document} {kind}"
	j := x.plan("p")[0]
	looptest.Spoil(t, &x.Base, "", "packages", "package_lines")
	folder, err := archive.OpenFolder(j.Folder)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	body := "%PDF-1.7\n%%EOF\n"
	download := &esign.Download{Body: io.NopCloser(strings.NewReader(body)), Length: int64(len(body))}
	if _, err := x.write(t.Context(), folder, j, download); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(j.Folder, j.Target)); string(got) != body {
		t.Errorf("in the folder: %q, %v", got, err)
	}
	if err := x.finish(x.job(j), false); err != nil || x.job(j).State != office.JobDone {
		t.Errorf("it is saved, and its job is %q: %v", x.job(j).State, err)
	}
}

func TestADocumentWaitsItsTurnThoughTheRecordOfItsPackageCannotBeRead(t *testing.T) {
	x := newService(t)
	j := x.plan("p")[0]
	looptest.Spoil(t, &x.Base, "", "packages", "package_lines")
	if err := x.refused(t.Context(), j, &esign.Error{Kind: esign.NotFound, Status: 404}); err != nil {
		t.Error(err)
	}
	if got := x.job(j); got.Tries != 1 || got.NextTry.IsZero() {
		t.Errorf("it is tried again at once: %+v", got)
	}
}

func TestDocumentsGoToTheOfficesFolderWhenTheDraftCannotBeRead(t *testing.T) {
	x := newService(t)
	x.settings.BesideOriginal = true
	original := t.TempDir()
	x.update(func(tx *store.Tx) error {
		return tx.PutDraft(office.Draft{ID: "draft", Files: []office.DraftFile{{Path: filepath.Join(original, "lease.pdf")}}})
	})
	p := office.Package{ID: "p", DraftID: "draft"}
	if got, err := x.Folder(x.settings, p); got != original || err != nil {
		t.Fatalf("beside the original: %q, %v", got, err)
	}
	looptest.Spoil(t, &x.Base, "", "drafts")
	if got, err := x.Folder(x.settings, p); got != x.settings.SaveTo || err != nil {
		t.Errorf("without the draft: %q, %v", got, err)
	}
	if err := x.Data.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := x.Folder(x.settings, p); err == nil {
		t.Errorf("when nothing can be read: %q, which the next try may know better", got)
	}
}

func TestAFileThatCannotBeReadHoldsUpNoOtherOfItsName(t *testing.T) {
	x := newService(t)
	lost := x.plan("p")[0]
	looptest.Spoil(t, &x.Base, "", "jobs")
	if j := x.plan("q")[0]; j.Target != filename.Numbered(lost.Target, 2) {
		t.Errorf("planned as %q", j.Target)
	}
}

func TestPeopleAreToldOfWhatIsWithheldThoughItsPackageCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newService(t)
		j := x.plan("p")[0]
		if err := x.refused(t.Context(), j, &esign.Error{Kind: esign.Forbidden, Status: 403}); err != nil {
			t.Fatal(err)
		}
		looptest.Spoil(t, &x.Base, "", "packages", "package_lines")
		time.Sleep(2 * office.WithheldAfter)
		if x.TellRefused(); !x.Health.Has(health.FilesRefused) {
			t.Errorf("health: %+v", x.Health.List())
		}
	})
}
