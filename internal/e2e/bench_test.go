//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/internal/e2e/harness"
	records "countersign/internal/office"
	"countersign/internal/store"
)

// The benchmarks measure the real program and a baseline in the same run on the same machine, and report both and their
// ratio. They assert nothing: `make bench` prints.

// bareWindow builds a program that has only a window.
func bareWindow(b *testing.B) string {
	b.Helper()
	path := filepath.Join(harness.ShortDir(b), "barewindow")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "countersign/ui/testdata/barewindow").CombinedOutput(); err != nil {
		b.Fatalf("build the bare window: %v\n%s", err, out)
	}
	return path
}

// untilShown starts a program and returns the time until its window was on the screen, and the processor time it used, which
// says more on a busy machine.
func untilShown(d *harness.Desktop, title, path string, args ...string) (took, computed time.Duration) {
	d.T.Helper()
	began := time.Now()
	p := harness.Start(d.T, d.Env(), path, args...)
	for len(d.Visible(title)) == 0 {
		if time.Since(began) > harness.Patience {
			d.T.Fatalf("%s shows no window: %s", path, p.Stderr)
		}
	}
	took, computed = time.Since(began), computing(p)
	if p.Stop() != 0 && title == "Countersign" {
		d.T.Errorf("the program ended badly: %s", p.Stderr)
	}
	return took, computed
}

// computing is the processor time of a process's threads, to the nanosecond.
func computing(p *harness.Process) (sum time.Duration) {
	p.T.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.Cmd.Process.Pid))
	harness.Must(p.T, err)
	for _, thread := range threads {
		b, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended meanwhile
		}
		var n int64
		if _, err := fmt.Sscan(string(b), &n); err != nil {
			p.T.Fatalf("read %s: %v", thread, err)
		}
		sum += time.Duration(n)
	}
	return sum
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// stoppedOffice is an office that is set up, signed in and registered, whose program has been stopped.
func stoppedOffice(b *testing.B, desk *harness.Desktop) *harness.Office {
	o := harness.UsualOffice(b, desk)
	o.Ready()
	o.Stop()
	return o
}

// BenchmarkStart measures the time from the start of the process to its window, with more and more packages, and compares it
// with a bare window.
func BenchmarkStart(b *testing.B) {
	desk := harness.NewDesktop(b)
	desk.StartDisplay()
	bare := bareWindow(b)
	o := stoppedOffice(b, desk)
	have := 0
	for _, n := range []int{0, 1000, 50000} {
		b.Run(fmt.Sprintf("packages=%d", n), func(b *testing.B) {
			know(o, have, n)
			have = max(have, n)
			for b.Loop() {
				var floor, ours, beyond, computed []time.Duration
				for range 11 { // alternating, so that other load on the machine affects both
					f, fc := untilShown(desk, "Bare window", bare)
					x, xc := untilShown(desk, "Countersign", harness.Program, o.Global...)
					floor, ours, beyond, computed = append(floor, f), append(ours, x), append(beyond, x-f), append(computed, xc-fc)
				}
				b.ReportMetric(milliseconds(median(floor)), "bare-ms")
				b.ReportMetric(milliseconds(median(ours)), "ours-ms")
				b.ReportMetric(milliseconds(median(beyond)), "beyond-ms")
				b.ReportMetric(milliseconds(median(computed)), "cpu-beyond-ms")
			}
		})
	}
}

// know adds saved packages to the state of a stopped program, from number have to n.
func know(o *harness.Office, have, n int) {
	o.T.Helper()
	s, err := store.Open(filepath.Join(o.Data, "state.db"), store.Options{})
	harness.Must(o.T, err)
	defer s.Close()
	const together = 1000
	for ; have < n; have += together {
		err := s.Update(func(tx *store.Tx) error {
			for i := have; i < min(have+together, n); i++ {
				if err := tx.PutPackage(knownPackage(i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			o.T.Fatal(err)
		}
	}
}

func knownPackage(n int) records.Package {
	at := time.Date(2026, 1, 2, 8, 0, 0, 0, time.UTC).Add(time.Duration(n) * 5 * time.Minute)
	id := func(what string) string { return fmt.Sprintf("%s-%08d", what, n) }
	return records.Package{
		ID: id("package"), Name: fmt.Sprintf("Lease %d, Sonnenweg %d", n, n%90), Origin: records.MadeHere, State: "executed",
		Created: at, Executed: records.When{Time: at.Add(time.Hour)},
		Inquiry: records.Inquiry{Checked: at.Add(time.Hour)}, Saving: records.Saving{Planned: true, Saved: true},
		Signing: records.Signing{SignersDone: 2, SignersTotal: 2},
		Signers: []records.Signer{
			{ID: id("ana"), FirstName: "Ana", LastName: "Ruiz", Email: "ana.ruiz@example.com"},
			{ID: id("jan"), FirstName: "Jan", LastName: "Weber", Email: "jan.weber@example.com"},
		},
		Documents: []records.Document{{ID: id("document"), Name: "Lease", FileName: "Lease.pdf", Executed: true, SignedBy: []string{id("ana"), id("jan")}}},
		History:   []records.HistoryEntry{{Time: records.When{Time: at}, What: "sent"}, {Time: records.When{Time: at.Add(time.Hour)}, What: "executed"}},
	}
}

// BenchmarkIdleInTheTray leaves the program idle in the tray for a minute, signed in, with its address open, and compares it
// with an idle bare window.
func BenchmarkIdleInTheTray(b *testing.B) {
	desk := harness.NewDesktop(b)
	desk.StartDisplay()
	tray := harness.ServeTray(b, desk.Connect())
	o := harness.UsualOffice(b, desk)
	o.Setup()
	o.Running = harness.Start(b, desk.Env(), harness.Program, append(o.Global, "--hidden")...)
	o.Answers()
	tray.Item()
	o.MustLogin()
	o.Registered()
	works(o, true)
	bare := harness.Start(b, desk.Env(), bareWindow(b))
	desk.Window("Bare window")
	const minute = time.Minute
	<-time.After(75 * time.Second) // until current work is done, including the first backup a minute after the start
	for b.Loop() {
		ours, floor, wrote := busy(o.Running), busy(bare), written(o.Running)
		<-time.After(minute)
		ours, floor, wrote = busy(o.Running)-ours, busy(bare)-floor, written(o.Running)-wrote
		b.ReportMetric(100*ours.Seconds()/minute.Seconds(), "ours-%core")
		b.ReportMetric(100*floor.Seconds()/minute.Seconds(), "bare-%core")
		b.ReportMetric(float64(wrote), "written-B")
	}
}

// busy is the processor time of a process.
func busy(p *harness.Process) time.Duration {
	p.T.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Cmd.Process.Pid))
	harness.Must(p.T, err)
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest) // from the third field in proc(5) on
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// written is the number of bytes that a process has caused to be written to a disk.
func written(p *harness.Process) (n int64) {
	p.T.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.Cmd.Process.Pid))
	harness.Must(p.T, err)
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			n, _ = strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		}
	}
	return n
}

// large is the size of the document.
const large = 512 << 20

// BenchmarkOneLargeDocument measures an executed PDF of 512 MB, from its request to the notification that it is saved, and
// compares it with curl and fsync.
func BenchmarkOneLargeDocument(b *testing.B) {
	o := harness.UsualOffice(b, harness.NewDesktop(b))
	o.Ready("--no-cac", "--no-masterfile")
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

// savesLarge lets a package of one document be signed, and waits for its file, which it removes. It returns the time since
// the request, and the maximum memory in KiB.
func savesLarge(o *harness.Office, name string) (took time.Duration, memory int, p harness.Pack) {
	o.T.Helper()
	o.Must("send", harness.Sample(o.T, "Offer 2026-118"), "--name", name, "--to", ana)
	p = o.Service.Named(name)
	saved, before := o.Status().Saves.Done, o.Running.Costs().Memory
	o.Service.SignAll(p.ID)
	look := time.NewTicker(10 * time.Millisecond) // polling is part of the measured cost
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

// curls downloads the same document with curl and flushes it.
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

// askedAt is when a path was first requested from the service.
func askedAt(s *harness.Service, path string) time.Time {
	s.T.Helper()
	var log []struct {
		Path string
		Time time.Time
	}
	s.Tell("GET", "/requests", nil, &log)
	for _, r := range log {
		if strings.HasSuffix(r.Path, path) {
			return r.Time
		}
	}
	s.T.Fatalf("the service was never asked for %s", path)
	return time.Time{}
}

// flush flushes a file or a folder.
func flush(t testing.TB, path string) {
	t.Helper()
	f, err := os.Open(path)
	harness.Must(t, err)
	defer f.Close()
	harness.Must(t, f.Sync())
}

// BenchmarkHiddenInTheTray measures the memory of the program in the tray after its window has shown that many packages and
// was closed, and compares it with a bare window: memory of its own, and including mapped files.
func BenchmarkHiddenInTheTray(b *testing.B) {
	desk := harness.NewDesktop(b)
	desk.StartDisplay()
	tray := harness.ServeTray(b, desk.Connect())
	bare := harness.Start(b, desk.Env(), bareWindow(b))
	desk.Window("Bare window")
	o := stoppedOffice(b, desk)
	have := 0
	for _, n := range []int{0, 1000, 50000} {
		b.Run(fmt.Sprintf("packages=%d", n), func(b *testing.B) {
			know(o, have, n)
			have = max(have, n)
			for b.Loop() {
				o.Running = harness.Start(b, desk.Env(), harness.Program, o.Global...)
				o.Answers()
				tray.Item()
				window := desk.Window("Countersign")
				window.Still()
				shown := held(o.Running)
				window.Hide()
				<-time.After(15 * time.Second) // until current work is done
				ours, floor := held(o.Running), held(bare)
				const mega = 1 << 20
				b.ReportMetric(shown.own/mega, "shown-MiB")
				b.ReportMetric(ours.own/mega, "ours-MiB")
				b.ReportMetric(floor.own/mega, "bare-MiB")
				b.ReportMetric((ours.own-floor.own)/mega, "beyond-MiB")
				b.ReportMetric((ours.all-floor.all)/mega, "beyond-with-files-MiB")
				o.Stop()
			}
		})
	}
}

// memory is a process's memory, in bytes.
type memory struct {
	own float64 // private and not backed by a file: it could only be swapped out
	all float64 // including mapped files, such as the program itself
}

func held(p *harness.Process) (m memory) {
	p.T.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	harness.Must(p.T, err)
	for line := range strings.Lines(string(b)) {
		name, rest, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
		switch name {
		case "RssAnon":
			m.own = kib * 1024
		case "VmRSS":
			m.all = kib * 1024
		}
	}
	return m
}
