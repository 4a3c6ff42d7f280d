package filename

import "countersign/internal/trytest"

func must[T any](value T, err error) T { return trytest.Must(value, err) }
