package archive

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// revised is a document that was signed after it was made: it has two ends.
func revised(between, last string) []byte {
	body := pdf(3000)
	body = append(body, between...)
	body = append(body, bytes.Repeat([]byte("x"), 2000)...)
	return append(body, last...)
}

// quickly is a linearized document of that many bytes that says it has length bytes.
func quickly(size, length int) []byte {
	head := fmt.Appendf(nil, "%%PDF-1.7\n1 0 obj\n<</Linearized 1/L %d/H [ 500 20]/O 3/E 900/N 1/T 990>>\nendobj\nstartxref\n0\n%%%%EOF\n", length)
	return append(head, pdf(size)[len(head):]...)
}

// unended are documents that may have been cut off: nothing in them says that they are whole.
var unended = map[string][]byte{
	"cut in the middle":                    pdf(600_000)[:300_000],
	"cut at a record of TLS":               pdf(600_000)[:16<<10],
	"cut in the last mark":                 pdf(5000)[:4997],
	"cut in the beginning":                 pdf(600)[:300],
	"cut in the second part":               revised("9 0 obj\n", "%%EOF\n")[:3200],
	"cut in the first word of the second":  revised("xref\n", "%%EOF\n")[:3002],
	"cut behind the first part":            quickly(5000, 5000)[:bytes.Index(quickly(5000, 5000), []byte("%%EOF"))+6],
	"shorter than it says, with an end":    quickly(5000, 9000),
	"never had an end":                     append(pdf(5000)[:4000], "\nstartxref\n12\n"...),
	"an end that is far from where it was": append(pdf(5000), bytes.Repeat([]byte{' '}, ended)...),
}

func TestADocumentThatMayHaveBeenCutOffGetsNoName(t *testing.T) {
	for name, body := range unended {
		for declared, length := range map[string]int64{"no length": -1, "a length that fits": int64(len(body))} {
			t.Run(name+", "+declared, func(t *testing.T) {
				dir := t.TempDir()
				got, err := open(t, dir).Save(t.Context(), Request{Target: "Lease.pdf", Declared: length, Body: bytes.NewReader(body)})
				if !errors.Is(err, ErrNoEnd) || got != (Saved{int64(len(body)), digest(body)}) {
					t.Errorf("got %+v, %v", got, err)
				}
				if text := Message(err).String(); !strings.Contains(text, "“Lease.pdf”") {
					t.Errorf("sentence is %q", text)
				}
				wantFiles(t, dir)
			})
		}
	}
}

func TestADocumentThatEndsAsAPDFDoesIsWhole(t *testing.T) {
	signed := revised("9 0 obj\n", "\nstartxref\n3100\n%%EOF\n")
	for name, body := range map[string][]byte{
		"just so":                 pdf(5000),
		"signed":                  signed,
		"without a last line end": bytes.TrimSpace(signed),
		"padded":                  append(slices.Clone(signed), make([]byte, 500)...),
		"with an advertisement":   append(slices.Clone(signed), "\n<!-- scanned and found clean -->\n"...),
		"made to load quickly":    quickly(5000, 5000),
		"that and signed":         append(quickly(5000, 5000), signed...),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := Request{Target: "a.pdf", Declared: -1, Body: iotest.OneByteReader(bytes.NewReader(body))}
			if _, err := open(t, dir).Save(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			wantFiles(t, dir, "a.pdf")
		})
	}
}

func TestADocumentWithoutAnEndIsWholeWhenItComesTwiceTheSame(t *testing.T) {
	for name, body := range unended {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			folder := open(t, dir)
			r := func() Request { return Request{Target: "a.pdf", Declared: -1, Body: bytes.NewReader(body)} }
			other := r()
			other.Before = digest(pdf(100))
			if _, err := folder.Save(t.Context(), other); !errors.Is(err, ErrNoEnd) {
				t.Errorf("other bytes came before: %v", err)
			}
			wantFiles(t, dir)
			same := r()
			same.Before = digest(body)
			if _, err := folder.Save(t.Context(), same); err != nil {
				t.Error(err)
			}
			wantFiles(t, dir, "a.pdf")
		})
	}
}
