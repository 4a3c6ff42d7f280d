//go:build linux

package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"

	"github.com/godbus/dbus/v5"
)

func TestCommandsEndAsPromised(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	fresh := filepath.Join(harness.ShortDir(t), "data")
	offer := harness.Sample(t, "Offer 2026-118")
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
			p := harness.Start(t, desk.Env("COUNTERSIGN_DATA="+fresh), harness.Program, c.args...)
			p.In.Close()
			code, said := p.Wait(), strings.TrimSpace(p.Stderr.String())
			if code != c.code || !strings.Contains(said, c.says) || strings.Contains(said, "\n") {
				t.Errorf("ended with %d, want %d, and said %q, want one line with %q", code, c.code, said, c.says)
			}
		})
	}
	for _, args := range [][]string{{"--help"}, {"send", "--help"}, {"version"}, {"status"}} {
		p := harness.Start(t, desk.Env("COUNTERSIGN_DATA="+fresh), harness.Program, args...)
		if code := p.Wait(); code != 0 || p.Stdout.String() == "" || p.Stderr.String() != "" {
			t.Errorf("%q ended with %d and said %q", args, code, p.Stderr)
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
func hasDocumentedNames(o *harness.Office) {
	o.T.Helper()
	var all map[string]json.RawMessage
	harness.Must(o.T, json.Unmarshal([]byte(o.Must("status", "--json")), &all))
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
			o.T.Errorf("status --json has no %s, only %q", want, names)
		}
	}
}

func TestALockedKeyringIsToldAndNothingIsLost(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	o := harness.UsualOffice(t, desk)
	s, f := o.Service, o.Front
	o.Ready()
	lease := sendLease(o)
	o.Stop()

	lock := desk.Bus.Object("org.freedesktop.secrets", "/org/freedesktop/secrets").Call("org.freedesktop.Secret.Service.Lock", 0,
		[]dbus.ObjectPath{"/org/freedesktop/secrets/collection/login"})
	if lock.Err != nil {
		t.Fatal(lock.Err)
	}
	o.Serve()
	st := o.Until("the locked keyring is told", func(s harness.Status) bool { return s.Issue("keyring") != "" })
	if text := st.Issue("keyring"); !strings.Contains(text, "locked") {
		t.Errorf("the locked keyring is told as %q", text)
	}
	s.SignAll(lease.ID)
	harness.Eventually(t, "the service was asked to come again", func() bool {
		return slices.ContainsFunc(f.Passed(), func(a harness.Answered) bool { return a.Status == 503 })
	})
	for _, command := range [][]string{{"send", harness.Sample(t, "Offer 2026-118"), "--to", "a@example.com"}, {"login", "--no-browser"}} {
		if r := o.Command(command[0], command[1:]...); r.Code != 1 || !strings.Contains(r.Stderr, "locked") {
			t.Errorf("with a locked keyring %s ended with %d: %s", command[0], r.Code, r.Stderr)
		}
	}
	o.Stop()

	desk.RestartKeyring()
	o.Serve()
	o.Until("the package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 && s.SignedIn && s.Issue("keyring") == "" })
	savedAsServed(o, lease)
	harness.Eventually(t, "the events that waited are delivered", s.AllDelivered)
	toldOnce(o, false, lease)
}
