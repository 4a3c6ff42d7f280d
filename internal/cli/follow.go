package cli

import (
	"context"
	"errors"
	"time"

	"countersign/internal/cli/terminal"
	"countersign/internal/single"
)

// followPause is how long events --follow waits before it looks again for a Countersign to follow.
const followPause = 500 * time.Millisecond

// overlap is how far back is asked when a Countersign runs again: what it received just before its end is told by the next
// one. Clocks may be set back meanwhile, so it is generous; nothing is printed twice.
const overlap = time.Hour

// follow prints events as the running Countersign handles them. When that ends, and while there is none, it waits for the
// next one; what came in between is printed then.
func (c *eventsCmd) follow(r *run, q eventsRequest) error {
	f := &following{q: q, begun: time.Now(), told: map[string]time.Time{}, print: c.printer(r.out)}
	for waits := false; ; {
		err := f.once(r)
		var refused *failure
		switch {
		case r.ctx.Err() != nil: // stopped, which is how this ends
			return nil
		case errors.As(err, &refused) && refused != errSilent:
			return err
		case f.stuck != nil:
			return f.stuck
		case f.connected:
			waits, f.connected = false, false
		case !waits:
			_ = r.err.Line("Countersign is not running. Its events are printed once it does.")
			waits = true
		}
		select {
		case <-time.After(followPause):
		case <-r.ctx.Done():
			return nil
		}
	}
}

// printer prints one event.
func (c *eventsCmd) printer(w *terminal.Writer) func(listedEvent) error {
	return func(e listedEvent) error {
		if c.JSON {
			return w.JSONLine(e)
		}
		if !w.Wide() {
			return printEvents(w, []listedEvent{e})
		}
		row := eventRow(w, e)
		return w.Parts(row[0], between, row[1], between, terminal.Cell{Text: e.Text})
	}
}

// between is what is between the parts of a line.
var between = terminal.Cell{Text: "  "}

// following is one events --follow, over the lives of several Countersigns.
type following struct {
	q     eventsRequest
	begun time.Time
	print func(listedEvent) error

	connected bool
	latest    time.Time            // the last moment at which an event that was told was received
	told      map[string]time.Time // what was told, by event and outcome, and when it was received; what is older than overlap is gone
	stuck     error                // standard output does not take any more
}

// once follows the Countersign that runs, until it ends.
func (f *following) once(r *run) error {
	o, err := r.running()
	if err != nil {
		if !errors.Is(err, single.ErrNotRunning) {
			return &failure{single.Message(err).String()}
		}
		return err
	}
	defer o.Close()
	hello, cancel := context.WithTimeout(r.ctx, turnPatience)
	defer cancel()
	said, err := callHello.of(hello, o, nothing{})
	if err != nil || said.Brief { // a command that is done in a moment
		return err
	}
	_, err = callFollow.news(r.ctx, o, f.request(), func(events []listedEvent) error {
		f.connected = true
		for _, e := range events {
			if err := f.tell(e); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// request is what is asked of a Countersign: at first what the person asked for, and then also what was missed.
func (f *following) request() eventsRequest {
	q := f.q
	if since := f.latest.Add(-overlap); !f.latest.IsZero() && since.After(q.Since) {
		q.Since = since
	}
	if q.Since.IsZero() || f.q.Since.IsZero() && q.Since.Before(f.begun) {
		q.Since = f.begun
	}
	return q
}

// tell prints an event that was not printed yet.
func (f *following) tell(e listedEvent) error {
	if e.Received == nil {
		return nil
	}
	key := e.ID + " " + e.Outcome
	if _, again := f.told[key]; again {
		return nil
	}
	if f.stuck = f.print(e); f.stuck != nil {
		return f.stuck
	}
	f.told[key] = *e.Received
	if e.Received.After(f.latest) {
		f.latest = *e.Received
	}
	for key, at := range f.told {
		if len(f.told) > 1000 && at.Before(f.latest.Add(-overlap)) {
			delete(f.told, key)
		}
	}
	return nil
}
