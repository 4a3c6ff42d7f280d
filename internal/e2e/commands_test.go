//go:build linux

package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
)

func TestCommandsEndAsPromised(t *testing.T) {
	t.Parallel()
	desk := newDesktop(t)
	fresh := filepath.Join(shortDir(t), "data")
	offer := sample(t, "Offer 2026-118")
	for name, c := range map[string]struct {
		args []string
		code int
		says string // on stderr, in its one line
	}{
		"an unknown flag":              {[]string{"status", "--nope"}, 2, "unknown flag --nope"},
		"a package without signers":    {[]string{"send", offer}, 2, "--to"},
		"a signer without an address":  {[]string{"send", offer, "--to", "Ana"}, 2, `"Ana" is not a signer`},
		"a day that is none":           {[]string{"send", offer, "--to", "a@example.com", "--due", "soon"}, 2, `"soon" is not a date`},
		"reference data without sense": {[]string{"send", offer, "--to", "a@example.com", "--external-data", "{"}, 2, "--external-data"},
		"sending before signing in":    {[]string{"send", offer, "--to", "a@example.com"}, 1, "Nobody is signed in"},
		"signing in before setting up": {[]string{"login", "--no-browser"}, 1, "not set up yet"},
		"an address that is none":      {[]string{"setup", "--auth-url", "ftp://x"}, 1, "https://"},
		"a window without a display":   {nil, 1, "no screen"},
		"nothing to sign out of":       {[]string{"logout"}, 0, "Signed out."},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, desk.env("COUNTERSIGN_DATA="+fresh), program, c.args...)
			p.in.Close()
			code, said := p.wait(), strings.TrimSpace(p.stderr.String())
			if code != c.code || !strings.Contains(said, c.says) || strings.Contains(said, "\n") {
				t.Errorf("ended with %d, want %d, and said %q, want one line with %q", code, c.code, said, c.says)
			}
		})
	}
	for _, args := range [][]string{{"--help"}, {"send", "--help"}, {"version"}, {"status"}} {
		p := start(t, desk.env("COUNTERSIGN_DATA="+fresh), program, args...)
		if code := p.wait(); code != 0 || p.stdout.String() == "" || p.stderr.String() != "" {
			t.Errorf("%q ended with %d and said %q", args, code, p.stderr)
		}
	}
}

// documented are the names in status --json, as DESIGN.md lists them; what lies below is named after a dot.
var documented = []string{
	"account", "account.email", "account.member_id", "account.organization_id",
	"endpoint", "endpoint.id", "endpoint.registered_at", "endpoint.url",
	"events", "events.duplicates", "events.pending", "events.problems", "events.received", "events.rejected", "health",
	"outbox", "outbox.failed", "outbox.pending", "outbox.unknown",
	"packages", "packages.executed", "packages.open", "packages.saved", "packages.total",
	"saves", "saves.done", "saves.failed", "saves.pending", "signed_in",
	"tunnel", "tunnel.kind", "tunnel.since", "tunnel.state", "tunnel.url", "version",
}

// hasDocumentedNames checks the names in the JSON of a status that has everything.
func (o *office) hasDocumentedNames() {
	o.t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(o.must("status", "--json")), &all); err != nil {
		o.t.Fatal(err)
	}
	var names []string
	for name, value := range all {
		names = append(names, name)
		var below map[string]json.RawMessage
		if json.Unmarshal(value, &below) == nil {
			for inner := range below {
				names = append(names, name+"."+inner)
			}
		}
	}
	slices.Sort(names)
	for _, want := range documented {
		if !slices.Contains(names, want) {
			o.t.Errorf("status --json has no %s, only %q", want, names)
		}
	}
}

func TestALockedKeyringIsToldAndNothingIsLost(t *testing.T) {
	t.Parallel()
	desk := newDesktop(t)
	o := usualOffice(t, desk)
	s, f := o.service, o.front
	o.setup()
	o.serve()
	o.mustLogin()
	o.registered()
	lease := o.sendLease()
	o.stop()

	lock := desk.bus.Object("org.freedesktop.secrets", "/org/freedesktop/secrets").Call("org.freedesktop.Secret.Service.Lock", 0,
		[]dbus.ObjectPath{"/org/freedesktop/secrets/collection/login"})
	if lock.Err != nil {
		t.Fatal(lock.Err)
	}
	o.serve()
	st := o.until("the locked keyring is told", func(s status) bool { return s.issue("keyring") != "" })
	if text := st.issue("keyring"); !strings.Contains(text, "locked") {
		t.Errorf("the locked keyring is told as %q", text)
	}
	s.signAll(lease.ID)
	eventually(t, "the service was asked to come again", func() bool {
		return slices.ContainsFunc(f.passed(), func(a answered) bool { return a.Status == 503 })
	})
	for _, command := range [][]string{{"send", sample(t, "Offer 2026-118"), "--to", "a@example.com"}, {"login", "--no-browser"}} {
		if r := o.command(command[0], command[1:]...); r.code != 1 || !strings.Contains(r.stderr, "locked") {
			t.Errorf("with a locked keyring %s ended with %d: %s", command[0], r.code, r.stderr)
		}
	}
	o.stop()

	desk.restartKeyring()
	o.serve()
	o.until("the package is saved", func(s status) bool { return s.Packages.Saved == 1 && s.SignedIn && s.issue("keyring") == "" })
	o.savedAsServed(lease)
	eventually(t, "the events that waited are delivered", s.allDelivered)
	o.toldOnce(false, lease)
}
