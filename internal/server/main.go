// Command server is Countersign without its window, for servers: the same commands, the same data folder and the same
// version. It links neither Fyne nor C code, so that it is built with CGO_ENABLED=0, without a C compiler or OpenGL, and
// the one file runs on every Linux of its processor.
//
// It is a main package of its own rather than the program at the top under a build tag: what goes through ./... builds,
// vets and tests it too, and no file of the window has to exist twice.
package main

import (
	"context"
	"os"

	"countersign/internal/cli"
	"countersign/ui/system"
)

// These are set when a release is linked.
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
