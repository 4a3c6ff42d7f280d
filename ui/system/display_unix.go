//go:build !windows && !darwin

package system

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"countersign/internal/sessionbus"
)

// CheckDisplay returns ErrNoDisplay when the environment names no display, or the one it names does not answer. It
// asks before the graphics library does, because that one ends the process.
func CheckDisplay(ctx context.Context, env func(string) string) error {
	if socket := env("WAYLAND_DISPLAY"); socket != "" {
		if !filepath.IsAbs(socket) {
			socket = filepath.Join(env("XDG_RUNTIME_DIR"), socket)
		}
		if _, err := os.Stat(socket); err == nil {
			return nil
		}
	}
	display := env("DISPLAY")
	if display == "" {
		return ErrNoDisplay
	}
	if err := dialX(ctx, display); err != nil {
		return fmt.Errorf("display %s does not answer: %w", display, ErrNoDisplay)
	}
	return nil
}

// dialX connects to an X display as Xlib would: ":0.0" is a socket on this machine, "host:0" is TCP port 6000 there.
func dialX(ctx context.Context, display string) error {
	host, number, ok := strings.Cut(display, ":")
	if i := strings.LastIndex(display, ":"); ok && i > 0 {
		host, number = display[:i], display[i+1:]
	}
	number, _, _ = strings.Cut(number, ".")
	var n int
	if _, err := fmt.Sscanf(number, "%d", &n); err != nil {
		return fmt.Errorf("read display %q: %w", display, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var d net.Dialer
	var err error
	var conn net.Conn
	if host == "" || host == "unix" {
		for _, socket := range []string{fmt.Sprintf("/tmp/.X11-unix/X%d", n), fmt.Sprintf("@/tmp/.X11-unix/X%d", n)} {
			if conn, err = d.DialContext(ctx, "unix", socket); err == nil {
				break
			}
		}
	} else {
		conn, err = d.DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", strings.Trim(host, "[]"), 6000+n))
	}
	if err != nil {
		return fmt.Errorf("connect to display %q: %w", display, err)
	}
	return conn.Close()
}

func HasTray(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := sessionbus.Open(ctx)
	if err != nil {
		return false
	}
	defer conn.Close()
	var owned bool
	err = conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, "org.kde.StatusNotifierWatcher").Store(&owned)
	return err == nil && owned
}
