// Package fasttest separates the fast test loop from the full run. `go test ./...` is the fast loop: it skips what takes
// longest, and needs no display, no system service and no FUSE. Anything named with -run or -bench does run, so `make test`
// runs everything with -run ., which Go's test cache keeps apart from the fast loop.
//
// Skipped tests are visible: a skipped package in its line as "[no tests to run]", a skipped test with -v.
package fasttest

import (
	"flag"
	"testing"
)

// Whole reports whether this is not the fast loop: everything or named tests are to run, or pictures are to be updated.
func Whole() bool {
	flag.Parse()
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		return true
	}
	return flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.bench").Value.String() != ""
}

// LeaveOut skips all tests of a package in the fast loop, and reports whether it did. TestMain calls it first.
func LeaveOut() bool {
	if Whole() {
		return false
	}
	flag.Set("test.run", "^$")
	return true
}

// Slow skips a test in the fast loop.
func Slow(t testing.TB) {
	t.Helper()
	if !Whole() {
		t.Skip("left out of the fast loop; make test runs it")
	}
}

// Needs skips a test in the fast loop if something it needs is missing; in the full run it fails the test.
func Needs(t testing.TB, what string, err error) {
	t.Helper()
	switch {
	case err != nil && Whole():
		t.Fatalf("this test needs %s: %v", what, err)
	case err != nil:
		t.Skipf("left out of the fast loop, for it needs %s: %v", what, err)
	}
}
