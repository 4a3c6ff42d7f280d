package agent

import (
	"os"
	"path/filepath"
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

func TestWhatHappenedWhileTheProgramWasOffIsCaughtUp(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	id := o.send()
	o.stop()
	o.service.Hold()
	noErr(t, o.service.SignAll(id))
	o.open()
	o.run()
	o.eventually("saved without an event", func() bool { return o.Status().Packages.Saved == 1 })
	received := o.Status().Events.Received
	noErr(t, o.service.Release("reverse"))
	o.eventually("the late events are handled", func() bool {
		e := o.Status().Events
		return e.Received >= received+4 && e.Pending == 0
	})
	if got := o.files(); len(got) != 1 {
		t.Errorf("files: %q", got)
	}
	o.eventually("people are told", func() bool { return o.count("Everyone has signed “Offer”. Jan Weber signed last.") == 1 })
	o.stop()
	if told := o.notifications(); len(told) != 2 || o.count("Ana Ruiz signed “Offer”.") != 1 {
		t.Errorf("told %q", told)
	}
}

func TestDuplicatedAndReorderedEventsMakeOneFileAndOneNotification(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	o.service.Disturb(sandbox.Disturbance{Duplicate: 2, Reorder: true})
	id := o.send()
	o.service.Hold()
	noErr(t, o.service.SignAll(id))
	noErr(t, o.service.Release("random"))
	o.eventually("saved", func() bool { return o.Status().Packages.Saved == 1 })
	o.eventually("duplicates came", func() bool { s := o.Status().Events; return s.Duplicates >= 4 && s.Pending == 0 })
	if got := o.files(); len(got) != 1 {
		t.Errorf("files: %q", got)
	}
	o.eventually("people are told", func() bool { return len(o.notifications()) >= 2 })
	for _, text := range []string{"Ana Ruiz signed", "Jan Weber signed", "Everyone has signed “"} {
		if n := o.count(text); n != 1 {
			t.Errorf("told %d times: %s", n, text)
		}
	}
}

func TestAMissingFolderStopsTheQueueWithOneSentenceAndResumes(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	away := o.folder + "-away"
	noErr(t, os.Rename(o.folder, away))
	noErr(t, o.service.SignAll(id))
	o.eventually("people are told", func() bool { return o.issue("folder") != nil })
	if text := o.issue("folder").Text(); !strings.Contains(text, "1 file is waiting") {
		t.Errorf("text: %s", text)
	}
	noErr(t, os.Rename(away, o.folder))
	o.eventually("saved", func() bool { return o.Status().Packages.Saved == 1 && o.issue("folder") == nil })
}

func TestAFileOfThatNameIsNeverOverwritten(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	mine := filepath.Join(o.folder, "Offer - Offer 2026-118.pdf")
	noErr(t, os.WriteFile(mine, []byte("the office's own"), 0o600))
	id := o.send()
	noErr(t, o.service.SignAll(id))
	o.eventually("saved", func() bool { return o.Status().Packages.Saved == 1 })
	if b, err := os.ReadFile(mine); err != nil || string(b) != "the office's own" {
		t.Errorf("the office's file: %q, %v", b, err)
	}
	if got := o.files(); !slices.Contains(got, "Offer - Offer 2026-118 (2).pdf") {
		t.Errorf("files: %q", got)
	}
}

func TestALostAnswerToAddNeverMakesASecondPackage(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	o.eventually("the endpoint is registered", func() bool { return o.Status().Endpoint.ID != "" })
	o.service.Hold()
	o.service.Inject(sandbox.Fault{Method: "POST", Path: "/packages/add", Times: 1, LoseAnswer: true})
	o.service.Inject(sandbox.Fault{Method: "POST", Path: "/packages/list", Status: 500})
	state, err := o.Send(t.Context(), o.draft(), nil)
	if err != nil || state.State != office.DraftUnknown || state.Problem.IsZero() {
		t.Fatalf("send: %+v, %v", state, err)
	}
	o.eventually("people are told", func() bool { return o.Status().Outbox.Unknown == 1 && o.issue("outbox") != nil })
	o.restart()
	if o.Status().Outbox.Unknown != 1 {
		t.Errorf("after a restart: %+v", o.Status().Outbox)
	}
	noErr(t, o.service.Release(""))
	o.eventually("an event tells", func() bool { return o.Status().Outbox.Unknown == 0 && o.issue("outbox") == nil })
	if n := len(o.service.Packages()); n != 1 {
		t.Errorf("%d packages", n)
	}
	if p := o.Lines(); len(p) != 1 || p[0].Origin != office.MadeHere {
		t.Errorf("packages: %+v", p)
	}
}

func TestALapsedSignInIsToldAndTheNextOneContinues(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	id := o.send()
	noErr(t, o.service.ExpireAccessTokens())
	noErr(t, o.service.RevokeRefreshTokens(""))
	noErr(t, o.service.SignAll(id))
	o.eventually("people are told", func() bool { return o.issue("signin") != nil })
	o.eventually("events are stored all the same", func() bool { return o.Status().Events.Received >= 4 })
	noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
	o.eventually("saved", func() bool { return o.Status().Packages.Saved == 1 && o.issue("signin") == nil })
}

func TestSendDoesNotWaitForAPersonToSignIn(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	noErr(t, o.service.ExpireAccessTokens())
	noErr(t, o.service.RevokeRefreshTokens(""))
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
	requests, _ := o.service.Requests()
	var deleted, revoked bool
	for _, r := range requests {
		revoked = revoked || strings.HasSuffix(r.Path, "/connect/revoke") && r.Status == 200
		deleted = deleted || strings.HasSuffix(r.Path, "/events/endpoints/set") && r.Status == 200
	}
	if !deleted || !revoked {
		t.Errorf("deleted %v, revoked %v", deleted, revoked)
	}
	if b, err := o.account.Vault().Get(issuer.Refresh.Of(issuer.Of(o.Settings()))); err != nil || b != nil {
		t.Errorf("a refresh token is kept: %v", err)
	}
}
