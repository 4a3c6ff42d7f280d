package cli

import (
	"errors"
	"fmt"
	"time"

	"countersign/internal/agent"
	"countersign/internal/cli/terminal"
	"countersign/internal/office"
)

type statusCmd struct{ jsonFlag }

func (c *statusCmd) Run(r *run) error {
	s, err := callStatus.alone(r, look, nothing{})
	if err != nil {
		return err
	}
	return c.print(r, s, func(w *terminal.Writer) error { return printStatus(w, s) })
}

func printStatus(w *terminal.Writer, s agent.Status) (err error) {
	line := func(name, format string, args ...any) {
		err = errors.Join(err, w.Line("%-10s %s", name, fmt.Sprintf(format, args...)))
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
	return err
}

// uploading shows how far an upload is.
func uploading(w *terminal.Writer) func(office.SendState) error {
	return func(s office.SendState) error {
		if s.Total > 0 {
			_ = w.Progress(fmt.Sprintf("Sending %d %%", 100*s.Sent/s.Total)) // nothing depends on it
		}
		return nil
	}
}
