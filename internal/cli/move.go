package cli

import (
	"context"
	"os"
	"strings"

	"golang.org/x/term"
)

// moveCmd moves the office to another computer.
type moveCmd struct {
	Out      string `help:"Write everything into a new FILE, sealed with a password, and stop working here." type:"path" placeholder:"FILE" xor:"what"`
	In       string `help:"Bring over an office from the FILE of another computer." type:"path" placeholder:"FILE" xor:"what"`
	TakeBack bool   `help:"Work here again, because the file was never brought over. If it was, the sign-in there ends." xor:"what"`
	SaveTo   string `help:"With --in: the folder for signed documents, if that of the other computer does not exist here." type:"path" placeholder:"DIR"`
	Anyway   bool   `help:"With --take-back: also when the other computer has taken over, and is out of use. Somebody signs in again."`
	Yes      bool   `help:"With --out: do not ask whether this computer is to stop."`
}

// moveRequest is what is to be moved, and where. It travels over the control socket, which only the same user reaches.
type moveRequest struct {
	Out      string `json:"out,omitempty"`
	In       string `json:"in,omitempty"`
	Password string `json:"password,omitempty"`
	SaveTo   string `json:"save_to,omitempty"`
	Anyway   bool   `json:"anyway,omitempty"`
}

// moveAnswer is what came of it, in sentences.
type moveAnswer struct {
	Told []string `json:"told,omitempty"`
}

// Move writes the office into a file, brings one over, or takes it back when the request names neither.
func (c *controller) Move(ctx context.Context, m moveRequest) (done moveAnswer, err error) {
	switch {
	case m.Out != "":
		return done, c.agent.MoveOut(context.WithoutCancel(ctx), m.Out, m.Password)
	case m.In == "":
		return done, c.agent.TakeBack(ctx, m.Anyway)
	}
	b, err := c.agent.MoveIn(context.WithoutCancel(ctx), m.In, m.Password, m.SaveTo)
	for _, paused := range b.Paused {
		done.Told = append(done.Told, paused.String())
	}
	if !b.Waits.IsZero() {
		done.Told = append(done.Told, b.Waits.String())
	}
	return done, err
}

func (c *moveCmd) Run(r *run) error {
	if c.Out == "" && c.In == "" && !c.TakeBack {
		return &usage{"One of --out, --in and --take-back is needed."}
	}
	m := moveRequest{Out: c.Out, In: c.In, SaveTo: c.SaveTo, Anyway: c.Anyway}
	if c.Out != "" && !c.Yes && !r.agrees("This computer then sends and saves nothing any more. Go on? (yes/no): ") {
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
	done, err := o.Move(r.ctx, m)
	if err != nil {
		return err
	}
	for _, told := range done.Told {
		_ = r.out.Line("%s", told)
	}
	switch {
	case c.Out != "":
		return r.out.Line("Written: %s. This computer works no more for the office. On the new one: countersign move --in FILE, or Bring over in its first window.", c.Out)
	case c.In != "":
		return r.out.Line("The office was brought over. Delete the file once everything works here.")
	default:
		return r.out.Line("The office works on this computer again. Delete the file.")
	}
}

// agrees asks the person at the terminal; nobody agrees without one.
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

// password reads the password of a file, twice where a wrong one would lock it for ever.
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
