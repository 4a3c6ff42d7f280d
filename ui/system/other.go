//go:build !windows

package system

// TakeOver is for Windows: elsewhere the system's packages keep to themselves.
func TakeOver() error { return nil }

// NameProcess is for Windows: elsewhere the window's class says whose it is.
func NameProcess() {}
