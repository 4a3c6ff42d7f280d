//go:build linux || darwin

package single

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// longDir is a data folder whose path is too long for a socket address.
func longDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	noErr(t, os.Mkdir(dir, 0o700))
	dir = must(filepath.EvalSymlinks(dir))
	return dir
}

// runtimeDir makes a folder with a short path the place for sockets.
func runtimeDir(t *testing.T) string {
	t.Helper()
	dir := must(os.MkdirTemp("/tmp", "run"))
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("XDG_RUNTIME_DIR", dir)
	return dir
}

func TestSocketIsInTheDataFolderAndClosedToOthers(t *testing.T) {
	dir := t.TempDir()
	start(t, dir, hello)
	info, err := os.Lstat(filepath.Join(dir, socketName))
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("got %v, %v", info, err)
	}
}

func TestLongDataFolderPath(t *testing.T) {
	base, dir := runtimeDir(t), longDir(t)
	i := start(t, dir, hello)
	if answer, _, err := post(client(t, dir), "x"); answer != "hello x" || err != nil {
		t.Errorf("got %q, %v", answer, err)
	}
	made, _ := filepath.Glob(filepath.Join(base, "countersign-*"))
	if len(made) != 1 {
		t.Fatalf("made %q", made)
	}
	if info, err := os.Stat(made[0]); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its folder: %v, %v", info, err)
	}
	if err := i.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(base, "*")); len(left) != 0 {
		t.Errorf("left %q", left)
	}
}

func TestFolderThatIsNotOursAloneIsRefused(t *testing.T) {
	dir := longDir(t)
	wrong := map[string]func(t *testing.T, path string){
		"mode": func(t *testing.T, path string) {
			noErr(t, errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o755)))
		},
		"link": func(t *testing.T, path string) {
			noErr(t, os.Symlink(t.TempDir(), path))
		},
		"file": func(t *testing.T, path string) {
			noErr(t, os.WriteFile(path, nil, 0o700))
		},
		"owner": func(t *testing.T, path string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			noErr(t, errors.Join(os.Mkdir(path, 0o700), os.Chown(path, 65534, 65534)))
		},
	}
	for name, spoil := range wrong {
		t.Run(name, func(t *testing.T) {
			base := runtimeDir(t)
			p := places(dir)[0]
			if filepath.Dir(p.dir) != base || !p.own {
				t.Fatalf("the first place is %v", p)
			}
			spoil(t, p.dir)
			if l, err := p.listen(); !errors.Is(err, ErrUnsafe) {
				t.Errorf("got %v, %v", l, err)
			}
			// The instance uses another place, and its clients find it there.
			start(t, dir, hello)
			if answer, _, err := post(client(t, dir), "x"); answer != "hello x" || err != nil {
				t.Errorf("got %q, %v", answer, err)
			}
		})
	}
}

func TestAFileInPlaceOfTheSocketIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, socketName)
	noErr(t, os.WriteFile(path, []byte("mine"), 0o600))
	runtimeDir(t)
	start(t, dir, hello)
	if answer, _, err := post(client(t, dir), "x"); answer != "hello x" || err != nil {
		t.Errorf("got %q, %v", answer, err)
	}
	if got, err := os.ReadFile(path); string(got) != "mine" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestStaleSocketIsNobody(t *testing.T) {
	dir := t.TempDir()
	l := must(net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, socketName), Net: "unix"}))
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := Client(dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("got %v", err)
	}
	start(t, dir, hello)
	if answer, _, err := post(client(t, dir), "x"); answer != "hello x" || err != nil {
		t.Errorf("got %q, %v", answer, err)
	}
}
