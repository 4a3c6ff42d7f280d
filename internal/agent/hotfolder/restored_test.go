package hotfolder

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/store"
)

func TestAFileOfAfterTheRestoringIsSentThoughTheClockWasWrongThen(t *testing.T) {
	d := newDesk(t)
	now := d.Now()
	file := filepath.Join(t.TempDir(), "offer.pdf")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	held := func(made, now time.Time) bool {
		if err := os.Chtimes(file, made, made); err != nil {
			t.Fatal(err)
		}
		draft := office.Draft{State: office.DraftQueued}
		if err := d.Data.Update(func(tx *store.Tx) error { return holdOld(tx, &draft, file, "offer.pdf", now) }); err != nil {
			t.Fatal(err)
		}
		return draft.State == office.DraftHeld
	}
	if err := d.Data.Update(func(tx *store.Tx) error { return MarkRestored(tx, now.Add(365*24*time.Hour)) }); err != nil {
		t.Fatal(err)
	}
	if !held(now.Add(-time.Hour), now) {
		t.Error("a file of before was sent")
	}
	if held(now.Add(time.Hour), now.Add(2*time.Hour)) {
		t.Error("a file of after was held")
	}
}
