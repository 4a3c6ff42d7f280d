// Package ui is Countersign's window and tray: everything that imports Fyne is here and below. It shows an Office and passes on what
// people do; it holds no state of its own beyond typed input, and knows nothing of the service or the network. It shows the records
// of package office, for example packages and drafts, which the agent hands out; it never opens the store.
//
// This package only joins Fyne's driver, which needs cgo and a display, with package window, which needs neither. The screens are
// packages of their own: packages, compose, activity, status, settings, setup and about, built on the shared widgets and theme. None
// of them imports another.
package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"
	"fyne.io/fyne/v2/lang"
	"fyne.io/systray"
	"golang.org/x/text/language"

	"countersign/assets"
	"countersign/internal/message"
	"countersign/ui/autostart"
	"countersign/ui/drop"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/motion"
	"countersign/ui/opengl"
	"countersign/ui/system"
	"countersign/ui/theme"
	"countersign/ui/window"
)

// DefaultID is the program's identifier: where Fyne keeps its preferences, and the name of the tray's owner.
const DefaultID = "ch.countersign.app"

// Options say what Run shows. Office is required.
type Options struct {
	Office   Office
	Version  string
	Files    []string        // to send, from the command line
	Incoming <-chan []string // files of later starts; an empty list only shows the window. May be nil
	Demo     bool            // shows a banner that nothing leaves this computer
	Hidden   bool            // start in the tray, without a window
	Why      func()          // says why there is no window; only for RunTray
	Ending   func()          // called as soon as the window starts closing, from any goroutine, possibly repeatedly; may be nil

	// StartDemo starts the demo beside the office, for a person without an account; ctx bounds only the start, stop ends it and
	// waits. Nil if there is none. Its error is a sentence for people.
	StartDemo func(ctx context.Context) (office Office, stop func(), err error)
	Autostart env.Autostart // whether the program starts with the computer; nil if that is unavailable
}

// startGarbage is the GC percentage until the window is shown: nearly everything allocated until then stays in use.
const startGarbage = 400

// Run shows the window and the tray until the person quits, ctx ends or the process gets SIGTERM. It must be called on the main
// goroutine. When it returns, everything it started has ended. Without a display it returns system.ErrNoDisplay, and if the screen
// cannot draw the window opengl.ErrNone; then RunTray can continue without one, but Run must not be called again.
func Run(ctx context.Context, o Options) (err error) {
	if err := system.CheckDisplay(ctx, os.Getenv); err != nil {
		return err
	}
	if err := i18n.Load(); err != nil {
		return err
	}
	system.NameProcess() // before the first window
	usual := debug.SetGCPercent(startGarbage)
	defer debug.SetGCPercent(usual)
	a := newApp(o.Version)
	loop := &loop{app: a, ending: o.Ending}
	w := window.New(ctx, a, window.Options{Office: o.Office, System: system.Opener{}, Do: loop.do, Now: time.Now,
		HasTray: system.HasTray, Quit: loop.quit, Demo: o.Demo, StartDemo: o.StartDemo, Autostart: o.Autostart,
		Country: country(), Tooltip: systray.SetTooltip, Accessibility: system.ReadAccessibility, ReduceMotion: motion.Of(a), Target: drop.Watch})
	defer w.Close()
	a.Lifecycle().SetOnStarted(func() { debug.SetGCPercent(usual) })
	over, done := make(chan struct{}), make(chan struct{})
	defer func() { close(over); <-done }()
	go func() {
		defer close(done)
		follow(ctx, over, o.Incoming, w, loop)
	}()
	if o.Hidden {
		w.Rest()
	}
	if err := draw(w, o.Hidden); err != nil {
		return err
	}
	w.AttachTray() // after showing the window: Fyne makes a second one for the tray, which takes as long again
	w.Add(o.Files)
	loop.run()
	return nil
}

// draw shows the window, unless it should stay hidden, and returns why it cannot be drawn, which nothing else reports. What Fyne and
// its OpenGL binding print meanwhile goes to the log.
func draw(w *window.Window, hidden bool) (err error) {
	defer func() {
		if reason := recover(); reason != nil { // a shader the driver rejects, or a display that is gone
			err = fmt.Errorf("%w: %v\n%s", opengl.ErrNone, reason, debug.Stack())
		}
	}()
	if hidden {
		return opengl.Check() // otherwise a click on the tray would crash the program
	}
	var said bytes.Buffer
	out := log.Writer()
	log.SetOutput(&said)
	defer log.SetOutput(out)
	w.Show()
	if !w.Drawn() {
		return fmt.Errorf("%w: %s", opengl.ErrNone, strings.Join(strings.Fields(said.String()), " "))
	}
	_, _ = out.Write(said.Bytes()) // print it after all
	return nil
}

// follow passes on the files of later starts until the window has closed, and quits when ctx ends first.
func follow(ctx context.Context, over <-chan struct{}, incoming <-chan []string, w *window.Window, loop *loop) {
	for {
		select {
		case <-over:
			return
		case <-ctx.Done():
			loop.do(loop.quit)
			return
		case files, open := <-incoming:
			if !open {
				incoming = nil
				continue
			}
			w.Post(func() {
				w.Show()
				w.Add(files)
			})
		}
	}
}

// country returns the system's country; empty if unknown.
func country() string {
	tag, err := language.Parse(lang.SystemLocale().LanguageString())
	if err != nil {
		return ""
	}
	region, sure := tag.Region()
	if sure != language.Exact {
		return ""
	}
	return region.String()
}

func newApp(version string) fyne.App {
	meta := fyne.AppMetadata{ID: DefaultID, Name: "Countersign", Version: version, Migrations: map[string]bool{"fyneDo": true}}
	if icon, err := assets.Icon(256); err == nil {
		meta.Icon = fyne.NewStaticResource("countersign.png", icon)
	}
	app.SetMetadata(meta)
	a := app.NewWithID(DefaultID)
	a.Settings().SetTheme(theme.New())
	a.SetIcon(meta.Icon)
	return a
}

// Alert shows a message box of the desktop, which needs no window, in the window's language, or else the system's. It reports
// whether people can have seen it; see system.Alert.
func Alert(m message.Message) bool {
	if i18n.Code() == "" {
		if err := i18n.Load(); err == nil {
			i18n.Use("")
		}
	}
	what, next := i18n.Words().Lines(m)
	return system.Alert("Countersign", strings.TrimSpace(what+"\n\n"+next))
}

// Forget removes what the window stores for this person: Fyne's folders of preferences and icons, and starting with the computer.
func Forget() error {
	var err error
	for _, base := range []func() (string, error){os.UserConfigDir, os.UserCacheDir} {
		folder, unknown := base()
		if unknown != nil {
			continue // nothing was stored there either
		}
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, "fyne", DefaultID)))
		_ = os.Remove(filepath.Join(folder, "fyne")) // fails if other programs use it
	}
	return errors.Join(err, autostart.Forget())
}

// loop is Fyne's event loop with a reliable end. Everything that runs on the UI goroutine comes through do, and every end that we
// cause through quit.
type loop struct {
	app    fyne.App
	ending func() // see Options.Ending

	mu   sync.RWMutex
	over bool // nothing more is passed to Fyne
}

// do runs f on the UI goroutine, soon, or never if the window is closing: functions that Fyne gets then are dropped, run on the
// wrong goroutine, or panic. It never waits and may be called from any goroutine.
func (l *loop) do(f func()) {
	if !l.mu.TryRLock() { // ending right now
		return
	}
	defer l.mu.RUnlock()
	if !l.over {
		fyne.Do(func() {
			if !l.ended() { // not ended meanwhile
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

// quit ends the loop. Call it on the UI goroutine.
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
	l.end() // Fyne also ends by itself, for example on SIGTERM
	last()
}

// lastAct takes over what Fyne does after its loop has ended (it writes the preferences), for the caller to run. Otherwise Fyne 2.8
// passes that to its event queue, which passes it to the loop and waits, while the loop waits for the queue; but the ending loop
// drops what it gets. About one Quit in fifty ended in this deadlock.
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

// Office is the window's view of the agent, implemented by *agent.Agent. It is declared where the screens can reach it.
type Office = window.Office
