//go:build !windows

package single

import (
	"context"
	"errors"
)

// OnAsked is for Windows: elsewhere a program that runs is in no installer's way.
func OnAsked(func()) (stop func(), err error) { return func() {}, nil }

// EndOthers is for Windows, too.
func EndOthers(context.Context) error { return errors.ErrUnsupported }
