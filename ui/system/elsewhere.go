//go:build windows || darwin

package system

import "context"

// CheckDisplay returns nil: these systems always have a display, though not always OpenGL.
func CheckDisplay(context.Context, func(string) string) error { return nil }

// HasTray returns true: these systems always have one.
func HasTray(context.Context) bool { return true }

// IsMaximized matters on X11 only: elsewhere a hidden window keeps its size.
func IsMaximized(uintptr) bool { return false }

// Maximize matters on X11 only.
func Maximize(uintptr) {}
