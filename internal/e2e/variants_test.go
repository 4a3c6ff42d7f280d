//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

// variant is one way in which a service, or an office, differs from the usual one.
type variant struct {
	name    string
	service harness.ServiceOptions
	path    string   // of the public address
	base    string   // appended to the service's address for --base-url
	setup   []string // flags of setup
	keyFile bool
	disturb map[string]any // how events travel
	bare    bool           // the service says no more than interface.md shows
}

var variants = []variant{
	{name: "exactly the fields of interface.md", service: harness.ServiceOptions{Flags: []string{"--bare"}}, bare: true},
	{name: "no discovery", service: harness.ServiceOptions{Flags: []string{"--no-discovery"}}},
	{name: "bare and without discovery", service: harness.ServiceOptions{Flags: []string{"--bare", "--no-discovery"}}, bare: true},
	{name: "the API under its prefix alone", service: harness.ServiceOptions{Flags: []string{"--only-api-prefix"}}},
	{name: "the API without its prefix alone", service: harness.ServiceOptions{Flags: []string{"--no-api-prefix"}, Prefix: "none"}},
	{name: "tokens of three seconds", service: harness.ServiceOptions{Flags: []string{"--token-lifetime", "3s"}}},
	{name: "a secret with odd characters", service: harness.ServiceOptions{Secret: `a+b/c=d&e%f g:ü"4711`}},
	{name: "a base address with its prefix", base: "/api/v1"},
	{name: "a base address with its prefix and a slash", base: "/api/v1/", service: harness.ServiceOptions{Flags: []string{"--only-api-prefix"}}},
	{name: "a key file in place of the keyring", keyFile: true},
	{name: "a public address with a path", path: "/hooks/Signing"},
	{name: "another header for the signature", service: harness.ServiceOptions{Flags: []string{"--signature-header", "X-Signed-By-Me"}},
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
	desk := harness.NewDesktop(t)
	f := harness.NewFront(t)
	v.service.Redirects = []string{f.URL + v.path + "/oauth/callback"}
	v.service.Flags = append([]string{"--trust", f.Authority.File}, v.service.Flags...)
	s := harness.StartService(t, desk.Env(), v.service)
	o := harness.NewOffice(t, desk, s, f)
	if v.keyFile {
		o.Global = append(o.Global, "--key-file", filepath.Join(filepath.Dir(o.Data), "key"))
	}
	if v.disturb != nil {
		s.Tell("POST", "/events/disturb", v.disturb, nil)
	}
	o.Setup(append([]string{"--base-url", s.URL + v.base, "--public-url", f.URL + v.path}, v.setup...)...)
	o.Serve()
	o.MustLogin()
	o.Registered()
	lease, offer := sendLease(o), sendOffer(o)
	s.SignAll(lease.ID)
	s.SignAll(offer.ID)
	o.Until("both packages are saved", func(s harness.Status) bool { return s.Packages.Saved == 2 })
	savedAsServed(o, lease, offer)
	toldOnce(o, v.bare, lease, offer)
	statusIsRight(o, f.URL+v.path)
	if v.keyFile {
		if labels := desk.KeyringItems(); len(labels) != 0 {
			t.Errorf("with a key file, the keyring holds %q", labels)
		}
		info, err := os.Stat(filepath.Join(filepath.Dir(o.Data), "key"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key file: %v, %v", info, err)
		}
	}
	o.Stop()
	keepsSecrets(o)
}

// TestCommandsWorkWithoutARunningProgram sets up, signs in and sends with nothing running, lets people sign meanwhile,
// and expects the next start to catch up.
func TestCommandsWorkWithoutARunningProgram(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	o := harness.UsualOffice(t, desk)
	s := o.Service
	o.Setup()
	o.MustLogin()
	if s := o.Status(); !s.SignedIn || s.Account.Email != harness.Olivia {
		t.Errorf("after the sign-in: %+v", s)
	}
	lease, offer := sendLease(o), sendOffer(o)
	s.SignAll(lease.ID)
	s.SignAll(offer.ID)
	if s := o.Status(); s.Packages.Total != 2 || s.Packages.Saved != 0 {
		t.Errorf("before the start: %+v", s)
	}
	o.Serve()
	o.Until("both packages are saved", func(s harness.Status) bool { return s.Packages.Saved == 2 })
	savedAsServed(o, lease, offer)
	o.Stop()

	if s := o.Status(); s.Packages.Saved != 2 || s.Saves.Done != 8 || s.Endpoint.ID == "" {
		t.Errorf("after the stop: %+v", s)
	}
	o.Must("logout")
	if s := o.Status(); s.SignedIn || s.Endpoint.ID != "" {
		t.Errorf("after the sign-out: %+v", s)
	}
	if urls := s.Endpoints(); len(urls) != 0 {
		t.Errorf("after the sign-out the service still reports events to %s", urls)
	}
	if r := o.Command("send", harness.Sample(t, "Offer 2026-118"), "--to", "a@example.com"); r.Code != 1 || !strings.Contains(r.Stderr, "Nobody is signed in") {
		t.Errorf("signed out, send ended with %d: %s", r.Code, r.Stderr)
	}
}
