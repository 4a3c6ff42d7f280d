package cli

import (
	"context"

	"countersign/internal/agent"
)

type loginCmd struct {
	NoBrowser bool   `help:"Print the address instead of opening the browser."`
	Prompt    string `help:"login: sign in with another account. consent: be asked for consent again." enum:",login,consent" default:"" placeholder:"KIND"`
}

func (c *loginCmd) Run(r *run) error {
	o, err := r.office(agent.ComponentTunnel)
	if err != nil {
		return err
	}
	defer o.Close()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	go c.paste(ctx, r, o)
	_, err = callSignIn.news(ctx, o, agent.SignInOptions{Prompt: c.Prompt}, func(address string) error { return c.show(r, address) })
	if r.ctx.Err() != nil {
		return &failure{"The sign-in was stopped."}
	}
	if err != nil {
		return err
	}
	s, err := callStatus.of(r.ctx, o, nothing{})
	if err != nil {
		return err
	}
	who := ""
	if s.Account.Email != "" {
		who = " as " + s.Account.Email
	}
	_ = r.err.Line("Signed in%s.", who)
	for _, i := range s.Health {
		if i.ID == "scope-offline" || i.ID == "scope-packages" {
			_ = r.err.Line("%s", i.Text())
		}
	}
	return nil
}

// signIn tells the address to sign in at.
func (l *local) signIn(ctx context.Context, o agent.SignInOptions, tell func(address string) error) (string, error) {
	return "", l.agent.SignIn(ctx, o, tell)
}

// show brings the address to the person: alone on a line, and in the browser unless there is to be none. Whether one opens
// is known late or never, and the sign-in must not wait for it.
func (c *loginCmd) show(r *run, address string) error {
	if !c.NoBrowser && r.program.OpenAddress != nil {
		go r.program.OpenAddress(address)
		_ = r.err.Line("Sign in with the browser. If it does not open, open this address in one. If it ends on a page that cannot be shown, paste that page's address here.")
	}
	return r.out.Line("%s", address)
}

// paste hands lines of stdin to the sign-in. A wrong one is told and waited out.
func (c *loginCmd) paste(ctx context.Context, r *run, o *instance) {
	lines := r.lines()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return
			}
			if line == "" {
				continue
			}
			if _, err := callPaste.of(ctx, o, line); err != nil && ctx.Err() == nil {
				fail(r.err, err)
			}
		case <-ctx.Done():
			return
		}
	}
}

type logoutCmd struct{}

func (logoutCmd) Run(r *run) error {
	if _, err := callSignOut.alone(r, idle, nothing{}); err != nil {
		return err
	}
	return r.err.Line("Signed out.")
}
