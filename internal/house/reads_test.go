package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

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
