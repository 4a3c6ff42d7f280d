//go:build !windows && !darwin

package proxy

import (
	"context"
	"net/url"
	"testing"

	"countersign/internal/sessionbus/bustest"

	"github.com/godbus/dbus/v5"
)

type resolver map[string][]string

func (r resolver) Lookup(uri string) ([]string, *dbus.Error) { return r[uri], nil }

func TestTheDesktopIsAskedForTheProxy(t *testing.T) {
	noEnvironment(t)
	bustest.OfSession(t, nil)
	f := OfSystem()
	if a, err := f.Find(context.Background(), "sign.test:443"); err != nil || a.First() != nil || a.Source != Nothing {
		t.Errorf("without a portal: %+v, %v", a, err)
	}
	f.Forget()
	conn := must(dbus.ConnectSessionBus())
	defer conn.Close()
	noErr(t, conn.Export(resolver{
		"https://sign.test/":      {"http://proxy.test:8080", "direct://"},
		"https://sign.test:8443/": {"direct://"},
	}, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.ProxyResolver"))
	must(conn.RequestName("org.freedesktop.portal.Desktop", dbus.NameFlagDoNotQueue))
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
