//go:build !windows

package single

import (
	"context"
	"errors"
)

// OnAsked is only needed on Windows: elsewhere a running program does not get in an installer's way.
func OnAsked(func()) (stop func(), err error) { return func() {}, nil }

// EndOthers is only needed on Windows, too.
func EndOthers(context.Context) error { return errors.ErrUnsupported }
