package preview

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
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

// file writes a PDF of numbered objects, the first of which is the catalogue. An object is the text between "obj" and
// "endobj".
func file(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	at := make([]int, len(objects))
	for i, o := range objects {
		at[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

// stream is an object with a body.
func stream(dict string, body []byte) string {
	return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(body), body)
}

// onePage is a page with this box, content and resources, and further objects from number 5 on.
func onePage(box, resources string, content string, more ...string) []byte {
	return file(append([]string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[" + box + "]/Contents 4 0 R/Resources<<" + resources + ">>>>",
		content,
	}, more...)...)
}

const a4 = "0 0 595 842"

// zeros is n zero bytes, deflated repeatedly.
func zeros(n int64, times int) []byte {
	var b bytes.Buffer
	z, _ := zlib.NewWriterLevel(&b, zlib.BestCompression)
	chunk := make([]byte, 1<<20)
	for ; n > 0; n -= int64(len(chunk)) {
		z.Write(chunk[:min(n, int64(len(chunk)))])
	}
	z.Close()
	for body := b.Bytes(); times > 1; times-- {
		var again bytes.Buffer
		z, _ := zlib.NewWriterLevel(&again, zlib.BestCompression)
		z.Write(body)
		z.Close()
		body = again.Bytes()
		b = again
	}
	return b.Bytes()
}

const twice = "/Filter[/FlateDecode/FlateDecode]"

// crossReferences is a PDF whose cross-reference table is a stream.
func crossReferences(dict string, body []byte) []byte {
	head := "%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[]/Count 0>>\nendobj\n"
	return fmt.Appendf(nil, "%s3 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n", head, stream("/Type/XRef/Root 1 0 R"+dict, body), len(head))
}

// deepTree is a page tree with that many levels, each with that many links to the next.
func deepTree(levels, links int) []byte {
	objects := []string{"<</Type/Catalog/Pages 2 0 R>>"}
	for i := range levels {
		objects = append(objects, fmt.Sprintf("<</Type/Pages/Kids[%s]>>", strings.Repeat(fmt.Sprintf("%d 0 R ", i+3), links)))
	}
	return file(append(objects, "<</Type/Page/MediaBox["+a4+"]>>")...)
}

// picture is a page with an image that claims this size.
func picture(width, height int, dict string, body []byte) []byte {
	image := fmt.Sprintf("/Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceGray/BitsPerComponent 8", width, height)
	return onePage(a4, "/XObject<</I 5 0 R>>", stream("", []byte("500 0 0 500 0 0 cm /I Do")), stream(image+dict, body))
}

// jbig2 is a page of JBIG2 that claims this size.
func jbig2(width, height uint32) []byte {
	page := []byte{0, 0, 0, 0, 0x30, 0, 1, 0, 0, 0, 19}
	for _, n := range []uint32{width, height, 0, 0} {
		page = append(page, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(page, 0, 0, 0)
}

// jpx is the header of a JPEG 2000 code stream that claims this size.
func jpx(size uint32) []byte {
	b := []byte{0xFF, 0x4F, 0xFF, 0x51, 0, 41, 0, 0}
	for _, n := range []uint32{size, size, 0, 0, size, size, 0, 0} {
		b = append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	b = append(b, 0, 1, 7, 1, 1)
	b = append(b, 0xFF, 0x52, 0, 12, 0, 0, 0, 1, 0, 5, 4, 4, 0, 1)
	b = append(b, 0xFF, 0x5C, 0, 4, 0x40, 0x40)
	return append(b, 0xFF, 0x90, 0, 10, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, 0x93, 0xFF, 0xD9)
}

// bombs are small documents that cost a careless reader gigabytes or hours.
func bombs() map[string][]byte {
	const huge = 300 << 20
	return map[string][]byte{
		"cross-references that unpack to 300 MB": crossReferences("/Size 200000000/W[1 1 1]"+twice, zeros(huge, 2)),
		"cross-references without end":           crossReferences("/Size 2147483647/Index[0 2147483647]/W[0 0 0]", nil),
		"cross-references of everything":         crossReferences("/Size 8388607/Index["+strings.Repeat("0 8388607 ", 200)+"]/W[1 0 0]", zeros(8388607, 1)),
		"tables that name each other":            loop(),
		"a page tree 100,000 levels deep":        deepTree(100_000, 1),
		"a page tree of 2^200 pages":             deepTree(200, 2),
		"a page tree of 9^900 pages":             deepTree(900, 9),
		"a page tree that bites its tail": file("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R 2 0 R]/Count 2>>",
			"<</Type/Pages/Kids[2 0 R 2 0 R]/Parent 2 0 R>>"),
		"a page as thin as a hair":         onePage("0 0 1 14400", "", stream("", nil)),
		"a page thinner than that":         onePage("0 0 0.0001 1000000000", "", stream("", nil)),
		"a page as wide as the world":      onePage("0 0 1e30 1e-30", "", stream("", nil)),
		"a page without a size":            onePage("0 0 0 0", "", stream("", nil)),
		"content that unpacks to 300 MB":   onePage(a4, "", stream(twice, zeros(huge, 2))),
		"an image of 20,000 times 20,000":  picture(20_000, 20_000, twice, zeros(400_000_000, 2)),
		"an image of 2^31 times 2^31":      picture(1<<31-1, 1<<31-1, "/Filter/FlateDecode", zeros(1<<20, 1)),
		"JBIG2 of 60,000 times 60,000":     picture(60_000, 60_000, "/Filter/JBIG2Decode", jbig2(60_000, 60_000)),
		"JPEG 2000 of 60,000 times 60,000": picture(60_000, 60_000, "/Filter/JPXDecode", jpx(60_000)),
		"a drawing that draws itself": onePage(a4, "/XObject<</F 5 0 R>>", stream("", []byte("/F Do")),
			stream("/Type/XObject/Subtype/Form/BBox["+a4+"]/Resources<</XObject<</F 5 0 R>>>>", []byte("/F Do /F Do"))),
		"a drawing of 9^20 drawings": nested(20, 9),
		"a pattern of dust": onePage(a4, "/Pattern<</P 5 0 R>>", stream("", []byte("/Pattern cs /P scn 0 0 595 842 re f")),
			stream("/Type/Pattern/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 1 1]/XStep .00001/YStep .00001/Resources<<>>", []byte("0 0 1 1 re f"))),
		"five million curves": onePage(a4, "", stream("/Filter/FlateDecode", deflated("0 0 m 1 900 800 3 590 840 c S\n", 5_000_000))),
		"objects in a stream of their own": file("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
			stream("/Type/ObjStm/N 1000000/First 10/Extends 3 0 R"+twice, zeros(huge, 2))),
	}
}

// loop is two cross-reference tables that each name the other as the previous one.
func loop() []byte {
	head := "%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[]/Count 0>>\nendobj\n"
	table := func(before int) string {
		return fmt.Sprintf("xref\n0 1\n0000000000 65535 f \ntrailer\n<</Size 3/Root 1 0 R/Prev %06d>>\nstartxref\n%06d\n%%%%EOF\n", before, len(head))
	}
	return []byte(head + table(len(head)+len(table(0))) + table(len(head)))
}

// nested is a page with a drawing that contains each copies of the next one, and so on.
func nested(levels, each int) []byte {
	var more []string
	for i := range levels {
		more = append(more, stream(fmt.Sprintf("/Type/XObject/Subtype/Form/BBox[%s]/Resources<</XObject<</F %d 0 R>>>>", a4, 6+i),
			[]byte(strings.Repeat("/F Do ", each))))
	}
	more = append(more, stream("/Type/XObject/Subtype/Form/BBox["+a4+"]", []byte("0 0 99 99 re f")))
	return onePage(a4, "/XObject<</F 5 0 R>>", stream("", []byte("/F Do")), more...)
}

// deflated deflates s repeatedly.
func deflated(s string, times int) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	for range times {
		io.WriteString(z, s)
	}
	z.Close()
	return b.Bytes()
}

func TestABombEndsInItsProcessAndCostsTheProgramNothing(t *testing.T) {
	skipWithRaceDetector(t)
	for name, body := range bombs() {
		t.Run(name, func(t *testing.T) {
			path := put(t, body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := reader("read")
			r.ended = func(p *os.ProcessState) {
				t.Logf("%d bytes: %d MB, %v", len(body), peak(p)>>20, p.UserTime()+p.SystemTime())
				if peak(p) > maxMemory || p.UserTime()+p.SystemTime() > 2*maxCPU {
					t.Error("that is too much")
				}
			}
			began := time.Now()
			img, err := r.FirstPage(t.Context(), path, 90)
			switch {
			case err != nil && !errors.Is(err, ErrUnreadable):
				t.Error(err)
			case err == nil && (img.Bounds().Dx() > 90 || img.Bounds().Dy() > 90*maxTall):
				t.Errorf("a picture of %v", img.Bounds())
			}
			t.Logf("picture: %v, after %v", err, time.Since(began))
			runtime.ReadMemStats(&after)
			if more := after.TotalAlloc - before.TotalAlloc; more > 4<<20 {
				t.Errorf("it cost the program %d MB", more>>20)
			}
		})
	}
}
