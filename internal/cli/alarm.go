package cli

import (
	"fmt"
	"os"
	"runtime/debug"

	"countersign/internal/agent"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/notify"
	"countersign/internal/office"

	"github.com/alecthomas/kong"
)

// opens says whether a command is to show a window. Whoever gives one looks at the screen, not at a terminal.
func (c *commands) opens(chosen *kong.Context) bool {
	switch chosen.Selected().Name {
	case "open":
		return true
	case "demo":
		return !c.Demo.Headless
	}
	return false
}

// alarm tells people why a window does not come, unless they have read it where the program was started.
func (p Program) alarm(c console, m message.Message) {
	if !c.read() {
		p.show(m)
	}
}

// show tells people something in a box or, where the desktop has none, in a notification. It returns when the box was read, if
// the desktop can tell.
func (p Program) show(m message.Message) {
	if p.Alert == nil || p.Alert(m) {
		return
	}
	words := message.English()
	if p.Words != nil {
		words = p.Words()
	}
	what, next := words.Lines(m)
	notifier := notify.New(notify.Options{App: "Countersign", Icon: icon()})
	_ = notifier.Notify(office.Notice{Title: what, Body: next}) // nothing is left to try
	_ = notifier.Close()
}

// why is what people are told of an error that ended the start of a window.
func (c *commands) why(err error) message.Message {
	m := agent.Message(err)
	if m == message.Unexpected() { // which points into the window
		return message.StartFailed(locations.Log(c.Data))
	}
	return m
}

// faults is what Go writes to when a fault ends the program that nothing recovers from: nil for the trace alone, where nobody has
// to be told in a box.
func (r *run) faults() faultOutput {
	if !r.windowed || r.program.Fault == nil || r.console.read() {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	tell := []string{self, "fault", "--data", r.global.Data}
	return func(trace *os.File) (*os.File, func(), error) { return r.program.Fault(trace, tell) }
}

// faultCmd tells people of a fault that has just ended the program, which could not do so itself.
type faultCmd struct{}

func (faultCmd) Run(r *run) error {
	if r.program.Alert == nil {
		return message.Error(message.WindowNotBuiltIn(), nil)
	}
	r.program.show(message.StartCrashed(locations.Log(r.global.Data)))
	return nil
}

// crashed keeps what a fault of the program's own left, and is what people are told of it.
func (c *commands) crashed(reason any) error {
	m := message.StartCrashed(locations.Log(c.Data))
	cause := fmt.Errorf("%v", reason)
	log := &logFile{path: locations.Log(c.Data)}
	if _, err := os.Stat(c.Data); err == nil {
		log.logger(true).Error("the program crashed", "reason", cause, "stack", string(debug.Stack()))
	}
	return message.Error(m, log.Close())
}
