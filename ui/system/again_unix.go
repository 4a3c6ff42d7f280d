//go:build !windows

package system

import (
	"fmt"
	"os"
	"syscall"
)

// StartAgain becomes this program anew, with the same command line and the environment env. It returns only an error.
func StartAgain(env []string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	if err := syscall.Exec(program, os.Args, env); err != nil {
		return fmt.Errorf("start the program again: %w", err)
	}
	return nil
}
