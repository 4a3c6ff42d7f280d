package compose

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/day"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/outbox"
	"countersign/ui/widgets"
)

// Send validates the input and passes it to the office, which sends it some seconds later unless that is undone, even if the program
// ends in between. Errors show next to their fields, and nothing is sent. What the office has accepted is in the outbox, above the
// packages, and the form is free for the next one.
func (s *Screen) Send() { s.send(false) }

// send sends also if fields of the template are empty, once a person has said so.
func (s *Screen) send(emptyFields bool) {
	if s.handing != nil {
		return
	}
	if p := s.lists.panel; p != nil {
		if !p.bar.send.Hidden && !p.bar.send.Disabled() {
			p.send()
		}
		return
	}
	if s.lists.draft.Path != "" {
		if len(s.wrongFiles()) > 0 { // each says why
			s.env.Notice(lang.L("The marked documents cannot be sent."))
			widgets.Focus(s.env.Window.Canvas(), s.sweep)
			return
		}
		s.openList(s.lists.draft)
		return
	}
	s.tried = true
	d := s.draft()
	d.EmptyFields = emptyFields
	if w := s.check(d); w.any() {
		s.showWrong(w)
		s.bar.marked(true)
		s.focusWrong(w)
		return
	}
	s.showWrong(wrong{})
	if empty := d.Template.EmptyFields(); len(empty) > 0 && !emptyFields {
		widgets.Ask(s.env.Window.Canvas(), widgets.Question{Title: lang.N("{{.PluralCount}} fields of the template are empty", len(empty)), Text: i18n.Names(empty),
			Safe: lang.L("Fill them in"), Do: lang.L("Send anyway"), OnDo: func() { s.send(true) }})
		return
	}
	s.hand(d)
}

// handing is one press of the button: the input, as one package or one for each document, until the last has ended.
type handing struct {
	typed   office.Form
	people  int
	parcels []*parcel
	unseen  []*document // those that were still loading when it was pressed
	passed  bool        // given to the office
	taken   time.Time   // when the office accepted the first of them
	begun   func()      // ends the undo offer; nil before there is one
}

// parcel is one package: all documents together, or one of them.
type parcel struct {
	draft office.NewPackage
	docs  []*document
	id    string // id of the office's draft; empty before the office has it
	taken bool   // accepted by the office
	ended bool
	state office.SendState
	wrong string // why the office refused it
}

// hand passes the input to the office. The form does not change until the office has all of it, because it copies the documents.
func (s *Screen) hand(d office.NewPackage) {
	d.Undo = widgets.UndoTime
	h := &handing{typed: s.form(), people: len(d.Signers), parcels: pack(s.files(), d, s.separate())}
	if s.replaces != "" {
		h.parcels[0].draft.Replaces = []string{s.replaces}
	}
	for _, p := range h.parcels {
		h.unseen = append(h.unseen, slices.DeleteFunc(slices.Clone(p.docs), func(d *document) bool { return d.looked })...)
	}
	s.handing = h
	s.enable(false)
	s.pass()
}

// pass gives the office what was pressed once its documents are loaded. If one of them cannot be sent, or has something to say first,
// nothing is.
func (s *Screen) pass() {
	h := s.handing
	if h == nil || h.passed {
		return
	}
	any := func(is func(*document) bool) bool {
		return slices.ContainsFunc(h.parcels, func(p *parcel) bool { return slices.ContainsFunc(p.docs, is) })
	}
	switch {
	case any((*document).unsendable):
		s.release()
		s.env.Notice(lang.L("The marked documents cannot be sent."))
		return
	case any(func(d *document) bool { return d.looked && !d.info.Warning.IsZero() && slices.Contains(h.unseen, d) }):
		s.release()
		s.env.Notice(lang.L("Read the notes beside the documents, then send again."))
		return
	case any(func(d *document) bool { return !d.looked }):
		s.bar.tell(lang.L("Sending begins as soon as the documents are loaded."), false)
		widgets.Show(s.cancel, true)
		return
	}
	widgets.Show(s.cancel, false)
	h.passed = true
	s.bar.tell(lang.L("Sending…"), false)
	for _, p := range h.parcels {
		async.Then(s.env.Work, func(ctx context.Context) (office.SendState, error) {
			var told office.SendState
			return s.office.Send(ctx, p.draft, func(state office.SendState) {
				if state.State != told.State || state.Undo != told.Undo || state.Sent < told.Sent || state.Sent-told.Sent >= state.Total/100 { // at most a hundred updates
					told = state
					s.env.Work.Do(func() { s.progress(h, p, state) })
				}
			})
		}, func(state office.SendState, err error) { s.arrived(h, p, state, err) })
	}
}

// release frees the form before the office has any of it; Cancel may be pressed just after that.
func (s *Screen) release() {
	if s.handing == nil || s.handing.passed {
		return
	}
	defer s.free()()
	widgets.Show(s.cancel, false)
	s.bar.say("")
	s.changed()
}

// free ends what is being sent, and returns what to call once the form shows that: it runs what waits.
func (s *Screen) free() (over func()) {
	after := s.after
	s.handing, s.after = nil, nil
	s.enable(true)
	return func() {
		for _, do := range after {
			do()
		}
	}
}

// afterwards runs what would take the place of what is being sent, or go with it.
func (s *Screen) afterwards(do func()) {
	if s.handing != nil {
		s.after = append(s.after, do)
		return
	}
	do()
}

func (s *Screen) enable(enabled bool) {
	widgets.EnableAll(s.columns, enabled)
	widgets.Enable(s.bar.send, enabled)
	widgets.Enable(s.clearing, enabled)
}

func (s *Screen) progress(h *handing, p *parcel, state office.SendState) {
	if p.ended {
		return
	}
	p.state, p.id = state, state.DraftID
	if !p.taken {
		s.take(h, p)
	}
	if !state.Undo && h.begun != nil {
		h.begun()
	}
	s.OnSending(state)
}

// arrived handles the outcome of a parcel. What the office refused stays in the form, with the reason.
func (s *Screen) arrived(h *handing, p *parcel, state office.SendState, err error) {
	p.state, p.ended, p.id = state, true, cmp.Or(p.id, state.DraftID)
	if !p.taken && err != nil && state.DraftID == "" {
		p.wrong = i18n.Error(err)
		s.handed(h)
	} else if !p.taken {
		s.take(h, p)
	}
	switch told := state.State == office.DraftUnknown || state.State == office.DraftFailed; {
	case told && state.Problem == message.MayNotSend(): // as health says
	case told && !state.Problem.IsZero():
		s.env.Notice(i18n.Message(state.Problem))
	case state.State == office.DraftUnknown:
		s.env.Notice(i18n.Message(message.OutcomeUnknown(p.draft.Name)))
	case told:
		s.env.Notice(lang.L("The signing service did not accept the package."))
	}
	s.OnSending(state)
	s.tell(h)
	s.Reload() // its signers are suggestions now
}

// take removes from the form what the office has accepted, so that it is not sent twice.
func (s *Screen) take(h *handing, p *parcel) {
	if p.taken = true; len(p.draft.Replaces) > 0 {
		s.replaces = "" // the rest would replace this one
	}
	if h.taken.IsZero() {
		h.taken = s.env.Now()
	}
	s.docs = slices.DeleteFunc(s.docs, func(d *document) bool { return slices.Contains(p.docs, d) })
	s.keep()
	s.handed(h)
}

// handed frees the form once the office has everything it accepts, and the list shows that.
func (s *Screen) handed(h *handing) {
	waits := func(p *parcel) bool { return !p.taken && p.wrong == "" }
	if s.handing == h && !slices.ContainsFunc(h.parcels, waits) {
		s.List(func() { s.finish(h) })
	}
}

// finish clears the form for the next package, and offers to undo. Who has gone to another screen stays there.
func (s *Screen) finish(h *handing) {
	defer s.free()()
	left, wrong := s.docs, ""
	for _, p := range h.parcels {
		for _, doc := range p.docs {
			doc.refused = ""
			if len(h.parcels) > 1 {
				doc.refused = p.wrong
			}
		}
		wrong = cmp.Or(wrong, p.wrong)
	}
	if wrong == "" {
		s.clear()
		s.docs = left
	}
	s.filesChanged()
	s.bar.say(wrong)
	var names []string
	var named []*parcel
	for _, p := range h.parcels {
		if p.taken && p.state.Undo { // the list may have taken longer than the time to undo
			names, named = append(names, i18n.Title(p.draft.Name)), append(named, p)
		}
	}
	if len(names) > 0 {
		h.begun = s.env.Soon(env.Undoable{
			Says: outbox.Sending(names), Undone: func() { s.takeBack(h.typed, named) }, Since: h.taken,
		})
	}
	if p := h.parcels[0]; p.id != "" && s.content.Visible() {
		s.env.Go.ShowPackage(cmp.Or(p.state.PackageID, outbox.RowID(p.id)))
	}
}

// takeBack returns what was sent to the form if there is still time. If there is other input by now, or a refused document is left,
// it stays in the outbox for a person to decide. Until the form has it, it is there, too: nothing is lost in between.
func (s *Screen) takeBack(f office.Form, sent []*parcel) {
	var back []*parcel
	late := false
	s.env.Attempt(func(context.Context) (err error) {
		for _, p := range sent {
			inTime, e := s.office.Stop(p.id)
			late = late || !inTime && e == nil
			if err = errors.Join(err, e); inTime {
				back = append(back, p)
			}
		}
		return err
	}, func() {
		if late {
			s.env.Notice(outbox.TooLate())
		}
		switch {
		case len(back) == 0:
		case s.handing != nil || !s.form().Empty():
			s.env.Go.ShowPackage(outbox.RowID(back[0].id))
		default:
			var docs []*document
			for _, p := range back {
				docs = append(docs, p.docs...)
			}
			gone := func(x office.FormFile) bool {
				return !slices.ContainsFunc(back, func(p *parcel) bool { return slices.Contains(p.draft.Files, x.Path) })
			}
			f.Files = slices.DeleteFunc(slices.Clone(f.Files), gone)
			s.begin(f, docs...)
			s.env.Go.ShowCompose()
			s.env.Attempt(func(context.Context) error {
				_, err := async.Each(back, func(p *parcel) (bool, error) { return s.office.Cancel(p.id) })
				return err
			}, nil)
		}
	})
}

// tell says in one sentence that packages were sent, once all have ended.
func (s *Screen) tell(h *handing) {
	var sent []*parcel
	for _, p := range h.parcels {
		if !p.ended {
			return
		}
		if p.state.State == office.DraftSent {
			sent = append(sent, p)
		}
	}
	all := len(h.parcels)
	switch name := h.parcels[0].draft.Name; {
	case len(sent) == all:
		s.present(sent[0].state.PackageID, name, sentText(name, all, h.people))
	case len(sent) > 0:
		s.env.Notice(lang.L("{{.Sent}} of {{.Packages}} sent. The reason is shown next to each of the others.", i18n.V{"Sent": len(sent), "Packages": packages(all)}))
	}
}

// present says that a package was sent. One that the service holds until its fields are placed is not sent yet; the packages screen
// offers the editor for that.
func (s *Screen) present(id, name, text string) {
	async.Then(s.env.Work, func(context.Context) (office.PackageState, error) {
		row, _, err := s.office.Package(id)
		return row.State, err
	}, func(state office.PackageState, err error) {
		if err != nil {
			text = i18n.Error(err) // only its page at the service says whether it was sent
		}
		if state.Unsent() {
			text = lang.L("“{{.Name}}” is not sent yet. Finish it in the browser by marking where each signer signs.", i18n.V{"Name": name})
		}
		s.env.Notice(text)
	})
}

func sentText(name string, all, people int) string {
	if all > 1 {
		return lang.L("{{.Packages}} were sent to {{.People}}.", i18n.V{"Packages": packages(all), "People": i18n.People(people)})
	}
	return lang.L("“{{.Name}}” was sent to {{.People}}.", i18n.V{"Name": name, "People": i18n.People(people)})
}

// pack makes parcels of a draft: one, or one for each document, which names it.
func pack(docs []*document, d office.NewPackage, each bool) (list []*parcel) {
	add := func(d office.NewPackage, docs ...*document) {
		p := &parcel{draft: d, docs: docs}
		p.draft.Files = nil
		for _, doc := range docs {
			if doc.original == nil { // otherwise the template defines its place
				p.draft.Files = append(p.draft.Files, doc.path)
			}
		}
		list = append(list, p)
	}
	if !each {
		add(d, docs...)
		return list
	}
	for _, doc := range docs {
		d.Name = proposedName(doc.path)
		add(d, doc)
	}
	return list
}

// wrong says what prevents sending a draft: a sentence for each field, empty if fine.
type wrong struct {
	files, signers, due, name string
	signer                    []wrongSigner // one for each signer
	copies                    []office.Code // one for each recipient
}

// wrongSigner says what is wrong with a signer's names, or otherwise the address; empty for nothing.
type wrongSigner struct {
	text string
	name bool
}

func (w wrong) any() bool {
	return w.files+w.signers+w.due+w.name != "" || cmp.Or(w.copies...) != "" || slices.ContainsFunc(w.signer, func(s wrongSigner) bool { return s.text != "" })
}

func (s *Screen) check(d office.NewPackage) wrong {
	d.Recipients = s.copies.recipients(d.Signers) // including default recipients
	return check(s.files(), d, s.separate(), s.due.Text, s.days(), s.env.Now())
}

// focusWrong puts the cursor at the first error.
func (s *Screen) focusWrong(w wrong) {
	var first fyne.Focusable
	field := s.filesField
	copied := s.copies.firstWrong()
	switch at := slices.IndexFunc(w.signer, func(s wrongSigner) bool { return s.text != "" }); {
	case w.files != "" && !s.sweep.Hidden:
		first = s.sweep
	case w.files != "":
		first = s.adder()
	case w.name != "":
		first, field = s.name, s.nameField
	case w.signers != "":
		first, field = s.people[0].first, s.people[0].field
	case at >= 0 && w.signer[at].name:
		first, field = s.signing()[at].first, s.signing()[at].field
	case at >= 0:
		first, field = s.signing()[at].email, s.signing()[at].field
	case copied >= 0:
		first, field = s.copies.added[copied].entry, s.copies.added[copied].field
	default:
		first, field = s.due, s.dueField
	}
	widgets.Focus(s.env.Window.Canvas(), first)
	widgets.ScrollTo(field) // even if it is focused already
}

// check validates the input. due is the text of the date field, which d has as a time; each says that every document becomes its own
// package with its own name.
func check(docs []*document, d office.NewPackage, each bool, due string, days day.Style, now time.Time) wrong {
	w := wrong{signer: make([]wrongSigner, len(d.Signers)), copies: office.CheckCopies(d.Recipients, d.Signers)}
	switch {
	case len(docs) == 0 && d.Template.Empty():
		w.files = lang.L("Add at least one document.")
	case slices.ContainsFunc(docs, (*document).unsendable):
		w.files = lang.L("The marked documents cannot be sent.")
	}
	if strings.TrimSpace(d.Name) == "" && (len(docs) > 0 || d.Template != nil) && !each {
		w.name = lang.L("Give the package a name.")
	}
	if len(d.Signers) == 0 {
		w.signers = noSigners()
	}
	seen := map[string]bool{}
	for i, s := range d.Signers {
		mail := strings.ToLower(s.Email)
		switch {
		case s.FirstName == "" && s.LastName == "":
			w.signer[i] = wrongSigner{lang.L("Enter a name."), true}
		case s.Email == "":
			w.signer[i] = wrongSigner{text: lang.L("Enter an e-mail address.")}
		case !office.IsAddress(s.Email):
			w.signer[i] = wrongSigner{text: lang.L("This is not an e-mail address.")}
		case seen[mail]:
			w.signer[i] = wrongSigner{text: lang.L("This e-mail address is already in the list.")}
		}
		seen[mail] = true
	}
	switch {
	case due != "" && d.Due.IsZero():
		w.due = lang.L("Enter a date, for example {{.Date}}.", i18n.V{"Date": example(days, now)})
	case office.DuePassed(d.Due, now):
		w.due = lang.L("This date has passed.")
	}
	return w
}

func noSigners() string { return lang.L("Add at least one signer.") }

// proposedName turns a file name into a package name: no ending, no underscores.
func proposedName(path string) string {
	name := filepath.Base(path)
	name = strings.TrimSuffix(name, filepath.Ext(name))
	return strings.Join(strings.Fields(strings.ReplaceAll(name, "_", " ")), " ")
}

// externalData is what a program gave, with a person's reference in it, which Package.Reference reads.
func externalData(reference string, given json.RawMessage) json.RawMessage {
	if reference == office.ReferenceIn(given) {
		return given
	}
	members := office.ExternalMembers(given)
	if members == nil {
		members = map[string]json.RawMessage{}
	}
	delete(members, "reference")
	if reference != "" {
		members["reference"], _ = json.Marshal(reference) // a string can always be encoded
	}
	if len(members) == 0 {
		return nil
	}
	data, _ := json.Marshal(members) // what was read can be encoded
	return data
}

// promise is the button's text: what pressing it will do.
func promise(documents int, signers []office.Signer, each bool) string {
	if documents == 0 || len(signers) == 0 {
		return lang.L("Send")
	}
	if each {
		return lang.L("Send {{.Packages}} to {{.People}}", i18n.V{"Packages": packages(documents), "People": i18n.People(len(signers))})
	}
	return lang.L("Send {{.Documents}} to {{.People}}", i18n.V{"Documents": i18n.Documents(documents), "People": i18n.People(len(signers))})
}

// packages returns "1 package", "2 packages"; pages does the same for pages.
func packages(n int) string { return lang.N("{{.PluralCount}} packages", n) }

func pages(n int) string { return lang.N("{{.PluralCount}} pages", n) }
