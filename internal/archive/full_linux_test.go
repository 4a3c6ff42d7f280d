package archive

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"countersign/internal/e2e/smalldisk"
)

func TestFullAndReadOnlyDisk(t *testing.T) {
	dir := smalldisk.Dir(t)
	if dir == "" {
		return
	}
	smalldisk.Mount(t, dir, "1m")
	f := open(t, dir)
	for name, declared := range map[string]int64{"announced": 2 << 20, "not announced": -1} {
		_, err := f.Save(t.Context(), Request{Target: "a.pdf", Declared: declared, Body: bytes.NewReader(pdf(2 << 20))})
		if !errors.Is(err, ErrFull) || !strings.HasPrefix(Message(err).String(), "The disk with ") {
			t.Errorf("%s: got %v", name, err)
		}
		wantFiles(t, dir)
	}
	// The space is freed: a document that fits can still be saved.
	if _, err := f.Save(t.Context(), request("b.pdf", pdf(900<<10))); err != nil {
		t.Error(err)
	}

	smalldisk.ReadOnly(t, dir, true)
	if _, err := f.Save(t.Context(), request("c.pdf", pdf(2000))); !errors.Is(err, ErrReadOnly) {
		t.Errorf("read-only disk: got %v", err)
	}
	if _, err := OpenFolder(dir); !errors.Is(err, ErrReadOnly) {
		t.Errorf("opening on a read-only disk: got %v", err)
	}
	wantFiles(t, dir, "b.pdf")
}
