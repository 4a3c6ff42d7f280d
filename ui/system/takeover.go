package system

import (
	"errors"
	"os/exec"
	"time"
)

// errStillRuns says that a program took longer than the limit. It keeps running.
var errStillRuns = errors.New("it still runs")

// runFor runs a program and waits until it ends, but no longer than limit, because nothing is shown meanwhile.
func runFor(limit time.Duration, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		return errStillRuns
	}
}
