//go:build linux

package powercut

import (
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Disk is the file system. Safe for concurrent use, but for Mount, Restore, Resume and Unmount.
type Disk struct {
	dir    string // where it is mounted, "" for nowhere
	server *fuse.Server

	mu      sync.Mutex
	root    *node
	made    uint64    // nodes
	free    []uint64  // numbers of folders that were removed, which the next ones get, as on many file systems
	changes []*change // of names, not flushed, oldest first
	left    int       // requests until the power goes out; negative for never
	out     chan struct{}
	letGo   chan struct{} // closed when whoever waits for a dead disk is told so
}

// node is a file, folder, link or socket.
type node struct {
	ino, gen uint64 // the latter is no other node's
	mode     uint32 // with its type, as programs see it
	keptMode uint32
	changed  time.Time

	data, kept []byte  // of a file: what programs see, and what was flushed; of a link, data is where it leads
	writes     []write // since the last flush, oldest first

	names, keptNames map[string]*node // of a folder
}

// write is a piece written at off or, with data nil, the new size of the file.
type write struct {
	off  int64
	data []byte
	size int64 // of the file, afterwards
}

// change is one step in the life of names: all of it is done, or nothing.
type change struct{ entries []entry }

// entry is a name in a folder and what it stands for afterwards, nil for nothing.
type entry struct {
	place
	node *node
}

type place struct {
	folder *node
	name   string
}

// New is an empty disk.
func New() *Disk {
	d := &Disk{left: -1, out: make(chan struct{}), letGo: make(chan struct{})}
	d.root = d.newNode(syscall.S_IFDIR | 0o755)
	return d
}

func (d *Disk) newNode(mode uint32) *node {
	d.made++
	n := &node{ino: d.made, gen: d.made, mode: mode, keptMode: mode, changed: time.Now()}
	if !n.isFolder() {
		return n
	}
	n.names, n.keptNames = map[string]*node{}, map[string]*node{}
	if last := len(d.free) - 1; last >= 0 {
		n.ino, d.free = d.free[last], d.free[:last]
	}
	return n
}

func (n *node) isFolder() bool { return n.mode&syscall.S_IFMT == syscall.S_IFDIR }

// CutAfter has the power go out before the nth request from now on that changes or flushes something (1 is the next one).
// Every request from then on waits until LetGo. The channel is closed when the power is out.
func (d *Disk) CutAfter(n int) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = n
	return d.out
}

// Cut has the power go out now.
func (d *Disk) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut()
}

func (d *Disk) cut() {
	if !d.isOut() {
		close(d.out)
	}
}

func (d *Disk) isOut() bool {
	select {
	case <-d.out:
		return true
	default:
		return false
	}
}

// LetGo answers with errors whoever waits for the dead disk: a killed process ends no sooner than its requests.
func (d *Disk) LetGo() {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.letGo:
	default:
		close(d.letGo)
	}
}

// Flush flushes everything, as a system does that shuts down.
func (d *Disk) Flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.commit(d.changes)
	for n := range d.reached() {
		n.flush()
	}
}

// enter begins a request; with power, it ends with leave. A request that changes something counts.
func (d *Disk) enter(changes bool) syscall.Errno {
	d.mu.Lock()
	if changes && d.left > 0 {
		if d.left--; d.left == 0 {
			d.cut()
		}
	}
	if !d.isOut() {
		return 0
	}
	d.mu.Unlock()
	<-d.letGo
	return syscall.EIO
}

func (d *Disk) leave() { d.mu.Unlock() }

// put changes names.
func (d *Disk) put(entries ...entry) {
	for _, e := range entries {
		if e.node == nil {
			delete(e.folder.names, e.name)
		} else {
			e.folder.names[e.name] = e.node
		}
		e.folder.changed = time.Now()
	}
	d.changes = append(d.changes, &change{entries})
}

// flushFolder makes the names in a folder durable, and what of other folders belongs to them: a file is never renamed
// from one folder to nowhere.
func (d *Disk) flushFolder(folder *node) {
	needed := map[place]bool{}
	var flushed []*change
	for _, c := range slices.Backward(d.changes) {
		wanted := slices.ContainsFunc(c.entries, func(e entry) bool { return e.folder == folder || needed[e.place] })
		if !wanted {
			continue
		}
		for _, e := range c.entries {
			needed[e.place] = true
		}
		flushed = append(flushed, c)
	}
	slices.Reverse(flushed)
	d.commit(flushed)
	folder.keptMode = folder.mode
}

// commit makes some of the changes durable.
func (d *Disk) commit(changes []*change) {
	for _, c := range changes {
		c.keep()
	}
	d.changes = slices.DeleteFunc(slices.Clone(d.changes), func(c *change) bool { return slices.Contains(changes, c) })
}

func (c *change) keep() {
	for _, e := range c.entries {
		if e.node == nil {
			delete(e.folder.keptNames, e.name)
		} else {
			e.folder.keptNames[e.name] = e.node
		}
	}
}

// flush makes what is in a file durable.
func (n *node) flush() {
	if len(n.writes) > 0 {
		n.kept, n.writes = slices.Clone(n.data), nil
	}
	n.keptMode = n.mode
}

func (n *node) write(data []byte, off int64) {
	n.grow(off + int64(len(data)))
	copy(n.data[off:], data)
	n.writes = append(n.writes, write{off: off, data: slices.Clone(data), size: int64(len(n.data))})
	n.changed = time.Now()
}

func (n *node) truncate(size int64) {
	if size == int64(len(n.data)) {
		return
	}
	n.grow(size)
	clear(n.data[size:])
	n.data = n.data[:size]
	n.writes = append(n.writes, write{off: size, size: size})
	n.changed = time.Now()
}

// grow makes the file at least as long as size, with zeros.
func (n *node) grow(size int64) {
	if more := size - int64(len(n.data)); more > 0 {
		n.data = append(n.data, make([]byte, more)...)
	}
}

// reached are all nodes that have a name, seen or durable.
func (d *Disk) reached() map[*node]bool {
	found := map[*node]bool{}
	var walk func(n *node)
	walk = func(n *node) {
		if found[n] {
			return
		}
		found[n] = true
		for _, names := range []map[string]*node{n.names, n.keptNames} {
			for _, child := range names {
				walk(child)
			}
		}
	}
	walk(d.root)
	return found
}

// Files are the plain files below a folder of this disk, a slashed path, as programs see them, by their path below it. It
// works without power, too.
func (d *Disk) Files(folder string) map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	files := map[string][]byte{}
	if n := d.root.at(folder); n != nil {
		n.collect("", files)
	}
	return files
}
