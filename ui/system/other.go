//go:build !windows

package system

// TakeOver matters on Windows only: elsewhere the system's packages do not mix.
func TakeOver() error { return nil }

// NameProcess matters on Windows only: elsewhere the window class identifies the program.
func NameProcess() {}
