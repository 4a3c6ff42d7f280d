package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"countersign/internal/agent"
	"countersign/internal/demo"
	"countersign/internal/notify"
)

// tryDemo starts the demo beside the office, for a window in which nobody has set anything up. stop ends it and waits;
// the documents it saved stay in a folder beside other temporary files.
func (r *run) tryDemo(ctx context.Context) (a *agent.Agent, stop func(), err error) {
	a, end, err := r.startDemo(ctx, filepath.Join(os.TempDir(), "Countersign demo"))
	if err != nil {
		return nil, nil, err
	}
	return a, func() {
		if err := end(); err != nil {
			fail(r.err, err)
		}
	}, nil
}

// demoIcon is where the demo's notifications find their icon: a folder that stays when the demo ends.
func demoIcon() string { return filepath.Join(os.TempDir(), "countersign-demo.png") }

// startDemo starts the demo for a window and plays it. end stops it and waits; the documents in folder stay.
func (r *run) startDemo(ctx context.Context, folder string) (a *agent.Agent, end func() error, err error) {
	notifier := notify.New(notify.Options{App: "Countersign demo", Icon: icon(), IconFile: demoIcon(), Log: demoLog(r)})
	d, err := demo.Start(ctx, demo.Options{
		Folder: folder, Version: r.program.Version, Pace: 3 * time.Second, ByHand: true, Log: demoLog(r),
		Notify: notifier.Notify, Windowed: true, OpenSaved: r.program.OpenSaved, Words: r.words(), Language: r.language(), DocumentReader: documentReader(), Press: documentPress(),
	})
	if err != nil {
		return nil, nil, errors.Join(err, notifier.Close())
	}
	notifier.OnClick(d.Agent.Click)
	playing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var plays sync.WaitGroup
	plays.Go(func() {
		if err := d.Play(playing); err != nil && playing.Err() == nil {
			fail(r.err, fmt.Errorf("play the demo: %w", err))
		}
	})
	return d.Agent, func() error {
		cancel()
		plays.Wait()
		return errors.Join(d.Close(), notifier.Close())
	}, nil
}
