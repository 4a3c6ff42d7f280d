package sim

import (
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
	"testing"
	"time"
)

// How `make simulate-faults` says what it wants: how long each fault may live, and, to the process that looks for it, which
// one is planted.
const (
	envFaults  = "COUNTERSIGN_SIM_FAULTS"
	envPlanted = "COUNTERSIGN_SIM_PLANTED"
)

// planted is a fault of the program, kept in a file of its own in faults: what is wrong, and for each source file what to
// find there, once, and what to put in its place. PLANTED in it is true, and PICK(x, y) is x, while this fault is the one
// that is looked for. So all of them are compiled together, by an overlay that touches no file, and live one at a time.
type planted struct {
	name, what string
	edits      []edit
}

type edit struct{ file, find, put string }

var aFault = regexp.MustCompile(`(?s)== (\S+)\n<<<<\n(.*?)\n====\n(.*?)\n>>>>\n`)

func readFaults() (all []planted, err error) {
	files, err := filepath.Glob("faults/*.fault")
	for _, file := range files {
		text, rerr := os.ReadFile(file)
		if rerr != nil {
			return nil, rerr
		}
		p := planted{name: strings.TrimSuffix(filepath.Base(file), ".fault")}
		p.what, _, _ = strings.Cut(string(text), "\n")
		for _, found := range aFault.FindAllStringSubmatch(string(text), -1) {
			p.edits = append(p.edits, edit{found[1], found[2], found[3]})
		}
		if len(p.edits) == 0 {
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

// plant writes the sources with the faults into dir, and the overlay that has the compiler read them. Faults that no longer
// fit are left out and returned.
func plant(dir string, all []planted) (overlay string, stale []string, err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", nil, err
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
			if strings.Count(text, e.find) != 1 {
				err = fmt.Errorf("%s: what it changes is there %d times", e.file, strings.Count(text, e.find))
				break
			}
			put := strings.ReplaceAll(e.put, "PLANTED", fmt.Sprintf("planted.On(%q)", p.name))
			put = strings.ReplaceAll(put, "PICK(", fmt.Sprintf("planted.Pick(%q, ", p.name))
			changed[e.file] = strings.Replace(text, e.find, put, 1)
		}
		if err != nil {
			stale, err = append(stale, fmt.Sprintf("%s: %v", p.name, err)), nil
			continue
		}
		for file, text := range changed {
			sources[file] = text
		}
	}
	replace := map[string]string{}
	write := func(file, text string) error {
		path := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(root, file)] = path
		return os.WriteFile(path, []byte(text), 0o600)
	}
	clause := regexp.MustCompile(`(?m)^package \w+$`)
	for file, text := range sources {
		at := clause.FindStringIndex(text)
		if err := write(file, text[:at[1]]+`; import "countersign/internal/planted"`+text[at[1]:]); err != nil {
			return "", nil, err
		}
	}
	if err := write("internal/planted/planted.go", plantedPackage); err != nil {
		return "", nil, err
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, stale, os.WriteFile(overlay, raw, 0o600)
}

// TestEveryFaultCanBePlanted notices when the program has changed where a fault is to be planted.
func TestEveryFaultCanBePlanted(t *testing.T) {
	all, err := readFaults()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, stale, err := plant(dir, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stale {
		t.Error("a fault no longer fits the program: ", s)
	}
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	for _, path := range sources {
		if _, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution); err != nil {
			t.Error(err)
		}
	}
}

// TestPlantedFaultsAreFound is `make simulate-faults`: it shows that the simulation bites.
func TestPlantedFaultsAreFound(t *testing.T) {
	each, err := time.ParseDuration(os.Getenv(envFaults))
	if err != nil {
		t.Skip("make simulate-faults runs it")
	}
	all, err := readFaults()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay, stale, err := plant(dir, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stale {
		t.Error("a fault no longer fits the program: ", s)
	}
	binary := filepath.Join(dir, "sim.test")
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seed, queue := firstSeed(t), make(chan planted, len(all))
	t.Logf("seeds from %d on", seed)
	for _, p := range all {
		if !slices.ContainsFunc(stale, func(s string) bool { return strings.HasPrefix(s, p.name+":") }) {
			queue <- p
		}
	}
	close(queue)
	var mu sync.Mutex
	found, looked := 0, len(queue)
	var running sync.WaitGroup
	for range runtime.NumCPU() {
		running.Go(func() {
			for p := range queue {
				began := time.Now()
				promise := seek(binary, p.name, each, seed)
				mu.Lock()
				if promise != "" {
					found++
					t.Logf("found   %s in %v: %s", p.name, time.Since(began).Round(time.Second), promise)
				} else {
					t.Errorf("missed  %s in %v: %s", p.name, each, p.what)
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	t.Logf("%d of %d planted faults were found, each within %v", found, looked, each)
}

var aPromise = regexp.MustCompile(`(?s)breaks a promise after step [^\n]*\n\s*([^\n]{0,160})`)

// seek plays lives with a fault planted, and returns the promise that it was found by, "" for none.
func seek(binary, name string, each time.Duration, seed uint64) string {
	cmd := exec.Command(binary, "-test.run=^TestSimulate$", "-test.v", "-test.timeout="+(each+10*time.Minute).String())
	cmd.Env = append(os.Environ(), envPlanted+"="+name, envTime+"="+each.String(), fmt.Sprintf("%s=%d", envSeed, seed), envPart+"=0/1", envFaults+"=")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	if promise := aPromise.FindSubmatch(out); promise != nil {
		return string(promise[1])
	}
	if i := strings.Index(string(out), "panic:"); i >= 0 {
		line, _, _ := strings.Cut(string(out)[i:], "\n")
		return line
	}
	return "the run ended: " + err.Error()
}
