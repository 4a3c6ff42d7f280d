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

// grey is a picture of 100 by 100 pixels, the first n of which are of another grey.
func grey(n int, other uint8) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, 100, 100))
	draw.Draw(img, img.Bounds(), image.NewUniform(color.Gray{128}), image.Point{}, draw.Src)
	for i := range n {
		img.Set(i, 0, color.Gray{other})
	}
	return img
}

func TestAPictureMayDifferByRoundingOnly(t *testing.T) {
	if *update {
		t.Skip("with -update nothing is compared")
	}
	dir := filepath.Join(t.TempDir(), "somewhere")
	write(t, filepath.Join(dir, "testdata", "grey.png"), grey(0, 0))
	t.Chdir(dir)
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // as Windows calls it
	for name, c := range map[string]struct {
		pixels int
		other  uint8
		fails  bool
	}{
		"the same":               {0, 0, false},
		"a little, in more":      {100, 128 + 24, false},
		"clearly, in one of 500": {20, 128 + 25, false},
		"clearly, in more":       {21, 128 + 25, true},
		"clearly, and darker":    {21, 128 - 25, true},
	} {
		j := &judged{TB: t}
		Compare(j, "grey", grey(c.pixels, c.other))
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
