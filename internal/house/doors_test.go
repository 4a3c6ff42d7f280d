package house

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// naming are the calls that name files and folders, whatever package or value they belong to.
var naming = []string{
	"Rename", "Link", "Mkdir", "MkdirAll", // os, os.Root, syscall, unix
	"Renameat", "Renameat2", "RenamexNp", "RenameatxNp", "Linkat", "Mkdirat", // unix
	"MoveFile", "MoveFileEx", "ReplaceFile", "CreateHardLink", "CreateDirectory", // windows
	"CopyFS",
}

// namesThatMayGo lists what besides internal/disk may name files, by folder or file, with the reason.
var namesThatMayGo = map[string]string{
	"internal/demo":                       "what a demo makes is nobody's",
	"internal/e2e":                        "it holds tests",
	"internal/release":                    "it makes packages, and can make them again",
	"internal/sandbox":                    "it stands for somebody else's service",
	"internal/single/socket_unix.go":      "a folder for a socket, which ends with the process",
	"internal/private/private_windows.go": "Windows takes the rights of a folder when it is made, and needs no flush of it",
	"ui/screentest":                       "it holds tests",
}

// An unflushed rename is undone by a power failure, and os.Rename flushes nothing: whoever renames a file must call package
// disk.
func TestNamesAreGivenInOnePlace(t *testing.T) {
	needed := map[string]bool{}
	for _, f := range tracked(t) {
		folder := path.Dir(f)
		if path.Ext(f) != ".go" || strings.HasSuffix(f, "_test.go") || folder == "internal/disk" {
			continue
		}
		for _, call := range namesGiven(t, f) {
			exempt := ""
			for place := range namesThatMayGo {
				if f == place || folder == place || strings.HasPrefix(folder, place+"/") {
					exempt = place
				}
			}
			if needed[exempt] = true; exempt == "" {
				t.Errorf("%s calls %s; what internal/disk has instead survives a loss of power", f, call)
			}
		}
	}
	for place := range namesThatMayGo {
		if !needed[place] {
			t.Errorf("%s gives no names any more", place)
		}
	}
}

// namesGiven are the calls in a file that name files.
func namesGiven(t *testing.T, file string) (calls []string) {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(root, file))
	if os.IsNotExist(err) {
		return nil // removed, but not committed yet
	}
	if err != nil {
		t.Fatal(err)
	}
	parsed := must(parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution))
	ast.Inspect(parsed, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			n = call.Fun
		} else if !ofTheSystem(n) { // functions of the system may also be passed on; others may be fields with such a name
			return true
		}
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(naming, s.Sel.Name) && owner(s) != "disk" {
			calls = append(calls, strings.TrimPrefix(owner(s)+"."+s.Sel.Name, "."))
		}
		return true
	})
	return calls
}

// ofTheSystem reports whether n refers to a package with system calls.
func ofTheSystem(n ast.Node) bool {
	s, ok := n.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"os", "syscall", "unix", "windows"}, owner(s))
}

// owner is the package or variable from which s selects, "" for anything else.
func owner(s *ast.SelectorExpr) string {
	if x, ok := s.X.(*ast.Ident); ok {
		return x.Name
	}
	return ""
}

// parsers are packages that read whole documents, pictures or archives: there, a few bytes from outside can become
// gigabytes.
var parsers = []string{
	"github.com/pdfcpu/", "github.com/klippa-app/", "github.com/tetratelabs/", "codeberg.org/go-pdf/",
	"image/gif", "image/jpeg", "image/png", "golang.org/x/image/", "archive/", "compress/", "encoding/gob", "encoding/xml",
}

// ownData are the packages besides preview that may import some of them, because they only read this program's own data.
var ownData = map[string][]string{
	"assets/gen": {"codeberg.org/go-pdf/fpdf", "golang.org/x/image/bmp", "golang.org/x/image/vector", "image/png", "encoding/xml"}, // draws icons and samples, writes templates
	// What it reads was sealed by one of our offices, is streamed to the disk, and is no longer than its list says.
	"internal/agent/transfer": {"compress/flate", "compress/gzip"},
	"internal/store":          {"compress/flate"},                                                                                                                                                        // lines that it packed itself
	"internal/esign":          {"compress/gzip"},                                                                                                                                                         // a document that comes packed: it streams to the disk like any of unknown length
	"internal/evidence":       {"archive/zip", "codeberg.org/go-pdf/fpdf", "golang.org/x/image/font/gofont/gobold", "golang.org/x/image/font/gofont/gomono", "golang.org/x/image/font/gofont/goregular"}, // writes reports
	"internal/e2e/harness":    {"image/png"},                                                                                                                                                             // looks at the window
	"internal/notify":         {"golang.org/x/image/draw", "image/png"},                                                                                                                                  // the program's icon
	"internal/release":        {"archive/tar", "archive/zip", "compress/gzip"},                                                                                                                           // writes packages
	"ui/screentest":           {"image/png"},                                                                                                                                                             // reads the tests' pictures
	"ui/autostart":            {"encoding/xml"},                                                                                                                                                          // writes a text with markup
}

func TestDocumentsFromOutsideAreReadInOnePlace(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if name == "internal/preview" || name == "internal/seal" || name == "internal/compare" || strings.HasPrefix(name, "internal/sandbox") { // seal and compare read in preview's process; the sandbox stands for a third party's service
			continue
		}
		for _, i := range p.Imports {
			parses := slices.ContainsFunc(parsers, func(prefix string) bool { return strings.HasPrefix(i, prefix) })
			if parses && !slices.Contains(ownData[name], i) {
				t.Errorf("%s reads with %s; only internal/preview reads what comes from outside", name, i)
			}
		}
	}
}

// fyneLoaders load a picture through Fyne itself, from a file or an address, in this process.
var fyneLoaders = regexp.MustCompile(`\b(NewImageFrom(File|URI|Reader)|LoadResourceFrom\w+|NewRasterFromImage\w*|SetIconFromFile)\(|\bimage\.Decode`)

func TestTheWindowLoadsNoPictures(t *testing.T) {
	for _, f := range tracked(t) {
		if !strings.HasSuffix(f, ".go") || strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, f))
		if os.IsNotExist(err) {
			continue // removed, but not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if m := fyneLoaders.Find(b); m != nil {
			t.Errorf("%s: %s reads a picture", f, m)
		}
	}
}

// streams are the files that may use the standard streams: where the program begins and passes them on, and where they carry
// no text for people.
var streams = []string{
	"main.go", "internal/server/main.go",
	"internal/cli/cli.go",             // makes the writers
	"internal/cli/console_other.go",   // checks whether a person sees them
	"internal/cli/console_windows.go", // likewise
	"internal/cli/page.go",            // documents, between two processes of ours
	"ui/system/again_windows.go",      // the next process gets them
}

// Otherwise text from the service, a file or a path could contain instructions to somebody's terminal.
func TestCommandsPrintThroughTheOneWriter(t *testing.T) {
	apart := []string{"internal/cli/terminal/", "internal/release/", "internal/sim/", "internal/e2e/", "internal/house/", "assets/gen/"}
	files := token.NewFileSet()
	for _, f := range tracked(t) {
		other := slices.ContainsFunc(apart, func(dir string) bool { return strings.HasPrefix(f, dir) })
		if !strings.HasSuffix(f, ".go") || strings.HasSuffix(f, "_test.go") || other {
			continue
		}
		file, err := parser.ParseFile(files, filepath.Join(root, f), nil, 0)
		if err != nil {
			continue // removed, but not committed yet
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if e, ok := n.(*ast.SelectorExpr); ok && prints(f, e) {
				t.Errorf("%s prints with %s; use the writers of internal/cli/terminal", files.Position(e.Pos()), e.Sel.Name)
			}
			if call, ok := n.(*ast.CallExpr); ok {
				if name, ok := call.Fun.(*ast.Ident); ok && (name.Name == "print" || name.Name == "println") {
					t.Errorf("%s prints with %s; use the writers of internal/cli/terminal", files.Position(call.Pos()), name.Name)
				}
			}
			return true
		})
	}
}

// prints reports whether an expression writes to a terminal, or refers to one.
func prints(file string, e *ast.SelectorExpr) bool {
	of, _ := e.X.(*ast.Ident)
	from := func(name string) bool { return of != nil && of.Name == name }
	commands := strings.HasPrefix(file, "internal/cli/")
	switch name := e.Sel.Name; {
	case from("fmt") && strings.HasPrefix(name, "Print"), from("log") && strings.HasPrefix(name, "Print"):
		return true
	case commands && (from("fmt") && strings.HasPrefix(name, "Fprint") || from("io") && name == "WriteString"):
		return true
	case name == "Stdout" || name == "Stderr":
		return (from("os") || commands) && !slices.Contains(streams, file)
	}
	return false
}

// Showing nothing because reading failed would be a lie about somebody's contracts.
func TestNobodyDropsWhyDataCouldNotBeRead(t *testing.T) {
	files := token.NewFileSet()
	reads := readers(t, files)
	for _, f := range tracked(t) {
		within := strings.HasPrefix(f, "internal/agent/") || strings.HasPrefix(f, "internal/cli/") || strings.HasPrefix(f, "ui/")
		if !within || !strings.HasSuffix(f, ".go") || strings.HasSuffix(f, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, filepath.Join(root, f), nil, 0)
		if err != nil {
			continue // removed, but not committed yet
		}
		ast.Inspect(file, func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			if !ok || len(a.Rhs) != 1 {
				return true
			}
			call, ok := a.Rhs[0].(*ast.CallExpr)
			last, named := a.Lhs[len(a.Lhs)-1].(*ast.Ident)
			if ok && named && last.Name == "_" && reads[called(call)] {
				t.Errorf("%s drops the error of %s", files.Position(a.Pos()), called(call))
			}
			return true
		})
	}
}

// called is the package or field and the function or method of a call, as in "data.Read" and "Office.Lines".
func called(call *ast.CallExpr) string {
	fun := call.Fun
	if generic, ok := fun.(*ast.IndexExpr); ok {
		fun = generic.X
	}
	f, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	switch of := f.X.(type) {
	case *ast.Ident:
		return of.Name + "." + f.Sel.Name
	case *ast.SelectorExpr:
		return of.Sel.Name + "." + f.Sel.Name
	}
	return ""
}

// readers are data.Read and data.Doc, and the reading methods of the window's Office.
func readers(t *testing.T, files *token.FileSet) map[string]bool {
	t.Helper()
	names := map[string]bool{"data.Read": true, "data.Doc": true}
	for _, f := range []string{"packages/screen", "compose/screen", "activity/screen", "settings/screen", "setup/screen", "about/screen", "outbox/outbox", "window/window"} {
		file := must(parser.ParseFile(files, filepath.Join(root, "ui", f+".go"), nil, 0))
		ast.Inspect(file, func(n ast.Node) bool { return addReaders(names, n) })
	}
	if len(names) < 30 {
		t.Errorf("found only %d ways to read", len(names))
	}
	return names
}

// addReaders adds the methods of an interface that return something and an error; it returns whether to descend into n.
func addReaders(names map[string]bool, n ast.Node) bool {
	methods, ok := n.(*ast.InterfaceType)
	if !ok {
		return true
	}
	for _, m := range methods.Methods.List {
		method, ok := m.Type.(*ast.FuncType)
		if !ok {
			continue // another interface
		}
		results := method.Results
		if results.NumFields() < 2 {
			continue
		}
		if last, ok := results.List[len(results.List)-1].Type.(*ast.Ident); ok && last.Name == "error" {
			for _, of := range []string{"Office", "office", "agent", "o"} {
				names[of+"."+m.Names[0].Name] = true
			}
		}
	}
	return false
}

// A transaction that accesses a folder delays every other commit for as long as that takes: for ever, on a share that hangs.
// So no function that gets a *store.Tx may reach file access through any number of calls. Calls are followed statically,
// through functions and methods, but not through interfaces and fields.
func TestNoTransactionTouchesAFolder(t *testing.T) {
	calls, transactions := callGraph(t)
	if len(transactions) < 200 {
		t.Errorf("found only %d functions that are given a transaction", len(transactions))
	}
	ways := map[string]string{} // for each function that reaches file access: the next function on the way
	for changed := true; changed; {
		changed = false
		for from, called := range calls {
			if ways[from] != "" {
				continue
			}
			for _, to := range called {
				if touchesFiles(to) || ways[to] != "" {
					ways[from], changed = to, true
					break
				}
			}
		}
	}
	for _, from := range slices.Sorted(maps.Keys(transactions)) {
		if ways[from] == "" {
			continue
		}
		way := []string{transactions[from]}
		for at := ways[from]; at != ""; at = ways[at] {
			way = append(way, strings.ReplaceAll(at, module+"/internal/", ""))
		}
		t.Errorf("a transaction touches files: %s", strings.Join(way, " -> "))
	}
}

// noFiles are functions, of package os and of our packages that work on files, that access none.
var noFiles = []string{
	"os.SameFile", "os.IsNotExist", "os.IsExist", "os.Getenv", "os.LookupEnv", "os.Getpid", "os.NewSyscallError", "os.Exit", "os.Expand",
	"os.UserHomeDir", "os.TempDir", "os.Hostname", "os.Executable",
	module + "/internal/archive.Message", module + "/internal/archive.Token", module + "/internal/disk.Busy",
}

// touchesFiles reports whether a function itself accesses files or folders.
func touchesFiles(name string) bool {
	if slices.Contains(noFiles, name) || strings.Contains(name, "archive.Error)") {
		return false
	}
	name = strings.TrimLeft(name, "(*")
	for _, of := range []string{"os.", module + "/internal/disk.", module + "/internal/archive.", module + "/internal/private.",
		"path/filepath.EvalSymlinks", "path/filepath.Glob", "path/filepath.Walk", "path/filepath.Abs"} {
		if strings.HasPrefix(name, of) {
			return true
		}
	}
	return false
}

// callGraph returns the functions that each function of internal/ mentions, and the functions that get a transaction, with
// their positions.
func callGraph(t *testing.T) (calls map[string][]string, transactions map[string]string) {
	t.Helper()
	calls, transactions = map[string][]string{}, map[string]string{}
	files := token.NewFileSet()
	exports := map[string]string{}
	var own []exported
	for _, p := range withExports(t) {
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module+"/internal/") {
			own = append(own, p)
		}
	}
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range own {
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			f := must(parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution))
			parsed = append(parsed, f)
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
		must((&types.Config{Importer: imports}).Check(p.ImportPath, files, parsed, info))
		note := func(name string, given *ast.FieldList, body *ast.BlockStmt) {
			calls[name] = append(calls[name], mentioned(body, info)...)
			for _, field := range given.List {
				if info.TypeOf(field.Type).String() == "*"+module+"/internal/store.Tx" {
					transactions[name] = strings.TrimPrefix(files.Position(body.Pos()).String(), filepath.Dir(filepath.Dir(p.Dir))+"/")
				}
			}
		}
		for _, f := range parsed {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if n.Body != nil {
						note(info.Defs[n.Name].(*types.Func).FullName(), n.Type.Params, n.Body)
					}
				case *ast.FuncLit:
					note(files.Position(n.Pos()).String(), n.Type.Params, n.Body)
				}
				return true
			})
		}
	}
	return calls, transactions
}

// mentioned are the functions that a body calls or passes on.
func mentioned(body *ast.BlockStmt, info *types.Info) (names []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if f, ok := info.Uses[id].(*types.Func); ok {
				names = append(names, f.Origin().FullName())
			}
		}
		return true
	})
	return names
}

// exported is a package with its type information.
type exported struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func withExports(t *testing.T) (list []exported) {
	t.Helper()
	out := goList(t, "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./internal/agent/...")
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p exported
		noErr(t, d.Decode(&p))
		list = append(list, p)
	}
	return list
}
