package sim

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"countersign/internal/fasttest"
)

// envTurns is set in a process whose goroutines take turns as turns/runtime.edits says: nothing but the seed decides them.
const envTurns = "COUNTERSIGN_SIM_TURNS"

// turnsGo is the Go whose runtime the edits are for.
const turnsGo = "go1.26"

// quickJSON has that Go read JSON with what is to take the place of encoding/json within, which gives the same answers: months that
// read much of it take a sixth less time. Every other test reads it as the program does that is shipped.
const quickJSON = "GOEXPERIMENT=jsonv2"

// otherGo is whether this is another Go than that. Lives are played with its runtime as it is then, and replay nearly.
func otherGo() bool {
	return runtime.Version() != turnsGo && !strings.HasPrefix(runtime.Version(), turnsGo+".")
}

// inTurns adds to the overlay a runtime in which the seed alone decides the order of goroutines: the one of this Go, with a
// few edits. Its own lets a real clock take part, and chance that nobody can give a seed.
func (o overlay) inTurns(dir string) error {
	edits, err := os.ReadFile(filepath.Join("turns", "runtime.edits"))
	if err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	changed := map[string]string{}
	for _, e := range editsIn(string(edits)) {
		path := filepath.Join(strings.TrimSpace(string(root)), "src", e.file)
		if changed[path] == "" {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			changed[path] = string(text)
		}
		if changed[path], err = e.apply(changed[path], e.put); err != nil {
			return fmt.Errorf("turns/runtime.edits does not fit %s: %w", runtime.Version(), err)
		}
	}
	for path, text := range changed {
		if err := o.write(dir, path, text); err != nil {
			return err
		}
	}
	return nil
}

// orderly builds this test program with the runtime of inTurns. The first time, that compiles the standard library.
var orderly = sync.OnceValues(func() (binary string, err error) {
	if otherGo() {
		return os.Executable()
	}
	dir, err := os.MkdirTemp("", "countersign-sim-turns-")
	if err != nil {
		return "", err
	}
	orderlyIn = dir
	o := overlay{}
	if err := o.inTurns(dir); err != nil {
		return "", err
	}
	return o.compile(dir)
})

// orderlyIn is the folder that orderly has made, for TestMain to remove.
var orderlyIn string

// again is this test, to be run in a process whose goroutines take turns.
func again(t *testing.T) *exec.Cmd {
	t.Helper()
	binary, err := orderly()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=0")
	cmd.Env = append(os.Environ(), envTurns+"=1")
	return cmd
}

// elsewhere runs this test in a process whose goroutines take turns, so that it ends today as it did yesterday. It is false
// in that process.
func elsewhere(t *testing.T) bool {
	t.Helper()
	if os.Getenv(envTurns) != "" {
		return false
	}
	out, err := again(t).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
	return true
}

// TestMain gives lives one processor: with two, goroutines that become ready at the same instant race. For more processors
// there are more processes. Where the system allows it, lives have disks of their own, which can be full.
func TestMain(m *testing.M) {
	if fasttest.LeaveOut() {
		os.Exit(m.Run())
	}
	if code, ok := ownSpace(); ok {
		os.Exit(code)
	}
	if os.Getenv(envTurns) != "" {
		runtime.GOMAXPROCS(1)
		runtime.MemProfileRate = 0 // whoever wants to know asks for a profile
	}
	code := m.Run()
	for _, dir := range []string{madeIn, orderlyIn} {
		if dir != "" {
			os.RemoveAll(dir)
		}
	}
	os.Exit(code)
}
