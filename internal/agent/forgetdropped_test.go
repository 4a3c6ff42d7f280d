package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/secret"
	"countersign/internal/store"

	bolt "go.etcd.io/bbolt"
)

func TestWhatWasDroppedStaysWhileADraftThatMayNeedItCannotBeRead(t *testing.T) {
	for name, unreadable := range map[string]bool{"every draft can be read": false, "one cannot": true} {
		t.Run(name, func(t *testing.T) {
			p := Params{DataDir: t.TempDir(), Keeper: secret.Memory()}
			a, err := Open(t.Context(), p)
			noErr(t, err)
			path, err := a.NewDelivery().Take(t.Context(), "Lease.pdf", 1, strings.NewReader("x"))
			noErr(t, err)
			noErr(t, a.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(office.Draft{ID: "d1", State: office.DraftFailed}) }))
			noErr(t, a.Close())
			old := time.Now().Add(-31 * 24 * time.Hour)
			noErr(t, os.Chtimes(filepath.Dir(path), old, old))
			if unreadable {
				inFile(t, locations.State(p.DataDir), func(tx *bolt.Tx) error {
					drafts := tx.Bucket([]byte("drafts"))
					row, draft := drafts.Cursor().First()
					return drafts.Put(bytes.Clone(row), draft[:len(draft)/2])
				})
			}
			b, err := Open(t.Context(), p)
			noErr(t, err)
			noErr(t, b.forget(t.Context()))
			if _, err := os.Stat(path); (err == nil) != unreadable {
				t.Errorf("it is there: %v", err)
			}
			noErr(t, b.Close())
		})
	}
}
