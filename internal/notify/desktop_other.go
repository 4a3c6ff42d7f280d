//go:build !linux && !windows

package notify

import (
	"context"
	"log/slog"

	"countersign/internal/office"

	"github.com/gen2brain/beeep"
)

// desktop is beeep, whose notifications cannot be pressed. It cannot be told to give up, which is why Notify waits on
// another goroutine.
type desktop struct {
	icon []byte
}

func newDesktop(o Options, _ *slog.Logger, _ func(office.Click)) *desktop {
	beeep.AppName = o.App
	return &desktop{icon: o.Icon}
}

func (d *desktop) raise(_ context.Context, n office.Notice) error {
	if len(d.icon) == 0 {
		return beeep.Notify(n.Title, n.Body, "")
	}
	return beeep.Notify(n.Title, n.Body, d.icon)
}

func (d *desktop) close() {}

// Forget is for Windows: elsewhere nothing is kept.
func Forget(...string) error { return nil }
