package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"

	"countersign/internal/disk"
	"countersign/internal/office/filename"
)

// Request is one document to be saved.
type Request struct {
	Target   string    // path below the folder with forward slashes, as Template.Name makes it
	Key      string    // names the job for Sweep, see Token; the same at every try
	Declared int64     // bytes the sender announced, -1 when it did not; a short or long body is refused
	Body     io.Reader // read to its end, not closed

	// Before is the digest of what an earlier try received and could not prove to be whole; empty for none. The same bytes
	// once more are taken for the document. The caller sees to it that the tries are far enough apart not to
	// share the trouble that cut the first one off.
	Before string

	// Commit, when set, is called once all bytes have come, with what the file will be, while the disk is still busy with
	// them under their temporary name. The file gets its final name after both. What Commit records lets a restart
	// recognise the finished file with Matches instead of loading it again. An error from it gives the save up.
	Commit func(Saved) error
}

// Saved is what a file is made of.
type Saved struct {
	Size   int64  // bytes
	Digest string // what Matches recognises it by
}

// Step is a point on the way of a save, for Folder.Steps.
type Step string

const (
	StepCreated Step = "created" // the temporary file is there, empty
	StepWritten Step = "written" // all bytes are in it, checked but not flushed
	StepFlushed Step = "flushed" // and flushed
	StepNamed   Step = "named"   // the file has its final name
	StepDone    Step = "done"    // the folder is flushed too
)

// ending is how the names of documents end. Nothing else is saved: a file of another name may be one that a system runs.
const ending = ".pdf"

// sniffed is where "%PDF-" must begin: readers accept some bytes before it, and 970 of 971 documents keep to this.
const sniffed = 1024

// Save writes one document. It returns when the file is on the disk under its final name, or when nothing of it is left:
// any error removes the temporary file. It never replaces a file. When the target appears before the rename it fails with
// ErrExists and still says what it had received, so the caller can ask Matches whether that is the very same document.
//
// A document proves that it is whole by its end, or by coming twice the same. One that does neither fails with ErrNoEnd,
// which also says what was received: the caller tries again and gives it as Request.Before.
//
// The context stops it between two reads of the body; a body that blocks in Read must end by the same context, as that of
// an HTTP answer does. After the rename it no longer stops.
func (f *Folder) Save(ctx context.Context, r Request) (Saved, error) {
	if !filename.Safe(r.Target) || !strings.EqualFold(path.Ext(r.Target), ending) {
		return Saved{}, f.fail(r.Target, ErrBadName, nil)
	}
	body := newIntake(ctx, r.Body, newDigest())
	defer body.close()
	head, err := f.sniff(body, r)
	if err != nil {
		return Saved{}, err
	}
	var proof evidence
	proof.begin(head)
	dir, err := f.prepare(path.Dir(r.Target))
	if err != nil {
		return Saved{}, f.because(r.Target, err)
	}
	defer dir.Close()
	limit, ok := f.bound(dir.File(), r.Declared)
	if !ok {
		return Saved{}, f.fail(r.Target, ErrFull, nil)
	}

	temp, err := createTemp(dir, r.Key)
	if err != nil {
		return Saved{}, f.because(r.Target, err)
	}
	defer temp.discard()
	f.step(StepCreated, r.Target)

	size, err := f.fill(temp.file, body, r, limit, &proof)
	if err != nil {
		return Saved{}, err
	}
	if !proof.whole(size) {
		if saved := (Saved{size, digestText(body.digest())}); saved.Digest != r.Before {
			return saved, f.fail(r.Target, ErrNoEnd, nil)
		}
	}
	f.step(StepWritten, r.Target)
	saved, err := f.settle(ctx, r, temp, body, size)
	if err != nil {
		return Saved{}, err
	}
	if err := dir.NameNew(temp.name, path.Base(r.Target)); err != nil {
		return saved, f.because(r.Target, err)
	}
	temp.kept = true
	f.step(StepNamed, r.Target)
	// The file has its name: what is left is done even if nobody waits for it any more.
	if err := f.flushNames(dir); err != nil {
		return saved, f.because(r.Target, err)
	}
	f.step(StepDone, r.Target)
	return saved, nil
}

// settle flushes the temporary file, and has the caller record meanwhile what it will be.
func (f *Folder) settle(ctx context.Context, r Request, temp *temp, body *intake, size int64) (Saved, error) {
	flushing := make(chan error, 1)
	go func() { flushing <- f.flush(ctx, temp.finish) }()
	flushed := sync.OnceValue(func() error { return <-flushing })
	defer flushed() // whatever becomes of Commit, nobody touches the file while it is flushed

	saved := Saved{size, digestText(body.digest())}
	body.close() // whoever waits for the disk holds no memory
	var recorded error
	if r.Commit != nil && ctx.Err() == nil {
		recorded = r.Commit(saved)
	}
	if err := flushed(); err != nil {
		return Saved{}, f.because(r.Target, err)
	}
	f.step(StepFlushed, r.Target)
	if err := ctx.Err(); err != nil {
		return Saved{}, f.fail(r.Target, nil, err)
	}
	if recorded != nil {
		return Saved{}, f.fail(r.Target, nil, fmt.Errorf("record what will be saved: %w", recorded))
	}
	return saved, nil
}

func (f *Folder) step(step Step, target string) {
	if f.Steps != nil {
		f.Steps(step, target)
	}
}

// sniff reads the beginning of the body and refuses what is not a PDF before a file is made. The beginning is valid until
// the body is read.
func (f *Folder) sniff(body *intake, r Request) ([]byte, error) {
	head, err := body.peek(sniffed)
	switch {
	case err != nil && err != io.EOF:
		return nil, f.download(r.Target, err)
	case err == io.EOF && int64(len(head)) < r.Declared:
		return nil, f.length(r, ErrShort, int64(len(head)))
	case !bytes.Contains(head, []byte("%PDF-")):
		return nil, f.fail(r.Target, ErrNotPDF, nil)
	}
	return head, nil
}

// prepare makes the subfolder and opens it. It is flushed into the folders above it, once, whoever made it: a document is only as
// durable as the way to it.
func (f *Folder) prepare(sub string) (*disk.Dir, error) { return f.at.Make(sub, 0o777) }

const (
	// largest is more than any document whose length was not announced: what is longer than that has no end.
	largest = 4 << 30 // bytes

	// spare is what such a document leaves on the disk for everything else, or a tenth of what is free if that is less.
	spare = 256 << 20 // bytes
)

// limit is what a body may fill.
type limit struct {
	most int64       // bytes
	room func() bool // looked at now and then: there is still as much left on the disk as must be. Nil when that is known
}

// bound limits a body of a declared length, -1 when that is not known. It may come from a sender that never stops, and the
// disk is not its own: whatever else is saved, and the system itself, need some of it. ok is false when there is no room.
func (f *Folder) bound(dir *os.File, declared int64) (l limit, ok bool) {
	free, known := f.free(dir)
	if declared >= 0 {
		return limit{most: declared}, !known || uint64(declared) <= free
	}
	keep := min(spare, free/10)
	return limit{f.largest, func() bool {
		free, known := f.free(dir)
		return !known || free > keep
	}}, true
}

// fill copies the body into file, what was sniffed of it first, keeps to the limit, checks the length and shows the bytes
// to proof.
func (f *Folder) fill(file *os.File, body *intake, r Request, limit limit, proof *evidence) (size int64, err error) {
	looked := int64(0)
	for {
		chunk, err := body.next()
		size += int64(len(chunk))
		if size > limit.most {
			return 0, f.length(r, ErrLong, size)
		}
		if limit.room != nil && size-looked >= behind {
			if looked = size; !limit.room() {
				return 0, f.fail(r.Target, ErrFull, nil)
			}
		}
		if _, err := file.Write(chunk); err != nil {
			return 0, f.because(r.Target, err)
		}
		proof.pass(chunk)
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, f.download(r.Target, err)
		}
		body.writtenBehind(file, size)
	}
	if size < r.Declared {
		return 0, f.length(r, ErrShort, size)
	}
	return size, nil
}

// length is the error of a body that was longer or shorter than announced.
func (f *Folder) length(r Request, kind error, got int64) error {
	return &Error{Kind: kind, Folder: f.dir, File: r.Target, Got: got, Want: r.Declared}
}

// download is the error of a body that broke off.
func (f *Folder) download(rel string, cause error) error {
	if errors.Is(cause, context.Canceled) {
		return f.fail(rel, nil, cause)
	}
	return f.fail(rel, ErrDownload, cause)
}
