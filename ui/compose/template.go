package compose

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/i18n"
	"countersign/ui/outbox"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// basis is the template from which the package is made, with the rows of its content.
type basis struct {
	template  office.Template // as chosen
	head      fyne.CanvasObject
	drop      *widgets.Button // removes the template
	originals []*original
}

// original is a document of the template. A file can replace it; its fields stay.
type original struct {
	screen  *Screen
	own     office.TemplateDocument
	instead *document // the file replacing it; nil for the template's own
	entries []*widgets.Entry
	edge    *widgets.Back
	swap    *widgets.Button
	row     fyne.CanvasObject
	body    *fyne.Container // its line, or the replacement
	line    fyne.CanvasObject
}

// UseTemplate makes the package from a template: its documents come first, its roles become rows for people. People already typed
// take the roles without a person, in order.
func (s *Screen) UseTemplate(t office.Template) {
	if s.busy() {
		return
	}
	before, docs := s.form(), s.docs
	typed := s.withoutTemplate()
	if s.message.Text == "" {
		s.message.SetText(t.Message)
	}
	s.order.SetChecked(t.Sequential)
	s.setBasis(&t)
	signers := t.Signers()
	for i := range signers {
		if x := &signers[i]; x.Email == "" && len(typed) > 0 {
			x.FirstName, x.LastName, x.Email = typed[0].FirstName, typed[0].LastName, typed[0].Email
			typed = typed[1:]
		}
	}
	for _, r := range t.Recipients() {
		if named := slices.Concat(s.copies.standing(), s.copies.own()); !slices.ContainsFunc(named, func(x office.Recipient) bool { return x.Same(r.Email) }) {
			s.copies.added = append(s.copies.added, s.copies.newCopy(r))
		}
	}
	s.setPeople(append(signers, typed...))
	if !before.Empty() {
		s.offerBack(lang.L("The form now uses the template “{{.Template}}”.", i18n.V{"Template": t.Name}), before, docs)
	}
	at := max(0, slices.IndexFunc(s.people, (*person).blank)) // the first without input
	widgets.Focus(s.env.Window.Canvas(), s.people[at].first)
}

// setPeople sets the signers, or one empty one.
func (s *Screen) setPeople(signers []office.Signer) {
	if len(signers) == 0 {
		signers = []office.Signer{noSigner}
	}
	s.people = nil
	for _, signer := range signers {
		s.people = append(s.people, s.newPerson(signer))
	}
	s.showPeople()
	s.filesChanged()
}

// withoutTemplate removes the template with everything it added, and returns the people typed.
func (s *Screen) withoutTemplate() (typed []office.Signer) {
	for _, p := range s.people {
		if p.blank() {
			continue
		}
		signer := p.signer()
		if s.basis != nil && slices.Contains(s.basis.template.Signers(), signer) {
			continue // named by the template
		}
		signer.Role, signer.RoleID = "", ""
		typed = append(typed, signer)
	}
	if s.basis != nil {
		if s.message.Text == s.basis.template.Message {
			s.message.SetText("")
		}
		named := s.basis.template.Recipients()
		s.copies.added = slices.DeleteFunc(s.copies.added, func(row *copyTo) bool { return slices.Contains(named, row.recipient()) })
	}
	s.setBasis(nil)
	return typed
}

// dropTemplate continues without the template; added files and people stay.
func (s *Screen) dropTemplate() {
	before, docs, name := s.form(), s.docs, s.basis.template.Name
	s.setPeople(s.withoutTemplate())
	s.offerBack(lang.L("“{{.Name}}” was removed.", i18n.V{"Name": name}), before, docs)
	widgets.Focus(s.env.Window.Canvas(), s.choose)
}

// setBasis shows a template's content, nil for none, with what is filled in.
func (s *Screen) setBasis(t *office.Template) {
	s.basis = nil
	if t == nil {
		return
	}
	b := &basis{template: *t.Clone()}
	name := widgets.NewFullName(lang.L("Template “{{.Template}}”", i18n.V{"Template": t.Name}))
	name.Bold = true
	b.drop = s.newButton("", fynetheme.DeleteIcon(), s.dropTemplate)
	b.drop.Importance, b.drop.Tip = widget.LowImportance, lang.L("Do without the template")
	b.head = widgets.Across(nil, name, b.drop)
	s.basis = b
	var fresh []*document
	for i := range b.template.Documents {
		o := s.newOriginal(b.template.Documents[i])
		b.originals = append(b.originals, o)
		if o.own.File != "" {
			o.replace(o.own.File)
			fresh = append(fresh, o.instead)
		}
		b.template.Documents[i].File, b.template.Documents[i].Data = "", nil
	}
	s.inspect(fresh)
}

func (s *Screen) newOriginal(own office.TemplateDocument) *original {
	o := &original{screen: s, own: own, body: container.NewStack()}
	icon := container.NewCenter(widgets.Mark(24, widget.NewIcon(fynetheme.NewColoredResource(fynetheme.DocumentIcon(), theme.Secondary))))
	called := cmp.Or(own.DisplayName(), lang.L("Document of the template"))
	name := widgets.NewFullName(called)
	o.swap = s.newButton(lang.L("Replace…"), nil, func() {
		browse.Instead(s.env, s.folder, lang.L("Replace “{{.Document}}”", i18n.V{"Document": called}), o.picked)
	}).Quiet()
	o.swap.Hidden = own.ID == "" && own.Name == "" // it could not be identified to the service
	o.line = widgets.Across(container.NewGridWrap(pictureSize, icon), widgets.Stack(2, name, widgets.NewCaption(lang.L("from the template"))), o.swap)
	parts := []fyne.CanvasObject{o.body}
	if fields := o.newFields(); len(fields) > 0 {
		parts = append(parts, widgets.PadHV(4, 2, widgets.Stack(6, fields...)))
	}
	o.row, o.edge = tightCard(widgets.Stack(4, parts...))
	return o
}

// newFields are the document's fields, two one-line fields side by side.
func (o *original) newFields() (rows []fyne.CanvasObject) {
	var half fyne.CanvasObject
	for _, f := range o.own.Fields {
		e := o.screen.newInput("")
		value, given := o.own.Data[f.ID]
		if !given {
			value = f.Value
		}
		e.Text = value
		o.entries = append(o.entries, e)
		field := widgets.NewField(f.DisplayName(), e, "")
		if f.Multiline {
			e.MultiLine, e.Wrapping = true, fyne.TextWrapWord
			e.SetMinRowsVisible(2)
		}
		switch {
		case f.Multiline:
			if half != nil {
				rows, half = append(rows, half), nil
			}
			rows = append(rows, field)
		case half != nil:
			rows, half = append(rows, widgets.Halves(half, field)), nil
		default:
			half = field
		}
	}
	if half != nil {
		rows = append(rows, half)
	}
	return rows
}

func (o *original) picked(path string) {
	o.screen.folder = filepath.Dir(path)
	o.Replace(path)
}

// Replace replaces the document with a file, of which it makes a copy as unfold does, and examines it.
func (o *original) Replace(path string) {
	s := o.screen
	async.Then(s.env.Work, func(ctx context.Context) (string, error) { return s.office.NewDelivery().Keep(ctx, path), nil }, func(kept string, _ error) {
		if s.busy() || s.basis == nil || !slices.Contains(s.basis.originals, o) {
			return
		}
		o.replace(kept)
		s.filesChanged()
		s.inspect([]*document{o.instead})
		widgets.Focus(s.env.Window.Canvas(), o.instead.remove)
	})
}

func (o *original) replace(path string) {
	o.instead = o.screen.newDocument(path)
	o.instead.original = o
	o.instead.remove.Tip = lang.L("Use the template's document again")
}

func (o *original) restore() {
	o.instead = nil
	o.screen.filesChanged()
	widgets.Focus(o.screen.env.Window.Canvas(), o.swap)
}

// show updates the row.
func (o *original) show() {
	if o.instead == nil {
		widgets.Remake(o.body, o.line)
	} else {
		o.instead.show(false)
		label := widgets.NewCaption(lang.L("In place of “{{.Document}}”", i18n.V{"Document": o.own.DisplayName()}))
		widgets.Remake(o.body, widgets.Stack(4, label, o.instead.row))
	}
	o.row.Refresh()
}

func (o *original) filled() office.TemplateDocument {
	d := o.own
	d.File, d.Data = "", nil
	if o.instead != nil {
		d.File = o.instead.path
	}
	for i, f := range d.Fields {
		if text := o.entries[i].Text; text != f.Value {
			if d.Data == nil {
				d.Data = map[string]string{}
			}
			d.Data[f.ID] = text
		}
	}
	return d
}

// filled returns the template with the input, nil for none.
func (b *basis) filled() *office.Template {
	if b == nil {
		return nil
	}
	t := b.template.Clone()
	for i, o := range b.originals {
		t.Documents[i] = o.filled()
	}
	return t
}

// show updates the rows of the template's content.
func (b *basis) show() (rows []fyne.CanvasObject) {
	if b == nil {
		return nil
	}
	rows = append(rows, b.head)
	for _, o := range b.originals {
		o.show()
		rows = append(rows, o.row)
	}
	return rows
}

// files returns all files in sending order: those replacing a template's document come first.
func (s *Screen) files() (list []*document) {
	if s.basis != nil {
		for _, o := range s.basis.originals {
			if o.instead != nil {
				list = append(list, o.instead)
			}
		}
	}
	return append(list, s.docs...)
}

func (s *Screen) documentCount() int {
	n := len(s.docs)
	if s.basis != nil {
		n += len(s.basis.originals)
	}
	return n
}

// Drop adds files dropped at a position, as Landing says: one dropped on a document of the template replaces it. The window's corner
// means no position; see window.OnDropped.
func (s *Screen) Drop(paths []string, at fyne.Position) {
	if s.closeList() { // the form shows the result
		at = fyne.Position{}
	}
	if o := s.originalAt(at); o != nil && len(paths) == 1 {
		o.Replace(paths[0])
		return
	}
	if at.IsZero() {
		s.Add(paths)
		return
	}
	s.addAt(paths, s.dropIndex(at))
}

func (s *Screen) originalAt(at fyne.Position) *original {
	if s.basis == nil || !s.content.Visible() {
		return nil
	}
	driver := fyne.CurrentApp().Driver()
	for _, o := range s.basis.originals {
		from, size := driver.AbsolutePositionForObject(o.row), o.row.Size()
		if !o.swap.Hidden && at.X >= from.X && at.Y >= from.Y && at.X < from.X+size.Width && at.Y < from.Y+size.Height {
			return o
		}
	}
	return nil
}

// formOf returns a draft as input. A past due date is left out, and people are told.
func (s *Screen) formOf(d office.NewPackage) office.Form {
	f := office.Form{Name: d.Name, Message: d.Message, Reference: office.ReferenceIn(d.ExternalData), External: d.ExternalData, Sequential: d.Sequential, Corrects: d.Corrects,
		Template: d.Template, Files: asFiles(d.Files), Signers: d.Signers, Recipients: d.Recipients, NoCopy: d.NoCopy}
	switch now := s.env.Now(); {
	case d.Due.After(now):
		f.Due = d.Due.In(now.Location()).Format(time.DateOnly)
	case !d.Due.IsZero():
		s.env.Notice(lang.L("The due date {{.Date}} has passed. Choose a new one.", i18n.V{"Date": s.days().Write(d.Due.In(now.Location()))}))
	}
	return f
}

// correct marks the form as a new version of the package with that id, which it replaces; empty for none.
func (s *Screen) correct(packageID string) {
	s.corrects = packageID
	text := lang.L("New package")
	if packageID != "" {
		text = lang.L("Corrected package")
	}
	s.heading.Set(text)
}

// Like starts a new package with a draft's people, order, message, reference and files, for example that of a package already sent.
// It asks before replacing input. begun, which may be nil, is called once the form is filled in.
func (s *Screen) Like(d office.NewPackage, begun func()) {
	s.replace(func() {
		f := s.formOf(d)
		if d.Corrects == "" {
			f.External = nil // a program's data is of one package; its reference is shown
		}
		s.begin(f)
		if begun != nil {
			begun()
		}
	})
}

// begin replaces the input with a form. docs are those of its documents of which there are pictures.
func (s *Screen) begin(f office.Form, docs ...*document) {
	s.closeList()
	s.clear()
	s.docs = slices.DeleteFunc(docs, func(d *document) bool { return d.original != nil })
	s.Fill(f)
	s.Focus()
}

// Edit opens a draft that was not accepted, with its documents, to change it and send it in its place.
func (s *Screen) Edit(kept office.Draft) {
	outbox.Again(s.env, s.office, kept.ID, func(d office.NewPackage) {
		s.replace(func() {
			f := s.formOf(d)
			f.Replaces = kept.ID
			s.begin(f)
		})
	})
}

// replace runs fill, first asking if it would replace input, but not what is being sent, which may be refused.
func (s *Screen) replace(fill func()) {
	once := func() {
		if !s.busy() {
			fill()
		}
	}
	if s.handing != nil || s.form().Empty() {
		once()
		return
	}
	var facts []string
	if name := s.name.Typed(); name != "" {
		facts = append(facts, name)
	}
	if n := s.documentCount(); n > 0 {
		facts = append(facts, i18n.Documents(n))
	}
	if n := len(s.signers()); n > 0 {
		facts = append(facts, i18n.People(n))
	}
	text := lang.L("What you entered under “Send” will be deleted.")
	if len(facts) > 0 {
		text = lang.L("What you entered under “Send” will be deleted: {{.What}}.", i18n.V{"What": strings.Join(facts, " · ")})
	}
	widgets.Ask(s.env.Window.Canvas(), widgets.Question{Title: lang.L("Start over?"), Text: text,
		Safe: lang.L("Keep what you entered"), Do: lang.L("Start over"), OnDo: once})
}

// pickFiles opens the file dialog in the folder used last.
func (s *Screen) pickFiles() {
	browse.Files(s.env, s.folder, func(paths []string) {
		s.folder = filepath.Dir(paths[len(paths)-1])
		s.Add(paths)
	})
}
