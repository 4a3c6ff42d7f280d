package office

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
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
