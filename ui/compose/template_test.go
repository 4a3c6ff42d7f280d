package compose

import (
	"context"
	"errors"
	"slices"
	"testing"

	"fyne.io/fyne/v2"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/officetest"
)

// withTemplates is the screen in an office that has templates.
func withTemplates(t *testing.T) (*bench, *officetest.Office) {
	o := officetest.Busy()
	o.Library = officetest.Templates()
	return newBench(t, o), o
}

// choose opens the templates, searches for one and takes it, all by keys.
func (b *bench) choose(search string) {
	b.screen.ChooseTemplate()
	b.Settle()
	b.write(search)
	b.key(fyne.KeyReturn)
	b.Settle()
}

func (b *bench) roles() (list []string) {
	for _, p := range b.screen.people {
		list = append(list, p.role+":"+p.email.Text)
	}
	return list
}

func TestATemplateIsFoundFilledAndSentByKeys(t *testing.T) {
	b, o := withTemplates(t)
	b.choose("tenant")
	if got := b.roles(); !slices.Equal(got, []string{"Landlord:", "Tenant:"}) || !b.screen.sequential() || b.screen.name.Text != "Lease agreement" {
		t.Fatalf("roles %q, name %q", got, b.screen.name.Text)
	}
	b.write("Jan") // where the cursor is
	b.screen.people[0].fill(jan)
	b.screen.people[1].fill(ana)
	lease := b.screen.basis.originals[0]
	lease.entries[0].SetText("Sonnenweg 4")
	b.screen.basis.originals[1].Replace("/x/Our rules.pdf")
	b.add("Plan.pdf")
	if got := b.screen.bar.send.Text; got != "Send 3 documents to 2 people" {
		t.Errorf("the button says %q", got)
	}
	b.send()
	b.Settle()
	if len(o.Sent) != 0 {
		t.Fatal("nobody was asked about the empty field")
	}
	b.answer("Send anyway")
	b.Settle()
	if len(o.Sent) != 1 || !o.Sent[0].EmptyFields {
		t.Fatalf("sent %+v, wrong %q", o.Sent, b.screen.bar.text.Text)
	}
	d := o.Sent[0]
	own := d.Template.Documents
	if d.Template.ID != "t-lease" || len(own[0].Data) != 1 || own[0].Data["address"] != "Sonnenweg 4" || own[1].File != "/x/Our rules.pdf" || len(d.Files) != 1 {
		t.Errorf("sent %+v with %q", d.Template, d.Files)
	}
	if d.Signers[1].RoleID != "s-2" || d.Signers[1].Email != ana.Email || d.Message != "Read both, then sign." {
		t.Errorf("signers %+v, message %q", d.Signers, d.Message)
	}
	if !slices.ContainsFunc(d.Recipients, func(r office.Recipient) bool { return r.Same("records@example.com") }) {
		t.Errorf("recipients %+v", d.Recipients)
	}
	if b.screen.basis != nil || len(b.screen.people) != 1 || !o.Form().Empty() {
		t.Error("the form is not empty after the package was sent")
	}
}

func TestPeopleWhoWereTypedTakeTheOpenRoles(t *testing.T) {
	b, _ := withTemplates(t)
	b.screen.Fill(filled(ana, jan))
	b.choose("engagement")
	if got := b.roles(); !slices.Equal(got, []string{"Client:" + ana.Email, "Lawyer:laura@example.com", ":" + jan.Email}) {
		t.Errorf("%q", got)
	}
	b.add("Offer.pdf")
	b.choose("lease")
	if got := b.roles(); !slices.Equal(got, []string{"Landlord:" + ana.Email, "Tenant:" + jan.Email}) {
		t.Errorf("after another template: %q", got)
	}
	b.screen.basis.drop.OnTapped()
	b.Settle()
	if got := b.roles(); !slices.Equal(got, []string{":" + ana.Email, ":" + jan.Email}) || len(b.screen.docs) != 1 || b.screen.message.Text != "" || len(b.screen.copies.added) != 0 {
		t.Errorf("without a template: %q, %q, message %q", got, b.names(), b.screen.message.Text)
	}
}

func TestAFileDroppedOnADocumentOfTheTemplateTakesItsPlace(t *testing.T) {
	b, _ := withTemplates(t)
	b.choose("lease")
	rules := b.screen.basis.originals[1]
	at := fyne.CurrentApp().Driver().AbsolutePositionForObject(rules.row).AddXY(20, 10)
	b.screen.Drop([]string{"/x/Our rules.pdf"}, at)
	b.Settle()
	if rules.instead == nil || len(b.screen.docs) != 0 {
		t.Fatalf("it was added: %q", b.names())
	}
	b.screen.Drop([]string{"/x/Plan.pdf"}, fyne.NewPos(0, 0))
	b.Settle()
	if len(b.screen.docs) != 1 {
		t.Errorf("beside: %q", b.names())
	}
	rules.instead.remove.OnTapped()
	b.Settle()
	if rules.instead != nil || b.screen.documentCount() != 3 {
		t.Error("the template's own document is not back")
	}
}

func TestWhatWasFilledInComesBackAfterARestart(t *testing.T) {
	b, o := withTemplates(t)
	b.choose("lease")
	b.screen.people[1].fill(ana)
	b.screen.basis.originals[0].entries[1].SetText("950")
	b.screen.basis.originals[1].Replace("/x/Our rules.pdf")
	b.Settle()
	again := newBench(t, o)
	if got := again.roles(); !slices.Equal(got, []string{"Landlord:", "Tenant:" + ana.Email}) {
		t.Errorf("roles %q", got)
	}
	d := again.screen.draft()
	if d.Template == nil || d.Template.Documents[0].Data["rent"] != "950" || d.Template.Documents[1].File != "/x/Our rules.pdf" || d.Name != "Lease agreement" {
		t.Errorf("%+v", d.Template)
	}
}

func TestARefusedPackageFromATemplateIsChangedAndSentInItsPlace(t *testing.T) {
	b, o := withTemplates(t)
	o.OnSend = func(context.Context, office.NewPackage, func(office.SendState)) (office.SendState, error) {
		return office.SendState{DraftID: "d-9", State: office.DraftFailed, Problem: message.TemplateGone("Lease agreement")}, nil
	}
	b.choose("lease")
	b.screen.people[0].fill(jan)
	b.screen.people[1].fill(ana)
	b.screen.basis.originals[0].entries[0].SetText("Sonnenweg 4")
	b.screen.basis.originals[0].entries[2].SetText("None")
	b.send()
	b.Settle()
	if b.screen.basis == nil || b.screen.basis.refused != "d-9" {
		t.Fatal("what was refused is gone")
	}
	b.send()
	b.Settle()
	if got := o.Sent[1].Replaces; !slices.Contains(got, "d-9") {
		t.Errorf("it takes the place of %q", got)
	}
	kept := office.Draft{ID: "d-7", Name: "Flat", Template: o.Sent[0].Template, Signers: o.Sent[0].Signers}
	o.Change(office.OutboxChanged, func(o *officetest.Office) { o.Waiting = append(o.Waiting, kept) })
	b.screen.clear()
	b.screen.Edit(kept)
	b.Settle()
	if got := b.roles(); b.screen.basis == nil || b.screen.basis.refused != "d-7" || got[0] != "Landlord:"+jan.Email {
		t.Errorf("edited: %q", got)
	}
	b.choose("engagement")
	if b.screen.basis.refused != "d-7" {
		t.Error("with another template it would be sent beside the one that was refused")
	}
}

func TestRolesAndDocumentsThatAreMissingAreMarked(t *testing.T) {
	b, o := withTemplates(t)
	b.choose("disclosure")
	b.screen.Send()
	b.Settle()
	w := b.screen.check(b.screen.draft())
	if len(o.Sent) != 0 || w.files == "" || len(w.signer) != 2 || w.signer[0].text == "" || w.signer[1].text == "" {
		t.Errorf("sent %d, wrong %+v", len(o.Sent), w)
	}
}

func TestAServiceWithoutTemplatesHidesThem(t *testing.T) {
	b, o := withTemplates(t)
	o.OnTemplates = func(string) ([]office.Template, error) {
		o.Change(office.StatusChanged, func(o *officetest.Office) { o.NoLibrary = true })
		return nil, message.Error(message.TemplatesNotOffered(), errors.New("404"))
	}
	b.screen.choose.OnTapped()
	b.Settle()
	if b.screen.choose.Visible() {
		t.Error("templates are still offered")
	}
	b.key(fyne.KeyEscape)
	if top := b.Window.Canvas().Overlays().Top(); top == nil {
		t.Error("the sentence is gone at once")
	}
}

// The service finds by what it does not show.
func TestTheServiceSearchesToo(t *testing.T) {
	b, o := withTemplates(t)
	all := o.Library
	o.OnTemplates = func(search string) ([]office.Template, error) {
		if search == "4711" {
			return all[2:], nil
		}
		return all[:2], nil
	}
	b.screen.ChooseTemplate()
	b.Settle()
	search := b.Window.Canvas().Focused()
	b.Window.Canvas().FocusNext()
	if _, is := b.Window.Canvas().Focused().(*templateList); !is {
		t.Errorf("Tab goes from the search to %T", b.Window.Canvas().Focused())
	}
	b.Window.Canvas().Focus(search)
	b.write("4711")
	b.Pass()
	b.key(fyne.KeyReturn)
	b.Settle()
	if b.screen.basis == nil || b.screen.basis.template.ID != "t-nda" {
		t.Errorf("chose %+v", b.screen.basis)
	}
}

// What the template brings pushes what stands below it down at once, also while that changes, too.
func TestRowsThatComeAtOnceCoverNothing(t *testing.T) {
	b, _ := withTemplates(t)
	b.choose("lease")
	driver := fyne.CurrentApp().Driver()
	last := b.screen.basis.originals[1].row
	if end, next := driver.AbsolutePositionForObject(last).Y+last.Size().Height, driver.AbsolutePositionForObject(b.screen.add).Y; next < end {
		t.Errorf("the rows end at %v, and the buttons begin at %v", end, next)
	}
}
