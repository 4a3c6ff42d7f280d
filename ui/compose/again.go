package compose

import (
	"path/filepath"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/office"
	"countersign/ui/browse"
	"countersign/ui/widgets"
)

// Fill shows a draft, for example to send a package again. Files are added with Add. Without signers or a name, those
// that are there stay.
func (s *Screen) Fill(d office.NewPackage) {
	s.correct(d.Corrects)
	s.order.Choose(second(d.Sequential))
	if d.Name != "" {
		s.name.SetText(d.Name)
	}
	s.message.SetText(d.Message)
	s.reference.SetText(referenceIn(d.ExternalData))
	if d.Due.After(s.env.Now()) {
		s.due.SetText(s.days().Write(d.Due.In(s.env.Now().Location())))
	}
	if len(d.Signers) > 0 {
		s.people = nil
		for _, signer := range d.Signers {
			s.addSigner(signer, false)
		}
	}
	if len(d.Recipients)+len(d.NoCopy) > 0 {
		s.copies.fill(d.Recipients, d.NoCopy)
		s.changed()
	}
}

// correct says that the form is a package of that id anew, which it takes the place of; an empty one for none.
func (s *Screen) correct(packageID string) {
	s.corrects = packageID
	text := lang.L("New package")
	if packageID != "" {
		text = lang.L("Corrected package")
	}
	s.heading.Set(text)
}

// Like begins a new package like a draft, for example that of a package that was sent: its people, order, message,
// reference and files. It asks before it takes the place of something typed.
func (s *Screen) Like(d office.NewPackage) {
	if s.run != nil {
		s.env.Notice(lang.L("A package is being sent. Continue when it is done."))
		return
	}
	s.replace(func() { s.begin(d) })
}

// begin fills an empty screen with a draft.
func (s *Screen) begin(d office.NewPackage) {
	s.clear()
	s.setBasis(d.Template, "")
	s.Fill(d)
	s.filesChanged()
	s.addFiles(asFiles(d.Files), atEnd)
	s.Focus()
}

// Edit brings back a draft that was not taken, to be changed and sent in its place, with the documents that it has.
func (s *Screen) Edit(kept office.Draft) {
	s.env.Again(kept.ID, func(d office.NewPackage) {
		if s.run != nil {
			s.env.Notice(lang.L("A package is being sent. Continue when it is done."))
			return
		}
		s.replace(func() {
			s.begin(d)
			switch {
			case s.basis != nil:
				s.basis.refused = kept.ID
			case len(s.docs) > 0:
				s.docs[0].draft = kept.ID
			}
			s.keep()
			s.markEdited()
		})
	})
}

// replace runs fill, after asking when something is typed that it would take the place of.
func (s *Screen) replace(fill func()) {
	if s.form().Empty() {
		fill()
		return
	}
	widgets.Ask(s.env.Window.Canvas(), widgets.Question{Title: lang.L("Start over?"), Text: lang.L("What you entered under “Send” will be deleted."),
		Safe: lang.L("Keep what you entered"), Do: lang.L("Start over"), OnDo: fill})
}

// pickFiles shows the folder that documents were added from the last time.
func (s *Screen) pickFiles() {
	browse.Files(s.env, s.folder, func(paths []string) {
		s.folder = filepath.Dir(paths[len(paths)-1])
		s.Add(paths)
	})
}
