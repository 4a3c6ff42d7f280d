package system

import "errors"

// ErrNoDisplay is the plain answer when no window can be shown on this computer.
var ErrNoDisplay = errors.New("there is no screen to show a window on; `countersign serve` works without one")

// ErrNoOpenGL is the plain answer when the screen cannot draw the window, as on some remote desktops.
var ErrNoOpenGL = errors.New("this screen cannot show the window because it has no OpenGL (some remote desktops and virtual machines have none); `countersign serve` works without it")
