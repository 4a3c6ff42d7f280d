//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/internal/e2e/harness"
)

// BenchmarkHiddenInTheTray is the memory of the program in the tray, once its window has shown so many packages and was
// closed, beside a bare window: what the system holds for it alone, and with the parts of files.
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
				<-time.After(15 * time.Second) // what was begun comes to rest
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

// memory is what the system holds for a process, in bytes.
type memory struct {
	own float64 // in no file: it is there for this process alone, and could only be swapped out
	all float64 // with the parts of files that are mapped, its own program among them
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
