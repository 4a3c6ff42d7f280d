package ui

import (
	"sync"

	"fyne.io/fyne/v2"
)

// loop is Fyne's event loop with an end one can rely on. Everything that runs on the window's goroutine comes through
// do, and every end of ours through quit.
type loop struct {
	app    fyne.App
	ending func() // see Options.Ending

	mu   sync.RWMutex
	over bool // nothing is handed to Fyne any more
}

// do runs f on the window's goroutine, soon, or never when the window is ending: what Fyne is handed then it drops, runs
// on the wrong goroutine, or panics over. It never waits and may be called from any goroutine.
func (l *loop) do(f func()) {
	if !l.mu.TryRLock() { // it is ending right now
		return
	}
	defer l.mu.RUnlock()
	if !l.over {
		fyne.Do(func() {
			if !l.ended() { // since it was handed over
				f()
			}
		})
	}
}

func (l *loop) ended() bool {
	if !l.mu.TryRLock() {
		return true
	}
	defer l.mu.RUnlock()
	return l.over
}

// quit ends the loop. It belongs to the window's goroutine.
func (l *loop) quit() {
	l.end()
	l.app.Quit()
}

func (l *loop) end() {
	if l.ending != nil {
		l.ending()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

// run runs the loop to its end, on the main goroutine.
func (l *loop) run() {
	last := lastAct(l.app.Lifecycle())
	l.app.Run()
	l.end() // Fyne also ends by itself, on SIGTERM for example
	last()
}

// lastAct takes from Fyne what it does when its loop has ended (it writes the preferences), for the caller to do. Left to
// itself, Fyne 2.8 hands that to its event queue, the queue hands it to the loop and waits, and the loop waits for the
// queue; but the loop that ends drops what it was handed. About one Quit in fifty ended in both waiting for ever.
func lastAct(l fyne.Lifecycle) func() {
	hooks, ok := l.(interface {
		OnStopped() func()
		SetOnStoppedHookExecuted(func())
	})
	if !ok {
		return func() {}
	}
	act := hooks.OnStopped()
	hooks.SetOnStoppedHookExecuted(nil)
	l.SetOnStopped(nil)
	if act == nil {
		return func() {}
	}
	return act
}
