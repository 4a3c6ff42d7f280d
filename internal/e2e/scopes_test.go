//go:build linux

package e2e

import (
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

// scopedOffice is an office whose program runs and is set up with other scopes.
func scopedOffice(t testing.TB, scope string) *harness.Office {
	t.Helper()
	desk := harness.NewDesktop(t)
	o := harness.UsualOffice(t, desk)
	o.Setup("--scope", scope)
	o.Serve()
	return o
}

// works sends a package, lets it be signed and expects its files. Without events the program asks for news at its own
// pace, and at every start.
func works(o *harness.Office, events bool) {
	o.T.Helper()
	p := sendOffer(o)
	o.Service.SignAll(p.ID)
	if !events {
		o.Stop()
		o.Serve()
	}
	o.Until("the package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	savedAsServed(o, p)
}

func TestWithoutOfflineAccessTheSignInIsShort(t *testing.T) {
	t.Parallel()
	o := scopedOffice(t, "profile openid organization")
	r, _ := o.Login(harness.Olivia, true)
	if r.Code != 0 || !strings.Contains(r.Stderr, "offline_access") {
		t.Errorf("login ended with %d: %s", r.Code, r.Stderr)
	}
	o.Registered()
	if s := o.Status(); !s.SignedIn || !strings.Contains(s.Issue("scope-offline"), "sign in again soon") {
		t.Errorf("no word about the short sign-in: %+v", s)
	}
	works(o, true)

	// The token is gone with the process, and nothing can replace it.
	o.Stop()
	o.Serve()
	s := o.Until("the sign-in is over", func(s harness.Status) bool { return !s.SignedIn })
	if !strings.Contains(s.Issue("signin"), "offline_access") {
		t.Errorf("after the restart: %+v", s.Health)
	}
}

func TestWithoutOpenIDEverythingWorks(t *testing.T) {
	t.Parallel()
	o := scopedOffice(t, "profile offline_access organization")
	o.MustLogin()
	o.Registered()
	if s := o.Status(); s.Account.Email != harness.Olivia || len(s.Health) != 0 {
		t.Errorf("without openid the account is asked for: %+v", s)
	}
	works(o, true)
	o.Stop()
	o.Serve()
	o.Until("still signed in", func(s harness.Status) bool { return s.SignedIn && s.Tunnel.State == "up" && len(s.Health) == 0 })
}

func TestAMemberWorksWithoutEvents(t *testing.T) {
	t.Parallel()
	o := scopedOffice(t, "profile openid offline_access organization member")
	r, page := o.Login(harness.Maxim, true)
	if r.Code != 0 || !strings.Contains(page, harness.Maxim) {
		t.Fatalf("login ended with %d: %s", r.Code, r.Stderr)
	}
	s := o.Until("the limit is told", func(s harness.Status) bool { return s.Issue("endpoint") != "" })
	if text := s.Issue("endpoint"); !strings.Contains(text, "administrator") || s.Endpoint.ID != "" {
		t.Errorf("the limit is told as %q, the endpoint is %+v", text, s.Endpoint)
	}
	works(o, false)
}

func TestAMemberWithoutTheMemberScopeIsToldAtOnce(t *testing.T) {
	t.Parallel()
	o := scopedOffice(t, "profile openid offline_access organization")
	r, _ := o.Login(harness.Maxim, true)
	if r.Code != 0 || !strings.Contains(r.Stderr, "does not have permission to send packages") {
		t.Errorf("login ended with %d: %s", r.Code, r.Stderr)
	}
	if text := o.Status().Issue("scope-packages"); !strings.Contains(text, "Sign in with an account that has permission.") {
		t.Errorf("status says %q", text)
	}
	send := o.Command("send", harness.Sample(t, "Offer 2026-118"), "--to", "ana@example.com")
	if send.Code != 1 || strings.Contains(strings.TrimSpace(send.Stderr), "\n") || !strings.Contains(send.Stderr, "does not have permission to do this") {
		t.Errorf("send ended with %d: %q", send.Code, send.Stderr)
	}
}

func TestDecliningEndsTheSignInWithOneSentence(t *testing.T) {
	t.Parallel()
	o := scopedOffice(t, "profile openid offline_access organization")
	r, page := o.Login(harness.Olivia, false)
	if r.Code != 1 || strings.Contains(strings.TrimSpace(r.Stderr), "\n") || !strings.HasPrefix(r.Stderr, "countersign: ") {
		t.Errorf("login ended with %d: %q", r.Code, r.Stderr)
	}
	sentence := strings.TrimSpace(strings.TrimPrefix(r.Stderr, "countersign: "))
	if !strings.Contains(page, "The sign-in did not work") || !strings.Contains(page, sentence) {
		t.Errorf("the command says %q, the browser shows\n%s", sentence, page)
	}
	o.MustLogin() // the next try is not harmed
}
