package agent

import (
	"errors"
	"slices"
	"testing"

	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// received are the recipients of the one package that the service has.
func (o *testOffice) received() (list []string) {
	o.t.Helper()
	all := o.service.Packages()
	if len(all) != 1 {
		o.t.Fatalf("%d packages", len(all))
	}
	for _, r := range all[0].Recipients {
		list = append(list, r.Type+" "+r.Email)
	}
	return list
}

func copies(s *office.Settings) {
	s.CopyTo, s.BlindCopyTo = []string{"Office <office@example.com>", "JAN@example.com"}, []string{"boss@example.com"}
}

// TestADraftKeepsWhoGetsACopyOverAKill has the program end between the press and the sending.
func TestADraftKeepsWhoGetsACopyOverAKill(t *testing.T) {
	o := newOffice(t, sandbox.Options{}, copies)
	d := o.draft()
	d.Recipients = []office.Recipient{{FirstName: "Eva", LastName: "Klein", Email: "eva@example.com"}}
	id, err := o.Hold(d)
	noErr(t, err)
	o.restart()
	noErr(t, o.Resolve(id, true))
	o.eventually("it is sent", func() bool { return len(o.Lines()) == 1 })
	// Jan signs, and so gets none.
	want := []string{"CC eva@example.com", "CC office@example.com", "BCC boss@example.com"}
	if got := o.received(); !slices.Equal(got, want) {
		t.Errorf("the service has %q", got)
	}
	row, _ := o.Package(o.Lines()[0].ID)
	if len(row.Recipients) != 3 || row.Recipients[0].DisplayName() != "Eva Klein" || !row.Recipients[2].Blind {
		t.Errorf("the package: %+v", row.Recipients)
	}
}

func TestAStandingRecipientCanBeTakenOffOnePackage(t *testing.T) {
	o := newOffice(t, sandbox.Options{}, copies)
	d := o.draft()
	d.NoCopy = []string{"OFFICE@example.com", "boss@example.com"}
	_, err := o.Send(t.Context(), d, nil)
	noErr(t, err)
	if got := o.received(); len(got) != 0 {
		t.Errorf("the service has %q", got)
	}
}

func TestACopyForASignerIsRefusedBeforeAnythingIsStored(t *testing.T) {
	o := newOffice(t, sandbox.Options{}, copies)
	for email, want := range map[string]string{"ANA@example.com": "Eva signs this package and cannot also get a copy.", "eva": "“Eva” is not an e-mail address for a copy."} {
		d := o.draft()
		d.Recipients = []office.Recipient{{FirstName: "Eva", Email: email}}
		_, err := o.Send(t.Context(), d, nil)
		if bad := (*DraftError)(nil); !errors.As(err, &bad) || bad.Text.String() != want {
			t.Errorf("%s: %v", email, err)
		}
	}
	if n := len(o.Drafts()) + len(o.service.Packages()); n != 0 {
		t.Errorf("%d stored or sent", n)
	}
}
