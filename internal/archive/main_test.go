package archive

import (
	"testing"

	"go.uber.org/goleak"

	"countersign/internal/trytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }
