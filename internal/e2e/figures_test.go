//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// What a run reports, in the order of its table.
const (
	kills        = "kills (SIGKILL)"
	crashPoints  = "of them at a chosen point"
	faults       = "faults of the service"
	repeats      = "events that came again"
	hostile      = "hostile requests and connections"
	events       = "events answered 2xx"
	packagesMade = "packages"
	filesSaved   = "files"
	losses       = "lost, doubled, overwritten or half"
)

// figures count what the tests did to the program and what came of it. Safe for concurrent use.
type figures struct {
	mu    sync.Mutex
	count map[string]int
}

// suffered are the figures of this run.
var suffered figures

func (f *figures) add(name string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == nil {
		f.count = map[string]int{}
	}
	f.count[name] += n
}

// table is the figures as Markdown.
func (f *figures) table() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "| what | how many |\n|---|---|\n")
	for _, name := range []string{kills, crashPoints, faults, repeats, hostile, events, packagesMade, filesSaved, losses} {
		fmt.Fprintf(&b, "| %s | %d |\n", name, f.count[name])
	}
	return b.String()
}

// report prints the figures after a long run, and writes them to the file that COUNTERSIGN_E2E_FIGURES names.
func (f *figures) report() {
	if os.Getenv(tortureTime) == "" {
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
