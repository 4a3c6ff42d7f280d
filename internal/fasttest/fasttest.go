// Package fasttest tells the fast loop from the whole. `go test ./...` is the fast loop: it leaves out what takes longest, and
// needs no display, no service of the system and no FUSE. Whatever is named with -run or -bench runs; so `make test` runs everything
// with -run ., which Go's cache of results tells from the fast loop.
//
// What the fast loop leaves out it says: a package in its line, "[no tests to run]", a test where -v asks for it.
package fasttest

import (
	"flag"
	"testing"
)

// Whole reports whether everything is to run, or what was named, or pictures are to be written anew.
func Whole() bool {
	flag.Parse()
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		return true
	}
	return flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.bench").Value.String() != ""
}

// LeaveOut leaves all tests of a package out of the fast loop, and reports whether it did. Its TestMain calls it first.
func LeaveOut() bool {
	if Whole() {
		return false
	}
	flag.Set("test.run", "^$")
	return true
}

// Slow leaves a test out of the fast loop.
func Slow(t testing.TB) {
	t.Helper()
	if !Whole() {
		t.Skip("left out of the fast loop; make test runs it")
	}
}

// Needs leaves a test out of the fast loop where something that it needs cannot be had; in the whole, that fails it.
func Needs(t testing.TB, what string, err error) {
	t.Helper()
	switch {
	case err != nil && Whole():
		t.Fatalf("this test needs %s: %v", what, err)
	case err != nil:
		t.Skipf("left out of the fast loop, for it needs %s: %v", what, err)
	}
}
