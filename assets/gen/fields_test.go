package main

import (
	"bytes"
	"go/ast"
	"os"
	"testing"
)

func TestTheManualTellsOfTheFieldsThatArePrinted(t *testing.T) {
	want, err := manual("..")
	if err != nil {
		t.Fatal(err)
	}
	if have, err := os.ReadFile("../docs/admin.md"); err != nil || !bytes.Equal(have, want) {
		t.Errorf("assets/docs/admin.md is not what the types say: run go generate ./assets (%v)", err)
	}
}

// A field that is left out at times is one that programs have to ask for.
func TestAFieldThatMayBeMissingIsAnError(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(root+"/x.go", []byte("package x\n\ntype T struct {\n\tA int `json:\"a,omitempty\"`\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := sources{root, map[string]map[string]declared{}}
	if list, err := s.fields(".", ast.NewIdent("T")); err == nil {
		t.Errorf("it is printed as %v", list)
	}
}
