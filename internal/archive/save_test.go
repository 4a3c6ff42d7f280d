package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"countersign/internal/disk"
	"countersign/internal/trytest"

	"go.uber.org/goleak"
)

// pdf is a document of n bytes, at least 16.
func pdf(n int) []byte {
	b := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
	copy(b, "%PDF-1.7\n")
	copy(b[n-7:], "\n%%EOF\n")
	return b
}

func digest(b []byte) string {
	sum := newDigest()
	sum.Write(b)
	return digestText(sum)
}

func sha256Of(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func open(t *testing.T, dir string) *Folder {
	t.Helper()
	f := must(OpenFolder(dir))
	t.Cleanup(func() { f.Close() })
	return f
}

func TestABodyWithoutAnEndDoesNotFillTheDisk(t *testing.T) {
	endless := func() io.Reader {
		return io.MultiReader(bytes.NewReader(pdf(1<<20)), zeros{})
	}
	for name, c := range map[string]struct {
		free, largest int64
		most          int64 // written
		want          error
	}{
		"a small disk": {free: 100 << 20, largest: 1 << 40, most: 98 << 20, want: ErrFull},
		"a large disk": {free: 1 << 40, largest: 64 << 20, most: 64 << 20, want: ErrLong},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := open(t, dir)
			var most int64
			f.largest = c.largest
			f.free = func(*os.File) (uint64, bool) {
				var used int64
				entries, err := os.ReadDir(dir)
				if err != nil {
					t.Error(err)
				}
				for _, e := range entries {
					if info, err := e.Info(); err == nil {
						used += info.Size()
					}
				}
				most = max(most, used)
				return uint64(max(c.free-used, 0)), true
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := f.Save(ctx, Request{Target: "a.pdf", Key: "k", Declared: -1, Body: endless()})
			if !errors.Is(err, c.want) || most > c.most {
				t.Errorf("%v, want %v; %d bytes were written", err, c.want, most)
			}
			wantFiles(t, dir)
			whole := pdf(9 << 20)
			r := request("b.pdf", whole)
			r.Declared = -1
			if _, err := f.Save(t.Context(), r); err != nil {
				t.Errorf("a document that fits: %v", err)
			}
		})
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func request(target string, body []byte) Request {
	return Request{Target: target, Key: "p/d/executed", Declared: int64(len(body)), Body: bytes.NewReader(body)}
}

// files lists everything below dir but folders, sorted, with forward slashes.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		list = append(list, filepath.ToSlash(rel))
		return err
	})
	noErr(t, err)
	return list
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := files(t, dir); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("files are %q, want %q", got, want)
	}
}

func TestSaveWritesTheWholeDocument(t *testing.T) {
	for _, size := range []int{16, headSize - 1, headSize, headSize + 1, bufferSize, bufferSize + 1, 20*bufferSize + 7} {
		dir := t.TempDir()
		body := pdf(size)
		saved := must(open(t, dir).Save(t.Context(), request("2026/Lease/a.pdf", body)))
		if saved != (Saved{int64(size), digest(body), false}) {
			t.Errorf("%d bytes: got %+v", size, saved)
		}
		got, err := os.ReadFile(filepath.Join(dir, "2026", "Lease", "a.pdf"))
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes: the file differs (%v)", size, err)
		}
		wantFiles(t, dir, "2026/Lease/a.pdf")
	}
}

func TestSaveTakesAnyReader(t *testing.T) {
	body := pdf(5000)
	for name, r := range map[string]io.Reader{
		"one byte at a time":        iotest.OneByteReader(bytes.NewReader(body)),
		"error with last bytes":     iotest.DataErrReader(bytes.NewReader(body)),
		"halves":                    iotest.HalfReader(bytes.NewReader(body)),
		"more than waits in memory": bytes.NewReader(pdf(2*writeBehind + 5)),
		"header after some junk":    io.MultiReader(strings.NewReader("\xef\xbb\xbf\n\n"), bytes.NewReader(body)),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := open(t, dir)
			must(f.Save(t.Context(), Request{Target: "a.pdf", Declared: -1, Body: r}))
			b := must(os.ReadFile(filepath.Join(dir, "a.pdf")))
			if _, err := f.Save(t.Context(), request("b.pdf", b)); err != nil { // with its length announced
				t.Fatal(err)
			}
			wantFiles(t, dir, "a.pdf", "b.pdf")
		})
	}
}

func TestSaveRefusesWhatIsNotTheDocument(t *testing.T) {
	broken := errors.New("connection reset by peer")
	late := append(bytes.Repeat([]byte{' '}, headSize), "%PDF-1.7"...)
	tests := []struct {
		name string
		r    Request
		want error
	}{
		{"page of HTML", Request{Declared: -1, Body: strings.NewReader("<html>Sign in</html>")}, ErrNotPDF},
		{"nothing", Request{Declared: -1, Body: strings.NewReader("")}, ErrNotPDF},
		{"nothing of something", Request{Declared: 10, Body: strings.NewReader("")}, ErrShort},
		{"header too late", Request{Declared: -1, Body: bytes.NewReader(late)}, ErrNotPDF},
		{"short in the beginning", Request{Declared: 100, Body: bytes.NewReader(pdf(99))}, ErrShort},
		{"short by one", Request{Declared: 600001, Body: bytes.NewReader(pdf(600000))}, ErrShort},
		{"long by one", Request{Declared: 599999, Body: bytes.NewReader(pdf(600000))}, ErrLong},
		{"long in the beginning", Request{Declared: 20, Body: bytes.NewReader(pdf(21))}, ErrLong},
		{"breaks off at once", Request{Declared: -1, Body: iotest.ErrReader(broken)}, broken},
		{"breaks off in the beginning", Request{Declared: -1, Body: io.MultiReader(bytes.NewReader(pdf(500)), iotest.ErrReader(io.ErrUnexpectedEOF))}, io.ErrUnexpectedEOF},
		{"breaks off later", Request{Declared: 700000, Body: io.MultiReader(bytes.NewReader(pdf(600000)), iotest.ErrReader(broken))}, ErrDownload},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.r.Target = "Lease.pdf"
			_, err := open(t, dir).Save(t.Context(), tt.r)
			if !errors.Is(err, tt.want) || tt.name == "short by one" && !strings.HasSuffix(err.Error(), "600000 of 600001") {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if text := Message(err).String(); !strings.Contains(text, "“Lease.pdf”") || !strings.HasSuffix(text, ".") {
				t.Errorf("sentence is %q", text)
			}
			wantFiles(t, dir)
		})
	}
}

func TestSaveStopsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	body := io.MultiReader(bytes.NewReader(pdf(300000)), readFunc(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	}))
	_, err := open(t, dir).Save(ctx, Request{Target: "a.pdf", Declared: -1, Body: body})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantFiles(t, dir)
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestSaveNeverReplaces(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	old := pdf(2000)
	must(f.Save(t.Context(), request("a.pdf", old)))
	other := pdf(3000)
	saved, err := f.Save(t.Context(), request("a.pdf", other))
	if !errors.Is(err, ErrExists) || saved.Digest != digest(other) {
		t.Errorf("got %+v, %v", saved, err)
	}
	if same, err := f.Matches("a.pdf", saved.Size, saved.Digest); same || err != nil {
		t.Errorf("another document matches (%v)", err)
	}
	wantFiles(t, dir, "a.pdf")
	link := os.Symlink("a.pdf", filepath.Join(dir, "b.pdf")) // if the system has links
	for target, want := range map[string]bool{"a.pdf": true, "b.pdf": false, "gone.pdf": false, "gone/a.pdf": false} {
		if same, err := f.Matches(target, 2000, digest(old)); same != want || err != nil {
			t.Errorf("%s matches: %v, %v (%v)", target, same, err, link)
		}
	}
}

func TestCommitComesBeforeTheName(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	body := pdf(2000)
	r := request("a.pdf", body)
	r.Commit = func(s Saved) error {
		if s.Digest != digest(body) {
			t.Errorf("commit of %+v", s)
		}
		if _, err := os.Stat(filepath.Join(dir, "a.pdf")); err == nil {
			t.Error("the name is there before the commit")
		}
		return errors.New("database is closed")
	}
	if _, err := f.Save(t.Context(), r); err == nil || !strings.Contains(err.Error(), "database is closed") {
		t.Errorf("got %v", err)
	}
	ctx, end := context.WithCancel(t.Context())
	r = request("a.pdf", body)
	r.Commit = func(Saved) error { end(); return nil }
	if _, err := f.Save(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("ended meanwhile: got %v", err)
	}
	wantFiles(t, dir)
}

func TestWhatAFileWillBeIsRecordedWhileTheDiskIsBusyAndItsNameComesAfterBoth(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	f.Syncs = NewSyncLimiter(1)
	f.Syncs.turns <- struct{}{} // the disk is busy
	r := request("a.pdf", pdf(2000))
	r.Commit = func(Saved) error {
		time.Sleep(20 * time.Millisecond) // longer than the rename would take
		if found, err := filepath.Glob(filepath.Join(dir, "a.pdf")); len(found) > 0 || err != nil {
			t.Errorf("a name before the flush: %v, %v", found, err)
		}
		<-f.Syncs.turns // would block for ever if the commit came after the flush
		return nil
	}
	must(f.Save(t.Context(), r))
	wantFiles(t, dir, "a.pdf")
}

func TestADocumentIsRecordedAsItCameWhateverItsFileBecomes(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	came, other := pdf(4096), bytes.ReplaceAll(pdf(4096), []byte("0"), []byte("9"))
	f.Steps = func(s Step, _ string) {
		if s == StepWritten {
			temps, _ := filepath.Glob(filepath.Join(dir, ".countersign-*.part"))
			noErr(t, os.WriteFile(temps[0]+"x", other, 0o600))
			noErr(t, os.Rename(temps[0]+"x", temps[0]))
		}
	}
	saved := must(f.Save(t.Context(), Request{Target: "a.pdf", Body: bytes.NewReader(came), Declared: 4096, Key: "k"}))
	if saved.Digest != digest(came) {
		t.Error("another file is recorded as what was downloaded")
	}
}

func TestACommitThatPanicsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	r := request("a.pdf", pdf(2000))
	r.Commit = func(Saved) error { panic("a bug") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		f.Save(t.Context(), r)
	}()
	wantFiles(t, dir)
}

func TestSaveRefusesNamesItDidNotMake(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	for _, target := range []string{"", ".", "..", "../a.pdf", "/a.pdf", "a/../../b.pdf", `a\b.pdf`, "c:a.pdf", "a//b.pdf", ".hidden.pdf", "NUL", "con.pdf", "a\x00.pdf", "x./a.pdf",
		"autostart/update.desktop", "a.lnk", "a.pdf.bat", "a", "a.pdf/b"} {
		if _, err := f.Save(t.Context(), request(target, pdf(2000))); !errors.Is(err, ErrBadName) {
			t.Errorf("%q: got %v", target, err)
		}
	}
	wantFiles(t, dir)
}

func TestFlushesTakeTurns(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	f.Syncs = NewSyncLimiter(1)
	f.Syncs.turns <- struct{}{} // as if another file were being flushed
	ctx, cancel := context.WithCancel(t.Context())
	f.Steps = func(step Step, _ string) {
		if step == StepWritten {
			cancel() // a waiting save can be cancelled
		}
	}
	if _, err := f.Save(ctx, request("a.pdf", pdf(5000))); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantFiles(t, dir)
	written, flushed := make(chan struct{}), make(chan struct{})
	f.Steps = func(step Step, _ string) {
		switch step {
		case StepWritten:
			close(written)
		case StepFlushed:
			close(flushed)
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := f.Save(context.Background(), request("a.pdf", pdf(5000)))
		done <- err
	}()
	<-written
	select {
	case <-flushed:
		t.Error("flushed out of turn")
	case <-time.After(50 * time.Millisecond):
	}
	<-f.Syncs.turns
	noErr(t, <-done)
	if len(f.Syncs.turns) != 0 {
		t.Error("a turn was not given back")
	}
}

func TestFilesSavedSideBySideShareTheFlushOfTheirFolder(t *testing.T) {
	const many = 20
	dir := t.TempDir()
	flushes := NewSyncLimiter(many)
	var moment, flushed atomic.Int64 // flushed: the time at which the last finished flush had begun
	var count, named atomic.Int64
	broken := errors.New("the disk is broken")
	flushes.flush = func(*os.File) error { return broken }
	if f := open(t, dir); true {
		f.Syncs = flushes
		if _, err := f.Save(t.Context(), request("first.pdf", pdf(5000))); !errors.Is(err, broken) {
			t.Errorf("saved where names do not last: %v", err)
		}
	}
	flushes.flush = func(folder *os.File) error {
		count.Add(1)
		began := moment.Add(1)
		for time.Sleep(20 * time.Millisecond); count.Load() == 1 && named.Load() < many; { // simulates a slow disk
			time.Sleep(time.Millisecond)
		}
		err := disk.Flush(folder)
		flushed.Store(began)
		return err
	}
	var saves sync.WaitGroup
	for i := range many {
		saves.Go(func() {
			f := open(t, dir) // each opens its own, as the agent does
			f.Syncs = flushes
			var when int64
			f.Steps = func(step Step, target string) {
				switch step {
				case StepNamed:
					when = moment.Add(1)
					named.Add(1)
				case StepDone:
					if flushed.Load() < when {
						t.Errorf("%s was done before a flush that began after it had its name", target)
					}
				}
			}
			if _, err := f.Save(t.Context(), request(fmt.Sprintf("%d.pdf", i), pdf(5000))); err != nil {
				t.Error(err)
			}
		})
	}
	saves.Wait()
	if n := count.Load(); n > many/2 {
		t.Errorf("%d files took %d flushes of their folder", many, n)
	}
	if len(flushes.folders) != 0 || len(flushes.turns) != 0 {
		t.Errorf("left: %d flushes, %d turns", len(flushes.folders), len(flushes.turns))
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }
