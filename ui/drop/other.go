//go:build !windows

package drop

// Watch does nothing: there the graphics library takes files by their paths.
func Watch(uintptr, Window) (stop func(), err error) { return func() {}, nil }
