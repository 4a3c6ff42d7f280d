//go:build !windows && !darwin

package proxy

import (
	"bufio"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
)

// emptyBus starts nothing by itself: on a computer with a desktop, the real portal would answer.
const emptyBus = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>`

type resolver map[string][]string

func (r resolver) Lookup(uri string) ([]string, *dbus.Error) { return r[uri], nil }

func TestTheDesktopIsAskedForTheProxy(t *testing.T) {
	noEnvironment(t)
	config := filepath.Join(t.TempDir(), "bus.conf")
	must(t, os.WriteFile(config, []byte(emptyBus), 0o600))
	bus := exec.Command("dbus-daemon", "--config-file="+config, "--nofork", "--print-address")
	out, err := bus.StdoutPipe()
	must(t, err)
	if err := bus.Start(); err != nil {
		t.Fatal("this test needs dbus-daemon: ", err)
	}
	defer bus.Wait()
	defer bus.Process.Kill()
	address, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", strings.TrimSpace(address))

	f := OfSystem()
	if a, err := f.Find(context.Background(), "sign.test:443"); err != nil || a.First() != nil || a.Source != Nothing {
		t.Errorf("without a portal: %+v, %v", a, err)
	}
	f.Forget()
	conn, err := dbus.Connect(strings.TrimSpace(address))
	must(t, err)
	defer conn.Close()
	must(t, conn.Export(resolver{
		"https://sign.test/":      {"http://proxy.test:8080", "direct://"},
		"https://sign.test:8443/": {"direct://"},
	}, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.ProxyResolver"))
	_, err = conn.RequestName("org.freedesktop.portal.Desktop", dbus.NameFlagDoNotQueue)
	must(t, err)
	for host, want := range map[string]Answer{
		"sign.test:443":  {[]*url.URL{parsed(t, "http://proxy.test:8080"), nil}, System},
		"sign.test:8443": {straight, Nothing},
	} {
		got, err := f.Find(context.Background(), host)
		if err != nil || names(got.Ways) != names(want.Ways) || got.Source != want.Source {
			t.Errorf("%s: %+v, %v", host, got, err)
		}
	}
}
