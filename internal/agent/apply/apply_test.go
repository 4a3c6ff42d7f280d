package apply

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/esign"
	"countersign/internal/office"
)

var now = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

func signedStatus(state office.PackageState) esign.Status {
	return esign.Status{State: state, Signers: []esign.Signer{{ID: "a", FirstName: "Ana"}}, Documents: []esign.Document{
		{ID: "d", Name: "Lease", Revisions: []esign.Revision{{SignerID: "a", IsSigned: true}}},
	}}
}

func TestAnEventAndAStatusAreOnePieceOfNews(t *testing.T) {
	p := office.Package{Documents: []office.Document{{}}}
	e := esign.Event{Action: esign.DocumentSigned, PackageID: "p", DocumentID: "d", SignerID: "a"}
	if news := Event(&p, e, now); len(news) != 1 {
		t.Fatalf("the event told %v", news)
	}
	if said := Event(&p, e, now); len(said) != 1 || len(p.History) != 1 {
		t.Errorf("the second time it told %v, and there are %v", said, p.History)
	}
	if news := Status(&p, signedStatus("open"), now); len(news) != 0 {
		t.Errorf("the status told %v once more", news)
	}
	if p.SignerName("a") != "Ana" || p.DocumentName("d") != "Lease" {
		t.Errorf("the names: %+v", p)
	}
}

func TestAnOlderAnswerDoesNotTakeBackThatEverybodyHasSigned(t *testing.T) {
	p := office.Package{}
	if news := Status(&p, signedStatus(office.PackageExecuted), now); len(news) != 1 || p.State != office.PackageExecuted || !p.Executed.Equal(now) {
		t.Fatalf("%v, %+v", news, p)
	}
	for _, old := range []office.PackageState{"open", "expired", ""} {
		Status(&p, signedStatus(old), now.Add(time.Hour))
		if p.State != office.PackageExecuted || !p.Executed.Equal(now) {
			t.Errorf("after %q: %s at %v", old, p.State, p.Executed)
		}
	}
}

func TestNoTimeThatCannotBeIsTaken(t *testing.T) {
	for _, impossible := range []time.Time{time.Unix(0, 0), now.AddDate(73, 0, 0)} {
		p := office.Package{Met: true, Created: now}
		Event(&p, esign.Event{Action: esign.DocumentSigned, DocumentID: "d", SignerID: "b", Time: impossible}, now)
		s := signedStatus(office.PackageExecuted)
		s.TimeCreated, s.TimeExecuted, s.Signers[0].TimeExecuted, s.Documents[0].TimeExecuted = impossible, impossible, impossible, impossible
		s.Signers = append(s.Signers, esign.Signer{ID: "c", Declined: true, DeclinedAt: impossible, StateTold: true})
		Status(&p, s, now)
		by := office.When{Time: now, By: true}
		if p.Made() != by || p.Executed != by || p.SignedAt("a") != by || p.SignedAt("b") != by || p.Signers[len(p.Signers)-1].Declined != by {
			t.Errorf("%v is believed: %+v", impossible, p)
		}
	}
}

func TestWhoIsAskedAgainHasNotDeclinedAnyMore(t *testing.T) {
	p := office.Package{}
	declined := esign.Status{State: "open", Signers: []esign.Signer{{ID: "a", Declined: true, Reason: "The rent\nis wrong.", StateTold: true}}}
	Status(&p, declined, now)
	if s := p.Signers[0]; !s.Declined.Equal(now) || s.DeclineReason != "The rent is wrong." || len(p.Next()) != 0 {
		t.Errorf("%+v", p)
	}
	declined.Signers[0].Declined = false
	Status(&p, declined, now)
	if s := p.Signers[0]; !s.Declined.IsZero() || len(p.Next()) != 1 {
		t.Errorf("asked again: %+v", p)
	}
}

func TestWhoDeclinesOnceMoreBetweenTwoLooksHasDeclinedThen(t *testing.T) {
	p := office.Package{}
	for _, c := range []struct{ said, want time.Time }{{now, now}, {now.Add(time.Hour), now.Add(time.Hour)}, {now, now.Add(time.Hour)}, {time.Time{}, now.Add(time.Hour)}} {
		Status(&p, esign.Status{State: "open", Signers: []esign.Signer{{ID: "a", Declined: true, DeclinedAt: c.said, StateTold: true}}}, now)
		if got := p.Signers[0].Declined; got != (office.When{Time: c.want}) {
			t.Errorf("said to have declined at %v: %v", c.said, got)
		}
	}
}

func TestTheTimelineTellsWhenSomebodyDeclinedLast(t *testing.T) {
	for name, again := range map[string]time.Time{"the service says when": now.Add(time.Hour), "it does not": {}} {
		others := []office.HistoryEntry{{What: office.EntryDeclined, Who: "b"}, {What: office.EntrySigned, Who: "a"}}
		p := office.Package{History: others}
		for _, x := range []esign.Signer{{Declined: true, DeclinedAt: now}, {}, {Declined: true, DeclinedAt: again}} {
			x.ID, x.StateTold = "a", true
			Status(&p, esign.Status{State: "draft", Signers: []esign.Signer{x}}, now.Add(2*time.Hour))
		}
		want := office.HistoryEntry{Time: office.At(again, now.Add(2*time.Hour)), What: office.EntryDeclined, Who: "a"}
		if !slices.Equal(p.History, append(others, want)) {
			t.Errorf("%s: %+v, want %+v at the end", name, p.History, want)
		}
	}
}

func TestNobodyWaitsForWhomTheServiceHasTakenOut(t *testing.T) {
	p := office.Package{Signers: []office.Signer{{Email: "Jan@example.com"}}}
	s := signedStatus("open")
	s.Signers = append(s.Signers, esign.Signer{ID: "b", Email: "ben@example.com", StateTold: true})
	Status(&p, s, now)
	if next := p.Next(); len(next) != 2 {
		t.Fatalf("next %+v", next)
	}
	s.Signers[0].Deleted, s.Signers[1].Deleted = true, true // the first has signed
	s.Signers = append(s.Signers, esign.Signer{ID: "j", Email: "jan@example.com", Deleted: true})
	Status(&p, s, now)
	if len(p.Signers) != 1 || p.Signers[0].ID != "a" || len(p.Next()) != 0 || !p.EveryoneSigned() {
		t.Errorf("%+v, next %+v", p.Signers, p.Next())
	}
	p = office.Package{Signers: []office.Signer{{ID: "k", Email: "jan@example.com"}, {FirstName: "Zoe"}, {ID: "b"}, {Email: "JAN@example.com"}}}
	s.Signers = []esign.Signer{{ID: "j", Email: "jan@example.com", Deleted: true}, {ID: "b", Deleted: true}, {ID: "k", Email: "jan@example.com"}}
	if Status(&p, s, now); len(p.Signers) != 2 || p.Signers[0].ID != "k" || p.Signers[1].FirstName != "Zoe" {
		t.Errorf("others were taken out: %+v", p.Signers)
	}
}

func TestTheDocumentsOfATemplateStandInTheOrderOfTheServiceThoughOnlyOneHasAnIDOfOurs(t *testing.T) {
	p := office.Package{Origin: office.MadeHere}
	Status(&p, esign.Status{State: "open", Documents: []esign.Document{{ID: "l", Name: "Lease"}, {ID: "h", Name: "House rules", ExternalID: "ours"}}}, now)
	if len(p.Documents) != 2 || p.Documents[0].ID != "l" || p.Documents[1].ExternalID != "ours" {
		t.Errorf("%+v", p.Documents)
	}
}

func TestTheReasonOfADeclineIsKeptToItsEnd(t *testing.T) {
	p, long := office.Package{}, strings.Repeat("The rent is wrong. ", 25)+"So is the date."
	Status(&p, esign.Status{State: "open", Signers: []esign.Signer{{ID: "a", Declined: true, Reason: long, StateTold: true}}}, now)
	if s := p.Signers[0]; s.DeclineReason != long || len(p.Line().Reason) > office.MaxName+3 {
		t.Errorf("kept %q, in the list %q", s.DeclineReason, p.Line().Reason)
	}
}

func TestASignerAddedAtTheServiceStandsWhereItSays(t *testing.T) {
	ana, ben, cy := esign.Signer{ID: "a", Place: 1}, esign.Signer{ID: "b", Place: 2}, esign.Signer{ID: "c", Place: 3}
	p := office.Package{Sequential: true}
	for _, said := range [][]esign.Signer{{ana, cy}, {ana, ben, cy}} {
		Status(&p, esign.Status{State: "open", Signers: said}, now)
	}
	if len(p.Signers) != 3 || p.Signers[1].ID != "b" {
		t.Errorf("%+v", p.Signers)
	}
	ana.Place, ben.Place = 0, 0
	if Status(&p, esign.Status{State: "open", Signers: []esign.Signer{ben, ana}}, now); len(p.Signers) != 2 || p.Signers[0].ID != "a" {
		t.Errorf("without places: %+v", p.Signers)
	}
}

func TestWhomTheServiceNoLongerListsHasLeftUntilTheyAreListedAgain(t *testing.T) {
	ana, ben := esign.Signer{ID: "a", FirstName: "Ana", Email: "ana@example.com"}, esign.Signer{ID: "b", FirstName: "Ben", Email: "ben@example.com"}
	cy := esign.Signer{ID: "c", FirstName: "Cy", Email: "cy@example.com"}
	lists := func(p *office.Package, signers ...esign.Signer) string {
		Status(p, esign.Status{State: "open", Signers: signers}, now)
		*p = p.Derived()
		line := p.Line()
		return fmt.Sprintf("%s %d/%d, next %s, declined %s", p.Status(), line.SignersDone, line.SignersTotal, strings.ReplaceAll(line.Next, "\n", " "), line.Decliners)
	}
	p := office.Package{Documents: []office.Document{{ID: "d"}}, Signers: []office.Signer{{FirstName: "Ana", Email: "ANA@example.com"}, {FirstName: "Old", Email: "old@example.com"}}}
	declined := ana
	declined.Declined, declined.StateTold = true, true
	for _, c := range []struct {
		signers []esign.Signer
		want    string
	}{
		{[]esign.Signer{declined, {ID: "b", FirstName: "Ben"}}, "declined 0/3, next Old Ben, declined Ana"}, // without all addresses
		{[]esign.Signer{ben, {Email: "ana@example.com"}}, "declined 0/3, next Old Ben, declined Ana"},       // without all ids
		{[]esign.Signer{declined, ben}, "declined 0/2, next Ben, declined Ana"},
		{[]esign.Signer{cy, ben}, "waiting 0/2, next Ben Cy, declined "},
		{nil, "waiting 0/2, next Ben Cy, declined "},
		{[]esign.Signer{ben, ana}, "waiting 0/2, next Ben Ana, declined "},
	} {
		if got := lists(&p, c.signers...); got != c.want {
			t.Errorf("after %+v: %s, want %s", c.signers, got, c.want)
		}
	}
	Event(&p, esign.Event{Action: esign.DocumentSigned, DocumentID: "d", SignerID: "b"}, now)
	if got := lists(&p, ana); got != "waiting 1/2, next Ana, declined " {
		t.Errorf("who has signed is not listed: %s", got)
	}
	if Event(&p, esign.Event{Action: esign.DocumentSigned, DocumentID: "d", SignerID: "c"}, now); len(p.Signers) != 3 || len(p.Former) != 0 {
		t.Errorf("who has signed after all is no signer: %+v", p)
	}
	p = office.Package{Signers: []office.Signer{{FirstName: "New"}}, Former: []office.Signer{{ID: "a", FirstName: "Ana"}}}
	if Event(&p, esign.Event{Action: esign.DocumentSigned, DocumentID: "d", SignerID: "a"}, now); p.SignerName("a") != "Ana" || len(p.Signers) != 2 {
		t.Errorf("who has signed after all is taken for another: %+v", p)
	}
	p = office.Package{}
	lists(&p, declined, ben)
	lists(&p, ben)
	if lists(&p, declined, ben); !p.SomeoneDeclined() || len(p.Former) != 0 || len(p.History) != 2 {
		t.Errorf("listed again as one who declined: %+v", p)
	}
	if lists(&p, ben); p.SignerName("a") != "Ana" || !slices.ContainsFunc(p.History, func(m office.HistoryEntry) bool { return p.Tell(m).String() == "Ana declined to sign" }) {
		t.Errorf("the history forgets who declined: %+v", p)
	}
}

func TestWhoGetsACopyIsWhatTheServiceSaysWhereItSaysSo(t *testing.T) {
	eva := office.Recipient{FirstName: "Eva", LastName: "Klein", Email: "eva@example.com"}
	p := office.Package{Recipients: []office.Recipient{eva}}
	Status(&p, esign.Status{State: "open"}, time.Now())
	if len(p.Recipients) != 1 {
		t.Errorf("an answer that names nobody took %+v away", eva)
	}
	Status(&p, esign.Status{State: "open", Recipients: []office.Recipient{{Email: "EVA@example.com"}, {Email: "boss@example.com", Blind: true}}}, time.Now())
	if len(p.Recipients) != 2 || p.Recipients[0].FirstName != "Eva" || !p.Recipients[1].Blind {
		t.Errorf("%+v", p.Recipients)
	}
}

func twoInSequence() office.Package {
	return office.Package{Sequential: true, Documents: []office.Document{{ID: "d"}}, Signers: []office.Signer{
		{FirstName: "Ana", Email: "ana@example.com"}, {FirstName: "Jan", Email: "jan@example.com"}}}
}

// Whoever signs second is not taken for the first because that event came first.
func TestEventsInAnyOrderGiveNobodyAnothersName(t *testing.T) {
	first := esign.Event{Action: esign.DocumentSigned, DocumentID: "d", SignerID: "s-1", NextSignerID: "s-2"}
	last := esign.Event{Action: esign.DocumentSigned, DocumentID: "d", SignerID: "s-2"}
	status := esign.Status{State: "open", Signers: []esign.Signer{{ID: "s-1", FirstName: "Ana", Email: "ana@example.com"},
		{ID: "s-2", FirstName: "Jan", Email: "JAN@example.com"}}}
	for name, events := range map[string][]esign.Event{"in order": {first, last}, "the last one first": {last, first}, "the last one alone": {last}} {
		p := twoInSequence()
		for _, e := range events {
			Event(&p, e, now)
			if who := p.SignerName(e.SignerID); who != "" && who != map[string]string{"s-1": "Ana", "s-2": "Jan"}[e.SignerID] {
				t.Errorf("%s: %s is said to be %s", name, e.SignerID, who)
			}
		}
		Status(&p, status, now)
		if len(p.Signers) != 2 || p.SignerName("s-1") != "Ana" || p.SignerName("s-2") != "Jan" {
			t.Errorf("%s: %+v", name, p.Signers)
		}
	}
}

func TestAStatusPutsRightWhoIsWho(t *testing.T) {
	swapped := twoInSequence()
	swapped.Signers[0].ID, swapped.Signers[1].ID = "s-2", "s-1"
	for name, c := range map[string]struct {
		p    office.Package
		said []esign.Signer
		want map[string]string // ids to names
	}{
		"ids were taken for each other's": {swapped, []esign.Signer{{ID: "s-1", Email: "ana@example.com"}, {ID: "s-2", Email: "jan@example.com"}},
			map[string]string{"s-1": "Ana", "s-2": "Jan"}},
		"an answer without ids": {swapped, []esign.Signer{{FirstName: "Ana", Email: "ana@example.com"}, {FirstName: "Jan", Email: "jan@example.com"}},
			map[string]string{"s-2": "Ana", "s-1": "Jan"}},
		"an id that is nobody's": {office.Package{Signers: []office.Signer{{ID: "?", FirstName: "Ana", Email: "ana@example.com"}, {FirstName: "Jan", Email: "jan@example.com"}}},
			[]esign.Signer{{ID: "s-1", Email: "ana@example.com"}, {ID: "s-2", Email: "jan@example.com"}}, map[string]string{"s-1": "Ana", "s-2": "Jan"}},
		"an address that was put right": {swapped, []esign.Signer{{ID: "s-2", Email: "anna@example.com"}, {ID: "s-1", Email: "jan@example.com"}},
			map[string]string{"s-2": "Ana", "s-1": "Jan"}},
	} {
		p := c.p
		p.Signers = append([]office.Signer(nil), c.p.Signers...)
		for range 2 {
			Status(&p, esign.Status{State: "open", Signers: c.said}, now)
		}
		if len(p.Signers) != 2 {
			t.Errorf("%s: %+v", name, p.Signers)
		}
		for id, who := range c.want {
			if p.SignerName(id) != who {
				t.Errorf("%s: %s is %q", name, id, p.SignerName(id))
			}
		}
	}
}

// An answer that carries ids alone comes in the order the documents were added, or in another one: externalId tells.
func TestADocumentIsKnownByItsExternalIDBeforeItsPlace(t *testing.T) {
	event := func(id, externalID string) func(p *office.Package) {
		return func(p *office.Package) {
			Event(p, esign.Event{Action: esign.DocumentSigned, DocumentID: id, ExternalID: externalID, SignerID: "s"}, now)
		}
	}
	status := func(documents ...esign.Document) func(p *office.Package) {
		return func(p *office.Package) { Status(p, esign.Status{State: "open", Documents: documents}, now) }
	}
	bare := status(esign.Document{ID: "d1"}, esign.Document{ID: "d2"})
	lease, annex := office.Document{ExternalID: "1", FileName: "Lease.pdf"}, office.Document{ExternalID: "2", FileName: "Annex.pdf"}
	for name, c := range map[string]struct {
		documents []office.Document
		said      []func(p *office.Package)
		want      [2]string // what d1 and d2 are
	}{
		"by its place": {[]office.Document{lease, annex}, []func(*office.Package){bare}, [2]string{"Lease.pdf", "Annex.pdf"}},
		"an event before an answer in another order": {[]office.Document{lease, annex}, []func(*office.Package){event("d1", "2"), bare}, [2]string{"Annex.pdf", "Lease.pdf"}},
		"an event after an answer in another order":  {[]office.Document{lease, annex}, []func(*office.Package){bare, event("d1", "2")}, [2]string{"Annex.pdf", "Lease.pdf"}},
		"an event before the package was known":      {[]office.Document{{ID: "d2", ExternalID: "2", FileName: "Annex.pdf"}, lease}, []func(*office.Package){bare}, [2]string{"Lease.pdf", "Annex.pdf"}},
		"an answer that names one of them": {[]office.Document{lease, annex}, []func(*office.Package){status(esign.Document{ID: "d1"}, esign.Document{ID: "d2", ExternalID: "1"})},
			[2]string{"Annex.pdf", "Lease.pdf"}},
		"an answer without an id for one of them": {[]office.Document{lease, annex},
			[]func(*office.Package){status(esign.Document{ExternalID: "2"}, esign.Document{ID: "d1"})}, [2]string{"Annex.pdf", "Lease.pdf"}},
	} {
		p := office.Package{Origin: office.MadeHere, Documents: slices.Clone(c.documents)}
		for _, said := range append(c.said, bare) {
			said(&p)
		}
		if len(p.Documents) != 2 || p.Document("d1", "").FileName != c.want[0] || p.Document("d2", "").FileName != c.want[1] {
			t.Errorf("%s: %+v", name, p.Documents)
		}
	}
}

// A service may list each signer's turn and leave out whose it is now.
func TestWhoIsNextIsNotForgottenBecauseAnAnswerDoesNotSay(t *testing.T) {
	signers := []esign.Signer{{ID: "a", FirstName: "Ana"}, {ID: "j", FirstName: "Jan"}, {ID: "z", FirstName: "Zoe"}}
	status := func(signed ...string) esign.Status {
		d := esign.Document{ID: "d"}
		for _, s := range signers {
			d.Revisions = append(d.Revisions, esign.Revision{SignerID: s.ID, IsSigned: slices.Contains(signed, s.ID)})
		}
		return esign.Status{State: "open", Type: "Sequential", Signers: signers, Documents: []esign.Document{d}}
	}
	p := office.Package{}
	next := func(when string, want ...string) {
		t.Helper()
		var got []string
		for _, s := range p.Next() {
			got = append(got, s.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: next is %q, want %q", when, got, want)
		}
	}
	Status(&p, status(), now)
	next("before anybody has signed", "a")
	Event(&p, esign.Event{Action: esign.DocumentSigned, DocumentID: "d", SignerID: "a", NextSignerID: "j"}, now)
	next("after an event", "j")
	Status(&p, status("a"), now)
	next("after the answer", "j")
	Status(&p, status("a", "j"), now)
	next("after one whose event is lost", "z")
	named := status("a", "j")
	named.Signers = slices.Clone(signers)
	named.Signers[1].IsNext = true // one more time
	named.Documents[0].Revisions[1].IsSigned = false
	p.Documents[0].SignedBy = []string{"a"}
	Status(&p, named, now)
	next("named as a signer", "j")

	for name, c := range map[string]struct {
		sequential bool
		said       esign.Status
		want       []string
	}{
		"an answer without the order": {false, esign.Status{}, []string{"a"}},
		"one that is in sequence":     {true, esign.Status{Type: "Sequential"}, []string{"a"}},
		"one that is not any more":    {true, esign.Status{Type: "Parallel"}, nil},
		"one that names whose turn it is": {true, esign.Status{Signers: []esign.Signer{{ID: "j", IsNext: true}, {Email: "zoe@example.com", IsNext: true}},
			Documents: []esign.Document{{ID: "d", Revisions: []esign.Revision{{SignerID: "j", IsNext: true}, {SignerID: "z", IsNext: true},
				{SignerID: "a", IsNext: true, IsSigned: true}}}}},
			[]string{"j", "z"}},
	} {
		p := office.Package{Sequential: c.sequential, Signing: office.Signing{NextSigners: []string{"a"}}}
		if Status(&p, c.said, now); !slices.Equal(p.NextSigners, c.want) {
			t.Errorf("%s: next is %q, want %q", name, p.NextSigners, c.want)
		}
	}
}

// A revision is one person's turn on one document. An answer that names only those who have signed says nothing of the others.
func TestWhoSignsWhichDocumentIsCounted(t *testing.T) {
	ana, jan, open := esign.Revision{SignerID: "a", IsSigned: true}, esign.Revision{SignerID: "j", IsSigned: true}, esign.Revision{SignerID: "j"}
	for name, c := range map[string]struct {
		documents [2][]esign.Revision
		done      int
		unsigned  []string
	}{
		"each signs another":         {[2][]esign.Revision{{ana}, {open}}, 1, []string{"j"}},
		"both sign both":             {[2][]esign.Revision{{ana, jan}, {ana, open}}, 1, []string{"j"}},
		"only signatures are listed": {[2][]esign.Revision{{ana}, {ana, jan}}, 1, []string{"j"}},
		"one is not begun":           {[2][]esign.Revision{{ana, open}, nil}, 0, []string{"a", "j"}},
		"one person is not named":    {[2][]esign.Revision{{ana}, {{SignerID: "a"}}}, 0, []string{"a", "j"}},
	} {
		s := esign.Status{State: "open", Signers: []esign.Signer{{ID: "a"}, {ID: "j"}}}
		for i, revisions := range c.documents {
			s.Documents = append(s.Documents, esign.Document{ID: string(rune('d' + i)), Revisions: revisions})
		}
		var p office.Package
		Status(&p, s, now)
		done, total := p.Progress()
		var unsigned []string
		for _, x := range p.Unsigned() {
			unsigned = append(unsigned, x.ID)
		}
		if done != c.done || total != 2 || !slices.Equal(unsigned, c.unsigned) {
			t.Errorf("%s: %d of %d, unsigned %q", name, done, total, unsigned)
		}
	}
}

// The computer's clock was a year behind when it learned that Jan had signed.
func TestABoundOfAWrongClockGivesWayToTheServicesOwnTimes(t *testing.T) {
	open := esign.Status{State: "open", Documents: []esign.Document{{ID: "d", Revisions: []esign.Revision{{SignerID: "j", IsSigned: true}}}}}
	sent := esign.Event{Action: esign.PackageSent, Time: now.Add(-time.Hour)}
	by := office.When{Time: now, By: true}
	behind := now.AddDate(-1, 0, 0)

	p := office.Package{Met: true}
	Status(&p, open, behind)
	if at := p.SignedAt("j"); at != (office.When{Time: behind, By: true}) {
		t.Fatalf("learned with a wrong clock at %v", at)
	}
	Event(&p, sent, now)
	if at := p.Derived().SignedAt("j"); at != by || p.Sent() != (office.When{Time: sent.Time}) {
		t.Errorf("sent at %v, signed %v, want %v", p.Sent(), at, by)
	}

	p = office.Package{Created: now.AddDate(1, 0, 0)} // and ahead when the package was made, which proves nothing
	executed := open
	executed.State = office.PackageExecuted
	Status(&p, executed, behind)
	if Status(&p, executed, now); p.Executed != (office.When{Time: behind, By: true}) {
		t.Errorf("learned again, executed %v", p.Executed)
	}
	for _, at := range []time.Time{now, now.Add(time.Hour)} { // the second changes nothing
		Event(&p, sent, at)
		if p = p.Derived(); p.Executed != by || p.SignedAt("j") != by {
			t.Errorf("executed %v and signed %v, want %v", p.Executed, p.SignedAt("j"), by)
		}
	}

	p = office.Package{}
	Status(&p, executed, behind)
	executed.Signers = []esign.Signer{{ID: "j", TimeExecuted: sent.Time}}
	if Status(&p, executed, now); p.Executed != by || p.SignedAt("j") != (office.When{Time: sent.Time}) {
		t.Errorf("executed %v and signed %v by the answer that says when", p.Executed, p.SignedAt("j"))
	}
}

// Jan signed at some time before 20:09, when the package was complete. The computer was off until 20:37.
func TestATimeAtWhichSomethingWasLearnedIsNotTheTimeAtWhichItHappened(t *testing.T) {
	evening := func(hour, minute int) time.Time { return time.Date(2026, 11, 23, hour, minute, 0, 0, time.UTC) }
	jan := esign.Signer{ID: "j", FirstName: "Jan"}
	answer := func(change func(*esign.Status)) esign.Status {
		s := esign.Status{State: office.PackageExecuted, Signers: []esign.Signer{jan}, Documents: []esign.Document{{ID: "d", Revisions: []esign.Revision{{SignerID: "j", IsSigned: true}}}}}
		change(&s)
		return s
	}
	executed := esign.Event{Action: esign.PackageExecuted, Time: evening(20, 9)}
	by, on := func(h, m int) office.When { return office.When{Time: evening(h, m), By: true} }, func(h, m int) office.When { return office.When{Time: evening(h, m)} }
	for name, c := range map[string]struct {
		events           []esign.Event
		status           esign.Status
		signed, executed office.When
	}{
		"nobody says when":              {nil, answer(func(*esign.Status) {}), by(20, 37), by(20, 37)},
		"an event said when all had":    {[]esign.Event{executed}, answer(func(*esign.Status) {}), by(20, 9), on(20, 9)},
		"the answer says when all had":  {nil, answer(func(s *esign.Status) { s.TimeExecuted = evening(20, 9) }), by(20, 9), on(20, 9)},
		"it says when the document was": {nil, answer(func(s *esign.Status) { s.Documents[0].TimeExecuted = evening(20, 8) }), by(20, 8), by(20, 37)},
		"it says when the person did":   {nil, answer(func(s *esign.Status) { s.Signers = []esign.Signer{{ID: "j", TimeExecuted: evening(20, 7)}} }), on(20, 7), by(20, 37)},
		"it says when somebody else did": {nil, answer(func(s *esign.Status) {
			s.Signers = append(s.Signers, esign.Signer{ID: "a", TimeExecuted: evening(20, 1)})
		}),
			by(20, 37), by(20, 37)},
		"an event without a time": {[]esign.Event{{Action: esign.DocumentSigned, DocumentID: "d", SignerID: "j"}}, answer(func(*esign.Status) {}), by(20, 36), by(20, 37)},
		"an event with one":       {[]esign.Event{{Action: esign.DocumentSigned, DocumentID: "d", SignerID: "j", Time: evening(20, 5)}}, answer(func(*esign.Status) {}), on(20, 5), by(20, 37)},
		"of several documents, when the last was": {nil, answer(func(s *esign.Status) {
			s.Signers[0].TimeExecuted, s.Documents = evening(20, 7), append(s.Documents, esign.Document{ID: "e"})
		}), by(20, 7), by(20, 37)},
	} {
		var p office.Package
		for _, e := range c.events {
			Event(&p, e, evening(20, 36))
		}
		Status(&p, c.status, evening(20, 37))
		Status(&p, c.status, evening(21, 0))
		if p = p.Derived(); p.SignedAt("j") != c.signed || p.Executed != c.executed {
			t.Errorf("%s: signed %+v, want %+v; executed %+v, want %+v", name, p.SignedAt("j"), c.signed, p.Executed, c.executed)
		}
		for _, e := range []esign.Event{{Action: esign.DocumentSigned, DocumentID: "d", SignerID: "j", Time: evening(20, 1)}, {Action: esign.PackageExecuted, Time: evening(20, 2)}} {
			Event(&p, e, evening(22, 0))
		}
		if p.SignedAt("j").By || p.Executed.By {
			t.Errorf("%s: after the events: signed %+v, executed %+v", name, p.SignedAt("j"), p.Executed)
		}
	}
}

func TestWhenAPackageEndedIsTheServicesTimeWhereThereIsOne(t *testing.T) {
	due, said := now.Add(-time.Hour), now.Add(-2*time.Hour)
	for name, c := range map[string]struct {
		status esign.Status
		want   office.When
	}{
		"expired":                         {esign.Status{State: "expired", TimeSignBy: due}, office.When{Time: due}},
		"expired before its time":         {esign.Status{State: "expired", TimeSignBy: now.Add(time.Hour)}, office.When{Time: now, By: true}},
		"withdrawn":                       {esign.Status{State: "rescinded", TimeRescinded: said, TimeSignBy: due}, office.When{Time: said}},
		"withdrawn, and nobody says when": {esign.Status{State: "rescinded"}, office.When{Time: now, By: true}},
	} {
		var p office.Package
		Status(&p, c.status, now)
		if p.Ended() != c.want {
			t.Errorf("%s: %+v, want %+v", name, p.Ended(), c.want)
		}
	}
	p := office.Package{Created: now, Met: true}
	Status(&p, esign.Status{State: "open", TimeCreated: said, Signers: []esign.Signer{{ID: "a", Declined: true, StateTold: true}, {ID: "j", Declined: true, DeclinedAt: due}}}, now)
	if p.Made() != (office.When{Time: said}) || p.Sent() != (office.When{Time: now, By: true}) ||
		p.Signers[0].Declined != (office.When{Time: now, By: true}) || p.Signers[1].Declined != (office.When{Time: due}) {
		t.Errorf("made %+v, sent %+v, declined %+v", p.Made(), p.Sent(), p.Signers)
	}
}

func TestAWithdrawalElsewhereIsToldWithItsReason(t *testing.T) {
	ours := &office.Withdrawal{State: office.WithdrawDone, Message: "ours"}
	for name, c := range map[string]struct {
		before *office.Withdrawal
		state  office.PackageState
		reason string
		want   *office.Withdrawal
	}{
		"elsewhere":                  {nil, "rescinded", "Too\nlate", &office.Withdrawal{State: office.WithdrawDone, Message: "Too late"}},
		"elsewhere without a reason": {nil, "rescinded", "", nil},
		"here":                       {ours, "rescinded", "theirs", ours},
		"not":                        {nil, "open", "theirs", nil},
	} {
		p := office.Package{Withdrawal: c.before}
		if Status(&p, esign.Status{State: c.state, RescindMessage: c.reason}, now); !reflect.DeepEqual(p.Withdrawal, c.want) {
			t.Errorf("withdrawn %s: %+v, want %+v", name, p.Withdrawal, c.want)
		}
	}
}

func TestWhatIsSaidIsNotedAndWhatIsLeftOutStays(t *testing.T) {
	due, created := now.AddDate(0, 0, 7), now.Add(-time.Hour)
	said := esign.Status{State: "open", Name: "Lease", Type: "SEQUENTIAL", OrganizationID: "o", MemberID: "m",
		ExternalData: json.RawMessage(`{"a":1}`), TimeSignBy: due, TimeCreated: created,
		Signers:   []esign.Signer{{ID: "a", FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com", Locale: "es", IsNext: true}},
		Documents: []esign.Document{{ID: "d", Name: "Lease", FileName: "Lease.pdf", ExternalID: "1", Executed: true}}}
	p := office.Package{Met: true, Created: now}
	Status(&p, said, now)
	want := office.Package{State: "open", Name: "Lease", Sequential: true, Due: due, Created: created,
		Source:  office.Source{OrganizationID: "o", MemberID: "m", ExternalData: said.ExternalData},
		Signing: office.Signing{NextSigners: []string{"a"}}, Inquiry: office.Inquiry{Checked: now},
		Signers:   []office.Signer{{ID: "a", FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com", Locale: "es"}},
		Documents: []office.Document{{ID: "d", Name: "Lease", FileName: "Lease.pdf", ExternalID: "1", Executed: true}},
		History:   []office.HistoryEntry{{Time: office.At(time.Time{}, now), What: office.EntrySent}}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("the answer made it %+v,\nwant %+v", p, want)
	}
	want.Checked = now.Add(time.Hour)
	Status(&p, esign.Status{TimeCreated: now, ExternalData: json.RawMessage("null"), Signers: []esign.Signer{{ID: "a"}},
		Documents: []esign.Document{{ID: "d"}, {}}}, want.Checked)
	if !reflect.DeepEqual(p, want) {
		t.Errorf("an answer that says less made it %+v,\nwant %+v", p, want)
	}
	Status(&p, esign.Status{Name: "Lease 2", OrganizationID: "o2", MemberID: "m2"}, want.Checked)
	if want.Name, want.OrganizationID, want.MemberID = "Lease 2", "o2", "m2"; !reflect.DeepEqual(p, want) {
		t.Errorf("an answer that says something else made it %+v,\nwant %+v", p, want)
	}

	p = office.Package{}
	for _, e := range []esign.Event{
		{Action: esign.DocumentExecuted, DocumentID: "d", ExternalID: "1", OrganizationID: "o", MemberID: "m", ExternalData: said.ExternalData, Time: now},
		{Action: esign.DocumentExecuted, OrganizationID: "o2", MemberID: "m2", ExternalData: json.RawMessage("null")},
	} {
		Event(&p, e, due)
	}
	want = office.Package{Source: office.Source{OrganizationID: "o", MemberID: "m", ExternalData: said.ExternalData},
		Documents: []office.Document{{ID: "d", ExternalID: "1", Executed: true}},
		History:   []office.HistoryEntry{{Time: office.When{Time: now}, What: office.EntryDocument, Ref: "d"}}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("the events made it %+v,\nwant %+v", p, want)
	}
}

// The same UUID in capitals is the same package, document and signer.
func TestCapitalsNameWhatIsKnown(t *testing.T) {
	const same = "5b1e0000-0000-4000-8000-00000000000"
	const pack, d, s, next = same + "a", same + "b", same + "c", same + "d"
	written := esign.Event{PackageID: pack, DocumentID: d, SignerID: s, NextSignerID: next}
	up := strings.ToUpper
	capitals := esign.Event{PackageID: up(pack), DocumentID: up(d), SignerID: up(s), NextSignerID: up(next)}
	odd := esign.Event{PackageID: "P", DocumentID: "D", SignerID: "S"}
	known := office.Package{ID: pack, Documents: []office.Document{{ID: d}}, Signers: []office.Signer{{ID: s}, {ID: next}}}
	for name, c := range map[string]struct {
		p          office.Package
		said, want esign.Event
	}{
		"all is known":                           {known, capitals, written},
		"the package alone is":                   {office.Package{ID: pack}, capitals, esign.Event{PackageID: pack}},
		"the package, and it is written like it": {office.Package{ID: pack}, written, written},
		"nothing is, in capitals":                {office.Package{}, capitals, esign.Event{PackageID: capitals.PackageID}},
		"nothing is, as the service writes it":   {office.Package{}, written, written},
		"ids that are no UUID":                   {office.Package{ID: "P", Documents: []office.Document{{ID: "d"}}}, odd, odd},
	} {
		if got := AsKnown(c.p, c.said); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	in := func(written func(string) string) esign.Status {
		turns := []esign.Revision{{SignerID: written(s), IsSigned: true}, {SignerID: written(next), IsNext: true}}
		return esign.Status{Documents: []esign.Document{{ID: written(d), Revisions: turns}}, Signers: []esign.Signer{{ID: written(s)}, {ID: written(next)}}}
	}
	Status(&known, in(strings.Clone), now)
	before := known
	if news := Status(&known, in(up), now); len(news) != 0 || !reflect.DeepEqual(known, before) {
		t.Errorf("a status in capitals told %v and made it %+v", news, known)
	}
	for id, n := range map[string]int{"A": 1, strings.Repeat("A", 36): 1, "{" + pack + "}": 1, pack: 3, strings.ReplaceAll(pack, "-", ""): 3} {
		if all := Cases(id); len(all) != n {
			t.Errorf("%q may be written %q", id, all)
		}
	}
	refused := office.Package{ID: pack, Saving: office.Saving{Refused: now}}
	if !SameAs(known, capitals.PackageID) || !SameAs(refused, pack) || SameAs(refused, capitals.PackageID) {
		t.Error("what the service does not tell about is taken for what it calls otherwise, or the other way round")
	}
}
