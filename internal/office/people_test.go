package office

import (
	"slices"
	"testing"
)

func TestAnAddressThatSignsGetsNoCopyAndNobodyGetsTwo(t *testing.T) {
	signers := []Signer{{FirstName: "Ana", Email: "ana@example.com"}}
	for name, c := range map[string]struct {
		emails []string
		want   []Code
	}{
		"two people":     {[]string{"eva@example.com", "jan@example.com"}, []Code{"", ""}},
		"a signer":       {[]string{"ANA@Example.com"}, []Code{CodeSigns}},
		"twice":          {[]string{"eva@example.com", "Eva@EXAMPLE.com"}, []Code{"", CodeTwice}},
		"no address":     {[]string{"eva", ""}, []Code{CodeForm, CodeMissing}},
		"nobody at all":  {nil, []Code{}},
		"many of a kind": {[]string{"ana@example.com", "ana@example.com"}, []Code{CodeSigns, CodeSigns}},
	} {
		var list []Recipient
		for i, e := range c.emails {
			list = append(list, Recipient{Email: e, Blind: i%2 == 1})
		}
		if got := CheckCopies(list, signers); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestANameIsTurnedAtItsCommaUnlessThatBeginsAnAddress(t *testing.T) {
	for typed, want := range map[string]string{"Ruiz, Ana": "Ana Ruiz", "Peter, peter@@example.com": "Peter, peter@@example.com"} {
		expect(t, splitName(typed).fullName(), want, "%q, want %q")
	}
}

func TestStandingRecipientsGetACopyUnlessTheySignOrAreNamedOrTakenOff(t *testing.T) {
	s := Settings{CopyTo: []string{"Eva Klein <eva@example.com>", "office@example.com"}, BlindCopyTo: []string{"boss@example.com"}}.Normal()
	d := NewPackage{Signers: []Signer{{Email: "Office@example.com"}}, Recipients: []Recipient{{Email: "EVA@example.com", Blind: true}}}
	want := []Recipient{{Email: "EVA@example.com", Blind: true}, {Email: "boss@example.com", Blind: true}}
	draft := Draft{Signers: d.Signers, Recipients: d.Recipients}
	if draft.CopyDefaultRecipients(s.DefaultRecipients()); !slices.Equal(draft.Recipients, want) {
		t.Errorf("%+v", draft.Recipients)
	}
	draft.NoCopy = []string{"BOSS@example.com"}
	if draft.CopyDefaultRecipients(s.DefaultRecipients()); !slices.Equal(draft.Recipients, want[:1]) {
		t.Errorf("taken off: %+v", draft.Recipients)
	}
}

func TestADraftThatIsSentLaterGoesToThoseWhoAreStandingRecipientsThen(t *testing.T) {
	eva, boss, jan := Recipient{Email: "eva@example.com"}, Recipient{Email: "boss@example.com"}, Recipient{Email: "jan@example.com"}
	draft := Draft{Signers: []Signer{{Email: "ana@example.com"}}, Recipients: []Recipient{eva}}
	draft.CopyDefaultRecipients([]Recipient{boss})
	draft.CopyDefaultRecipients([]Recipient{jan})
	if want := []Recipient{eva, jan}; !slices.Equal(draft.Recipients, want) {
		t.Errorf("copies to %+v, want %+v", draft.Recipients, want)
	}
}

func TestPeopleAreWrittenAsTheyAreRead(t *testing.T) {
	for _, p := range []Signer{{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}, {FirstName: "Ana", LastName: "van Dam", Email: "a@example.com"},
		{FirstName: "Jan Peter", LastName: "Weber", Email: "jan@example.com"}, {Email: "office@example.com"}, {FirstName: "Cher", Email: "c@example.com"}} {
		if got := ReadPeople(Written(p)); len(got) != 1 || got[0] != p {
			t.Errorf("%s: %+v", Written(p), got)
		}
	}
}
