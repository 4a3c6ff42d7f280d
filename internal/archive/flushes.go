package archive

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"sync"

	"countersign/internal/disk"
)

// Flushes are the turns at the disk of those who save side by side: so many flushes run at once. A disk is not faster with
// more of them, and whoever else waits for it, such as the caller's database, waits longer. Files that get their names in
// one folder while it is being flushed share the next flush of it.
type Flushes struct {
	turns chan struct{}
	flush func(folder *os.File) error

	mu      sync.Mutex
	folders []*folderFlush // that have not ended
}

// folderFlush is one flush of a folder, which makes every name durable that was there when it began.
type folderFlush struct {
	folder fs.FileInfo
	begun  bool
	done   chan struct{}
	err    error // once done
}

// NewFlushes lets so many flushes run at once.
func NewFlushes(atOnce int) *Flushes {
	return &Flushes{turns: make(chan struct{}, atOnce), flush: disk.Flush}
}

// file waits for its turn, or for the end of ctx, and runs flush.
func (q *Flushes) file(ctx context.Context, flush func() error) error {
	select {
	case q.turns <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-q.turns }()
	return flush()
}

// names returns when every name that is in the folder now is durable.
func (q *Flushes) names(dir *os.File) error {
	info, err := dir.Stat()
	if err != nil {
		return err
	}
	own, others := q.join(info)
	if own == nil {
		<-others.done
		return others.err
	}
	if others != nil {
		<-others.done
	}
	q.turns <- struct{}{}
	q.mu.Lock()
	own.begun = true // who comes from now on may have a name that it misses
	q.mu.Unlock()
	own.err = q.flush(dir)
	<-q.turns
	q.mu.Lock()
	q.folders = slices.DeleteFunc(q.folders, func(f *folderFlush) bool { return f == own })
	q.mu.Unlock()
	close(own.done)
	return own.err
}

// join finds the flush of a folder that has not begun, which is as good as one's own; when there is none, it returns one
// to run, after others if one is running.
func (q *Flushes) join(folder fs.FileInfo) (own, others *folderFlush) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, f := range q.folders {
		if os.SameFile(f.folder, folder) {
			others = f
		}
	}
	if others != nil && !others.begun {
		return nil, others
	}
	own = &folderFlush{folder: folder, done: make(chan struct{})}
	q.folders = append(q.folders, own)
	return own, others
}
