//go:build linux

package e2e

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

// desktop is one person's session: a home, a bus with a keyring and a notification service, and perhaps a display.
type desktop struct {
	t       testing.TB
	home    string
	address string
	display string
	screen  *os.Process // shows the display
	bus     *dbus.Conn  // the test's own
	keyring *process
	notes   *notes
}

// newDesktop starts a session without a display.
func newDesktop(t testing.TB) *desktop {
	t.Helper()
	d := &desktop{t: t, home: shortDir(t)}
	for _, sub := range []string{"home", "run"} {
		if err := os.Mkdir(filepath.Join(d.home, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(d.home, "bus.conf")
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(busConfig, "FOLDER", d.home)), 0o600); err != nil {
		t.Fatal(err)
	}
	d.address = "unix:path=/nonexistent" // an unset one starts stray daemons
	d.address = start(t, d.env(), "dbus-daemon", "--config-file="+config, "--nofork", "--print-address").line("")
	d.bus = d.connect()
	d.notes = serveNotifications(t, d.connect())
	d.startKeyring()
	return d
}

// env is the whole environment of a program in this session.
func (d *desktop) env(more ...string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TMPDIR=" + os.TempDir(),
		"HOME=" + filepath.Join(d.home, "home"), "XDG_RUNTIME_DIR=" + filepath.Join(d.home, "run"),
		"DBUS_SESSION_BUS_ADDRESS=" + d.address,
		"NO_AT_BRIDGE=1", "LIBGL_ALWAYS_SOFTWARE=1",
	}
	if d.display != "" {
		env = append(env, "DISPLAY="+d.display)
	}
	return append(env, more...)
}

// connect opens a connection of the test's own to the bus.
func (d *desktop) connect() *dbus.Conn {
	d.t.Helper()
	conn, err := dbus.Connect(d.address)
	if err != nil {
		d.t.Fatalf("connect to the private bus: %v", err)
	}
	d.t.Cleanup(func() { conn.Close() })
	return conn
}

// startKeyring starts and unlocks gnome-keyring, and waits until it serves.
func (d *desktop) startKeyring() {
	d.t.Helper()
	d.keyring = start(d.t, d.env(), "gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets")
	if _, err := d.keyring.in.Write([]byte("a password")); err != nil {
		d.t.Fatal(err)
	}
	if err := d.keyring.in.Close(); err != nil {
		d.t.Fatal(err)
	}
	eventually(d.t, "the keyring serves", func() bool {
		var owned bool
		err := d.bus.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, "org.freedesktop.secrets").Store(&owned)
		return err == nil && owned
	})
}

// restartKeyring unlocks a locked keyring as logging in again does.
func (d *desktop) restartKeyring() {
	d.t.Helper()
	d.keyring.kill()
	d.startKeyring()
}

// startDisplay gives the session a screen and a window manager.
func (d *desktop) startDisplay() {
	d.t.Helper()
	ready, number, err := os.Pipe()
	if err != nil {
		d.t.Fatal(err)
	}
	defer ready.Close()
	x := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1280x900x24", "-nolisten", "tcp", "-dpi", "96", "-noreset")
	x.ExtraFiles = []*os.File{number}
	x.SysProcAttr = diesWithUs()
	if err := x.Start(); err != nil {
		d.t.Fatalf("start Xvfb: %v", err)
	}
	number.Close()
	d.screen = x.Process
	d.t.Cleanup(func() {
		x.Process.Kill()
		x.Wait()
	})
	b := make([]byte, 16)
	n, err := ready.Read(b)
	if err != nil {
		d.t.Fatalf("Xvfb did not say its display: %v", err)
	}
	d.display = ":" + strings.TrimSpace(string(b[:n]))
	start(d.t, d.env(), "openbox")
	eventually(d.t, "the window manager works", func() bool {
		out, err := d.run("xdotool", "get_desktop")
		return err == nil && strings.TrimSpace(out) != ""
	})
}

// run runs a small tool in the session and returns what it prints.
func (d *desktop) run(name string, args ...string) (string, error) {
	cmd := exec.CommandContext(d.t.Context(), name, args...)
	cmd.Env = d.env()
	cmd.SysProcAttr = diesWithUs()
	out, err := cmd.Output()
	return string(out), err
}

// keyringItems returns the labels of what the keyring holds.
func (d *desktop) keyringItems() (labels []string) {
	d.t.Helper()
	collection := d.bus.Object("org.freedesktop.secrets", "/org/freedesktop/secrets/collection/login")
	v, err := collection.GetProperty("org.freedesktop.Secret.Collection.Items")
	if err != nil {
		d.t.Fatalf("read the keyring: %v", err)
	}
	items, _ := v.Value().([]dbus.ObjectPath)
	for _, path := range items {
		label, err := d.bus.Object("org.freedesktop.secrets", path).GetProperty("org.freedesktop.Secret.Item.Label")
		if err != nil {
			d.t.Fatalf("read the keyring: %v", err)
		}
		if s, ok := label.Value().(string); ok {
			labels = append(labels, s)
		}
	}
	slices.Sort(labels)
	return labels
}
