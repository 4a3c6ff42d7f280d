//go:build unix

// Command mutate plants random faults for a package's own tests to find: it changes one place of the package at a time
// (negates a condition, moves a boundary, omits a statement, swallows an error), runs the tests, and lists the changes that
// they do not notice. Fifty changes are compiled into one test binary, each behind a number that the environment selects.
// Arguments: package folders, or FILE:LINE to try all changes there. With -tests, the tests of that folder must find changes
// drawn from all packages together.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	seed    = flag.Uint64("seed", 1, "what chance begins with")
	sample  = flag.Int("sample", 50, "how many changes to try in each package")
	workers = flag.Int("workers", runtime.NumCPU(), "how many to try side by side")
	limit   = flag.Duration("limit", 20*time.Second, "a change with which the tests take more of a processor, or five times as long, is found")
	tests   = flag.String("tests", "", "the folder of the tests, where they are not each package's own")
	which   = flag.String("run", ".", "which of the tests")
	all     = flag.Bool("all", false, "list the changes that are found, too")

	stopped, _ = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // in a terminal, Ctrl+C does not reach the tests' process groups
)

// place is a possible change of the code between two offsets of a file.
type place struct {
	file     *source
	from, to int
	line     int
	changed  string // for people

	// with writes the place with a switch for that number; code writes a part of it, which may contain other switches.
	with func(number int, code func(ast.Node) string) string
}

type source struct {
	path   string
	text   []byte
	folder string // of the package ...
	name   string // ... and its name
	at     *token.File
}

func main() {
	log.SetFlags(0)
	flag.Parse()
	if *tests != "" {
		draw(*tests, flag.Args())
		return
	}
	for _, arg := range flag.Args() {
		folder := arg
		if file, _, ok := strings.Cut(arg, ":"); ok {
			folder = filepath.Dir(file)
		}
		draw(folder, []string{arg})
	}
}

// draw tries randomly selected changes in what the arguments name against the tests in folder.
func draw(folder string, args []string) {
	var sources []*source
	var places []*place
	most := *sample
	for _, arg := range args {
		file, _, line := strings.Cut(arg, ":")
		in := file
		if line {
			in, most = filepath.Dir(file), 1000
		}
		s, p := read(in)
		sources = append(sources, s...)
		places = append(places, slices.DeleteFunc(p, func(p *place) bool { return line && p.String() != filepath.Base(arg) })...)
	}
	rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	var found, late, tried int
	var alone time.Duration
	for few := range slices.Chunk(places, 50) {
		if tried >= most {
			break
		}
		var outcome map[*place]string
		outcome, alone = try(folder, sources, few[:min(len(few), most-tried)])
		if stopped.Err() != nil {
			log.Fatal("interrupted")
		}
		tried += len(outcome)
		for _, p := range few {
			how := outcome[p]
			switch how {
			case "late":
				late++
				found++
			case "found":
				found++
			}
			if how != "" && (*all || how != "late" && how != "found") { // otherwise it does not compile
				fmt.Printf("%s: %s: %s\n", filepath.Join(p.file.folder, p.String()), how, p.changed)
			}
		}
	}
	fmt.Printf("%s: %d of %d found, %d of these by the limit; the tests alone take %.1f s of a processor (seed %d)\n", strings.Join(args, " "), found, tried, late, alone.Seconds(), *seed)
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// String is the position as FILE:LINE.
func (p *place) String() string { return fmt.Sprintf("%s:%d", filepath.Base(p.file.path), p.line) }

// read finds the places of the package in folder, as this system builds it. It skips generated code and logging.
func read(folder string) (sources []*source, places []*place) {
	list := exec.Command("go", "list", "-f", "{{range .GoFiles}}{{$.Dir}}/{{.}}\n{{end}}", ".")
	list.Dir, list.Stderr = folder, os.Stderr
	for path := range strings.FieldsSeq(string(must(list.Output()))) {
		files, text := token.NewFileSet(), must(os.ReadFile(path))
		f := must(parser.ParseFile(files, path, text, parser.ParseComments))
		s := &source{path, text, folder, f.Name.Name, files.File(f.Pos())}
		if sources = append(sources, s); !ast.IsGenerated(f) {
			s.walk(f, nil, &places)
		}
	}
	return sources, places
}

var (
	logger = regexp.MustCompile(`(?i)(^|\.)s?log(\(\))?$`)
	swaps  = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
		token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+"}
)

// walk adds the places within n; around is the enclosing function.
func (s *source) walk(n ast.Node, around *ast.FuncType, places *[]*place) {
	add := func(n ast.Node, changed string, with func(number int, code func(ast.Node) string) string) {
		before, _, _ := strings.Cut(s.code(n), "\n")
		*places = append(*places, &place{s, s.at.Offset(n.Pos()), s.at.Offset(n.End()), s.at.Line(n.Pos()), before + " -> " + changed, with})
	}
	negate := func(conditions ...ast.Expr) {
		for _, c := range conditions {
			if b, ok := c.(*ast.BinaryExpr); c == nil || ok && (b.Op == token.EQL || b.Op == token.NEQ) {
				continue // the operator is changed instead
			}
			add(c, "not", func(k int, code func(ast.Node) string) string {
				return fmt.Sprintf("(mutantIs(%d) != (%s))", k, code(c))
			})
		}
	}
	leaveOut := func(list []ast.Stmt) {
		for _, n := range list {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok == token.DEFINE {
					continue
				}
			case *ast.ReturnStmt:
				if len(n.Results) > 0 {
					continue
				}
			case *ast.ExprStmt:
				if s.onlyLogs(n) {
					continue
				}
			case *ast.DeferStmt:
				if s.logs(n.Call) {
					continue
				}
			case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt, *ast.BranchStmt:
			default:
				continue
			}
			add(n, "left out", func(k int, code func(ast.Node) string) string {
				return fmt.Sprintf("if !mutantIs(%d) { %s }", k, code(n))
			})
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				s.walk(n.Body, n.Type, places)
			}
			return false
		case *ast.FuncLit:
			s.walk(n.Body, n.Type, places)
			return false
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.ArrayType:
			return false
		case *ast.CallExpr:
			return !s.logs(n)
		case *ast.IfStmt:
			if n.Else == nil && !slices.ContainsFunc(n.Body.List, func(b ast.Stmt) bool { return !s.onlyLogs(b) }) {
				return false
			}
			negate(n.Cond)
		case *ast.ForStmt:
			negate(n.Cond)
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				if n.Tag == nil {
					negate(c.(*ast.CaseClause).List...)
				}
			}
		case *ast.BlockStmt:
			leaveOut(n.List)
		case *ast.CaseClause:
			leaveOut(n.Body)
		case *ast.CommClause:
			leaveOut(n.Body)
		case *ast.BinaryExpr:
			if other := swaps[n.Op]; other != "" {
				add(n, s.code(n.X)+" "+other+" "+s.code(n.Y), func(k int, code func(ast.Node) string) string {
					x, y, was := code(n.X), code(n.Y), code(n) // which may be negated, too
					if n.Op == token.ADD || n.Op == token.SUB {
						return fmt.Sprintf("mutantOr(%d, (%s) %s (%s), %s)", k, x, other, y, was)
					}
					return fmt.Sprintf("(mutantIs(%d) && ((%s) %s (%s)) || !mutantIs(%[1]d) && (%[5]s))", k, x, other, y, was)
				})
			}
		case *ast.ReturnStmt:
			results := around.Results.NumFields()
			if last := len(n.Results) - 1; last >= 0 && last+1 == results && s.code(around.Results.List[len(around.Results.List)-1].Type) == "error" && s.code(n.Results[last]) != "nil" {
				add(n.Results[last], "nil", func(k int, code func(ast.Node) string) string {
					return fmt.Sprintf("mutantNil(%d, %s)", k, code(n.Results[last]))
				})
			}
		case *ast.Ident:
			if not := map[string]string{"true": "!", "false": " "}[n.Name]; not != "" {
				add(n, "not", func(k int, _ func(ast.Node) string) string { return fmt.Sprintf("(%smutantIs(%d))", not, k) })
			}
		case *ast.BasicLit:
			if n.Kind == token.INT {
				add(n, n.Value+"+1", func(k int, _ func(ast.Node) string) string {
					return fmt.Sprintf("mutantOr(%d, %s+1, %[2]s)", k, n.Value)
				})
			}
		}
		return true
	})
}

func (s *source) code(n ast.Node) string {
	return string(s.text[s.at.Offset(n.Pos()):s.at.Offset(n.End())])
}

// logs reports whether a call concerns a log, or is a point at which the simulation kills the program.
func (s *source) logs(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (logger.MatchString(s.code(f.X)) || strings.EqualFold(f.Sel.Name, "crash"))
}

func (s *source) onlyLogs(n ast.Stmt) bool {
	x, ok := n.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := x.X.(*ast.CallExpr)
	return ok && s.logs(call)
}

// switches is compiled into the package: it selects a change, and records which changes were reached.
const switches = `package %s

import ("os"; "strconv"; "sync")

var mutantWanted, _ = strconv.Atoi(os.Getenv("MUTANT"))
var mutantsReached sync.Map

func mutantIs(number int) bool {
	if _, before := mutantsReached.LoadOrStore(number, true); !before {
		os.WriteFile(os.Getenv("MUTANTS_REACHED") + strconv.Itoa(number), nil, 0o600)
	}
	return mutantWanted == number
}

func mutantOr[T any](number int, changed, was T) T { if mutantIs(number) { return changed }; return was }

func mutantNil(number int, err error) error { if mutantIs(number) { return nil }; return err }
`

// try runs the tests with each change that compiles. It returns the outcomes.
func try(folder string, sources []*source, places []*place) (outcome map[*place]string, alone time.Duration) {
	dir := must(os.MkdirTemp("", "mutate"))
	defer os.RemoveAll(dir)
	places = build(dir, folder, sources, places)
	how, said, alone := run(dir, folder, 0, *limit)
	if how != "not found" {
		log.Fatalf("%s: without a change the tests fail, or take too long: %s\n%s", folder, how, said)
	}
	outcome = map[*place]string{}
	var mu sync.Mutex
	var running sync.WaitGroup
	turns := make(chan bool, *workers)
	for _, p := range places {
		outcome[p] = "not reached"
	}
	for i, p := range places {
		if _, err := os.Stat(filepath.Join(dir, "reached"+strconv.Itoa(i+1))); err == nil {
			turns <- true
			running.Go(func() {
				how, _, _ := run(dir, folder, i+1, min(*limit, 10*alone+5*time.Second))
				mu.Lock()
				outcome[p] = how
				mu.Unlock()
				<-turns
			})
		}
	}
	running.Wait()
	return outcome, alone
}

// flat turns a path into a single file name.
func flat(path string) string { return strings.NewReplacer("/", "_", `\`, "_", ":", "_").Replace(path) }

// build makes dir/tests, and returns the changes in it, in the order of their numbers.
func build(dir, folder string, sources []*source, places []*place) []*place {
	overlay := map[string]string{}
	put := func(path string, text []byte) {
		overlay[path] = filepath.Join(dir, flat(path))
		must(0, os.WriteFile(overlay[path], text, 0o600))
	}
	for {
		for _, s := range sources {
			put(s.path, []byte(s.render(0, len(s.text), places)))
			put(filepath.Join(filepath.Dir(s.path), "mutant_switches.go"), fmt.Appendf(nil, switches, s.name))
		}
		list := filepath.Join(dir, "overlay")
		must(0, os.WriteFile(list, must(json.Marshal(map[string]any{"Replace": overlay})), 0o600))
		compile := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", list, "-o", filepath.Join(dir, "tests"), ".")
		compile.Dir = folder
		out, err := compile.CombinedOutput()
		if err == nil {
			return places
		}
		without := func(typed bool) (left []*place) { // a change that repeats a long condition shifts later lines
			for i, p := range places {
				wrong := strings.Contains(string(out), fmt.Sprintf("%s:%d:", flat(p.file.path), p.line)) || strings.Contains(string(out), fmt.Sprintf("mutantOr(%d,", i+1))
				if !wrong || typed && !strings.HasPrefix(p.with(0, p.file.code), "mutantOr") { // they only support int
					left = append(left, p)
				}
			}
			return left
		}
		left := without(true)
		if len(left) == len(places) {
			left = without(false)
		}
		if len(left) == len(places) {
			log.Fatalf("%s: %v\n%s", folder, err, out)
		}
		places = left
	}
}

// render writes a part of the file with the switches of the places in it.
func (s *source) render(from, to int, places []*place) string {
	within := func(p *place) bool { return p.file == s && p.from >= from && p.to <= to }
	var b strings.Builder
	for {
		outer := -1 // the index of the current outermost place
		for i, p := range places {
			if p != nil && within(p) && (outer < 0 || cmp.Or(cmp.Compare(p.from, places[outer].from), cmp.Compare(places[outer].to, p.to)) < 0) {
				outer = i
			}
		}
		if outer < 0 {
			b.Write(s.text[from:to])
			return b.String()
		}
		p, others := places[outer], slices.Clone(places)
		others[outer] = nil
		b.Write(s.text[from:p.from])
		b.WriteString(p.with(outer+1, func(n ast.Node) string { return s.render(s.at.Offset(n.Pos()), s.at.Offset(n.End()), others) }))
		from = p.to
	}
}

// run runs the tests with the change of that number. It removes their temporary files and kills all processes they started.
func run(dir, folder string, number int, limit time.Duration) (how string, said []byte, spent time.Duration) {
	temp := must(os.MkdirTemp(dir, ""))
	defer os.RemoveAll(temp)
	ctx, stop := context.WithTimeout(stopped, 5*limit)
	defer stop()
	bounded := fmt.Sprintf(`ulimit -t %.0f; exec "$0" "$@"`, math.Ceil(limit.Seconds())) // limits CPU time, because other processes may delay it
	tests := exec.CommandContext(ctx, "sh", "-c", bounded, filepath.Join(dir, "tests"), "-test.failfast", "-test.run="+*which)
	tests.Dir, tests.WaitDelay, tests.SysProcAttr = folder, time.Second, &syscall.SysProcAttr{Setpgid: true}
	end := func() error { return syscall.Kill(-tests.Process.Pid, syscall.SIGKILL) }
	tests.Cancel = end
	tests.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(number), "MUTANTS_REACHED="+filepath.Join(dir, "reached"), "TMPDIR="+temp)
	said, err := tests.CombinedOutput()
	if tests.Process != nil {
		_ = end()
		spent = tests.ProcessState.UserTime() + tests.ProcessState.SystemTime()
	}
	switch {
	case ctx.Err() != nil, bytes.Contains(said, []byte("SIGXCPU")):
		return "late", said, spent
	case err != nil:
		return "found", said, spent
	}
	return "not found", said, spent
}
