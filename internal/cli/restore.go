package cli

import (
	"log/slog"

	"countersign/internal/agent"
)

// restoreCmd puts a backup in the place of what is there.
type restoreCmd struct {
	File string `arg:"" optional:"" help:"The backup; the newest one when it is left out." type:"path" placeholder:"FILE"`
	List bool   `help:"Name the backups and change nothing."`
}

func (c *restoreCmd) Run(r *run) error {
	list, err := agent.Backups(r.global.Data)
	if err != nil {
		return err
	}
	if c.List {
		for _, f := range list {
			if err := r.out.Line("%s  %s", f.Made.Local().Format("2006-01-02 15:04"), f.Path); err != nil {
				return err
			}
		}
		return nil
	}
	if o, err := r.running(); err == nil {
		o.Close()
		return &failure{"Countersign is running with this data folder. End it first."}
	}
	instance, err := r.take()
	if err != nil {
		return err
	}
	aside, err := agent.PrepareRestore(r.ctx, r.keeper(slog.New(slog.DiscardHandler)), r.global.Data, c.File)
	if err := instance.Close(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	o, err := r.office(idle)
	if err != nil {
		return err
	}
	defer o.Close()
	if aside != "" {
		_ = r.out.Line("The data as it was is kept: %s", aside)
	}
	status, err := callStatus.of(r.ctx, o, nothing{})
	if err != nil {
		return err
	}
	for _, i := range status.Health {
		if i.ID == agent.IssueRestored {
			_ = r.out.Line("%s", i.Text())
		}
	}
	return nil
}
