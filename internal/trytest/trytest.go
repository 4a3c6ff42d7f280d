// Package trytest ends a test at an error, where nothing may fail but what the test is about.
package trytest

import "testing"

// NoErr ends the test at an error.
func NoErr(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must is the value of what may not fail.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
