package agent

import (
	"errors"
	"strings"
	"testing"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

func TestALinkToSignIsAskedForByAddressOrName(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.eventually("the signers are known", func() bool { p := o.packageOrZero(id); return len(p.Signers) == 2 && p.Signers[1].ID != "" })
	want := o.service.Packages()[0].Signers[1].Page
	for _, who := range []string{"JAN@example.com", "jan weber", o.packageOrZero(id).Signers[1].ID} {
		if got, err := o.SignerPage(t.Context(), id, who); err != nil || got != want {
			t.Errorf("%s: %q, %v", who, got, err)
		}
	}
	_, err := o.SignerPage(t.Context(), id, "nobody")
	if got := Message(err).String(); !strings.HasPrefix(got, "“nobody” does not sign this package.") {
		t.Errorf("%q", got)
	}
	_, err = o.SignerPage(t.Context(), "no-package", "jan@example.com")
	if got := Message(err).String(); !strings.HasPrefix(got, "There is no package “no-package” here.") {
		t.Errorf("%q", got)
	}
}

func TestAServiceWithoutLinksSaysSoInOneSentence(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	id := o.send()
	o.eventually("the signers are known", func() bool { return o.packageOrZero(id).Signers[0].ID != "" })
	o.service.Inject(sandbox.Fault{Path: "/packages/*/link/sign/*", Status: 404, Body: "<h1>Not Found</h1>", Headers: map[string]string{"Content-Type": "text/html"}})
	_, err := o.SignerPage(t.Context(), id, "ana@example.com")
	if !errors.Is(err, ErrNoLinks) || Message(err).String() != message.NoLinks().String() {
		t.Errorf("%v", err)
	}
	o.service.Heal(0)
	o.service.Inject(sandbox.Fault{Path: "/packages/*/link/sign/*", Status: 403, Body: `{"error":"package_not_authorized","message":"No."}`})
	_, err = o.SignerPage(t.Context(), id, "ana@example.com")
	if errors.Is(err, ErrNoLinks) || Message(err).String() != message.MayNotHaveLinks().String() {
		t.Errorf("%v", err)
	}
}

func TestWhoHasNothingToSignGetsNoLink(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	for name, end := range map[string]func(id string) error{
		"everybody has signed": o.service.SignAll,
		"it was withdrawn":     func(id string) error { return o.service.Rescind(id, "", false) },
		"somebody declined":    func(id string) error { return o.service.Decline(id, o.packageOrZero(id).Next()[0].ID, "No.") },
	} {
		id := o.send()
		o.eventually("the signers are known", func() bool { p := o.packageOrZero(id); return len(p.Signers) == 2 && p.Signers[1].ID != "" })
		noErr(t, end(id))
		o.eventually(name+", as is known", func() bool { return o.packageOrZero(id).Status() != office.StatusWaiting })
		got, err := o.SignerPage(t.Context(), id, "jan@example.com")
		if said := Message(err).String(); got != "" || said != "Jan Weber has nothing to sign in this package now." {
			t.Errorf("%s: %q, %q", name, got, said)
		}
	}
}
