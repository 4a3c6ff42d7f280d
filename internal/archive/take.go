package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"

	"countersign/internal/disk"
	"countersign/internal/office/filename"
)

// Taking is a file to be copied into a folder.
type Taking struct {
	Target string   // path below the folder with forward slashes
	Source *os.File // a regular file, open for reading; not closed
	Spare  uint64   // bytes that must stay free on the disk
	Shared bool     // the copy is as readable as any document here; else by its owner alone
}

// Taken is what a copy is made of.
type Taken struct {
	Size   int64  // bytes
	SHA256 string // hex; the copy is checked against it once more when it is sent
}

// Take copies a file of any kind into the folder and returns when the copy is on the disk under its name, or when
// nothing of it is left. The copy is the file as it was at one moment: one that changes meanwhile
// fails with ErrChanged. Where the file system can share the bytes, the copy takes no room until one of the two changes.
// It never replaces a file.
func (f *Folder) Take(ctx context.Context, t Taking) (Taken, error) {
	if !filename.Safe(t.Target) {
		return Taken{}, f.fail(t.Target, ErrBadName, nil)
	}
	before, err := t.Source.Stat()
	if err != nil {
		return Taken{}, f.fail(t.Target, ErrUnread, err)
	}
	dir, err := f.prepare(path.Dir(t.Target))
	if err != nil {
		return Taken{}, f.because(t.Target, err)
	}
	defer dir.Close()
	temp, err := createTemp(dir, t.Target)
	if err != nil {
		return Taken{}, f.because(t.Target, err)
	}
	defer temp.discard()
	if !t.Shared {
		temp.mode = 0o600
	}

	var taken Taken
	if shareBytes(temp.file, t.Source) == nil {
		taken, err = f.measure(ctx, t, dir, temp.name)
	} else {
		taken, err = f.copyOver(ctx, t, dir.File(), temp.file, before.Size())
	}
	if err != nil {
		return Taken{}, err
	}
	after, err := t.Source.Stat()
	if err != nil {
		return Taken{}, f.fail(t.Target, ErrUnread, err)
	}
	if after.Size() != taken.Size || !after.ModTime().Equal(before.ModTime()) {
		return Taken{}, f.fail(t.Target, ErrChanged, nil)
	}
	if err := f.flush(ctx, temp.finish); err != nil {
		return Taken{}, f.because(t.Target, err)
	}
	if err := dir.NameNew(temp.name, path.Base(t.Target)); err != nil {
		return Taken{}, f.because(t.Target, err)
	}
	temp.kept = true
	if err := f.flushFolders(path.Dir(t.Target)); err != nil {
		return Taken{}, f.because(t.Target, err)
	}
	return taken, nil
}

// measure is what a shared copy is made of.
func (f *Folder) measure(ctx context.Context, t Taking, dir *disk.Dir, name string) (Taken, error) {
	file, err := dir.Open(name, nil, 0)
	if err != nil {
		return Taken{}, f.because(t.Target, err)
	}
	defer file.Close()
	f.step(StepWritten, t.Target)
	taken, err := digestOf(ctx, file)
	if err != nil {
		return Taken{}, f.because(t.Target, err)
	}
	return taken, nil
}

// copyOver copies size bytes of the source, and reads them a second time: a time stamp is too coarse, and on a share too
// late, to tell of every change.
func (f *Folder) copyOver(ctx context.Context, t Taking, dir, file *os.File, size int64) (Taken, error) {
	if free, known := freeSpace(dir); known && uint64(size)+t.Spare > free {
		return Taken{}, f.fail(t.Target, ErrFull, nil)
	}
	body := newIntake(ctx, io.NewSectionReader(t.Source, 0, size+1), sha256.New())
	defer body.close()
	copied := int64(0)
	for {
		chunk, err := body.next()
		copied += int64(len(chunk))
		if _, err := file.Write(chunk); err != nil {
			return Taken{}, f.because(t.Target, err)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return Taken{}, f.unread(t.Target, err)
		}
		body.writtenBehind(file, copied)
	}
	taken := Taken{Size: copied, SHA256: hex.EncodeToString(body.digest().Sum(nil))}
	f.step(StepWritten, t.Target)
	again, err := digestOf(ctx, io.NewSectionReader(t.Source, 0, size+1))
	if err != nil {
		return Taken{}, f.unread(t.Target, err)
	}
	if again != taken {
		return Taken{}, f.fail(t.Target, ErrChanged, nil)
	}
	return taken, nil
}

// unread is the error of a source that could not be read.
func (f *Folder) unread(target string, cause error) error {
	if errors.Is(cause, context.Canceled) {
		return f.fail(target, nil, cause)
	}
	return f.fail(target, ErrUnread, cause)
}

func digestOf(ctx context.Context, r io.Reader) (Taken, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, reader{ctx, r})
	return Taken{Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}
