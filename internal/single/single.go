// Package single ensures that a data folder has only one running instance, and lets other processes of the same user talk to
// it: HTTP over a Unix socket, or over a named pipe on Windows.
//
// It promises:
//   - At most one [Instance] holds a data folder. The lock belongs to the process and not to a file's existence: when the
//     process ends, in whatever way, the lock is released.
//   - After [ErrRunning], the other instance can be reached immediately with [Client]: the socket exists before Acquire
//     returns.
//   - Only the same user is admitted, by the permissions of the socket and its folder, and on Windows by those of the pipe.
//     A client also checks the pipe's owner, because anybody could have created one of that name. Only the holder of the
//     lock replaces a socket.
//   - On Windows, where a running program cannot be replaced, an installer can end all processes that run from its file
//     ([EndOthers]).
//
// It does not know what is said over the socket, and touches nothing in the data folder except its lock and its socket.
package single

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"countersign/internal/message"
)

// ErrRunning means that another process holds the data folder.
var ErrRunning = message.Error(message.Running(), nil)

// ErrNotRunning means that no process answers for the data folder.
var ErrNotRunning = message.Error(message.NotRunning(), nil)

// ErrUnsafe means that the socket's folder could belong to another user, so it is not used.
var ErrUnsafe = message.Error(message.SocketInTheWay(), nil)

// Message is the message for people of an error of this package.
func Message(err error) message.Message {
	if m, ok := message.Of(err); ok {
		return m
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return message.DataFolderMissing()
	case errors.Is(err, os.ErrPermission):
		return message.DataFolderForbidden()
	}
	return message.DataFolderUnusable()
}

const (
	lockName   = "instance.lock"
	socketName = "control.sock"

	// startPatience is how long Acquire waits for a lock holder that does not answer because it is starting or ending.
	startPatience = 2 * time.Second
	retryEvery    = 20 * time.Millisecond

	maxBody     = 1 << 20
	maxHeader   = 64 << 10
	headerTime  = 5 * time.Second
	idleTime    = 2 * time.Minute
	closingTime = 2 * time.Second
)

// Instance holds a data folder for this process. Its methods may be called from several goroutines.
type Instance struct {
	lock     *os.File
	listener net.Listener
	server   *http.Server
	stop     context.CancelFunc // ends the contexts of all requests

	once sync.Once
	err  error // result of Close
}

// Acquire takes an existing data folder for this process, until Close or the end of the process. From now on the socket
// accepts connections, which wait for Serve. It fails with ErrRunning if another process has the folder, after waiting up to
// two seconds for one that does not answer, because it may be ending.
func Acquire(dataDir string) (*Instance, error) {
	dir, err := canonical(dataDir)
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	if err := take(ctx, lock, func() bool {
		conn, err := dial(ctx, dir)
		return err == nil && conn.Close() == nil
	}); err != nil {
		lock.Close()
		return nil, err
	}
	listener, err := listen(dir)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("open the control socket: %w", err)
	}
	requests, stop := context.WithCancel(context.Background())
	return &Instance{
		lock: lock, listener: listener, stop: stop,
		server: &http.Server{
			ReadHeaderTimeout: headerTime,
			IdleTimeout:       idleTime,
			MaxHeaderBytes:    maxHeader,
			BaseContext:       func(net.Listener) context.Context { return requests },
			ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
		},
	}, nil
}

// take takes the lock. ErrRunning means that its holder answers, or still has it when ctx ends.
func take(ctx context.Context, lock *os.File, well func() bool) error {
	retry := time.NewTicker(retryEvery)
	defer retry.Stop()
	for {
		locked, err := tryLock(lock)
		switch {
		case err != nil:
			return fmt.Errorf("lock the data folder: %w", err)
		case locked:
			return nil
		case well():
			return ErrRunning
		}
		select {
		case <-ctx.Done():
			return ErrRunning
		case <-retry.C:
		}
	}
}

// Serve answers requests with handler until Close; then it returns nil. Reading more than 1 MiB of a body fails. Answers may
// take any time: the request's context ends when the client disconnects and when the Instance closes. Call it at most once.
func (i *Instance) Serve(handler http.Handler) error {
	i.server.Handler = http.MaxBytesHandler(handler, maxBody)
	err := i.server.Serve(i.listener)
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return fmt.Errorf("serve the control socket: %w", err)
}

// Close ends Serve, gives handlers two seconds to notice that their context has ended, removes the socket and releases the
// folder, in this order. It may be called more than once.
func (i *Instance) Close() error {
	i.once.Do(func() {
		i.stop()
		ctx, cancel := context.WithTimeout(context.Background(), closingTime)
		defer cancel()
		i.err = i.server.Shutdown(ctx)
		if i.err != nil {
			i.server.Close()
		}
		// A server that never served does not know its listener.
		if err := i.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			i.err = errors.Join(i.err, err)
		}
		i.err = errors.Join(i.err, i.lock.Close())
	})
	return i.err
}

// Client returns a client for the running instance of the data folder. Any host name works: "http://countersign/status". It
// fails with ErrNotRunning if nobody answers; so do its requests once the instance has ended. Call its CloseIdleConnections
// when done.
func Client(dataDir string) (*http.Client, error) {
	dir, err := canonical(dataDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), headerTime)
	defer cancel()
	first, err := dial(ctx, dir)
	if err != nil {
		return nil, err
	}
	first.Close()
	return &http.Client{Transport: &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, dir) },
		DisableCompression: true,
		IdleConnTimeout:    idleTime,
	}}, nil
}

// Gone waits until no process holds an existing data folder, at most until ctx ends; ErrRunning means that one still does.
func Gone(ctx context.Context, dataDir string) error {
	lock, err := os.OpenFile(filepath.Join(dataDir, lockName), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the lock: %w", err)
	}
	defer lock.Close() // releases it
	return take(ctx, lock, func() bool { return false })
}

// canonical is the unique path of a data folder, however it was written, so that all its names lead to the same socket.
func canonical(dataDir string) (string, error) {
	abs, err := filepath.Abs(dataDir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fmt.Errorf("find the data folder: %w", err)
	}
	return abs, nil
}
