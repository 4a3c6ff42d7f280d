package cli

import (
	"context"
	"errors"
	"time"

	"countersign/internal/message"
	"countersign/internal/single"
)

// quitPatience is how long the running instance may take to end; it is promised to take no more than 5 s.
const quitPatience = 30 * time.Second

// quitCmd ends the running instance as its window's Quit does.
type quitCmd struct {
	ThisProgram bool `hidden:"" help:"End everything that runs from this program's file, whatever its data folder is. For the installers of Windows."`
}

func (c *quitCmd) Run(r *run) error {
	ctx, cancel := context.WithTimeout(r.ctx, quitPatience)
	defer cancel()
	err := c.end(ctx, r)
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case errors.Is(err, single.ErrNotRunning):
		return r.out.Line("Countersign is not running.")
	case errors.Is(err, single.ErrRunning), errors.Is(err, context.DeadlineExceeded):
		return message.Error(message.DoesNotEnd(), err)
	}
	return err
}

func (c *quitCmd) end(ctx context.Context, r *run) error {
	if c.ThisProgram {
		err := single.EndOthers(ctx)
		if errors.Is(err, errors.ErrUnsupported) {
			return &usage{"--this-program is for the installers of Windows."}
		}
		return err
	}
	o, err := r.running()
	if err != nil {
		return err
	}
	defer o.Close()
	said, err := callHello.of(ctx, o, nothing{})
	if err == nil && !said.Brief { // such a command is about to end anyway
		_, err = callQuit.of(ctx, o, nothing{})
	}
	if err != nil && !errors.Is(err, single.ErrNotRunning) && !errors.Is(err, errSilent) { // which may be its end
		return err
	}
	return single.Gone(ctx, r.global.Data)
}
