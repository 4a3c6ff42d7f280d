package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"countersign/internal/agent"

	"golang.org/x/term"
)

type moveCmd struct {
	Out      string `help:"Write everything into a new FILE, sealed with a password, sign out and stop working here." type:"path" placeholder:"FILE" xor:"what"`
	In       string `help:"Show what is in the FILE of another computer, and bring it over once you agree." type:"path" placeholder:"FILE" xor:"what"`
	TakeBack bool   `help:"Work here again, because the file was never brought over or the other computer is out of use." xor:"what"`
	SaveTo   string `help:"With --in: the folder for signed documents on this computer." type:"path" placeholder:"DIR"`
	Yes      bool   `help:"With --out: do not ask whether this computer is to stop. With --in: do not ask whether what is shown is right."`
}

// moveRequest says what to move, and where. It travels over the control socket, which only the same user can reach.
type moveRequest struct {
	Out      string `json:"out,omitempty"`
	In       string `json:"in,omitempty"`
	Password string `json:"password,omitempty"`
	Digest   string `json:"digest,omitempty"` // of the file whose contents were shown; without one they are shown
	SaveTo   string `json:"save_to,omitempty"`
}

// move exports the office to a file, shows what is in a file, or imports it; if the request names no file, it reverts an
// export.
func (l *local) move(ctx context.Context, m moveRequest) (shown agent.Arrival, err error) {
	ctx = context.WithoutCancel(ctx)
	switch {
	case m.Out != "":
		return shown, l.agent.MoveOut(ctx, m.Out, m.Password)
	case m.In == "":
		return shown, l.agent.TakeBack(ctx)
	case m.Digest == "":
		return l.agent.ReadMove(ctx, m.In, m.Password)
	}
	return shown, l.agent.MoveIn(ctx, m.In, m.Password, m.Digest, m.SaveTo)
}

func (c *moveCmd) Run(r *run) error {
	switch {
	case c.Out == "" && c.In == "" && !c.TakeBack:
		return &usage{"One of --out, --in and --take-back is needed."}
	case c.In != "" && c.SaveTo == "":
		return &usage{"--in needs --save-to, the folder for signed documents on this computer."}
	}
	m := moveRequest{Out: c.Out, In: c.In, SaveTo: c.SaveTo}
	if c.Out != "" && !c.Yes && !r.agrees("This computer then sends and saves nothing. Go on? (yes/no): ") {
		return &failure{"Nothing was done. Confirm with yes, or use --yes."}
	}
	if !c.TakeBack {
		var err error
		if m.Password, err = r.password(c.Out != ""); err != nil {
			return err
		}
	}
	o, err := r.office(idle)
	if err != nil {
		return err
	}
	defer o.Close()
	shown, err := callMove.of(r.ctx, o, m)
	if err != nil {
		return err
	}
	switch {
	case c.Out != "":
		return r.out.Line("Written: %s. This computer no longer works for the office. On the new one: countersign move --in FILE --save-to DIR, or \"Open a file…\" in its first window.", c.Out)
	case c.TakeBack:
		return r.out.Line("The office works on this computer again once somebody has signed in. Delete the file.")
	}
	if err := r.showArrival(shown); err != nil {
		return err
	}
	if !c.Yes && !r.agrees("Bring this office over to this computer? (yes/no): ") {
		return &failure{"Nothing was brought over. Confirm with yes, or use --yes."}
	}
	m.Digest = shown.Digest
	if _, err := callMove.of(r.ctx, o, m); err != nil {
		return err
	}
	return r.out.Line("The office was brought over. Sign in with: countersign login. Delete the file once everything works here.")
}

// showArrival prints the contents of a file from another computer.
func (r *run) showArrival(x agent.Arrival) error {
	rows := [][2]string{
		{"Computer", x.Computer}, {"Written", x.Made.Local().Format("2006-01-02 15:04")}, {"People sign in at", x.SignIn}, {"Documents go to", x.Service},
		{"Events arrive at", x.Events}, {"Sign-in returns to", x.Returns},
		{"Account", x.Account}, {"Folder there", x.Folder}, {"Packages", fmt.Sprint(x.Packages)}, {"Drafts", fmt.Sprint(x.Drafts)},
	}
	for _, path := range x.Watched {
		rows = append(rows, [2]string{"Watched, paused", path})
	}
	for _, text := range x.LeftOut {
		rows = append(rows, [2]string{"Not taken over", text.String()})
	}
	for _, row := range rows {
		if row[1] == "" {
			continue
		}
		if err := r.out.Line("%-18s %s", row[0]+":", row[1]); err != nil {
			return err
		}
	}
	return nil
}

// agrees asks the person at the terminal; without a terminal the answer is no.
func (r *run) agrees(question string) bool {
	in, isFile := r.program.Stdin.(*os.File)
	if !isFile || !term.IsTerminal(int(in.Fd())) {
		return false
	}
	_ = r.err.Prompt(question)
	select {
	case line := <-r.lines():
		return strings.EqualFold(strings.TrimSpace(line), "yes")
	case <-r.ctx.Done():
		return false
	}
}

// password reads a file's password, twice if a typing mistake would make the file unreadable for ever.
func (r *run) password(twice bool) (string, error) {
	if p, ok := r.secrets[passwordVariable]; ok {
		return p, nil
	}
	first, err := r.secret(passwordVariable, "Password of the file", true)
	if err != nil || !twice || first == "" {
		return first, err
	}
	again, err := r.secret(passwordVariable, "The same once more", true)
	if err == nil && again != first {
		return "", &failure{"These were two different passwords. Nothing was done."}
	}
	return first, err
}

// restoreCmd replaces the current state by a backup.
type restoreCmd struct {
	File string `arg:"" optional:"" help:"The backup; the newest one when it is left out." type:"path" placeholder:"FILE"`
	List bool   `help:"Name the backups and change nothing."`
}

func (c *restoreCmd) Run(r *run) error {
	list, err := agent.Backups(r.global.Data)
	if err != nil {
		return err
	}
	if c.List {
		for _, f := range list {
			if err := r.out.Line("%s  %s", f.Made.Local().Format("2006-01-02 15:04"), f.Path); err != nil {
				return err
			}
		}
		return nil
	}
	if o, err := r.running(); err == nil {
		o.Close()
		return &failure{"Countersign is running with this data folder. End it first."}
	}
	instance, err := r.take()
	if err != nil {
		return err
	}
	var aside string
	keeper, err := r.keeper(slog.New(slog.DiscardHandler))
	if err == nil {
		aside, err = agent.PrepareRestore(r.ctx, keeper, r.global.Data, c.File)
	}
	if err := errors.Join(err, instance.Close()); err != nil {
		return err
	}
	o, err := r.office(idle)
	if err != nil {
		return err
	}
	defer o.Close()
	if aside != "" {
		_ = r.out.Line("The data as it was is kept: %s", aside)
	}
	return r.tellIssues(o, func(i agent.Issue) bool { return i.ID == agent.IssueRestored })
}
