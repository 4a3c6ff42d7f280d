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

// offers are the people used before that fit what is being typed, under the fields of one person. The arrows choose
// one, Enter takes it, Escape closes the list; Tab leads through it, too.
type offers struct {
	screen *Screen
	none   func() bool            // nothing is typed
	taken  func() map[string]bool // addresses of others, in lower case
	accept func(office.Signer)
	box    *fyne.Container
	list   []office.Signer
	rows   []*widgets.Press
	at     int // -1 for none
}

func newOffers(s *Screen, none func() bool, taken func() map[string]bool, accept func(office.Signer)) *offers {
	o := &offers{screen: s, none: none, taken: taken, accept: accept, box: widgets.Stack(0), at: -1}
	o.box.Hide()
	return o
}

// typed offers who fits the text of a field.
func (o *offers) typed(in *widgets.Entry) {
	if o.screen.env.Window.Canvas().Focused() != fyne.Focusable(in) || in.Text == "" {
		o.clear()
		return
	}
	o.show(matching(o.screen.known, in.Text, o.taken()))
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
	o.screen.peopleField.Refresh()
	o.screen.copies.field.Refresh()
}

// key moves through the offers; it says whether it used the key.
func (o *offers) key(e *fyne.KeyEvent) bool {
	if len(o.list) == 0 {
		if e.Name == fyne.KeyDown && o.none() {
			o.show(matching(o.screen.known, "", o.taken()))
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
	o.clear()
	o.accept(signer)
}

// clearOffers takes the offers of all others away.
func (s *Screen) clearOffers(but *offers) {
	for _, p := range s.people {
		if p.offers != but {
			p.offers.clear()
		}
	}
	for _, c := range s.copies.added {
		if c.offers != but {
			c.offers.clear()
		}
	}
}

// taken are the addresses of all others who sign or get a copy, in lower case.
func (s *Screen) taken(but *widgets.Entry) map[string]bool {
	taken := map[string]bool{}
	for _, p := range s.people {
		if p.email != but && p.email.Text != "" {
			taken[strings.ToLower(strings.TrimSpace(p.email.Text))] = true
		}
	}
	for _, c := range s.copies.added {
		if c.entry != but {
			taken[strings.ToLower(c.recipient().Email)] = true
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
