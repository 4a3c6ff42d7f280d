package seal

import (
	"testing"
	"time"
)

func TestADateIsReadAsProgramsWriteIt(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"D:20260302130000+01'00'": noon, "D:20260302043000-07'30'": noon, "D:20260302130000+01'00": noon, "D:20260302120000Z": noon,
		"D:20260302120000Z00'00'": noon, "D:20260302120000": noon, "D:202603021200": {}, "2026-03-02": {},
	} {
		if at := pdfDate(text); !at.Equal(want) {
			t.Errorf("%s: %s", text, at)
		}
	}
}
