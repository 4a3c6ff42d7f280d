package window

import (
	"bytes"
	"context"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/software"
	"fyne.io/fyne/v2/theme"

	"countersign/internal/agent"
	"countersign/internal/store"
	"countersign/ui/look"
	"countersign/ui/officetest"
)

var update = flag.Bool("update", false, "write the golden pictures anew; look at each of them before committing")

// tinted is the theme in one variant, whatever the system prefers.
type tinted struct {
	*look.Theme
	variant fyne.ThemeVariant
}

func (t tinted) Color(name fyne.ThemeColorName, _ fyne.ThemeVariant) color.Color {
	return t.Theme.Color(name, t.variant)
}

func TestTheWindowLooksAsItWasApproved(t *testing.T) {
	plain := func(*bench) {}
	to := func(screen int) func(*bench) { return func(b *bench) { b.window.Go(screen) } }
	for _, c := range []struct {
		name   string
		office *officetest.Office
		act    func(*bench)
		size   fyne.Size
		dark   bool
		scale  float32
	}{
		{"packages", officetest.Busy(), plain, big, false, 1},
		{"packages-dark", officetest.Busy(), plain, big, true, 1},
		{"packages-200", officetest.Busy(), plain, small, false, 2},
		{"packages-small", officetest.Busy(), plain, small, false, 1},
		{"packages-empty", officetest.Empty(), plain, big, false, 1},
		{"packages-wrong", officetest.Wrong(), func(b *bench) { b.window.packages.Show("p3"); b.settle() }, big, false, 1},
		{"packages-wrong-dark", officetest.Wrong(), func(b *bench) { b.window.packages.Show("p3"); b.settle() }, big, true, 1},
		{"packages-world", officetest.World(), plain, small, false, 1},
		{"packages-saved", officetest.Busy(), func(b *bench) { b.window.packages.Show("p3"); b.settle() }, big, false, 1},
		{"packages-lost", officetest.Busy(), lost, small, true, 2},
		{"send-filled", officetest.Busy(), fill, big, false, 1},
		{"activity", officetest.Busy(), to(showActivity), big, false, 1},
		{"activity-events", officetest.Busy(), events, big, false, 1},
		{"activity-odd-dark", officetest.Busy(), func(b *bench) { events(b); b.window.activity.ChooseEvent(5) }, small, true, 1},
		{"activity-refused", officetest.Busy(), func(b *bench) { b.window.Go(showActivity); b.window.activity.ShowRefused() }, small, false, 1},
		{"status-wrong", officetest.Wrong(), to(showStatus), big, false, 1},
		{"status-dark", officetest.Busy(), said, small, true, 1},
		{"activity-empty-dark", officetest.Empty(), to(showActivity), small, true, 1},
		{"signing-in", officetest.Empty(), signingIn, small, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.office)
			variant := fyne.ThemeVariant(theme.VariantLight)
			if c.dark {
				variant = theme.VariantDark
			}
			b.app.Settings().SetTheme(tinted{look.New(), variant})
			c.act(b)
			compare(t, c.name, b.picture(c.size, c.scale))
		})
	}
}

func events(b *bench) {
	b.window.Go(showActivity)
	b.window.activity.ShowEvents()
}

// lost shows a saved package one of whose files is gone.
func lost(b *bench) {
	b.opened.lost = map[string]bool{b.office.Rows[1].Files[1]: true}
	b.window.ShowPackage("p3")
	b.settle()
}

// said is the status of a day on which all is well, below passing news.
func said(b *bench) {
	b.window.Go(showStatus)
	b.window.desk.Notice("6 events were exported.")
	b.window.desk.Notice("“Mandate Keller - certificate.pdf” is no longer where it was saved (/home/office/Documents/Signed).")
}

var big, small = fyne.NewSize(1100, 720), fyne.NewSize(860, 560)

func fill(b *bench) {
	b.window.Add([]string{b.file("Lease Sonnenweg 4.pdf", 48_211), b.file("House rules.pdf", 1_204_000)})
	b.settle()
	b.window.compose.Fill(agent.Draft{Message: "Here is the lease as we discussed it on the phone.", Sequential: true,
		Signers: []store.Signer{{FirstName: "Jan", LastName: "Weber", Email: "jan.weber@example.com"}, {FirstName: "Ana", LastName: "Ruiz", Email: "ana.ruiz@example.com"}},
		Due:     time.Date(2026, 11, 30, 23, 59, 59, 0, officetest.Now.Location())})
}

func sending(b *bench) {
	half := make(chan struct{})
	b.office.OnSend = func(ctx context.Context, _ agent.Draft, progress func(agent.SendState)) (agent.SendState, error) {
		progress(agent.SendState{State: store.DraftQueued, Sent: 620_000, Total: 1_252_211})
		close(half)
		<-ctx.Done()
		return agent.SendState{DraftID: "d1", State: store.DraftQueued}, ctx.Err()
	}
	fill(b)
	b.window.compose.Send()
	<-half
	b.queue.Run()
}

func signingIn(b *bench) {
	b.window.account.signIn("")
	b.until(func() bool { return b.window.account.address != "" })
}

// picture renders the window's content by the software painter.
func (b *bench) picture(size fyne.Size, scale float32) image.Image {
	c := software.NewCanvas()
	c.SetPadded(false)
	c.SetScale(scale)
	c.SetContent(b.window.window.Content())
	c.Resize(size)
	b.queue.Run()
	return c.Capture()
}

// compare allows for rounding between machines: a picture differs when more than one pixel in 500 clearly does.
func compare(t *testing.T, name string, got image.Image) {
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
	a, b := rgba(want), rgba(got)
	differ := 0
	for i := 0; i < len(a.Pix); i += 4 {
		for k := range 3 {
			if d := int(a.Pix[i+k]) - int(b.Pix[i+k]); d > 24 || d < -24 {
				differ++
				break
			}
		}
	}
	if differ*500 > len(a.Pix)/4 {
		failed := filepath.Join(os.TempDir(), "countersign-"+name+".png")
		write(t, failed, got)
		t.Errorf("%d pixels differ from what was approved; look at %s and run with -update if it is right", differ, failed)
	}
}

func rgba(img image.Image) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(out, out.Bounds(), img, img.Bounds().Min, draw.Src)
	return out
}

func write(t *testing.T, path string, img image.Image) {
	t.Helper()
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
