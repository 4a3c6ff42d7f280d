package sim

import (
	"errors"
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

// envTurns is set in a process whose goroutines take turns according to turns/runtime.edits: only the seed decides.
const envTurns = "COUNTERSIGN_SIM_TURNS"

// turnsGo is the Go version for whose runtime the edits are made.
const turnsGo = "go1.26"

// quickJSON makes that Go read JSON with the future internals of encoding/json, which give the same results: months that
// read much JSON take a sixth less time. All other tests use what the shipped program uses.
const quickJSON = "GOEXPERIMENT=jsonv2"

// otherGo reports whether this is another Go version. Then lives are played with its unmodified runtime, and replay almost
// exactly.
func otherGo() bool {
	return runtime.Version() != turnsGo && !strings.HasPrefix(runtime.Version(), turnsGo+".")
}

// inTurns adds to the overlay a runtime in which only the seed decides the order of goroutines: this Go's runtime with a few
// edits. The original also depends on a real clock and on randomness that cannot be seeded.
func (o overlay) inTurns(dir string) error {
	edits, err := os.ReadFile(filepath.Join("turns", "runtime.edits"))
	if err != nil {
		return err
	}
	root, err := goroot()
	if err != nil {
		return err
	}
	changed := map[string]string{}
	for _, e := range editsIn(string(edits)) {
		path := filepath.Join(root, "src", e.file)
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

// goroot returns where the standard library lies, for the go command too. A toolchain that Go has downloaded lies in the module
// cache, where an overlay replaces nothing, but it does behind a link.
var goroot = sync.OnceValues(func() (root string, err error) {
	out, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
	root, modules, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || !strings.HasPrefix(root, modules) {
		return root, err
	}
	if gorootIn, err = os.MkdirTemp("", "countersign-sim-go-"); err != nil {
		return "", err
	}
	link := filepath.Join(gorootIn, "go")
	return link, errors.Join(os.Symlink(root, link), os.Setenv("GOROOT", link))
})

// gorootIn is the folder created by goroot, for TestMain to remove.
var gorootIn string

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

// orderlyIn is the folder created by orderly, for TestMain to remove.
var orderlyIn string

// again is a command that runs this test in a process whose goroutines take turns.
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

// elsewhere runs this test in a process whose goroutines take turns, so that its result is reproducible. In that process it
// returns false.
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

// TestMain gives lives one processor: with two, goroutines that become ready at the same instant race. More processors run
// more processes. If the system allows it, lives have their own disks, which can be full.
func TestMain(m *testing.M) {
	if fasttest.LeaveOut() {
		os.Exit(m.Run())
	}
	if code, ok := ownSpace(); ok {
		os.Exit(code)
	}
	if os.Getenv(envTurns) != "" {
		runtime.GOMAXPROCS(1)
		runtime.MemProfileRate = 0 // profiling must be requested
	}
	code := m.Run()
	for _, dir := range []string{madeIn, orderlyIn, gorootIn} {
		if dir != "" {
			os.RemoveAll(dir)
		}
	}
	os.Exit(code)
}
