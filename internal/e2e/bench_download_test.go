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

	"countersign/internal/e2e/harness"
)

// large is the size of the one document.
const large = 512 << 20

// BenchmarkOneLargeDocument is one executed PDF of 512 MB, from its request to the file that is told as saved, beside
// curl and fsync.
func BenchmarkOneLargeDocument(b *testing.B) {
	o := harness.UsualOffice(b, harness.NewDesktop(b))
	o.Setup("--no-cac", "--no-masterfile")
	o.Serve()
	o.MustLogin()
	o.Registered()
	o.Service.Tell("POST", "/downloads/pad", map[string]int{"bytes": large}, nil)
	savesLarge(o, "Warm")
	var ours, floor []time.Duration
	more := 0
	for b.Loop() {
		for n := range 7 {
			took, memory, p := savesLarge(o, fmt.Sprintf("Large %d", n))
			ours, more = append(ours, took), max(more, memory)
			floor = append(floor, curls(o, p))
		}
	}
	b.ReportMetric(milliseconds(median(ours)), "ours-ms")
	b.ReportMetric(milliseconds(median(floor)), "curl-ms")
	b.ReportMetric(median(floor).Seconds()/median(ours).Seconds(), "x-curl")
	b.ReportMetric(float64(more)/1024, "more-MiB")
}

// savesLarge has a package of one document signed and waits for its file, which it removes. It returns how long that took
// from the request on, and how much memory it took at most, in KiB.
func savesLarge(o *harness.Office, name string) (took time.Duration, memory int, p harness.Pack) {
	o.T.Helper()
	o.Must("send", harness.Sample(o.T, "Offer 2026-118"), "--name", name, "--to", ana)
	p = o.Service.Named(name)
	saved, before := o.Status().Saves.Done, o.Running.Costs().Memory
	o.Service.SignAll(p.ID)
	look := time.NewTicker(10 * time.Millisecond) // looking costs what is measured
	defer look.Stop()
	for began := time.Now(); ; <-look.C {
		memory = max(memory, o.Running.Costs().Memory-before)
		if s, err := o.Ask(); err == nil && s.Saves.Done > saved {
			break
		}
		if time.Since(began) > 2*harness.Patience {
			o.T.Fatal("the document does not arrive")
		}
	}
	end := time.Now()
	for _, f := range o.Files() {
		harness.Must(o.T, os.Remove(filepath.Join(o.Folder, f)))
	}
	return end.Sub(askedAt(o.Service, executed(p))), memory, p
}

// curls downloads the same document with curl and brings it to the disk.
func curls(o *harness.Office, p harness.Pack) time.Duration {
	o.T.Helper()
	path := filepath.Join(filepath.Dir(o.Folder), "curl.pdf")
	defer os.Remove(path)
	token := o.Service.Token()
	began := time.Now()
	out, err := exec.Command("curl", "-sSf", "-o", path, "-H", "Authorization: Bearer "+token, o.Service.URL+o.Service.Prefix+executed(p)).CombinedOutput()
	if err != nil {
		o.T.Fatalf("curl: %v: %s", err, out)
	}
	flush(o.T, path)
	flush(o.T, filepath.Dir(path))
	return time.Since(began)
}

// executed is the API's path of a package's first document as signed.
func executed(p harness.Pack) string {
	return "/packages/" + p.ID + "/documents/" + p.Documents[0].ID + "/pdf/executed/download"
}

// askedAt is when the service was asked at a path for the first time.
func askedAt(s *harness.Service, path string) time.Time {
	s.T.Helper()
	var log struct {
		Requests []struct {
			Path string
			Time time.Time
		}
	}
	s.Tell("GET", "/requests", nil, &log)
	for _, r := range log.Requests {
		if strings.HasSuffix(r.Path, path) {
			return r.Time
		}
	}
	s.T.Fatalf("the service was never asked for %s", path)
	return time.Time{}
}

// flush brings a file or a folder to the disk.
func flush(t testing.TB, path string) {
	t.Helper()
	f, err := os.Open(path)
	harness.Must(t, err)
	defer f.Close()
	harness.Must(t, f.Sync())
}
