package compose

import (
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/env"
	"countersign/ui/widgets"
)

// form is what is typed, to be typed anew by fill: by another screen, in another language, after another start.
func (s *Screen) form() office.Form {
	f := office.Form{Message: s.message.Text, Due: s.due.Text, Reference: s.reference.Text, Sequential: s.sequential(), Separate: s.separate(), Corrects: s.corrects}
	if day, ok := s.days().Read(f.Due, s.env.Now()); ok {
		f.Due = day.Format(time.DateOnly) // tomorrow would be another day by then
	}
	if s.name.Text != s.proposed {
		f.Name = s.name.Text
	}
	for _, doc := range s.docs {
		f.Files = append(f.Files, office.FormFile{Path: doc.path, From: doc.from, Draft: doc.draft})
	}
	if f.Template = s.basis.filled(); f.Template != nil {
		f.Refused = s.basis.refused
	}
	for _, p := range s.signing() {
		f.Signers = append(f.Signers, p.signer())
	}
	f.Recipients, f.NoCopy = s.copies.own(), s.copies.off
	return f
}

// fill types a form into the empty screen.
func (s *Screen) fill(f office.Form) {
	s.filling = true
	s.correct(f.Corrects)
	s.each.Choose(second(f.Separate))
	s.order.Choose(second(f.Sequential))
	due := f.Due
	if day, err := time.ParseInLocation(time.DateOnly, due, s.env.Now().Location()); err == nil {
		due = s.days().Write(day)
	}
	for in, text := range map[*widgets.Entry]string{s.message: f.Message, s.due: due, s.reference: f.Reference, s.name: f.Name} {
		in.SetText(text)
	}
	if len(f.Signers) > 0 {
		s.people = nil
		for _, signer := range f.Signers {
			s.people = append(s.people, s.newPerson(signer))
		}
	}
	s.copies.fill(f.Recipients, f.NoCopy)
	s.setBasis(f.Template, f.Refused)
	s.filling = false
	s.showPeople()
	s.addFiles(f.Files, atEnd)
	for _, file := range f.Files {
		if i := slices.IndexFunc(s.docs, func(d *document) bool { return d.path == file.Path }); i >= 0 {
			s.docs[i].draft = file.Draft
		}
	}
	if s.basis != nil {
		s.filesChanged()
	}
	s.changed()
}

// second is the place of the second of two options, or of the first.
func second(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// keep has the office remember what is typed. What is on its way is the office's already.
func (s *Screen) keep() {
	if s.filling {
		return
	}
	f := s.form()
	if s.run != nil && s.run.kept() {
		f = office.Form{}
	}
	s.env.Office.KeepForm(f)
	s.clearing.Hidden = f.Empty() || s.run != nil
	s.clearing.Refresh()
	s.tellWaiting()
	s.markEdited()
}

// Clear empties the form; for some seconds that can be undone.
func (s *Screen) Clear() {
	before := s.form()
	if s.run != nil || before.Empty() {
		return
	}
	s.clear()
	s.changed()
	s.Focus()
	s.env.Soon(env.Deed{Says: func(int) string { return lang.L("The form was cleared.") }, Undone: func() {
		s.replace(func() {
			s.clear()
			s.fill(before)
		})
		s.env.Go.ShowCompose()
	}})
}

// Waiting says whether something here waits for the person: a form that is begun, or a draft to decide about.
func (s *Screen) Waiting() bool { return s.undecided || s.run == nil && !s.form().Empty() }

// tellWaiting tells when Waiting has changed.
func (s *Screen) tellWaiting() {
	if s.OnWaiting != nil {
		s.OnWaiting(s.Waiting())
	}
}

// clear makes room for the next package.
func (s *Screen) clear() {
	s.docs, s.people, s.proposed, s.tried = nil, nil, "", false
	s.setBasis(nil, "")
	s.copies.fill(nil, nil)
	s.correct("")
	for _, e := range []*widgets.Entry{s.name, s.message, s.due, s.reference} {
		e.SetText("")
	}
	s.each.Choose(0)
	s.order.Choose(0)
	s.showWrong(wrong{})
	s.bar.end("")
	s.showFiles()
	s.addSigner(noSigner, false)
}

// typed is the text of a field without the space around it.
func typed(e *widgets.Entry) string { return strings.TrimSpace(e.Text) }
