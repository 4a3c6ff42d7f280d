package compose

import (
	"slices"
	"testing"

	"fyne.io/fyne/v2"

	"countersign/internal/office"
	"countersign/ui/officetest"
)

var (
	eva   = office.Recipient{FirstName: "Eva", LastName: "Klein", Email: "eva@example.com"}
	boss  = office.Recipient{Email: "boss@example.com", Blind: true}
	clerk = office.Recipient{FirstName: "Clerk", Email: "clerk@example.com"}
)

// withStanding is an office in which the clerk and, unseen, the boss get a copy of everything.
func withStanding() *officetest.Office {
	o := officetest.Busy()
	o.Kept.CopyTo, o.Kept.BlindCopyTo = []string{"Clerk <clerk@example.com>"}, []string{"boss@example.com"}
	return o
}

// copies are all who would get a copy.
func (b *bench) copies() []office.Recipient { return b.screen.copies.recipients(b.screen.signers()) }

// Who was taken off in Settings gets nothing more, whatever the form has shown before.
func TestTheFormSendsToThoseWhoGetACopyOfEverythingNow(t *testing.T) {
	o := withStanding()
	b := newBench(t, o)
	b.add("Lease.pdf")
	b.screen.Fill(filled(ana))
	o.Change(office.SettingsChanged, func(o *officetest.Office) { o.Kept.CopyTo, o.Kept.BlindCopyTo = nil, []string{"eva@example.com"} })
	if got := b.copies(); !slices.Equal(got, []office.Recipient{{Email: eva.Email, Blind: true}}) {
		t.Errorf("the form shows %+v", got)
	}
	b.Reload()
	if len(b.screen.copies.turns) != 1 || b.screen.copies.turns[eva.Email] == nil {
		t.Errorf("it offers to take off %v", b.screen.copies.turns)
	}
	b.send()
	b.Settle()
	if len(o.Sent) != 1 || len(o.Sent[0].Recipients) != 0 { // the office adds those of its settings
		t.Errorf("sent %+v", o.Sent)
	}
}

func TestACopyIsAddedByKeysAlone(t *testing.T) {
	o := withStanding()
	o.Known = []office.Signer{jan, ana}
	b := newBench(t, o)
	b.add("Lease.pdf")
	b.screen.Fill(filled(ana))
	b.Window.Canvas().Focus(b.screen.addCopy)
	b.key(fyne.KeyReturn)
	b.write("ja")
	b.key(fyne.KeyDown)
	b.key(fyne.KeyReturn) // takes Jan
	b.tab(1)
	b.key(fyne.KeySpace) // a blind copy
	b.send()
	b.Settle()
	if len(o.Sent) != 1 {
		t.Fatalf("sent %d", len(o.Sent))
	}
	want := []office.Recipient{{FirstName: "Jan", LastName: "Weber", Email: jan.Email, Blind: true}} // beside those of the settings
	if got := o.Sent[0]; !slices.Equal(got.Recipients, want) || len(got.NoCopy) != 0 {
		t.Errorf("copies to %+v, none to %q", got.Recipients, got.NoCopy)
	}
}

func TestWhoCannotGetACopyIsSaidWhileItIsTyped(t *testing.T) {
	b := newBench(t, withStanding())
	b.screen.Fill(filled(ana))
	said := func(text string) string {
		b.screen.copies.fill(nil, nil)
		b.screen.copies.add()
		b.write(text)
		return b.screen.copies.added[0].problem.Text
	}
	for typed, want := range map[string]string{
		"Ana Ruiz <ANA.RUIZ@Example.com>": "Ana Ruiz signs this package and cannot also get a copy.",
		"Clerk@EXAMPLE.com":               "Clerk@EXAMPLE.com is listed twice to get a copy.",
		"eva@example.com":                 "",
		"ev":                              "", // not complete yet
	} {
		if got := said(typed); got != want {
			t.Errorf("%s: %q", typed, got)
		}
	}
	b.screen.addSigner(noSigner, true)
	said("eva@example.com")
	b.screen.people[1].email.SetText("EVA@example.com") // the other way round
	if got := b.screen.copies.added[0].problem.Text; got == "" {
		t.Error("who comes to sign afterwards keeps the copy")
	}
	b.screen.Send()
	if b.screen.run != nil {
		t.Error("it was sent")
	}
}

func TestAStandingCopyIsTakenOffOnePackage(t *testing.T) {
	o := withStanding()
	b := newBench(t, o)
	b.add("Lease.pdf")
	b.screen.Fill(filled(ana, office.Signer{FirstName: "The", LastName: "Boss", Email: "BOSS@example.com"}))
	if got := b.copies(); !slices.Equal(got, []office.Recipient{clerk}) {
		t.Errorf("the boss signs; copies to %+v", got)
	}
	for range 3 { // off, on, off, with the cursor staying where it is
		b.Window.Canvas().Focus(b.screen.copies.turns[clerk.Email])
		b.key(fyne.KeySpace)
		if b.focused() != fyne.Focusable(b.screen.copies.turns[clerk.Email]) {
			t.Fatal("the cursor is lost")
		}
	}
	again := newBench(t, o) // after another start
	if got := again.copies(); len(got) != 0 || len(again.screen.copies.off) != 1 {
		t.Errorf("after a restart, copies to %+v", got)
	}
	b.send()
	b.Settle()
	if len(o.Sent) != 1 || len(o.Sent[0].Recipients) != 0 || !slices.Equal(o.Sent[0].NoCopy, []string{clerk.Email}) {
		t.Errorf("sent %+v", o.Sent)
	}
	if len(b.copies()) != 2 {
		t.Error("the next package goes to both again")
	}
}

func TestADraftComesBackWithWhoGetsACopy(t *testing.T) {
	o := withStanding()
	was := office.Recipient{Email: "was.standing@example.com"} // when the draft was made
	o.Waiting = []office.Draft{{ID: "d", Name: "Lease", Signers: []office.Signer{ana}, Recipients: []office.Recipient{boss, was, eva},
		DefaultRecipients: []string{boss.Email, was.Email}, NoCopy: []string{clerk.Email}}}
	b := newBench(t, o)
	b.screen.Edit(o.Waiting[0])
	b.Settle()
	if got := b.copies(); !slices.Equal(got, []office.Recipient{boss, eva}) {
		t.Errorf("copies to %+v", got)
	}
	b.screen.clear()
	b.screen.Like(office.NewPackage{Name: "Lease", Signers: []office.Signer{ana}, Recipients: []office.Recipient{eva}})
	if got := b.copies(); !slices.Equal(got, []office.Recipient{clerk, boss, eva}) {
		t.Errorf("a package like it: copies to %+v", got)
	}
}

func TestSeveralAddressesBecomeSeveralCopies(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.copies.add()
	b.write("eva@example.com, Jan Weber <jan@example.com>")
	b.tab(1)
	if got := b.screen.copies.own(); len(got) != 2 || got[1].LastName != "Weber" {
		t.Errorf("%+v", got)
	}
}
