//go:build linux

package powercut

import (
	"context"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

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
