//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"

	"github.com/godbus/dbus/v5"
)

func TestWithoutADisplayThereIsNoWindow(t *testing.T) {
	t.Parallel()
	p := harness.Start(t, harness.NewDesktop(t).Env(), harness.Program, "--data", harness.ShortDir(t))
	if code, said := p.Wait(), strings.TrimSpace(p.Stderr.String()); code != 1 || !strings.Contains(said, "no screen") || strings.Contains(said, "\n") {
		t.Errorf("it ended with %d and said %q, want one line", code, said)
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
