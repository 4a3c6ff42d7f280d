//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
	"countersign/internal/proxy/proxytest"
)

// The office's network lets nobody out but through its proxy, which wants a password and alone knows ngrok's name.
func TestTheJobThroughTheProxyOfTheOffice(t *testing.T) {
	t.Parallel()
	const connect, password = "connect.ngrok.test:443", "proxy-password-0815"
	desk := harness.NewDesktop(t)
	n := harness.StartNgrok(t)
	proxy, err := proxytest.Start(proxytest.Options{User: "office", Password: password, Hosts: map[string]string{connect: n.ConnectAddr()}})
	harness.Must(t, err)
	t.Cleanup(proxy.Close)
	s := harness.StartService(t, desk.Env(), harness.ServiceOptions{
		Redirects: []string{"https://" + harness.Domain + "/oauth/callback"},
		Flags:     []string{"--trust", n.CA.File, "--connect", harness.Domain + ":443=" + n.PublicAddr()},
	})
	o := harness.NewOffice(t, desk, s, nil)
	o.Secrets = append(slices.Clip(o.Secrets), "NGROK_AUTHTOKEN="+harness.Authtoken)
	o.More = []string{"HTTPS_PROXY=" + proxy.URL().String(), "NO_PROXY=", "no_proxy=", "https_proxy="}
	o.Setup("--tunnel", "ngrok", "--ngrok-domain", harness.Domain, "--ngrok-connect-url", connect, "--ngrok-ca", n.CA.File)
	o.Serve()
	o.Until("the tunnel is up", func(s harness.Status) bool { return s.Tunnel.State == "up" })
	p := o.Begin("login", "--no-browser")
	_, _, err = n.Visitor().SignIn(t.Context(), "http"+p.Line("http"), harness.Olivia, true)
	harness.Must(t, err)
	if code := p.Wait(); code != 0 {
		t.Fatalf("login ended with %d: %s", code, p.Stderr)
	}
	o.Registered()
	lease := sendLease(o)
	s.SignAll(lease.ID)
	o.Until("the package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	savedAsServed(o, lease)
	for _, to := range proxy.Connected() {
		if to != connect {
			t.Errorf("%s was reached through the proxy", to)
		}
	}
	if len(proxy.Connected()) == 0 {
		t.Error("nothing was reached through the proxy")
	}
	log, err := os.ReadFile(filepath.Join(o.Data, "logs", "countersign.log"))
	harness.Must(t, err)
	if text := string(log) + o.Must("status", "--json"); strings.Contains(text, password) {
		t.Error("the proxy's password is in the log or in the status")
	}
}
