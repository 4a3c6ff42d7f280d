package main

import (
	"archive/zip"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestTheTemplatesForGroupPolicyAreAmongTheFiles(t *testing.T) {
	p := product{root: "../..", made: time.Date(2026, 11, 25, 20, 0, 0, 0, time.UTC)}
	path := filepath.Join(t.TempDir(), "policy.zip")
	noErr(t, p.publishPolicy(path))
	packed := must(zip.OpenReader(path))
	defer packed.Close()
	var names []string
	for _, f := range packed.File {
		names = append(names, f.Name)
		if f.UncompressedSize64 < 10_000 || !f.Modified.Equal(p.made) {
			t.Errorf("%s has %d bytes of %v", f.Name, f.UncompressedSize64, f.Modified)
		}
	}
	if want := []string{"Countersign.admx", "de-DE/Countersign.adml", "en-US/Countersign.adml"}; !slices.Equal(names, want) {
		t.Errorf("it has %q", names)
	}
}
