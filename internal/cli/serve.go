package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"countersign/internal/agent"
	"countersign/internal/single"
)

// idle is a part no agent has: an agent with it alone runs no loop, for commands that only read or write the state.
const idle agent.Part = "idle"

type serveCmd struct{}

func (serveCmd) Run(r *run) error {
	if running, err := dial(r.global.Data); err == nil {
		running.Close()
		return &failure{"Countersign is already running with this data folder."}
	}
	l, err := r.start(nil)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.program.Stderr, "Countersign is running with %s. Stop it with Ctrl+C.\n", r.global.Data)
	<-r.ctx.Done()
	return l.Close()
}

type openCmd struct {
	Files  []string `arg:"" optional:"" name:"file" help:"Documents to send."`
	Hidden bool     `help:"Start in the tray, without the window, as when the computer starts."`
}

func (c *openCmd) Run(r *run) error {
	files := make([]string, len(c.Files))
	for i, f := range c.Files {
		abs, err := filepath.Abs(f)
		if err != nil {
			return err
		}
		files[i] = abs
	}
	running, err := dial(r.global.Data)
	if err == nil {
		defer running.Close()
		if c.Hidden && len(files) == 0 {
			return nil
		}
		return running.show(r.ctx, files)
	}
	if !errors.Is(err, single.ErrNotRunning) {
		return &failure{single.Sentence(err)}
	}
	if err := r.program.Display(r.ctx); err != nil {
		return &failure{"The window cannot be shown: " + err.Error() + "."}
	}
	l, err := r.start(nil)
	if err != nil {
		return err
	}
	r.terminal.detach()
	err = r.program.Window(r.ctx, Window{
		Agent: l.agent, Version: r.program.Version, Files: files, Incoming: l.incoming, Hidden: c.Hidden,
		StartDemo: r.startDemo,
	})
	return errors.Join(err, l.Close())
}
