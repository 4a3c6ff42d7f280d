package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"countersign/internal/agent"
	"countersign/internal/cli/terminal"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/policy"
	"countersign/internal/single"

	"github.com/coreos/go-systemd/v22/daemon"
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
	if err := l.given(r); err != nil {
		_ = r.err.Line("countersign: %s", said(err)) // and goes on: what it has may do
	}
	_ = r.err.Line("Countersign is running with %s. Stop it with Ctrl+C.", r.global.Data)
	tellSystemd(r.ctx, func() bool { _, err := l.agent.Status(); return err == nil })
	return newEnding(l.Close, l.log.logger(r.global.Debug), r.err).end()
}

// given takes the secrets that a server's administrator hands to the program rather than to setup, where it is set up but for these.
func (l *local) given(r *run) error {
	secrets := office.Secrets{ClientSecret: r.secrets[clientSecretVariable], NgrokAuthtoken: r.secrets[authtokenVariable]}
	if secrets == (office.Secrets{}) || !l.agent.Settings().Configured() {
		return nil
	}
	_, err := l.configure(r.ctx, settingsChange{Secrets: secrets})
	return err
}

// tellSystemd waits until ctx ends. A systemd that has started the program is told that it is ready, that it works, as often as it
// wants to hear that, and that it ends (sd_notify(3)).
func tellSystemd(ctx context.Context, works func() bool) {
	tell := func(state string) { _, _ = daemon.SdNotify(false, state) } // who does not listen is none
	tell(daemon.SdNotifyReady)
	defer tell(daemon.SdNotifyStopping)
	every, _ := daemon.SdWatchdogEnabled(false)
	if every == 0 {
		<-ctx.Done()
		return
	}
	due := time.NewTicker(every / 2)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
			if works() {
				tell(daemon.SdNotifyWatchdog)
			}
		}
	}
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

// How long a program may take to end once it is asked to, whatever hangs: people are promised 5 s.
const (
	endsWithin = 4500 * time.Millisecond
	windowEnds = 1500 * time.Millisecond // of these, what the window has before the office is closed without it
	windowLast = time.Second             // and what it has once the office is closed
)

// ending closes an office in time, with or without its window. A display or a panel that does not answer holds the main
// goroutine for ever, and with it the data folder: the next start would find an office at work that shows nothing. So
// the office is closed beside it, as it always is, and then the process ends. Its methods may be called from any
// goroutine.
type ending struct {
	shut   func() error // gives the data folder back
	log    *slog.Logger
	say    *terminal.Writer
	exit   func(code int)
	begun  sync.Once
	shuts  sync.Once     // shut has begun
	closed chan struct{} // shut has ended, with err
	err    error
	over   chan struct{} // end has returned

	// end closes the office, unless that has begun, and waits for it. Call it when the window is over.
	end func() error
}

func newEnding(shut func() error, log *slog.Logger, say *terminal.Writer) *ending {
	e := &ending{shut: shut, log: log, say: say, exit: os.Exit, closed: make(chan struct{}), over: make(chan struct{})}
	e.end = sync.OnceValue(e.finish)
	return e
}

// begin says that the program was asked to end; end has to follow in time. Further calls do nothing.
func (e *ending) begin() { e.begun.Do(func() { go e.insist() }) }

func (e *ending) finish() error {
	e.begin() // an office that hangs must not keep the folder either
	defer close(e.over)
	e.close()
	<-e.closed
	return e.err
}

func (e *ending) close() {
	e.shuts.Do(func() {
		go func() {
			defer close(e.closed)
			e.err = e.shut()
		}()
	})
}

func (e *ending) insist() {
	last := time.NewTimer(endsWithin)
	defer last.Stop()
	first := time.NewTimer(windowEnds)
	defer first.Stop()
	select {
	case <-e.over:
		return
	case <-first.C:
	}
	e.close()
	code := exitDone
	select {
	case <-e.over:
		return
	case <-e.closed:
		slow := time.NewTimer(windowLast)
		defer slow.Stop()
		select { // the window, if it only was slow
		case <-e.over:
			return
		case <-slow.C:
		case <-last.C:
		}
	case <-last.C:
		code = exitFailed
	}
	e.log.Error("the program does not end by itself; ending it", "err", e.failed(), "goroutines", stacks())
	if code != exitDone {
		_ = e.say.Line("countersign: Countersign did not end in time and was stopped. Nothing is lost; it goes on where it was at the next start.")
	}
	e.exit(code)
}

// failed is how closing the office went, as far as that is known.
func (e *ending) failed() error {
	select {
	case <-e.closed:
		return e.err
	default:
		return nil
	}
}

// stacks is where every goroutine is, for whoever looks for what hung.
func stacks() string {
	b := make([]byte, 256<<10)
	return string(b[:runtime.Stack(b, true)])
}

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
