//go:build !windows

package system

// Alert does nothing here: the error that Run returns is seen on the terminal or in the session's log.
func Alert(string, string) {}
