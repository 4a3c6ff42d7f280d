//go:build linux

package e2e

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/e2e/harness"

	"golang.org/x/sys/unix"
)

// nobody is a user of this computer who owns nothing.
const nobody = 65534

// asNobody runs do on a thread that belongs to nobody, and forgets the thread.
func asNobody(t testing.TB, do func() error) error {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		// The raw calls change this thread alone; those of package syscall would change all.
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, nobody, nobody, nobody); errno != 0 {
			done <- errno
			return
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			done <- errno
			return
		}
		done <- do()
	}()
	return <-done
}

func TestTheControlSocketIsForItsUserAlone(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can try to be somebody else")
	}
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Setup()
	o.Serve()
	socket := filepath.Join(o.Data, "control.sock")
	request := func(path string) func() error {
		return func() error {
			conn, err := net.DialTimeout("unix", path, harness.Patience)
			if err != nil {
				return err
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(harness.Patience))
			if _, err := io.WriteString(conn, "GET /status HTTP/1.0\r\n\r\n"); err != nil {
				return errors.Join(errRefused, err) // hung up before the question was out
			}
			answer, err := io.ReadAll(conn)
			if len(answer) > 0 {
				return errAnswered
			}
			return errors.Join(errRefused, err)
		}
	}
	if err := asNobody(t, request(socket)); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("another user who connects sees %v, want no way to the socket", err)
	}
	for _, name := range []string{"state.db", "logs/countersign.log"} {
		err := asNobody(t, func() error {
			f, err := os.Open(filepath.Join(o.Data, name))
			if err == nil {
				f.Close()
			}
			return err
		})
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("another user who opens %s sees %v", name, err)
		}
	}
	// Even where somebody has opened the folder and the socket to everyone, the program asks who is there.
	for path, mode := range map[string]os.FileMode{filepath.Dir(o.Data): 0o755, o.Data: 0o755, socket: 0o777} {
		harness.Must(t, os.Chmod(path, mode))
	}
	if err := asNobody(t, request(socket)); !errors.Is(err, errRefused) {
		t.Errorf("another user at an open socket sees %v, want to be refused without a word", err)
	}
	if err := request(socket)(); !errors.Is(err, errAnswered) {
		t.Errorf("its own user sees %v", err)
	}
}

// How a control socket treats whoever connects.
var (
	errAnswered = errors.New("answered")
	errRefused  = errors.New("refused")
)

// TestOnlyTheRightAnswerEndsASignIn sends everything but the right answer to the return address while somebody signs
// in, and then the right one twice.
func TestOnlyTheRightAnswerEndsASignIn(t *testing.T) {
	t.Parallel()
	for way, flags := range map[string][]string{"tunnel": nil, "loopback": {"--redirect", "loopback"}} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			desk, f := harness.NewDesktop(t), harness.NewFront(t)
			s := harness.StartService(t, desk.Env(), harness.ServiceOptions{
				Redirects: []string{f.URL + "/oauth/callback", "http://127.0.0.1/oauth/callback"}, Flags: []string{"--trust", f.Authority.File},
			})
			o := harness.NewOffice(t, desk, s, f)
			o.Setup(flags...)
			o.Serve()

			p := o.Begin("login", "--no-browser")
			authorize, err := url.Parse("http" + p.Line("http"))
			harness.Must(t, err)
			back := authorize.Query().Get("redirect_uri")
			v := harness.NewVisitor(f.Authority)
			unrelated := []string{
				"", "?", "?code=a", "?state=b", "?code=a&state=b", "?error=access_denied", "?error=access_denied&state=b", "?code=&state=",
				"?code=a&state=" + strings.Repeat("s", 7000), "?code=a&code=b&state=c&state=d", "?%ff=%ff", "?state=" + authorize.Query().Get("nonce") + "&code=a",
			}
			for _, query := range unrelated {
				answer(t, v, http.MethodGet, back+query)
				answer(t, v, http.MethodPost, back+query)
			}
			harness.Suffered.Add(harness.Hostile, 2*len(unrelated))
			select {
			case <-p.Ended:
				t.Fatalf("an unrelated request ended the sign-in: %s", p.Stderr)
			default:
			}
			if st, err := o.Ask(); err != nil || st.SignedIn {
				t.Errorf("before the sign-in: %+v, %v", st, err)
			}
			page, end, err := v.SignIn(t.Context(), authorize.String(), harness.Olivia, true)
			if err != nil || !strings.Contains(page, "You are signed in") {
				t.Fatalf("the right answer ends on %q, %v", page, err)
			}
			if code := p.Wait(); code != 0 {
				t.Errorf("login ended with %d: %s", code, p.Stderr)
			}
			exchanged := len(s.Requests("/connect/token"))
			if said := answer(t, v, http.MethodGet, end.String()); strings.Contains(said, "You are signed in") {
				t.Errorf("the same answer again is taken for a sign-in: %q", said)
			}
			st, err := o.Ask()
			if err != nil || !st.SignedIn || len(s.Requests("/connect/token")) != exchanged {
				t.Errorf("after the same answer again: %+v, %v, %d exchanges, not %d", st, err, len(s.Requests("/connect/token")), exchanged)
			}
		})
	}
}

// answer is what a request is told; where the listener is gone already, nothing.
func answer(t testing.TB, v *harness.Visitor, method, address string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	harness.Must(t, err)
	resp, err := v.Client.Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return ""
	}
	if err != nil {
		t.Fatalf("%s %s: %v", method, address, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return string(b)
}
