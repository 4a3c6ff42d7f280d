//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// variant is one way in which a service, or an office, differs from the usual one.
type variant struct {
	name    string
	service serviceOptions
	path    string   // of the public address
	base    string   // appended to the service's address for --base-url
	setup   []string // flags of setup
	keyFile bool
	disturb map[string]any // how events travel
	bare    bool           // the service says no more than interface.md shows
}

var variants = []variant{
	{name: "exactly the fields of interface.md", service: serviceOptions{flags: []string{"--bare"}}, bare: true},
	{name: "no discovery", service: serviceOptions{flags: []string{"--no-discovery"}}},
	{name: "bare and without discovery", service: serviceOptions{flags: []string{"--bare", "--no-discovery"}}, bare: true},
	{name: "the API under its prefix alone", service: serviceOptions{flags: []string{"--only-api-prefix"}}},
	{name: "the API without its prefix alone", service: serviceOptions{flags: []string{"--no-api-prefix"}, prefix: "none"}},
	{name: "tokens of three seconds", service: serviceOptions{flags: []string{"--token-lifetime", "3s"}}},
	{name: "a secret with odd characters", service: serviceOptions{secret: `a+b/c=d&e%f g:ü"4711`}},
	{name: "a base address with its prefix", base: "/api/v1"},
	{name: "a base address with its prefix and a slash", base: "/api/v1/", service: serviceOptions{flags: []string{"--only-api-prefix"}}},
	{name: "a key file in place of the keyring", keyFile: true},
	{name: "a public address with a path", path: "/hooks/Signing"},
	{name: "another header for the signature", service: serviceOptions{flags: []string{"--signature-header", "X-Signed-By-Me"}},
		setup: []string{"--signature-header", "X-Signed-By-Me"}},
	{name: "events twice and out of order", disturb: map[string]any{"duplicate": 1, "reorder": true}},
}

// TestTheWholeJobWithServicesAndOfficesOfAllKinds plays the main job once per variant.
func TestTheWholeJobWithServicesAndOfficesOfAllKinds(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			playVariant(t, v)
		})
	}
}

func playVariant(t testing.TB, v variant) {
	desk := newDesktop(t)
	f := newFront(t)
	v.service.redirects = []string{f.url + v.path + "/oauth/callback"}
	v.service.flags = append([]string{"--trust", f.authority.file}, v.service.flags...)
	s := startService(t, desk.env(), v.service)
	o := newOffice(t, desk, s, f)
	if v.keyFile {
		o.global = append(o.global, "--key-file", filepath.Join(filepath.Dir(o.data), "key"))
	}
	if v.disturb != nil {
		s.tell("POST", "/events/disturb", v.disturb, nil)
	}
	o.setup(append([]string{"--base-url", s.url + v.base, "--public-url", f.url + v.path}, v.setup...)...)
	o.serve()
	o.mustLogin()
	o.registered()
	lease, offer := o.sendLease(), o.sendOffer()
	s.signAll(lease.ID)
	s.signAll(offer.ID)
	o.until("both packages are saved", func(s status) bool { return s.Packages.Saved == 2 })
	o.savedAsServed(lease, offer)
	o.toldOnce(v.bare, lease, offer)
	o.statusIsRight(f.url + v.path)
	if v.keyFile {
		if labels := desk.keyringItems(); len(labels) != 0 {
			t.Errorf("with a key file, the keyring holds %q", labels)
		}
		info, err := os.Stat(filepath.Join(filepath.Dir(o.data), "key"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key file: %v, %v", info, err)
		}
	}
	o.stop()
	o.keepsSecrets()
}

// TestCommandsWorkWithoutARunningProgram sets up, signs in and sends with nothing running, lets people sign meanwhile,
// and expects the next start to catch up.
func TestCommandsWorkWithoutARunningProgram(t *testing.T) {
	t.Parallel()
	desk := newDesktop(t)
	o := usualOffice(t, desk)
	s := o.service
	o.setup()
	o.mustLogin()
	if s := o.status(); !s.SignedIn || s.Account.Email != olivia {
		t.Errorf("after the sign-in: %+v", s)
	}
	lease, offer := o.sendLease(), o.sendOffer()
	s.signAll(lease.ID)
	s.signAll(offer.ID)
	if s := o.status(); s.Packages.Total != 2 || s.Packages.Saved != 0 {
		t.Errorf("before the start: %+v", s)
	}
	o.serve()
	o.until("both packages are saved", func(s status) bool { return s.Packages.Saved == 2 })
	o.savedAsServed(lease, offer)
	o.stop()

	if s := o.status(); s.Packages.Saved != 2 || s.Saves.Done != 8 || s.Endpoint.ID == "" {
		t.Errorf("after the stop: %+v", s)
	}
	o.must("logout")
	if s := o.status(); s.SignedIn || s.Endpoint.ID != "" {
		t.Errorf("after the sign-out: %+v", s)
	}
	if urls := s.endpoints(); len(urls) != 0 {
		t.Errorf("after the sign-out the service still reports events to %s", urls)
	}
	if r := o.command("send", sample(t, "Offer 2026-118"), "--to", "a@example.com"); r.code != 1 || !strings.Contains(r.stderr, "Nobody is signed in") {
		t.Errorf("signed out, send ended with %d: %s", r.code, r.stderr)
	}
}
