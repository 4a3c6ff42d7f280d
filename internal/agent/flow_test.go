package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/agent/issuer"
	"countersign/internal/office"
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
			if n := len(o.notifications()); n != 2 {
				t.Errorf("%d notifications", n)
			}
			for _, want := range []string{
				"Ana Ruiz signed “Offer”. Next: Jan Weber.", "Everyone has signed “Offer”. Jan Weber signed last. “Offer - Offer 2026-118.pdf” saved in",
			} {
				if n := o.count(want); n != 1 {
					t.Errorf("told %d times: %s\n%s", n, want, strings.Join(o.notifications(), "\n"))
				}
			}
			if got := o.files(); !slices.Equal(got, []string{"Offer - Offer 2026-118.pdf"}) {
				t.Errorf("files: %q", got)
			}
			if h := o.Status().Health; len(h) != 0 {
				t.Errorf("health: %+v", h)
			}
		})
	}
}

// The list, which would tell as well, does not work.
func TestALostAnswerToAddNeverMakesASecondPackage(t *testing.T) {
	for name, late := range map[string]bool{"the events come before it would": false, "they come after a restart": true} {
		t.Run(name, func(t *testing.T) {
			o := newOfficeWith(t, quick, sandbox.Options{})
			o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
			if late {
				o.service.Hold()
			}
			o.service.Inject(sandbox.Fault{Path: "/packages/add", Times: 1, LoseAnswer: true})
			o.service.Inject(sandbox.Fault{Path: "/packages/list", Status: 500})
			state, err := o.Send(t.Context(), o.draft(), nil)
			if err != nil || late && (state.State != office.DraftUnknown || state.Problem.IsZero()) {
				t.Fatalf("send: %+v, %v", state, err)
			}
			if late {
				o.eventually("people are told", func() bool { return o.Status().Outbox.Unknown == 1 && o.issue("outbox") != nil })
				o.restart()
				if o.Status().Outbox.Unknown != 1 {
					t.Errorf("after a restart: %+v", o.Status().Outbox)
				}
				noErr(t, o.service.Release(""))
			}
			o.eventually("an event tells", func() bool { return o.draftIs(office.DraftSent) && o.issue("outbox") == nil })
			id := o.service.Packages()[0].PackageID
			signAll(o, id)
			o.eventually("saved", func() bool { return saved(o, id) })
			if l := o.Lines(); len(l) != 1 || l[0].Origin != office.MadeHere || l[0].Name != "Offer" || len(o.service.Packages()) != 1 {
				t.Errorf("packages: %+v, %d at the service", l, len(o.service.Packages()))
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

func TestSigningOutDeletesTheEndpointAndForgetsTheTokens(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	o.send()
	noErr(t, o.SignOut(t.Context()))
	if s := o.Status(); s.SignedIn || s.Endpoint.ID != "" || s.Account.Email != "" {
		t.Errorf("status: %+v", s)
	}
	if urls := o.service.EndpointURLs(); len(urls) > 0 || calls(o.service, "POST /connect/revoke") == 0 {
		t.Errorf("registered is %v, %d revocations", urls, calls(o.service, "POST /connect/revoke"))
	}
	if b, err := o.account.Vault().Get(issuer.Refresh.Of(issuer.Of(o.Settings()))); err != nil || b != nil {
		t.Errorf("a refresh token is kept: %v", err)
	}
}
