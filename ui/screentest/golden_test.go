package screentest

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// judged is a test that remembers how it failed.
type judged struct {
	testing.TB
	said string
}

func (j *judged) Helper()                           {}
func (j *judged) Errorf(format string, args ...any) { j.said = fmt.Sprintf(format, args...) }

// grey is a picture of 160 by 160 pixels, n of which are of another grey: apart from each other, or side by side.
func grey(n int, other uint8, together bool) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, 160, 160))
	draw.Draw(img, img.Bounds(), image.NewUniform(color.Gray{128}), image.Point{}, draw.Src)
	for i := range n {
		if together {
			img.Set(32+i, 40, color.Gray{other})
		} else {
			img.Set(i*7%160, i*31%160, color.Gray{other})
		}
	}
	return img
}

func TestAPictureMayDifferByRoundingOnly(t *testing.T) {
	if *update {
		t.Skip("with -update nothing is compared")
	}
	dir := filepath.Join(t.TempDir(), "somewhere")
	write(t, filepath.Join(dir, "testdata", "grey.png"), grey(0, 0, false))
	t.Chdir(dir)
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // as Windows calls it
	for name, c := range map[string]struct {
		pixels   int
		other    uint8
		together bool
		fails    bool
	}{
		"the same":                       {0, 0, false, false},
		"a little, in more":              {100, 128 + 24, false, false},
		"clearly, in one of 500":         {51, 128 + 25, false, false},
		"clearly, in more":               {52, 128 + 25, false, true},
		"clearly, and darker":            {52, 128 - 25, false, true},
		"clearly, in a few of a tile":    {8, 255, true, false},
		"clearly, in too many of a tile": {9, 255, true, true},
	} {
		j := &judged{TB: t}
		Compare(j, "grey", grey(c.pixels, c.other, c.together))
		if failed := j.said != ""; failed != c.fails {
			t.Errorf("%s: said %q", name, j.said)
		}
		if failed := filepath.Join(os.TempDir(), "countersign-somewhere-grey.png"); c.fails {
			if _, err := os.Stat(failed); err != nil || !strings.Contains(j.said, failed) {
				t.Errorf("%s: said %q, %v", name, j.said, err)
			}
		}
	}
}

// A computer with another processor draws the letters and edges a fraction of a pixel away from where this one does.
func TestRoundingBetweenMachinesIsNoDifference(t *testing.T) {
	for _, name := range []string{"saved", "saved-dark"} {
		data, err := os.ReadFile(filepath.Join("..", "packages", "testdata", name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		approved, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		for _, by := range []image.Point{{1, 0}, {0, 1}} {
			if how := Differ(approved, moved(approved, by, 1.0/16)); how != "" {
				t.Errorf("%s, moved by a sixteenth of %v: %s", name, by, how)
			}
			if Differ(approved, moved(approved, by, 1)) == "" {
				t.Errorf("%s, moved by %v, is still the same", name, by)
			}
		}
	}
}

// moved is a picture drawn a part of a pixel away.
func moved(img image.Image, by image.Point, part float64) image.Image {
	from := rgba(img)
	to := image.NewRGBA(from.Rect)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a)*(1-part) + float64(b)*part)) }
	for y := range from.Rect.Dy() {
		for x := range from.Rect.Dx() {
			here, beside := from.RGBAAt(x, y), from.RGBAAt(x, y)
			if at := image.Pt(x, y).Sub(by); at.In(from.Rect) {
				beside = from.RGBAAt(at.X, at.Y)
			}
			to.SetRGBA(x, y, color.RGBA{mix(here.R, beside.R), mix(here.G, beside.G), mix(here.B, beside.B), 255})
		}
	}
	return to
}
