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

// Components that no agent has: an agent with only one of these runs no loops, for commands that only read or write the
// state.
const (
	idle agent.Component = "idle"
	look agent.Component = "look" // also works beside another one-shot command
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
		_ = r.err.Line("countersign: %s", said(err)) // and continues: the credentials it already has may suffice
	}
	_ = r.err.Line("Countersign is running with %s. Stop it with Ctrl+C.", r.global.Data)
	tellSystemd(r.ctx, func() bool { _, err := l.agent.Status(); return err == nil })
	return newEnding(l.Close, l.log.logger(r.global.Debug), r.err).end()
}

// given stores the secrets that a server's administrator passes to the program rather than to setup, if only they are
// missing.
func (l *local) given(r *run) error {
	secrets := office.Secrets{ClientSecret: r.secrets[clientSecretVariable], NgrokAuthtoken: r.secrets[authtokenVariable]}
	if secrets == (office.Secrets{}) || !l.agent.Settings().Configured() {
		return nil
	}
	_, err := l.configure(r.ctx, settingsChange{Secrets: secrets})
	return err
}

// tellSystemd runs until ctx ends. It tells the systemd that started the program that it is ready, that it works (as often
// as systemd wants to hear that), and that it is ending (sd_notify(3)).
func tellSystemd(ctx context.Context, works func() bool) {
	tell := func(state string) { _, _ = daemon.SdNotify(false, state) } // nobody listens if systemd did not start it
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
		return nil // a computer for several people starts Countersign for each of them
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
	var other error // why another installation does not give way: both keep running
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
	defer ending.end() // also after a panic
	defer context.AfterFunc(r.ctx, ending.begin)()
	w := Window{
		Agent: l.agent, Version: r.program.Version, Files: files, Incoming: l.incoming, Hidden: c.Hidden,
		Chosen:    len(r.updates().Again) > 0,
		StartDemo: r.tryDemo, Ending: ending.begin,
	}
	err = r.program.Window(r.ctx, w)
	if err != nil && errors.Is(err, r.program.CannotDraw) {
		return r.without(l, w, ending, err)
	}
	return errors.Join(err, ending.end())
}

// without continues without a window if that cannot be drawn, because documents must be saved anyway. An office that is not
// set up has none to save.
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

// How long a program may take to end once asked to, whatever hangs: people are promised 5 s.
const (
	endsWithin = 4500 * time.Millisecond
	windowEnds = 1500 * time.Millisecond // for the window, before the office is closed without it
	windowLast = time.Second             // more for the window once the office is closed
)

// ending closes an office in time, with or without its window. If a display or a panel hangs, the main goroutine blocks for
// ever and would keep the data folder: the next start would find a running office that shows nothing. So the office is
// closed in the usual way on another goroutine, and then the process exits. Its methods may be called from any goroutine.
type ending struct {
	shut   func() error // releases the data folder
	log    *slog.Logger
	say    *terminal.Writer
	exit   func(code int)
	begun  sync.Once
	shuts  sync.Once     // started shut
	closed chan struct{} // shut has returned err
	err    error
	over   chan struct{} // end has returned

	// end closes the office, unless that has begun, and waits for it. Call it after the window has ended.
	end func() error
}

func newEnding(shut func() error, log *slog.Logger, say *terminal.Writer) *ending {
	e := &ending{shut: shut, log: log, say: say, exit: os.Exit, closed: make(chan struct{}), over: make(chan struct{})}
	e.end = sync.OnceValue(e.finish)
	return e
}

// begin says that the program was asked to end; end must follow in time. Further calls do nothing.
func (e *ending) begin() { e.begun.Do(func() { go e.insist() }) }

func (e *ending) finish() error {
	e.begin() // a hanging office must not keep the folder either
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
		select { // waits in case the window was only slow
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

// failed is the error of closing the office, if that has finished.
func (e *ending) failed() error {
	select {
	case <-e.closed:
		return e.err
	default:
		return nil
	}
}

// stacks are the stacks of all goroutines, to find what hung.
func stacks() string {
	b := make([]byte, 256<<10)
	return string(b[:runtime.Stack(b, true)])
}

// quitPatience is how long to wait for the running instance to end; it is promised to take no more than 5 s.
const quitPatience = 30 * time.Second

// quitCmd ends the running instance as Quit in its window does.
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
	if err == nil && !said.Brief { // a one-shot command is about to end anyway
		_, err = callQuit.of(ctx, o, nothing{})
	}
	if err != nil && !errors.Is(err, single.ErrNotRunning) && !errors.Is(err, errSilent) { // errSilent may mean that it has just ended
		return err
	}
	return single.Gone(ctx, r.global.Data)
}
