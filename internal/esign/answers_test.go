package esign

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestAnAnswerThatCameBeforeIsReadAsItWasThen(t *testing.T) {
	var a answers
	open := []byte(`{"packageId": "p", "state": "open", "externalData": {"n": 1}, "signers": [{"signerId": "s"}], "recipients": [{"email": "eva@example.com"}],
		"documents": [{"documentId": "d", "revisions": [{"signerId": "s", "isNext": true}]}]}`)
	want, _ := readStatus(open)
	for range 3 {
		s, ok := a.read("/packages/p/status", open)
		if !ok || !reflect.DeepEqual(s, want) {
			t.Fatalf("%v, %+v, want %+v", ok, s, want)
		}
		// Whoever gets it may change it.
		s.Documents[0].Name, s.Documents[0].Revisions[0].IsSigned, s.Signers[0].Declined, s.Recipients[0].Email, s.ExternalData[0] = "changed", true, true, "", '!'
	}
	if s, ok := a.read("/packages/q/status", open); !ok || !reflect.DeepEqual(s, want) {
		t.Errorf("to another question: %v, %+v", ok, s)
	}
	if s, ok := a.read("/packages/p/status", []byte(`{"packageId": "p", "state": "executed"}`)); !ok || s.State != Executed || len(s.Signers) > 0 {
		t.Errorf("another answer: %v, %+v", ok, s)
	}
	if s, ok := a.read("/packages/p/status", []byte(`{}`)); ok {
		t.Errorf("no answer: %+v", s)
	}
	if s, ok := a.read("/packages/p/status", open); !ok || !reflect.DeepEqual(s, want) {
		t.Errorf("the first answer again: %v, %+v", ok, s)
	}
}

func TestNoMoreAnswersAreRememberedThanAreOfUse(t *testing.T) {
	var a answers
	for range 2 {
		for i := range 2 * mostAnswers {
			id := fmt.Sprint("p", i)
			if s, ok := a.read("/packages/"+id, fmt.Appendf(nil, `{"packageId": %q}`, id)); !ok || s.PackageID != id {
				t.Fatalf("%v, %+v", ok, s)
			}
		}
	}
	if len(a.known) != mostAnswers {
		t.Errorf("%d are remembered", len(a.known))
	}
	long := fmt.Appendf(nil, `{"packageId": "p", "name": %q}`, strings.Repeat("x", longestAnswer))
	if s, ok := a.read("/packages/long", long); !ok || len(s.Name) != longestAnswer || len(a.known["/packages/long"].raw) > 0 {
		t.Errorf("a long one: %v, %d bytes are remembered", ok, len(a.known["/packages/long"].raw))
	}
	a.known["/packages/p0"] = answered{[]byte("as it was"), Status{PackageID: "remembered"}}
	if s, _ := a.read("/packages/p0", []byte("as it was")); s.PackageID != "remembered" {
		t.Errorf("it was read again: %+v", s)
	}
}
