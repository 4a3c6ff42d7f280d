//go:build !linux && !windows

package notify

import (
	"context"
	"log/slog"

	"countersign/internal/office"

	"github.com/gen2brain/beeep"
)

// desktop uses beeep, whose notifications cannot be pressed. Its calls cannot be cancelled, so Notify waits for them on
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

// Forget is only needed on Windows: elsewhere nothing is stored.
func Forget(...string) error { return nil }
