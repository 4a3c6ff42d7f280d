// Package ui is Countersign's window and tray: everything that imports Fyne lives here and below. It shows an Office
// and passes on what people do; it holds no state of its own beyond what is typed, and knows nothing of the service or
// the network. What it shows are the records of package office,
// packages and drafts for example, which the agent hands out; it never opens the store.
//
// This package only brings Fyne's driver, which needs cgo and a display, together with package window, which needs
// neither. The screens are packages of their own: packages, compose, activity, status, settings, setup and about, on the
// shared widgets and theme. None of them imports another.
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
	Files    []string        // to be sent, from the command line
	Incoming <-chan []string // files of later starts; an empty list only shows the window. May be nil
	Demo     bool            // shows a banner that nothing leaves this computer
	Hidden   bool            // starts in the tray, without a window
	ID       string          // DefaultID when empty
	Started  func()          // called once on Fyne's goroutine when the window is up; may be nil
	Stopped  func()          // called once before Run returns, also after an error; may be nil
	Why      func()          // tells why there is no window, for RunTray alone
	Ending   func()          // called as soon as the window begins to end, from any goroutine, perhaps more than once; may be nil

	// StartDemo starts the demo beside the office, for a person who has no account yet; ctx bounds only the start, stop
	// ends it and waits. Nil where there is none. Its error is a sentence.
	StartDemo func(ctx context.Context) (office Office, stop func(), err error)
	Autostart env.Autostart // whether the program starts with the computer; nil where that cannot be chosen
}

// startGarbage is how much garbage may gather until the window is shown, in percent of what is in use: nearly all that is
// made until then stays.
const startGarbage = 400

// Run shows the window and the tray until the person quits, ctx ends or the process gets SIGTERM. It must be called on
// the main goroutine. When it returns, nothing it started runs any more. Without a display it returns system.ErrNoDisplay, and
// where the screen cannot draw the window opengl.ErrNone; RunTray then works on without one, but Run must not be called again.
func Run(ctx context.Context, o Options) (err error) {
	if o.Stopped != nil {
		defer o.Stopped()
	}
	if err := system.CheckDisplay(ctx, os.Getenv); err != nil {
		return err
	}
	if err := i18n.Load(); err != nil {
		return err
	}
	system.NameProcess() // before its first window
	usual := debug.SetGCPercent(startGarbage)
	defer debug.SetGCPercent(usual)
	a := newApp(o)
	loop := &loop{app: a, ending: o.Ending}
	w := window.New(ctx, a, window.Options{Office: o.Office, System: system.Opener{}, Do: loop.do, Now: time.Now,
		HasTray: system.HasTray, Quit: loop.quit, Demo: o.Demo, StartDemo: o.StartDemo, Autostart: o.Autostart,
		Country: country(), Tooltip: systray.SetTooltip, Accessibility: system.ReadAccessibility, ReduceMotion: motion.Of(a), Target: drop.Watch})
	defer w.Close()
	a.Lifecycle().SetOnStarted(func() {
		debug.SetGCPercent(usual)
		if o.Started != nil {
			o.Started()
		}
	})
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
	w.AttachTray() // after the window is shown: Fyne makes another one for it, which takes as long again
	w.Add(o.Files)
	loop.run()
	return nil
}

// draw shows the window, unless it is to stay hidden, and says why that cannot be drawn; nothing else does. What Fyne and its
// binding of OpenGL print about that is kept for the log.
func draw(w *window.Window, hidden bool) (err error) {
	defer func() {
		if reason := recover(); reason != nil { // a shader that the driver does not take, or a display that is no longer there
			err = fmt.Errorf("%w: %v\n%s", opengl.ErrNone, reason, debug.Stack())
		}
	}()
	if hidden {
		return opengl.Check() // a click would end the program
	}
	var said bytes.Buffer
	out := log.Writer()
	log.SetOutput(&said)
	defer log.SetOutput(out)
	w.Show()
	if !w.Drawn() {
		return fmt.Errorf("%w: %s", opengl.ErrNone, strings.Join(strings.Fields(said.String()), " "))
	}
	_, _ = out.Write(said.Bytes()) // as it would have
	return nil
}

// follow hands over the files of later starts until the window is over, and quits when ctx ends first.
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

// country is the one the system is set to, empty when it does not say.
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

func newApp(o Options) fyne.App {
	id := o.ID
	if id == "" {
		id = DefaultID
	}
	meta := fyne.AppMetadata{ID: id, Name: "Countersign", Version: o.Version, Migrations: map[string]bool{"fyneDo": true}}
	if icon, err := assets.Icon(256); err == nil {
		meta.Icon = fyne.NewStaticResource("countersign.png", icon)
	}
	app.SetMetadata(meta)
	a := app.NewWithID(id)
	a.Settings().SetTheme(theme.New())
	a.SetIcon(meta.Icon)
	return a
}

// Alert tells people something in a box of the desktop's own, for which no window is needed, in the language of the window, or
// else of the system. It reports whether they can have seen it; see system.Alert.
func Alert(m message.Message) bool {
	if i18n.Code() == "" {
		if err := i18n.Load(); err == nil {
			i18n.Use("")
		}
	}
	what, next := i18n.Words().Lines(m)
	return system.Alert("Countersign", strings.TrimSpace(what+"\n\n"+next))
}

// Forget removes what the window keeps of this person: Fyne's folders, that of their preferences and that of its icons, and the
// start with the computer.
func Forget() error {
	var err error
	for _, base := range []func() (string, error){os.UserConfigDir, os.UserCacheDir} {
		folder, unknown := base()
		if unknown != nil {
			continue // nothing was kept there either
		}
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, "fyne", DefaultID)))
		_ = os.Remove(filepath.Join(folder, "fyne")) // unless other programs are there
	}
	return errors.Join(err, autostart.Forget())
}

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

// Office is the window's view of the agent; *agent.Agent is one. It is declared where the screens can reach it.
type Office = window.Office
