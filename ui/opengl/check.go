// Package opengl says whether the window can be drawn. Remote desktops and virtual machines often have no OpenGL; the program then
// says so and works on in the tray.
package opengl

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/go-gl/glfw/v3.4/glfw"
)

// Check makes a window as Fyne does, hidden, for a program that shows none yet. It belongs to the main goroutine, after Fyne
// has made one that is not shown.
func Check() error {
	glfw.WindowHint(glfw.Visible, glfw.False)
	major, minor := 2, 1
	if strings.HasPrefix(runtime.GOARCH, "arm") && runtime.GOOS != "darwin" {
		glfw.WindowHint(glfw.ClientAPI, glfw.OpenGLESAPI)
		minor = 0
	}
	glfw.WindowHint(glfw.ContextVersionMajor, major)
	glfw.WindowHint(glfw.ContextVersionMinor, minor)
	w, err := glfw.CreateWindow(10, 10, "", nil, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	if w == nil { // the binding has only logged why
		return ErrNone
	}
	w.Destroy()
	return nil
}

// ErrNone says that the window cannot be drawn. The error of the system stands behind it, for the log.
var ErrNone = errors.New("this screen has no OpenGL 2.1")
