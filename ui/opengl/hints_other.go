//go:build windows || darwin

package opengl

// Use does nothing: what was loaded is used.
func Use() {}

// Loaded does nothing.
func Loaded() {}
