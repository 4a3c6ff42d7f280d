//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d := must(OpenDir(path))
	t.Cleanup(func() { d.Close() })
	return d
}

func write(t *testing.T, path, text string) {
	t.Helper()
	noErr(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestASubfolderIsMadeAndTheFolderAroundItNever(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "share")
	if _, err := OpenDir(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	noErr(t, os.Mkdir(folder, 0o755))
	d := open(t, folder)
	for range 2 {
		sub := must(d.Make("Waiting/one", 0o755))
		sub.Close()
	}
	if info, err := os.Stat(filepath.Join(folder, "Waiting", "one")); err != nil || !info.IsDir() {
		t.Error(info, err)
	}
	noErr(t, os.RemoveAll(folder))
	if sub, err := d.Make("Waiting/two", 0o755); err == nil {
		sub.Close()
		t.Error("it was made in a folder that is not there")
	}
}

// Somebody who may write to the folder replaces a folder or a file by a link: nothing elsewhere is read, created, moved or
// removed.
func TestNoLinkBelowAFolderIsFollowed(t *testing.T) {
	for name, link := range map[string]func(elsewhere, inside string) string{
		"out of the folder":  func(elsewhere, _ string) string { return elsewhere },
		"to a folder inside": func(_, inside string) string { return inside },
	} {
		t.Run(name, func(t *testing.T) {
			elsewhere, d := t.TempDir(), open(t, t.TempDir())
			inside := filepath.Join(d.Path(), "inside")
			noErr(t, os.Mkdir(inside, 0o755))
			for _, place := range []string{elsewhere, inside} {
				write(t, filepath.Join(place, "private"), "private")
			}
			write(t, filepath.Join(d.Path(), "x"), "x")
			to := link(elsewhere, inside)
			noErr(t, os.Symlink(to, filepath.Join(d.Path(), "Sent")))
			noErr(t, os.Symlink(filepath.Join(to, "private"), filepath.Join(d.Path(), "x.pdf")))
			if sub, err := d.Sub("Sent"); !errors.Is(err, ErrLink) {
				t.Errorf("opened %v, %v", sub, err)
			}
			if sub, err := d.Make("Sent/deeper", 0o755); !errors.Is(err, ErrLink) {
				t.Errorf("made %v, %v", sub, err)
			}
			if info, err := d.Find("Sent/private"); !errors.Is(err, ErrLink) {
				t.Errorf("found %v, %v", info, err)
			}
			if file, err := d.Open("x.pdf", nil, 0); !errors.Is(err, ErrLink) {
				t.Errorf("opened %v, %v", file, err)
			}
			for _, way := range []string{"Sent/x", "../x", "..", ".", ""} {
				if err := d.Move("x", d, way); !errors.Is(err, fs.ErrInvalid) {
					t.Errorf("moved to %q: %v", way, err)
				}
				if err := d.Remove(way); !errors.Is(err, fs.ErrInvalid) {
					t.Errorf("removed %q: %v", way, err)
				}
			}
			if names, err := os.ReadDir(to); err != nil || len(names) != 1 {
				t.Errorf("there are %v, %v", names, err)
			}
		})
	}
}

func TestWhatTookThePlaceOfAFileIsNotOpened(t *testing.T) {
	for name, swap := range map[string]func(path string) error{
		"another file": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", nil, 0o600), os.Rename(path+".new", path))
		},
		"a link to the file": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.Symlink(filepath.Base(path)+".old", path))
		},
		"a pipe":   func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) },
		"a folder": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"nothing":  os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, t.TempDir())
			path := filepath.Join(d.Path(), "x")
			write(t, path, "x")
			seen := must(d.Lstat("x"))
			file := must(d.Open("x", seen, 0))
			defer file.Close()
			noErr(t, swap(path))
			if other, err := d.Open("x", seen, 0); err == nil {
				t.Errorf("opened %v", other.Name())
			}
		})
	}
}

// The attacker swaps continuously: an opened folder is always one that lies here.
func TestAFolderThatIsSwappedForALinkAllTheTimeIsNeverLeft(t *testing.T) {
	elsewhere, d := t.TempDir(), open(t, t.TempDir())
	there := open(t, elsewhere)
	sent := filepath.Join(d.Path(), "Sent")
	noErr(t, os.Mkdir(sent, 0o755))
	var stop atomic.Bool
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for !stop.Load() {
			_ = os.Rename(sent, sent+".aside")
			_ = os.Symlink(elsewhere, sent)
			_ = os.Remove(sent)
			_ = os.Rename(sent+".aside", sent)
		}
	})
	foreign := must(there.File().Stat())
	opened := 0
	for range 2000 {
		sub, err := d.Sub("Sent")
		if err != nil {
			continue
		}
		opened++
		if info, err := sub.File().Stat(); err != nil || os.SameFile(info, foreign) {
			t.Error("the link was followed", err)
		}
		sub.Close()
	}
	stop.Store(true)
	swapping.Wait()
	if opened == 0 {
		t.Error("it was never opened")
	}
}

// Two computers have seen the same file. On a share without exclusive renames, both would get a hard link to it.
func TestAFileIsTakenByOneWhereNamesCannotBeGivenExclusively(t *testing.T) {
	for n := range 100 {
		share := t.TempDir()
		write(t, filepath.Join(share, "Lease.pdf"), "lease")
		var taken atomic.Int32
		var computers sync.WaitGroup
		begin := make(chan struct{})
		for _, own := range []string{"one", "two", "three", "four", "five", "six"} {
			d := open(t, share)
			to := must(d.Make("Waiting/"+own, 0o755))
			defer to.Close()
			computers.Go(func() {
				<-begin
				err := d.renameWithout("Lease.pdf", to, "Lease.pdf", true)
				if err == nil {
					taken.Add(1)
				} else if !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				}
			})
		}
		close(begin)
		computers.Wait()
		if files, _ := filepath.Glob(filepath.Join(share, "Waiting", "*", "*")); taken.Load() != 1 || len(files) != 1 {
			t.Fatalf("try %d: %d have taken it; there are %q", n, taken.Load(), files)
		}
	}
}

func TestAMoveReplacesNothing(t *testing.T) {
	d := open(t, t.TempDir())
	to := must(d.Make("Sent", 0o755))
	defer to.Close()
	write(t, filepath.Join(d.Path(), "x"), "x")
	write(t, filepath.Join(to.Path(), "x"), "there")
	for _, move := range []func(string, *Dir, string) error{d.Move, d.Take} {
		if err := move("x", to, "x"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("it is told %v", err)
		}
	}
	if err := to.WriteNew("x", []byte("new"), 0o644); !errors.Is(err, fs.ErrExist) {
		t.Errorf("it is told %v", err)
	}
	if names, err := os.ReadDir(to.Path()); err != nil || len(names) != 1 {
		t.Errorf("left are %v, %v", names, err)
	}
	if text, err := os.ReadFile(filepath.Join(to.Path(), "x")); err != nil || string(text) != "there" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAFolderIsFoundToBeMountedWhereItsDiskBegins(t *testing.T) {
	home := t.TempDir()
	link, sub := filepath.Join(home, "link"), filepath.Join(home, "sub")
	noErr(t, errors.Join(os.Symlink("/dev", link), os.Mkdir(sub, 0o700)))
	for path, want := range map[string]string{"/": "/", "/dev": "/dev", link: "/dev", sub: must(Mount(home))} {
		if at := must(Mount(path)); at != want {
			t.Errorf("%s is mounted at %s", path, at)
		}
	}
	if at, err := Mount(filepath.Join(home, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(at, err)
	}
}

func TestFileSystemsWithoutExclusiveRename(t *testing.T) {
	for name, rename := range map[string]func(*Dir, string, *Dir, string) error{"by link": (*Dir).renameByLink, "checked": (*Dir).renameChecked} {
		t.Run(name, func(t *testing.T) {
			d := open(t, t.TempDir())
			for _, file := range []string{"one", "two"} {
				write(t, filepath.Join(d.Path(), file), file)
			}
			noErr(t, rename(d, "one", d, "a.pdf"))
			if err := rename(d, "two", d, "a.pdf"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("got %v", err)
			}
			if got, _ := os.ReadFile(filepath.Join(d.Path(), "a.pdf")); string(got) != "one" {
				t.Errorf("replaced by %q", got)
			}
			if names, err := fs.Glob(os.DirFS(d.Path()), "*"); err != nil || !slices.Equal(names, []string{"a.pdf", "two"}) {
				t.Errorf("there are %q, %v", names, err)
			}
		})
	}
}

// looped is a folder that contains another one whose path leads through it: once that one is renamed, the path leads
// nowhere, and nothing in the folder can be flushed.
func looped(t *testing.T) (folder string) {
	t.Helper()
	home := t.TempDir()
	folder = filepath.Join(home, "way")
	noErr(t, errors.Join(os.MkdirAll(filepath.Join(home, "a", "old"), 0o755), os.Symlink("a/old/..", folder)))
	return folder
}

func TestAFailedFlushIsNotTakenForAFailedNaming(t *testing.T) {
	for name, rename := range map[string]func(folder string) error{
		"Rename": func(folder string) error { return Rename(filepath.Join(folder, "old"), filepath.Join(folder, "new")) },
	} {
		t.Run(name, func(t *testing.T) {
			folder := looped(t)
			if err := rename(folder); !errors.Is(err, ErrUnflushed) || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(folder), "a", "new")); err != nil {
				t.Error(err)
			}
			if err := rename(folder); err == nil || errors.Is(err, ErrUnflushed) {
				t.Errorf("where nothing was named: %v", err)
			}
		})
	}
}
