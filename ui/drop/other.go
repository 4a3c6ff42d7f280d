//go:build !windows

package drop

// Watch does nothing: here the graphics library takes files by path.
func Watch(uintptr, Window) (stop func(), err error) { return func() {}, nil }
