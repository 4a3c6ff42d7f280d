package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"countersign/internal/agent"
	"countersign/internal/cli/terminal"
	"countersign/internal/message"
	"countersign/internal/office"
)

type withdrawCmd struct {
	Packages []string `arg:"" name:"package" complete:"waiting" help:"Each by its id, the beginning of its id, or its name."`
	Message  string   `help:"A message to the signers."`
	Quiet    bool     `help:"The service does not notify the signers."`
	jsonFlag
}

func (c *withdrawCmd) Run(r *run) error {
	o, err := r.signedIn(agent.ComponentWithdraw, ", so nothing was withdrawn")
	if err != nil {
		return err
	}
	defer o.Close()
	list, err := callWithdraw.of(r.ctx, o, office.NewWithdrawal{Packages: c.Packages, Message: c.Message, Quiet: c.Quiet, Patience: sendPatience})
	if r.ctx.Err() != nil {
		return &failure{message.WaitingStopped().String()}
	}
	if errors.Is(err, errSilent) { // the wish is kept: it is done later
		return &failure{"Countersign ended before it said whether the packages were withdrawn. It goes on with that at its next start."}
	}
	if err != nil {
		return err
	}
	if err := c.print(r, listedWithdrawn(list), func(w *terminal.Writer) error { return printWithdrawn(w, list) }); err != nil {
		return err
	}
	return notWithdrawn(list)
}

// withdraw is agent.Agent.Withdraw, of packages that are named as find knows them. Where it does not know one, none is
// withdrawn.
func (l *local) withdraw(ctx context.Context, n office.NewWithdrawal) ([]office.Withdrawn, error) {
	n.Packages = slices.Clone(n.Packages)
	for i, word := range n.Packages {
		id, err := l.find(word)
		if err != nil {
			return nil, err
		}
		n.Packages[i] = id
	}
	return l.agent.Withdraw(ctx, n)
}

// withdrawnList is what withdraw --json prints.
type withdrawnList struct {
	Packages []withdrawnPackage `json:"packages"`
}

// withdrawnPackage is a package as withdraw --json prints it. Its fields are stable, always there, and documented in
// assets/docs/admin.md.
type withdrawnPackage struct {
	ID      string                 `json:"id"`
	Name    string                 `json:"name"`
	State   office.WithdrawalState `json:"state"`
	Problem string                 `json:"problem"`
}

func listedWithdrawn(list []office.Withdrawn) withdrawnList {
	out := withdrawnList{[]withdrawnPackage{}}
	for _, x := range list {
		out.Packages = append(out.Packages, withdrawnPackage{x.PackageID, x.Name, x.State, whyNot(x).String()})
	}
	return out
}

func printWithdrawn(w *terminal.Writer, list []office.Withdrawn) (err error) {
	for _, x := range list {
		line := "Withdrawn. Package " + x.PackageID
		if x.State != office.WithdrawDone {
			line = fmt.Sprintf("Not withdrawn. Package %s: %s", x.PackageID, whyNot(x))
		}
		err = errors.Join(err, w.Line("%s", line))
	}
	return err
}

// whyNot says what keeps a package from being withdrawn, or kept it; nothing when it is withdrawn.
func whyNot(x office.Withdrawn) message.Message {
	w := office.Withdrawal{State: x.State}
	if w.Pending() {
		return message.Then(x.Problem, message.WillBeWithdrawn())
	}
	return x.Problem
}

// notWithdrawn is the failure of those that are not withdrawn; nil when all are.
func notWithdrawn(list []office.Withdrawn) error {
	missed := slices.DeleteFunc(slices.Clone(list), func(x office.Withdrawn) bool { return x.State == office.WithdrawDone })
	switch {
	case len(missed) == 0:
		return nil
	case len(list) == 1:
		return &failure{message.Then(message.NotWithdrawn(missed[0].Name), whyNot(missed[0])).String()}
	}
	return &failure{fmt.Sprintf("%d of %d packages were not withdrawn.", len(missed), len(list))}
}
