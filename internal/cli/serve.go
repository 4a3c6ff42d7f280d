package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"countersign/internal/agent"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/policy"
)

// Parts no agent has: an agent with one of them alone runs no loop, for commands that only read or write the state.
const (
	idle agent.Component = "idle"
	look agent.Component = "look" // and does not mind who else is at work
)

type serveCmd struct{}

func (serveCmd) Run(r *run) error {
	o, err := r.dial(false, func() (*local, error) { return r.start() })
	if err != nil {
		return err
	}
	l := o.here
	if l == nil {
		o.Close()
		return &failure{"Countersign is already running with this data folder."}
	}
	_ = r.err.Line("Countersign is running with %s. Stop it with Ctrl+C.", r.global.Data)
	<-r.ctx.Done()
	return newEnding(l.Close, l.log.logger(r.global.Debug), r.err).end()
}

type openCmd struct {
	Files  []string `arg:"" optional:"" name:"file" help:"Documents to send."`
	Hidden bool     `help:"Start in the tray, without the window, as when the computer starts."`
	IfUsed bool     `help:"Do nothing where there is no data and the administrator decided nothing."`
}

func (c *openCmd) Run(r *run) error {
	if r.program.Window == nil {
		return message.Error(message.WindowNotBuiltIn(), nil)
	}
	if c.IfUsed && !locations.Holds(r.global.Data) && new(policy.Reader).Read().From == "" {
		return nil // a computer of several people starts Countersign for each of them
	}
	files := make([]string, len(c.Files))
	for i, f := range c.Files {
		abs, err := filepath.Abs(f)
		if err != nil {
			return err
		}
		files[i] = abs
	}
	r.windowed = true
	var other error // why another installation does not give way: both work on
	if r.program.TakeOver != nil {
		other = r.program.TakeOver()
	}
	o, err := r.dial(false, func() (*local, error) {
		if err := r.program.Display(r.ctx); err != nil {
			return nil, err
		}
		return r.start()
	})
	if err != nil {
		return err
	}
	l := o.here
	if l == nil {
		defer o.Close()
		if !c.Hidden || len(files) > 0 {
			_, err = callWindow.of(r.ctx, o, files)
		}
		return err
	}
	if other != nil {
		l.log.logger(r.global.Debug).Warn("another installation does not give way", "err", other)
	}
	r.console.detach()
	ending := newEnding(l.Close, l.log.logger(r.global.Debug), r.err)
	defer ending.end() // also after a crash
	defer context.AfterFunc(r.ctx, ending.begin)()
	w := Window{
		Agent: l.agent, Version: r.program.Version, Files: files, Incoming: l.incoming, Hidden: c.Hidden,
		StartDemo: r.tryDemo, Ending: ending.begin,
	}
	if crash := crashAt(os.Getenv(crashVariable)); crash != nil {
		beside := make(chan struct{})
		go func() { crash("beside the window"); close(beside) }()
		<-beside
		crash("window")
	}
	err = r.program.Window(r.ctx, w)
	if err != nil && errors.Is(err, r.program.CannotDraw) {
		return r.without(l, w, ending, err)
	}
	return errors.Join(err, ending.end())
}

// without goes on without a window where that cannot be drawn, for documents have to be saved all the same. An office that is not set
// up has none to save.
func (r *run) without(l *local, w Window, ending *ending, cannot error) error {
	l.log.logger(r.global.Debug).Warn("the window cannot be drawn", "err", cannot)
	if !l.agent.Settings().Configured() {
		return errors.Join(message.Error(message.Then(message.NoOpenGL(), message.OpenGLHelps()), cannot), ending.end())
	}
	m := message.Then(message.NoOpenGL(), message.WorksWithoutWindow(), message.OpenGLHelps())
	_ = r.err.Line("countersign: %s", m)
	var box sync.Mutex // one at a time
	w.Why = func() {
		if box.TryLock() {
			defer box.Unlock()
			r.program.show(m)
		}
	}
	if !w.Hidden && !r.console.read() {
		go w.Why()
	}
	err := r.program.WithoutWindow(r.ctx, w)
	return errors.Join(err, ending.end())
}
