package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/office/filename"
)

var indexTitles = []string{"Saved", "File"}

func sumFor(n int) string { return fmt.Sprintf("%064x", n) }

func indexLine(n int) []string {
	return []string{"2026-11-22", fmt.Sprintf(`ä "%d".pdf`, n), sumFor(n)}
}

// addLines lists those of the files from..to that the index lacks, as the callers do, and returns its new end.
func addLines(t *testing.T, f *Folder, last Mark, from, to int) Mark {
	t.Helper()
	x := must(f.OpenIndex(indexTitles, ';', last))
	defer x.Close()
	var lines [][]string
	for n := from; n <= to; n++ {
		if line := indexLine(n); !x.Has(line[1], line[2]) {
			lines = append(lines, line)
		}
	}
	return must(x.Append(lines))
}

// wantLines checks that the index lists each of the files 1..n once, in lines that Excel can read.
func wantLines(t *testing.T, dir, name string, n int) {
	t.Helper()
	b := must(os.ReadFile(filepath.Join(dir, name)))
	want := byteOrderMark + "\"Saved\";\"File\";\"SHA-256\"\r\n"
	for i := 1; i <= n; i++ {
		want += fmt.Sprintf("\"2026-11-22\";\"ä \"\"%d\"\".pdf\";\"%s\"\r\n", i, sumFor(i))
	}
	if string(b) != want {
		t.Errorf("the index is\n%s\nwant\n%s", b, want)
	}
}

func TestAnIndexGrowsByWholeLines(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	mark := addLines(t, f, Mark{}, 1, 2)
	mark = addLines(t, f, mark, 3, 3)
	wantLines(t, dir, IndexName, 3)
	addLines(t, f, Mark{}, 1, 4) // without a mark
	addLines(t, f, mark, 4, 4)   // killed right after the write: the mark is the previous one
	wantLines(t, dir, IndexName, 4)
	x := must(f.OpenIndex(indexTitles, ';', mark))
	defer x.Close()
	has := func(n int) bool { line := indexLine(n); return x.Has(line[1], line[2]) }
	if x.Whole() || has(3) || !has(4) || !x.Others() {
		t.Error("all of it was read, or what is behind the mark was not")
	}
	noErr(t, x.ReadAll())
	if !has(1) || !has(3) || x.Has("File", lastTitle) {
		t.Error("what is before the mark was not read, or the titles were")
	}
	for n := 5; n <= 6; n++ { // in separate runs
		must(x.Append([][]string{indexLine(n)}))
		if !has(n) {
			t.Errorf("it does not know line %d", n)
		}
	}
	wantLines(t, dir, IndexName, 6)
	if _, err := x.Append([][]string{{"too few"}}); err == nil {
		t.Error("a line without all of its cells was added")
	}
}

// Others who share the folder may have recreated or truncated the index.
func TestAnIndexThatIsNotAsTheMarkSaysIsReadWhole(t *testing.T) {
	f := open(t, t.TempDir())
	mark := addLines(t, f, Mark{}, 1, 2)
	for name, m := range map[string]Mark{
		"none": {}, "another file": {Name: "index (2).csv", Size: mark.Size, Sum: mark.Sum},
		"shorter by now":    {Name: mark.Name, Size: mark.Size + 1, Sum: mark.Sum},
		"before the titles": {Name: mark.Name, Size: 4, Sum: mark.Sum}, "other lines": {Name: mark.Name, Size: mark.Size, Sum: sumFor(1)},
	} {
		x := must(f.OpenIndex(indexTitles, ';', m))
		if !x.Whole() || !x.Has(indexLine(1)[1], sumFor(1)) {
			t.Errorf("%s: it is taken for known", name)
		}
		x.Close()
	}
}

func TestATornLastLineIsRepaired(t *testing.T) {
	whole := line(indexLine(2), ';')
	tails := [][]byte{make([]byte, 1000)} // left by a file system that extended the file but lost the data
	for cut := 1; cut <= len(whole); cut++ {
		tails = append(tails, []byte(whole[:cut]))
	}
	for _, tail := range tails {
		dir := t.TempDir()
		f := open(t, dir)
		mark := addLines(t, f, Mark{}, 1, 1)
		path := filepath.Join(dir, IndexName)
		b := must(os.ReadFile(path))
		noErr(t, os.WriteFile(path, append(b, tail...), 0o600))
		addLines(t, f, mark, 2, 3)
		wantLines(t, dir, IndexName, 3)
	}
}

func TestAnIndexThatPeopleChangedIsReadWhole(t *testing.T) {
	for name, text := range map[string]string{
		"sorted by Excel":        byteOrderMark + "Saved;File;SHA-256\r\n2026-11-22;ä 2.pdf;" + sumFor(2) + "\r\n22.11.2026;ä 1.pdf;" + sumFor(1) + "\r\n",
		"with another separator": byteOrderMark + "Saved,File,SHA-256\n2026-11-22,ä 2.pdf," + sumFor(2) + "\n22.11.2026,\"ä 1.pdf\"," + sumFor(1),
		"in capitals":            byteOrderMark + "Saved;File;SHA-256\n;ä 2.pdf;" + strings.ToUpper(sumFor(2)) + "\n;ä 1.pdf;" + sumFor(1) + "\nA note of ours",
	} {
		dir := t.TempDir()
		f := open(t, dir)
		mark := addLines(t, f, Mark{}, 1, 2)
		noErr(t, os.WriteFile(filepath.Join(dir, IndexName), []byte(text), 0o600))
		x, err := f.OpenIndex(indexTitles, ';', mark)
		noErr(t, err)
		if !x.Whole() || !x.Has("ä 1.pdf", sumFor(1)) || !x.Has("ä 2.pdf", sumFor(2)) || x.Has("ä 3.pdf", sumFor(3)) {
			t.Errorf("%s: it is not known what it has", name)
		}
		_, err = x.Append([][]string{indexLine(3)})
		noErr(t, errors.Join(err, x.Close()))
		b := must(os.ReadFile(filepath.Join(dir, IndexName)))
		if rest, ok := strings.CutPrefix(string(b), text); !ok || strings.Count(rest, sumFor(3)) != 1 || strings.Count(string(b), "ä 1.pdf") != 1 {
			t.Errorf("%s: it is\n%s", name, b)
		}
	}
}

func TestATableOfSomebodyElseIsLeftAlone(t *testing.T) {
	for name, text := range map[string]string{
		"another table":              byteOrderMark + "Name;Phone\r\nAna;12\r\n",
		"one without the mark":       "\"Saved\";\"File\";\"SHA-256\"\r\n",
		"a line that never ends":     byteOrderMark + strings.Repeat("x", maxIndexLine+10),
		"a table of 16 bits (Excel)": "\xff\xfeS\x00a\x00",
		"nothing":                    "",
	} {
		dir := t.TempDir()
		noErr(t, os.WriteFile(filepath.Join(dir, IndexName), []byte(text), 0o600))
		addLines(t, open(t, dir), Mark{}, 1, 2)
		if b, err := os.ReadFile(filepath.Join(dir, IndexName)); err != nil || string(b) != text {
			t.Errorf("%s: it is %q, %v", name, b, err)
		}
		wantLines(t, dir, "index (2).csv", 2)
	}
	dir := t.TempDir()
	for n := 1; n <= maxForeignIndexes; n++ {
		noErr(t, os.WriteFile(filepath.Join(dir, filename.Numbered(IndexName, n)), nil, 0o600))
	}
	if _, err := open(t, dir).OpenIndex(indexTitles, ';', Mark{}); !errors.Is(err, ErrExists) {
		t.Errorf("among %d tables: %v", maxForeignIndexes, err)
	}
}

func TestWhoeverHasTheIndexOpenIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	x := must(f.OpenIndex(indexTitles, ';', Mark{}))
	if _, err := f.OpenIndex(indexTitles, ';', Mark{}); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	noErr(t, x.Close())
	addLines(t, f, Mark{}, 1, 1)
	wantLines(t, dir, IndexName, 1)
}

// BenchmarkSave alternates a save with two baselines that verify nothing: create, copy, flush and rename; and the same plus
// a flush of the folder, without which the name may be lost in a power failure.
func BenchmarkSave(b *testing.B) {
	for _, size := range []int{1 << 20, 64 << 20} {
		body := pdf(size)
		b.Run(fmt.Sprintf("%dMB", size>>20), func(b *testing.B) {
			dir := b.TempDir()
			f := must(OpenFolder(dir))
			defer f.Close()
			save := func(name string) error {
				r := Request{Target: name, Declared: int64(size), Body: onlyReader{bytes.NewReader(body)}}
				_, err := f.Save(b.Context(), r)
				return err
			}
			ways := []func(name string) error{
				save,
				func(name string) error { return floor(dir, name, body, false) },
				func(name string) error { return floor(dir, name, body, true) },
			}
			times := make([][]time.Duration, len(ways))
			for i := 0; b.Loop(); i++ {
				for n := range ways {
					n = (n + i) % len(ways) // alternate, because unwritten data of one slows down the next
					name := fmt.Sprintf("%d-%d.pdf", i, n)
					began := time.Now()
					noErr(b, ways[n](name))
					times[n] = append(times[n], time.Since(began))
					os.Remove(filepath.Join(dir, name))
				}
			}
			median := func(n int) float64 {
				slices.Sort(times[n])
				return times[n][len(times[n])/2].Seconds() * 1000
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(0), "ms-save")
			b.ReportMetric(median(1), "ms-floor")
			b.ReportMetric(median(1)/median(0), "x-floor")
			b.ReportMetric(median(2)/median(0), "x-floor-folder")
		})
	}
}

func floor(dir, name string, body []byte, flushed bool) error {
	name = filepath.Join(dir, name)
	file, err := os.Create(name + ".part")
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(file, onlyReader{bytes.NewReader(body)}); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(name+".part", name); err != nil || !flushed {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// onlyReader hides WriteTo: a network connection has none.
type onlyReader struct{ io.Reader }
