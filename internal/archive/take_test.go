package archive

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// source is a file of another program's, open for reading.
func source(t *testing.T, content []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Offer.docx")
	must(t, os.WriteFile(path, content, 0o644))
	file, err := os.Open(path)
	must(t, err)
	t.Cleanup(func() { file.Close() })
	return file
}

func TestACopyIsTheFileAndForItsOwnerAlone(t *testing.T) {
	for _, size := range []int{1, bufferSize, buffersEach * bufferSize, buffersEach*bufferSize + 1, 20*bufferSize + 1} {
		dir := t.TempDir()
		content := bytes.Repeat([]byte{7}, size)
		from := source(t, content)
		os.Remove(from.Name()) // as a mail program does
		saved, err := open(t, dir).Take(t.Context(), Taking{Target: "out/1", Source: from})
		if err != nil || saved != (Taken{Size: int64(size), SHA256: sha256Of(content)}) {
			t.Fatalf("%d: %+v, %v", size, saved, err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "out", "1"))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		info, err := os.Stat(filepath.Join(dir, "out", "1"))
		if err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
}

func TestAFileThatChangesWhileItIsTakenIsNotTaken(t *testing.T) {
	content := bytes.Repeat([]byte("old "), 1000)
	for name, change := range map[string]func(path string, was fs.FileInfo) error{
		"other bytes under the old time": func(path string, was fs.FileInfo) error {
			return errors.Join(os.WriteFile(path, bytes.Repeat([]byte("new "), 1000), 0o644), os.Chtimes(path, was.ModTime(), was.ModTime()))
		},
		"touched": func(path string, was fs.FileInfo) error {
			return os.Chtimes(path, was.ModTime().Add(1), was.ModTime().Add(1))
		},
		"longer": func(path string, was fs.FileInfo) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("more")
			return errors.Join(err, f.Close(), os.Chtimes(path, was.ModTime(), was.ModTime()))
		},
		"shorter": func(path string, was fs.FileInfo) error {
			return errors.Join(os.Truncate(path, 4), os.Chtimes(path, was.ModTime(), was.ModTime()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f, from := open(t, dir), source(t, content)
			was, err := from.Stat()
			must(t, err)
			f.Steps = func(s Step, _ string) {
				if err := change(from.Name(), was); s != StepWritten || err != nil {
					t.Errorf("%s: %v", s, err)
				}
			}
			if _, err := f.Take(t.Context(), Taking{Target: "out/1", Source: from}); !errors.Is(err, ErrChanged) {
				t.Errorf("%v", err)
			}
			left, err := os.ReadDir(filepath.Join(dir, "out"))
			if err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestACopyThatCannotBeMadeLeavesNothing(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	closed := source(t, []byte("x"))
	closed.Close()
	for name, c := range map[string]struct {
		ctx  context.Context
		take Taking
		want error
	}{
		"no room":      {t.Context(), Taking{Target: "1", Source: source(t, []byte("x")), Spare: math.MaxUint64 / 2}, ErrFull},
		"stopped":      {stopped, Taking{Target: "1", Source: source(t, []byte("x"))}, context.Canceled},
		"gone":         {t.Context(), Taking{Target: "1", Source: closed}, ErrUnread},
		"a bad name":   {t.Context(), Taking{Target: "../1", Source: source(t, []byte("x"))}, ErrBadName},
		"a taken name": {t.Context(), Taking{Target: "taken", Source: source(t, []byte("x"))}, ErrExists},
		"not a file":   {t.Context(), Taking{Target: "1", Source: folder(t)}, ErrUnread},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "taken"), []byte("here"), 0o600))
			if _, err := open(t, dir).Take(c.ctx, c.take); !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func folder(t *testing.T) *os.File {
	t.Helper()
	file, err := os.Open(t.TempDir())
	must(t, err)
	t.Cleanup(func() { file.Close() })
	return file
}
