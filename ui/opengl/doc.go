// Package opengl says whether the window can be drawn. Remote desktops and virtual machines often have no OpenGL; the program then
// says so and works on in the tray.
package opengl

import "errors"

// ErrNone says that the window cannot be drawn. The error of the system stands behind it, for the log.
var ErrNone = errors.New("this screen has no OpenGL 2.1")
