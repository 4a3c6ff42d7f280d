//go:build linux

package harness

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// What a run reports, in the order of its table.
const (
	Kills        = "kills (SIGKILL)"
	Cuts         = "power cuts"
	CrashPoints  = "of them at a chosen point"
	Faults       = "faults of the service"
	Repeats      = "events that came again"
	Hostile      = "hostile requests and connections"
	Events       = "events answered 2xx"
	PackagesMade = "packages"
	FilesSaved   = "files"
	Losses       = "lost, doubled, overwritten or half"
)

// Figures count what the tests did to the program and what came of it. Safe for concurrent use.
type Figures struct {
	mu    sync.Mutex
	count map[string]int
}

// Suffered are the figures of this run.
var Suffered Figures

func (f *Figures) Add(name string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == nil {
		f.count = map[string]int{}
	}
	f.count[name] += n
}

// table is the figures as Markdown.
func (f *Figures) table() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "| what | how many |\n|---|---|\n")
	for _, name := range []string{Kills, CrashPoints, Cuts, Faults, Repeats, Hostile, Events, PackagesMade, FilesSaved, Losses} {
		fmt.Fprintf(&b, "| %s | %d |\n", name, f.count[name])
	}
	return b.String()
}

// Report prints the figures after a long run, and writes them to the file that COUNTERSIGN_E2E_FIGURES names.
func (f *Figures) Report() {
	if os.Getenv(TortureTime) == "" {
		return
	}
	fmt.Print("\n", f.table())
	name := os.Getenv("COUNTERSIGN_E2E_FIGURES")
	if name == "" {
		return
	}
	if err := os.WriteFile(name, []byte(f.table()), 0o644); err != nil {
		fmt.Fprintf(os.Stderr, "The figures could not be written: %v\n", err)
	}
}

// TortureTime names the variable that says how long the program is tortured; without it, it is killed a few times.
const TortureTime = "COUNTERSIGN_E2E_TORTURE"
