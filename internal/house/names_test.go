package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// naming are the calls that give files and folders their names, of whatever package or value they are.
var naming = []string{
	"Rename", "Link", "Mkdir", "MkdirAll", // os, os.Root, syscall, unix
	"Renameat", "Renameat2", "RenamexNp", "RenameatxNp", "Linkat", "Mkdirat", // unix
	"MoveFile", "MoveFileEx", "ReplaceFile", "CreateHardLink", "CreateDirectory", // windows
	"CopyFS",
}

// namesThatMayGo says who beside internal/disk gives names, by folder or file, and why it may.
var namesThatMayGo = map[string]string{
	"internal/demo":                       "what a demo makes is nobody's",
	"internal/e2e":                        "it holds tests",
	"internal/release":                    "it makes packages, and can make them again",
	"internal/sandbox":                    "it stands for somebody else's service",
	"internal/single/socket_unix.go":      "a folder for a socket, which ends with the process",
	"internal/private/private_windows.go": "Windows takes the rights of a folder when it is made, and needs no flush of it",
	"ui/screentest":                       "it holds tests",
}

// A rename that is not flushed is undone by a loss of power, and os.Rename flushes nothing: whoever gives a file its name
// calls package disk.
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

// namesGiven are the calls in a file that give names.
func namesGiven(t *testing.T, file string) (calls []string) {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(root, file))
	if os.IsNotExist(err) {
		return nil // removed, and not yet committed
	}
	if err != nil {
		t.Fatal(err)
	}
	parsed := must(parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution))
	ast.Inspect(parsed, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			n = call.Fun
		} else if !ofTheSystem(n) { // whose functions may be passed on; of others, a field may have such a name
			return true
		}
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(naming, s.Sel.Name) && owner(s) != "disk" {
			calls = append(calls, strings.TrimPrefix(owner(s)+"."+s.Sel.Name, "."))
		}
		return true
	})
	return calls
}

// ofTheSystem reports whether n is something of a package with the system's calls.
func ofTheSystem(n ast.Node) bool {
	s, ok := n.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"os", "syscall", "unix", "windows"}, owner(s))
}

// owner is the package or variable whose s is selected, "" for anything else.
func owner(s *ast.SelectorExpr) string {
	if x, ok := s.X.(*ast.Ident); ok {
		return x.Name
	}
	return ""
}
