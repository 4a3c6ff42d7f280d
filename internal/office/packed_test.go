package office

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// every is a line with all it can have.
var every = PackageLine{
	ID: "p", Name: "Lease", State: "declined", Origin: MadeElsewhere, People: "Ana Ruiz <ana@example.com>", Next: "Jan", Words: "Lease\nLease.pdf",
	Decliners: "Ana Ruiz", Reason: strings.Repeat("The rent is wrong. ", 20), Declined: true, SignersDone: 300, SignersTotal: 400,
	Gone: true, Planned: true, Saved: true, Archived: true, Problem: true, Withdrawing: true,
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
