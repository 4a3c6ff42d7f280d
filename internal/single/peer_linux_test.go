package single

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOtherUsersAreRefusedEvenWhenTheSocketIsOpen opens all doors of the file system and knocks as another user.
func TestOtherUsersAreRefusedEvenWhenTheSocketIsOpen(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	dir, err := os.MkdirTemp("/tmp", "open")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	start(t, dir, hello)
	socket := filepath.Join(dir, socketName)
	must(t, os.Chmod(dir, 0o755))

	if _, err := knock(socket); err == nil {
		t.Error("the mode of the socket let another user connect")
	}
	must(t, os.Chmod(socket, 0o666))
	answer, err := knock(socket)
	if err != nil || answer != "" {
		t.Errorf("another user got %q, %v", answer, err)
	}
	if answer, _, err := post(client(t, dir), "x"); answer != "hello x" || err != nil {
		t.Errorf("the owner got %q, %v", answer, err)
	}
}

// knock sends a request as another user, on a thread that changes its user alone and ends with its goroutine.
func knock(socket string) (string, error) {
	type result struct {
		answer string
		err    error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: no other goroutine gets this thread
		const nobody = 65534
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			done <- result{"", errno}
			return
		}
		conn, err := net.Dial("unix", socket)
		if err != nil {
			done <- result{"", err}
			return
		}
		defer conn.Close()
		// The server may have closed already; what counts is that nothing comes back.
		_, _ = io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
		answer, _ := io.ReadAll(conn)
		done <- result{string(answer), nil}
	}()
	r := <-done
	return r.answer, r.err
}
