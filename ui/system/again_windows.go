package system

import (
	"fmt"
	"os"
)

// StartAgain starts this program anew, with the same command line and the environment env; this one is to end.
func StartAgain(env []string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	next, err := os.StartProcess(program, os.Args, &os.ProcAttr{Env: env, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return fmt.Errorf("start the program again: %w", err)
	}
	return next.Release()
}
