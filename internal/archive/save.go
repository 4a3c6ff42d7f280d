// Package archive turns an executed document into a file, so that a file under its final name is always complete. It also
// copies the files that are to be signed.
//
// It promises:
//   - A path that leaves the folder, or is not safe on every system, is refused (filename.Safe).
//   - [Folder.Save] never replaces a file. The bytes go to a hidden temporary file in the folder of the target, are checked,
//     flushed and then renamed without replacing; the folder is flushed last. After any error the temporary file is gone;
//     after a crash [Folder.Sweep] removes it.
//   - A document that cannot prove that it is complete, by its PDF end or by arriving twice with the same bytes, gets no
//     final name.
//   - [Folder.Take] copies a file as it was at one moment, or not at all.
//   - Memory does not grow with the size of a document.
//   - Every error has a text for people, see [Message].
//
// It does not know where the bytes come from, which packages exist, what was saved before, or when to try again: that is up
// to its caller. It logs nothing and leaves no goroutine behind.
package archive

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/zeebo/blake3"

	"countersign/internal/disk"
	"countersign/internal/office/filename"
)

// Request is one document to be saved.
type Request struct {
	Target   string    // path below the folder with forward slashes, as Template.Name makes it
	Key      string    // identifies the job for Sweep, see Token; the same for every attempt
	Declared int64     // bytes the sender announced, -1 if it did not; a shorter or longer body is refused
	Body     io.Reader // read to its end, not closed

	// Before is the digest of what an earlier attempt received but could not prove to be complete; empty for none. If the
	// same bytes arrive again, they are accepted as the document. The caller leaves enough time between attempts that they
	// do not suffer from the same failure. With Any, any bytes are accepted, provided that they have the announced length.
	Before string

	// Commit, when set, is called once all bytes have arrived, with the size and digest of the file, while the disk is still
	// flushing the temporary file. The file gets its final name after both. With what Commit records, a restart recognises
	// the finished file by Matches instead of downloading it again. An error from Commit aborts the save.
	Commit func(Saved) error
}

// Any is the value of Request.Before for a document that always arrives without its end, with different bytes each time.
const Any = "any"

type Saved struct {
	Size   int64  // bytes
	Digest string // Matches recognises the file by it
	NoEnd  bool   // its end does not prove that it is complete
}

// Step is a point in the course of a save, for Folder.Steps.
type Step string

const (
	StepCreated Step = "created" // the temporary file is there, empty
	StepWritten Step = "written" // all bytes are in it, checked but not flushed
	StepFlushed Step = "flushed" // and flushed
	StepNamed   Step = "named"   // the file has its final name
	StepDone    Step = "done"    // the folder is flushed too
)

// extension is the extension of all documents. Nothing else is saved: a file with another extension may be one that the system
// executes.
const extension = ".pdf"

// headSize is the part in which "%PDF-" must begin: readers accept some bytes before it, and 970 of 971 documents comply.
const headSize = 1024

// Save writes one document. It returns when the file is on the disk under its final name, or when nothing of it is left: any
// error removes the temporary file. It never replaces a file. If the target appears before the rename, Save fails with
// ErrExists and still returns what it received, so that the caller can check with Matches whether that file is the same
// document.
//
// A document proves that it is complete by its end, or by arriving twice with the same bytes. If it does neither, Save fails
// with ErrNoEnd and also returns what it received: the caller tries again and passes the digest as Request.Before.
//
// The context stops it between two reads of the body; a body that blocks in Read must itself end with that context, as the
// body of an HTTP response does. After the rename, Save ignores the context.
func (f *Folder) Save(ctx context.Context, r Request) (Saved, error) {
	if !filename.Safe(r.Target) || !strings.EqualFold(path.Ext(r.Target), extension) {
		return Saved{}, f.fail(r.Target, ErrBadName, nil)
	}
	sum := newDigest()
	body := newIntake(ctx, r.Body, sum)
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
	saved := Saved{size, digestText(sum), !proof.whole(size)}
	if saved.NoEnd && saved.Digest != r.Before && (r.Before != Any || r.Declared < 0) {
		return saved, f.fail(r.Target, ErrNoEnd, nil)
	}
	f.step(StepWritten, r.Target)
	if err := f.settle(ctx, r, temp, saved); err != nil {
		return Saved{}, err
	}
	if err := dir.NameNew(temp.name, path.Base(r.Target)); err != nil {
		f.forget(path.Dir(r.Target)) // another computer may just have given the name, perhaps to this document
		return saved, f.because(r.Target, err)
	}
	f.step(StepNamed, r.Target)
	// The file has its name: the rest is done even if nobody waits for it any more.
	if err := f.Syncs.names(dir.File()); err != nil {
		return saved, f.because(r.Target, err)
	}
	f.step(StepDone, r.Target)
	return saved, nil
}

// settle flushes the temporary file while the caller records the result in Commit.
func (f *Folder) settle(ctx context.Context, r Request, temp *temp, saved Saved) error {
	flushing := make(chan error, 1)
	go func() { flushing <- f.Syncs.file(ctx, temp.finish) }()
	flushed := sync.OnceValue(func() error { return <-flushing })
	defer flushed() // even if Commit fails, nobody touches the file while it is being flushed

	var recorded error
	if r.Commit != nil && ctx.Err() == nil {
		recorded = r.Commit(saved)
	}
	if err := flushed(); err != nil {
		return f.because(r.Target, err)
	}
	f.step(StepFlushed, r.Target)
	if err := ctx.Err(); err != nil {
		return f.fail(r.Target, nil, err)
	}
	if recorded != nil {
		return f.fail(r.Target, nil, fmt.Errorf("record what will be saved: %w", recorded))
	}
	return nil
}

func (f *Folder) step(step Step, target string) {
	if f.Steps != nil {
		f.Steps(step, target)
	}
}

// sniff reads the beginning of the body and rejects what is not a PDF before any file is created. The returned bytes are
// valid until the body is read further.
func (f *Folder) sniff(body *intake, r Request) ([]byte, error) {
	head, err := body.peek(headSize)
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

// prepare creates the subfolder and opens it. It makes its name durable in the folders above it, whoever created it: a
// document is only as durable as the path to it.
func (f *Folder) prepare(sub string) (*disk.Dir, error) { return f.at.Make(sub, 0o777) }

const (
	// largest is more than any document of undeclared length: a body longer than that never ends.
	largest = 4 << 30 // bytes

	// spare is how much free space such a document leaves for everything else, or a tenth of the free space if that is less.
	spare = 256 << 20 // bytes
)

// limit is how much a body may write.
type limit struct {
	most int64       // bytes
	room func() bool // checked now and then: enough free space is left on the disk; nil when the length is known
}

// bound limits a body of the declared length, -1 if unknown. A sender may never stop, and other saves and the system itself
// need some of the disk. ok is false when there is no room.
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

// fill copies the body, beginning with the sniffed bytes, into file. It enforces the limit, checks the length and passes the
// bytes to proof.
func (f *Folder) fill(file *os.File, body *intake, r Request, limit limit, proof *evidence) (size int64, err error) {
	looked := int64(0)
	for {
		chunk, err := body.next()
		size += int64(len(chunk))
		if size > limit.most {
			return 0, f.length(r, ErrLong, size)
		}
		if limit.room != nil && size-looked >= writeBehind {
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

// length is the error for a body that was longer or shorter than announced.
func (f *Folder) length(r Request, kind error, got int64) error {
	return &Error{Kind: kind, Folder: f.dir, File: r.Target, Got: got, Want: r.Declared}
}

// download is the error for a body that broke off.
func (f *Folder) download(rel string, cause error) error {
	if errors.Is(cause, context.Canceled) {
		return f.fail(rel, nil, cause)
	}
	return f.fail(rel, ErrDownload, cause)
}

// blake is the prefix of a 256-bit BLAKE3 digest.
const blake = "blake3:"

// newDigest makes the hash by which documents are recognised: as hard to forge as SHA-256, and fast on every processor.
// Without SHA instructions, SHA-256 is slower than the network and the disk.
func newDigest() hash.Hash { return blake3.New() }

func digestText(sum hash.Hash) string { return blake + hex.EncodeToString(sum.Sum(nil)) }

// SHA256 returns the hex SHA-256 of the file at rel if it has this size in bytes and this digest (see Saved). It returns ""
// if the file differs or is missing.
func (f *Folder) SHA256(rel string, size int64, digest string) (string, error) {
	if !filename.Safe(rel) {
		return "", f.fail(rel, ErrBadName, nil)
	}
	file, err := f.openSized(rel, size)
	if err != nil {
		return "", f.because(rel, err)
	}
	if file == nil {
		return "", nil
	}
	defer file.Close()
	saved, sum, err := Sums(io.LimitReader(file, size+1))
	if err != nil {
		return "", f.because(rel, err)
	}
	if saved.Digest != digest {
		return "", nil
	}
	return sum, nil
}

// Sums reads r to its end and returns its size, digest and hex SHA-256.
func Sums(r io.Reader) (s Saved, sha string, err error) {
	known, sum := newDigest(), sha256.New()
	s.Size, err = io.Copy(io.MultiWriter(known, sum), r)
	s.Digest = digestText(known)
	return s, hex.EncodeToString(sum.Sum(nil)), err
}

// OpenSaved opens a saved document, rel below the folder, for reading. The folder may be read-only. Errors are the system's
// or those of package disk.
func OpenSaved(folder, rel string) (*os.File, error) {
	dir, err := disk.OpenDir(folder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	at, name, err := dir.Parent(rel)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	return at.Open(name, nil, 0)
}

// IsSaved reports whether an open file has this size in bytes and this digest (see Saved), and rewinds it to its beginning.
func IsSaved(file *os.File, size int64, digest string) (bool, error) {
	sum := newDigest()
	n, err := io.Copy(sum, io.LimitReader(file, size+1))
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	return err == nil && n == size && digestText(sum) == digest, err
}

// tailSize is how much of the end of a document is examined: readers look for "%%EOF" in the last KiB (ISO 32000-1, Annex H,
// 3.4.4), and 965 of 971 documents comply.
const tailSize = 1024

// evidence collects, while a document passes through, what shows that it is complete. The length announced by the sender
// shows nothing: a proxy that truncates a document announces the truncated length.
type evidence struct {
	promised int64  // bytes, as a linearized document declares at its beginning; 0 if it does not
	tail     []byte // its last bytes
}

// linearized matches the length that a linearized document (made to be displayed while it loads) declares in its first
// bytes.
var linearized = regexp.MustCompile(`/Linearized\b[^>]*?/L\s*(\d{1,18})\b|/L\s*(\d{1,18})\b[^>]*?/Linearized\b`)

// begin examines the beginning of the document.
func (e *evidence) begin(head []byte) {
	match := linearized.FindSubmatch(head[:min(len(head), headSize)])
	if match == nil {
		return
	}
	e.promised, _ = strconv.ParseInt(string(match[1])+string(match[2]), 10, 64)
}

// pass examines the next bytes.
func (e *evidence) pass(chunk []byte) {
	e.tail = append(e.tail, chunk[max(0, len(chunk)-tailSize):]...)
	e.tail = append(e.tail[:0], e.tail[max(0, len(e.tail)-tailSize):]...)
}

// firstPart matches the end of the first part of a linearized document, which looks like the end of a complete one.
var firstPart = regexp.MustCompile(`startxref\s+0\s*$`)

// whole reports whether a document of that many bytes ends as a PDF does. A document that was signed or changed has several
// ends: the last one must be the last thing in it, because a further part would begin with a number, a table or a comment.
// Anything else after it was appended in transit.
func (e *evidence) whole(size int64) bool {
	at := bytes.LastIndex(e.tail, []byte("%%EOF"))
	if at < 0 || size < e.promised || firstPart.Match(e.tail[:at]) {
		return false
	}
	rest := bytes.TrimLeft(e.tail[at+len("%%EOF"):], "\x00\t\n\f\r ")
	return len(rest) == 0 || !bytes.ContainsRune([]byte("0123456789xts%"), rune(rest[0]))
}

// tempName matches the name of a temporary file of this program and captures its token.
var tempName = regexp.MustCompile(`^\.countersign-([0-9a-f]{16})-[0-9a-f]{16}\.part$`)

// Token derives from Request.Key the 16 hexadecimal digits that the temporary file carries in its name, so that a key may
// contain anything and reveals nothing.
func Token(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// temp is an unfinished document: hidden, readable only by its owner, and removed unless it gets its final name.
type temp struct {
	at   *disk.Dir // the subfolder of the target
	name string
	file *os.File
	mode fs.FileMode // of an ordinary document here
	shut bool        // file is closed
}

// createTemp creates the temporary file of a job.
func createTemp(at *disk.Dir, key string) (*temp, error) {
	var random [8]byte
	rand.Read(random[:]) // never fails
	t := &temp{at: at, name: ".countersign-" + Token(key) + "-" + hex.EncodeToString(random[:]) + ".part"}
	// Create the empty file with a document's mode to see what the umask leaves of it: reading the umask means changing it,
	// for every goroutine.
	file, err := at.Create(t.name, 0o644)
	if err != nil {
		return nil, err
	}
	t.file = file
	info, err := file.Stat()
	if err == nil {
		t.mode = info.Mode().Perm()
		err = conceal(file)
	}
	if err != nil {
		t.discard()
		return nil, err
	}
	return t, nil
}

// finish gives the file the mode of a document, flushes and closes it.
func (t *temp) finish() error {
	if err := reveal(t.file, t.mode); err != nil {
		return err
	}
	if err := t.file.Sync(); err != nil {
		return err
	}
	t.shut = true
	return t.file.Close()
}

// discard closes the file, and removes it unless it already has its final name. Sweep removes what discard cannot.
func (t *temp) discard() {
	if !t.shut {
		t.file.Close()
	}
	_ = t.at.Remove(t.name)
}

// tryKey is the key of the file that Try creates, the same on every computer.
const tryKey = "whether files can be made here"

// Try creates a file in the folder, as a save does first, and removes it. Sweep removes it after a crash.
func (f *Folder) Try() error {
	temp, err := createTemp(f.at, tryKey)
	if err != nil {
		return f.because(".", err)
	}
	err = errors.Join(temp.file.Close(), f.at.Remove(temp.name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // another computer's Sweep may have removed it first
		return f.because(".", err)
	}
	return nil
}

// Sweep removes the temporary files that crashes left in the folder and its subfolders, and returns how many. It touches
// only regular files named as this program names them, and of these only those for whose token keep returns false; a nil
// keep keeps none. Those of Try and of an unfinished index always go. Call it when no save is in progress. Where several
// computers share the folder, each puts its own identity into Request.Key and keeps the tokens it does not know: they belong
// to saves in progress on other computers.
//
// An unreadable subfolder does not stop the rest; its error is returned at the end.
func (f *Folder) Sweep(ctx context.Context, keep func(token string) bool) (removed int, err error) {
	return f.sweep(ctx, f.at, ".", filename.MaxDepth-1, keep)
}

// sweep handles the subfolder name of the folder above and, up to depth levels deep, those below it. It skips hidden
// folders: Template makes none.
func (f *Folder) sweep(ctx context.Context, above *disk.Dir, name string, depth int, keep func(string) bool) (removed int, err error) {
	dir, err := above.Sub(name)
	if err != nil {
		return 0, f.because(name, err)
	}
	defer dir.Close()
	var failed []error
	for {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		entries, err := dir.File().ReadDir(256)
		for _, entry := range entries {
			if entry.IsDir() && depth > 0 && entry.Name()[0] != '.' {
				n, err := f.sweep(ctx, dir, entry.Name(), depth-1, keep)
				removed += n
				failed = append(failed, err)
				continue
			}
			match := tempName.FindStringSubmatch(entry.Name())
			if match == nil || !entry.Type().IsRegular() || (keep != nil && match[1] != Token(tryKey) && match[1] != Token(IndexName) && keep(match[1])) {
				continue
			}
			if err := dir.Remove(entry.Name()); err != nil {
				failed = append(failed, f.because(entry.Name(), err))
				continue
			}
			removed++
		}
		if errors.Is(err, io.EOF) {
			return removed, errors.Join(failed...)
		}
		if err != nil {
			return removed, errors.Join(append(failed, f.because(name, err))...)
		}
	}
}
