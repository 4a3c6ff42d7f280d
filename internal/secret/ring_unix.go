//go:build unix && !darwin

package secret

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"

	"github.com/godbus/dbus/v5"
)

var errNoBus = errors.New("no D-Bus session bus")

// reachable reports whether there is a session bus. Without an address the D-Bus library would start dbus-launch, and with
// it a second bus with an empty keyring: that must never happen. It looks where the library looks.
func reachable() error {
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return nil
	}
	folder := fmt.Sprintf("/run/user/%d", os.Getuid())
	if _, err := os.Stat(folder + "/bus"); err == nil {
		return nil
	}
	text, err := os.ReadFile(folder + "/dbus-session")
	if address, ok := strings.CutPrefix(string(text), "DBUS_SESSION_BUS_ADDRESS="); err == nil && ok && strings.TrimSpace(address) != "" {
		return nil
	}
	return errNoBus
}

// classify finds the Reason for an error of go-keyring or D-Bus (names: D-Bus specification, Secret Service API 0.2).
func classify(err error) Reason {
	var (
		reply  dbus.Error
		dial   *net.OpError
		launch *exec.Error
	)
	switch {
	case errors.As(err, &reply):
		return classifyReply(reply.Name)
	case errors.Is(err, errNoBus), errors.As(err, &dial), errors.As(err, &launch), errors.Is(err, dbus.ErrClosed), errors.Is(err, os.ErrNotExist):
		return NoBus
	case strings.Contains(err.Error(), "failed to unlock correct collection"):
		return Locked // go-keyring has no other error for it
	case strings.HasPrefix(err.Error(), "dbus:"):
		return NoBus
	default:
		return Refused
	}
}

func classifyReply(name string) Reason {
	switch {
	case name == "org.freedesktop.Secret.Error.IsLocked",
		name == "org.freedesktop.Secret.Error.NoSuchObject":
		return Locked
	case name == "org.freedesktop.DBus.Error.ServiceUnknown",
		name == "org.freedesktop.DBus.Error.NameHasNoOwner",
		strings.HasPrefix(name, "org.freedesktop.DBus.Error.Spawn."):
		return NoService
	case name == "org.freedesktop.DBus.Error.NoReply",
		name == "org.freedesktop.DBus.Error.Timeout",
		name == "org.freedesktop.DBus.Error.TimedOut":
		return TimedOut
	case name == "org.freedesktop.DBus.Error.Disconnected",
		name == "org.freedesktop.DBus.Error.NoServer":
		return NoBus
	default:
		return Refused
	}
}
