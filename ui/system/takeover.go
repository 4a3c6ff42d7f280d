package system

import (
	"errors"
	"os/exec"
	"time"
)

// errStillRuns is a program that took longer than it was waited for. It goes on.
var errStillRuns = errors.New("it still runs")

// runFor runs a program and waits for its end, but no longer than limit: whoever waits for it shows nothing meanwhile.
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
