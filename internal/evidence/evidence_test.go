package evidence

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"countersign/internal/office/filename"
)

var made = time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC)

func TestABundleHoldsWhatItWasGivenUnderNamesOfItsOwn(t *testing.T) {
	var b bytes.Buffer
	bundle := NewBundle(&b, made)
	for _, name := range []string{"Lease.pdf", "lease.PDF", "../../etc/passwd", "CON", `C:\x\Lease.pdf`, ""} {
		bundle.Add("documents", name, strings.NewReader("the content of "+name))
	}
	if err := bundle.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	sums, seen := map[string]string{}, map[string]bool{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name != Sums {
			sums[f.Name] = fmt.Sprintf("%x", sha256.Sum256(content))
			if !filename.Safe(f.Name) || !strings.HasPrefix(f.Name, "documents/") || seen[strings.ToLower(f.Name)] {
				t.Errorf("a file is called %q", f.Name)
			}
			seen[strings.ToLower(f.Name)] = true
			continue
		}
		for line := range strings.Lines(string(content)) {
			sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
			if sums[name] != sum {
				t.Errorf("%q is listed with %s, and has %s", name, sum, sums[name])
			}
			delete(sums, name)
		}
	}
	if len(seen) != 6 || len(sums) > 0 {
		t.Errorf("of 6 files there are %d, and %v are not listed", len(seen), sums)
	}
}

func TestAReportOfAnyLengthIsWhole(t *testing.T) {
	r := Report{Title: "Proof", Subtitle: "Zoë 😀", Made: made}
	for n := range 40 {
		p := Part{Title: fmt.Sprint("Part ", n)}
		p.Add("A label that is far longer than its column has room for, in any language", strings.Repeat("a long value ", n))
		p.Add("nothing", "")
		p.Lines = append(p.Lines, Line{Value: "sha256sum " + strings.Repeat("x", 300), Command: true})
		r.Parts = append(r.Parts, p)
	}
	var pdf, text bytes.Buffer
	if err := r.PDF(&pdf); err != nil || !bytes.HasPrefix(pdf.Bytes(), []byte("%PDF-")) {
		t.Errorf("the PDF: %v", err)
	}
	if err := r.Text(&text); err != nil || !strings.Contains(text.String(), "Zoë 😀") || strings.Contains(text.String(), "nothing") || strings.Count(text.String(), "    sha256sum") != 40 {
		t.Errorf("%v: the text is\n%s", err, text.String())
	}
}
