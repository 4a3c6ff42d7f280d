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
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./internal/agent/...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p exported
		noErr(t, d.Decode(&p))
		list = append(list, p)
	}
	return list
}
