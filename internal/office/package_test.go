package office

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
)

// filled is a record in which every slice, map and pointer is set.
func filled(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 4))
		for i := range v.Len() {
			filled(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		filled(key)
		filled(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 23, 16, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				filled(v.Field(i))
			}
		}
	case reflect.String:
		v.SetString("x")
	}
}

// shared lists where two values share memory.
func shared(path string, a, b reflect.Value) (all []string) {
	switch a.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if a.Type() != reflect.TypeFor[*time.Location]() && a.Pointer() == b.Pointer() {
			all = append(all, path)
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		if !a.IsNil() {
			all = append(all, shared(path, a.Elem(), b.Elem())...)
		}
	case reflect.Slice:
		for i := range a.Len() {
			all = append(all, shared(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i))...)
		}
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[time.Time]() {
			return all
		}
		for i := range a.NumField() {
			all = append(all, shared(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))...)
		}
	}
	return all
}

func TestACloneHasMemoryOfItsOwn(t *testing.T) {
	var whole, none Draft
	filled(reflect.ValueOf(&whole).Elem())
	for _, d := range []Draft{whole, none} {
		if clone := d.Clone(); !reflect.DeepEqual(clone, d) {
			t.Errorf("not the same:\n%+v\n%+v", d, clone)
		}
	}
	if common := shared("", reflect.ValueOf(whole), reflect.ValueOf(whole.Clone())); len(common) > 0 {
		t.Errorf("the clone has in common with it: %q", common)
	}
}

// every is a line with all fields set.
var every = PackageLine{
	ID: "p", Name: "Lease", State: "declined", Origin: MadeElsewhere, People: "Ana Ruiz <ana@example.com>", Next: "Jan", Words: "Lease\nLease.pdf",
	Refusals: Refusals{Decliners: "Ana Ruiz", Reason: strings.Repeat("The rent is wrong. ", 20), Declined: true}, SignersDone: 300, SignersTotal: 400,
	Gone: true, Planned: true, Saved: true, Sealed: true, Astray: true, Archived: true, Problem: true, Withdrawing: true,
	Created: time.Unix(1_790_000_000, 5).UTC(), Due: time.Unix(1_790_100_000, 0).UTC(), Executed: time.Unix(1_790_050_000, 0).UTC(),
}

func TestALineIsUnpackedAsItWasPacked(t *testing.T) {
	v := reflect.ValueOf(every)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the line of this test has no %s", v.Type().Field(i).Name)
		}
	}
	for _, want := range []PackageLine{every, {}, {ID: "p"}} {
		packed := want.Pack()
		if got, ok := packed.Unpack(); !ok || got != want || !packed.Whole() || !packed.Created().Equal(want.Created) {
			t.Errorf("packed  %+v\nunpacked %+v, %v", want, got, ok)
		}
	}
}

func TestALineThatIsCutShortIsNotUnpacked(t *testing.T) {
	whole := every.Pack()
	for n := range whole {
		if _, ok := whole[:n].Unpack(); ok || whole[:n].Whole() {
			t.Errorf("cut to %d of %d bytes it was accepted", n, len(whole))
		}
	}
	far := []byte(PackageLine{ID: "p"}.Pack())
	for i := packedHead; i < len(far); i++ {
		long := append(far[:i:i], 0xff, 0xff, 0xff, 0xff, 0x7f)
		if _, ok := PackedLine(long).Unpack(); ok {
			t.Errorf("a length beyond everything at %d was accepted", i)
		}
	}
}

func TestAPackerKeepsWhatItIsGiven(t *testing.T) {
	var keep Packer
	b := make([]byte, 3000)
	var kept []PackedLine
	for i := range 500 {
		for k := range b {
			b[k] = byte(i)
		}
		kept = append(kept, keep.Keep(b[:i*6]))
	}
	kept = append(kept, keep.Keep(make([]byte, 2*packedPiece)))
	for i, p := range kept[:500] {
		if string(p) != strings.Repeat(string([]byte{byte(i)}), i*6) {
			t.Fatalf("line %d has changed", i)
		}
	}
}

func TestTheTimelineSaysWhoAskedForAPackageToBeWithdrawn(t *testing.T) {
	asked := time.Date(2026, 3, 9, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		wish *Withdrawal
		want string
	}{
		"asked":               {&Withdrawal{State: WithdrawAsked, By: "ana@example.com", Asked: asked}, "Withdrawal requested by ana@example.com"},
		"done, nobody's name": {&Withdrawal{State: WithdrawDone, Asked: asked}, "Withdrawal requested"},
		"can be undone":       {&Withdrawal{State: WithdrawWanted, By: "ana@example.com", Asked: asked}, ""},
		"put off":             {&Withdrawal{State: WithdrawWanted, By: "ana@example.com", Asked: asked, Tries: 1}, "Withdrawal requested by ana@example.com"},
		"elsewhere":           {&Withdrawal{State: WithdrawDone}, ""},
	} {
		p := Package{ID: "p", State: PackageOpen, Withdrawal: c.wish}.Derived().Derived()
		said := ""
		for _, m := range p.History {
			if said += p.Tell(m).String(); !m.Time.Equal(asked) {
				t.Errorf("%s: at %v", name, m.Time)
			}
		}
		expect(t, said, c.want, name+": the timeline says %q, want %q", c.want)
	}
}

func TestAPackageIsCalledByWhatPeopleKnow(t *testing.T) {
	for want, p := range map[string]Package{
		"Offer": {Name: "Offer", Documents: []Document{{Name: "Lease"}}},
		"Lease": {Documents: []Document{{}, {Name: "Lease", FileName: "a.pdf"}}},
		"a.pdf": {Documents: []Document{{FileName: "a.pdf"}}},
		"":      {ID: "p"},
	} {
		expect(t, p.DisplayName(), want, "%q, want %q", want)
	}
	p := Package{Signers: []Signer{{ID: "a", FirstName: " Ana ", LastName: "Ruiz", Email: "ana@example.com"}, {ID: "j", Email: "jan@example.com"}, {Email: "x@example.com"}}}
	for id, want := range map[string]string{"a": "Ana  Ruiz", "j": "jan@example.com", "": "", "who": ""} {
		if got := p.SignerName(id); got != want {
			t.Errorf("signer %q: %q, want %q", id, got, want)
		}
	}
}

func TestNamesAreStoredAsTheyCanBeShown(t *testing.T) {
	signers := []Signer{{FirstName: "A\nb", Email: strings.Repeat("x", 3*MaxName)}}
	p := Package{Name: "evil\u202egnp.exe", Signers: signers, Documents: []Document{{FileName: "a\x00b"}},
		Source: Source{ExternalData: json.RawMessage(`{"reference":"2024\n17"}`)}}.Derived()
	if p.Name != "evilgnp.exe" || p.Signers[0].FirstName != "A b" || len([]rune(p.Signers[0].Email)) > MaxName || p.Reference != "2024 17" {
		t.Errorf("stored as %+v", p)
	}
	if signers[0].FirstName != "A\nb" {
		t.Error("the draft's own text was changed")
	}
}

func TestAnArchivedPackageComesBackForWhatIsNewlyWrong(t *testing.T) {
	p := Package{Saving: Saving{Problem: message.DiskFull("Signed")}}
	p.Archive(true)
	p.Problem = message.WaitForRoom("Signed", 2)
	if p = p.Derived(); p.Archived == nil {
		t.Error("the same trouble in other words brought it back")
	}
	p.Gone = true
	if again := p.Derived(); again.Archived != nil {
		t.Error("what is newly wrong beside it does not bring it back")
	}
	p.Gone, p.Problem = false, message.Message{}
	p = p.Derived()
	p.Signers = []Signer{{ID: "a", Declined: When{Time: time.Now()}}}
	if p = p.Derived(); p.Archived != nil {
		t.Error("what is newly wrong does not bring it back")
	}
	p.Archive(true)
	if p.Archive(false); p.Archived != nil {
		t.Error("nobody can put it back")
	}
}

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

func TestASealIsToldInOneLine(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.Local)
	for _, c := range []struct {
		seal Seal
		want string
	}{
		{Seal{}, ""},
		{Seal{State: SealNone}, "It has no digital seal."},
		{Seal{State: SealIntact, Signer: "Signum", At: at}, "Sealed by “Signum” on 2 March 2026, unchanged when checked."},
		{Seal{State: SealIntact, Signer: "Signum"}, "Sealed by “Signum”, unchanged when checked."},
		{Seal{State: SealStranger, Signer: "Signum", At: at},
			"Sealed by “Signum” on 2 March 2026, unchanged when checked. This computer does not know who vouches for that name."},
		{Seal{State: SealChanged, Signer: "Signum"}, "Changed after “Signum” sealed it: do not rely on this document."},
		{Seal{State: SealBroken}, "Its digital seal does not fit: do not rely on this document."},
		{Seal{State: SealUnjudged}, "Its digital seal cannot be checked here."},
	} {
		if got := c.seal.Text().String(); got != c.want {
			t.Errorf("%+v says %q, want %q", c.seal, got, c.want)
		}
	}
}
