package updates

import (
	"context"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/update"
)

// How long an installation waits for what is being sent and saved, and how often it looks.
const (
	patience = 2 * time.Minute
	lookBusy = 500 * time.Millisecond
)

// Install fetches the newest version and checks it. An installer for Windows it starts: after an empty path and nil the program
// has to end. Other files are for a person to install: path is where the checked one lies. Progress may be nil.
func (r *Service) Install(ctx context.Context, progress func(office.UpdateStep)) (path string, err error) {
	if !r.Offered() {
		return "", message.Error(message.UpdatesNotOffered(), nil)
	}
	if progress == nil {
		progress = func(office.UpdateStep) {}
	}
	r.turn.Lock()
	defer r.turn.Unlock()
	m, err := r.latest(ctx, false) // the file of now, and signed now
	if err != nil {
		return "", err
	}
	k := r.known.Get()
	if !r.newer(k) {
		return "", message.Error(message.UpdateNone(update.Plain(r.deps.Version)), nil)
	}
	f, known := r.file(m.Files)
	if !known {
		return "", message.Error(r.todo(k), nil)
	}
	r.setFetched("", "")
	progress(office.UpdateStep{Total: f.Size})
	path, err = r.deps.Client.Download(ctx, f, r.deps.Folder, func(got int64) { progress(office.UpdateStep{Got: got, Total: f.Size}) })
	if err != nil {
		return "", err
	}
	if f.Kind != update.Installer {
		r.setFetched(m.Version, path)
		return path, nil
	}
	if err := r.start(ctx, m.Version, f, path, progress); err != nil {
		if left := update.Clear(r.deps.Folder); left != nil {
			r.Log.Warn("remove a download", "err", left)
		}
		return "", err
	}
	return "", nil
}

// fetched is the file of a version that was downloaded and checked, for a person to install.
type fetched struct{ version, path string }

func (r *Service) setFetched(version, path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fetched = fetched{version, path}
}

// pathOf is where the checked file of a version lies; empty for nowhere.
func (r *Service) pathOf(version string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fetched.version != version {
		return ""
	}
	return r.fetched.path
}

// waits reports whether a file may lie in the folder that a person is still to install.
func (r *Service) waits() bool { return r.deps.Kind != update.Installer && r.newer(r.known.Get()) }

// start starts the installer at path as soon as nothing is under way.
func (r *Service) start(ctx context.Context, version string, f update.File, path string, progress func(office.UpdateStep)) error {
	for until := time.Now().Add(patience); r.deps.Busy(); {
		progress(office.UpdateStep{Got: f.Size, Total: f.Size, Waits: true})
		if time.Now().After(until) {
			return message.Error(message.UpdateWorkGoesOn(), nil)
		}
		if !loop.Sleep(ctx, lookBusy) {
			return context.Cause(ctx)
		}
	}
	installer, err := update.Hold(path, f) // it lay there for a while
	if err != nil {
		return err
	}
	defer installer.Close()
	r.setInstalling(true)
	if err := r.note(version); err != nil {
		r.setInstalling(false)
		return err
	}
	if err := r.deps.Start(installer); err != nil {
		r.setInstalling(false)
		if undone := r.note(""); undone != nil {
			r.Log.Warn("note that nothing is installed", "err", undone)
		}
		return err
	}
	return nil
}

// note notes the version whose installer is started, so that the next start can tell whether it came.
func (r *Service) note(version string) error {
	return r.known.Change(func(k record) (record, error) {
		k.Installing = version
		return k, r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(doc, k) })
	})
}

func (r *Service) isInstalling() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.installing
}

func (r *Service) setInstalling(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.installing = on
}
