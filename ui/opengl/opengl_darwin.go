package opengl

import "fmt"

// Available says that there is nothing else here: the OpenGL of macOS falls back to software by itself.
func Available() bool { return false }

// Load fails.
func Load() error { return fmt.Errorf("%w, and macOS brings its own in software", ErrNone) }
