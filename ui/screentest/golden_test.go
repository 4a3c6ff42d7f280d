package screentest

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
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
