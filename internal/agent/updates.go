package agent

import (
	"context"
	"os"
	"runtime"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/agent/updates"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/update"
)

// Updates say where newer versions of the program come from, and how they are installed.
type Updates struct {
	Address string   // of the manifest, as the release was built; "" for none
	Keys    string   // the public keys it is signed with, with commas in between
	Server  bool     // this is the program without its window, for servers
	Again   []string // the arguments with which the program comes back once it is installed
}

// newUpdates joins what looks for newer versions with the rest. A source that makes no sense is logged, and counts as none.
func (a *Agent) newUpdates() (*updates.Service, error) {
	p := a.p.Updates
	source := update.ParseSource(p.Address, p.Keys)
	client, err := update.New(source, a.p.HTTP)
	if err != nil {
		a.Log.Error("this program was built with a source of updates that cannot be used", "err", err)
	}
	return updates.New(a.Base, updates.Deps{
		Client: client, Keys: source.Keys, Version: a.p.Version, Kind: update.Here(p.Server), System: runtime.GOOS, Arch: runtime.GOARCH,
		Folder:   locations.Update(a.p.DataDir),
		Settings: a.Settings, Silent: a.announcer.Silent, News: a.announcer.NewVersion, Announce: a.announcer.Announce, Busy: a.busy,
		Start: func(installer *os.File) error { return update.Start(installer, p.Again) },
	})
}

// busy reports whether something is being sent or saved at this moment, or would be at once. What waits for its next try
// does not count: it may wait for days.
func (a *Agent) busy() bool {
	if a.outbox.Sending() || a.saves.UnderWay() > 0 {
		return true
	}
	saving := a.saves.Flowing()
	found, err := data.Read(a.Data, "whether something is under way", func(tx *store.Tx) (int, error) {
		events, _, err := tx.PendingEvents("", 1)
		if err != nil || !saving {
			return len(events), err
		}
		jobs, err := tx.JobsDue(a.Due(loop.MaxJobWait), 1, nil)
		return len(events) + len(jobs), err
	})
	return err == nil && found > 0
}

// Update is what is known of newer versions of the program, from memory.
func (a *Agent) Update() office.Update { return a.updates.State() }

// CheckUpdate asks for newer versions now.
func (a *Agent) CheckUpdate(ctx context.Context) (office.Update, error) {
	err := a.updates.Check(ctx)
	return a.updates.State(), err
}

// InstallUpdate is updates.Service.Install: after an empty path and nil the program has to end.
func (a *Agent) InstallUpdate(ctx context.Context, progress func(office.UpdateStep)) (path string, err error) {
	return a.updates.Install(ctx, progress)
}
