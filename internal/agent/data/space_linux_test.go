package data

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/e2e/smalldisk"
	"countersign/internal/store"
)

// A commit that finds its place in the file as it is says nothing about the disk: what has told people of the trouble would
// end it, and the next event fails as the one before.
func TestAFullDiskIsSaidForAsLongAsItIsFull(t *testing.T) {
	dir := smalldisk.Dir(t)
	if dir == "" {
		return
	}
	smalldisk.Mount(t, dir, "8m")
	issues := health.New(time.Now, func() {})
	st, _, err := Open(filepath.Join(dir, "state.db"), slog.New(slog.DiscardHandler), time.Now, issues)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	put := func(size int) error {
		return st.Update(func(tx *store.Tx) error { return tx.PutDoc("it", strings.Repeat("x", size)) })
	}
	if err := put(10); err != nil {
		t.Fatal(err)
	}
	filler := smalldisk.Fill(t, dir)
	if err := put(4 << 20); err == nil || !issues.Has(health.DataNotWritten) {
		t.Fatalf("a full disk is not noticed: %v", err)
	}
	if err := put(20); err != nil {
		t.Fatalf("a small commit needs room, too, so this shows nothing: %v", err)
	}
	if !issues.Has(health.DataNotWritten) {
		t.Error("it is not said any more that the disk is full, and it is")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := put(30); err != nil || issues.Has(health.DataNotWritten) {
		t.Errorf("there is room again, and it is still said that there is none: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.room")); err != nil || len(left) > 0 {
		t.Errorf("left on the disk: %q, %v", left, err)
	}
}
