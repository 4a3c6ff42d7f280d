package cli

import (
	"errors"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/cli/terminal"
)

func TestWhateverHangsTheProgramEndsAndGivesTheFolderBack(t *testing.T) {
	wrong := errors.New("no")
	for name, c := range map[string]struct {
		window, office time.Duration // how long each takes to end
		err            error         // of the office
		exits          bool          // the process is ended
		code           int
		within         time.Duration
	}{
		"nothing hangs":             {window: 300 * time.Millisecond, office: 200 * time.Millisecond, within: 500 * time.Millisecond},
		"the office fails":          {office: time.Second, err: wrong, within: time.Second},
		"a window that is slow":     {window: 3 * time.Second, office: time.Second, within: 3 * time.Second},
		"an office that is slow":    {window: time.Second, office: 3 * time.Second, within: 4 * time.Second},
		"a window that hangs":       {window: time.Hour, office: time.Second, exits: true, code: exitDone, within: windowEnds + time.Second + windowLast},
		"an office that hangs":      {window: time.Second, office: time.Hour, exits: true, code: exitFailed, within: endsWithin},
		"both hang":                 {window: time.Hour, office: time.Hour, exits: true, code: exitFailed, within: endsWithin},
		"a hung window, then no":    {window: time.Hour, office: time.Second, err: wrong, exits: true, code: exitDone, within: windowEnds + time.Second + windowLast},
		"nobody was asked, it ends": {window: 0, office: time.Second, within: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shut, exited := 0, make(chan int, 1)
				e := newEnding(func() error { time.Sleep(c.office); shut++; return c.err }, slog.New(slog.DiscardHandler), terminal.New(io.Discard))
				e.exit = func(code int) { exited <- code }
				began := time.Now()
				ended := make(chan error, 1)
				go func() {
					if c.window > 0 {
						e.begin()
						e.begin() // by the person and by the system
						time.Sleep(c.window)
					}
					ended <- e.end()
				}()
				select {
				case code := <-exited:
					if !c.exits || code != c.code {
						t.Errorf("the process was ended with %d", code)
					}
					if code == exitDone && shut != 1 {
						t.Error("the folder was not given back before")
					}
				case err := <-ended:
					if c.exits || !errors.Is(err, c.err) || shut != 1 {
						t.Errorf("it ended by itself with %v, and was shut %d times", err, shut)
					}
				}
				if took := time.Since(began); took > c.within {
					t.Errorf("it took %v, want %v", took, c.within)
				}
				time.Sleep(3 * time.Hour) // what hung comes to its end, for the test to end
			})
		})
	}
}
