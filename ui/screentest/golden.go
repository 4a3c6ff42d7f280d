package screentest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/software"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/officetest"
	"countersign/ui/system"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

var update = flag.Bool("update", false, "write the golden pictures anew; look at each of them before committing")

// Window sizes: as it opens, and as small as it gets.
var Big, Small = fyne.NewSize(1100, 720), fyne.NewSize(860, 560)

// Picture renders content with the software painter, in the app's theme and including results that have arrived. scale is 1 or 2.
func (s *Stage) Picture(content fyne.CanvasObject, size fyne.Size, scale float32) image.Image {
	return s.Laid(content, size, scale).Capture()
}

// Laid returns the canvas of a Picture, which can be captured repeatedly.
func (s *Stage) Laid(content fyne.CanvasObject, size fyne.Size, scale float32) fyne.Canvas {
	c := software.NewCanvas()
	c.SetPadded(false)
	c.SetScale(scale)
	c.SetContent(content)
	c.Resize(size)
	s.Run()
	// Wrapped text knows its height only with its width; a real window then redoes its layout by itself.
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

// Compare fails the test if a picture differs, according to Differ, from the approved testdata/name.png of the package under test.
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

// Tolerance for different rounding on different machines: a pixel differs if one of its colours does by more than maxRounding of
// 255. Up to maxInTile pixels of a tile may differ, fewer than any word has in a tile it touches, and one in maxShare of all pixels.
const (
	maxRounding = 24
	tile        = 32 // pixels per side
	maxInTile   = 8
	maxShare    = 500
)

// Differ describes how a picture differs from another, apart from rounding; empty if it does not.
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

// tested returns the folder of the package under test, where go test runs it: pictures in two packages may share a name.
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

// System is an env.System that remembers calls.
type System struct {
	mu        sync.Mutex
	NoBrowser error           // why no address is opened; nil if it is
	NoPrinter error           // likewise
	Opened    []string        // what was opened, by kind: "address https://…", "file /…", "folder of /…"
	Lost      map[string]bool // files that no longer exist

	// OnChoose is the desktop's file dialog; nil if there is none.
	OnChoose func(context.Context, system.FileDialog) ([]string, error)
}

func (s *System) open(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Opened = append(s.Opened, what)
	return nil
}

// SoFar is Opened, for use while work may still open something.
func (s *System) SoFar() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.Opened)
}

// Exists returns true unless the file is lost.
func (s *System) Exists(path string) bool { return !s.Lost[path] }

func (s *System) OpenAddress(_ context.Context, address string) error {
	if s.NoBrowser != nil {
		return s.NoBrowser
	}
	return s.open("address " + address)
}

func (s *System) OpenFile(_ context.Context, path string) error { return s.open("file " + path) }

func (s *System) ShowInFolder(_ context.Context, path string) error {
	return s.open("folder of " + path)
}

func (s *System) CopyFiles(_ context.Context, paths []string) error {
	return s.open("copied " + strings.Join(paths, " "))
}

func (s *System) MailFiles(_ context.Context, m system.Mail) error {
	return s.open(fmt.Sprintf("mailed %s, to %s: %s", strings.Join(m.Files, " "), strings.Join(m.To, " "), m.Subject))
}

func (s *System) PrintFiles(_ context.Context, paths []string) error {
	if s.NoPrinter != nil {
		return s.NoPrinter
	}
	return s.open("printed " + strings.Join(paths, " "))
}

func (s *System) Choose(ctx context.Context, d system.FileDialog) ([]string, error) {
	if s.OnChoose == nil {
		return nil, system.ErrNoDialog
	}
	return s.OnChoose(ctx, d)
}

// ways is an env.Navigator that remembers calls.
type ways struct{ b *Bench }

func (w ways) went(where string) { w.b.Went = append(w.b.Went, where) }

func (w ways) ShowPackage(id string)         { w.went("package " + id) }
func (w ways) ShowList(id string)            { w.went("list " + id) }
func (w ways) ShowForOK(folder string)       { w.went("for OK " + folder) }
func (w ways) ShowSettings()                 { w.went("settings") }
func (w ways) ShowCompose()                  { w.went("compose") }
func (w ways) ShowStep(step message.Message) { w.went("step " + step.String()) }
func (w ways) SignIn(prompt string)          { w.went("sign in " + prompt) }
func (w ways) SignOut()                      { w.went("sign out") }
func (w ways) Quit()                         { w.went("quit") }

func (w ways) EditDraft(d office.Draft) { w.went("edit " + d.ID) }

func (w ways) Act(i agent.Issue, done func()) {
	w.went("act " + i.ID)
	if done != nil {
		done()
	}
}

func (w ways) SendLike(d office.NewPackage, begun func()) {
	w.went("send like")
	if begun != nil {
		begun()
	}
	w.b.Like = append(w.b.Like, d)
}

// Bench holds one screen: a stage with an env and an empty window.
type Bench struct {
	*Stage
	Env    *env.Env
	Window fyne.Window

	Notices, Copied []string            // texts shown and copied
	Went            []string            // navigation calls
	Like            []office.NewPackage // arguments of SendLike
	Deeds           []env.Undoable      // actions that can be undone
	Later           []func()            // functions waiting for time to pass

	open Screen
}

// Screen is a screen that reads its content from the office.
type Screen interface {
	Content() fyne.CanvasObject
	Reload()
}

// New returns a bench that ends with the test.
func New(t testing.TB, office *officetest.Office) *Bench {
	t.Helper()
	b := &Bench{Stage: NewStage(t, office)}
	pool := async.NewPool(t.Context(), b.Do)
	b.Wait = pool.Wait
	b.Window = b.App.NewWindow("")
	b.Window.SetPadded(false)
	b.Env = &env.Env{System: b.System, Work: pool, Window: b.Window, Go: ways{b}, Now: b.Now,
		Soon: func(deed env.Undoable) (over func()) {
			b.Deeds = append(b.Deeds, deed)
			return func() {}
		},
		Later:  func(_ time.Duration, over func()) { b.Later = append(b.Later, over) },
		Notice: func(text string) { b.Notices = append(b.Notices, text) },
		Copy:   func(text string) { b.Copied = append(b.Copied, text) }}
	t.Cleanup(func() { pool.Close(); Close(b.Window) })
	return b
}

// Pass lets all the time pass that anything waits for.
func (b *Bench) Pass() {
	waiting := b.Later
	b.Later = nil
	for _, over := range waiting {
		over()
	}
	b.Settle()
}

// Open shows a screen in a window of a size, after it has read its content.
func (b *Bench) Open(screen Screen, size fyne.Size) {
	b.open = screen
	b.Show(screen.Content(), size)
	b.Reload()
}

// Reload makes the open screen read again, and waits for all work.
func (b *Bench) Reload() {
	b.open.Reload()
	b.Settle()
}

// Show puts content into a window of a size and waits for all work.
func (b *Bench) Show(content fyne.CanvasObject, size fyne.Size) {
	b.Window.SetContent(content)
	b.Window.Resize(size)
	b.Window.Show()
	b.Settle()
}
