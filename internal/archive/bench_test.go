package archive

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkSave measures a save beside the floor: create, copy, flush, rename, and nothing checked.
func BenchmarkSave(b *testing.B) {
	for _, size := range []int{1 << 20, 64 << 20} {
		body := pdf(size)
		b.Run(fmt.Sprintf("%dMB/floor", size>>20), func(b *testing.B) {
			dir := b.TempDir()
			b.SetBytes(int64(size))
			for i := 0; b.Loop(); i++ {
				floor(b, dir, i, body)
			}
		})
		b.Run(fmt.Sprintf("%dMB/save", size>>20), func(b *testing.B) {
			dir := b.TempDir()
			f, err := OpenFolder(dir)
			must(b, err)
			defer f.Close()
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				name := fmt.Sprintf("%d.pdf", i)
				r := Request{Target: name, Declared: int64(size), Body: onlyReader{bytes.NewReader(body)}}
				if _, err := f.Save(b.Context(), r); err != nil {
					b.Fatal(err)
				}
				os.Remove(filepath.Join(dir, name))
			}
		})
	}
}

func floor(b *testing.B, dir string, i int, body []byte) {
	name := filepath.Join(dir, fmt.Sprintf("%d.pdf", i))
	file, err := os.Create(name + ".part")
	must(b, err)
	if _, err := io.Copy(file, onlyReader{bytes.NewReader(body)}); err != nil {
		b.Fatal(err)
	}
	must(b, file.Sync())
	must(b, file.Close())
	must(b, os.Rename(name+".part", name))
	os.Remove(name)
}

// onlyReader hides WriteTo: a network connection has none.
type onlyReader struct{ io.Reader }
