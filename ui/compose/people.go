package compose

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

type signerList struct {
	people             []*person
	copies             *copies
	known              []offer // groups, and people used before, most recent first
	peopleBox          *fyne.Container
	peopleField        *widgets.Field
	order              *widgets.Check
	addPerson, addCopy *widgets.Button
}

// person is a signer's fields and row, which survive reordering, so that neither input nor focus is lost.
type person struct {
	screen             *Screen
	role, roleID       string // the template's role; empty for none
	roleName           *widgets.Line
	first, last, email *widgets.Entry
	field              *widgets.Field // contains the inputs, and shows errors
	face               *widgets.Avatar
	dragHandle         *dragHandle
	remove             *widgets.Button
	offers             *offers
	row                fyne.CanvasObject
}

func (p *person) signer() office.Signer {
	return office.Signer{FirstName: p.first.Typed(), LastName: p.last.Typed(), Email: p.email.Typed(),
		Role: p.role, RoleID: p.roleID}
}

// blank reports that nothing is typed for the person, who may still have a role.
func (p *person) blank() bool {
	return strings.TrimSpace(p.first.Text+p.last.Text+p.email.Text) == ""
}

// wrong shows what is wrong with the person, and marks the fields concerned.
func (p *person) wrong(w wrongSigner) {
	p.field.Wrong(w.text)
	p.mark(w.text != "" && w.name, w.text != "" && !w.name)
}

// mark marks or unmarks the names and the address.
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
		email: s.newInput(lang.L("E-mail")), face: widgets.NewAvatar("", theme.MarkLater),
		role: signer.Role, roleID: signer.RoleID, roleName: widgets.NewTitle("")}
	p.dragHandle = s.newDragHandle(s.peopleBox, func() int { return slices.Index(s.people, p) }, s.placePerson, func() { s.removeSigner(p) })
	p.remove = s.newButton("", fynetheme.DeleteIcon(), func() { s.removeSigner(p) }).Quiet()
	p.remove.Says = func() string { return widgets.Removing(p.called()) }
	p.dragHandle.Says = func() string { return moving(p.called()) }
	inputs := widgets.Stack(6, container.NewGridWithColumns(2, p.first, p.last), p.email)
	p.offers = newOffers(s, inputs, p.blank, func() map[string]bool { return s.taken(p.email) }, p.accept)
	p.fill(signer)
	for _, e := range p.entries() {
		e.OnChanged = func(string) { s.changed(); p.showFace(); p.offers.typed(e) }
		e.OnKey = p.offers.key
		e.OnShortcut = p.shortcut
		e.OnFocusLost = func() { p.left(e) }
		e.OnSubmitted = func(string) {
			if last := p.split(e); last != nil { // past what it has filled
				if i := slices.IndexFunc(last.entries(), func(e *widgets.Entry) bool { return e.Typed() == "" }); i >= 0 {
					widgets.Focus(s.env.Window.Canvas(), last.entries()[i])
					return
				}
				widgets.Focus(s.env.Window.Canvas(), last.email)
			}
			s.goOn()
		}
		e.Says = func() string { return widgets.Said(e.PlaceHolder, p.place()) }
	}
	p.field = widgets.NewField("", widgets.Stack(6, p.roleName, widgets.Across(nil, inputs, p.remove)), "")
	p.field.Room(true)
	p.row = widgets.Across(widgets.Stack(0, container.NewCenter(p.face), container.NewCenter(p.dragHandle)), p.field, nil)
	return p
}

// called returns the name of the row's person, or a position among the signers.
func (p *person) called() string {
	if p.blank() {
		return p.place()
	}
	return i18n.Name(p.signer())
}

func (p *person) place() string {
	return lang.L("Signer {{.Number}}", i18n.V{"Number": slices.Index(p.screen.people, p) + 1})
}

// showFace shows the initials, or, if the order matters and nothing is typed, the position.
func (p *person) showFace() {
	name := strconv.Itoa(slices.Index(p.screen.people, p) + 1)
	if !p.blank() && !p.screen.sequential() {
		name = i18n.Name(p.signer())
	}
	p.face.Set(name, theme.MarkLater)
}

// show updates the row: place counts from 1, and ordered says that the order matters.
func (p *person) show(place int, ordered, many bool) {
	p.showFace()
	p.roleName.Hidden = p.role+p.roleID == ""
	p.roleName.Text = p.role
	if p.role == "" {
		p.roleName.Text = lang.L("Signer {{.Number}}", i18n.V{"Number": place})
	}
	p.dragHandle.Hidden = !ordered || !many
	p.remove.Hidden = !many
	p.row.Refresh()
}

// shortcut moves the person with Alt and an arrow key, and splits pasted people.
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
		return false // plain text, or an address for somebody with a name
	}
	p.take(people)
	return true
}

// typing reports whether a person without errors is being typed, who must not become wrong meanwhile.
func (p *person) typing() bool {
	in, is := p.screen.env.Window.Canvas().Focused().(*widgets.Entry)
	return is && slices.Contains(p.entries(), in) && (!p.field.IsWrong() || p.field.Said() == noSigners())
}

func (p *person) accept(people []office.Signer) {
	p.fill(people[0])
	p.take(people)
	widgets.Focus(p.screen.env.Window.Canvas(), p.email)
}

// split gives the fields what was typed into one of them: people with their addresses, or an address in place of a name. It returns
// the row of the last one, nil if there is nothing to split.
func (p *person) split(e *widgets.Entry) (last *person) {
	people := office.ReadPeople(e.Text)
	switch whole := strings.Contains(e.Text, "<"); {
	case len(people) == 0, !whole && (e == p.email || p.email.Typed() != ""):
		return nil
	case !whole:
		e.SetText("")
	}
	return p.take(people)
}

// left splits what was typed when a field is left, and validates the input.
func (p *person) left(e *widgets.Entry) {
	p.offers.left()
	p.split(e)
	s := p.screen
	async.Try(s.env.Work, func(context.Context) error { return nil }, func(error) { s.changed() }) // after the focus has moved
}

// take fills in people, the first one here and the others below, and returns the row of the last one.
func (p *person) take(people []office.Signer) (last *person) {
	s := p.screen
	mine := people[0]
	if mine.FirstName+mine.LastName == "" {
		mine.FirstName, mine.LastName = p.first.Typed(), p.last.Typed()
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
	return s.people[at-1]
}

func (s *Screen) addSigner(signer office.Signer, focus bool) {
	p := s.newPerson(signer)
	s.people = append(s.people, p)
	s.showPeople()
	s.changed()
	if focus {
		widgets.Focus(s.env.Window.Canvas(), p.first)
	}
}

func (s *Screen) showPeople() {
	s.order.Hidden = len(s.people) < 2
	var rows []fyne.CanvasObject
	for i, p := range s.people {
		p.show(i+1, s.sequential(), len(s.people) > 1)
		rows = append(rows, p.row)
	}
	s.peopleBox.Objects = rows
	s.layOutAnew()
}

// placePerson moves a person if the order matters and can be changed.
func (s *Screen) placePerson(from, to int) {
	if s.sequential() && from != to && s.handing == nil {
		s.people = moved(s.people, from, to)
		s.showPeople()
		s.changed()
	}
}

// removeSigner removes a person; one empty person always stays.
func (s *Screen) removeSigner(p *person) {
	i := slices.Index(s.people, p)
	if i < 0 || s.busy() {
		return
	}
	s.people = slices.Delete(s.people, i, i+1)
	if !p.blank() {
		s.removed(p.called(), func() {
			s.people = slices.Insert(s.people, min(i, len(s.people)), p)
			s.showPeople()
			s.changed()
		})
	}
	if len(s.people) == 0 {
		s.addSigner(office.Signer{}, true)
		return
	}
	s.showPeople()
	s.changed()
	widgets.Focus(s.env.Window.Canvas(), s.people[min(i, len(s.people)-1)].remove)
}

// chooser is the dialog for choosing a template.
type chooser struct {
	screen *Screen
	pop    *widgets.PopUp
	search *widgets.Entry
	list   *widgets.List
	body   *fyne.Container
	use    *widgets.Button
	all    []office.Template
	shown  []office.Template
}

// ChooseTemplate shows the service's templates to choose from.
func (s *Screen) ChooseTemplate() {
	if s.busy() {
		return
	}
	c := &chooser{screen: s, body: container.NewStack()}
	c.search = widgets.NewEntry(lang.L("Search templates"))
	c.search.OnChanged = func(string) { c.filter() }
	c.search.OnSubmitted = func(string) { c.choose(c.list.At()) }
	c.search.OnKey = c.key
	c.list = widgets.NewList(func() int { return len(c.shown) }, c.newRow, func(at int, o fyne.CanvasObject) { o.(*templateRow).show(at) })
	c.list.Says = func() string { return lang.L("From a template") }
	c.list.OnEnter = func() { c.choose(c.list.At()) }
	c.use = widgets.NewButton(lang.L("Use the template"), func() { c.choose(c.list.At()) }).Primary()
	head := widgets.Stack(8, widgets.NewHeading(lang.L("From a template")), c.search)
	foot := container.NewHBox(layout.NewSpacer(), widgets.NewButton(lang.L("Cancel"), c.leave), c.use)
	canvas := s.env.Window.Canvas()
	content := widgets.Pad(16, widgets.Between(head, widgets.PadHV(0, 8, foot), c.body))
	c.pop = widgets.Open(canvas, content, fyne.NewSize(560, min(520, canvas.Size().Height-32)), c.search, nil)
	c.load()
}

func (c *chooser) leave() { c.pop.Close() }

func (c *chooser) load() {
	busy := widget.NewActivity()
	busy.Start()
	c.show(container.NewCenter(busy))
	async.Then(c.screen.env.Work, func(ctx context.Context) ([]office.Template, error) { return c.screen.office.Templates(ctx, "") }, func(list []office.Template, err error) {
		busy.Stop()
		switch {
		case err != nil && !c.screen.office.TemplatesOffered():
			c.screen.offerTemplates(false)
			c.none(i18n.Error(err))
		case err != nil:
			c.show(widgets.Failure(i18n.Error(err), c.load))
		default:
			c.all = list
			c.filter()
		}
	})
}

func (c *chooser) show(content fyne.CanvasObject) {
	c.use.Disable()
	widgets.Remake(c.body, content)
}

func (c *chooser) none(why string) {
	c.show(widgets.Empty(fynetheme.NewColoredResource(fynetheme.DocumentIcon(), theme.Secondary), why, "", nil))
}

// filter shows the templates matching the search, with the first one chosen.
func (c *chooser) filter() {
	if c.all == nil {
		return
	}
	text := c.search.Typed()
	c.shown = nil
	for _, t := range c.all {
		if t.Mentions(text) {
			c.shown = append(c.shown, t)
		}
	}
	switch {
	case len(c.all) == 0:
		c.none(lang.L("There are no templates yet. Make them on the signing service's website."))
	case len(c.shown) == 0:
		c.none(lang.L("No template matches the search."))
	default:
		c.show(c.list)
		c.use.Enable()
		c.list.UnselectAll()
		c.list.Refresh()
		c.list.ScrollToTop()
		c.list.Select(0)
	}
}

func (c *chooser) key(e *fyne.KeyEvent) bool {
	switch e.Name {
	case fyne.KeyUp, fyne.KeyDown, fyne.KeyPageUp, fyne.KeyPageDown:
		if len(c.shown) > 0 {
			c.list.TypedKey(e)
		}
		return true
	}
	return false
}

func (c *chooser) choose(at int) {
	if at < 0 || at >= len(c.shown) || c.use.Disabled() {
		return
	}
	t := c.shown[at]
	c.leave()
	c.screen.UseTemplate(t)
}

// templateRow is one template.
type templateRow struct {
	widgets.ListRow
	chooser    *chooser
	name, what *widgets.Line
}

func (c *chooser) newRow() fyne.CanvasObject {
	r := &templateRow{chooser: c, name: widgets.NewTitle(""), what: widgets.NewCaption("")}
	r.Lines, r.Content = []*widgets.Line{r.name, r.what}, widgets.PadHV(8, 6, widgets.Stack(2, r.name, r.what))
	r.ExtendBaseWidget(r)
	return r
}

func (r *templateRow) show(at int) {
	t := r.chooser.shown[at]
	r.name.Set(t.Name)
	r.what.Set(templateFacts(t))
	r.Shown()
}

// templateFacts returns "For new clients · Client, Lawyer · 2 documents".
func templateFacts(t office.Template) string {
	var facts, roles []string
	if t.Description != "" {
		facts = append(facts, t.Description)
	}
	for _, r := range t.Roles {
		if name := cmp.Or(r.Role, i18n.Name(r.Person())); name != "" && !slices.Contains(roles, name) {
			roles = append(roles, name)
		}
	}
	if len(roles) > 0 {
		facts = append(facts, strings.Join(roles, ", "))
	}
	if len(t.Documents) > 0 {
		facts = append(facts, i18n.Documents(len(t.Documents)))
	}
	return strings.Join(facts, " · ")
}

// FromTemplate starts a package from the template with that id and name, or says why it cannot.
func (s *Screen) FromTemplate(id, name string) {
	if s.busy() {
		return
	}
	env.Get(s.env, func(ctx context.Context) ([]office.Template, error) { return s.office.Templates(ctx, "") }, func(list []office.Template) {
		found := office.NamedTemplate(list, id)
		if len(found) == 0 {
			s.env.Notice(lang.L("The template “{{.Template}}” no longer exists.", i18n.V{"Template": name}))
			s.ChooseTemplate()
			return
		}
		s.replace(func() {
			s.clear()
			s.UseTemplate(found[0])
		})
	})
}

// offerTemplates shows or hides the button for templates.
func (s *Screen) offerTemplates(offered bool) {
	s.choose.Hidden = !offered
	s.deeds.Refresh()
}

const maxOffers = 4

// offer is a suggestion: a person used before, or the people of a preset.
type offer struct {
	name, note string
	people     []office.Signer
}

func offersOf(kept []office.FormPreset, people []office.Signer) (list []offer) {
	for _, x := range kept {
		if n := len(x.Form.Signers); n > 0 {
			list = append(list, offer{x.Name, i18n.People(n), x.Form.Signers})
		}
	}
	for _, p := range people {
		list = append(list, offer{i18n.Name(p), p.Email, []office.Signer{p}})
	}
	return list
}

// offers suggests people matching what is being typed, over what is below a person's field. The arrow keys choose, Enter accepts,
// Escape closes.
type offers struct {
	screen *Screen
	fields fyne.CanvasObject      // the person's
	none   func() bool            // whether nothing is typed
	taken  func() map[string]bool // the others' addresses, in lower case
	accept func([]office.Signer)
	list   []offer
	rows   []*suggestion
	at     int  // -1 for none
	held   bool // the mouse is down on one of them
}

func newOffers(s *Screen, fields fyne.CanvasObject, none func() bool, taken func() map[string]bool, accept func([]office.Signer)) *offers {
	return &offers{screen: s, fields: fields, none: none, taken: taken, accept: accept, at: -1}
}

// suggestion is one line of them. It stays while the mouse is down on it, although that takes the focus from the field.
type suggestion struct {
	widgets.Tappable
	offers *offers
}

func (s *suggestion) MouseDown(*desktop.MouseEvent) { s.offers.held = true }

func (s *suggestion) MouseUp(*desktop.MouseEvent) { s.offers.held = false }

// over lays the suggestions over the form, below the field in use, or above it if only there is room.
type over struct {
	seen  *container.Scroll // the visible part of the form
	whole *fyne.Container   // the form, and box
	box   *fyne.Container
	in    fyne.CanvasObject // the field in use
	wide  fyne.CanvasObject // what they are as wide as
}

// show shows them, as wide as some fields, or hides them if there are none.
func (l *over) show(lines *fyne.Container, fields fyne.CanvasObject) {
	back := widgets.NewBack(fynetheme.ColorNameOverlayBackground)
	back.Outline(theme.Line)
	l.box.Objects = []fyne.CanvasObject{back, widgets.Pad(4, lines)}
	l.wide, l.box.Hidden = fields, len(lines.Objects) == 0
	l.Layout(l.whole.Objects, l.whole.Size())
	l.box.Refresh()
}

// lie returns the form with the suggestions over it.
func (l *over) lie(form fyne.CanvasObject) *fyne.Container {
	l.box = container.NewStack()
	l.box.Hide()
	l.whole = container.New(l, form, l.box)
	return l.whole
}

func (l *over) MinSize(o []fyne.CanvasObject) fyne.Size { return o[0].MinSize() }

func (l *over) Layout(o []fyne.CanvasObject, size fyne.Size) {
	o[0].Resize(size)
	if !l.box.Visible() {
		return
	}
	begin := placeOf(o[0]).At
	field, at, height := placeOf(l.in), placeOf(l.wide).At.Subtract(begin), l.box.MinSize().Height
	above := field.At.Y - height - 2
	if at.Y = field.At.Y + field.Size.Height + 2; at.Y+height > placeOf(l.seen).At.Y+l.seen.Size().Height && above >= placeOf(l.seen).At.Y {
		at.Y = above
	}
	l.box.Move(at.SubtractXY(0, begin.Y))
	l.box.Resize(fyne.NewSize(l.wide.Size().Width, height))
}

func (o *offers) typed(in *widgets.Entry) {
	if o.screen.env.Window.Canvas().Focused() != fyne.Focusable(in) || in.Text == "" {
		o.clear()
		return
	}
	o.show(matching(o.screen.known, in.Text, o.taken()))
}

func (o *offers) clear() { o.show(nil) }

// left ends them with the focus, unless one is being pressed.
func (o *offers) left() {
	if !o.held {
		o.clear()
	}
}

func (o *offers) show(list []offer) {
	if len(list) == 0 && len(o.list) == 0 {
		return
	}
	o.list, o.rows, o.at = list, nil, -1
	lines := widgets.Stack(0)
	for _, x := range list {
		name, note := widgets.NewName(x.name), widgets.NewCaption(x.note)
		var line fyne.CanvasObject = name
		if x.note != x.name {
			line = container.NewGridWithColumns(2, name, note)
		}
		row := &suggestion{offers: o}
		row.Content, row.OnPress, row.Lines = widgets.PadHV(8, 5, line), func() { o.take(x) }, []*widgets.Line{name, note}
		row.ExtendBaseWidget(row)
		row.SkipTab() // typing name, Tab, address must reach the fields
		o.rows = append(o.rows, row)
		lines.Add(row)
	}
	if in, is := o.screen.env.Window.Canvas().Focused().(*widgets.Entry); is {
		o.screen.over.in = in
	}
	o.screen.over.show(lines, o.fields)
}

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

func (o *offers) take(x offer) {
	o.clear()
	o.accept(x.people)
}

// taken returns the lower-case addresses of all others who sign or get a copy.
func (l *signerList) taken(but *widgets.Entry) map[string]bool {
	taken := map[string]bool{}
	for _, p := range l.people {
		if p.email != but && p.email.Text != "" {
			taken[strings.ToLower(p.email.Typed())] = true
		}
	}
	for _, c := range l.copies.added {
		if c.entry != but {
			taken[strings.ToLower(c.recipient().Email)] = true
		}
	}
	return taken
}

// matching returns the first suggestions whose name or address begins with text, except people already taken and suggestions that
// add nothing to text.
func matching(known []offer, text string, taken map[string]bool) (list []offer) {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, x := range known {
		name, note := strings.ToLower(x.name), strings.ToLower(x.note)
		x.people = slices.DeleteFunc(slices.Clone(x.people), func(p office.Signer) bool { return taken[strings.ToLower(p.Email)] })
		begins := strings.HasPrefix(note, text) || strings.HasPrefix(name, text) || strings.Contains(name, " "+text)
		if len(x.people) == 0 || note == text && text != "" || !begins {
			continue
		}
		if list = append(list, x); len(list) == maxOffers {
			break
		}
	}
	return list
}

// copies are the people who get a copy without signing: the default recipients, who can be removed from this package, and those
// added here.
type copies struct {
	screen *Screen
	off    []string // addresses of default recipients removed from this package
	added  []*copyTo
	box    *fyne.Container
	field  *widgets.Field
	turns  map[string]*widgets.Button // by address of a default recipient
}

func newCopies(s *Screen) *copies {
	c := &copies{screen: s, box: widgets.Stack(6)}
	c.field = widgets.NewField(lang.L("Copies"), c.box, "")
	c.field.Hide()
	return c
}

// standing returns the default recipients in the present settings, which are not stored here.
func (c *copies) standing() []office.Recipient {
	return c.screen.office.Settings().DefaultRecipients()
}

func (c *copies) isOff(r office.Recipient) bool {
	return slices.ContainsFunc(c.off, func(email string) bool { return r.Same(email) })
}

func (c *copies) typing() (rows []*copyTo) {
	for _, row := range c.added {
		if row.entry.Typed() != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

func (c *copies) own() (list []office.Recipient) {
	for _, row := range c.typing() {
		list = append(list, row.recipient())
	}
	return list
}

// recipients returns all who get a copy of what signers sign, those added here last. A default recipient who signs gets none.
func (c *copies) recipients(signers []office.Signer) []office.Recipient {
	return append(office.DefaultCopies(c.standing(), nil, signers, c.off), c.own()...)
}

// fill shows a draft's recipients: own, in addition to the default ones not in off.
func (c *copies) fill(own []office.Recipient, off []string) {
	c.added, c.off = nil, slices.Clone(off)
	for _, r := range own {
		c.added = append(c.added, c.newCopy(r))
	}
	c.show()
}

func (c *copies) add() {
	row := c.newCopy(office.Recipient{})
	c.added = append(c.added, row)
	c.show()
	c.screen.changed()
	widgets.Focus(c.screen.env.Window.Canvas(), row.entry)
}

func (c *copies) remove(row *copyTo) {
	i := slices.Index(c.added, row)
	if i < 0 {
		return
	}
	c.added = slices.Delete(c.added, i, i+1)
	c.show()
	c.screen.changed()
	if name := row.entry.Typed(); name != "" {
		c.screen.removed(name, func() {
			c.added = slices.Insert(c.added, min(i, len(c.added)), row)
			c.show()
			c.screen.changed()
		})
	}
	widgets.Focus(c.screen.env.Window.Canvas(), c.screen.addCopy)
}

// turn removes a default recipient from this package, or restores it.
func (c *copies) turn(r office.Recipient) {
	switch {
	case c.screen.busy():
		return
	case c.isOff(r):
		c.off = slices.DeleteFunc(c.off, r.Same)
	default:
		c.off = append(c.off, r.Email)
	}
	c.screen.changed()
	widgets.Focus(c.screen.env.Window.Canvas(), c.turns[r.Email]) // the button has been replaced
}

func (c *copies) show() {
	before, canvas := c.turns, c.screen.env.Window.Canvas()
	c.turns = map[string]*widgets.Button{}
	var rows []fyne.CanvasObject
	signers := c.screen.signers()
	for _, r := range c.standing() {
		rows = append(rows, c.standingRow(r, signers))
	}
	for _, row := range c.added {
		rows = append(rows, row.field)
	}
	widgets.Remake(c.box, rows...)
	c.field.Hidden = len(rows) == 0
	c.field.Refresh()
	for email, b := range before {
		if again := c.turns[email]; again != nil && canvas.Focused() == fyne.Focusable(b) {
			canvas.Focus(again)
		}
	}
}

// standingRow shows a default recipient, where it comes from, and why there is no copy for this package.
func (c *copies) standingRow(r office.Recipient, signers []office.Signer) fyne.CanvasObject {
	name, note := widgets.NewName(r.Address()), widgets.NewCaption(kindOf(r.Blind)+" · "+lang.L("on every package"))
	note.Shorten = false
	icon, does := fynetheme.ContentClearIcon(), lang.L("Not for this package")
	signs := office.CheckCopies([]office.Recipient{r}, signers)[0] == office.CodeSigns
	switch {
	case signs:
		note.Text, name.Colour = lang.L("signs, so no copy"), theme.Secondary
	case c.isOff(r):
		note.Text, name.Colour = lang.L("no copy of this package"), theme.Secondary
		icon, does = fynetheme.ContentUndoIcon(), lang.L("Send the copy after all")
	}
	var button fyne.CanvasObject
	if !signs {
		b := c.screen.newButton("", icon, func() { c.turn(r) })
		b.Importance, b.Tip = widget.LowImportance, does
		b.Says = func() string { return widgets.Said(does, r.Address()) }
		button, c.turns[r.Email] = b, b
	}
	return widgets.PadHV(0, 4, widgets.Across(nil, widgets.Stack(1, name, note), button))
}

// judge shows what is wrong with the people added here; codes are those of recipients. During typing, an address that cannot get a
// copy is reported at once, an incomplete one only when said.
func (c *copies) judge(all []office.Recipient, codes []office.Code, said bool) {
	rows := c.typing()
	for i, row := range rows {
		at, text := len(codes)-len(rows)+i, ""
		if at < 0 { // no more errors
			row.field.Wrong("")
			continue
		}
		if code := codes[at]; said && code != "" || code == office.CodeSigns || code == office.CodeTwice {
			text = i18n.Message(all[at].Wrong(code))
		}
		row.field.Wrong(text)
	}
}

// firstWrong returns the index of the first row with an error, negative for none.
func (c *copies) firstWrong() int {
	return slices.IndexFunc(c.added, func(row *copyTo) bool { return row.field.IsWrong() })
}

func kindOf(blind bool) string {
	if blind {
		return lang.L("BCC")
	}
	return lang.L("CC")
}

// copyTo is the row of a person who gets a copy, with one field for name and address, as in mail programs.
type copyTo struct {
	copies *copies
	entry  *widgets.Entry
	kind   *widgets.Select
	remove *widgets.Button
	offers *offers
	field  *widgets.Field
}

func (c *copies) newCopy(r office.Recipient) *copyTo {
	s := c.screen
	row := &copyTo{copies: c, kind: widgets.NewSelect([]string{kindOf(false), kindOf(true)}, nil), entry: s.newInput(lang.L("Name <e-mail address>"))}
	row.entry.SetText(r.Address())
	row.kind.PlaceHolder, row.kind.Selected = kindOf(true), kindOf(r.Blind)
	row.kind.OnChanged = func(string) { s.changed() }
	row.remove = s.newButton("", fynetheme.DeleteIcon(), func() { c.remove(row) }).Quiet()
	row.remove.Says = func() string { return widgets.Removing(cmp.Or(row.entry.Text, row.kind.Selected)) }
	row.offers = newOffers(s, row.entry, func() bool { return row.entry.Typed() == "" }, func() map[string]bool { return s.taken(row.entry) }, row.take)
	row.entry.OnChanged = func(string) { s.changed(); row.offers.typed(row.entry) }
	row.entry.OnKey = row.offers.key
	row.entry.OnFocusLost = row.left
	row.field = widgets.NewField("", widgets.Across(nil, row.entry, widgets.Row(0, row.kind, row.remove)), "")
	row.field.Room(true)
	return row
}

// recipient returns the typed recipient; text that is no address becomes one that is invalid.
func (r *copyTo) recipient() office.Recipient {
	text := r.entry.Typed()
	if people := office.ReadPeople(text); len(people) == 1 {
		return office.CopyTo(people, r.blind())[0]
	}
	return office.Recipient{Email: text, Blind: r.blind()}
}

func (r *copyTo) blind() bool { return r.kind.Selected == kindOf(true) }

func (r *copyTo) take(people []office.Signer) {
	r.entry.SetText(office.Written(people[0]))
	r.spread(people)
	widgets.Focus(r.copies.screen.env.Window.Canvas(), r.entry)
}

// left makes separate rows of several people typed or pasted into one.
func (r *copyTo) left() {
	r.offers.left()
	if people := office.ReadPeople(r.entry.Text); len(people) > 1 {
		r.entry.SetText(office.Written(people[0]))
		r.spread(people)
	}
}

// spread adds rows for all but the first of some people.
func (r *copyTo) spread(people []office.Signer) {
	c := r.copies
	at := slices.Index(c.added, r)
	for _, p := range office.CopyTo(people[1:], r.blind()) {
		at++
		c.added = slices.Insert(c.added, at, c.newCopy(p))
	}
	c.show()
	c.screen.changed()
}
