package i18n

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// notWords are texts under ui that look like words and are the same in every language, or are not for people.
var notWords = []string{
	"Countersign", "Countersign: ", "Countersign\n", // its name
	"openid profile offline_access organization", // scopes, interface.md
	"English", "Français", "Deutsch", "Español", // what languages are called by those who speak them
	"Desktop", "Documents", "Downloads", "Signed", // folders on the disk
	"as it was",         // a mark that nobody sees
	"DisableAnimations", // a setting of Fyne
}

// notWindow are folders under ui whose texts are for tests or for other programs, or what people type.
var notWindow = []string{"autostart", "day", "displaytest", "drop", "officetest", "screentest", "system", "testdata"}

// wordy is a text that people would read: two words, or one that begins with a capital.
var wordy = regexp.MustCompile(`\p{L}{2,}[,;:.]? \p{L}|^\P{L}*\p{Lu}\p{Ll}+`)

// TestNoTextIsHardCoded looks at every text in the code of the window: what looks like words must go through Fyne's
// lang, which is where it is translated.
func TestNoTextIsHardCoded(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(notWindow, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec, *ast.CaseClause:
				if c, ok := n.(*ast.CaseClause); ok {
					for _, s := range c.Body { // what is compared with is not shown
						ast.Inspect(s, func(n ast.Node) bool { return looked(t, fset, n) })
					}
				}
				return false
			default:
				return looked(t, fset, n)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoErrorIsShownAsTheLogHasIt: what people are told of an error is its message; its text has its causes, for the log.
func TestNoErrorIsShownAsTheLogHasIt(t *testing.T) {
	shown := regexp.MustCompile(`\b(err|e|cause)\.Error\(\)`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "system" || d.Name() == "testdata") { // what the system says is a reason in a message
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.ToSlash(path) == "../run.go" { // which has no window
			return nil
		}
		src, err := os.ReadFile(path)
		if at := shown.FindIndex(src); at != nil {
			t.Errorf("%s shows the text of an error; use i18n.Error", path)
		}
		return err
	})
	must(t, err)
}

// looked complains about a text that looks like words, and says whether to look further below n.
func looked(t *testing.T, fset *token.FileSet, n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		return !spoken(n)
	case *ast.KeyValueExpr: // the name of a value, or of a field
		ast.Inspect(n.Value, func(n ast.Node) bool { return looked(t, fset, n) })
		return false
	case *ast.BinaryExpr: // what is compared with is not shown
		return n.Op != token.EQL && n.Op != token.NEQ
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		if err == nil && n.Kind == token.STRING && wordy.MatchString(text) && !slices.Contains(notWords, text) {
			t.Errorf("%s: %q is hard-coded; say it with lang.L", fset.Position(n.Pos()), text)
		}
	}
	return true
}

// spoken says whether a call translates its text, or shows it to nobody: the log, a wrapped error, a panic, the time.
func spoken(call *ast.CallExpr) bool {
	if name, ok := call.Fun.(*ast.Ident); ok {
		return name.Name == "panic"
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, _ := fun0(fun, ok)
	switch pkg + "." + fun.Sel.Name {
	case "lang.L", "lang.N", "lang.X", "errors.New", "fmt.Errorf", "fyne.LogError", "slog.Error", "slog.Warn", "slog.Info", "slog.Debug", "time.Parse":
		return true
	}
	return fun.Sel.Name == "Format"
}
