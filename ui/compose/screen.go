// Package compose is the screen for putting packages together and sending them. Input stays until the office has accepted it. It
// passes drafts to the office and shows the outcome; it does not know how sending works.
package compose

import (
	"context"
	"encoding/json"
	"image"
	"reflect"
	"slices"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/keys"
	"countersign/ui/outbox"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

type details struct {
	proposed                      string // the name filled in automatically
	name, message, due, reference *widgets.Entry
	nameField, dueField           *widgets.Field
	day                           *widgets.Button
	inDue                         bool // the due date has the focus
}

var noSigner office.Signer

type Office interface {
	Documents
	Lists
	outbox.Office

	Package(id string) (row office.PackageRow, known bool, err error)
	Templates(ctx context.Context, search string) ([]office.Template, error)
	TemplatesOffered() bool
	People() ([]office.Signer, error)
	FormPresets() ([]office.FormPreset, error)
	KeepFormPreset(x office.FormPreset) error
	Settings() office.Settings
}

// Documents examines files to send, stores the form, and sends.
type Documents interface {
	Inspect(ctx context.Context, path string) agent.FileInfo
	NewDelivery() *agent.Delivery
	Preview(ctx context.Context, path string, width int) (image.Image, error)
	KeepForm(form office.Form)
	Send(ctx context.Context, draft office.NewPackage, progress func(office.SendState)) (office.SendState, error)
	Cancel(draftID string) (inTime bool, err error)
}

// Screen is the send screen. Only the UI goroutine may call its methods.
type Screen struct {
	env    *env.Env
	office Office
	reader *async.Reader[news]
	frame
	documentList
	signerList
	details
	lists lists

	OnWaiting func(bool)             // called when Waiting may have changed; may be nil
	OnSending func(office.SendState) // called with the progress of a package sent from here
	List      func(then func())      // calls then once what the office has accepted is listed

	basis    *basis          // the template it is made from; nil for none
	tried    bool            // the button was pressed: from now on errors show during typing
	handing  *handing        // what the office is accepting; nil for nothing
	after    []func()        // what waits until that is over
	corrects string          // id of the package that this one replaces; empty for none
	replaces string          // id of the draft being edited here; empty for none
	removals []func()        // end the offers to put back what was removed
	external json.RawMessage // what a program gave for it

	filling bool // fields are being filled in: store them only when all are done

	presets presets
	bar     *bar
}

// frame is what the form stands in.
type frame struct {
	content  *fyne.Container   // the form, or a list in its place
	sheet    fyne.CanvasObject // the form
	heading  *widgets.Line
	clearing *widgets.Button
	cancel   *widgets.Button   // ends the wait for documents that are loaded before they are sent
	columns  *container.Scroll // with all that is scrolled; see layOutAnew
	over     *over             // the suggestions, which lie over it
}

func New(d *env.Env, o Office) *Screen {
	s := &Screen{env: d, office: o}
	s.fileBox, s.peopleBox = widgets.Stack(4), widgets.Stack(12)
	s.reader = async.NewReader(d.Work, s.read, s.show)
	s.name, s.message, s.due, s.reference = s.newInput(""), s.newInput(""), s.newInput(lang.L("No due date")), s.newInput("")
	s.message.MultiLine, s.message.Wrapping = true, fyne.TextWrapWord
	s.message.SetMinRowsVisible(2)
	s.day = s.newButton("", fynetheme.CalendarIcon(), s.pickDay)
	s.day.Importance, s.day.Tip = widget.LowImportance, lang.L("Choose a day")
	s.nameField = widgets.NewField(lang.L("Package name"), s.name, "")
	s.due.OnFocusGained, s.due.OnFocusLost = func() { s.dueFocus(true) }, func() { s.dueFocus(false) }
	s.dueField = widgets.NewField(lang.L("Due date"), widgets.WithButton(s.due, s.day), "")
	s.dueField.Room(true) // for the day that was understood
	s.filesField = widgets.NewField(lang.L("Documents"), s.fileBox, "")
	s.peopleField = widgets.NewField(lang.L("Signers"), s.peopleBox, "")
	s.filesField.Room(true) // for what is wrong, which must not move anything
	s.nameField.Room(true)
	s.each = widgets.NewCheck(lang.L("A separate package for each document"), func(bool) { s.changed() })
	s.order = widgets.NewCheck(lang.L("Sign in the order shown"), func(bool) { s.showPeople(); s.changed() })
	s.add = s.newButton(lang.L("Add documents"), fynetheme.ContentAddIcon(), s.pickFiles).Quiet()
	s.choose = s.newButton(lang.L("From a template…"), fynetheme.ListIcon(), s.ChooseTemplate).Quiet()
	s.addPerson = s.newButton(lang.L("Add signer"), fynetheme.ContentAddIcon(), func() { s.addSigner(noSigner, true) }).Quiet()
	s.addCopy = s.newButton(lang.L("Add CC"), fynetheme.ContentAddIcon(), func() { s.copies.add() }).Quiet()
	s.addCopy.Tip = lang.L("Somebody who gets a copy and does not sign")
	s.copies = newCopies(s)
	s.sweep = s.newButton(lang.L("Remove what cannot be sent"), nil, s.removeWrong).Quiet()
	s.clearing = s.newButton(lang.L("Clear form"), nil, s.Clear).Quiet()
	s.lists.button = s.newButton(lang.L("Lists"), fynetheme.MenuDropDownIcon(), s.offerLists).Quiet()
	s.lists.button.IconPlacement = widget.ButtonIconTrailingText
	s.lists.button.Hidden = true
	s.lists.row = container.NewStack()
	s.lists.row.Hide()
	s.presets.button = s.newButton(lang.L("Presets"), fynetheme.MenuDropDownIcon(), s.offerPresets).Quiet()
	s.presets.button.IconPlacement = widget.ButtonIconTrailingText
	s.deeds = widgets.Flow(8, s.add, s.choose, s.sweep, s.each)
	s.target, s.targetEdge = newTarget(s.pickFiles)
	s.heading = widgets.NewHeading(lang.L("New package"))
	s.cancel = s.newButton(lang.L("Cancel"), nil, s.release).Quiet()
	s.cancel.Hide()
	s.bar = newBar(s.newButton(lang.L("Send"), nil, s.Send).Primary(), s.cancel)
	s.layOut()
	s.filling = true
	s.addSigner(noSigner, false)
	s.showFiles()
	s.Fill(o.Form())
	return s
}

// formWidth is how wide the form, its head and the bar below are at most.
const formWidth = 1080

func (s *Screen) layOut() {
	left := widgets.Stack(12, widgets.Stack(2, s.filesField, widgets.Outdent(s.deeds)), s.nameField)
	right := widgets.Stack(12, s.lists.row, s.peopleField, widgets.Outdent(widgets.Flow(8, s.addPerson, s.addCopy, s.presets.button, s.order)), s.copies.field,
		widgets.NewField(lang.L("Message to the signers"), s.message, ""), widgets.Halves(s.dueField, widgets.NewField(lang.L("Reference"), s.reference, "")))
	s.over = &over{}
	s.columns = widgets.NewVScroll(widgets.AtMost(formWidth, widgets.PadHV(20, 4, s.over.lie(widgets.Halves(widgets.Column(270, left), widgets.Column(270, right))))))
	s.over.seen = s.columns
	head := widgets.PadHV(20, 12, widgets.Tall(s.clearing.MinSize().Height, widgets.Across(nil, s.heading, widgets.Row(8, s.lists.button, s.clearing))))
	s.sheet = widgets.Between(widgets.AtMost(formWidth, head), s.bar.content, s.columns)
	s.content = container.NewStack(s.sheet)
}

// layOutAnew redoes the layout after rows were added or removed. Fyne notices growth by itself, but forgets it if something else
// below in the same column has changed its size.
func (s *Screen) layOutAnew() {
	if s.columns != nil {
		s.columns.Refresh()
	}
}

func (s *Screen) Content() fyne.CanvasObject { return s.content }

func (s *Screen) Focus() {
	if s.Enter(); s.lists.panel != nil {
		return
	}
	if s.documentCount() > 0 && len(s.people) > 0 {
		widgets.Focus(s.env.Window.Canvas(), s.people[0].first)
		return
	}
	widgets.Focus(s.env.Window.Canvas(), s.adder())
}

type news struct {
	known []offer
	kept  []office.FormPreset
	lists []office.Bulk

	templates bool // the service may have templates
}

// Reload reads the suggestions off the UI goroutine.
func (s *Screen) Reload() { s.reader.Ask() }

func (s *Screen) read(context.Context) (n news, err error) {
	people, err := s.office.People()
	if err != nil {
		return n, err
	}
	if n.kept, err = s.office.FormPresets(); err != nil {
		return n, err
	}
	if n.lists, err = s.office.Lists(); err != nil {
		return n, err
	}
	n.known = offersOf(n.kept, people)
	n.templates = s.office.TemplatesOffered()
	return n, nil
}

// show shows what was read. After an error, the old content stays and health explains.
func (s *Screen) show(n news, err error) {
	if err != nil {
		return
	}
	s.known, s.presets.kept = n.known, n.kept
	n.lists = slices.DeleteFunc(n.lists, func(b office.Bulk) bool { return b.Undone })
	s.lists.recent = n.lists[:min(len(n.lists), mostLists)]
	widgets.Show(s.lists.button, len(n.lists) > 0)
	s.offerTemplates(n.templates)
	if p := s.lists.panel; p != nil && p.id != "" && !p.soon {
		p.reader.Ask()
	}
	s.changed() // the settings may have changed
}

// draft returns the input for the office, without empty signers if there are others.
func (s *Screen) draft() office.NewPackage {
	d := office.NewPackage{Name: s.name.Typed(), Message: s.message.Typed(), Sequential: s.sequential(), Corrects: s.corrects,
		Due: parseDue(s.days(), s.due.Text, s.env.Now()), ExternalData: externalData(s.reference.Typed(), s.external), Template: s.basis.filled()}
	for _, doc := range s.docs {
		d.Files = append(d.Files, doc.path)
	}
	d.Signers = s.signers()
	d.Recipients, d.NoCopy = s.copies.own(), slices.Clone(s.copies.off)
	return d
}

func (l *signerList) signers() (list []office.Signer) {
	for _, p := range l.signing() {
		list = append(list, p.signer())
	}
	return list
}

func (l *signerList) sequential() bool { return l.order.Checked }

// separate reports that every document becomes its own package.
func (s *Screen) separate() bool { return len(s.docs) > 1 && s.basis == nil && s.each.Checked }

// signing returns the people with any input.
func (l *signerList) signing() (people []*person) {
	for _, p := range l.people {
		if p.signer() != noSigner {
			people = append(people, p)
		}
	}
	return people
}

// changed updates the button, and the errors after the first attempt to send. A past day is reported at once.
func (s *Screen) changed() {
	s.keep()
	d := s.draft()
	text := promise(s.documentCount(), d.Signers, s.separate())
	switch {
	case s.lists.draft.Path != "":
		text = lang.L("Continue with the list")
	case len(s.wrongFiles()) > 0: // nothing is sent with them
		text = lang.L("Send")
	}
	s.bar.offer(text)
	s.nameField.Hidden = s.separate() // each is named after its document
	s.nameField.Refresh()
	s.hintDue(d.Due)
	w := s.check(d)
	s.copies.show()
	s.copies.judge(s.copies.recipients(d.Signers), w.copies, s.tried)
	if s.inDue && !s.dueField.IsWrong() {
		w.due = "" // a valid date must not become wrong during typing
	}
	if i := slices.IndexFunc(s.signing(), (*person).typing); i >= 0 {
		w.signer[i] = wrongSigner{}
	}
	if s.tried {
		s.showWrong(w)
		if b := s.bar; b.marks || w.any() {
			b.marked(w.any())
		}
	} else {
		s.dueField.Wrong(w.due)
	}
}

func (s *Screen) showWrong(w wrong) {
	s.copies.judge(s.copies.recipients(s.signers()), w.copies, true)
	text := w.files
	if s.documentCount() > 0 { // each says what is wrong with it
		text = ""
	}
	s.filesField.Wrong(text)
	s.targetEdge.Outline(theme.Line)
	if w.files != "" {
		s.targetEdge.Outline(theme.Attention)
	}
	s.nameField.Wrong(w.name)
	s.dueField.Wrong(w.due)
	for _, p := range s.people {
		p.wrong(wrongSigner{})
	}
	for i, p := range s.signing() {
		if i < len(w.signer) {
			p.wrong(w.signer[i])
		}
	}
	if w.signers != "" && len(s.people) > 0 {
		s.people[0].wrong(wrongSigner{text: w.signers})
		s.people[0].mark(true, true)
	}
}

// bar is the line at the bottom: one button that says what it will do, and what is wrong.
type bar struct {
	content *fyne.Container
	text    *widgets.Prose
	mark    *widget.Icon
	send    *widgets.Button
	marks   bool // it says that fields are marked
}

func newBar(send *widgets.Button, before ...fyne.CanvasObject) *bar {
	b := &bar{text: widgets.NewProse(""), mark: widget.NewIcon(theme.MarkProblem.Resource()), send: send}
	b.text.Most = 2 // as high as the button, which must not move
	buttons := widgets.Tall(send.MinSize().Height, widgets.Row(8, append(before, send)...))
	b.content = widgets.On(theme.Paper, widgets.Stack(0, widget.NewSeparator(), widgets.AtMost(formWidth, widgets.PadHV(20, 8, widgets.Across(b.mark, b.text, buttons)))))
	b.say("")
	return b
}

// offer sets the button's text. Fyne alone would keep the width of a text in between if the new one is as wide as the last one drawn.
func (b *bar) offer(text string) {
	if b.send.Text != text {
		b.send.SetText(text)
		b.content.Refresh()
	}
}

// say shows an error, empty for none.
func (b *bar) say(text string) { b.tell(text, true) }

func (b *bar) tell(text string, wrong bool) {
	b.marks, b.mark.Hidden, b.text.Hidden = false, text == "" || !wrong, text == "" // without it, the button may need all the width
	if b.text.Colour = theme.Text; wrong {
		b.text.Colour = theme.Attention
	}
	b.text.Set(text)
	b.content.Refresh()
}

// marked says whether fields are marked.
func (b *bar) marked(any bool) {
	switch {
	case any:
		b.say(lang.L("Check the marked fields."))
	case b.marks:
		b.say("")
	}
	b.marks = any
}

// form returns the input for Fill on another screen, in another language, or after another start.
func (s *Screen) form() office.Form {
	f := office.Form{Message: s.message.Text, Due: s.due.Text, Reference: s.reference.Text, Sequential: s.sequential(), Separate: s.separate(), Corrects: s.corrects,
		Replaces: s.replaces, External: s.external}
	if day, ok := s.days().Read(f.Due, s.env.Now()); ok {
		f.Due = day.Format(time.DateOnly) // "tomorrow" would mean another day by then
	}
	if s.name.Text != s.proposed {
		f.Name = s.name.Text
	}
	for _, doc := range s.docs {
		f.Files = append(f.Files, office.FormFile{Path: doc.path, From: doc.from})
	}
	f.Template, f.List = s.basis.filled(), s.lists.draft
	for _, p := range s.signing() {
		f.Signers = append(f.Signers, p.signer())
	}
	f.Recipients, f.NoCopy = s.copies.own(), s.copies.off
	return f
}

// Fill fills in a form, in addition to the documents that are there.
func (s *Screen) Fill(f office.Form) {
	s.filling = true
	s.correct(f.Corrects)
	s.replaces, s.external = f.Replaces, f.External
	s.each.SetChecked(f.Separate)
	s.order.SetChecked(f.Sequential)
	due := f.Due
	if day, ok := s.days().Read(due, s.env.Now()); ok {
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
	s.setBasis(f.Template)
	s.setList(f.List)
	s.filling = false
	s.showPeople()
	s.addFiles(f.Files, atEnd)
	s.filesChanged()
}

// keep makes the office store the input.
func (s *Screen) keep() {
	if s.filling {
		return
	}
	f := s.form()
	if h := s.handing; h != nil && len(s.docs) == 0 && !slices.ContainsFunc(h.parcels, func(p *parcel) bool { return !p.taken }) {
		f = office.Form{} // the office has accepted all of it
	}
	s.office.KeepForm(f)
	s.clearing.Hidden = f.Empty()
	s.clearing.Refresh()
	if s.OnWaiting != nil {
		s.OnWaiting(s.Waiting())
	}
}

func (s *Screen) Clear() {
	before, docs := s.form(), s.docs
	if before.Empty() {
		return
	}
	s.clear()
	s.changed()
	s.Focus()
	s.offerBack(lang.L("The form was cleared."), before, docs)
}

// offerBack offers to return to the input before something replaced it. It asks only if there is other input by then.
func (s *Screen) offerBack(says string, before office.Form, docs []*document) {
	after, docs := s.form(), slices.Clone(docs)
	s.offerUndo(says, func() {
		if back := func() { s.begin(before, docs...) }; reflect.DeepEqual(s.form(), after) {
			back()
		} else {
			s.replace(back)
		}
	})
}

func (s *Screen) offerUndo(says string, undone func()) (over func()) {
	return s.env.Soon(env.Undoable{Says: says, Undone: func() {
		s.afterwards(func() {
			undone()
			s.env.Go.ShowCompose()
		})
	}})
}

// removed offers to put back what was removed from the form, as long as it is the same form.
func (s *Screen) removed(name string, back func()) {
	s.removals = append(s.removals, s.offerUndo(lang.L("“{{.Name}}” was removed.", i18n.V{"Name": name}), back))
}

// Waiting reports whether a form with input waits for the person.
func (s *Screen) Waiting() bool { return s.handing == nil && !s.form().Empty() }

func (s *Screen) clear() {
	for _, over := range s.removals {
		over()
	}
	s.docs, s.people, s.proposed, s.tried, s.removals = nil, nil, "", false, nil
	s.setBasis(nil)
	s.setList(office.FormFile{})
	s.copies.fill(nil, nil)
	s.correct("")
	s.replaces, s.external = "", nil
	for _, e := range []*widgets.Entry{s.name, s.message, s.due, s.reference} {
		e.SetText("")
	}
	s.each.SetChecked(false)
	s.order.SetChecked(false)
	s.showWrong(wrong{})
	s.bar.say("")
	s.showFiles()
	s.addSigner(noSigner, false)
}

// dragHandle is the handle of an entry in an ordered list: dragging it moves the entry, and so do Alt+Up and Alt+Down while it has
// the focus. Delete removes the entry.
type dragHandle struct {
	widgets.Tappable
	screen *Screen
	list   *fyne.Container    // has a row for each entry
	at     func() int         // the entry's index
	place  func(from, to int) // moves an entry, if allowed and both places exist
	remove func()
}

func (s *Screen) newDragHandle(list *fyne.Container, at func() int, place func(from, to int), remove func()) *dragHandle {
	icon := widget.NewIcon(fynetheme.NewColoredResource(fynetheme.MenuIcon(), theme.Secondary))
	h := &dragHandle{screen: s, list: list, at: at, place: place, remove: remove}
	h.Content = widgets.Wide(24, widgets.Tall(28, container.NewCenter(widgets.Mark(18, icon))))
	h.OnPress = func() { widgets.Focus(s.env.Window.Canvas(), h) } // so that the keys continue from the mouse click
	h.ExtendBaseWidget(h)
	return h
}

func moving(what string) string { return lang.L("Move {{.Name}}", i18n.V{"Name": what}) }

func (h *dragHandle) Dragged(e *fyne.DragEvent) {
	h.Choose(true)
	h.place(h.at(), placeAt(h.list.Objects, h.at(), e.AbsolutePosition.Y))
}

func (h *dragHandle) DragEnd() { h.Choose(false) }

// Cursor shows that it can be moved up and down.
func (h *dragHandle) Cursor() desktop.Cursor { return desktop.VResizeCursor }

func (h *dragHandle) TypedKey(k *fyne.KeyEvent) {
	switch {
	case keys.Remove.Is(k):
		h.remove()
	case keys.Leave.Is(k):
		h.screen.unfocus()
	}
}

func (h *dragHandle) TypedShortcut(shortcut fyne.Shortcut) {
	if !h.step(shortcut) {
		widgets.PassShortcut(h, shortcut)
	}
}

// step moves the entry by one place for Alt+Up and Alt+Down, and reports whether the shortcut is one of those.
func (h *dragHandle) step(shortcut fyne.Shortcut) bool {
	if !keys.Carry.Are(shortcut) {
		return false
	}
	by := 1
	if shortcut.(*desktop.CustomShortcut).KeyName == fyne.KeyUp {
		by = -1
	}
	h.place(h.at(), h.at()+by)
	return true
}

// placeAt returns where the entry at from belongs when dragged to height y of the window: past the middle of a neighbour, it takes
// the neighbour's place.
func placeAt(rows []fyne.CanvasObject, from int, y float32) int {
	driver := fyne.CurrentApp().Driver()
	to := from
	for i, row := range rows {
		middle := driver.AbsolutePositionForObject(row).Y + row.Size().Height/2
		if i < from && y < middle {
			return i
		}
		if i > from && y > middle {
			to = i
		}
	}
	return to
}

// moved returns list with the entry at from moved to the place to, if both exist.
func moved[T any](list []T, from, to int) []T {
	if min(from, to) < 0 || max(from, to) >= len(list) {
		return list
	}
	entry := list[from]
	return slices.Insert(slices.Delete(slices.Clone(list), from, from+1), to, entry)
}

func (s *Screen) newInput(placeholder string) *widgets.Entry {
	e := widgets.NewEntry(placeholder)
	e.OnChanged = func(string) { s.changed() }
	e.OnSubmitted = func(string) { s.goOn() }
	e.OnEscape = s.unfocus
	return e
}

// goOn moves to the next field, or to the button that adds a signer or sends. Enter skips other buttons, because pressing Enter
// again would remove or replace what was just typed; Tab stops at them.
func (s *Screen) goOn() {
	canvas := s.env.Window.Canvas()
	from := canvas.Focused()
	for {
		canvas.FocusNext()
		switch at := canvas.Focused().(type) {
		case nil, *widgets.Entry:
			return
		case *widgets.Button:
			if at == s.addPerson || at == s.bar.send {
				return
			}
		}
		if canvas.Focused() == from {
			return
		}
	}
}

// newButton is a button of this screen, where Escape leaves.
func (s *Screen) newButton(text string, icon fyne.Resource, pressed func()) *widgets.Button {
	b := widgets.NewButtonWithIcon(text, icon, pressed)
	b.OnEscape = s.unfocus
	return b
}

// Busy reports that the office is accepting what is in the form, which is another in a moment.
func (s *Screen) Busy() bool { return s.handing != nil }

// busy says why nothing can be started while the office is accepting a package.
func (s *Screen) busy() bool {
	if s.handing != nil {
		s.env.Notice(lang.L("A package is being sent. Continue when it is done."))
	}
	return s.handing != nil
}

// unfocus leaves a field; the next Escape goes to the window, which leaves the screen.
func (s *Screen) unfocus() { s.env.Window.Canvas().Unfocus() }

// Landing returns where files dragged to a position would land, and what dropping them does.
func (s *Screen) Landing(at fyne.Position) (place *widgets.Place, does string) {
	if o := s.originalAt(at); o != nil {
		return placeOf(o.row), lang.L("Drop to use instead of “{{.Document}}”", i18n.V{"Document": o.own.Name})
	}
	does = lang.L("Drop to add to this package")
	switch n := len(s.docs); {
	case s.lists.panel != nil:
		return nil, does
	case s.documentCount() == 0:
		return placeOf(s.target), does
	case n == 0:
		return placeOf(s.fileBox), does
	default:
		return s.between(s.dropIndex(at)), does
	}
}

// dropIndex returns the place among the documents for files dropped at a position; the end if beside them.
func (l *documentList) dropIndex(at fyne.Position) int {
	list := placeOf(l.fileBox)
	if at.X >= list.At.X+list.Size.Width {
		return len(l.docs)
	}
	for i, d := range l.docs {
		if row := placeOf(d.row); at.Y < row.At.Y+row.Size.Height/2 {
			return i
		}
	}
	return len(l.docs)
}

// between returns the gap before document i, or after the last one.
func (s *Screen) between(i int) *widgets.Place {
	const gap = 4 // gap of fileBox
	var y float32
	if i < len(s.docs) {
		y = placeOf(s.docs[i].row).At.Y - gap/2
	} else {
		last := placeOf(s.docs[len(s.docs)-1].row)
		y = last.At.Y + last.Size.Height + gap/2
	}
	column := placeOf(s.columns) // the visible part of the list
	y = min(max(y, column.At.Y), column.At.Y+column.Size.Height)
	list := placeOf(s.fileBox)
	return &widgets.Place{At: fyne.NewPos(list.At.X, y), Size: fyne.NewSize(list.Size.Width, 0)}
}

func placeOf(o fyne.CanvasObject) *widgets.Place {
	return &widgets.Place{At: fyne.CurrentApp().Driver().AbsolutePositionForObject(o), Size: o.Size()}
}
