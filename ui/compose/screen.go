// Package compose is the screen on which packages are put together and sent. What is typed stays until the office has
// taken it over. It hands drafts to the office and shows how that ends; it does not know how sending works.
package compose

import (
	"context"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

var noSigner office.Signer

// Screen is the send screen. All methods belong to the window's goroutine.
type Screen struct {
	env     *env.Env
	reader  *async.Reader[news]
	content fyne.CanvasObject

	OnWaiting func(bool) // told when Waiting may have changed; may be nil

	docs     []*document
	people   []*person
	basis    *basis // the template that it is made from; nil for none
	copies   *copies
	known    []office.Signer // people used before, most recent first
	loaded   bool            // the office has told who they are, and what waits to be sent
	proposed string          // the name that was filled in by itself
	folder   string          // where the last file was picked
	tried    bool            // the button was pressed: from now on errors show as they are typed
	run      *run            // what is on its way; nil while nothing is
	corrects string          // the package that this one takes the place of; empty for none

	filling   bool // fields are filled one after the other: what is kept is kept when all are
	undecided bool // drafts of the office wait for a decision

	drafts      []office.Draft                 // as the outbox shows them
	draftDeeds  map[string][]fyne.CanvasObject // their buttons, by id
	shownEdited []string                       // those that it shows as being changed
	wanted      string                         // the one that somebody wants to see; empty for none

	fileBox, peopleBox, outbox    *fyne.Container
	columns                       *fyne.Container // in which all of it stands; see layOutAnew
	filesColumn                   fyne.CanvasObject
	deeds                         *fyne.Container // what can be done with the documents
	target                        fyne.CanvasObject
	targetEdge                    *widgets.Back
	filesField, peopleField       *widgets.Field
	name, message, due, reference *widgets.Entry
	nameField, dueField           *widgets.Field
	each, order                   *widgets.Choice
	add, addPerson, addCopy, day  *widgets.Button
	choose                        *widgets.Button // a template
	sweep, clearing               *widgets.Button
	bar                           *bar
	inDue                         bool // the cursor is in the due date
	heading                       *widgets.Line
}

// New returns the screen with one empty signer.
func New(d *env.Env) *Screen {
	s := &Screen{env: d, fileBox: widgets.Stack(4), peopleBox: widgets.Stack(6), outbox: container.NewStack()}
	s.reader = async.NewReader(d.Work, s.read, s.show)
	s.name, s.message, s.due, s.reference = s.newInput(""), s.newInput(""), s.newInput(lang.L("No due date")), s.newInput("")
	s.message.MultiLine, s.message.Wrapping = true, fyne.TextWrapWord
	s.message.SetMinRowsVisible(2)
	s.day = s.newButton("", fynetheme.CalendarIcon(), s.pickDay)
	s.day.Importance, s.day.Tip = widget.LowImportance, lang.L("Choose a day")
	s.nameField = widgets.NewField(lang.L("Package name"), s.name, "")
	s.due.OnFocusGained, s.due.OnFocusLost = func() { s.dueFocus(true) }, func() { s.dueFocus(false) }
	s.dueField = widgets.NewField(lang.L("Due date"), widgets.WithButton(s.due, s.day), "")
	s.filesField = widgets.NewField(lang.L("Documents, in signing order"), s.fileBox, "")
	s.peopleField = widgets.NewField(lang.L("Signers"), s.peopleBox, "")
	s.each = widgets.NewChoice([]widgets.Option{{Name: lang.L("All documents in one package")}, {Name: lang.L("A separate package for each document")}}, 0, func(int) { s.changed() }, nil)
	s.order = widgets.NewChoice([]widgets.Option{{Name: lang.L("In any order")}, {Name: lang.L("In the order shown")}}, 0, func(int) { s.showPeople(); s.changed() }, nil)
	s.add = s.newButton(lang.L("Add documents"), fynetheme.ContentAddIcon(), s.pickFiles)
	s.choose = s.newButton(lang.L("From a template…"), fynetheme.ListIcon(), s.ChooseTemplate)
	s.addPerson = s.newButton(lang.L("Add signer"), fynetheme.ContentAddIcon(), func() { s.addSigner(noSigner, true) })
	s.addCopy = s.newButton(lang.L("Add copy"), fynetheme.ContentAddIcon(), func() { s.copies.add() })
	s.addCopy.Importance, s.addCopy.Tip = widget.LowImportance, lang.L("Somebody who gets a copy and does not sign")
	s.copies = newCopies(s)
	s.sweep = s.newButton(lang.L("Remove what cannot be sent"), nil, s.removeWrong)
	s.clearing = s.newButton(lang.L("Clear form"), nil, s.Clear)
	s.clearing.Importance = widget.LowImportance
	s.deeds = widgets.Flow(8, s.add, s.choose, s.sweep)
	s.target, s.targetEdge = newTarget()
	s.heading = widgets.NewHeading(lang.L("New package"))
	s.bar = newBar(s)
	s.layOut()
	s.filling = true
	s.addSigner(noSigner, false)
	s.showFiles()
	s.fill(d.Office.Form())
	return s
}

func (s *Screen) layOut() {
	reference := widgets.NewField(lang.L("Reference"), s.reference, "")
	left := widgets.Stack(12, s.filesField, s.deeds, s.each, s.nameField, s.outbox)
	right := widgets.Stack(12, s.peopleField, widgets.Flow(8, s.addPerson, s.addCopy), s.order, s.copies.field,
		widgets.NewField(lang.L("Message to the signers"), s.message, ""), widgets.Halves(s.dueField, reference))
	columns := container.NewGridWithColumns(2)
	s.columns = columns
	for _, column := range []fyne.CanvasObject{left, right} {
		columns.Add(widgets.NewVScroll(widgets.PadHV(20, 4, column)))
	}
	s.filesColumn = columns.Objects[0]
	head := widgets.PadHV(20, 12, widgets.Tall(s.clearing.MinSize().Height, widgets.Across(nil, s.heading, s.clearing)))
	s.content = widgets.Between(head, s.bar.content, columns)
}

// layOutAnew makes room for rows that came or went. Fyne notices by itself that something has grown, but forgets it again
// where something else in the same column has changed its size beneath it.
func (s *Screen) layOutAnew() {
	if s.columns != nil {
		s.columns.Refresh()
	}
}

// Content is what the window shows.
func (s *Screen) Content() fyne.CanvasObject { return s.content }

// Focus puts the cursor where work goes on.
func (s *Screen) Focus() {
	if s.documentCount() > 0 && len(s.people) > 0 {
		s.env.Window.Canvas().Focus(s.people[0].first)
		return
	}
	s.env.Window.Canvas().Focus(s.add)
}

// news is what Reload reads.
type news struct {
	drafts []office.Draft
	people []office.Signer

	templates bool // the service may have some
}

// Reload reads what is still on its way and whom to suggest, beside the window's goroutine.
func (s *Screen) Reload() { s.reader.Ask() }

func (s *Screen) read(context.Context) (n news, err error) {
	if n.people, err = s.env.Office.People(); err != nil {
		return n, err
	}
	n.templates = s.env.Office.TemplatesOffered()
	n.drafts, err = s.env.Office.Drafts()
	return n, err
}

// show shows what was read. When it could not be read, what was there stays, and health says why; before, the screen does.
func (s *Screen) show(n news, err error) {
	if err != nil {
		if !s.loaded {
			widgets.Remake(s.outbox, widgets.Failure(i18n.Error(err), s.Reload))
		}
		return
	}
	s.known, s.loaded = n.people, true
	s.offerTemplates(n.templates)
	s.changed() // the settings may be others
	s.showOutbox(n.drafts)
}

// draft is what is typed, as the office takes it. Signers that are wholly empty are left out beside others.
func (s *Screen) draft() office.NewPackage {
	d := office.NewPackage{Name: typed(s.name), Message: typed(s.message), Sequential: s.sequential(), Corrects: s.corrects,
		Due: parseDue(s.days(), s.due.Text, s.env.Now()), ExternalData: externalData(typed(s.reference)), Template: s.basis.filled()}
	for _, doc := range s.docs {
		d.Files = append(d.Files, doc.path)
	}
	d.Signers = s.signers()
	d.Recipients, d.NoCopy = s.copies.own(), slices.Clone(s.copies.off)
	return d
}

// signers are the people who sign, as typed.
func (s *Screen) signers() (list []office.Signer) {
	for _, p := range s.signing() {
		list = append(list, p.signer())
	}
	return list
}

func (s *Screen) sequential() bool { return s.order.Chosen == 1 }

// separate says that every document becomes a package of its own.
func (s *Screen) separate() bool { return len(s.docs) > 1 && s.basis == nil && s.each.Chosen == 1 }

// signing are the people with anything typed.
func (s *Screen) signing() (people []*person) {
	for _, p := range s.people {
		if p.signer() != noSigner {
			people = append(people, p)
		}
	}
	return people
}

// changed updates the button, and the errors once the person has tried to send. A day that is over shows at once.
func (s *Screen) changed() {
	s.keep()
	if s.run != nil {
		return
	}
	d := s.draft()
	s.bar.offer(promise(s.documentCount(), d.Signers, s.separate()))
	s.nameField.Hidden = s.separate() // each is named after its document
	s.nameField.Refresh()
	s.hintDue(d.Due)
	w := s.check(d)
	s.copies.show()
	s.copies.judge(s.copies.recipients(d.Signers), w.copies, s.tried)
	if s.tried {
		s.showWrong(w)
		if b := s.bar; b.marks || w.any() {
			b.marked(w.any())
		}
	} else if !d.Due.IsZero() || s.due.Text == "" {
		s.dueField.Wrong(w.due)
	}
}

func (s *Screen) showWrong(w wrong) {
	s.copies.judge(s.copies.recipients(s.signers()), w.copies, true)
	s.filesField.Wrong(w.files)
	s.targetEdge.Outline(theme.Line)
	if w.files != "" {
		s.targetEdge.Outline(theme.Attention)
	}
	s.peopleField.Wrong(w.signers)
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
		s.people[0].mark(true, true)
	}
}
