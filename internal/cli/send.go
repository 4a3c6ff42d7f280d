package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
)

// sendPatience is how long the command waits for a service that does not answer, before it says so and leaves the rest
// to the next run.
const sendPatience = time.Minute

type sendCmd struct {
	Files        []string `arg:"" optional:"" name:"file" help:"The documents; with a template, those besides."`
	To           []string `complete:"person" sep:"none" help:"A signer; repeat it for more, in their order. With a template \"ROLE=NAME <E-MAIL>\" says whose role is whose." placeholder:"\"NAME <E-MAIL>\""`
	Template     string   `complete:"template" help:"Make the package from this template of the service." placeholder:"NAME|ID"`
	Field        []string `sep:"none" help:"With a template: fill a text field; repeat it for more." placeholder:"FIELD=VALUE"`
	Replace      []string `sep:"none" help:"With a template: a file in the place of one of its documents; repeat it for more." placeholder:"DOCUMENT=FILE"`
	CC           []string `complete:"person" name:"cc" sep:"none" help:"Somebody who gets a copy and does not sign; repeat it for more." placeholder:"\"NAME <E-MAIL>\""`
	BCC          []string `complete:"person" name:"bcc" sep:"none" help:"The same, not shown to the others." placeholder:"\"NAME <E-MAIL>\""`
	Name         string   `help:"Name of the package; the template's or the first file's when left out."`
	Message      string   `help:"A message to the signers."`
	Sequential   bool     `help:"One signs after the other, in the order of --to."`
	Due          string   `help:"Sign by this day (2026-12-31) or moment (RFC 3339)." placeholder:"DATE"`
	ExternalData string   `help:"Reference data kept with the package, as JSON." placeholder:"JSON"`
}

func (c *sendCmd) Run(r *run) error {
	draft, err := c.draft()
	if err != nil {
		return err
	}
	o, err := r.signedIn(agent.ComponentOutbox, ", so nothing was sent")
	if err != nil {
		return err
	}
	defer o.Close()
	if c.Template != "" {
		list, err := callTemplates.of(r.ctx, o, "")
		if err != nil {
			return err
		}
		if err := c.fromTemplate(&draft, list); err != nil {
			return err
		}
	}
	state, err := callSend.news(r.ctx, o, draft, uploading(r.err))
	_ = r.err.Progress("")
	switch {
	case r.ctx.Err() != nil && state.DraftID != "":
		return &failure{message.WaitingStopped().String()}
	case r.ctx.Err() != nil:
		return &failure{"Stopped before Countersign said that it keeps the package. Look at countersign status before sending it again."}
	}
	if errors.Is(err, errSilent) { // the draft is kept and may still go out: trying again could send it twice
		return &failure{"Countersign ended before it said whether the package was sent. Look at countersign status before sending it again."}
	}
	if err != nil {
		return err
	}
	switch state.State {
	case office.DraftSent:
		return r.out.Line("Sent. Package %s", state.PackageID)
	case office.DraftCancelled, office.DraftHeld:
		return &failure{"The package was cancelled and not sent."}
	default:
		return &failure{state.Problem.String()}
	}
}

// send is agent.Agent.Send; a slow reader of its progress holds up nobody.
func (l *local) send(ctx context.Context, d office.NewPackage, tell func(office.SendState) error) (office.SendState, error) {
	news, told := make(chan office.SendState, 1), make(chan struct{})
	go func() {
		defer close(told)
		for s := range news {
			_ = tell(s) // the answer says what became of it
		}
	}()
	state, err := l.agent.Send(ctx, d, func(s office.SendState) {
		select {
		case news <- s:
		default: // the next one says more
		}
	})
	close(news)
	<-told
	if errors.Is(err, context.Canceled) && state.DraftID != "" { // kept, and sent later: sending it again would make two
		err = &agent.DraftError{Text: message.WaitingStopped()}
	}
	return state, err
}

// signedIn is the office once somebody is signed in. so is what it means that nobody is.
func (r *run) signedIn(part agent.Component, so string) (*instance, error) {
	o, err := r.office(part)
	if err != nil {
		return nil, err
	}
	if err := r.ready(o, so); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (r *run) ready(o *instance, so string) error {
	status, err := callStatus.of(r.ctx, o, nothing{})
	if err != nil {
		return err
	}
	for _, i := range status.Health {
		if i.ID == agent.IssueKeyring { // without the key nothing goes out, and unlocking may take a person till tomorrow
			return &failure{i.Text()}
		}
	}
	if !status.SignedIn { // what is asked for would wait for a person, and so would whoever typed this
		return &failure{"Nobody is signed in" + so + ". Sign in with countersign login first."}
	}
	return nil
}

// draft is the command line as a draft; what is wrong with it is a usage error.
func (c *sendCmd) draft() (office.NewPackage, error) {
	d := office.NewPackage{Name: c.Name, Message: c.Message, Sequential: c.Sequential, Patience: sendPatience}
	for _, f := range c.Files {
		abs, err := filepath.Abs(f)
		if err != nil {
			return d, err
		}
		d.Files = append(d.Files, abs)
	}
	switch {
	case len(c.Files) == 0 && c.Template == "":
		return d, &usage{"A package needs a <file>, or a --template."}
	case len(c.To) == 0 && c.Template == "":
		return d, &usage{"A package needs a signer: --to \"NAME <E-MAIL>\"."}
	case len(c.Field)+len(c.Replace) > 0 && c.Template == "":
		return d, &usage{"--field and --replace go with a --template."}
	}
	for _, to := range c.To {
		role := ""
		if c.Template != "" {
			role, to = withRole(to)
		}
		s, err := parseSigner(to)
		if err != nil {
			return d, err
		}
		s.Role = role
		d.Signers = append(d.Signers, s)
	}
	for _, copies := range []struct {
		to    []string
		blind bool
	}{{c.CC, false}, {c.BCC, true}} {
		for _, to := range copies.to {
			people := office.ReadPeople(to)
			if len(people) == 0 {
				return d, &usage{fmt.Sprintf("%q is not an address; write it as \"Ana Ruiz <ana@example.com>\" or ana@example.com.", to)}
			}
			d.Recipients = append(d.Recipients, office.CopyTo(people, copies.blind)...)
		}
	}
	if c.Due != "" {
		due, err := parseDue(c.Due)
		if err != nil {
			return d, err
		}
		d.Due = due
	}
	if c.ExternalData != "" {
		if !json.Valid([]byte(c.ExternalData)) {
			return d, &usage{"The value of --external-data is not valid JSON."}
		}
		d.ExternalData = json.RawMessage(c.ExternalData)
	}
	return d, nil
}

// parseSigner reads one person as office.ReadPeople does, and calls one without a name by the address.
func parseSigner(s string) (office.Signer, error) {
	people := office.ReadPeople(s)
	if len(people) != 1 {
		return office.Signer{}, &usage{fmt.Sprintf("%q is not a signer; write it as \"Ana Ruiz <ana@example.com>\".", s)}
	}
	signer := people[0]
	if signer.FirstName == "" && signer.LastName == "" {
		signer.FirstName, _, _ = strings.Cut(signer.Email, "@")
	}
	return signer, nil
}

// parseDue reads a moment, or a day, which lasts until midnight here.
func parseDue(s string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, s, time.Local)
	if err != nil {
		return t, &usage{fmt.Sprintf("%q is not a date; write it as 2026-12-31.", s)}
	}
	return t.AddDate(0, 0, 1).Add(-time.Second), nil
}
