package apply

import (
	"testing"
	"time"

	"countersign/internal/esign"
	"countersign/internal/office"
)

var now = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

func signedStatus(state esign.State) esign.Status {
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
	if news := Event(&p, e, now); len(news) != 0 {
		t.Errorf("the second time it told %v", news)
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
	if news := Status(&p, signedStatus(esign.Executed), now); len(news) != 1 || p.State != office.PackageExecuted || !p.Executed.Equal(now) {
		t.Fatalf("%v, %+v", news, p)
	}
	for _, old := range []esign.State{"open", "expired", ""} {
		Status(&p, signedStatus(old), now.Add(time.Hour))
		if p.State != office.PackageExecuted || !p.Executed.Equal(now) {
			t.Errorf("after %q: %s at %v", old, p.State, p.Executed)
		}
	}
}

func TestWhoIsAskedAgainHasNotDeclinedAnyMore(t *testing.T) {
	p := office.Package{}
	declined := esign.Status{State: "open", Signers: []esign.Signer{{ID: "a", Declined: true, Reason: "The rent\nis wrong.", StateTold: true}}}
	Status(&p, declined, now)
	if s := p.Signers[0]; !s.Declined.Equal(now) || s.DeclineReason != "The rent is wrong." || len(p.NextSigners) != 0 {
		t.Errorf("%+v", p)
	}
	declined.Signers[0].Declined = false
	Status(&p, declined, now)
	if s := p.Signers[0]; !s.Declined.IsZero() || len(p.NextSigners) != 1 {
		t.Errorf("asked again: %+v", p)
	}
}

func TestWhoGetsACopyIsWhatTheServiceSaysWhereItSaysSo(t *testing.T) {
	eva := office.Recipient{FirstName: "Eva", LastName: "Klein", Email: "eva@example.com"}
	p := office.Package{Recipients: []office.Recipient{eva}}
	Status(&p, esign.Status{State: "open"}, time.Now())
	if len(p.Recipients) != 1 {
		t.Errorf("an answer that names nobody took %+v away", eva)
	}
	Status(&p, esign.Status{State: "open", Recipients: []esign.Recipient{{Email: "EVA@example.com"}, {Email: "boss@example.com", Blind: true}}}, time.Now())
	if len(p.Recipients) != 2 || p.Recipients[0].FirstName != "Eva" || !p.Recipients[1].Blind {
		t.Errorf("%+v", p.Recipients)
	}
}
