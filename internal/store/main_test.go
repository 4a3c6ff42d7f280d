package store

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"countersign/internal/trytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// day is the time in tests that do not use their own clock.
var day = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func at0(offset time.Duration) time.Time { return day.Add(offset) }

func openTest(t testing.TB, path string) *Store {
	t.Helper()
	s := must(Open(path, Options{Now: func() time.Time { return day }}))
	t.Cleanup(func() {
		noErr(t, s.Close())
	})
	return s
}

func newTest(t testing.TB) *Store {
	t.Helper()
	return openTest(t, filepath.Join(t.TempDir(), "state.db"))
}

func update(t testing.TB, s *Store, fn func(*Tx) error) {
	t.Helper()
	noErr(t, s.Update(fn))
}

func view(t testing.TB, s *Store, fn func(*Tx) error) {
	t.Helper()
	noErr(t, s.View(fn))
}

// refused makes a change that must fail with this error.
func refused(t testing.TB, s *Store, want error, fn func(*Tx) error) {
	t.Helper()
	if err := s.Update(fn); !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
}

// read returns what one method of Tx returns.
func read[T any](t testing.TB, s *Store, fn func(*Tx) (T, error)) (out T) {
	t.Helper()
	view(t, s, func(tx *Tx) (err error) {
		out, err = fn(tx)
		return err
	})
	return out
}

// names are the names of a list's elements, in order.
func names[T any](list []T, name func(T) string) string {
	var all []string
	for _, x := range list {
		all = append(all, name(x))
	}
	return strings.Join(all, " ")
}

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }
