package system

import (
	"context"

	"github.com/ncruces/zenity"
)

// onDialogThread runs show with the options that end its dialog, a process, with ctx.
func onDialogThread(ctx context.Context, show func(...zenity.Option)) { show(zenity.Context(ctx)) }
