//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// large is the size of the one document.
const large = 512 << 20

// BenchmarkOneLargeDocument is one executed PDF of 512 MB, from its request to the file that is told as saved, beside
// curl and fsync.
func BenchmarkOneLargeDocument(b *testing.B) {
	o := usualOffice(b, newDesktop(b))
	o.setup("--no-cac", "--no-masterfile")
	o.serve()
	o.mustLogin()
	o.registered()
	o.service.tell("POST", "/downloads/pad", map[string]int{"bytes": large}, nil)
	o.savesLarge("Warm")
	var ours, floor []time.Duration
	more := 0
	for b.Loop() {
		for n := range 7 {
			took, memory, p := o.savesLarge(fmt.Sprintf("Large %d", n))
			ours, more = append(ours, took), max(more, memory)
			floor = append(floor, o.curls(p))
		}
	}
	b.ReportMetric(milliseconds(median(ours)), "ours-ms")
	b.ReportMetric(milliseconds(median(floor)), "curl-ms")
	b.ReportMetric(median(floor).Seconds()/median(ours).Seconds(), "x-curl")
	b.ReportMetric(float64(more)/1024, "more-MiB")
}

// savesLarge has a package of one document signed and waits for its file, which it removes. It returns how long that took
// from the request on, and how much memory it took at most, in KiB.
func (o *office) savesLarge(name string) (took time.Duration, memory int, p pack) {
	o.t.Helper()
	o.must("send", sample(o.t, "Offer 2026-118"), "--name", name, "--to", ana)
	p = o.service.named(name)
	saved, before := o.status().Saves.Done, o.running.costs().memory
	o.service.signAll(p.ID)
	look := time.NewTicker(10 * time.Millisecond) // looking costs what is measured
	defer look.Stop()
	for began := time.Now(); ; <-look.C {
		memory = max(memory, o.running.costs().memory-before)
		if s, err := o.ask(); err == nil && s.Saves.Done > saved {
			break
		}
		if time.Since(began) > 2*patience {
			o.t.Fatal("the document does not arrive")
		}
	}
	end := time.Now()
	for _, f := range o.files() {
		if err := os.Remove(filepath.Join(o.folder, f)); err != nil {
			o.t.Fatal(err)
		}
	}
	return end.Sub(o.service.askedAt(executed(p))), memory, p
}

// curls downloads the same document with curl and brings it to the disk.
func (o *office) curls(p pack) time.Duration {
	o.t.Helper()
	path := filepath.Join(filepath.Dir(o.folder), "curl.pdf")
	defer os.Remove(path)
	token := o.service.token()
	began := time.Now()
	out, err := exec.Command("curl", "-sSf", "-o", path, "-H", "Authorization: Bearer "+token, o.service.url+o.service.prefix+executed(p)).CombinedOutput()
	if err != nil {
		o.t.Fatalf("curl: %v: %s", err, out)
	}
	flush(o.t, path)
	flush(o.t, filepath.Dir(path))
	return time.Since(began)
}

// executed is the API's path of a package's first document as signed.
func executed(p pack) string {
	return "/packages/" + p.ID + "/documents/" + p.Documents[0].ID + "/pdf/executed/download"
}

// askedAt is when the service was asked at a path for the first time.
func (s *service) askedAt(path string) time.Time {
	s.t.Helper()
	var log struct {
		Requests []struct {
			Path string
			Time time.Time
		}
	}
	s.tell("GET", "/requests", nil, &log)
	for _, r := range log.Requests {
		if strings.HasSuffix(r.Path, path) {
			return r.Time
		}
	}
	s.t.Fatalf("the service was never asked for %s", path)
	return time.Time{}
}

// flush brings a file or a folder to the disk.
func flush(t testing.TB, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}
