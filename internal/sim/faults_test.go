package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The parameters of `make simulate-faults`: how much processor time to spend on each fault and, for the process that looks
// for it, which one is planted.
const (
	envFaults  = "COUNTERSIGN_SIM_FAULTS"
	envPlanted = "COUNTERSIGN_SIM_PLANTED"
	envFault   = "COUNTERSIGN_SIM_FAULT" // prefix of the names of the faults to look for; all by default
)

// planted is a fault of the program, described by a file in faults: what is wrong, and for each source file the text to find
// there, once, and its replacement. In it, PLANTED is true and PICK(x, y) is x while this fault is the selected one. So all
// faults are compiled together, by an overlay that changes no file, and activated one at a time.
type planted struct {
	name, what string
	edits      []edit
}

type edit struct{ file, find, put string }

var anEdit = regexp.MustCompile(`(?s)== (\S+)\n<<<<\n(.*?)\n====\n(.*?)\n>>>>\n`)

// editsIn parses the edits in a text.
func editsIn(text string) (all []edit) {
	for _, found := range anEdit.FindAllStringSubmatch(text, -1) {
		all = append(all, edit{found[1], found[2], found[3]})
	}
	return all
}

// apply makes the edit in a source that contains the text exactly once.
func (e edit) apply(text, put string) (string, error) {
	if n := strings.Count(text, e.find); n != 1 {
		return "", fmt.Errorf("%s: what it changes is there %d times", e.file, n)
	}
	return strings.Replace(text, e.find, put, 1), nil
}

// overlay are sources that the compiler reads instead of others: path -> path.
type overlay map[string]string

// write puts text in dir for the compiler to read instead of path.
func (o overlay) write(dir, path, text string) error {
	o[path] = filepath.Join(dir, strings.ReplaceAll(strings.Trim(path, "/"), "/", "_"))
	return os.WriteFile(o[path], []byte(text), 0o600)
}

// compile builds the tests of this package with the overlay.
func (o overlay) compile(dir string) (binary string, err error) {
	raw, err := json.Marshal(map[string]any{"Replace": o})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, raw, 0o600); err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "sim.test.exe") // with an extension that Windows executes, too
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", list, "-o", binary, ".")
	if !otherGo() {
		build.Env = append(os.Environ(), quickJSON)
	}
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, nil
}

func readFaults() (all []planted, err error) {
	files, err := filepath.Glob("faults/*.fault")
	for _, file := range files {
		text, rerr := os.ReadFile(file)
		if rerr != nil {
			return nil, rerr
		}
		p := planted{name: strings.TrimSuffix(filepath.Base(file), ".fault")}
		p.what, _, _ = strings.Cut(string(text), "\n")
		if p.edits = editsIn(string(text)); len(p.edits) == 0 {
			return nil, fmt.Errorf("%s changes nothing", file)
		}
		all = append(all, p)
	}
	return all, err
}

const plantedPackage = `// Package planted says which fault is planted. It is there while the simulation looks for faults, and nowhere else.
package planted

import "os"

var name = os.Getenv("` + envPlanted + `")

func On(fault string) bool { return fault == name }

func Pick[T any](fault string, wrong, right T) T {
	if On(fault) {
		return wrong
	}
	return right
}
`

// plant writes the sources with the faults into dir and adds them to the overlay. It skips faults that no longer fit and
// returns them by name, with the reason.
func (o overlay) plant(dir string, all []planted) (stale map[string]error, err error) {
	stale = map[string]error{}
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	sources := map[string]string{}
	source := func(file string) (string, error) {
		if text, ok := sources[file]; ok {
			return text, nil
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		return string(text), err
	}
	for _, p := range all {
		changed := map[string]string{}
		for _, e := range p.edits {
			text, ok := changed[e.file]
			if !ok {
				if text, err = source(e.file); err != nil {
					break
				}
			}
			put := strings.ReplaceAll(e.put, "PLANTED", fmt.Sprintf("planted.On(%q)", p.name))
			put = strings.ReplaceAll(put, "PICK(", fmt.Sprintf("planted.Pick(%q, ", p.name))
			if changed[e.file], err = e.apply(text, put); err != nil {
				break
			}
		}
		if err != nil {
			stale[p.name], err = err, nil
			continue
		}
		for file, text := range changed {
			sources[file] = text
		}
	}
	clause := regexp.MustCompile(`(?m)^package \w+$`)
	for file, text := range sources {
		at := clause.FindStringIndex(text)
		if err := o.write(dir, filepath.Join(root, file), text[:at[1]]+`; import "countersign/internal/planted"`+text[at[1]:]); err != nil {
			return nil, err
		}
	}
	return stale, o.write(dir, filepath.Join(root, "internal/planted/planted.go"), plantedPackage)
}

// sources plants all faults in copies of the program's sources in dir. It returns the overlay for the compiler, and the
// faults that could be planted. One that no longer fits fails the test.
func sources(t *testing.T, dir string) (o overlay, fit []planted) {
	t.Helper()
	all, err := readFaults()
	if err != nil {
		t.Fatal(err)
	}
	o = overlay{}
	stale, err := o.plant(dir, all)
	if err != nil {
		t.Fatal(err)
	}
	for name, why := range stale {
		t.Errorf("%s no longer fits the program: %v", name, why)
	}
	return o, slices.DeleteFunc(all, func(p planted) bool { return stale[p.name] != nil })
}

// TestEveryFaultCanBePlanted notices when a fault no longer fits the program's sources.
func TestEveryFaultCanBePlanted(t *testing.T) {
	dir := t.TempDir()
	sources(t, dir)
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		if _, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution); err != nil {
			t.Error(err)
		}
	}
}

// TestPlantedFaultsAreFound is `make simulate-faults`: it shows that the simulation finds faults.
func TestPlantedFaultsAreFound(t *testing.T) {
	each, err := time.ParseDuration(os.Getenv(envFaults))
	if err != nil {
		t.Skip("make simulate-faults runs it")
	}
	dir := t.TempDir()
	o, all := sources(t, dir)
	if err := o.inTurns(dir); err != nil {
		t.Fatal(err)
	}
	binary, err := o.compile(dir)
	if err != nil {
		t.Fatalf("the program with the faults does not compile: %v", err)
	}
	seed, queue := firstSeed(t), make(chan planted, len(all))
	t.Logf("seeds from %d on", seed)
	all = slices.DeleteFunc(all, func(p planted) bool { return !strings.HasPrefix(p.name, os.Getenv(envFault)) })
	for _, p := range all {
		queue <- p
	}
	close(queue)
	var found atomic.Int64
	var running sync.WaitGroup
	for range runtime.NumCPU() {
		running.Go(func() {
			for p := range queue {
				began := time.Now()
				promise, err := seek(binary, p.name, each, seed)
				switch {
				case err != nil:
					t.Errorf("no word of %s in %v: %v", p.name, time.Since(began).Round(time.Second), err)
				case promise != "":
					found.Add(1)
					t.Logf("found   %s in %v: %s", p.name, time.Since(began).Round(time.Second), promise)
				default:
					t.Errorf("missed  %s in %v: %s", p.name, time.Since(began).Round(time.Second), p.what)
				}
			}
		})
	}
	running.Wait()
	t.Logf("%d of %d planted faults were found, each within %v", found.Load(), len(all), each)
}

// The output of a run that found something: a broken promise, or why the program ended. The test's own time-out does not
// count.
var (
	aPromise = regexp.MustCompile(`(?s)breaks a promise after step [^\n]*\n\s*([^\n]{0,160})`)
	aPanic   = regexp.MustCompile(`(?m)^(?:panic|fatal error): (.{0,160})`)
)

// lastLife limits the real time, on a busy machine, until the processor time is used up and the current life is over.
const lastLife = 20 * time.Minute

// seek plays lives with a planted fault, and returns the promise by which it was found, "" if it was not. An error means
// that the result is unknown.
func seek(binary, name string, each time.Duration, seed uint64) (promise string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), each+lastLife)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.run=^TestSimulate$", "-test.v", "-test.timeout=0")
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), envTurns+"=1", envPlanted+"="+name, envTime+"="+each.String(), fmt.Sprintf("%s=%d", envSeed, seed), envPart+"=0/1", envFaults+"=")
	out, err := cmd.CombinedOutput()
	switch found := aPromise.FindSubmatch(out); {
	case found != nil:
		return string(found[1]), nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("the run did not end within %v", each+lastLife)
	case err == nil:
		return "", nil
	}
	if found := aPanic.FindSubmatch(out); found != nil {
		return string(found[1]), nil
	}
	return "", fmt.Errorf("%w:\n%s", err, out[max(0, len(out)-2000):])
}
