//go:build unix

package hotfolder

import "syscall"

// pipe makes a pipe whose other end nobody opens.
func pipe(path string) error { return syscall.Mkfifo(path, 0o600) }
