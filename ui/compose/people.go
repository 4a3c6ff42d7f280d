package compose

import (
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/store"
	"countersign/ui/look"
	"countersign/ui/widgets"
)

// person is the fields of one signer. It keeps its entries while people are moved, so that nothing typed is lost.
type person struct {
	first, last, email *widgets.Entry
	problem            *widgets.Line
}

func (p *person) signer() store.Signer {
	return store.Signer{FirstName: strings.TrimSpace(p.first.Text), LastName: strings.TrimSpace(p.last.Text), Email: strings.TrimSpace(p.email.Text)}
}

// wrong says what is wrong with the person; empty for nothing.
func (p *person) wrong(text string) {
	p.problem.Text = text
	p.problem.Hidden = text == ""
	p.problem.Refresh()
}

func (p *person) entries() []*widgets.Entry { return []*widgets.Entry{p.first, p.last, p.email} }

// addSigner adds a person; focus puts the cursor there.
func (s *Screen) addSigner(signer store.Signer, focus bool) {
	p := &person{first: widgets.NewEntry(lang.L("First name")), last: widgets.NewEntry(lang.L("Last name")),
		email: widgets.NewEntry(lang.L("E-mail")), problem: widgets.NewCaption("")}
	p.problem.Colour = look.Attention
	p.problem.Hide()
	for i, text := range []string{signer.FirstName, signer.LastName, signer.Email} {
		p.entries()[i].SetText(text)
	}
	for _, e := range p.entries() {
		e.OnChanged = func(string) { s.changed() }
		e.OnSubmitted = func(string) { s.Send() }
	}
	s.people = append(s.people, p)
	s.showPeople()
	s.changed()
	if focus {
		s.desk.Window.Canvas().Focus(p.first)
	}
}

func (s *Screen) showPeople() {
	s.peopleBox.Objects = nil
	for i, p := range s.people {
		s.peopleBox.Add(s.personRow(i, p))
	}
	s.peopleField.Refresh()
}

func (s *Screen) personRow(i int, p *person) fyne.CanvasObject {
	var tools fyne.CanvasObject = widgets.Spacer()
	if !s.locked {
		tools = s.personTools(i)
	}
	names := container.NewGridWithColumns(2, p.first, p.last)
	fields := widgets.Stack(6, names, widgets.Across(nil, p.email, tools), p.problem)
	if !s.sequential() {
		return widgets.Card(fields)
	}
	number := widgets.NewTitle(strconv.Itoa(i+1) + ".")
	number.Shorten, number.Colour = false, look.Secondary
	return widgets.Card(container.NewBorder(nil, nil, widgets.PadHV(0, 8, container.NewVBox(number)), nil, fields))
}

func (s *Screen) personTools(i int) fyne.CanvasObject {
	places := 1 // where all sign at once, there is no order to change
	if s.sequential() {
		places = len(s.people)
	}
	return arrows(i, places, func(by int) {
		move(s.people, i, by)
		s.showPeople()
		s.changed()
	}, func() { s.removeSigner(i) })
}

// removeSigner takes a person away; one empty person always stays.
func (s *Screen) removeSigner(i int) {
	s.people = slices.Delete(s.people, i, i+1)
	if len(s.people) == 0 {
		s.addSigner(store.Signer{}, true)
		return
	}
	s.showPeople()
	s.changed()
}
