// Package compose is the screen on which a package is put together and sent. What is typed stays until the service has
// accepted it. It hands a draft to the office and shows how that ends; it does not know how sending works.
package compose

import (
	"context"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/store"
	"countersign/ui/desk"
	"countersign/ui/widgets"
	"countersign/ui/work"
)

// Screen is the send screen. All methods belong to the window's goroutine.
type Screen struct {
	desk    *desk.Desk
	reader  *work.Reader[[]store.Draft]
	content fyne.CanvasObject

	files    []file
	people   []*person
	proposed string             // the name that was filled in by itself
	tried    bool               // the button was pressed: from now on errors show as they are typed
	cancel   context.CancelFunc // ends the sending that runs; nil while none does
	locked   bool
	refused  string // the draft that the office keeps of the last attempt; sending anew replaces it

	fileBox, peopleBox, outbox *fyne.Container
	filesField, peopleField    *widgets.Field
	name, message, due         *widgets.Entry
	nameField, dueField        *widgets.Field
	order                      *widget.RadioGroup
	add, addPerson             *widget.Button
	bar                        *bar
}

// New returns the screen with one empty signer.
func New(d *desk.Desk) *Screen {
	s := &Screen{desk: d, fileBox: widgets.Stack(4), peopleBox: widgets.Stack(8), outbox: container.NewStack()}
	s.reader = work.NewReader(d.Work, func(context.Context) []store.Draft { return d.Office.Drafts() }, s.showOutbox)
	s.name, s.message, s.due = widgets.NewEntry(""), widgets.NewText(3), widgets.NewEntry(lang.L("no date"))
	s.nameField = widgets.NewField(lang.L("Package name"), s.name, "")
	s.due.ActionItem = widget.NewButtonWithIcon("", theme.CalendarIcon(), s.pickDay)
	s.due.ActionItem.(*widget.Button).Importance = widget.LowImportance
	s.dueField = widgets.NewField(lang.L("To be signed by"), s.due, "")
	s.filesField = widgets.NewField(lang.L("Documents, in the order they are signed"), s.fileBox, "")
	s.peopleField = widgets.NewField(lang.L("People who sign"), s.peopleBox, "")
	all, inOrder := lang.L("All at once"), lang.L("One after the other")
	s.order = widget.NewRadioGroup([]string{all, inOrder}, func(string) { s.showPeople() })
	s.order.Required, s.order.Selected = true, all
	for _, e := range []*widgets.Entry{s.name, s.due} {
		e.OnChanged = func(string) { s.changed() }
		e.OnSubmitted = func(string) { s.Send() }
	}
	s.add = widget.NewButtonWithIcon(lang.L("Add documents"), theme.ContentAddIcon(), s.pickFiles)
	s.addPerson = widget.NewButtonWithIcon(lang.L("Add a person"), theme.ContentAddIcon(), func() { s.addSigner(store.Signer{}, true) })
	s.bar = newBar(s.Send, s.Stop)
	left := widgets.Stack(12, s.filesField, container.NewHBox(s.add), s.nameField,
		widgets.NewField(lang.L("Message to the signers"), s.message, ""), s.dueField)
	right := widgets.Stack(12, s.peopleField, container.NewHBox(s.addPerson), s.order, s.outbox)
	columns := container.NewGridWithColumns(2,
		container.NewVScroll(widgets.PadHV(20, 4, left)), container.NewVScroll(widgets.PadHV(20, 4, right)))
	head := widgets.PadHV(20, 16, widgets.NewHeading(lang.L("New package")))
	s.content = container.NewBorder(head, s.bar.content, nil, nil, columns)
	s.addSigner(store.Signer{}, false)
	s.showFiles()
	return s
}

// Content is what the window shows.
func (s *Screen) Content() fyne.CanvasObject { return s.content }

// Add looks at files and adds them; those that cannot be sent are shown with the reason.
func (s *Screen) Add(paths []string) {
	if len(paths) == 0 {
		return
	}
	if s.cancel != nil {
		s.desk.Notice(lang.L("A package is on its way. Add files when it is sent."))
		return
	}
	work.Then(s.desk.Work, func(context.Context) ([]file, error) { return inspect(paths), nil }, func(files []file, _ error) {
		s.files = merge(s.files, files)
		s.filesChanged()
	})
}

// Focus puts the cursor where work goes on.
func (s *Screen) Focus() {
	if len(s.files) > 0 && len(s.people) > 0 {
		s.desk.Window.Canvas().Focus(s.people[0].first)
		return
	}
	s.desk.Window.Canvas().Focus(s.add)
}

// Reload shows what is still on its way, beside the window's goroutine.
func (s *Screen) Reload() { s.reader.Ask() }

// filesChanged proposes a name until the person has typed another one.
func (s *Screen) filesChanged() {
	if s.name.Text == "" || s.name.Text == s.proposed {
		s.proposed = proposedName(s.files)
		s.name.SetText(s.proposed)
	}
	s.showFiles()
	s.changed()
}

// draft is what is typed, as the office takes it. Signers that are wholly empty are left out beside others.
func (s *Screen) draft() agent.Draft {
	d := agent.Draft{Name: strings.TrimSpace(s.name.Text), Message: strings.TrimSpace(s.message.Text),
		Sequential: s.sequential(), Due: parseDue(s.due.Text, s.desk.Now().Location())}
	for _, f := range s.files {
		d.Files = append(d.Files, f.path)
	}
	for _, p := range s.signing() {
		d.Signers = append(d.Signers, p.signer())
	}
	return d
}

func (s *Screen) sequential() bool { return s.order.Selected == s.order.Options[1] }

// signing are the people with anything typed.
func (s *Screen) signing() (people []*person) {
	for _, p := range s.people {
		if p.signer() != (store.Signer{}) {
			people = append(people, p)
		}
	}
	return people
}

// changed updates the button, and the errors once the person has tried to send.
func (s *Screen) changed() {
	d := s.draft()
	s.bar.offer(promise(s.files, d.Signers))
	if s.tried {
		s.showWrong(check(s.files, d, s.due.Text, s.desk.Now()))
	}
}

func (s *Screen) showWrong(w wrong) {
	s.filesField.Wrong(w.files)
	s.peopleField.Wrong(w.signers)
	s.nameField.Wrong(w.name)
	s.dueField.Wrong(w.due)
	for _, p := range s.people {
		p.wrong("")
	}
	for i, p := range s.signing() {
		if i < len(w.signer) {
			p.wrong(w.signer[i])
		}
	}
}

// Fill shows a draft, for example to send a package again. Files are added with Add.
func (s *Screen) Fill(d agent.Draft) {
	s.order.SetSelected(s.order.Options[0])
	if d.Sequential {
		s.order.SetSelected(s.order.Options[1])
	}
	if d.Name != "" {
		s.name.SetText(d.Name)
	}
	s.message.SetText(d.Message)
	if !d.Due.IsZero() {
		s.due.SetText(d.Due.In(s.desk.Now().Location()).Format("2006-01-02"))
	}
	if len(d.Signers) > 0 {
		s.people = nil
		for _, signer := range d.Signers {
			s.addSigner(signer, false)
		}
	}
}
