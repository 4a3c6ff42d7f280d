package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
