package keys

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
)

// keyConstant is what Fyne calls its keys; not its types, nor what is held.
var keyConstant = regexp.MustCompile(`^Key([A-Z0-9]|[A-Z][a-z]+|F[0-9]+|Page(Up|Down))$`)

// keysIn are the keys that a file mentions, by what Fyne calls them, and where it makes a shortcut of its own.
func keysIn(file *ast.File) (names []string, shortcuts []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			from, ok := n.X.(*ast.Ident)
			if ok && (from.Name == "fyne" || from.Name == "desktop") && keyConstant.MatchString(n.Sel.Name) && n.Sel.Name != "KeyName" && n.Sel.Name != "KeyEvent" {
				names = append(names, n.Sel.Name)
			}
		case *ast.CompositeLit:
			if kind, ok := n.Type.(*ast.SelectorExpr); ok && kind.Sel.Name == "CustomShortcut" {
				shortcuts = append(shortcuts, n.Pos())
			}
		}
		return true
	})
	return names, shortcuts
}

func TestEveryKeyThatIsBoundIsInHelp(t *testing.T) {
	files := token.NewFileSet()
	own, err := parser.ParseFile(files, "keys.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var bound, listed []string
	for _, d := range own.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if value, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
					bound = append(bound, value.Names[0].Name)
				}
			}
		case *ast.FuncDecl:
			if d.Name.Name == "Groups" {
				ast.Inspect(d, func(n ast.Node) bool {
					if lit, ok := n.(*ast.CompositeLit); ok && len(lit.Elts) == 2 {
						if name, ok := lit.Elts[0].(*ast.Ident); ok {
							listed = append(listed, name.Name)
						}
					}
					return true
				})
			}
		}
	}
	slices.Sort(bound)
	slices.Sort(listed)
	if !slices.Equal(bound, listed) || len(bound) < 20 {
		t.Errorf("bound are %q, Help lists %q", bound, listed)
	}
	known, _ := keysIn(own)
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == filepath.Join("..", "keys") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		names, shortcuts := keysIn(file)
		for _, name := range names {
			if !slices.Contains(known, name) {
				t.Errorf("%s binds %s, which Help does not list", path, name)
			}
		}
		for _, at := range shortcuts {
			t.Errorf("%s makes a shortcut that package keys does not know", files.Position(at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAKeyIsKnownByWhatIsHeld(t *testing.T) {
	press := func(name fyne.KeyName, held fyne.KeyModifier) fyne.Shortcut {
		return &desktop.CustomShortcut{KeyName: name, Modifier: held}
	}
	for _, c := range []struct {
		binding  Binding
		shortcut fyne.Shortcut
		want     bool
	}{
		{Send, press(fyne.KeyReturn, ctrl), true}, {Send, press(fyne.KeyEnter, ctrl), true}, {Send, press(fyne.KeyReturn, alt), false},
		{All, press(fyne.KeyA, ctrl), true}, {All, &fyne.ShortcutCopy{}, false}, {Carry, press(fyne.KeyUp, alt), true}, {Carry, press(fyne.KeyUp, shift), false},
	} {
		if got := c.binding.Are(c.shortcut); got != c.want {
			t.Errorf("%s and %+v: %v", c.binding.Name(), c.shortcut, got)
		}
	}
	if !Enter.Is(&fyne.KeyEvent{Name: fyne.KeyEnter}) || Send.Is(&fyne.KeyEvent{Name: fyne.KeyReturn}) {
		t.Error("Enter alone is Enter, and sends nothing")
	}
}
