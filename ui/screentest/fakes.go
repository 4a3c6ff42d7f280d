package screentest

import (
	"context"
	"slices"
	"strings"
	"sync"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/system"
)

// System is a env.System that remembers.
type System struct {
	mu        sync.Mutex
	NoBrowser error           // why no address is opened; nil when it is
	NoPrinter error           // likewise
	Opened    []string        // what was opened, after its kind: "address https://…", "file /…", "folder of /…"
	Lost      map[string]bool // files that are no longer there

	// OnChoose is the desktop's file dialog; nil where it has none.
	OnChoose func(context.Context, system.FileDialog) ([]string, error)
}

func (s *System) open(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Opened = append(s.Opened, what)
	return nil
}

// SoFar is Opened while work may still open something.
func (s *System) SoFar() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.Opened)
}

// Exists is env.System's: a file is there unless it is lost.
func (s *System) Exists(path string) bool { return !s.Lost[path] }

// OpenAddress is env.System's.
func (s *System) OpenAddress(_ context.Context, address string) error {
	if s.NoBrowser != nil {
		return s.NoBrowser
	}
	return s.open("address " + address)
}

// OpenFile is env.System's.
func (s *System) OpenFile(path string) error { return s.open("file " + path) }

// ShowInFolder is env.System's.
func (s *System) ShowInFolder(path string) error { return s.open("folder of " + path) }

// CopyFiles is env.System's.
func (s *System) CopyFiles(_ context.Context, paths []string) error {
	return s.open("copied " + strings.Join(paths, " "))
}

// MailFiles is env.System's.
func (s *System) MailFiles(_ context.Context, paths []string) error {
	return s.open("mailed " + strings.Join(paths, " "))
}

// PrintFiles is env.System's.
func (s *System) PrintFiles(_ context.Context, paths []string) error {
	if s.NoPrinter != nil {
		return s.NoPrinter
	}
	return s.open("printed " + strings.Join(paths, " "))
}

// Choose is env.System's.
func (s *System) Choose(ctx context.Context, d system.FileDialog) ([]string, error) {
	if s.OnChoose == nil {
		return nil, system.ErrNoDialog
	}
	return s.OnChoose(ctx, d)
}

// ways are env.Ways that remember.
type ways struct{ b *Bench }

func (w ways) went(where string) { w.b.Went = append(w.b.Went, where) }

func (w ways) ShowPackage(id string) { w.went("package " + id) }
func (w ways) ShowSettings()         { w.went("settings") }
func (w ways) ShowCompose()          { w.went("compose") }
func (w ways) ShowHelp()             { w.went("help") }
func (w ways) SignIn(prompt string)  { w.went("sign in " + prompt) }
func (w ways) SignOut()              { w.went("sign out") }
func (w ways) Quit()                 { w.went("quit") }

func (w ways) EditDraft(d office.Draft) { w.went("edit " + d.ID) }

func (w ways) Act(i agent.Issue, done func()) {
	w.went("act " + i.ID)
	if done != nil {
		done()
	}
}

func (w ways) SendLike(d office.NewPackage) {
	w.went("send like")
	w.b.Like = append(w.b.Like, d)
}
