// Package download brings planned files to the folder: it plans a job per file of an executed package, each with the name
// that it will have, downloads what is due, saves it durably and records it. What the service does not give is asked for
// more and more rarely, and never given up; trouble with one file or folder leaves the others alone; a file is neither
// overwritten nor saved twice.
//
// A job goes through here in this order: Plan (in the commit of whoever learned that everybody has signed), Run, NoteFiles,
// and RunIndex where the office keeps an index.
//
// It must not know how it became known that a package is executed, how people are told, nor how files are written durably
// (archive).
package download

import (
	"context"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Deps are what a Service needs from others. The functions are called from several goroutines.
type Deps struct {
	Settings     func() office.Settings
	Language     func() string // the system's, for an office that has chosen none
	Installation func() string // tells this data folder from every other one

	Online    func() (*esign.Client, bool)               // the service, while somebody is signed in
	Answered  func(ctx context.Context, err error) error // notes how the service answered, nil for well; returns err
	SignedOut func(err error) bool                       // err means that nobody is signed in any more

	// Saved is the fact that p's files are saved, when people were not told yet. Announce tells it once it is
	// committed.
	Saved    func(tx *store.Tx, p office.Package, jobs []office.Job) ([]office.Fact, error)
	Announce func(...office.Fact)

	Ended func()             // a file is not worked on any more
	Ask   func()             // has the service asked about packages that are due
	Crash func(point string) // tests end the process there
}

// Service downloads files. Safe for concurrent use.
type Service struct {
	loop.Base
	deps  Deps
	state state
	work  chan struct{} // rings when there may be work
	index chan struct{} // rings when the index may lack a file
}

// New makes a Service.
func New(t loop.Base, deps Deps) *Service {
	return &Service{Base: t, deps: deps, work: make(chan struct{}, 1), index: make(chan struct{}, 1)}
}

// Wake has Run and RunIndex look for work.
func (r *Service) Wake() {
	loop.Wake(r.work)
	loop.Wake(r.index)
}

// Retry gives the service and every folder another chance at once.
func (r *Service) Retry() { r.state.unblock() }

// Resume lets downloads begin again that wait for the service.
func (r *Service) Resume() { r.state.breaker.Close() }

// FolderChosen is Retry when people have chosen next for documents, and had chosen old before. What was wrong with another
// folder is no news any more; with the same one it is wrong until a file was saved there.
func (r *Service) FolderChosen(old, next string) {
	if old == next {
		r.Retry()
		return
	}
	r.state.forget()
	r.Health.Clear(health.FolderFails)
}

// UnderWay is how many files are worked on.
func (r *Service) UnderWay() int { return len(r.state.busy()) }

// Flowing reports whether downloads that are due begin: nothing is wrong with the service nor with any folder.
func (r *Service) Flowing() bool {
	_, online := r.deps.Online()
	return online && r.pausedFor() == 0 && !r.state.blocking(r.Now())
}
