// Command server is Countersign without its window, for servers: the same commands, data folder and version. It links
// neither Fyne nor C code, so it is built with CGO_ENABLED=0 and without a C compiler or OpenGL, and the single file runs on
// every Linux on its processor.
//
// It is a separate main package rather than the top-level program with a build tag, so that ./... builds, vets and tests it,
// too, and no file of the window exists twice.
package main

import (
	"context"
	"os"

	"countersign/internal/cli"
	"countersign/ui/system"
)

// Set by the linker for a release.
var (
	version             = "dev"
	updates, updateKeys string // see cli.Program
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Program{
		Version:     version,
		Updates:     updates,
		UpdateKeys:  updateKeys,
		OpenAddress: func(address string) error { return system.Opener{}.OpenAddress(context.Background(), address) },
		OpenSaved:   system.OpenSaved,
		Stdin:       os.Stdin,
		Stdout:      os.Stdout,
		Stderr:      os.Stderr,
	}))
}
