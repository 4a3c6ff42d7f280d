package compose

import (
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// person is the fields of one signer, and their row. It stays the same while people are moved, so that nothing typed
// and no focus is lost.
type person struct {
	screen             *Screen
	role, roleID       string // of the template; empty for none
	roleName           *widgets.Line
	first, last, email *widgets.Entry
	problem            *widgets.Prose
	say                fyne.CanvasObject // the problem with its mark
	number             *widgets.Line
	dragHandle         *dragHandle
	remove             *widgets.Button
	offers             *offers
	row                fyne.CanvasObject
}

func (p *person) signer() office.Signer {
	return office.Signer{FirstName: strings.TrimSpace(p.first.Text), LastName: strings.TrimSpace(p.last.Text), Email: strings.TrimSpace(p.email.Text),
		Role: p.role, RoleID: p.roleID}
}

// blank says that nothing is typed of the person, who may have a role all the same.
func (p *person) blank() bool {
	return strings.TrimSpace(p.first.Text+p.last.Text+p.email.Text) == ""
}

// wrong says what is wrong with the person, and marks the fields that are meant.
func (p *person) wrong(w wrongSigner) {
	p.problem.Set(w.text)
	widgets.Show(p.say, w.text != "")
	p.mark(w.text != "" && w.name, w.text != "" && !w.name)
}

// mark marks the names or the address, or takes the mark away.
func (p *person) mark(name, address bool) {
	p.first.Mark(name)
	p.last.Mark(name)
	p.email.Mark(address)
}

func (p *person) entries() []*widgets.Entry { return []*widgets.Entry{p.first, p.last, p.email} }

func (p *person) fill(signer office.Signer) {
	for i, text := range []string{signer.FirstName, signer.LastName, signer.Email} {
		p.entries()[i].SetText(text)
	}
}

func (s *Screen) newPerson(signer office.Signer) *person {
	p := &person{screen: s, first: s.newInput(lang.L("First name")), last: s.newInput(lang.L("Last name")),
		email: s.newInput(lang.L("E-mail")), problem: widgets.NewProse(""), number: widgets.NewTitle(""),
		role: signer.Role, roleID: signer.RoleID, roleName: widgets.NewTitle("")}
	p.problem.Colour, p.number.Colour, p.number.Shorten = theme.Attention, theme.Secondary, false
	say := widgets.Across(widget.NewIcon(theme.MarkProblem.Resource()), p.problem, nil)
	say.Hide()
	p.say = say
	p.dragHandle = s.newDragHandle(s.peopleBox, func() int { return slices.Index(s.people, p) }, s.placePerson, func() { s.removeSigner(p) })
	p.remove = s.newButton("", fynetheme.DeleteIcon(), func() { s.removeSigner(p) })
	p.remove.Importance = widget.LowImportance
	p.remove.Says = func() string { return widgets.Removing(p.called()) }
	p.dragHandle.Says = func() string { return moving(p.called()) }
	p.offers = newOffers(s, p.blank, func() map[string]bool { return s.taken(p.email) }, p.accept)
	p.fill(signer)
	for _, e := range p.entries() {
		e.OnChanged = func(string) { s.changed(); p.offers.typed(e) }
		e.OnKey = p.offers.key
		e.OnShortcut = p.shortcut
		e.OnFocusGained = p.entered
		e.OnFocusLost = func() { p.left(e.Text) }
		e.Says = func() string { return widgets.Said(e.PlaceHolder, p.place()) }
		e.Why = func() string { return p.problem.Text }
	}
	hold := container.NewVBox(container.NewCenter(p.number), p.dragHandle)
	names := container.NewGridWithColumns(2, p.first, p.last)
	fields := widgets.Stack(6, p.roleName, names, widgets.Across(nil, p.email, p.remove), p.offers.box, p.say)
	p.row, _ = tightCard(widgets.PadHV(2, 4, container.NewBorder(nil, nil, widgets.PadHV(0, 8, hold), nil, fields)))
	return p
}

// called is who the row is for: a name, else a place among the signers.
func (p *person) called() string {
	if p.blank() {
		return p.place()
	}
	return i18n.Name(p.signer())
}

// place is the row's number among the signers.
func (p *person) place() string {
	return lang.L("Signer {{.Number}}", i18n.V{"Number": slices.Index(p.screen.people, p) + 1})
}

// show brings the row up to date: place counts from 1, and ordered says that the order matters.
func (p *person) show(place int, ordered, many, locked bool) {
	p.number.Set(strconv.Itoa(place))
	p.number.Hidden = !ordered
	p.roleName.Hidden = p.role+p.roleID == ""
	p.roleName.Text = p.role
	if p.role == "" {
		p.roleName.Text = lang.L("Signer {{.Number}}", i18n.V{"Number": place})
	}
	p.dragHandle.Hidden = !ordered || !many || locked
	p.remove.Hidden = locked || !many
	p.row.Refresh()
}

// shortcut moves the person with Alt and an arrow, and takes pasted people apart.
func (p *person) shortcut(shortcut fyne.Shortcut) bool {
	if p.dragHandle.step(shortcut) {
		return true
	}
	paste, ok := shortcut.(*fyne.ShortcutPaste)
	if !ok || paste.Clipboard == nil {
		return false
	}
	text := paste.Clipboard.Content()
	people := office.ReadPeople(text)
	if len(people) == 0 || len(people) == 1 && !strings.Contains(text, "<") && p.first.Text+p.last.Text != "" {
		return false // words, or an address for somebody who has a name
	}
	p.take(people)
	return true
}

// entered shows only the offers of the person whose field is in use.
func (p *person) entered() {
	p.offers.clear()
	p.screen.clearOffers(p.offers)
}

// accept takes over a person who was offered.
func (p *person) accept(signer office.Signer) {
	p.fill(signer)
	p.screen.env.Window.Canvas().Focus(p.email)
}

// left takes typed people apart when a field is left.
func (p *person) left(text string) {
	if people := office.ReadPeople(text); strings.Contains(text, "<") && len(people) > 0 {
		p.take(people)
	}
}

// take puts the first of some people here and the others behind.
func (p *person) take(people []office.Signer) {
	s := p.screen
	mine := people[0]
	if mine.FirstName+mine.LastName == "" {
		mine.FirstName, mine.LastName = strings.TrimSpace(p.first.Text), strings.TrimSpace(p.last.Text)
	}
	p.fill(mine)
	p.offers.clear()
	at := slices.Index(s.people, p) + 1
	for _, signer := range people[1:] {
		if at < len(s.people) && s.people[at].role+s.people[at].roleID != "" && s.people[at].blank() {
			s.people[at].fill(signer)
			at++
			continue
		}
		s.people = slices.Insert(s.people, at, s.newPerson(signer))
		at++
	}
	s.showPeople()
	s.changed()
}

// addSigner adds a person; focus puts the cursor there.
func (s *Screen) addSigner(signer office.Signer, focus bool) {
	p := s.newPerson(signer)
	s.people = append(s.people, p)
	s.showPeople()
	s.changed()
	if focus {
		s.env.Window.Canvas().Focus(p.first)
	}
}

func (s *Screen) showPeople() {
	s.peopleBox.Objects = nil
	s.order.Hidden = len(s.people) < 2
	for i, p := range s.people {
		p.show(i+1, s.sequential(), len(s.people) > 1, s.run != nil)
		s.peopleBox.Add(p.row)
	}
	s.peopleField.Refresh()
	s.layOutAnew()
}

// placePerson moves a person where there is an order to change.
func (s *Screen) placePerson(from, to int) {
	if s.run == nil && s.sequential() && from != to {
		s.people = moved(s.people, from, to)
		s.showPeople()
		s.changed()
	}
}

// removeSigner takes a person away; one empty person always stays.
func (s *Screen) removeSigner(p *person) {
	i := slices.Index(s.people, p)
	if i < 0 || s.run != nil {
		return
	}
	s.people = slices.Delete(s.people, i, i+1)
	if len(s.people) == 0 {
		s.addSigner(office.Signer{}, true)
		return
	}
	s.showPeople()
	s.changed()
	s.env.Window.Canvas().Focus(s.people[min(i, len(s.people)-1)].remove)
}
