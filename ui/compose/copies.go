package compose

import (
	"cmp"
	"slices"
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

// copies are the people who get a copy and do not sign: those of the settings, who can be taken off this package, and those
// who are added here.
type copies struct {
	screen *Screen
	off    []string // addresses of those of the settings who do not get this one
	added  []*copyTo
	box    *fyne.Container
	field  *widgets.Field
	turns  map[string]*widgets.Button // by address of a standing recipient
}

func newCopies(s *Screen) *copies {
	c := &copies{screen: s, box: widgets.Stack(6)}
	c.field = widgets.NewField(lang.L("Copies"), c.box, "")
	c.field.Hide()
	return c
}

// standing are those of the settings as they are now: nothing here keeps them.
func (c *copies) standing() []office.Recipient { return c.screen.env.Office.Settings().Standing() }

// isOff says whether a standing recipient is taken off this package.
func (c *copies) isOff(r office.Recipient) bool {
	return slices.ContainsFunc(c.off, func(email string) bool { return r.Same(email) })
}

// typing are the rows with anything typed.
func (c *copies) typing() (rows []*copyTo) {
	for _, row := range c.added {
		if strings.TrimSpace(row.entry.Text) != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

// own are the people who are added here, as typed.
func (c *copies) own() (list []office.Recipient) {
	for _, row := range c.typing() {
		list = append(list, row.recipient())
	}
	return list
}

// recipients are all who get a copy of what the signers sign, those that are added here last. Whoever signs gets none as a
// standing recipient.
func (c *copies) recipients(signers []office.Signer) []office.Recipient {
	return append(office.StandingCopies(c.standing(), nil, signers, c.off), c.own()...)
}

// fill shows who gets a copy of a draft: own beside the standing ones that are not off.
func (c *copies) fill(own []office.Recipient, off []string) {
	c.added, c.off = nil, slices.Clone(off)
	for _, r := range own {
		c.added = append(c.added, c.newCopy(r))
	}
	c.show()
}

// add adds an empty row and puts the cursor there.
func (c *copies) add() {
	row := c.newCopy(office.Recipient{})
	c.added = append(c.added, row)
	c.show()
	c.screen.changed()
	c.screen.env.Window.Canvas().Focus(row.entry)
}

func (c *copies) remove(row *copyTo) {
	i := slices.Index(c.added, row)
	if i < 0 || c.screen.run != nil {
		return
	}
	c.added = slices.Delete(c.added, i, i+1)
	c.show()
	c.screen.changed()
	c.screen.env.Window.Canvas().Focus(c.screen.addCopy)
}

// turn takes a standing recipient off this package, or puts it back.
func (c *copies) turn(r office.Recipient) {
	if c.isOff(r) {
		c.off = slices.DeleteFunc(c.off, r.Same)
	} else {
		c.off = append(c.off, r.Email)
	}
	c.screen.changed()
	c.screen.env.Window.Canvas().Focus(c.turns[r.Email]) // it is another button now
}

// show puts up a row for everybody who gets a copy.
func (c *copies) show() {
	c.box.Objects, c.turns = nil, map[string]*widgets.Button{}
	signers := c.screen.signers()
	for _, r := range c.standing() {
		c.box.Add(c.standingRow(r, signers))
	}
	for _, row := range c.added {
		row.remove.Hidden = c.screen.run != nil
		c.box.Add(row.row)
	}
	c.field.Hidden = len(c.box.Objects) == 0
	c.field.Refresh()
}

// standingRow is a recipient of the settings. It says where that is from, and why there is none for this package.
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
	if !signs && c.screen.run == nil {
		b := c.screen.newButton("", icon, func() { c.turn(r) })
		b.Importance, b.Tip = widget.LowImportance, does
		b.Says = func() string { return widgets.Said(does, r.Address()) }
		button, c.turns[r.Email] = b, b
	}
	row, _ := tightCard(widgets.PadHV(10, 4, widgets.Across(nil, widgets.Stack(1, name, note), button)))
	return row
}

// judge shows what is wrong with the people who are added here; codes are those of recipients. While somebody types, an
// address that cannot get a copy shows at once, one that is not complete yet only when all is said.
func (c *copies) judge(all []office.Recipient, codes []office.Code, said bool) {
	rows := c.typing()
	for i, row := range rows {
		at, text := len(codes)-len(rows)+i, ""
		if at < 0 { // nothing is wrong any more
			row.wrong("")
			continue
		}
		if code := codes[at]; said && code != "" || code == office.CodeSigns || code == office.CodeTwice {
			text = i18n.Message(all[at].Wrong(code))
		}
		row.wrong(text)
	}
}

// firstWrong is the first row that shows what is wrong; nil for none.
func (c *copies) firstWrong() fyne.Focusable {
	for _, row := range c.added {
		if row.problem.Text != "" {
			return row.entry
		}
	}
	return nil
}

func kindOf(blind bool) string {
	if blind {
		return lang.L("BCC")
	}
	return lang.L("CC")
}

// copyTo is the row of one person who gets a copy: one field for name and address, as mail programs have it.
type copyTo struct {
	copies  *copies
	entry   *widgets.Entry
	kind    *widgets.Button
	blind   bool
	problem *widgets.Prose
	say     fyne.CanvasObject
	remove  *widgets.Button
	offers  *offers
	row     fyne.CanvasObject
}

func (c *copies) newCopy(r office.Recipient) *copyTo {
	s := c.screen
	row := &copyTo{copies: c, blind: r.Blind, entry: s.newInput(lang.L("Name <e-mail address>")), problem: widgets.NewProse("")}
	row.problem.Colour = theme.Attention
	row.say = widgets.Across(widget.NewIcon(theme.MarkProblem.Resource()), row.problem, nil)
	row.say.Hide()
	row.entry.SetText(r.Address())
	row.kind = s.newButton(kindOf(r.Blind), nil, func() { row.turn() })
	row.kind.Importance, row.kind.Tip = widget.LowImportance, lang.L("CC: the others see who gets a copy. BCC: they do not.")
	row.remove = s.newButton("", fynetheme.DeleteIcon(), func() { c.remove(row) })
	row.remove.Importance = widget.LowImportance
	row.remove.Says = func() string { return widgets.Removing(cmp.Or(row.entry.Text, row.kind.Text)) }
	row.entry.Why = func() string { return row.problem.Text }
	row.offers = newOffers(s, func() bool { return strings.TrimSpace(row.entry.Text) == "" }, func() map[string]bool { return s.taken(row.entry) }, row.take)
	row.entry.OnChanged = func(string) { s.changed(); row.offers.typed(row.entry) }
	row.entry.OnKey = row.offers.key
	row.entry.OnFocusGained = func() { row.offers.clear(); s.clearOffers(row.offers) }
	row.entry.OnFocusLost = row.left
	fields := widgets.Stack(6, widgets.Across(nil, row.entry, container.NewHBox(row.kind, row.remove)), row.offers.box, row.say)
	row.row, _ = tightCard(widgets.PadHV(10, 4, fields))
	return row
}

// recipient is what is typed; what is no address is one that cannot be right.
func (r *copyTo) recipient() office.Recipient {
	text := strings.TrimSpace(r.entry.Text)
	if people := office.ReadPeople(text); len(people) == 1 {
		return office.CopyTo(people, r.blind)[0]
	}
	return office.Recipient{Email: text, Blind: r.blind}
}

// turn makes an open copy a blind one, or the other way.
func (r *copyTo) turn() {
	if r.copies.screen.run != nil {
		return
	}
	r.blind = !r.blind
	r.kind.SetText(kindOf(r.blind))
	r.copies.screen.changed()
}

// take takes over a person who was offered.
func (r *copyTo) take(p office.Signer) {
	r.entry.SetText(office.Written(p))
	r.copies.screen.env.Window.Canvas().Focus(r.entry)
}

// left makes rows of several people who were typed or pasted into one.
func (r *copyTo) left() {
	people := office.ReadPeople(r.entry.Text)
	if len(people) < 2 {
		return
	}
	c := r.copies
	at := slices.Index(c.added, r)
	r.entry.SetText(office.Written(people[0]))
	for _, p := range office.CopyTo(people[1:], r.blind) {
		at++
		c.added = slices.Insert(c.added, at, c.newCopy(p))
	}
	c.show()
	c.screen.changed()
}

func (r *copyTo) wrong(text string) {
	r.problem.Set(text)
	widgets.Show(r.say, text != "")
	r.entry.Mark(text != "")
	r.row.Refresh()
}
