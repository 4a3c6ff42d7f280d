package screentest

import (
	"bytes"
	"flag"
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
	c := software.NewCanvas()
	c.SetPadded(false)
	c.SetScale(scale)
	c.SetContent(content)
	c.Resize(size)
	s.Run()
	// What wraps knows its height only once it has its width; a real window then lays out again by itself.
	c.Resize(size.AddWidthHeight(1, 0))
	c.Resize(size)
	return c.Capture()
}

// Looks compares the window with the approved picture testdata/name.png. variant is as in theme.For, scale 1 or 2.
func (b *Bench) Looks(name, variant string, size fyne.Size, scale float32) {
	b.t.Helper()
	b.App.Settings().SetTheme(theme.For(variant))
	Compare(b.t, name, b.Picture(widgets.On(theme.Paper, b.Window.Content()), size, scale))
}

// Compare fails the test when a picture is not the approved testdata/name.png of the package under test. It allows for
// rounding between machines: a picture differs when more than one pixel in 500 clearly does.
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
	if want.Bounds().Size() != got.Bounds().Size() {
		t.Fatalf("the picture is %v, approved was %v", got.Bounds().Size(), want.Bounds().Size())
	}
	x, y := rgba(want), rgba(got)
	differ := 0
	for i := 0; i < len(x.Pix); i += 4 {
		for k := range 3 {
			if d := int(x.Pix[i+k]) - int(y.Pix[i+k]); d > 24 || d < -24 {
				differ++
				break
			}
		}
	}
	if differ*500 > len(x.Pix)/4 {
		failed := filepath.Join(os.TempDir(), "countersign-"+tested(t)+"-"+name+".png")
		write(t, failed, got)
		t.Errorf("%d pixels differ from what was approved; look at %s and run with -update if it is right", differ, failed)
	}
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
