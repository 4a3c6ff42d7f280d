package secret

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/internal/e2e/powercut"
	"countersign/internal/fasttest"
	"countersign/internal/sessionbus/bustest"

	"github.com/godbus/dbus/v5"
	"go.uber.org/goleak"
)

// These tests use a real Secret Service on a private bus. Each test runs this test binary again, with its own bus and home,
// and does its work there. Without dbus-daemon or gnome-keyring-daemon they fail (in the fast loop they are skipped): no
// other test shows that a locked keyring is not taken for an empty one.

const sessionEnv = "COUNTERSIGN_TEST_SESSION"

func TestMain(m *testing.M) {
	if os.Getenv(sessionEnv) != "" {
		os.Exit(m.Run()) // go-keyring's D-Bus connection lives until the process ends
	}
	goleak.VerifyTestMain(m)
}

// inSession reports whether the test already runs in its private session. Otherwise it runs the test there and adopts its
// result.
func inSession(t *testing.T) bool {
	t.Helper()
	if os.Getenv(sessionEnv) == t.Name() {
		return true
	}
	t.Parallel()
	dir := t.TempDir()
	_, err := exec.LookPath("gnome-keyring-daemon")
	fasttest.Needs(t, "gnome-keyring", err)
	address, _ := bustest.Start(t, nil)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	cmd.Env = append(privateEnv(t, dir), "DBUS_SESSION_BUS_ADDRESS="+address)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Fatalf("in its session: %v\n%s", err, out)
	}
	return false
}

// privateEnv is this process's environment with a home of its own and without a desktop.
func privateEnv(t *testing.T, dir string) []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "DBUS_") || strings.HasPrefix(name, "GNOME_") ||
			name == "DISPLAY" || name == "WAYLAND_DISPLAY" || name == "HOME" {
			continue
		}
		env = append(env, v)
	}
	for _, sub := range []string{"home", "run"} {
		noErr(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
	}
	return append(env, sessionEnv+"="+t.Name(), "HOME="+filepath.Join(dir, "home"), "XDG_RUNTIME_DIR="+filepath.Join(dir, "run"))
}

func bus(t *testing.T) *dbus.Conn {
	t.Helper()
	conn := must(dbus.ConnectSessionBus()) // a private connection: go-keyring uses the shared one
	t.Cleanup(func() { conn.Close() })
	return conn
}

// startKeyring starts gnome-keyring and waits until it is on the bus. A password unlocks the login keyring, creating it the
// first time. stop ends it.
func startKeyring(t *testing.T, password string) (stop func()) {
	t.Helper()
	conn := bus(t)
	noErr(t, conn.AddMatchSignal(dbus.WithMatchInterface("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"),
		dbus.WithMatchArg(0, "org.freedesktop.secrets")))
	signals := make(chan *dbus.Signal, 8)
	conn.Signal(signals)
	args := []string{"--foreground", "--components=secrets"}
	if password != "" {
		args = append(args, "--unlock")
	}
	cmd := exec.Command("gnome-keyring-daemon", args...)
	cmd.Stdin, cmd.Stdout = strings.NewReader(password), io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatalf("gnome-keyring-daemon: %v", err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	stop = func() {
		_ = cmd.Process.Kill()
		<-ended
	}
	t.Cleanup(stop)
	for deadline := time.After(time.Minute); ; {
		select {
		case s := <-signals:
			if owner, ok := s.Body[2].(string); ok && owner != "" {
				return stop
			}
		case <-ended:
			t.Fatal("gnome-keyring-daemon ended")
		case <-deadline:
			t.Fatal("gnome-keyring-daemon did not come to the bus")
		}
	}
}

func testRing() Keeper { return Keyring("countersign-test", "key") }

func TestARealKeyringKeepsTheContract(t *testing.T) {
	if !inSession(t) {
		return
	}
	startKeyring(t, "password")
	testKeeper(t, testRing)
}

func TestAKeyringThatNobodySetUpIsNotAbsent(t *testing.T) {
	if !inSession(t) {
		return
	}
	startKeyring(t, "") // without any collection
	expectUnavailable(t, Locked)
}

func TestNoKeyringServiceIsUnavailable(t *testing.T) {
	if !inSession(t) {
		return
	}
	expectUnavailable(t, NoService)
}

// ring_test.go checks after how long, with a fake clock.
func TestAKeyringThatNeverAnswersIsUnavailable(t *testing.T) {
	if !inSession(t) {
		return
	}
	conn := bus(t)
	if reply, err := conn.RequestName("org.freedesktop.secrets", dbus.NameFlagDoNotQueue); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatal(reply, err)
	}
	calls := make(chan *dbus.Message, 64)
	conn.Eavesdrop(calls) // intercepts every call, so that none is answered
	if _, err := testRing().Load(t.Context()); reasonOf(err) != TimedOut {
		t.Errorf("Load = %v", err)
	}
	if len(calls) == 0 {
		t.Error("the service was not asked")
	}
}

func TestNoBusIsUnavailableAtOnce(t *testing.T) {
	if !inSession(t) {
		return
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
	expectUnavailable(t, NoBus)
}

// Without an address the D-Bus library would start a bus with an empty keyring: the key would seem absent.
func TestAnUnsetBusAddressStartsNoStrayBus(t *testing.T) {
	if !inSession(t) {
		return
	}
	marker := filepath.Join(t.TempDir(), "started")
	bin := t.TempDir()
	script := "#!/bin/sh\ntouch '" + marker + "'\nexit 1\n"
	noErr(t, os.WriteFile(filepath.Join(bin, "dbus-launch"), []byte(script), 0o700))
	t.Setenv("PATH", bin)
	for _, address := range []string{"", "autolaunch:"} {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
		if err := reachable(); err == nil {
			t.Logf("this computer has a session bus in /run/user; the library finds it and starts none")
			continue
		}
		expectUnavailable(t, NoBus)
	}
	if _, err := os.Stat(marker); !errors.Is(err, os.ErrNotExist) {
		t.Error("dbus-launch was started")
	}
}

// expectUnavailable checks that neither Load nor Create obtains a key. Had they waited, the reason would be a time-out.
func expectUnavailable(t *testing.T, want Reason) {
	t.Helper()
	for name, call := range map[string]func(context.Context) (Key, error){"Load": testRing().Load, "Create": testRing().Create} {
		k, err := call(t.Context())
		if reasonOf(err) != want || errors.Is(err, ErrAbsent) || k != (Key{}) {
			t.Errorf("%s = %v, want %s", name, err, want)
		}
	}
}

// If a power failure removed a key, nobody could read what was sealed with it, whether the key was just created or found.
func TestAKeyThatWasGivenOutStays(t *testing.T) {
	var given Key
	powercut.Trial{Steps: 20, Do: func(home string) error {
		given = Key{}
		keeper := File(filepath.Join(home, "keys", "office.key"))
		k, err := keeper.Load(t.Context())
		if errors.Is(err, ErrAbsent) {
			k, err = keeper.Create(t.Context())
		}
		given = k
		return err
	}, Look: func(t *testing.T, found powercut.Found) {
		text, there := found.Files["keys/office.key"]
		kept, err := parseKey(string(bytes.TrimSpace(text)))
		if there && err != nil || given != (Key{}) && kept != given {
			t.Errorf("done: %v; it holds %d bytes", found.Done, len(text))
		}
	}}.Run(t)
}
