package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// product is one version of the program, from one source tree.
type product struct {
	root, out string // absolute folders: the source tree, and where the results go
	version   string // as people say it: "1.2.0"
	commit    string // short; empty when the tree is no checkout
	arch      string // the kind of processor on Linux, as Go calls it
	made      time.Time
	announced announcement // how programs hear of newer versions
}

// product finds out what is being made.
func (c *commandLine) product(ctx context.Context) (product, error) {
	root, err := filepath.Abs(c.Root)
	if err != nil {
		return product{}, err
	}
	p := product{root: root, out: c.Out, version: c.Version, arch: c.Arch}
	if p.commit, err = output(ctx, root, "git", "rev-parse", "--short=12", "HEAD"); err != nil {
		return product{}, err
	}
	if p.version == "" {
		if p.version, err = output(ctx, root, "git", "describe", "--tags", "--always", "--dirty"); err != nil {
			return product{}, err
		}
	}
	p.version = strings.TrimPrefix(p.version, "v")
	if p.made, err = commitTime(ctx, root); err != nil {
		return product{}, err
	}
	if p.announced, err = announced(); err != nil {
		return product{}, err
	}
	return p, os.MkdirAll(p.out, 0o755)
}

// commitTime is the time that everything in the results carries (https://reproducible-builds.org/specs/source-date-epoch).
func commitTime(ctx context.Context, root string) (time.Time, error) {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		var err error
		if seconds, err = output(ctx, root, "git", "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time of the commit: %w", err)
	}
	return time.Unix(n, 0).UTC(), nil
}

// said is the version as the program says it: with its commit.
func (p product) said() string {
	if p.commit == "" || strings.Contains(p.version, p.commit[:min(7, len(p.commit))]) {
		return p.version
	}
	return p.version + " (" + p.commit + ")"
}

// numbers is the version as Windows and macOS want it: n numbers of 16 bits, zero where the version names none.
func (p product) numbers(n int) []string {
	fields := strings.FieldsFunc(p.version, func(r rune) bool { return r == '.' || r == '-' || r == '+' })
	numbers := make([]string, n)
	ended := false
	for i := range numbers {
		numbers[i] = "0"
		if i >= len(fields) || ended {
			continue
		}
		if v, err := strconv.ParseUint(fields[i], 10, 16); err == nil {
			numbers[i] = strconv.FormatUint(v, 10)
		} else {
			ended = true
		}
	}
	return numbers
}

// serverProgram builds the program without its window, which needs no C, for servers with that system and kind of processor.
func (p product) serverProgram(ctx context.Context, s server) (string, error) {
	path := filepath.Join(p.out, s.system+"-"+s.arch, "countersign-server"+s.ending)
	return path, p.link(ctx, path, "./internal/server", "-s -w", "GOOS="+s.system, "GOARCH="+s.arch, "CGO_ENABLED=0")
}

// cFlags are those that Go has without any, and what the Makefile says of how names are tried.
const cFlags = "-O2 -g -D__cgo_undefined__2=_GoBytes_"

// build links the program with its window into path. This computer's C flags leave no trace.
func (p product) build(ctx context.Context, path, ldflags string, env ...string) error {
	env = append(env, "CGO_ENABLED=1", "CGO_CFLAGS="+cFlags, "CGO_CXXFLAGS=-O2 -g", "CGO_LDFLAGS=-O2 -g")
	return p.link(ctx, path, ".", ldflags, env...)
}

// screenReaders are the settings of Go's tools that build in what Fyne has for screen readers on Windows and macOS, where
// ACCESSIBILITY asks for it. Fyne 2.8.1 frees what a screen reader still holds, so nobody gets it unasked.
func screenReaders() []string {
	if asked := os.Getenv("ACCESSIBILITY"); asked == "" || asked == "0" {
		return nil
	}
	return []string{"GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -tags=accessibility")}
}

// link links a program of ours into path. The tree's own place and its version control leave no trace.
func (p product) link(ctx context.Context, path, program, ldflags string, env ...string) error {
	ldflags += fmt.Sprintf(" -buildid= -X 'main.version=%s'", p.said()) + p.announced.ldflags()
	return run(ctx, p.root, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", ldflags, "-o", path, program)
}

// packaging is the path of a file in assets/packaging.
func (p product) packaging(elements ...string) string {
	return filepath.Join(append([]string{p.root, "assets", "packaging"}, elements...)...)
}

// form fills in one of the forms in assets/packaging.
func (p product) form(name string, values any) ([]byte, error) {
	text, err := os.ReadFile(p.packaging(filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, values); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// say tells whoever waits what is being done.
func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// run runs a tool in dir with env added to the environment. What the tool says is shown when it fails.
func run(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return explain(name, err, said)
	}
	return nil
}

// output runs a tool in dir and returns what it prints, without the space around it.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", explain(name, err, said.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

func explain(name string, err error, said []byte) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("this computer has no %s; `make` installs it on Debian and Ubuntu", name)
	}
	return fmt.Errorf("%s: %w\n%s", name, err, bytes.TrimSpace(said))
}
