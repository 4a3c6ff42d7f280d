// Package opengl finds out whether the window can be drawn. Remote desktops and virtual machines often have no OpenGL; the program
// then says so and continues in the tray.
package opengl

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/go-gl/glfw/v3.4/glfw"
)

// Check makes a hidden window as Fyne does, in a program that shows none yet. Call it on the main goroutine, after Fyne has made a
// window without showing it.
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
	if w == nil { // the binding only logged the reason
		return ErrNone
	}
	w.Destroy()
	return nil
}

// ErrNone says that the window cannot be drawn. The system's error follows, for the log.
var ErrNone = errors.New("this screen has no OpenGL 2.1")
