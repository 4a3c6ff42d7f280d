package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"

	"golang.org/x/term"
)

type statusCmd struct {
	JSON bool `name:"json" help:"Print JSON, as README.md documents it."`
}

func (c *statusCmd) Run(r *run) error {
	o, err := r.office(look)
	if err != nil {
		return err
	}
	defer o.Close()
	s, err := o.Status(r.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(r.program.Stdout, s)
	}
	printStatus(r.program.Stdout, s)
	return nil
}

func printStatus(w io.Writer, s agent.Status) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-10s %s\n", name, plain(fmt.Sprintf(format, args...)))
	}
	switch {
	case s.SignedIn && s.Account.Email != "":
		line("Account", "signed in as %s", s.Account.Email)
	case s.SignedIn:
		line("Account", "signed in")
	default:
		line("Account", "not signed in")
	}
	address := s.Tunnel.State
	if s.Tunnel.URL != "" {
		address += ", " + s.Tunnel.URL
	}
	line("Address", "%s (%s)", address, s.Tunnel.Kind)
	if s.Endpoint.ID != "" || s.Endpoint.URL != "" {
		line("Events", "reported to %s since %s", s.Endpoint.URL, s.Endpoint.RegisteredAt.Local().Format(time.DateTime))
	} else {
		line("Events", "not reported to this computer")
	}
	line("Received", "%d events, %d waiting, %d with problems; %d requests blocked", s.Events.Received, s.Events.Pending, s.Events.Problems, s.Events.Rejected)
	line("Packages", "%d: %d waiting for signatures, %d declined, %d fully signed, %d saved",
		s.Packages.Total, s.Packages.Open, s.Packages.Declined, s.Packages.Executed, s.Packages.Saved)
	line("Files", "%d saved, %d waiting, %d failed", s.Saves.Done, s.Saves.Pending, s.Saves.Failed)
	line("Outbox", "%d waiting, %d unconfirmed, %d failed", s.Outbox.Pending, s.Outbox.Unknown, s.Outbox.Failed)
	if len(s.Health) == 0 {
		line("Health", "everything works")
	}
	for _, i := range s.Health {
		line("Health", "%s (since %s)", i.Text(), i.Since.Local().Format(time.DateTime))
	}
}

// progressLine shows an upload on one line of a terminal, and nothing elsewhere. Safe for concurrent use.
type progressLine struct {
	w io.Writer

	mu    sync.Mutex
	shown int
}

func (p *progressLine) show(s office.SendState) {
	f, ok := p.w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || s.Total == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("Sending %d %%", 100*s.Sent/s.Total)
	fmt.Fprintf(p.w, "\r%s", text)
	p.shown = len(text)
}

func (p *progressLine) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.shown))
	}
}
