package screentest

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/software"

	"countersign/ui/theme"
	"countersign/ui/widgets"
)

var update = flag.Bool("update", false, "write the golden pictures anew; look at each of them before committing")

// The sizes of the window: as it opens, and as small as it gets.
var Big, Small = fyne.NewSize(1100, 720), fyne.NewSize(860, 560)

// Picture renders content by the software painter, in the app's theme and with what has come in by now. scale is 1 or 2.
func (s *Stage) Picture(content fyne.CanvasObject, size fyne.Size, scale float32) image.Image {
	return s.Laid(content, size, scale).Capture()
}

// Laid is the canvas of a Picture, to be captured as often as something on it changes.
func (s *Stage) Laid(content fyne.CanvasObject, size fyne.Size, scale float32) fyne.Canvas {
	c := software.NewCanvas()
	c.SetPadded(false)
	c.SetScale(scale)
	c.SetContent(content)
	c.Resize(size)
	s.Run()
	// What wraps knows its height only once it has its width; a real window then lays out again by itself.
	c.Resize(size.AddWidthHeight(1, 0))
	c.Resize(size)
	return c
}

// Looks compares the window with the approved picture testdata/name.png. variant is as in theme.For, scale 1 or 2.
func (b *Bench) Looks(name, variant string, size fyne.Size, scale float32) {
	b.t.Helper()
	b.App.Settings().SetTheme(theme.Look{Variant: variant}.Theme())
	Compare(b.t, name, b.Picture(widgets.On(theme.Paper, b.Window.Content()), size, scale))
}

// Compare fails the test when a picture is not the approved testdata/name.png of the package under test, as Differ sees it.
func Compare(t testing.TB, name string, got image.Image) {
	t.Helper()
	path := filepath.Join("testdata", name+".png")
	if *update {
		write(t, path, got)
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if how := Differ(want, got); how != "" {
		failed := filepath.Join(os.TempDir(), "countersign-"+tested(t)+"-"+name+".png")
		write(t, failed, got)
		t.Errorf("%s; look at %s and run with -update if it is right", how, failed)
	}
}

// What machines may differ in, for they do not round alike: a pixel differs when one of its colours does by more than
// maxRounding of 255. Of the pixels of a tile maxInTile may differ, fewer than any word has in one of the tiles it
// touches, and of all pixels one in maxShare.
const (
	maxRounding = 24
	tile        = 32 // pixels on each side
	maxInTile   = 8
	maxShare    = 500
)

// Differ says in what a picture is not another one, apart from rounding; empty when it is.
func Differ(want, got image.Image) string {
	if want.Bounds().Size() != got.Bounds().Size() {
		return fmt.Sprintf("the picture is %v, approved was %v", got.Bounds().Size(), want.Bounds().Size())
	}
	x, y := rgba(want), rgba(got)
	tiles := map[image.Point]int{}
	all, worst := 0, image.Point{}
	for i := 0; i < len(x.Pix); i += 4 {
		if !differs(x.Pix[i:i+3], y.Pix[i:i+3]) {
			continue
		}
		all++
		at := image.Pt(i%x.Stride/4/tile, i/x.Stride/tile)
		if tiles[at]++; tiles[at] > tiles[worst] {
			worst = at
		}
	}
	if tiles[worst] > maxInTile || all*maxShare > len(x.Pix)/4 {
		return fmt.Sprintf("%d pixels differ from what was approved, %d of them near %v", all, tiles[worst], worst.Mul(tile))
	}
	return ""
}

func differs(x, y []uint8) bool {
	for k := range x {
		if d := int(x[k]) - int(y[k]); d > maxRounding || d < -maxRounding {
			return true
		}
	}
	return false
}

// tested is the folder of the package under test, in which go test runs it: two packages have pictures of one name.
func tested(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(dir)
}

func rgba(img image.Image) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(out, out.Bounds(), img, img.Bounds().Min, draw.Src)
	return out
}

func write(t testing.TB, path string, img image.Image) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
