// Command countersign sends documents for signature through an electronic signature service, keeps the office informed, and
// saves what comes back. The window is the product; the commands make it scriptable. See README.md.
package main

import (
	"context"
	"os"

	"countersign/internal/cli"
	"countersign/ui"
	"countersign/ui/autostart"
	"countersign/ui/i18n"
	"countersign/ui/opengl"
	"countersign/ui/system"
)

// Set by the linker for a release.
var (
	version             = "dev"
	updates, updateKeys string // see cli.Program
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Program{
		Version:       version,
		Updates:       updates,
		UpdateKeys:    updateKeys,
		Window:        func(ctx context.Context, w cli.Window) error { return ui.Run(ctx, options(w)) },
		CannotDraw:    opengl.ErrNone,
		WithoutWindow: func(ctx context.Context, w cli.Window) error { return ui.RunTray(ctx, options(w)) },
		Alert:         ui.Alert,
		Forget:        ui.Forget,
		TakeOver:      system.TakeOver,
		Display:       func(ctx context.Context) error { return system.CheckDisplay(ctx, os.Getenv) },
		Words:         i18n.Words,
		Language:      i18n.Code,
		OpenAddress:   func(address string) error { return system.Opener{}.OpenAddress(context.Background(), address) },
		OpenSaved:     system.OpenSaved,
		Stdin:         os.Stdin,
		Stdout:        os.Stdout,
		Stderr:        os.Stderr,
	}))
}

func options(w cli.Window) ui.Options {
	o := ui.Options{
		Office: w.Agent, Version: w.Version, Files: w.Files, Incoming: w.Incoming, Demo: w.Demo,
		Hidden: w.Hidden, Ending: w.Ending, Why: w.Why,
	}
	if !w.Chosen {
		o.Autostart = autostart.Entry{}
	}
	if w.StartDemo != nil {
		o.StartDemo = func(ctx context.Context) (ui.Office, func(), error) { return w.StartDemo(ctx) }
	}
	return o
}
