package cli

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"countersign/assets"
	"countersign/internal/agent"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/notify"
	"countersign/internal/office"
	"countersign/internal/policy"
	"countersign/internal/private"
	"countersign/internal/secret"
	"countersign/internal/single"
)

// instance is the office with which a command works: in this process, or the running one.
type instance struct {
	here   *local // nil for the running instance
	socket *http.Client
}

func (o *instance) Close() error {
	if o.here != nil {
		return o.here.Close()
	}
	o.socket.CloseIdleConnections()
	return nil
}

// How long a command waits while another one holds the data folder; less if a person is looking at a screen on which nothing
// happens.
const (
	turnPatience = 5 * time.Minute
	openPatience = 15 * time.Second
	turnPause    = 100 * time.Millisecond
)

// office returns the running instance of the data folder, or starts an agent with one component, which Close ends.
func (r *run) office(part agent.Component) (*instance, error) {
	return r.dial(part == look, func() (*local, error) { return r.start(part) })
}

// dial finds the running instance of the data folder. If that is another one-shot command, dial waits for it to end, unless
// look is set. If nothing is running, it calls start.
func (r *run) dial(look bool, start func() (*local, error)) (*instance, error) {
	patience := turnPatience
	if r.windowed {
		patience = openPatience
	}
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	for {
		o, err := r.running()
		switch {
		case errors.Is(err, single.ErrNotRunning):
			l, err := start()
			if !errors.Is(err, single.ErrRunning) { // another command took the folder first
				return &instance{here: l}, err
			}
		case err != nil:
			return nil, message.Error(single.Message(err), err)
		default:
			if said, err := callHello.of(ctx, o, nothing{}); err == nil && (look || !said.Brief) {
				return o, nil
			}
			o.Close()
		}
		select {
		case <-time.After(turnPause):
		case <-ctx.Done():
			return nil, message.Error(message.OtherIsSilent(), ctx.Err())
		}
	}
}

func (r *run) running() (*instance, error) {
	client, err := single.Client(r.global.Data)
	if err != nil {
		return nil, err
	}
	return &instance{socket: client}, nil
}

// hello is how an instance describes itself.
type hello struct {
	Brief bool `json:"brief"` // a one-shot command that holds the data folder: ask again when it is done
}

func (l *local) hello(context.Context, nothing) (hello, error) { return hello{Brief: l.brief}, nil }

// local is an agent in this process, which holds the data folder.
type local struct {
	agent    *agent.Agent
	quit     func()          // ends a command that runs until stopped
	brief    bool            // this is a one-shot command, which serves no others
	windowed bool            // there is a window, or an icon in its place
	ending   context.Context // done when the agent is about to stop; ends pending requests
	instance *single.Instance
	log      *logFile
	trace    *trace
	incoming chan []string
	stop     context.CancelFunc
	notifier *notify.Notifier
	working  sync.WaitGroup // for the agent
	serving  sync.WaitGroup // for the control socket
}

// start takes the data folder, opens its agent and runs the named components; all if none are named.
func (r *run) start(parts ...agent.Component) (*local, error) {
	instance, err := r.take()
	if err != nil {
		return nil, err
	}
	log, err := r.log()
	if err != nil {
		instance.Close()
		return nil, err
	}
	logger := log.logger(r.global.Debug)
	if err := private.Files(locations.All(r.global.Data)...); err != nil {
		logger.Warn("the files in the data folder could not be made private", "err", err)
	}
	keeper, err := r.keeper(logger)
	if err != nil {
		return nil, errors.Join(err, log.Close(), instance.Close())
	}
	trace, ended := keepTrace(r.global.Data, logger)
	notifier := notify.New(notify.Options{App: "Countersign", Icon: icon(), IconFile: locations.Icon(r.global.Data), Again: r.updates().Again, Log: logger})
	a, err := agent.Open(r.ctx, agent.Params{
		DataDir: r.global.Data, Keeper: keeper, Version: r.program.Version, Log: logger,
		Desktop: agent.Desktop{
			Notify: notifier.Notify, Windowed: r.windowed, OpenSaved: r.program.OpenSaved,
			Words: ofWindow(r, r.program.Words), Language: ofWindow(r, r.program.Language),
		},
		Updates: r.updates(), Policy: new(policy.Reader).Read, DocumentReader: documentReader(), Crash: crashAt(os.Getenv(crashVariable)),
	})
	if err != nil {
		logger.Error("the data cannot be opened", "err", err)
		return nil, errors.Join(err, notifier.Close(), trace.Close(), log.Close(), instance.Close())
	}
	if !ended.IsZero() {
		a.Record(office.Activity{Kind: office.ActivityProblem, Text: message.EndedByFault(locations.Log(r.global.Data))})
	}
	if len(parts) > 0 {
		a.NotRunning()
	}
	notifier.OnClick(a.Click)
	ctx, stop := context.WithCancel(context.WithoutCancel(r.ctx))
	l := &local{
		agent: a, instance: instance, log: log, trace: trace, notifier: notifier, stop: stop, incoming: make(chan []string, 16),
		quit: r.quit, brief: len(parts) > 0, windowed: r.windowed, ending: ctx,
	}
	l.serving.Go(func() {
		if err := instance.Serve(l.handler()); err != nil && ctx.Err() == nil {
			logger.Error("the control socket failed", "err", err)
		}
	})
	l.working.Go(func() { a.Run(ctx, parts...) })
	return l, nil
}

// take takes the data folder for this process, creating it if it is missing.
func (r *run) take() (*single.Instance, error) {
	if err := private.Folder(r.global.Data); err != nil && !errors.Is(err, private.ErrStaysOpen) {
		return nil, message.Error(message.DataFolderNotMade(r.global.Data), err)
	}
	instance, err := single.Acquire(r.global.Data)
	switch {
	case errors.Is(err, single.ErrRunning):
		return nil, err
	case err != nil:
		return nil, message.Error(single.Message(err), err)
	}
	return instance, nil
}

// show brings up the window and passes files to it.
func (l *local) show(_ context.Context, files []string) (nothing, error) {
	if !l.windowed {
		return nothing{}, message.Error(message.RunsWithoutWindow(), nil)
	}
	l.agent.Show()
	if len(files) > 0 {
		select {
		case l.incoming <- files:
		default: // a window that accepts no more files is closing
		}
	}
	return nothing{}, nil
}

// Close stops the agent and releases the data folder last, so that the next holder finds the state closed.
func (l *local) Close() error {
	l.stop()
	l.working.Wait()
	err := errors.Join(l.agent.Close(), l.notifier.Close(), l.trace.Close(), l.log.Close(), l.instance.Close())
	l.serving.Wait()
	return err
}

// ofWindow returns from, which determines the language for people, if there is a window; otherwise nil, which means English.
func ofWindow[T any](r *run, from func() T) func() T {
	if !r.windowed {
		return nil
	}
	return from
}

func (r *run) keeper(log *slog.Logger) (secret.Keeper, error) {
	if r.global.KeyFile != "" {
		return secret.File(r.global.KeyFile), nil
	}
	name, err := locations.Entry(r.global.Data)
	if name == "" {
		return nil, message.Error(message.DataFolderNotWritten(r.global.Data), err)
	}
	if err != nil {
		log.Warn("the name of the keyring's entry may not outlive a power failure", "err", err)
	}
	return secret.Keyring("Countersign", name), nil
}

func icon() []byte {
	b, err := assets.Icon(128)
	if err != nil {
		return nil
	}
	return b
}

func (r *run) log() (*logFile, error) {
	if err := private.Folder(locations.Logs(r.global.Data)); err != nil && !errors.Is(err, private.ErrStaysOpen) {
		return nil, message.Error(message.DataFolderNotWritten(r.global.Data), err)
	}
	return &logFile{path: locations.Log(r.global.Data)}, nil
}
