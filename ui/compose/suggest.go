package compose

import (
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// maxOffers is how many people are offered at a time.
const maxOffers = 4

// offers are the people used before that fit what is being typed, under the fields of one signer. The arrows choose
// one, Enter takes it, Escape closes the list; Tab leads through it, too.
type offers struct {
	person *person
	box    *fyne.Container
	list   []office.Signer
	rows   []*widgets.Press
	at     int // -1 for none
}

func newOffers(p *person) *offers {
	o := &offers{person: p, box: widgets.Stack(0), at: -1}
	o.box.Hide()
	return o
}

// typed offers who fits the text of a field.
func (o *offers) typed(in *widgets.Entry) {
	if o.person.screen.env.Window.Canvas().Focused() != fyne.Focusable(in) || in.Text == "" {
		o.clear()
		return
	}
	o.show(matching(o.person.screen.known, in.Text, o.person.screen.taken(o.person)))
}

func (o *offers) clear() { o.show(nil) }

func (o *offers) show(list []office.Signer) {
	if len(list) == 0 && len(o.list) == 0 {
		return
	}
	o.list, o.rows, o.at = list, nil, -1
	o.box.Objects = nil
	for _, signer := range list {
		name, email := widgets.NewName(i18n.Name(signer)), widgets.NewCaption(signer.Email)
		var line fyne.CanvasObject = name
		if signer.Email != name.Text {
			line = container.NewGridWithColumns(2, name, email)
		}
		row := widgets.NewPress(widgets.PadHV(8, 5, line), func() { o.take(signer) })
		row.Lines = []*widgets.Line{name, email}
		o.rows = append(o.rows, row)
		o.box.Add(row)
	}
	o.box.Hidden = len(list) == 0
	o.box.Refresh()
	o.person.screen.peopleField.Refresh()
}

// key moves through the offers; it says whether it used the key.
func (o *offers) key(e *fyne.KeyEvent) bool {
	if len(o.list) == 0 {
		if e.Name == fyne.KeyDown && o.person.signer() == (office.Signer{}) {
			o.show(matching(o.person.screen.known, "", o.person.screen.taken(o.person)))
			return len(o.list) > 0
		}
		return false
	}
	switch e.Name {
	case fyne.KeyDown:
		o.choose(min(o.at+1, len(o.list)-1))
	case fyne.KeyUp:
		o.choose(max(o.at-1, -1))
	case fyne.KeyEscape:
		o.clear()
	case fyne.KeyReturn, fyne.KeyEnter:
		if o.at < 0 {
			o.clear()
			return false
		}
		o.take(o.list[o.at])
	default:
		return false
	}
	return true
}

func (o *offers) choose(at int) {
	o.at = at
	for i, row := range o.rows {
		row.Choose(i == at)
	}
}

func (o *offers) take(signer office.Signer) {
	o.person.fill(signer)
	o.clear()
	o.person.screen.env.Window.Canvas().Focus(o.person.email)
}

// taken are the addresses of the other signers, in lower case.
func (s *Screen) taken(but *person) map[string]bool {
	taken := map[string]bool{}
	for _, p := range s.people {
		if p != but && p.email.Text != "" {
			taken[strings.ToLower(strings.TrimSpace(p.email.Text))] = true
		}
	}
	return taken
}

// matching are the first people of whom a name or the address begins with text, without those who are taken and
// without one that says nothing more than text does.
func matching(people []office.Signer, text string, taken map[string]bool) (list []office.Signer) {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, p := range people {
		email := strings.ToLower(p.Email)
		if taken[email] || email == text && text != "" || !begins(p, email, text) {
			continue
		}
		if list = append(list, p); len(list) == maxOffers {
			break
		}
	}
	return list
}

func begins(p office.Signer, email, text string) bool {
	name := strings.ToLower(p.FirstName + " " + p.LastName)
	return strings.HasPrefix(email, text) || strings.HasPrefix(strings.TrimSpace(name), text) || strings.Contains(name, " "+text)
}
