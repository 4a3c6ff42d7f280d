package cli

import (
	"context"
	"errors"
	"time"

	"countersign/internal/cli/terminal"
	"countersign/internal/office"
	"countersign/internal/single"
)

type eventsCmd struct {
	Package string `help:"Only events about this package: its id, the beginning of its id, or its name."`
	Since   string `help:"Only events received on this day (2026-12-31) or moment (RFC 3339), or later." placeholder:"DATE"`
	Limit   int    `default:"50" help:"At most so many, the last ones; 0 for all." placeholder:"N"`
	Follow  bool   `short:"f" help:"Print events as they come, until stopped; with --since, first those since then. It waits where Countersign is not running."`
	JSON    bool   `name:"json" help:"Print JSON, as countersign help admin documents it; with --follow, one object a line."`
}

func (c *eventsCmd) Run(r *run) error {
	since, err := parseSince(c.Since)
	if err != nil {
		return err
	}
	if c.Limit < 0 {
		return &usage{"--limit takes a number of events."}
	}
	q := eventsRequest{Package: c.Package, Since: since, Limit: c.Limit}
	if c.Follow {
		return c.follow(r, q)
	}
	events, err := callEvents.alone(r, look, q)
	if err != nil {
		return err
	}
	if c.JSON {
		return r.out.JSON(eventList{events})
	}
	return printEvents(r.out, events)
}

// eventsRequest selects events.
type eventsRequest struct {
	Package string    `json:"package,omitempty"` // its id, the beginning of its id, or its name; "" for all
	Since   time.Time `json:"since,omitzero"`
	Limit   int       `json:"limit,omitempty"` // 0 for all
}

// eventList is what events --json prints.
type eventList struct {
	Events []listedEvent `json:"events"`
}

// listedEvent is an event as events --json prints it. Its fields are stable, always there, and documented in assets/docs/admin.md.
type listedEvent struct {
	ID string `json:"id"` // the service's; `sha256:` and a hash where it gave none, or one that another event has
	// document_signed, document_executed, package_executed, and others as the service calls them
	Kind       string     `json:"kind"`
	PackageID  string     `json:"package_id"`
	Package    string     `json:"package"` // the package's name
	DocumentID string     `json:"document_id"`
	SignerID   string     `json:"signer_id"`
	Time       *time.Time `json:"time"`       // when it happened
	Received   *time.Time `json:"received"`   // when it arrived
	Outcome    string     `json:"outcome"`    // pending, handled, problem (authentic, but nothing could be done with it)
	Text       string     `json:"text"`       // in words
	Duplicates int        `json:"duplicates"` // how often it came again
}

// The outcomes of an event, in the words of status.
const (
	outcomePending = "pending"
	outcomeHandled = "handled"
	outcomeProblem = "problem"
)

func listedEventOf(e office.EventLine) listedEvent {
	outcome := outcomePending
	switch e.Outcome {
	case office.EventHandled:
		outcome = outcomeHandled
	case office.EventUnprocessable:
		outcome = outcomeProblem
	}
	return listedEvent{
		ID: e.ID, Kind: e.Action, PackageID: e.PackageID, Package: e.Package, DocumentID: e.DocumentID, SignerID: e.SignerID,
		Time: moment(e.Time), Received: moment(e.Received), Outcome: outcome, Text: e.Text.String(), Duplicates: e.Copies,
	}
}

// events are the last events that q selects, oldest first.
func (l *local) events(_ context.Context, q eventsRequest) ([]listedEvent, error) {
	only, err := l.only(q)
	if err != nil {
		return nil, err
	}
	lines, err := l.agent.EventLines(office.EventQuery{PackageID: only, Since: q.Since, Limit: q.Limit})
	return each(lines, listedEventOf), err
}

// only is the id of the package that q selects; "" for all.
func (l *local) only(q eventsRequest) (id string, err error) {
	if q.Package == "" {
		return "", nil
	}
	return l.find(q.Package)
}

// follow first tells the client that it will miss nothing from here on, then tells one event after the other until the
// client has enough or the agent ends. A slow reader delays only its own answer.
func (l *local) follow(ctx context.Context, q eventsRequest, tell func([]listedEvent) error) ([]listedEvent, error) {
	only, err := l.only(q)
	if err == nil {
		err = tell(nil)
	}
	if err != nil {
		return nil, err
	}
	_ = l.agent.Follow(ctx, q.Since, func(e office.EventLine) error { // the client asks again for the rest
		if only != "" && e.PackageID != only {
			return nil
		}
		return tell([]listedEvent{listedEventOf(e)})
	})
	return nil, nil
}

func printEvents(w *terminal.Writer, events []listedEvent) error {
	if w.Wide() && len(events) == 0 {
		return w.Line("No events.")
	}
	rows := each(events, func(e listedEvent) []terminal.Cell { return eventRow(w, e) })
	return w.Table([]terminal.Column{{Head: "RECEIVED"}, {Head: "OUTCOME"}, {Head: "KIND", Spare: 1}, {Head: "PACKAGE", Spare: 2}, {Head: "WHAT", Least: 20}}, rows)
}

func eventRow(w *terminal.Writer, e listedEvent) []terminal.Cell {
	at, id := known(e.Received, time.RFC3339Nano), e.PackageID
	if w.Wide() {
		at, id = here(e.Received, time.DateTime), id[:min(leastID, len(id))]
	}
	colour := map[string]terminal.Tint{outcomeHandled: terminal.Green, outcomePending: terminal.Yellow, outcomeProblem: terminal.Red}[e.Outcome]
	return []terminal.Cell{{Text: at}, {Text: e.Outcome, Tint: colour}, {Text: e.Kind}, {Text: id}, {Text: e.Text}}
}

// followPause is how long events --follow waits before it looks for a running Countersign again.
const followPause = 500 * time.Millisecond

// overlap is how far back to ask when Countersign runs again: the new instance tells what the last one received just before
// its end. It is generous because clocks may have been set back; nothing is printed twice.
const overlap = time.Hour

// follow prints events as the running Countersign handles them. If that ends or none is running, it waits for the next one,
// and then prints what came in between.
func (c *eventsCmd) follow(r *run, q eventsRequest) error {
	f := &following{q: q, begun: time.Now(), told: map[string]time.Time{}, print: c.printer(r.out)}
	for waits := false; ; {
		err := f.once(r)
		var refused *failure
		switch {
		case r.ctx.Err() != nil: // stopped, the normal end
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

var between = terminal.Cell{Text: "  "}

// following is the state of one events --follow across several runs of Countersign.
type following struct {
	q     eventsRequest
	begun time.Time
	print func(listedEvent) error

	connected bool
	latest    time.Time            // latest Received of a printed event
	told      map[string]time.Time // printed events by id and outcome, with their Received; those older than overlap are dropped
	stuck     error                // the error of standard output
}

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
	if err != nil || said.Brief { // a one-shot command
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

// request is what to ask the running instance for: first what the person asked for, later also what was missed.
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
