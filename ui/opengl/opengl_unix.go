//go:build !windows && !darwin

package opengl

import (
	"os"

	"github.com/go-gl/glfw/v3.4/glfw"
)

// mesa has Mesa, which draws on nearly every Linux, leave the graphics card alone.
const mesa = "LIBGL_ALWAYS_SOFTWARE"

// Available says whether this computer may be able to draw in software; whether it can, the attempt shows.
func Available() bool { return true }

// Load makes the OpenGL in software that of this process. It comes before Fyne's app, and Use after its first window is made.
func Load() error { return os.Setenv(mesa, "true") }

// Use has Fyne's windows drawn through EGL, which needs no GLX; Fyne leaves this choice alone.
func Use() { glfw.WindowHint(glfw.ContextCreationAPI, glfw.EGLContextAPI) }

// Loaded is called once a window is there: what is started from here draws as it pleases.
func Loaded() { _ = os.Unsetenv(mesa) } // at worst it draws slowly
