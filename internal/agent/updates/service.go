// Package updates asks once a day whether there is a newer version of the program, if the office wants that and the program was
// built with an address to ask. It remembers the newest version it ever heard of and believes nobody who offers an older one; on
// Windows it fetches and starts the installer at a person's request.
//
// It promises to disturb nobody: one notification per version, no issue in health, and installations start only when nothing is
// being sent or saved. Stored times are checked against the present clock, so that a clock that was wrong for a while costs at most
// a day.
//
// It must not know how a manifest is signed or a file checked (package update), nor how the program ends.
package updates

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
	"countersign/internal/update"
)

const doc = "updates"

type record struct {
	Keys   string        `json:"keys"` // the built-in keys; a program with other keys starts over, ignoring what the old ones signed
	Newest string        `json:"newest,omitempty"`
	Page   string        `json:"page,omitempty"`
	Files  []update.File `json:"files,omitempty"`
	Heard  time.Time     `json:"heard,omitzero"` // time of the last valid manifest

	Failing time.Time     `json:"failing,omitzero"` // since when requests brought no valid manifest
	Tries   int           `json:"tries,omitempty"`  // since then
	Rest    loop.Cooldown `json:"rest,omitzero"`    // pause before the next automatic request

	Installing string `json:"installing,omitempty"` // version of the installer started last
}

// How often to ask.
const (
	everyDay   = 24 * time.Hour
	firstRetry = time.Hour        // after a failure, doubling up to a day
	startPause = 10 * time.Second // other work is more urgent at the start
	look       = time.Hour        // timers may stop while the computer sleeps
)

// silentFor is after how long without a valid manifest people are told, quietly.
const silentFor = 14 * 24 * time.Hour

// Deps are what a Service needs from others. The functions are called from several goroutines.
type Deps struct {
	Client  *update.Client // nil if the program was built without an address
	Keys    []string       // the keys that Client trusts
	Version string         // the running version
	Kind    string         // update.Here
	System  string         // GOOS
	Arch    string         // GOARCH
	Folder  string         // for downloads; created and removed here

	Settings func() office.Settings
	Silent   func() bool // people want no notifications now
	// News returns what to tell people of a version, once; with tell unset they know it already.
	News     func(tx *store.Tx, version string, todo message.Message, tell bool) []office.Fact
	Announce func(...office.Fact)
	Busy     func() bool // something is being sent or saved now
	// Start starts an installer that is held open. The installer waits for the program to end and restarts it.
	Start func(installer *os.File) error
}

// Service is safe for concurrent use.
type Service struct {
	loop.Base
	deps  Deps
	known data.Kept[record]
	wake  chan struct{}
	turn  sync.Mutex // serializes requests and installations

	installing atomic.Bool // in this process
	fetched    atomic.Pointer[fetched]
}

// New makes a Service and loads its stored state.
func New(t loop.Base, deps Deps) (*Service, error) {
	r := &Service{Base: t, deps: deps, wake: make(chan struct{}, 1)}
	kept, _, err := data.Doc[record](t.Data, doc)
	if err != nil {
		return nil, err
	}
	if keys := strings.Join(deps.Keys, " "); kept.Keys != keys {
		kept = record{Keys: keys}
	}
	r.known.Set(kept)
	return r, nil
}

func (r *Service) Offered() bool { return r.deps.Client != nil && update.Plain(r.deps.Version) != "" }

// Wake makes it check whether the office wants to know.
func (r *Service) Wake() { loop.Wake(r.wake) }

// Run asks once a day until ctx ends, then returns nil. First it removes the remains of an earlier installation.
func (r *Service) Run(ctx context.Context) error {
	if !r.Offered() {
		<-ctx.Done()
		return nil
	}
	pause := startPause
	for cleared := false; loop.Wait(ctx, pause, r.wake); {
		pause = r.askIfDue(ctx)
		if !cleared {
			cleared = r.waits() || r.clear()
		}
		if !cleared { // the installer that started this program may still be running
			pause = min(pause, time.Minute)
		}
	}
	return nil
}

// askIfDue asks if the office wants that and the last request is old enough, and returns how long to wait before the next.
func (r *Service) askIfDue(ctx context.Context) time.Duration {
	if !r.deps.Settings().CheckUpdates {
		return look
	}
	if left := r.known.Get().Rest.Left(r.Now()); left > 0 {
		return min(left, look)
	}
	if err := r.ask(ctx, true); err != nil && ctx.Err() == nil {
		r.Log.Info("ask for a newer version", "err", err)
	}
	return min(max(r.known.Get().Rest.Left(r.Now()), time.Minute), look)
}

// clear removes downloads, unless an installation is in progress, and reports whether nothing is left.
func (r *Service) clear() bool {
	r.turn.Lock()
	defer r.turn.Unlock()
	if err := update.Clear(r.deps.Folder); err != nil {
		r.Log.Info("remove what an installation has left", "err", err)
		return false
	}
	return true
}

// Check asks now, at a person's request. Its errors carry a message for people.
func (r *Service) Check(ctx context.Context) error {
	if !r.Offered() {
		return message.Error(message.UpdatesNotOffered(), nil)
	}
	return r.ask(ctx, false)
}

// ask requests the manifest and remembers what it says. People get a notification of a newer version only if byItself.
func (r *Service) ask(ctx context.Context, byItself bool) error {
	r.turn.Lock()
	defer r.turn.Unlock()
	_, err := r.latest(ctx, byItself)
	return err
}

// latest is ask for a caller that holds turn.
func (r *Service) latest(ctx context.Context, byItself bool) (update.Manifest, error) {
	m, err := r.deps.Client.Latest(ctx, r.Now())
	if ctx.Err() != nil {
		return update.Manifest{}, context.Cause(ctx)
	}
	var facts []office.Fact
	notKept := r.known.Change(func(k record) (record, error) {
		if err == nil && k.Newest != "" && update.Newer(k.Newest, m.Version) {
			err = message.Error(message.UpdateOlder(), nil)
		}
		if err != nil {
			k = r.failed(k)
		} else {
			k = r.heard(k, m)
		}
		return k, r.Data.Update(func(tx *store.Tx) error {
			facts = nil
			if err == nil && r.newer(k) && !(byItself && r.deps.Silent()) {
				facts = r.deps.News(tx, k.Newest, r.todo(k), byItself)
			}
			return tx.PutDoc(doc, k)
		})
	})
	r.Signal(office.StatusChanged)
	if notKept != nil {
		return update.Manifest{}, notKept
	}
	r.deps.Announce(facts...)
	return m, err
}

func (r *Service) heard(k record, m update.Manifest) record {
	now := r.Now().Round(0)
	k.Newest, k.Page, k.Files, k.Heard = m.Version, m.Page, m.Files, now
	k.Failing, k.Tries = time.Time{}, 0
	k.Rest = loop.CoolFor(now, everyDay+time.Duration(r.Jitter()*float64(time.Hour)))
	return k
}

func (r *Service) failed(k record) record {
	now := r.Now().Round(0)
	if k.Failing.IsZero() || k.Failing.After(now) {
		k.Failing = now
	}
	k.Tries++
	k.Rest = loop.CoolFor(now, r.Backoff(k.Tries, firstRetry, everyDay))
	return k
}

// State returns what is known, from memory.
func (r *Service) State() office.Update {
	u := office.Update{Version: r.deps.Version, Offered: r.Offered()}
	if !u.Offered {
		return u
	}
	u.Version = update.Plain(u.Version)
	k := r.known.Get()
	u.Newest, u.Newer, u.Checked = k.Newest, r.newer(k), k.Heard
	if k.Installing != "" && update.Newer(k.Installing, u.Version) && !r.installing.Load() {
		u.Trouble = message.UpdateNotInstalled(k.Installing)
	} else if days := int(r.Age(k.Failing) / (24 * time.Hour)); !k.Failing.IsZero() && r.Age(k.Failing) >= silentFor {
		u.Trouble = message.UpdateSilence(days)
	}
	if !u.Newer {
		return u
	}
	u.Todo, u.Address = r.todo(k), k.Page
	if f, known := r.file(k.Files); known {
		u.File = office.UpdateFile{Name: f.Name, Address: r.deps.Client.Address(f), Size: f.Size, SHA256: f.SHA256}
		u.Offers, u.OneClick = true, f.Kind == update.Installer
		u.Address, u.Path = u.File.Address, r.pathOf(k.Newest)
	}
	return u
}

func (r *Service) newer(k record) bool {
	return k.Newest != "" && update.Newer(k.Newest, update.Plain(r.deps.Version))
}

// file returns the one of files that replaces this program.
func (r *Service) file(files []update.File) (update.File, bool) {
	return update.Manifest{Files: files}.File(r.deps.System, r.deps.Arch, r.deps.Kind)
}

// todo says what a person must do to get the newest version.
func (r *Service) todo(k record) message.Message {
	if f, known := r.file(k.Files); known {
		path := r.pathOf(k.Newest)
		switch {
		case f.Kind == update.Installer:
			return message.UpdateInSettings()
		case path != "":
			return install(f.Kind, quoted(path))
		case f.Kind == update.Server:
			return message.UpdateDownloadServer()
		}
		return message.UpdateDownload()
	}
	if k.Page != "" {
		return message.UpdateFromPage(k.Page)
	}
	return message.UpdateFromMaker()
}

func install(kind, file string) message.Message {
	switch kind {
	case update.Deb:
		return message.UpdateWithPackage(file)
	case update.RPM:
		return message.UpdateWithRPM(file)
	case update.Tar:
		return message.UpdateWithArchive(file)
	}
	return message.UpdateWithProgram(file)
}

func quoted(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+~-") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// How long an installation waits for sending and saving to finish, and how often it checks.
const (
	patience = 2 * time.Minute
	lookBusy = 500 * time.Millisecond
)

// Install fetches and checks the newest version. It starts an installer for Windows: if path is empty and err nil, the program must
// end. Other files are installed by a person: path is the checked file. Progress may be nil.
func (r *Service) Install(ctx context.Context, progress func(office.UpdateStep)) (path string, err error) {
	if !r.Offered() {
		return "", message.Error(message.UpdatesNotOffered(), nil)
	}
	if progress == nil {
		progress = func(office.UpdateStep) {}
	}
	r.turn.Lock()
	defer r.turn.Unlock()
	m, err := r.latest(ctx, false) // the current file with its current signature
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
	r.fetched.Store(nil)
	progress(office.UpdateStep{Total: f.Size})
	path, err = r.deps.Client.Download(ctx, f, r.deps.Folder, func(got int64) { progress(office.UpdateStep{Got: got, Total: f.Size}) })
	if err != nil {
		return "", err
	}
	if f.Kind != update.Installer {
		r.fetched.Store(&fetched{m.Version, path})
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

// fetched is a version's downloaded and checked file, for a person to install.
type fetched struct{ version, path string }

// pathOf returns the path of a version's checked file; empty for none.
func (r *Service) pathOf(version string) string {
	if f := r.fetched.Load(); f != nil && f.version == version {
		return f.path
	}
	return ""
}

// waits reports whether the folder may contain a file that a person has yet to install.
func (r *Service) waits() bool { return r.deps.Kind != update.Installer && r.newer(r.known.Get()) }

// start starts the installer at path as soon as nothing is in progress.
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
	installer, err := update.Hold(path, f) // checks it again after the wait
	if err != nil {
		return err
	}
	defer installer.Close()
	r.installing.Store(true)
	if err := r.note(version); err != nil {
		r.installing.Store(false)
		return err
	}
	if err := r.deps.Start(installer); err != nil {
		r.installing.Store(false)
		if undone := r.note(""); undone != nil {
			r.Log.Warn("note that nothing is installed", "err", undone)
		}
		return err
	}
	return nil
}

// note records the version being installed, so that the next start can tell whether that succeeded.
func (r *Service) note(version string) error {
	return r.known.Change(func(k record) (record, error) {
		k.Installing = version
		return k, r.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(doc, k) })
	})
}
