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

	records "countersign/internal/office"
	"countersign/internal/store"
)

// The benchmarks measure the real program beside a floor, in the same run on the same machine, and report both and
// their ratio. They judge nothing: `make bench` prints.

// bareWindow builds the program with nothing but a window.
func bareWindow(b *testing.B) string {
	b.Helper()
	path := filepath.Join(shortDir(b), "barewindow")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "countersign/ui/testdata/barewindow").CombinedOutput(); err != nil {
		b.Fatalf("build the bare window: %v\n%s", err, out)
	}
	return path
}

// untilShown starts a program and returns how long it took until its window was on the screen.
func (d *desktop) untilShown(title, path string, args ...string) time.Duration {
	d.t.Helper()
	began := time.Now()
	p := start(d.t, d.env(), path, args...)
	for len(d.visible(title)) == 0 {
		if time.Since(began) > patience {
			d.t.Fatalf("%s shows no window: %s", path, p.stderr)
		}
	}
	took := time.Since(began)
	if p.stop() != 0 && title == "Countersign" {
		d.t.Errorf("the program ended badly: %s", p.stderr)
	}
	return took
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// BenchmarkStart is from the start of the process to its window, with more and more packages, beside a bare window.
func BenchmarkStart(b *testing.B) {
	desk := newDesktop(b)
	desk.startDisplay()
	bare := bareWindow(b)
	o := usualOffice(b, desk)
	o.setup()
	o.serve()
	o.mustLogin()
	o.registered()
	o.stop()
	have := 0
	for _, n := range []int{0, 1000, 50000} {
		b.Run(fmt.Sprintf("packages=%d", n), func(b *testing.B) {
			o.know(have, n)
			have = max(have, n)
			for b.Loop() {
				var floor, ours, beyond []time.Duration
				for range 11 { // in turns, so that whatever else the machine does troubles both
					f, x := desk.untilShown("Bare window", bare), desk.untilShown("Countersign", program, o.global...)
					floor, ours, beyond = append(floor, f), append(ours, x), append(beyond, x-f)
				}
				b.ReportMetric(milliseconds(median(floor)), "bare-ms")
				b.ReportMetric(milliseconds(median(ours)), "ours-ms")
				b.ReportMetric(milliseconds(median(beyond)), "beyond-ms")
			}
		})
	}
}

// know puts saved packages into the state of a program that does not run, from number have to n.
func (o *office) know(have, n int) {
	o.t.Helper()
	s, err := store.Open(filepath.Join(o.data, "state.db"), store.Options{})
	if err != nil {
		o.t.Fatal(err)
	}
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
			o.t.Fatal(err)
		}
	}
}

func knownPackage(n int) records.Package {
	at := time.Date(2026, 1, 2, 8, 0, 0, 0, time.UTC).Add(time.Duration(n) * 5 * time.Minute)
	id := func(what string) string { return fmt.Sprintf("%s-%08d", what, n) }
	return records.Package{
		ID: id("package"), Name: fmt.Sprintf("Lease %d, Sonnenweg %d", n, n%90), Origin: records.MadeHere, State: "executed",
		Created: at, Executed: at.Add(time.Hour), Checked: at.Add(time.Hour), Planned: true, Saved: true, SignersDone: 2, SignersTotal: 2,
		Signers: []records.Signer{
			{ID: id("ana"), FirstName: "Ana", LastName: "Ruiz", Email: "ana.ruiz@example.com"},
			{ID: id("jan"), FirstName: "Jan", LastName: "Weber", Email: "jan.weber@example.com"},
		},
		Documents: []records.Document{{ID: id("document"), Name: "Lease", FileName: "Lease.pdf", Executed: true, SignedBy: []string{id("ana"), id("jan")}}},
		Timeline:  []records.Moment{{Time: at, What: "sent"}, {Time: at.Add(time.Hour), What: "executed"}},
	}
}

// BenchmarkIdleInTheTray lets the program rest in the tray for a minute, signed in, with its address open, beside a bare
// window that rests too.
func BenchmarkIdleInTheTray(b *testing.B) {
	desk := newDesktop(b)
	desk.startDisplay()
	tray := serveTray(b, desk.connect())
	o := usualOffice(b, desk)
	o.setup()
	o.running = start(b, desk.env(), program, append(o.global, "--hidden")...)
	o.answers()
	tray.item()
	o.mustLogin()
	o.registered()
	o.works(true)
	bare := start(b, desk.env(), bareWindow(b))
	desk.window("Bare window")
	const minute = time.Minute
	<-time.After(15 * time.Second) // what was begun comes to rest
	for b.Loop() {
		ours, floor, written := o.running.busy(), bare.busy(), o.running.written()
		<-time.After(minute)
		ours, floor, written = o.running.busy()-ours, bare.busy()-floor, o.running.written()-written
		b.ReportMetric(100*ours.Seconds()/minute.Seconds(), "ours-%core")
		b.ReportMetric(100*floor.Seconds()/minute.Seconds(), "bare-%core")
		b.ReportMetric(float64(written), "written-B")
	}
}

// busy is the time a process has computed.
func (p *process) busy() time.Duration {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest) // from the third of proc(5) on
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// written is how many bytes a process has had written to a disk.
func (p *process) written() (n int64) {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			n, _ = strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		}
	}
	return n
}
