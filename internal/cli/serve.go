package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"countersign/internal/agent"
)

// Parts no agent has: an agent with one of them alone runs no loop, for commands that only read or write the state.
const (
	idle agent.Part = "idle"
	look agent.Part = "look" // and does not mind who else is at work
)

type serveCmd struct{}

func (serveCmd) Run(r *run) error {
	l, err := dial(r, false,
		func(running *remote) *local { running.Close(); return nil },
		func() (*local, error) { return r.start() })
	if err != nil {
		return err
	}
	if l == nil {
		return &failure{"Countersign is already running with this data folder."}
	}
	fmt.Fprintf(r.program.Stderr, "Countersign is running with %s. Stop it with Ctrl+C.\n", r.global.Data)
	<-r.ctx.Done()
	return newEnding(l.Close, l.log.logger(r.global.Debug)).end()
}

type openCmd struct {
	Files  []string `arg:"" optional:"" name:"file" help:"Documents to send."`
	Hidden bool     `help:"Start in the tray, without the window, as when the computer starts."`
}

func (c *openCmd) Run(r *run) error {
	if r.program.Window == nil {
		return &failure{"This Countersign is built without its window; `countersign serve` works without one."}
	}
	var handed error // how a running instance took the files
	files := make([]string, len(c.Files))
	for i, f := range c.Files {
		abs, err := filepath.Abs(f)
		if err != nil {
			return err
		}
		files[i] = abs
	}
	l, err := dial(r, false,
		func(running *remote) *local {
			defer running.Close()
			if !c.Hidden || len(files) > 0 {
				handed = running.show(r.ctx, files)
			}
			return nil
		},
		func() (*local, error) {
			if err := r.program.Display(r.ctx); err != nil {
				return nil, &failure{"The window cannot be shown: " + err.Error() + "."}
			}
			r.windowed = true
			return r.start()
		})
	if err != nil || l == nil {
		return errors.Join(err, handed)
	}
	r.terminal.detach()
	ending := newEnding(l.Close, l.log.logger(r.global.Debug))
	defer context.AfterFunc(r.ctx, ending.begin)()
	err = r.program.Window(r.ctx, Window{
		Agent: l.agent, Version: r.program.Version, Files: files, Incoming: l.incoming, Hidden: c.Hidden,
		StartDemo: r.tryDemo, Ending: ending.begin,
	})
	return errors.Join(err, ending.end())
}
