//go:build windows || darwin

package system

// IsMaximized is for X11: elsewhere a window that is hidden stays as large as it was.
func IsMaximized(uintptr) bool { return false }

// Maximize is for X11.
func Maximize(uintptr) {}
