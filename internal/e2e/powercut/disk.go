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

// Disk is the file system. Safe for concurrent use, except for Mount, Restore, Resume and Unmount.
type Disk struct {
	dir    string // mount point, "" while unmounted
	server *fuse.Server

	mu      sync.Mutex
	root    *node
	made    uint64    // nodes
	free    []uint64  // numbers of removed folders, which are reused as on many file systems
	changes []*change // unflushed changes of names, oldest first
	left    int       // requests until the power fails; negative for never
	out     chan struct{}
	letGo   chan struct{} // closed to fail the requests that wait for the dead disk
}

// node is a file, folder, link or socket.
type node struct {
	ino, gen uint64 // gen is unique
	mode     uint32 // including the type, as programs see it
	changed  time.Time

	data, kept []byte  // of a file: what programs see, and what was flushed; of a link, data is its target
	writes     []write // since the last flush, oldest first

	names, keptNames map[string]*node // of a folder
}

// write is a piece of data at off or, if data is nil, a new size of the file.
type write struct {
	off  int64
	data []byte
	size int64 // of the file afterwards
}

// change is an atomic change of names.
type change struct{ entries []entry }

// entry is a name in a folder and its new node; nil means that it is removed.
type entry struct {
	place
	node *node
}

type place struct {
	folder *node
	name   string
}

// New returns an empty disk.
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

// CutAfter makes the power fail before the nth changing or flushing request from now on (1 is the next one). Every request
// after that blocks until LetGo. The channel is closed when the power has failed.
func (d *Disk) CutAfter(n int) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = n
	return d.out
}

// Cut makes the power fail now.
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

// LetGo fails all requests that wait for the dead disk: a killed process cannot end before its requests do.
func (d *Disk) LetGo() {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.letGo:
	default:
		close(d.letGo)
	}
}

// Flush flushes everything, as a system does when it shuts down.
func (d *Disk) Flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.commit(d.changes)
	for n := range d.reached() {
		n.flush()
	}
}

// enter begins a request; if there is power, leave must end it. Requests that change something are counted.
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

// put changes names atomically.
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

// flushFolder makes the names in a folder durable, and the parts of the same changes in other folders: a file is never
// renamed from one folder to nowhere.
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

// flush makes the contents of a file durable.
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

// grow extends the file to at least size with zeros.
func (n *node) grow(size int64) {
	if more := size - int64(len(n.data)); more > 0 {
		n.data = append(n.data, make([]byte, more)...)
	}
}

// reached are all nodes that have a visible or a durable name.
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

// Files are the regular files below a folder (a slashed path) as programs see them, by their path below it. It works without
// power, too.
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
	sector = 512  // bytes that are written atomically
	page   = 4096 // bytes that a system usually writes together
)

// forget computes the state of the disk after the power cut: random decides which unflushed changes and writes took place;
// from then on all of it is durable. The same disk and the same choices give the same result.
func (d *Disk) forget(random *rand.Rand) {
	keeping := []float64{0, 0.5, 1, random.Float64()}[random.IntN(4)]
	d.forgetNames(random, keeping)
	nodes := slices.SortedFunc(maps.Keys(d.reached()), func(a, b *node) int { return cmp.Compare(a.gen, b.gen) })
	for _, n := range nodes {
		n.forget(random)
		n.ino = n.gen // its number may have been reused while both nodes exist
	}
	d.free = nil
}

// forgetNames keeps each change with a probability, provided that the changes it depends on are kept.
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

// forget resets a node to what the disk has of it.
func (n *node) forget(random *rand.Rand) {
	if len(n.writes) > 0 {
		n.kept = n.survivors(random)
		n.data, n.writes = slices.Clone(n.kept), nil
	}
}

// survivors is the content found in a file: chance decides which writes each piece of it has seen.
func (n *node) survivors(random *rand.Rand) []byte {
	all := len(n.writes)
	longest := int64(len(n.kept))
	for _, w := range n.writes {
		longest = max(longest, w.size)
	}
	pieces := make([]int, (longest+sector-1)/sector) // number of writes that each has seen
	sized := all                                     // number of writes that the length has seen
	switch random.IntN(6) {
	case 0: // nothing was written
		sized = 0
	case 1: // everything was written
		fill(pieces, func(int) int { return all })
	case 2: // everything up to the middle of a write
		sized = random.IntN(all + 1)
		fill(pieces, func(int) int { return max(0, sized-random.IntN(2)) })
	case 3: // only the length was written
	case 4: // pages were written in any order
		last := 0
		fill(pieces, func(i int) int {
			if i%(page/sector) == 0 {
				last = random.IntN(all + 1)
			}
			return last
		})
	case 5: // sectors were written in any order
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

// apply applies the write to those pieces of a file that have seen it.
func (w write) apply(file []byte, seen func(piece int) bool) {
	end := w.off + int64(len(w.data))
	if w.data == nil {
		end = int64(len(file)) // what was cut off reads as zeros when the file grows again
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

// at is the node at a slashed path below a folder, nil if there is none.
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

// file is a node as the kernel sees it while the disk is mounted. Its methods are the kernel's requests (fuse.h).
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

// inode is the kernel's view of a node, with its attributes.
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

// add creates a node with a name.
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
		link.data, link.kept = []byte(target), []byte(target) // a link's target is as durable as its name
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

// Rename supports RENAME_NOREPLACE (renameat2(2)) and no other flag.
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

// Flush is called on close and makes nothing durable.
func (f *file) Flush(context.Context, fusefs.FileHandle) syscall.Errno { return 0 }

// Fsync handles fsync and fdatasync of files and folders, and the flush after a write with O_SYNC or O_DSYNC.
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

// Statfs reports plenty of free space.
func (f *file) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	out.Bsize, out.Frsize, out.NameLen = page, page, 255
	out.Blocks, out.Bfree, out.Bavail = 1<<24, 1<<23, 1<<23
	return 0
}

// Available returns nil, or a sentence that says why nothing can be mounted here: the system has no FUSE, or this user may
// not mount.
func Available() error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENODEV) {
		return fmt.Errorf("there is no FUSE here: %w", err)
	}
	if err != nil {
		return nil // unknown: try anyway, and fail if necessary
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

// Mount mounts the disk at an empty folder. The mounting process may use the disk, but must not map its files into memory: a
// goroutine waiting for such memory blocks those that would fill it.
func (d *Disk) Mount(dir string) error {
	forever := 24 * time.Hour // everything changes through the kernel, so it may cache for ever
	server, err := fusefs.Mount(dir, &file{disk: d, node: d.root}, &fusefs.Options{
		MountOptions: fuse.MountOptions{
			FsName: "powercut", Name: "powercut", DirectMount: true, DisableXAttrs: true, MaxWrite: 128 << 10,
			Logger: log.New(io.Discard, "", 0), // it logs every forced unmount
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

// Unmount takes the disk away. Processes that still have a file of it open, or an older view of the mounts, can no longer
// use it.
func (d *Disk) Unmount() error {
	if d.server == nil {
		return nil
	}
	d.LetGo()
	err := syscall.Unmount(d.dir, syscall.MNT_FORCE|syscall.MNT_DETACH)
	if errors.Is(err, syscall.EPERM) {
		err = d.server.Unmount() // uses the helper that mounted it
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", d.dir, err)
	}
	d.server.Wait()
	d.server = nil
	return nil
}

// Restore restores the power after a cut and mounts the disk again. All its users must have ended. random decides what
// remains of unflushed data.
func (d *Disk) Restore(random *rand.Rand) error { return d.again(func() { d.forget(random) }) }

// Resume undoes the cut, as if it had never happened: the disk's users were killed, but the power stayed on. Unflushed data
// is still there, and still unflushed.
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

// Trial repeats an operation on a new disk and checks what remains after a power failure: at each of the first Steps
// changing requests, and right after the operation. Every second time the operation is first killed at some point and then
// repeated from the beginning.
//
// None of the functions may map files into memory.
type Trial struct {
	Steps  int
	Before func(home string) error // creates the initial, flushed contents; nil for none
	Do     func(home string) error // an error fails the test if nothing interrupted it
	Look   func(t *testing.T, found Found)
}

// Found is the result of a power cut.
type Found struct {
	Home  string            // the initial folder; the disk is mounted and has power
	Files map[string][]byte // its contents
	Done  bool              // Do had returned nil
}

// Run runs the trial. It skips the test if nothing can be mounted, and in the fast loop.
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

// placeFor is a folder to mount a disk at. It is in memory if possible, because code that makes the path to its files
// durable also flushes the folders above the disk.
func placeFor(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "powercut-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.Remove(dir) })
	return dir
}

// interrupt calls do and makes the power fail before the nth request during it, or afterwards.
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
