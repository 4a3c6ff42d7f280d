//go:build windows || darwin

package system

import "context"

// CheckDisplay returns nil: these systems always have a display, if not always OpenGL.
func CheckDisplay(context.Context, func(string) string) error { return nil }

// HasTray returns true: these systems always have one.
func HasTray(context.Context) bool { return true }

// IsMaximized is for X11: elsewhere a window that is hidden stays as large as it was.
func IsMaximized(uintptr) bool { return false }

// Maximize is for X11.
func Maximize(uintptr) {}
