package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/internal/agent"
	"countersign/internal/cli/terminal"
	"countersign/internal/message"
	"countersign/internal/office"
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
	for _, i := range s.Health {
		if i.ID == "scope-offline" && o.here != nil { // nothing is kept
			return &failure{fmt.Sprintf("Signed in%s, but only until this command ends, because offline_access was not granted. Start Countersign, and sign in while it runs.", who)}
		}
	}
	_ = r.err.Line("Signed in%s.", who)
	for _, i := range s.Health {
		if i.ID == "scope-offline" || i.ID == "scope-packages" {
			_ = r.err.Line("%s", i.Text())
		}
	}
	return nil
}

func (l *local) signIn(ctx context.Context, o agent.SignInOptions, tell func(address string) error) (string, error) {
	return "", l.agent.SignIn(ctx, o, tell)
}

// show presents the address to the person: alone on a line, and in the browser unless that is unwanted. Whether a browser
// opens is known late or never, and the sign-in must not wait for it.
func (c *loginCmd) show(r *run, address string) error {
	if !c.NoBrowser && r.program.OpenAddress != nil {
		go r.program.OpenAddress(address)
		_ = r.err.Line("Sign in with the browser. If it does not open, open this address in one. If it ends on a page that cannot be shown, paste that page's address here.")
	}
	return r.out.Line("%s", address)
}

// paste passes lines of stdin to the sign-in. After a wrong line it says so and continues.
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
	if s.Tunnel.Kind != string(office.TunnelOffice) {
		line("Address", "%s (%s)", address, s.Tunnel.Kind)
	}
	switch {
	case s.Tunnel.Kind == string(office.TunnelOffice):
		line("Events", "from the main computer")
	case s.Endpoint.ID != "" || s.Endpoint.URL != "":
		line("Events", "reported to %s since %s", s.Endpoint.URL, s.Endpoint.RegisteredAt.Local().Format(time.DateTime))
	default:
		line("Events", "not reported to this computer")
	}
	line("Received", "%d in all, %d waiting, %d with problems; blocked requests: %d", s.Events.Received, s.Events.Pending, s.Events.Problems, s.Events.Rejected)
	line("Packages", "%d: %d waiting for signatures, %d declined, %d completed, %d saved",
		s.Packages.Total, s.Packages.Open, s.Packages.Declined, s.Packages.Executed, s.Packages.Saved)
	line("Files", "%d saved, %d waiting, %d failed", s.Saves.Done, s.Saves.Pending, s.Saves.Failed)
	line("Outbox", "%d waiting, %d unconfirmed, %d failed, %d for you to decide", s.Outbox.Pending, s.Outbox.Unknown, s.Outbox.Failed, s.Outbox.Held)
	if len(s.Health) == 0 {
		line("Health", "everything works")
	}
	for _, i := range s.Health {
		line("Health", "%s (since %s)", i.Text(), i.Since.Local().Format(time.DateTime))
	}
	return err
}

func uploading(w *terminal.Writer) func(office.SendState) error {
	return func(s office.SendState) error {
		if s.Total > 0 {
			_ = w.Progress(fmt.Sprintf("Sending %d %%", 100*s.Sent/s.Total)) // the upload does not depend on it
		}
		return nil
	}
}

type versionCmd struct {
	Check    bool `help:"Ask now whether there is a newer one, and say what to do."`
	Download bool `help:"Fetch a newer one, check it, and say where it lies."`
	JSON     bool `name:"json" help:"Print JSON, as countersign help admin documents it; it goes with --check and --download."`
}

func (c *versionCmd) Run(r *run) error {
	if !c.Check && !c.Download {
		if c.JSON {
			return &usage{"--json goes with --check or --download."}
		}
		return r.out.Line("countersign %s", r.program.Version)
	}
	if r.program.Updates == "" { // without access to the data folder
		return &failure{message.UpdatesNotOffered().String()}
	}
	u, err := callUpdate.alone(r, idle, updateRequest{c.Download})
	if err != nil {
		return err
	}
	if c.JSON {
		return r.out.JSON(newestVersion(u))
	}
	return errors.Join(r.out.Line("countersign %s", r.program.Version), r.out.Line("%s", updateText(u)))
}

// updateText is the newest version and what to do about it.
func updateText(u office.Update) string {
	if !u.Newer {
		return message.UpdateNone(u.Version).String()
	}
	return message.Then(message.UpdateAvailable(u.Newest), u.Todo).String()
}

// checkedVersion is what version --check --json prints. assets/docs/admin.md documents it, and it is stable.
type checkedVersion struct {
	Version string      `json:"version"` // that runs
	Newest  string      `json:"newest"`  // that is known
	Newer   bool        `json:"newer"`   // the newest comes after the one that runs
	Checked *time.Time  `json:"checked"` // when that was last heard
	Text    string      `json:"text"`    // what to do, in words
	Address string      `json:"address"` // the file or the page to get it from
	Path    string      `json:"path"`    // the file, fetched and checked; empty before
	File    updatedFile `json:"file"`    // for this computer
}

type updatedFile = office.UpdateFile

func newestVersion(u office.Update) checkedVersion {
	v := checkedVersion{Version: u.Version, Newest: u.Newest, Newer: u.Newer, Text: updateText(u), Address: u.Address, Path: u.Path, File: u.File}
	if !u.Checked.IsZero() {
		v.Checked = &u.Checked
	}
	return v
}

// updates determines how this program gets newer versions of itself.
func (r *run) updates() agent.Updates {
	u := agent.Updates{Address: r.program.Updates, Keys: r.program.UpdateKeys, Server: r.program.Window == nil}
	if r.global.chosen {
		u.Again = append(u.Again, "--data", r.global.Data)
	}
	if r.global.KeyFile != "" {
		u.Again = append(u.Again, "--key-file", r.global.KeyFile)
	}
	return u
}

type updateRequest struct {
	Download bool `json:"download,omitempty"` // download and check it, unless it can be installed with one click
}

func (l *local) checkUpdate(ctx context.Context, q updateRequest) (office.Update, error) {
	u, err := l.agent.CheckUpdate(ctx)
	if err != nil || !q.Download || !u.Offers || u.OneClick {
		return u, err
	}
	_, err = l.agent.InstallUpdate(ctx, nil)
	return l.agent.Update(), err
}
