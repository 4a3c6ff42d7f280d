package agent

import (
	"errors"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/archive"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// maxFolderPause is the longest pause between two looks at a folder that takes no files.
const maxFolderPause = 5 * time.Minute

// saveWatch is what the saving loop remembers beside the store: jobs under way, folders that take no files just now,
// folders that were swept, and how many downloads failed in a row. Safe for concurrent use.
type saveWatch struct {
	mu       sync.Mutex
	underWay map[string]bool // keys of jobs
	blocked  map[string]*block
	clean    map[string]bool
	fails    int

	held loop.Breaker // until when no download begins
}

// begin notes that the job of that key is worked on.
func (w *saveWatch) begin(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.underWay == nil {
		w.underWay = map[string]bool{}
	}
	w.underWay[key] = true
}

// end notes that it is no longer, and reports whether no job is now.
func (w *saveWatch) end(key string) (last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.underWay, key)
	return len(w.underWay) == 0
}

// busy returns the keys of all jobs that are worked on.
func (w *saveWatch) busy() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.underWay)
}

// block is a folder that could not take a file.
type block struct {
	rest  loop.Cooldown
	tries int
	full  bool // it is there, but has no room
}

// block leaves folder alone for after(n) after its nth failure in a row. Downloads that fail side by side count once.
func (w *saveWatch) block(folder string, full bool, now time.Time, after func(n int) time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.blocked == nil {
		w.blocked = map[string]*block{}
	}
	b := w.blocked[folder]
	if b == nil {
		b = &block{}
		w.blocked[folder] = b
	}
	if !b.rest.Over(now) {
		return
	}
	b.tries++
	b.full = full
	b.rest = loop.CoolFor(now, after(b.tries))
}

// isBlocked reports whether folder is to be left alone.
func (w *saveWatch) isBlocked(folder string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.blocked[folder]
	return b != nil && !b.rest.Over(now)
}

// blocking reports whether any folder is blocked.
func (w *saveWatch) blocking(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.blocked {
		if !b.rest.Over(now) {
			return true
		}
	}
	return false
}

// nextTry is when the next blocked folder may be looked at.
func (w *saveWatch) nextTry(now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	least := maxFolderPause
	for _, b := range w.blocked {
		if left := b.rest.Left(now); left > 0 {
			least = min(least, left)
		}
	}
	return now.Add(least)
}

// open notes that folder could be opened, or even took a file, and reports whether that ended the last trouble of any
// folder. Being opened says nothing about a full one.
func (w *saveWatch) open(folder string, took bool) (allWell bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.blocked[folder]
	if b == nil || b.full && !took {
		return false
	}
	delete(w.blocked, folder)
	return len(w.blocked) == 0
}

// unblock gives the service and every folder another chance at once.
func (w *saveWatch) unblock() {
	w.held.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.blocked {
		b.rest, b.tries = loop.Cooldown{}, 0
	}
}

// forget is unblock when the files that waited may be meant for other folders now.
func (w *saveWatch) forget() {
	w.held.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.blocked)
}

func (w *saveWatch) swept(folder string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clean[folder]
}

func (w *saveWatch) sweptNow(folder string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.clean == nil {
		w.clean = map[string]bool{}
	}
	w.clean[folder] = true
}

// fail counts a download that the service did not give, and returns how many there were in a row.
func (w *saveWatch) fail() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fails++
	return w.fails
}

// hold lets no download begin for pause(n) after the nth failure in a row; those under way go on. Failures side by side
// count once.
func (w *saveWatch) hold(now time.Time, pause func(n int) time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held.Left(now) == 0 {
		w.fails++
		w.held.Open(now, pause(w.fails))
	}
}

func (w *saveWatch) worked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fails = 0
}

// blockFolder says once what is wrong with the folder, and leaves its files until it is well again.
func (a *Agent) blockFolder(j office.Job, cause error) error {
	var waiting int
	var moved bool
	if err := a.Data.View(func(tx *store.Tx) error {
		stored, ok, err := tx.Job(j.Key())
		if err != nil {
			return err
		}
		moved = !ok || stored.Folder != j.Folder
		c, err := tx.JobCounts()
		waiting = c.Pending
		return err
	}); err != nil {
		return err
	}
	if moved {
		return nil // it waits for another folder by now, and nobody may look at this one again
	}
	a.saves.block(j.Folder, errors.Is(cause, archive.ErrFull), a.Now(), func(n int) time.Duration { return a.Backoff(n, a.Pace.Folder, maxFolderPause) })
	if current := a.Settings().SaveTo; j.Folder != current && a.saves.isBlocked(current, a.Now()) {
		return nil // one message, and that folder's matters more
	}
	text := folderMessage(j.Folder, cause, waiting)
	a.Health.Set(health.FolderFails, text)
	return nil
}

// folderMessage says what keeps a folder from taking files, of which waiting wait.
func folderMessage(folder string, cause error, waiting int) message.Message {
	name := filepath.Base(folder)
	switch {
	case errors.Is(cause, archive.ErrFull):
		return message.WaitForRoom(name, waiting)
	case errors.Is(cause, archive.ErrReadOnly):
		return message.WaitForPermission(name, waiting)
	case errors.Is(cause, archive.ErrMissing):
		return message.WaitForFolder(name, waiting)
	default:
		return message.Then(archive.Message(cause), message.FilesWait(waiting))
	}
}
