// Package opengl chooses who draws the window: the OpenGL that the screen's driver brings, as a rule, or one in software,
// where the driver has none, as on many remote desktops and virtual machines. The choice has to be made before Fyne asks for
// OpenGL and cannot be changed afterwards, for what a process has loaded stays in it. So the program is started again for it:
// Available says whether that may help, and Chosen, in the program that was started again, that it is wanted.
//
// On Windows software means the opengl32.dll, such as Mesa's, in the folder "opengl" beside the program. It is loaded by its
// whole path: right beside the program Windows would take it for every screen, also for those that draw twenty times as fast
// themselves. On Linux it means Mesa's llvmpipe through EGL, which also draws on displays without GLX.
package opengl

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
)

// ErrNone says that the window cannot be drawn. The error of the system stands behind it, for the log.
var ErrNone = errors.New("this screen has no OpenGL 2.1")

// variable chooses software when it is "software"; whoever starts the program may set it, too.
const variable = "COUNTERSIGN_OPENGL"

const software = "software"

// Chosen says whether the window is to be drawn in software, and keeps that from programs that are started from here.
var Chosen = sync.OnceValue(func() bool {
	chosen := os.Getenv(variable) == software
	_ = os.Unsetenv(variable) // at worst they draw slowly
	return chosen
})

// Environment is that of a program that is to draw in software.
func Environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, variable+"=") })
	return append(env, variable+"="+software)
}
