package cli

import (
	"context"
	"errors"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
)

type versionCmd struct {
	Check bool `help:"Ask now whether there is a newer one, and say what to do."`
	JSON  bool `name:"json" help:"Print JSON, as README.md documents it; it goes with --check."`
}

func (c *versionCmd) Run(r *run) error {
	if !c.Check {
		if c.JSON {
			return &usage{"--json goes with --check."}
		}
		return r.out.Line("countersign %s", r.program.Version)
	}
	if r.program.Updates == "" { // without a look at the data folder
		return &failure{message.UpdatesNotOffered().String()}
	}
	o, err := r.office(idle)
	if err != nil {
		return err
	}
	defer o.Close()
	u, err := o.CheckUpdate(r.ctx)
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

// checkedVersion is what version --check --json prints. README.md documents it, and it is stable.
type checkedVersion struct {
	Version string      `json:"version"`
	Newest  string      `json:"newest"`
	Newer   bool        `json:"newer"`
	Checked *time.Time  `json:"checked"`
	Text    string      `json:"text"`
	Address string      `json:"address"`
	File    updatedFile `json:"file"`
}

type updatedFile struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256"`
}

func newestVersion(u office.Update) checkedVersion {
	v := checkedVersion{Version: u.Version, Newest: u.Newest, Newer: u.Newer, Text: updateText(u), Address: u.Address, File: updatedFile(u.File)}
	if !u.Checked.IsZero() {
		v.Checked = &u.Checked
	}
	return v
}

// updates is how this program comes to newer versions of itself.
func (r *run) updates() agent.Updates {
	u := agent.Updates{Address: r.program.Updates, Keys: r.program.UpdateKeys, Server: r.program.Window == nil}
	if r.global.home == (home{}) { // chosen
		u.Again = append(u.Again, "--data", r.global.Data)
	}
	if r.global.KeyFile != "" {
		u.Again = append(u.Again, "--key-file", r.global.KeyFile)
	}
	return u
}

func (c *controller) CheckUpdate(ctx context.Context) (office.Update, error) {
	return c.agent.CheckUpdate(ctx)
}
