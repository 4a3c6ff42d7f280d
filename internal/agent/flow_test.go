package agent

import (
	"strings"
	"testing"
	"time"

	"countersign/internal/sandbox"
)

func TestASignedPackageIsSavedAndToldOnce(t *testing.T) {
	for name, bare := range map[string]bool{"full answers": false, "bare answers": true} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, sandbox.Options{Bare: bare})
			id := o.send()
			for i, s := range o.service.Packages()[0].Signers {
				noErr(t, o.service.Sign(id, s.SignerID))
				o.eventually("the signature is told", func() bool { return len(o.notifications()) > i })
			}
			o.eventually("saved", func() bool { return o.Status().Packages.Saved == 1 })
			expect(t, len(o.notifications()), 2, "%d notifications")
			for _, want := range []string{
				"Ana Ruiz signed “Offer”. Next: Jan Weber.", "Everyone has signed “Offer”. Jan Weber signed last. “Offer - Offer 2026-118.pdf” saved in",
			} {
				if n := o.count(want); n != 1 {
					t.Errorf("told %d times: %s\n%s", n, want, strings.Join(o.notifications(), "\n"))
				}
			}
			expect(t, o.files(), []string{"Offer - Offer 2026-118.pdf"}, "files: %q")
			if h := o.Status().Health; len(h) != 0 {
				t.Errorf("health: %+v", h)
			}
		})
	}
}

func TestSendDoesNotWaitForAPersonToSignIn(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	noErr(t, o.service.ExpireAccessTokens())
	noErr(t, o.service.RevokeRefreshTokens())
	d := o.draft()
	d.Patience = time.Hour
	_, err := o.Send(t.Context(), d, nil)
	if err == nil || !strings.Contains(err.Error(), "You are not signed in. It will be sent") {
		t.Errorf("send: %v", err)
	}
	noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
	o.eventually("it goes out", func() bool { return len(o.service.Packages()) == 1 })
}
