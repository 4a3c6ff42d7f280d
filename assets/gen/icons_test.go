package main

import (
	"bytes"
	"image/png"
	"os"
	"testing"
)

// TestMacOSReadsTheIcon reads the .icns file entry by entry.
func TestMacOSReadsTheIcon(t *testing.T) {
	icon, err := os.ReadFile("../packaging/macos/countersign.icns")
	if err != nil {
		t.Fatal(err)
	}
	length := func(b []byte) int { return int(b[4])<<24 | int(b[5])<<16 | int(b[6])<<8 | int(b[7]) }
	if string(icon[:4]) != "icns" || length(icon) != len(icon) {
		t.Fatalf("it begins with %q", icon[:8])
	}
	rest := icon[8:]
	for _, k := range icnsKinds {
		if len(rest) < 8 || string(rest[:4]) != k.kind || length(rest) > len(rest) {
			t.Fatalf("where %s should be is %q", k.kind, rest[:min(8, len(rest))])
		}
		picture, err := png.DecodeConfig(bytes.NewReader(rest[8:length(rest)]))
		if err != nil || picture.Width != k.size || picture.Height != k.size {
			t.Errorf("%s: %v, %v", k.kind, picture, err)
		}
		rest = rest[length(rest):]
	}
	if len(rest) != 0 {
		t.Errorf("%d bytes are left over", len(rest))
	}
}
