package compose

import (
	"context"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/store"
	"countersign/ui/work"
)

// Fill shows a draft, for example to send a package again. Files are added with Add. Without signers or a name, those
// that are there stay.
func (s *Screen) Fill(d agent.Draft) {
	s.order.SetSelected(s.order.Options[0])
	if d.Sequential {
		s.order.SetSelected(s.order.Options[1])
	}
	if d.Name != "" {
		s.name.SetText(d.Name)
	}
	s.message.SetText(d.Message)
	s.reference.SetText(referenceIn(d.ExternalData))
	if d.Due.After(s.desk.Now()) {
		s.due.SetText(d.Due.In(s.desk.Now().Location()).Format(time.DateOnly))
	}
	if len(d.Signers) > 0 {
		s.people = nil
		for _, signer := range d.Signers {
			s.addSigner(signer, false)
		}
	}
}

// Again makes a new package like one that was sent: its people, order, message and reference, and its files where they
// still are. It asks before it takes the place of something typed.
func (s *Screen) Again(packageID string) {
	if s.run != nil {
		s.desk.Notice(lang.L("A package is on its way. Go on when it is sent."))
		return
	}
	work.Then(s.desk.Work, func(context.Context) (store.Draft, error) { return s.past(packageID), nil }, func(d store.Draft, _ error) {
		s.replace(func() { s.begin(d) })
	})
}

// past is the draft that a package was sent from, or what is known of one made elsewhere.
func (s *Screen) past(packageID string) store.Draft {
	if d, ok := s.desk.Office.DraftOf(packageID); ok {
		return d
	}
	row, _ := s.desk.Office.Package(packageID)
	return store.Draft{Name: row.Name, Sequential: row.Sequential, Signers: row.Signers, ExternalData: externalData(row.Reference)}
}

// begin fills an empty screen with a draft that the office knows.
func (s *Screen) begin(d store.Draft) {
	s.clear()
	s.Fill(agent.Draft{Name: d.Name, Message: d.Message, Sequential: d.Sequential, Due: d.Due, Signers: d.Signers, ExternalData: d.ExternalData})
	var paths []string
	for _, f := range d.Files {
		paths = append(paths, f.Path)
	}
	s.Add(paths)
	s.Focus()
}

// edit brings back a draft that was not taken, to be changed and sent in its place.
func (s *Screen) edit(d store.Draft) {
	s.replace(func() {
		s.begin(d)
		if len(s.docs) > 0 {
			s.docs[0].draft = d.ID
		}
	})
}

// replace runs fill, after asking when something is typed that it would take the place of.
func (s *Screen) replace(fill func()) {
	if len(s.docs) == 0 && len(s.signing()) == 0 && s.message.Text == "" {
		fill()
		return
	}
	dialog.ShowConfirm(lang.L("Begin anew?"), lang.L("What is typed under “Send” now would be lost."), func(yes bool) {
		if yes {
			fill()
		}
	}, s.desk.Window)
}

// pickDay shows a calendar at the due date.
func (s *Screen) pickDay() {
	var pop *widget.PopUp
	start := s.desk.Now()
	if due := parseDue(s.due.Text, start.Location()); !due.IsZero() {
		start = due
	}
	calendar := widget.NewCalendar(start, func(day time.Time) {
		s.due.SetText(day.Format(time.DateOnly))
		pop.Hide()
		s.desk.Window.Canvas().Focus(s.due)
	})
	pop = widget.NewPopUp(calendar, s.desk.Window.Canvas())
	pop.ShowAtRelativePosition(fyne.NewPos(0, -calendar.MinSize().Height), s.due)
}
