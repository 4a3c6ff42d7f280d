package archive

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

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
