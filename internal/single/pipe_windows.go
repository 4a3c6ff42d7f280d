package single

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// tryLock takes the lock unless another process has it. Closing the file or ending the process releases it.
func tryLock(lock *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(lock.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// pipeBuffer is how many bytes the pipe buffers in each direction. Without a buffer, every write blocks until the other end
// reads, and a client that does not read would delay Close.
const pipeBuffer = 64 << 10

// pipe is the pipe's name for a data folder. Paths that differ only in case are the same folder.
func pipe(dataDir string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(dataDir)))
	return `\\.\pipe\countersign-` + hex.EncodeToString(sum[:8])
}

// listen creates a pipe that belongs to this user and admits nobody else, neither local users nor the network. It fails if
// somebody else created a pipe of that name first.
func listen(dataDir string) (net.Listener, error) {
	sid, err := user()
	if err != nil {
		return nil, err
	}
	return winio.ListenPipe(pipe(dataDir), &winio.PipeConfig{
		SecurityDescriptor: fmt.Sprintf("O:%[1]sD:P(D;;GA;;;NU)(A;;GA;;;%[1]s)", sid),
		InputBufferSize:    pipeBuffer,
		OutputBufferSize:   pipeBuffer,
	})
}

func dial(ctx context.Context, dataDir string) (net.Conn, error) {
	conn, err := winio.DialPipeContext(ctx, pipe(dataDir))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	if err := ownPipe(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// ownPipe checks that this user created the pipe.
func ownPipe(conn net.Conn) error {
	handle, ok := conn.(interface{ Fd() uintptr })
	if !ok {
		return fmt.Errorf("find the owner of the control pipe: %w", ErrUnsafe)
	}
	descriptor, err := windows.GetSecurityInfo(windows.Handle(handle.Fd()), windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("find the owner of the control pipe: %w", err)
	}
	owner, _, err := descriptor.Owner()
	if err != nil {
		return fmt.Errorf("find the owner of the control pipe: %w", err)
	}
	sid, err := user()
	if err != nil {
		return err
	}
	if !owner.Equals(sid) {
		return fmt.Errorf("another user is at the control pipe: %w", ErrUnsafe)
	}
	return nil
}

// user is the security identifier of this process's user.
func user() (*windows.SID, error) {
	u, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, fmt.Errorf("find the current user: %w", err)
	}
	return u.User.Sid, nil
}
