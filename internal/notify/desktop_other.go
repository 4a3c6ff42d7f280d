//go:build !linux

package notify

import (
	"context"
	"log/slog"
	"runtime"

	"github.com/gen2brain/beeep"
)

// desktop is beeep. It cannot be told to give up, which is why Notify waits on another goroutine.
type desktop struct {
	icon []byte
}

func newDesktop(app string, icon []byte, _ *slog.Logger) *desktop {
	beeep.AppName = app
	return &desktop{icon: icon}
}

func (d *desktop) raise(_ context.Context, title, body string) error {
	if runtime.GOOS == "windows" {
		title, body = unmarked.Replace(title), unmarked.Replace(body)
	}
	if len(d.icon) == 0 {
		return beeep.Notify(title, body, "")
	}
	return beeep.Notify(title, body, d.icon)
}

func (d *desktop) close() {}
