// Package trytest ends a test at an error that is not what the test is about, reports unexpected values, and measures memory.
package trytest

import (
	"reflect"
	"runtime"
	"testing"
)

// NoErr ends the test at an error.
func NoErr(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must returns value, and panics if err is not nil.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Expect reports a failure unless got equals want; format describes got, and begins the message.
func Expect(t testing.TB, got, want any, format string, args ...any) {
	t.Helper()
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	same := reflect.DeepEqual(got, want)
	switch {
	case g.CanInt() && w.CanInt():
		same = g.Int() == w.Int()
	case g.Kind() == reflect.String && w.Kind() == reflect.String:
		same = g.String() == w.String()
	case g.Kind() == reflect.Slice && w.Kind() == reflect.Slice:
		same = same || g.Len()+w.Len() == 0
	}
	if !same {
		t.Errorf(format, append([]any{got}, args...)...)
	}
}

// Held returns the MiB that the program keeps after a garbage collection.
func Held() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc >> 20)
}
