//go:build !windows

package autostart

import "testing"

// private gives the test settings of its own.
func private(t *testing.T) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_CONFIG_DIRS", t.TempDir())
}
