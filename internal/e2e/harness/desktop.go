//go:build linux

package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
)

// busConfig is a session bus on which nothing is started on demand: only what a test starts is there.
const busConfig = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:tmpdir=FOLDER</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>`

// Desktop is one person's session: a home, a bus with a keyring and a notification service, and perhaps a display.
type Desktop struct {
	T       testing.TB
	Home    string
	address string
	display string
	Screen  *os.Process // shows the display
	Bus     *dbus.Conn  // the test's own
	keyring *Process
	Notes   *Notes
}

// NewDesktop starts a session without a display.
func NewDesktop(t testing.TB) *Desktop {
	t.Helper()
	d := &Desktop{T: t, Home: ShortDir(t)}
	for _, sub := range []string{"home", "run"} {
		Must(t, os.Mkdir(filepath.Join(d.Home, sub), 0o700))
	}
	config := filepath.Join(d.Home, "bus.conf")
	Must(t, os.WriteFile(config, []byte(strings.ReplaceAll(busConfig, "FOLDER", d.Home)), 0o600))
	d.address = "unix:path=/nonexistent" // an unset one starts stray daemons
	d.address = Start(t, d.Env(), "dbus-daemon", "--config-file="+config, "--nofork", "--print-address").Line("")
	d.Bus = d.Connect()
	d.Notes = serveNotifications(t, d.Connect())
	d.startKeyring()
	return d
}

// Env is the whole environment of a program in this session.
func (d *Desktop) Env(more ...string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TMPDIR=" + os.TempDir(),
		"HOME=" + filepath.Join(d.Home, "home"), "XDG_RUNTIME_DIR=" + filepath.Join(d.Home, "run"),
		"DBUS_SESSION_BUS_ADDRESS=" + d.address,
		"NO_AT_BRIDGE=1", "LIBGL_ALWAYS_SOFTWARE=1",
		"GODEBUG=" + os.Getenv("GODEBUG"), // such as cpu.sha=off, for benchmarks
	}
	if d.display != "" {
		env = append(env, "DISPLAY="+d.display)
	}
	return append(env, more...)
}

// Connect opens a connection of the test's own to the bus.
func (d *Desktop) Connect() *dbus.Conn {
	d.T.Helper()
	conn, err := dbus.Connect(d.address)
	if err != nil {
		d.T.Fatalf("connect to the private bus: %v", err)
	}
	d.T.Cleanup(func() { conn.Close() })
	return conn
}

// startKeyring starts and unlocks gnome-keyring, and waits until it serves.
func (d *Desktop) startKeyring() {
	d.T.Helper()
	d.keyring = Start(d.T, d.Env(), "gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets")
	if _, err := d.keyring.In.Write([]byte("a password")); err != nil {
		d.T.Fatal(err)
	}
	Must(d.T, d.keyring.In.Close())
	Eventually(d.T, "the keyring serves", func() bool {
		var owned bool
		err := d.Bus.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, "org.freedesktop.secrets").Store(&owned)
		return err == nil && owned
	})
}

// RestartKeyring unlocks a locked keyring as logging in again does.
func (d *Desktop) RestartKeyring() {
	d.T.Helper()
	d.keyring.Kill()
	d.startKeyring()
}

// StartDisplay gives the session a screen and a window manager; more is what the X server is told beside the usual.
func (d *Desktop) StartDisplay(more ...string) {
	d.T.Helper()
	ready, number, err := os.Pipe()
	Must(d.T, err)
	defer ready.Close()
	args := []string{"-displayfd", "3", "-screen", "0", "1280x900x24", "-nolisten", "tcp", "-dpi", "96", "-noreset"}
	x := exec.Command("Xvfb", append(args, more...)...)
	x.ExtraFiles = []*os.File{number}
	x.SysProcAttr = diesWithUs()
	if err := x.Start(); err != nil {
		d.T.Fatalf("start Xvfb: %v", err)
	}
	number.Close()
	d.Screen = x.Process
	d.T.Cleanup(func() {
		x.Process.Kill()
		x.Wait()
	})
	b := make([]byte, 16)
	n, err := ready.Read(b)
	if err != nil {
		d.T.Fatalf("Xvfb did not say its display: %v", err)
	}
	d.display = ":" + strings.TrimSpace(string(b[:n]))
	Start(d.T, d.Env(), "openbox")
	Eventually(d.T, "the window manager works", func() bool {
		out, err := d.Run("xdotool", "get_desktop")
		return err == nil && strings.TrimSpace(out) != ""
	})
}

// Run runs a small tool in the session and returns what it prints.
func (d *Desktop) Run(name string, args ...string) (string, error) {
	cmd := exec.CommandContext(d.T.Context(), name, args...)
	cmd.Env = d.Env()
	cmd.SysProcAttr = diesWithUs()
	out, err := cmd.Output()
	return string(out), err
}

// KeyringItems returns the labels of what the keyring holds.
func (d *Desktop) KeyringItems() (labels []string) {
	d.T.Helper()
	collection := d.Bus.Object("org.freedesktop.secrets", "/org/freedesktop/secrets/collection/login")
	v, err := collection.GetProperty("org.freedesktop.Secret.Collection.Items")
	if err != nil {
		d.T.Fatalf("read the keyring: %v", err)
	}
	items, _ := v.Value().([]dbus.ObjectPath)
	for _, path := range items {
		label, err := d.Bus.Object("org.freedesktop.secrets", path).GetProperty("org.freedesktop.Secret.Item.Label")
		if err != nil {
			d.T.Fatalf("read the keyring: %v", err)
		}
		if s, ok := label.Value().(string); ok {
			labels = append(labels, s)
		}
	}
	slices.Sort(labels)
	return labels
}
