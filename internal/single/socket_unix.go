//go:build linux || darwin

package single

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxSocketPath is the longest path in a socket address; sun_path has 108 bytes on Linux and 104 on macOS, including the
// final zero.
const maxSocketPath = 103

// tryLock takes the lock unless another process has it. Closing the file or ending the process releases it.
func tryLock(lock *os.File) (bool, error) {
	err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// place is a folder that may contain the socket.
type place struct {
	dir string
	own bool // created for the socket: it must be private to this user
}

func (p place) socket() string { return filepath.Join(p.dir, socketName) }

// places are the folders that may contain the socket of a data folder, best first: the folder itself or, if its path is too
// long or its file system has no sockets, a folder named by its hash below the folders for runtime files. A client tries all
// of them, because its environment may differ from the instance's.
func places(dataDir string) []place {
	sum := sha256.Sum256([]byte(dataDir))
	name := "countersign-" + hex.EncodeToString(sum[:8])
	list := []place{{dir: dataDir}}
	for _, base := range []string{
		os.Getenv("XDG_RUNTIME_DIR"), "/run/user/" + strconv.Itoa(os.Geteuid()), os.TempDir(), "/tmp",
	} {
		if !filepath.IsAbs(base) {
			continue
		}
		if info, err := os.Stat(base); err != nil || !info.IsDir() {
			continue
		}
		list = append(list, place{filepath.Join(base, name), true})
	}
	return slices.DeleteFunc(list, func(p place) bool { return len(p.socket()) > maxSocketPath })
}

// check verifies a folder of our own: a folder and not a link, owned by this user, and closed to others.
func (p place) check() error {
	if !p.own {
		return nil
	}
	info, err := os.Lstat(p.dir)
	if err != nil {
		return err
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !known || int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("%s: %w", p.dir, ErrUnsafe)
	}
	return nil
}

// listen opens the socket at the first place that supports it. The caller holds the lock, so an existing socket is left over
// from a killed process.
func listen(dataDir string) (net.Listener, error) {
	var failed []error
	for _, p := range places(dataDir) {
		l, err := p.listen()
		if err == nil {
			return l, nil
		}
		failed = append(failed, err)
	}
	if len(failed) == 0 {
		return nil, errors.New("every path for it is too long")
	}
	return nil, errors.Join(failed...)
}

func (p place) listen() (net.Listener, error) {
	if p.own {
		if err := os.Mkdir(p.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	path := p.socket()
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return &socket{l, p}, nil
}

// socket is the listener of an instance.
type socket struct {
	*net.UnixListener
	place place
}

// Close removes the socket, and the folder that was created for it.
func (s *socket) Close() error {
	err := s.UnixListener.Close()
	if err == nil && s.place.own {
		_ = os.Remove(s.place.dir)
	}
	return err
}

func dial(ctx context.Context, dataDir string) (net.Conn, error) {
	var d net.Dialer
	var failed []error
	for _, p := range places(dataDir) {
		if err := p.check(); err != nil {
			failed = append(failed, err)
			continue
		}
		conn, err := d.DialContext(ctx, "unix", p.socket())
		if err != nil {
			failed = append(failed, err)
			continue
		}
		return conn, nil
	}
	return nil, fmt.Errorf("%w: %w", ErrNotRunning, errors.Join(failed...))
}
