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
