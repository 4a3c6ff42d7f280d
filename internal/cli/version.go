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
	if r.program.Updates == "" { // without a look at the data folder
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
	Version string      `json:"version"`
	Newest  string      `json:"newest"`
	Newer   bool        `json:"newer"`
	Checked *time.Time  `json:"checked"`
	Text    string      `json:"text"`
	Address string      `json:"address"`
	Path    string      `json:"path"`
	File    updatedFile `json:"file"`
}

type updatedFile struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256"`
}

func newestVersion(u office.Update) checkedVersion {
	v := checkedVersion{Version: u.Version, Newest: u.Newest, Newer: u.Newer, Text: updateText(u), Address: u.Address, Path: u.Path, File: updatedFile(u.File)}
	if !u.Checked.IsZero() {
		v.Checked = &u.Checked
	}
	return v
}

// updates is how this program comes to newer versions of itself.
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

// updateRequest asks for the newest version.
type updateRequest struct {
	Download bool `json:"download,omitempty"` // it is fetched and checked, but where it is installed with one click
}

func (l *local) checkUpdate(ctx context.Context, q updateRequest) (office.Update, error) {
	u, err := l.agent.CheckUpdate(ctx)
	if err != nil || !q.Download || !u.Offers || u.OneClick {
		return u, err
	}
	_, err = l.agent.InstallUpdate(ctx, nil)
	return l.agent.Update(), err
}
