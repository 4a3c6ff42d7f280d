package health

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/trytest"
)

var expect = trytest.Expect

var start = time.Date(2026, 11, 21, 14, 2, 0, 0, time.UTC)

func tracker() (t *Tracker, now *time.Time, changes *int) {
	now, changes = new(time.Time), new(int)
	*now = start
	return New(func() time.Time { return *now }, func() { *changes++ }), now, changes
}

func TestAStateKeepsSinceWhenWhileItsMessageIsRefined(t *testing.T) {
	h, now, changes := tracker()
	h.Set(AddressClosed, message.Stopped())
	h.Set(AddressClosed, message.Stopped())
	*now = start.Add(time.Hour)
	h.Set(AddressRefused, message.Unexpected())
	expect(t, *changes, 2, "told of %d changes")
	got := h.List()
	if len(got) != 1 || !got[0].Since.Equal(start) || got[0].Action != ActSettings || got[0].Message != message.Unexpected() {
		t.Errorf("%+v", got)
	}
	if !h.Clear(AddressClosed) || h.Clear(AddressClosed) || len(h.List()) != 0 || *changes != 3 {
		t.Errorf("%+v, %d changes", h.List(), *changes)
	}
}

// An outage in which the service once asks for a pause is one.
func TestAnOutageIsDatedFromItsBeginning(t *testing.T) {
	h, now, _ := tracker()
	for _, s := range []State{ServiceFails, ServiceBusy, ServiceFails} {
		h.Set(s, message.Message{})
		*now = now.Add(time.Hour)
	}
	if got := h.List(); len(got) != 1 || !got[0].Since.Equal(start) {
		t.Errorf("%+v", got)
	}
}

// A desk that is turned away was only cut off before: that had another beginning and another remedy.
func TestAProblemBeginsAnew(t *testing.T) {
	h, now, _ := tracker()
	h.Set(HubAway, message.HubAway())
	*now = start.Add(time.Hour)
	h.Set(DeskUnwelcome, message.DeskUnwelcome())
	if got := h.List(); len(got) != 1 || !got[0].Since.Equal(*now) {
		t.Errorf("%+v", got)
	}
}

func TestAMissingFolderIsToldOnce(t *testing.T) {
	h, _, _ := tracker()
	h.Set(FolderAway, message.FolderMissing("Signed"))
	h.Set(FolderFails, message.WaitForFolder("Signed", 2))
	if told := Distinct(h.List()); len(told) != 1 || told[0].ID != FolderFails.ID {
		t.Errorf("%+v", told)
	}
	h.Set(FolderFails, message.WaitForFolder("Other", 2))
	expect(t, len(Distinct(h.List())), 2, "of two folders %d are told")
}

func TestTheGravestAndOldestComesFirst(t *testing.T) {
	h, now, _ := tracker()
	for _, s := range []State{PolicyWrong, NoAddress, ServiceFails, FolderFails, KeyringLocked} {
		h.Set(s, message.Stopped())
		*now = now.Add(time.Minute)
	}
	var ids []string
	for _, i := range h.List() {
		ids = append(ids, i.ID)
	}
	if want := []string{"folder", "keyring", "service", "policy", "no-tunnel"}; !slices.Equal(ids, want) {
		t.Errorf("%v, want %v", ids, want)
	}
}

func TestPeopleAreNotifiedOfWhatLastsAndOfTheCauseAlone(t *testing.T) {
	h, _, _ := tracker()
	h.Set(AddressClosed, message.Stopped())
	h.Set(SignedOut, message.Stopped())
	h.Set(NoAddress, message.Stopped())
	due := map[string]time.Time{}
	look := func() {
		clear(due)
		for _, i := range h.List() {
			if at, ok := i.Due(h.List()); ok {
				due[i.ID] = at
			}
		}
	}
	if look(); len(due) != 1 || !due["tunnel"].Equal(start.Add(15*time.Minute)) {
		t.Errorf("%v", due)
	}
	h.Set(ServiceFails, message.Stopped())
	if look(); len(due) != 0 {
		t.Errorf("the service explains it: %v", due)
	}
}

func TestAnotherServiceAndASignOutEndWhatBelongsToThem(t *testing.T) {
	h, _, _ := tracker()
	for _, s := range []State{ClientRefused, EndpointLost, MayNotSend, FolderFails} {
		h.Set(s, message.Stopped())
	}
	if h.End(WithSignIn); h.Has(MayNotSend) || !h.Has(ClientRefused) {
		t.Errorf("%+v", h.List())
	}
	if h.End(WithService); len(h.List()) != 1 || !h.Has(FolderFails) {
		t.Errorf("%+v", h.List())
	}
}

func TestAnIssueIsWrittenWithItsEnglish(t *testing.T) {
	h, _, _ := tracker()
	h.Set(FolderFails, message.Stopped())
	data, err := json.Marshal(h.List()[0])
	if err != nil || !strings.Contains(string(data), `"text":"`+message.Stopped().String()) {
		t.Errorf("%s, %v", data, err)
	}
	var back Issue
	if err := json.Unmarshal(data, &back); err != nil || back.Message != message.Stopped() || back.ID != "folder" || !back.Since.Equal(start) {
		t.Errorf("%+v, %v", back, err)
	}
	if json.Unmarshal([]byte("[7]"), &back) == nil || json.Unmarshal([]byte("7"), &back) == nil {
		t.Error("what is no issue is read as one")
	}
}

func TestAnIssueStandsWhileSomethingIsSaidOfItAndSinceItBegan(t *testing.T) {
	h, _, changes := tracker()
	h.StandsSince(FolderFails.ID, start.Add(-time.Hour))
	if *changes != 0 || len(h.List()) != 0 {
		t.Errorf("nothing stands, and there is %+v, %d changes", h.List(), *changes)
	}
	h.Update(FolderFails, message.Stopped())
	h.StandsSince(FolderFails.ID, start.Add(-time.Hour))
	if got := h.List(); *changes != 2 || len(got) != 1 || !got[0].Since.Equal(start.Add(-time.Hour)) || got[0].ConcernsData() {
		t.Errorf("it stands, and there is %+v, %d changes", got, *changes)
	}
	if h.Update(FolderFails, message.Message{}); h.Has(FolderFails) {
		t.Error("nothing is said of it, and it stands")
	}
	for _, s := range []State{DataNotWritten, DataNotRead, DataRestored} {
		if !(Issue{ID: s.ID}).ConcernsData() {
			t.Errorf("%s does not concern the data", s.ID)
		}
	}
	for step, want := range map[message.Message]bool{NetworkAsks.Step: true, EndpointFails.Step: false} {
		if (Issue{ID: NetworkAsks.ID}).Concerns(step) != want {
			t.Errorf("the network's page concerns %q: %v", step, !want)
		}
	}
}

func TestWhatAnotherIssueExplainsInTheSameWordsIsSaidOnce(t *testing.T) {
	h := New(time.Now, func() {})
	h.Set(ServiceFails, message.ServiceOdd())
	for m, n := range map[message.Message]int{message.ServiceOdd(): 1, message.ServiceAiling(): 2} {
		h.Set(EndpointFails, m)
		if told := Distinct(h.List()); len(told) != n || len(h.List()) != 2 {
			t.Errorf("%s: told %+v", m, told)
		}
	}
	h.Set(ServiceFails, message.ServiceSilent())
	h.Set(AddressClosed, message.Then(message.NoConnection(), message.TryingAgain()))
	h.Clear(EndpointFails)
	if told := Distinct(h.List()); len(told) != 1 || told[0].ID != ServiceFails.ID {
		t.Errorf("without internet, told %+v", told)
	}
	h.Clear(ServiceFails)
	if told := Distinct(h.List()); len(told) != 1 {
		t.Errorf("told %+v", told)
	}
}

// The registry is read from its source, so that no state can be left out of this test.
func TestEveryStateSaysAllThereIsToKnow(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "registry.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		lit, ok := spec.Values[0].(*ast.CompositeLit)
		if !ok {
			return true
		}
		n++
		if !strings.Contains(spec.Doc.Text(), " ends ") {
			t.Errorf("%s does not say when it ends", spec.Names[0])
		}
		keys := map[string]bool{}
		for _, e := range lit.Elts {
			keys[e.(*ast.KeyValueExpr).Key.(*ast.Ident).Name] = true
		}
		if !keys["ID"] || !keys["Severity"] {
			t.Errorf("%s has no id or no severity", spec.Names[0])
		}
		return true
	})
	if n < 20 || n != len(States()) {
		t.Errorf("found %d states, and States has %d", n, len(States()))
	}
	for _, s := range append(States(), Stopped("loop")) {
		if s.Severity != Info && s.Action == ActNone {
			t.Errorf("%s needs a person, who is offered nothing to do", s.ID)
		}
	}
}

func TestWhatSomebodyHasReadIsOverUnlessItSaysMore(t *testing.T) {
	h, _, _ := tracker()
	h.Set(RecordsUnreadable, message.Stopped())
	h.Set(FolderFails, message.Stopped())
	issues := h.List()
	read := issues[1]
	h.Dismiss(issues[0]) // needs more than to be read
	h.Set(RecordsUnreadable, message.Unexpected())
	if h.Dismiss(read); !h.Has(RecordsUnreadable) || !h.Has(FolderFails) {
		t.Errorf("%+v: nobody has read this yet", h.List())
	}
	h.Dismiss(h.List()[1])
	if h.Has(RecordsUnreadable) {
		t.Error("it is read, and still there")
	}
}

func TestNothingStandsSinceAMomentToCome(t *testing.T) {
	now := time.Date(2027, 11, 22, 12, 0, 0, 0, time.UTC)
	changed := 0
	issues := New(func() time.Time { return now }, func() { changed++ })
	issues.Set(FolderFails, message.ServiceSilent())
	now = now.AddDate(-1, 0, 0) // the clock is put right
	issues.MendSince()
	issues.MendSince()
	if i := issues.List()[0]; !i.Since.Equal(now) || changed != 2 {
		t.Errorf("since %v, %d changes", i.Since, changed)
	}
	if at, _ := issues.List()[0].Due(issues.List()); at.After(now.Add(time.Hour)) {
		t.Errorf("people are told at %v", at)
	}
}
