package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// printed are the types that the commands print as JSON, by the name of the command.
var printed = map[string]struct{ folder, name string }{
	"status": {"internal/agent", "Status"}, "list": {"internal/cli", "listedPackage"}, "show": {"internal/cli", "shownPackage"},
	"events": {"internal/cli", "listedEvent"}, "templates": {"internal/cli", "listedTemplate"}, "withdraw": {"internal/cli", "withdrawnPackage"},
	"folders": {"internal/cli", "listedFolder"}, "version": {"internal/cli", "checkedVersion"},
}

const fieldsHead = "| field | meaning |\n|---|---|\n"

// fieldTables is the manual page with the fields of each command's JSON in the table behind the command. root is the module's folder.
func fieldTables(page []byte, root string) ([]byte, error) {
	s := sources{root, map[string]map[string]declared{}}
	for command, p := range printed {
		start := bytes.Index(page, []byte("\n`countersign "+command+" --json"))
		if start < 0 {
			return nil, fmt.Errorf("the manual does not tell of %s --json", command)
		}
		head := bytes.Index(page[start:], []byte(fieldsHead))
		if head < 0 {
			return nil, fmt.Errorf("the manual has no table for %s --json", command)
		}
		from := start + head + len(fieldsHead)
		length := bytes.Index(page[from:], []byte("\n\n"))
		if length < 0 {
			return nil, fmt.Errorf("the table of %s --json has no end", command)
		}
		fields, err := s.fields(p.folder, ast.NewIdent(p.name))
		if err != nil {
			return nil, fmt.Errorf("%s --json: %w", command, err)
		}
		page = bytes.Join([][]byte{page[:from], []byte(rows(fields)), page[from+length:]}, nil)
	}
	return page, nil
}

// jsonField is a field of a type that is printed as JSON.
type jsonField struct {
	name    string
	meaning string      // its comment, above it or behind it
	below   []jsonField // the fields of its own type
}

// rows are fields as rows of a table. Those that are clear by their names stand together.
func rows(fields []jsonField) string {
	var list, names []string
	for i, f := range fields {
		names = append(names, "`"+f.name+"`")
		clear := func(f jsonField) bool { return f.meaning == "" && f.below == nil }
		if clear(f) && i+1 < len(fields) && clear(fields[i+1]) {
			continue
		}
		list = append(list, strings.TrimSpace(fmt.Sprintf("| %s | %s", strings.Join(names, ", "), f.told()))+" |")
		names = nil
	}
	return strings.Join(list, "\n")
}

// told is what the field means and what is in it.
func (f jsonField) told() string {
	var below []string
	for _, b := range f.below {
		text := "`" + b.name + "`"
		if told := b.told(); told != "" {
			text += " (" + told + ")"
		}
		below = append(below, text)
	}
	if f.meaning == "" || below == nil {
		return f.meaning + strings.Join(below, ", ")
	}
	return f.meaning + ": " + strings.Join(below, ", ")
}

// sources are the types that packages of this module declare, by folder and name.
type sources struct {
	root  string
	known map[string]map[string]declared
}

type declared struct {
	is   ast.Expr
	file *ast.File
}

// types are the types that the package in a folder declares.
func (s sources) types(folder string) (map[string]declared, error) {
	if known, ok := s.known[folder]; ok {
		return known, nil
	}
	paths, err := filepath.Glob(filepath.Join(s.root, folder, "*.go"))
	if err != nil {
		return nil, err
	}
	types := map[string]declared{}
	s.known[folder] = types
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				for _, t := range d.Specs {
					t := t.(*ast.TypeSpec)
					types[t.Name.Name] = declared{t.Type, file}
				}
			}
		}
	}
	return types, nil
}

// fields are those of the JSON of a type that is used in a folder's package; none where it is no struct of this module. What embeds
// another type tells of its own fields alone.
func (s sources) fields(folder string, t ast.Expr) ([]jsonField, error) {
	switch t := t.(type) {
	case *ast.StarExpr:
		return s.fields(folder, t.X)
	case *ast.ArrayType:
		return s.fields(folder, t.Elt)
	case *ast.Ident:
		types, err := s.types(folder)
		if err != nil {
			return nil, err
		}
		d, ok := types[t.Name]
		if other, imported := d.is.(*ast.SelectorExpr); imported {
			return s.imported(d.file, other)
		}
		if !ok {
			return nil, nil
		}
		list, err := s.fields(folder, d.is)
		if asJSON := strings.ToLower(t.Name[:1]) + t.Name[1:]; err == nil && len(list) == 0 && asJSON != t.Name { // the form that MarshalJSON writes
			return s.fields(folder, ast.NewIdent(asJSON))
		}
		return list, err
	case *ast.StructType:
		return s.members(folder, t)
	}
	return nil, nil
}

// imported is fields for a type of a package that file imports.
func (s sources) imported(file *ast.File, t *ast.SelectorExpr) ([]jsonField, error) {
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if folder, own := strings.CutPrefix(path, "countersign/"); err == nil && own && filepath.Base(folder) == t.X.(*ast.Ident).Name {
			return s.fields(folder, t.Sel)
		}
	}
	return nil, nil
}

func (s sources) members(folder string, t *ast.StructType) (list []jsonField, err error) {
	for _, f := range t.Fields.List {
		if f.Tag == nil || len(f.Names) == 0 {
			continue
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return nil, err
		}
		name, option, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		switch {
		case name == "-" || name == "":
			continue
		case option != "":
			return nil, fmt.Errorf("%s is %s: every field is always there", name, option)
		}
		below, err := s.fields(folder, f.Type)
		if err != nil {
			return nil, err
		}
		meaning := strings.Join(strings.Fields(f.Doc.Text()+f.Comment.Text()), " ")
		list = append(list, jsonField{name, meaning, below})
	}
	return list, nil
}

// manual is the page of the manual with the tables of fields, in the folder of the assets.
func manual(assets string) ([]byte, error) {
	page, err := os.ReadFile(filepath.Join(assets, "docs/admin.md"))
	if err != nil {
		return nil, err
	}
	return fieldTables(page, filepath.Join(assets, ".."))
}
