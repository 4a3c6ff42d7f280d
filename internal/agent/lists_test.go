package agent

import (
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// A line is refused, and a person corrects it and sends it from the outbox.
func TestALineThatWasCorrectedInTheOutboxIsSentAndNotAgain(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	common := office.NewPackage{Name: "Offer", Files: []string{o.sample()}}
	list := func(email string) office.BulkList {
		rows := []office.ListRow{{Line: 1, Cells: []string{"E-mail"}}, {Line: 2, Cells: []string{email}}}
		return office.ReadList("people.csv", rows, common, must(o.outbox.Sums(t.Context(), common)), time.Now(), "")
	}
	o.service.Inject(sandbox.Fault{Path: "/packages/add", Status: 422, Times: 2})
	id := must(o.SendList(t.Context(), list("eva@example.com"), false, 0))
	now := func() (p office.BulkProgress, line office.BulkResult) {
		p, lines, _, err := o.SentList(id)
		noErr(t, err)
		return p, lines[0]
	}
	o.eventually("the line is refused", func() bool { p, _ := now(); return p.Wrong == 1 })
	line := must(o.Drafts())[0].ID
	for _, email := range []string{"eva@example.net", "Eva@example.org"} { // the first correction is refused, too
		d, _, err := o.Again(t.Context(), line)
		noErr(t, err)
		d.Signers[0].Email, d.Replaces = email, []string{line}
		line = must(o.Send(t.Context(), d, nil)).DraftID
	}
	if p, sent := now(); p.Sent != 1 || p.Wrong != 0 || sent.State != office.DraftSent || sent.PackageID == "" {
		t.Errorf("its list says: %+v, %+v", p, sent)
	}
	for _, email := range []string{"eva@example.com", "eva@example.org"} { // in the list, too, it is corrected or not
		if _, err := o.SendList(t.Context(), list(email), false, 0); message.For(err) != message.ListSentMeanwhile("people.csv") {
			t.Errorf("%s gets another package: %v", email, err)
		}
	}
}
