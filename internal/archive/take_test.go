package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// source is another program's file, open for reading.
func source(t *testing.T, content []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Offer.docx")
	noErr(t, os.WriteFile(path, content, 0o644))
	file := must(os.Open(path))
	t.Cleanup(func() { file.Close() })
	return file
}

func TestACopyIsTheFileAndForItsOwnerAlone(t *testing.T) {
	for _, size := range []int{1, bufferSize, 6 * bufferSize, 6*bufferSize + 1, 20*bufferSize + 1} {
		dir := t.TempDir()
		content := bytes.Repeat([]byte{7}, size)
		from := source(t, content)
		os.Remove(from.Name()) // as a mail program does
		saved, err := open(t, dir).Take(t.Context(), Taking{Target: "out/1", Source: from})
		if err != nil || saved != (Taken{Size: int64(size), SHA256: sha256Of(content)}) {
			t.Fatalf("%d: %+v, %v", size, saved, err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "out", "1"))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		info, err := os.Stat(filepath.Join(dir, "out", "1"))
		if err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
}

func TestAFileThatChangesWhileItIsTakenIsNotTaken(t *testing.T) {
	const step = 100 * time.Nanosecond // the smallest that every file system can represent
	content := bytes.Repeat([]byte("old "), 1000)
	for name, change := range map[string]func(path string, was fs.FileInfo) error{
		"other bytes under the old time": func(path string, was fs.FileInfo) error {
			return errors.Join(os.WriteFile(path, bytes.Repeat([]byte("new "), 1000), 0o644), os.Chtimes(path, was.ModTime(), was.ModTime()))
		},
		"touched": func(path string, was fs.FileInfo) error {
			return os.Chtimes(path, was.ModTime().Add(step), was.ModTime().Add(step))
		},
		"longer": func(path string, was fs.FileInfo) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("more")
			return errors.Join(err, f.Close(), os.Chtimes(path, was.ModTime(), was.ModTime()))
		},
		"shorter": func(path string, was fs.FileInfo) error {
			return errors.Join(os.Truncate(path, 4), os.Chtimes(path, was.ModTime(), was.ModTime()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f, from := open(t, dir), source(t, content)
			was := must(from.Stat())
			f.Steps = func(s Step, _ string) {
				if err := change(from.Name(), was); s != StepWritten || err != nil {
					t.Errorf("%s: %v", s, err)
				}
			}
			if _, err := f.Take(t.Context(), Taking{Target: "out/1", Source: from}); !errors.Is(err, ErrChanged) {
				t.Errorf("%v", err)
			}
			left, err := os.ReadDir(filepath.Join(dir, "out"))
			if err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestACopyThatCannotBeMadeLeavesNothing(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	closed := source(t, []byte("x"))
	closed.Close()
	for name, c := range map[string]struct {
		ctx  context.Context
		take Taking
		want error
	}{
		"no room":      {t.Context(), Taking{Target: "1", Source: source(t, []byte("x")), Spare: math.MaxUint64 / 2}, ErrFull},
		"stopped":      {stopped, Taking{Target: "1", Source: source(t, []byte("x"))}, context.Canceled},
		"gone":         {t.Context(), Taking{Target: "1", Source: closed}, ErrUnread},
		"a bad name":   {t.Context(), Taking{Target: "../1", Source: source(t, []byte("x"))}, ErrBadName},
		"a taken name": {t.Context(), Taking{Target: "taken", Source: source(t, []byte("x"))}, ErrExists},
		"not a file":   {t.Context(), Taking{Target: "1", Source: folder(t)}, ErrUnread},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			noErr(t, os.WriteFile(filepath.Join(dir, "taken"), []byte("here"), 0o600))
			if _, err := open(t, dir).Take(c.ctx, c.take); !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func folder(t *testing.T) *os.File {
	t.Helper()
	file := must(os.Open(t.TempDir()))
	t.Cleanup(func() { file.Close() })
	return file
}

// revised is a document that was signed later: it has two ends.
func revised(between, last string) []byte {
	body := pdf(3000)
	body = append(body, between...)
	body = append(body, bytes.Repeat([]byte("x"), 2000)...)
	return append(body, last...)
}

// quickly is a linearized document of size bytes that declares length bytes.
func quickly(size, length int) []byte {
	head := fmt.Appendf(nil, "%%PDF-1.7\n1 0 obj\n<</Linearized 1/L %d/H [ 500 20]/O 3/E 900/N 1/T 990>>\nendobj\nstartxref\n0\n%%%%EOF\n", length)
	return append(head, pdf(size)[len(head):]...)
}

// unended are documents that may be truncated: nothing in them shows that they are complete.
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
	"an end that is far from where it was": append(pdf(5000), bytes.Repeat([]byte{' '}, tailSize)...),
	"an end that is far and came long ago": append(pdf(bufferSize), bytes.Repeat([]byte{' '}, tailSize)...),
}

func TestADocumentThatMayHaveBeenCutOffGetsItsNameOnlyWhenItComesTwiceTheSame(t *testing.T) {
	for name, body := range unended {
		for declared, length := range map[string]int64{"no length": -1, "a length that fits": int64(len(body))} {
			t.Run(name+", "+declared, func(t *testing.T) {
				dir := t.TempDir()
				f := open(t, dir)
				save := func(before string) (Saved, error) {
					return f.Save(t.Context(), Request{Target: "Lease.pdf", Declared: length, Before: before, Body: bytes.NewReader(body)})
				}
				for _, before := range []string{"", digest(pdf(100))} { // of other bytes
					got, err := save(before)
					if !errors.Is(err, ErrNoEnd) || got != (Saved{int64(len(body)), digest(body), true}) {
						t.Errorf("got %+v, %v", got, err)
					}
					if text := Message(err).String(); !strings.Contains(text, "“Lease.pdf”") {
						t.Errorf("sentence is %q", text)
					}
					wantFiles(t, dir)
				}
				if _, err := save(digest(body)); err != nil {
					t.Error(err)
				}
				wantFiles(t, dir, "Lease.pdf")
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
			must(open(t, dir).Save(t.Context(), r))
			wantFiles(t, dir, "a.pdf")
		})
	}
}
