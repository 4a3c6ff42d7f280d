//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// large is the size of the one document.
const large = 512 << 20

// BenchmarkOneLargeDocument is one executed PDF of 512 MB, from the last signature to the file, beside curl and fsync.
func BenchmarkOneLargeDocument(b *testing.B) {
	o := usualOffice(b, newDesktop(b))
	s := o.service
	o.setup("--no-cac", "--no-masterfile")
	o.serve()
	o.mustLogin()
	o.registered()
	s.tell("POST", "/downloads/pad", map[string]int{"bytes": large}, nil)
	beside := filepath.Join(filepath.Dir(o.folder), "curl.pdf")
	var ours, floor []time.Duration
	var more int
	round := func(name string) {
		o.must("send", sample(b, "Offer 2026-118"), "--name", name, "--to", ana)
		p, saved := s.named(name), o.status().Saves.Done
		before := o.running.costs().memory
		began := time.Now()
		s.signAll(p.ID)
		for {
			more = max(more, o.running.costs().memory-before)
			if st, err := o.ask(); err == nil && st.Saves.Done > saved {
				break
			}
			if time.Since(began) > 2*patience {
				b.Fatal("the document does not arrive")
			}
		}
		ours = append(ours, time.Since(began))

		path := "/packages/" + p.ID + "/documents/" + p.Documents[0].ID + "/pdf/executed/download"
		args := []string{"-sSf", "-o", beside, "-H", "Authorization: Bearer " + s.token(), s.url + s.prefix + path}
		began = time.Now()
		if out, err := exec.Command("curl", args...).CombinedOutput(); err != nil {
			b.Fatalf("curl: %v: %s", err, out)
		}
		flush(b, beside)
		flush(b, filepath.Dir(beside))
		floor = append(floor, time.Since(began))
		for _, f := range append(o.files(), "") {
			if f != "" {
				os.Remove(filepath.Join(o.folder, f))
			}
		}
		os.Remove(beside)
	}
	round("Warm")
	ours, floor, more = nil, nil, 0
	for b.Loop() {
		for _, name := range []string{"One", "Two", "Three", "Four", "Five"} {
			round(name)
		}
	}
	o1, f1 := middle(ours), middle(floor)
	b.ReportMetric(milliseconds(o1), "ours-ms")
	b.ReportMetric(milliseconds(f1), "curl-ms")
	b.ReportMetric(f1.Seconds()/o1.Seconds(), "x-curl")
	b.ReportMetric(float64(more)/1024, "more-MiB")
}

// flush brings a file or a folder to the disk.
func flush(b *testing.B, path string) {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
}
