package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"

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

// instance is an agent, here or in the running instance.
type instance interface {
	Status(ctx context.Context) (agent.Status, error)
	Configure(ctx context.Context, change settingsChange) (office.Settings, error)
	Office(ctx context.Context, change settingsChange) (agent.OfficeFile, error)
	SignIn(ctx context.Context, o agent.SignInOptions, open func(address string) error) error
	Paste(ctx context.Context, address string) error
	SignOut(ctx context.Context) error
	Send(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error)
	Templates(ctx context.Context, search string) ([]office.Template, error)
	List(ctx context.Context, q office.Query) ([]listedPackage, error)
	Show(ctx context.Context, word string) (shownPackage, error)
	Events(ctx context.Context, q eventsRequest) ([]listedEvent, error)
	Withdraw(ctx context.Context, n office.NewWithdrawal) ([]office.Withdrawn, error)
	Folders(ctx context.Context, q foldersRequest) ([]office.HotFolderRow, error)
	Move(ctx context.Context, m moveRequest) (agent.Arrival, error)
	SignPage(ctx context.Context, q linkRequest) (address string, err error)
	CheckUpdate(ctx context.Context, q updateRequest) (office.Update, error)
	Close() error
}

// office returns the running instance of the data folder, or starts an agent with the parts named that ends with
// Close.
func (r *run) office(part agent.Component) (instance, error) {
	return dial(r, part == look,
		func(running *remote) instance { return running },
		func() (instance, error) { return r.start(part) })
}

// local is an agent in this process, with the data folder to itself.
type local struct {
	*controller
	agent    *agent.Agent
	instance *single.Instance
	log      *logFile
	trace    *trace
	incoming chan []string
	stop     context.CancelFunc
	notifier *notify.Notifier
	working  sync.WaitGroup // the agent
	serving  sync.WaitGroup // the control socket
}

// start takes the data folder, opens its agent and runs the parts named; none for all.
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
		logger.Warn("what is in the data folder could not be made private", "err", err)
	}
	trace, ended := keepTrace(r.global.Data, r.faults(), logger)
	notifier := notify.New(notify.Options{App: "Countersign", Icon: icon(), IconFile: locations.Icon(r.global.Data), Log: logger})
	a, err := agent.Open(r.ctx, agent.Params{
		DataDir: r.global.Data, Keeper: r.keeper(logger), Version: r.program.Version, Log: logger, Notify: notifier.Notify,
		Windowed: r.windowed, OpenSaved: r.program.OpenSaved, Words: r.words(), Language: r.language(), Updates: r.updates(), Policy: new(policy.Reader).Read, DocumentReader: documentReader(), Crash: crashAt(os.Getenv(crashVariable)),
	})
	if err != nil {
		logger.Error("the data cannot be opened", "err", err)
		return nil, errors.Join(err, notifier.Close(), trace.Close(), log.Close(), instance.Close())
	}
	if !ended.IsZero() {
		a.Record(office.Activity{Kind: "problem", Text: message.EndedByFault(locations.Log(r.global.Data))})
	}
	notifier.OnClick(a.Click)
	ctx, stop := context.WithCancel(context.WithoutCancel(r.ctx))
	l := &local{
		agent: a, instance: instance, log: log, trace: trace, notifier: notifier, stop: stop, incoming: make(chan []string, 16),
		controller: &controller{agent: a, quit: r.quit, brief: len(parts) > 0, ending: ctx},
	}
	l.controller.show = l.show
	l.serving.Go(func() {
		if err := instance.Serve(l.controller.handler()); err != nil && ctx.Err() == nil {
			logger.Error("serve the control socket", "err", err)
		}
	})
	l.working.Go(func() { a.Run(ctx, parts...) })
	return l, nil
}

// take makes the data folder where it is missing, and takes it for this process.
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

// show brings the window up, if there is one, and hands it files.
func (l *local) show(files []string) {
	l.agent.Show()
	if len(files) == 0 {
		return
	}
	select {
	case l.incoming <- files:
	default: // a window that takes no files any more is closing
	}
}

// Close stops the agent and gives the data folder back, last of all: who takes it next finds the state closed.
func (l *local) Close() error {
	l.stop()
	l.working.Wait()
	err := errors.Join(l.agent.Close(), l.notifier.Close(), l.trace.Close(), l.log.Close(), l.instance.Close())
	l.serving.Wait()
	return err
}

// words is what puts what people read beside the window into words; nil without one, where everything is English.
func (r *run) words() func() *message.Printer {
	if !r.windowed {
		return nil
	}
	return r.program.Words
}

// language is that of the window; nil without one.
func (r *run) language() func() string {
	if !r.windowed {
		return nil
	}
	return r.program.Language
}

// keeper is where the key is.
func (r *run) keeper(log *slog.Logger) secret.Keeper {
	if r.global.KeyFile != "" {
		return secret.File(r.global.KeyFile)
	}
	name, err := locations.Entry(r.global.Data)
	if err != nil {
		log.Warn("the key is found only as long as the data folder stays where it is", "err", err)
	}
	return secret.Keyring("Countersign", name)
}

func icon() []byte {
	b, err := assets.Icon(128)
	if err != nil {
		return nil
	}
	return b
}

// log is the log file in the data folder.
func (r *run) log() (*logFile, error) {
	if err := private.Folder(locations.Logs(r.global.Data)); err != nil && !errors.Is(err, private.ErrStaysOpen) {
		return nil, message.Error(message.DataFolderNotWritten(r.global.Data), err)
	}
	return &logFile{path: locations.Log(r.global.Data)}, nil
}
