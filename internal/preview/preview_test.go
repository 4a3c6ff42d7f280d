package preview

import (
	"bytes"
	"context"
	"errors"
	"image"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/assets"
)

func skipWithRaceDetector(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("its memory counts")
	}
}

// reader is a Reader that uses one of the programs.
func reader(program string) *Reader { return NewReader(os.Args[0], program) }

func put(t *testing.T, body []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Offer.pdf")
	noErr(t, os.WriteFile(path, body, 0o600))
	return path
}

func sample(t *testing.T, name string) string {
	t.Helper()
	b := must(fs.ReadFile(assets.Samples(), name))
	return put(t, b)
}

func TestPagesAreCountedAndTheFirstOneDrawn(t *testing.T) {
	path := sample(t, "Offer 2026-118.pdf")
	if n, err := reader("read").Pages(t.Context(), path); n != 1 || err != nil {
		t.Errorf("%d pages, %v", n, err)
	}
	if n, err := reader("read").Pages(t.Context(), sample(t, "Lease Sonnenweg 4.pdf")); n != 2 || err != nil {
		t.Errorf("the lease: %d pages, %v", n, err)
	}
	img := must(reader("read").FirstPage(t.Context(), path, 200))
	if size := img.Bounds().Size(); size != image.Pt(200, 283) {
		t.Errorf("a picture of %v", size)
	}
	if !inked(img) {
		t.Error("the page is blank")
	}
}

func TestALargeDocumentIsStillRead(t *testing.T) {
	skipWithRaceDetector(t)
	// White space before the cross-reference table; the disk stores it as a hole.
	body := onePage(a4, "", stream("", []byte("0 0 300 300 re f")))
	at := bytes.LastIndex(body, []byte("xref\n0 "))
	path := put(t, body[:at])
	noErr(t, os.Truncate(path, maxFile-1000))
	f := must(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))
	defer f.Close()
	must(f.WriteString(strings.Replace(string(body[at:]), strconv.Itoa(at), strconv.Itoa(maxFile-1000), 1)))
	img, err := reader("read").FirstPage(t.Context(), path, 90)
	if err != nil || !inked(img) {
		t.Error(err)
	}
}

// inked reports whether the page has any dark pixel.
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

func TestWhatCannotBeReadIsSaid(t *testing.T) {
	long := put(t, []byte("%PDF-1.7\n"))
	noErr(t, os.Truncate(long, maxFile+1))
	for _, tt := range []struct {
		name, path string
		want       error
	}{
		{"no PDF", put(t, []byte("PK\x03\x04")), ErrNotPDF},
		{"empty", put(t, nil), ErrNotPDF},
		{"a folder", t.TempDir(), ErrNotPDF},
		{"absent", filepath.Join(t.TempDir(), "none.pdf"), fs.ErrNotExist},
		{"damaged", put(t, []byte("%PDF-1.7\nnothing follows")), ErrUnreadable},
		{"without pages", put(t, file("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[]/Count 0>>")), ErrUnreadable},
		{"too large", long, ErrTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if n, err := reader("read").Pages(t.Context(), tt.path); n != 0 || !errors.Is(err, tt.want) {
				t.Errorf("%d pages, %v", n, err)
			}
			if img, err := reader("read").FirstPage(t.Context(), tt.path, 200); img != nil || !errors.Is(err, tt.want) {
				t.Errorf("a picture: %v", err)
			}
		})
	}
}

func TestAProcessThatFailsSaysNothingOfTheDocument(t *testing.T) {
	path := sample(t, "Offer 2026-118.pdf")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, r := range map[string]*Reader{"none": NewReader(), "not there": NewReader(filepath.Join(t.TempDir(), "none")), "fails": reader("fails")} {
		if _, err := r.Pages(t.Context(), path); !errors.Is(err, ErrNotStarted) || errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := reader("read").Pages(ended, path); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits: %v", err)
	}
}

func TestAProcessThatIsTakenOverIsBounded(t *testing.T) {
	t.Setenv("COUNTERSIGN_CLIENT_SECRET", "secret")
	t.Setenv("HOME", t.TempDir())
	path := sample(t, "Offer 2026-118.pdf")
	const ever = time.Hour // so that no process ends because of a time-out
	for name, patience := range map[string]time.Duration{"burns": ever, "eats": ever, "hangs": time.Second, "floods": ever, "lies": ever} {
		t.Run(name, func(t *testing.T) {
			if name == "eats" {
				skipWithRaceDetector(t)
			}
			r := reader(name)
			r.patience = patience
			r.ended = func(p *os.ProcessState) {
				if os.Getenv("WINEPREFIX") != "" {
					return // Wine counts earlier processes' memory, too
				}
				if peak(p) > 3*testMemory/2 || p.UserTime() > 4*testCPU {
					t.Errorf("it had %d MB and %v", peak(p)>>20, p.UserTime())
				}
			}
			soon, stop := context.WithTimeout(t.Context(), 5*time.Minute)
			defer stop()
			if img, err := r.FirstPage(soon, path, 90); img != nil || !errors.Is(err, ErrUnreadable) {
				t.Errorf("%v", err)
			}
		})
	}
	if runtime.GOOS == "windows" {
		return // a job does not prevent opening files, and Windows adds to every environment
	}
	for _, name := range []string{"opens", "tells"} {
		if n, err := reader(name).Pages(t.Context(), path); n != 1 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

func TestOneProcessRunsAtATimeAndEndsWithItsCaller(t *testing.T) {
	path := sample(t, "Offer 2026-118.pdf")
	r := reader("hangs")
	ended := make(chan *os.ProcessState, 2)
	r.ended = func(p *os.ProcessState) { ended <- p }
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := r.Pages(ctx, path)
		first <- err
	}()
	for len(r.turn) == 0 {
		time.Sleep(time.Millisecond)
	}
	impatient, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	if _, err := r.Pages(impatient, path); !errors.Is(err, context.DeadlineExceeded) || len(ended) != 0 {
		t.Errorf("the second one: %v, and %d have run", err, len(ended))
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first one: %v", err)
	}
	if p := <-ended; p.Success() {
		t.Error("it was not killed")
	}
}
