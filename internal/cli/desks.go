package cli

import (
	"context"
	"errors"
	"fmt"

	"countersign/internal/agent"
	"countersign/internal/cli/terminal"
	"countersign/internal/message"
	"countersign/internal/office"
)

// desksCmd manages the office's other computers, to which this one passes events on.
type desksCmd struct {
	List   desksListCmd   `cmd:"" default:"withargs" help:"Show the other computers of the office."`
	Invite desksInviteCmd `cmd:"" help:"Add a computer: show a code that it takes with setup --code, or write a file that it opens."`
	Remove desksRemoveCmd `cmd:"" help:"Remove a computer: its key is dead at once."`
}

type desksListCmd struct{ jsonFlag }

type desksInviteCmd struct {
	Name       string `arg:"" optional:"" help:"What the computer is called here."`
	To         string `help:"The file to write, in place of a code." type:"path" placeholder:"FILE"`
	Moved      bool   `help:"Add none: the code or file is for all that are there already, and tells them where the main computer is now."`
	Again      bool   `help:"Invite one anew that is there already: what it was given before opens nothing any more."`
	Servers    string `help:"Where the others reach this computer, if not at its own addresses." placeholder:"HOST:PORT"`
	WithSecret bool   `help:"Hand over the client secret, too. Whoever has the file or the code has the secret."`
}

type desksRemoveCmd struct {
	Name string `arg:"" help:"What the computer is called."`
	jsonFlag
}

// desksRequest changes the list of desks, or nothing if it names no change.
type desksRequest struct {
	Remove string `json:"remove,omitempty"`
}

var (
	callDesks = declare("desks", running, func(l *local, ctx context.Context, q desksRequest) (list deskList, err error) {
		if q.Remove != "" {
			err = l.agent.RemoveDesk(ctx, q.Remove)
		} else if !l.agent.Settings().IsHub() {
			err = message.Error(message.NotTheHub(), nil)
		}
		if err != nil {
			return list, err
		}
		list.Hub, list.Epoch, err = l.agent.Hub()
		list.Desks = append([]office.DeskRow{}, l.agent.Desks(ctx)...)
		return list, err
	})
	callInvite = declare("invite", running, func(l *local, ctx context.Context, q desksInviteCmd) (agent.OfficeFile, error) {
		if q.Moved {
			return l.agent.MovedHub(q.Servers)
		}
		return l.agent.InviteDesk(ctx, office.DeskInvite{Name: q.Name, Servers: q.Servers, WithSecret: q.WithSecret, Again: q.Again})
	})
	callOffer = declareNews("offer", running, func(l *local, ctx context.Context, file agent.OfficeFile, tell func(string) error) (string, error) {
		return "", l.agent.OfferDesk(ctx, file, tell)
	})
)

func (c *desksListCmd) Run(r *run) error { return c.desks(r, desksRequest{}) }

func (c *desksRemoveCmd) Run(r *run) error { return c.desks(r, desksRequest{Remove: c.Name}) }

func (c *desksInviteCmd) Run(r *run) error {
	if (c.Name == "") != c.Moved {
		return &usage{"Name the computer, or use --moved."}
	}
	o, err := r.office(idle)
	if err != nil {
		return err
	}
	defer o.Close()
	file, err := callInvite.of(r.ctx, o, *c)
	if err != nil {
		return err
	}
	hand := c.write
	if c.To == "" {
		hand = c.offer
	}
	return hand(r, o, file) // on an error the desk stays invited, for its computer may have the invitation: --again gives it another one
}

// offer shows a code until somebody types it, or for ten minutes.
func (c *desksInviteCmd) offer(r *run, o *instance, file agent.OfficeFile) error {
	_, err := callOffer.news(r.ctx, o, file, func(code string) error {
		_ = r.err.Line("On the other computer, choose \"Enter a code…\" in the first window, or run: countersign setup --code %s", code)
		_ = r.err.Line("The code is valid for ten minutes, while this command runs. If this computer is not found from there, add --hub with one of %s.", file.Settings.Office)
		return r.out.Line("%s", code)
	})
	if err == nil {
		_ = r.err.Line("%s has its invitation.", c.Name)
	}
	return err
}

func (c *desksInviteCmd) write(r *run, _ *instance, file agent.OfficeFile) error {
	if !agent.IsOfficeFile(c.To) {
		c.To += agent.OfficeEnding
	}
	if err := agent.WriteOffice(c.To, file); err != nil {
		return err
	}
	if c.Moved {
		_ = r.out.Line("Written: %s. Every computer opens it once. It contains no secret.", c.To)
		return nil
	}
	_ = r.out.Line("Written: %s. It is for one computer alone, which opens it with a double click, or takes it with setup --import.", c.To)
	_ = r.out.Line("Whoever has the file reads what the service reports to this office. Hand it over safely, and delete it when it was opened.")
	return nil
}

// desks applies a request and prints the hub's desks.
func (f jsonFlag) desks(r *run, q desksRequest) error {
	list, err := callDesks.alone(r, idle, q)
	if err != nil {
		return err
	}
	return f.print(r, list, func(w *terminal.Writer) (err error) {
		if len(list.Desks) == 0 {
			return w.Line("There is no other computer yet. Add one with: countersign desks invite NAME")
		}
		for _, d := range list.Desks {
			err = errors.Join(err, w.Line("%s", deskLine(d)))
		}
		return err
	})
}

// deskList is what desks --json prints. Its fields are stable, and documented in assets/docs/admin.md.
type deskList struct {
	Desks []office.DeskRow `json:"desks"`
	Hub   string           `json:"hub"`   // its public key
	Epoch int              `json:"epoch"` // counts the hubs that the office has had
}

func deskLine(d office.DeskRow) string {
	line := d.Name
	if d.Person != "" {
		line += " (" + d.Person + ")"
	}
	switch {
	case d.Connected:
		line += ": connected"
	case d.Seen.IsZero():
		line += ": never seen"
	default:
		line += ": last seen " + d.Seen.Local().Format("2006-01-02 15:04")
	}
	if d.Waiting > 0 {
		line += fmt.Sprintf("; events waiting: %d", d.Waiting)
	}
	return line
}
