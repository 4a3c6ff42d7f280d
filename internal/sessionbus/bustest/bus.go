//go:build !windows && !darwin

// Package bustest runs session buses for tests. A bus starts no services except those given: on a computer with a desktop,
// the system's own services would answer.
package bustest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"countersign/internal/fasttest"
)

const config = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
SERVICES</busconfig>`

// Start starts a bus, which ends with the test or with stop. services maps bus names to the commands that are started when a
// name is first requested.
func Start(t testing.TB, services map[string]string) (address string, stop func()) {
	t.Helper()
	dir, folder := t.TempDir(), ""
	for name, command := range services {
		write(t, filepath.Join(dir, name+".service"), "[D-BUS Service]\nName="+name+"\nExec="+command+"\n")
		folder = "<servicedir>" + dir + "</servicedir>\n"
	}
	file := filepath.Join(dir, "bus.conf")
	write(t, file, strings.Replace(config, "SERVICES", folder, 1))
	bus := exec.Command("dbus-daemon", "--config-file="+file, "--nofork", "--print-address")
	out, err := bus.StdoutPipe()
	if err == nil {
		err = bus.Start()
	}
	fasttest.Needs(t, "dbus-daemon", err)
	stop = sync.OnceFunc(func() {
		bus.Process.Signal(syscall.SIGTERM) // on which it removes its socket
		bus.Wait()
	})
	t.Cleanup(stop)
	if address, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal("the bus did not start: ", err)
	}
	return strings.TrimSpace(address), stop
}

// OfSession is Start, and makes the bus the session bus.
func OfSession(t *testing.T, services map[string]string) (stop func()) {
	t.Helper()
	address, stop := Start(t, services)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
	return stop
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
