package preview

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"countersign/assets"
)

// TestMain is the child process of Page as well: the program draws with the same binary.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "draw" {
		width, err := strconv.Atoi(os.Args[3])
		if err == nil {
			err = Draw(context.Background(), os.Args[2], width, os.Stdout)
		}
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func sample(t *testing.T) string {
	t.Helper()
	b, err := fs.ReadFile(assets.Samples(), "Offer 2026-118.pdf")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "Offer.pdf")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheFirstPageIsDrawnInAProcessOfItsOwn(t *testing.T) {
	img, err := Page(t.Context(), os.Args[0], []string{"draw"}, sample(t), 200)
	if err != nil {
		t.Fatal(err)
	}
	if w := img.Bounds().Dx(); w != 200 {
		t.Errorf("%d pixels wide", w)
	}
	if !inked(img) {
		t.Error("the page is blank")
	}
}

// inked reports whether there is something dark on the page.
func inked(img image.Image) bool {
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if r, g, b, _ := img.At(x, y).RGBA(); r+g+b < 3*0x8000 {
				return true
			}
		}
	}
	return false
}

func TestWhatIsNoPDFGivesAnErrorAndNoPicture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "not.pdf")
	if err := os.WriteFile(path, []byte("%PDF-1.7\nnothing follows"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Draw(t.Context(), path, 200, &out); err == nil {
		t.Error("drawn")
	}
	if _, err := png.Decode(&out); err == nil {
		t.Error("a picture came out")
	}
	if _, err := Page(t.Context(), os.Args[0], []string{"draw"}, path, 200); err == nil {
		t.Error("the child drew it")
	}
}
