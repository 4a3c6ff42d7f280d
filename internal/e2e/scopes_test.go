//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// scopedOffice is an office whose program runs and is set up with other scopes.
func scopedOffice(t testing.TB, scope string) *office {
	t.Helper()
	desk := newDesktop(t)
	o := usualOffice(t, desk)
	o.setup("--scope", scope)
	o.serve()
	return o
}

// works sends a package, lets it be signed and expects its files. Without events the program asks for news at its own
// pace, and at every start.
func (o *office) works(events bool) {
	o.t.Helper()
	p := o.sendOffer()
	o.service.signAll(p.ID)
	if !events {
		o.stop()
		o.serve()
	}
	o.until("the package is saved", func(s status) bool { return s.Packages.Saved == 1 })
	o.savedAsServed(p)
}

func TestWithoutOfflineAccessTheSignInIsShort(t *testing.T) {
	t.Parallel()
	o := scopedOffice(t, "profile openid organization")
	r, _ := o.login(olivia, true)
	if r.code != 0 || !strings.Contains(r.stderr, "offline_access") {
		t.Errorf("login ended with %d: %s", r.code, r.stderr)
	}
	o.registered()
	if s := o.status(); !s.SignedIn || !strings.Contains(s.issue("scope-offline"), "sign in again soon") {
		t.Errorf("no word about the short sign-in: %+v", s)
	}
	o.works(true)

	// The token is gone with the process, and nothing can replace it.
	o.stop()
	o.serve()
	s := o.until("the sign-in is over", func(s status) bool { return !s.SignedIn })
	if !strings.Contains(s.issue("signin"), "offline_access") {
		t.Errorf("after the restart: %+v", s.Health)
	}
}

func TestWithoutOpenIDEverythingWorks(t *testing.T) {
	t.Parallel()
	o := scopedOffice(t, "profile offline_access organization")
	o.mustLogin()
	o.registered()
	if s := o.status(); s.Account.Email != olivia || len(s.Health) != 0 {
		t.Errorf("without openid the account is asked for: %+v", s)
	}
	o.works(true)
	o.stop()
	o.serve()
	o.until("still signed in", func(s status) bool { return s.SignedIn && s.Tunnel.State == "up" && len(s.Health) == 0 })
}

func TestAMemberWorksWithoutEvents(t *testing.T) {
	t.Parallel()
	o := scopedOffice(t, "profile openid offline_access organization member")
	r, page := o.login(maxim, true)
	if r.code != 0 || !strings.Contains(page, maxim) {
		t.Fatalf("login ended with %d: %s", r.code, r.stderr)
	}
	s := o.until("the limit is told", func(s status) bool { return s.issue("endpoint") != "" })
	if text := s.issue("endpoint"); !strings.Contains(text, "administrator") || s.Endpoint.ID != "" {
		t.Errorf("the limit is told as %q, the endpoint is %+v", text, s.Endpoint)
	}
	o.works(false)
}

func TestAMemberWithoutTheMemberScopeIsToldAtOnce(t *testing.T) {
	t.Parallel()
	o := scopedOffice(t, "profile openid offline_access organization")
	r, _ := o.login(maxim, true)
	if r.code != 0 || !strings.Contains(r.stderr, "does not have permission to send packages") {
		t.Errorf("login ended with %d: %s", r.code, r.stderr)
	}
	if text := o.status().issue("scope-packages"); !strings.Contains(text, "Sign in with an account that has permission.") {
		t.Errorf("status says %q", text)
	}
	send := o.command("send", sample(t, "Offer 2026-118"), "--to", "ana@example.com")
	if send.code != 1 || strings.Contains(strings.TrimSpace(send.stderr), "\n") || !strings.Contains(send.stderr, "does not allow this account") {
		t.Errorf("send ended with %d: %q", send.code, send.stderr)
	}
}

func TestDecliningEndsTheSignInWithOneSentence(t *testing.T) {
	t.Parallel()
	o := scopedOffice(t, "profile openid offline_access organization")
	r, page := o.login(olivia, false)
	if r.code != 1 || strings.Contains(strings.TrimSpace(r.stderr), "\n") || !strings.HasPrefix(r.stderr, "countersign: ") {
		t.Errorf("login ended with %d: %q", r.code, r.stderr)
	}
	sentence := strings.TrimSpace(strings.TrimPrefix(r.stderr, "countersign: "))
	if !strings.Contains(page, "The sign-in did not work") || !strings.Contains(page, sentence) {
		t.Errorf("the command says %q, the browser shows\n%s", sentence, page)
	}
	o.mustLogin() // the next try is not harmed
}
