//go:build linux

package powercut

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"countersign/internal/fasttest"
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
	n := &node{ino: d.made, gen: d.made, mode: mode, changed: time.Now()}
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

const (
	sector = 512  // bytes that are written whole or not at all
	page   = 4096 // bytes that a system usually writes together
)

// forget makes of the disk what is found after the power cut: a change or write that was not flushed is there or not, as
// random decides, and from then on all of it is durable. The same disk and the same choices come out the same.
func (d *Disk) forget(random *rand.Rand) {
	keeping := []float64{0, 0.5, 1, random.Float64()}[random.IntN(4)]
	d.forgetNames(random, keeping)
	nodes := slices.SortedFunc(maps.Keys(d.reached()), func(a, b *node) int { return cmp.Compare(a.gen, b.gen) })
	for _, n := range nodes {
		n.forget(random)
		n.ino = n.gen // the number may have been given to another, and both are there
	}
	d.free = nil
}

// forgetNames keeps each change with a probability, if what it builds upon is kept.
func (d *Disk) forgetNames(random *rand.Rand, keeping float64) {
	undone := map[place]bool{}
	for _, c := range d.changes {
		keep := random.Float64() < keeping
		if !keep || slices.ContainsFunc(c.entries, func(e entry) bool { return undone[e.place] }) {
			for _, e := range c.entries {
				undone[e.place] = true
			}
			continue
		}
		c.keep()
	}
	d.changes = nil
	for n := range d.reached() {
		if n.isFolder() {
			n.names = maps.Clone(n.keptNames)
		}
	}
}

// forget gives a node back what the disk has of it.
func (n *node) forget(random *rand.Rand) {
	if len(n.writes) > 0 {
		n.kept = n.survivors(random)
		n.data, n.writes = slices.Clone(n.kept), nil
	}
}

// survivors is what is found in the file: how many of the writes each piece of it has seen is up to chance.
func (n *node) survivors(random *rand.Rand) []byte {
	all := len(n.writes)
	longest := int64(len(n.kept))
	for _, w := range n.writes {
		longest = max(longest, w.size)
	}
	pieces := make([]int, (longest+sector-1)/sector) // how many writes each has seen
	sized := all                                     // and how many the length
	switch random.IntN(6) {
	case 0: // nothing was written
		sized = 0
	case 1: // all of it was
		fill(pieces, func(int) int { return all })
	case 2: // up to a moment in the middle of a write
		sized = random.IntN(all + 1)
		fill(pieces, func(int) int { return max(0, sized-random.IntN(2)) })
	case 3: // the length was, and nothing else
	case 4: // page by page, whichever came first
		last := 0
		fill(pieces, func(i int) int {
			if i%(page/sector) == 0 {
				last = random.IntN(all + 1)
			}
			return last
		})
	case 5: // sector by sector
		sized = random.IntN(all + 1)
		fill(pieces, func(int) int { return random.IntN(all + 1) })
	}
	found := make([]byte, longest)
	copy(found, n.kept)
	size := int64(len(n.kept))
	for i, w := range n.writes {
		if i < sized {
			size = w.size
		}
		w.apply(found, func(piece int) bool { return i < pieces[piece] })
	}
	return found[:size]
}

func fill(pieces []int, seen func(i int) int) {
	for i := range pieces {
		pieces[i] = seen(i)
	}
}

// apply does the write in those pieces of a file that have seen it.
func (w write) apply(file []byte, seen func(piece int) bool) {
	end := w.off + int64(len(w.data))
	if w.data == nil {
		end = int64(len(file)) // what is cut off reads as zeros when the file grows again
	}
	for at := w.off; at < end; {
		next := min(end, (at/sector+1)*sector)
		if seen(int(at / sector)) {
			if w.data == nil {
				clear(file[at:next])
			} else {
				copy(file[at:next], w.data[at-w.off:])
			}
		}
		at = next
	}
}

// at is what is at a slashed path below a folder, nil for nothing.
func (n *node) at(name string) *node {
	for _, element := range strings.Split(path.Clean(name), "/") {
		if element == "" || element == "." {
			continue
		}
		if n = n.names[element]; n == nil {
			return nil
		}
	}
	return n
}

func (n *node) collect(below string, files map[string][]byte) {
	for name, child := range n.names {
		at := path.Join(below, name)
		switch {
		case child.isFolder():
			child.collect(at, files)
		case child.mode&syscall.S_IFMT == syscall.S_IFREG:
			files[at] = slices.Clone(child.data)
		}
	}
}

// file is a node as the kernel sees it while the disk is mounted. Its methods are what the kernel asks for (fuse.h).
type file struct {
	fusefs.Inode
	disk *Disk
	node *node
}

var _ interface {
	fusefs.NodeLookuper
	fusefs.NodeGetattrer
	fusefs.NodeSetattrer
	fusefs.NodeReaddirer
	fusefs.NodeMkdirer
	fusefs.NodeMknoder
	fusefs.NodeCreater
	fusefs.NodeOpener
	fusefs.NodeReader
	fusefs.NodeWriter
	fusefs.NodeFlusher
	fusefs.NodeFsyncer
	fusefs.NodeLinker
	fusefs.NodeSymlinker
	fusefs.NodeReadlinker
	fusefs.NodeUnlinker
	fusefs.NodeRmdirer
	fusefs.NodeRenamer
	fusefs.NodeStatfser
} = (*file)(nil)

func (f *file) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	if no := f.disk.enter(false); no != 0 {
		return nil, no
	}
	defer f.disk.leave()
	n := f.node.names[name]
	if n == nil {
		return nil, syscall.ENOENT
	}
	return f.inode(ctx, n, out), 0
}

// inode is the kernel's view of a node, which has its attributes at once.
func (f *file) inode(ctx context.Context, n *node, out *fuse.EntryOut) *fusefs.Inode {
	n.describe(&out.Attr)
	return f.NewInode(ctx, &file{disk: f.disk, node: n}, fusefs.StableAttr{Mode: n.mode & syscall.S_IFMT, Ino: n.ino, Gen: n.gen})
}

func (n *node) describe(a *fuse.Attr) {
	a.Ino, a.Mode, a.Size, a.Nlink = n.ino, n.mode, uint64(len(n.data)), 1
	a.Blksize, a.Blocks = page, (a.Size+sector-1)/sector
	a.SetTimes(&n.changed, &n.changed, &n.changed)
}

func (f *file) Getattr(_ context.Context, _ fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if no := f.disk.enter(false); no != 0 {
		return no
	}
	defer f.disk.leave()
	f.node.describe(&out.Attr)
	return 0
}

func (f *file) Setattr(_ context.Context, _ fusefs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if no := f.disk.enter(true); no != 0 {
		return no
	}
	defer f.disk.leave()
	if size, ok := in.GetSize(); ok {
		f.node.truncate(int64(size))
	}
	if mode, ok := in.GetMode(); ok {
		f.node.mode = f.node.mode&syscall.S_IFMT | mode&^syscall.S_IFMT
	}
	if when, ok := in.GetMTime(); ok {
		f.node.changed = when
	}
	f.node.describe(&out.Attr)
	return 0
}

func (f *file) Readdir(context.Context) (fusefs.DirStream, syscall.Errno) {
	if no := f.disk.enter(false); no != 0 {
		return nil, no
	}
	defer f.disk.leave()
	var list []fuse.DirEntry
	for name, n := range f.node.names {
		list = append(list, fuse.DirEntry{Name: name, Mode: n.mode & syscall.S_IFMT, Ino: n.ino})
	}
	return fusefs.NewListDirStream(list), 0
}

// add makes a new node with a name.
func (f *file) add(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	if no := f.disk.enter(true); no != 0 {
		return nil, no
	}
	defer f.disk.leave()
	if f.node.names[name] != nil {
		return nil, syscall.EEXIST
	}
	n := f.disk.newNode(mode)
	f.disk.put(entry{place{f.node, name}, n})
	return f.inode(ctx, n, out), 0
}

func (f *file) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return f.add(ctx, name, syscall.S_IFDIR|mode&^syscall.S_IFMT, out)
}

func (f *file) Mknod(ctx context.Context, name string, mode, _ uint32, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return f.add(ctx, name, mode, out)
}

func (f *file) Create(ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut) (*fusefs.Inode, fusefs.FileHandle, uint32, syscall.Errno) {
	n, no := f.add(ctx, name, syscall.S_IFREG|mode&^syscall.S_IFMT, out)
	return n, nil, 0, no
}

func (f *file) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	n, no := f.add(ctx, name, syscall.S_IFLNK|0o777, out)
	if no == 0 {
		link := n.Operations().(*file).node
		link.data, link.kept = []byte(target), []byte(target) // which are one with the name
	}
	return n, no
}

func (f *file) Readlink(context.Context) ([]byte, syscall.Errno) {
	if no := f.disk.enter(false); no != 0 {
		return nil, no
	}
	defer f.disk.leave()
	return f.node.data, 0
}

func (f *file) Link(_ context.Context, target fusefs.InodeEmbedder, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	if no := f.disk.enter(true); no != 0 {
		return nil, no
	}
	defer f.disk.leave()
	if f.node.names[name] != nil {
		return nil, syscall.EEXIST
	}
	other := target.(*file)
	f.disk.put(entry{place{f.node, name}, other.node})
	other.node.describe(&out.Attr)
	return other.EmbeddedInode(), 0
}

func (f *file) Unlink(_ context.Context, name string) syscall.Errno {
	if no := f.disk.enter(true); no != 0 {
		return no
	}
	defer f.disk.leave()
	if f.node.names[name] == nil {
		return syscall.ENOENT
	}
	f.disk.put(entry{place{f.node, name}, nil})
	return 0
}

func (f *file) Rmdir(_ context.Context, name string) syscall.Errno {
	if no := f.disk.enter(true); no != 0 {
		return no
	}
	defer f.disk.leave()
	n := f.node.names[name]
	if n == nil {
		return syscall.ENOENT
	}
	if len(n.names) > 0 {
		return syscall.ENOTEMPTY
	}
	f.disk.put(entry{place{f.node, name}, nil})
	f.disk.free = append(f.disk.free, n.ino)
	return 0
}

// Rename knows RENAME_NOREPLACE (renameat2(2)) and no other flag.
func (f *file) Rename(_ context.Context, name string, to fusefs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	const noReplace = 1
	if no := f.disk.enter(true); no != 0 {
		return no
	}
	defer f.disk.leave()
	folder := to.(*file).node
	moved, there := f.node.names[name], folder.names[newName]
	switch {
	case flags&^noReplace != 0:
		return syscall.EINVAL
	case moved == nil:
		return syscall.ENOENT
	case there == moved:
		return 0
	case there != nil && flags == noReplace:
		return syscall.EEXIST
	case there != nil && there.isFolder() && len(there.names) > 0:
		return syscall.ENOTEMPTY
	}
	f.disk.put(entry{place{f.node, name}, nil}, entry{place{folder, newName}, moved})
	return 0
}

func (f *file) Open(_ context.Context, flags uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	truncates := flags&syscall.O_TRUNC != 0
	if no := f.disk.enter(truncates); no != 0 {
		return nil, 0, no
	}
	defer f.disk.leave()
	if truncates {
		f.node.truncate(0)
	}
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

func (f *file) Read(_ context.Context, _ fusefs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if no := f.disk.enter(false); no != 0 {
		return nil, no
	}
	defer f.disk.leave()
	off = min(off, int64(len(f.node.data)))
	return fuse.ReadResultData(dest[:copy(dest, f.node.data[off:])]), 0
}

func (f *file) Write(_ context.Context, _ fusefs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	if no := f.disk.enter(true); no != 0 {
		return 0, no
	}
	defer f.disk.leave()
	f.node.write(data, off)
	return uint32(len(data)), 0
}

// Flush is what a close asks for, which makes nothing durable.
func (f *file) Flush(context.Context, fusefs.FileHandle) syscall.Errno { return 0 }

// Fsync is fsync and fdatasync of files and folders, and what follows a write with O_SYNC or O_DSYNC.
func (f *file) Fsync(context.Context, fusefs.FileHandle, uint32) syscall.Errno {
	if no := f.disk.enter(true); no != 0 {
		return no
	}
	defer f.disk.leave()
	if f.node.isFolder() {
		f.disk.flushFolder(f.node)
	} else {
		f.node.flush()
	}
	return 0
}

// Statfs says that there is plenty of room.
func (f *file) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	out.Bsize, out.Frsize, out.NameLen = page, page, 255
	out.Blocks, out.Bfree, out.Bavail = 1<<24, 1<<23, 1<<23
	return 0
}

// Available says why nothing can be mounted here, in a sentence, or nil: the system knows no FUSE, or this user may not
// mount.
func Available() error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENODEV) {
		return fmt.Errorf("there is no FUSE here: %w", err)
	}
	if err != nil {
		return nil // which is no reason not to try, and to fail
	}
	defer f.Close()
	dir, err := os.MkdirTemp("", "powercut-")
	if err != nil {
		return nil
	}
	defer os.Remove(dir)
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d", f.Fd(), syscall.S_IFDIR, os.Geteuid(), os.Getegid())
	err = syscall.Mount("powercut", dir, "fuse.powercut", syscall.MS_NOSUID|syscall.MS_NODEV, options)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENODEV) {
		for _, helper := range []string{"fusermount3", "fusermount"} {
			if _, lookErr := exec.LookPath(helper); lookErr == nil {
				return nil
			}
		}
		return fmt.Errorf("nothing can be mounted here: %w", err)
	}
	if err == nil {
		_ = syscall.Unmount(dir, syscall.MNT_DETACH)
	}
	return nil
}

// Mount mounts the disk at an empty folder. The process that mounts it may use it, but not map files of it into memory:
// a goroutine that waits for such memory holds up the ones that would fill it.
func (d *Disk) Mount(dir string) error {
	forever := 24 * time.Hour // nothing changes but through the kernel, which may remember all it is told
	server, err := fusefs.Mount(dir, &file{disk: d, node: d.root}, &fusefs.Options{
		MountOptions: fuse.MountOptions{
			FsName: "powercut", Name: "powercut", DirectMount: true, DisableXAttrs: true, MaxWrite: 128 << 10,
			Logger: log.New(io.Discard, "", 0), // it tells of every disk that is taken away
		},
		EntryTimeout: &forever, AttrTimeout: &forever, NullPermissions: true,
		UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		RootStableAttr: &fusefs.StableAttr{Ino: d.root.ino, Gen: d.root.gen, Mode: syscall.S_IFDIR},
	})
	if err != nil {
		return err
	}
	d.dir, d.server = dir, server
	return nil
}

// Unmount takes the disk away. Whoever still has a file of it open, or a view of the mounted systems from before, can do
// nothing with it any more.
func (d *Disk) Unmount() error {
	if d.server == nil {
		return nil
	}
	d.LetGo()
	err := syscall.Unmount(d.dir, syscall.MNT_FORCE|syscall.MNT_DETACH)
	if errors.Is(err, syscall.EPERM) {
		err = d.server.Unmount() // by the helper that mounted it
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", d.dir, err)
	}
	d.server.Wait()
	d.server = nil
	return nil
}

// Restore gives the disk power again, after it was out, and mounts it where it was. Whoever worked on it must have ended.
// What is left of what was not flushed is up to random.
func (d *Disk) Restore(random *rand.Rand) error { return d.again(func() { d.forget(random) }) }

// Resume takes the cut back, as if it had never happened: who worked on the disk was killed, and the power stays. What was
// not flushed is still there, and still not flushed.
func (d *Disk) Resume() error { return d.again(func() {}) }

func (d *Disk) again(meanwhile func()) error {
	d.Cut()
	if err := d.Unmount(); err != nil {
		return err
	}
	d.mu.Lock()
	meanwhile()
	d.left, d.out, d.letGo = -1, make(chan struct{}), make(chan struct{})
	d.mu.Unlock()
	return d.Mount(d.dir)
}

// Trial does something on a new disk, again and again, and looks at what is found after the power failed: at each of the
// first Steps requests to the disk that change something, and as soon as it was done. Every second time it is killed first, at
// some point, and done once more from the beginning.
//
// None of the functions may map files into memory.
type Trial struct {
	Steps  int
	Before func(home string) error // what is there and flushed, nil for nothing
	Do     func(home string) error // its error fails the test where nothing interrupts it
	Look   func(t *testing.T, found Found)
}

// Found is what a trial finds after a power cut.
type Found struct {
	Home  string            // a folder that was there before; the disk is mounted, with power
	Files map[string][]byte // what is in it
	Done  bool              // Do had ended without an error
}

// Run makes the trial. Where nothing can be mounted, and in the fast loop, the test is skipped, and says so.
func (x Trial) Run(t *testing.T) {
	t.Helper()
	fasttest.Slow(t)
	if err := Available(); err != nil {
		t.Skipf("NOT RUN: the power cannot fail, for %v", err)
	}
	for seed := range uint64(40 + 2*x.Steps) {
		if x.once(t, seed); t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

func (x Trial) once(t *testing.T, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	d, dir := New(), placeFor(t)
	must(t, d.Mount(dir))
	home := filepath.Join(dir, "home")
	must(t, os.Mkdir(home, 0o755))
	if x.Before != nil {
		must(t, x.Before(home))
	}
	d.Flush()
	if seed%2 == 1 {
		d.interrupt(1+random.IntN(x.Steps), func() error { return x.Do(home) })
		must(t, d.Resume())
	}
	err, interrupted := d.interrupt(1+int(seed)%(x.Steps+x.Steps/2), func() error { return x.Do(home) })
	if !interrupted && err != nil {
		t.Errorf("without a power cut: %v", err)
	}
	must(t, d.Restore(random))
	x.Look(t, Found{Home: home, Files: d.Files("home"), Done: err == nil})
	must(t, d.Unmount())
}

// placeFor is a folder to mount a disk at: in memory, if possible, for whoever makes sure of the way to his files flushes the
// folders above it, too.
func placeFor(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "powercut-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.Remove(dir) })
	return dir
}

// interrupt does something and has the power go out before the nth request on the way, or afterwards.
func (d *Disk) interrupt(n int, do func() error) (err error, interrupted bool) {
	out := d.CutAfter(n)
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	select {
	case err = <-ended:
	case <-out:
		d.LetGo()
		err, interrupted = <-ended, true
	}
	d.Cut()
	return err, interrupted
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
