package download

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/store"

	bolt "go.etcd.io/bbolt"
)

// spoil makes all records unreadable that are kept there.
func (x *testRoom) spoil(buckets ...string) {
	x.t.Helper()
	file := x.Data.Store.Path()
	if err := x.Data.Close(); err != nil {
		x.t.Fatal(err)
	}
	db, err := bolt.Open(file, 0o600, nil)
	if err != nil {
		x.t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) (err error) {
		for _, name := range buckets {
			b := tx.Bucket([]byte(name))
			var keys [][]byte
			err = errors.Join(err, b.ForEach(func(key, _ []byte) error {
				keys = append(keys, append([]byte(nil), key...))
				return nil
			}))
			for _, key := range keys {
				err = errors.Join(err, b.Put(key, []byte(`{"id":`)))
			}
		}
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		x.t.Fatal(err)
	}
	if x.Data, _, err = data.Open(file, slog.New(slog.DiscardHandler), x.Now, x.Health); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { x.Data.Close() })
}

// A damaged record costs what is known of a package, never its signed document.
func TestADocumentIsSavedThoughTheRecordOfItsPackageCannotBeRead(t *testing.T) {
	x := newRoom(t)
	x.settings.NameTemplate = "{document} {kind}"
	j := x.plan("p")[0]
	x.spoil("packages", "package_lines")
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
}

func TestDocumentsGoToTheOfficesFolderWhenTheDraftCannotBeRead(t *testing.T) {
	x := newRoom(t)
	x.settings.BesideOriginal = true
	original := t.TempDir()
	x.update(func(tx *store.Tx) error {
		return tx.PutDraft(office.Draft{ID: "draft", Files: []office.DraftFile{{Path: filepath.Join(original, "lease.pdf")}}})
	})
	p := office.Package{ID: "p", DraftID: "draft"}
	if got, err := x.Folder(x.settings, p); got != original || err != nil {
		t.Fatalf("beside the original: %q, %v", got, err)
	}
	x.spoil("drafts")
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
