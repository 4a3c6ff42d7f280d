package compose

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/day"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/outbox"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// Send checks what is typed and hands it to the office, which sends it some seconds later if nobody takes it back, also when the
// program ends in between. What is wrong shows beside its field, and nothing is sent.
func (s *Screen) Send() {
	if s.run != nil {
		return
	}
	s.tried = true
	d := s.draft()
	if w := s.check(d); w.any() {
		s.showWrong(w)
		s.bar.marked(true)
		s.focusWrong(w)
		return
	}
	s.showWrong(wrong{})
	if empty := d.Template.EmptyFields(); len(empty) > 0 {
		widgets.Ask(s.env.Window.Canvas(), widgets.Question{Title: lang.L("Some fields are empty"), Text: i18n.Message(message.TemplateFieldsEmpty(empty)),
			Safe: lang.L("Fill them in"), Do: lang.L("Send anyway"), OnDo: func() {
				if s.run == nil {
					d.EmptyFields = true
					s.launch(d)
				}
			}})
		return
	}
	s.launch(d)
}

func (s *Screen) launch(d office.NewPackage) {
	d.Undo = widgets.UndoTime
	r := &run{parcels: pack(s.files(), d, s.separate()), began: s.env.Now()}
	if s.basis != nil && s.basis.refused != "" {
		r.parcels[0].draft.Replaces = append(r.parcels[0].draft.Replaces, s.basis.refused)
	}
	s.run, r.open = r, len(r.parcels)
	for _, doc := range s.files() {
		doc.refused = ""
	}
	s.lock(true)
	s.bar.wait()
	s.keep()
	for _, p := range r.parcels {
		r.cancel = append(r.cancel, s.hand(r, p))
	}
}

// offerUndo offers to take a run back once the office has all of it.
func (s *Screen) offerUndo(r *run) {
	if r.offered || s.run != r || !r.stored() {
		return
	}
	r.offered = true
	s.env.Soon(env.Undoable{
		Says: func(seconds int) string { return lang.N("Sending in {{.PluralCount}} seconds", seconds) },
		Undone: func() { // it is something typed again
			if s.run == r {
				s.Stop()
			}
			s.env.Go.ShowCompose()
		},
	})
}

// begun shows that what can no longer be undone is on its way, or why nothing moves: while nobody is signed in.
func (s *Screen) begun(r *run) {
	if r.going {
		return
	}
	r.going = true
	s.bar.begin()
	async.Then(s.env.Work, func(context.Context) (agent.Status, error) { return s.office.Status() }, func(now agent.Status, _ error) {
		if !now.SignedIn && s.run == r { // which is known from memory
			s.bar.progress(-1, lang.L("You are not signed in. The package will be sent after you sign in."))
		}
	})
}

func (s *Screen) hand(r *run, p *parcel) context.CancelFunc {
	newest := &async.Newest[office.SendState]{}
	return async.Then(s.env.Work, func(ctx context.Context) (office.SendState, error) {
		return s.office.Send(ctx, p.draft, func(state office.SendState) {
			if newest.Put(state) {
				s.env.Work.Do(func() { s.progress(r, p, newest.Take()) })
			}
		})
	}, func(state office.SendState, err error) { s.arrived(r, p, state, err) })
}

func (s *Screen) progress(r *run, p *parcel, state office.SendState) {
	if s.run != r || p.fate != onItsWay {
		return
	}
	stored := p.state.DraftID == "" && state.DraftID != ""
	if p.state = state; stored {
		s.keep()
	}
	if state.Undo {
		s.offerUndo(r)
		return
	}
	s.begun(r)
	if done, total := r.amounts(); total > 0 && !r.stopping {
		s.bar.progress(float64(done)/float64(total), stage(state.State == office.DraftAdding, done, total))
	}
}

// Stop takes back what is on its way, where that comes in time; how it ended is told by finish.
func (s *Screen) Stop() {
	if s.interrupt(false) {
		s.bar.progress(-1, lang.L("Stopping…"))
	}
}

// interrupt ends the waiting for what is on its way, once, and says whether there was any.
func (s *Screen) interrupt(leaving bool) bool {
	r := s.run
	if r == nil || r.cancel == nil || r.stopping || r.leaving {
		return false
	}
	r.leaving, r.stopping = leaving, !leaving
	for _, cancel := range r.cancel {
		cancel()
	}
	return true
}

// Leave lets the office finish by itself, also after a restart, and makes room for the next package.
func (s *Screen) Leave() { s.interrupt(true) }

// arrived takes note of how a parcel ended, and goes on when it was the last.
func (s *Screen) arrived(r *run, p *parcel, state office.SendState, err error) {
	p.state, p.fate = state, refused
	ended := errors.Is(err, context.Canceled)
	switch {
	case state.State == office.DraftSent:
		p.fate = sent
	case state.State == office.DraftUnknown:
		p.fate = unknown
	case state.State == office.DraftHeld && !state.Undo: // stopped in the list of packages, where it can be sent after all
		if p.fate, p.problem = waiting, lang.L("Not sent: you cancelled it."); !state.Problem.IsZero() {
			p.problem = i18n.Message(state.Problem)
		}
	case ended && state.DraftID != "" && r.leaving:
		p.fate = waiting
	case ended && state.DraftID != "":
		s.takeBack(r, p) // the office would send it later, all the same
		return
	case ended, state.State == office.DraftCancelled:
		p.fate = stopped
	case err != nil && state.Problem.IsZero():
		p.problem = i18n.Error(err)
	case state.Problem.IsZero():
		p.problem = lang.L("The signing service did not accept the package.")
	default:
		p.problem = i18n.Message(state.Problem)
	}
	s.settle(r, p)
}

// takeBack withdraws a parcel that the person stopped. When that comes too late, the office has it.
func (s *Screen) takeBack(r *run, p *parcel) {
	async.Then(s.env.Work, func(context.Context) (bool, error) { return s.office.Cancel(p.state.DraftID) }, func(inTime bool, err error) {
		p.fate = stopped
		switch {
		case err != nil:
			p.fate, p.problem = waiting, i18n.Error(err)
		case !inTime:
			p.fate, p.problem = waiting, outbox.TooLate()
		}
		s.settle(r, p)
	})
}

func (s *Screen) settle(r *run, p *parcel) {
	if r.open--; r.open == 0 && s.run == r {
		s.finish(r)
		return
	}
	s.offerUndo(r) // which waited for this one
}

// finish shows how a run ended. What is typed goes away only when the office has taken it over; of several packages,
// those that it has not stay here, each with its reason.
func (s *Screen) finish(r *run) {
	s.run = nil
	for _, p := range r.parcels {
		for _, doc := range p.docs {
			if doc.draft, doc.refused = p.left(doc.draft), ""; p.fate == refused && len(r.parcels) > 1 {
				doc.refused = p.problem
			}
		}
		if p.fate.gone() {
			s.docs = slices.DeleteFunc(s.docs, func(d *document) bool { return slices.Contains(p.docs, d) })
		}
		if s.basis != nil { // there is one parcel
			s.basis.refused = p.left(s.basis.refused)
			if p.fate.gone() {
				s.setBasis(nil, "")
			}
		}
	}
	s.lock(false)
	people := len(s.draft().Signers)
	if len(s.docs) == 0 && s.basis == nil {
		s.clear()
	} else {
		s.filesChanged()
	}
	s.changed()
	s.tell(r, people)
	s.Reload()
}

// tell says in one sentence how a run ended, and shows the package that was sent.
func (s *Screen) tell(r *run, people int) {
	of := map[fate][]*parcel{}
	for _, p := range r.parcels {
		of[p.fate] = append(of[p.fate], p)
	}
	all, name := len(r.parcels), r.parcels[0].draft.Name
	s.bar.end("")
	switch {
	case len(of[sent]) == all:
		s.present(r.parcels[0].state.PackageID, name, sentText(name, all, people))
	case len(of[unknown]) > 1:
		s.bar.say(i18n.Message(message.OutcomesUnknown(len(of[unknown]))))
	case len(of[unknown]) == 1:
		s.bar.say(i18n.Message(message.OutcomeUnknown(of[unknown][0].draft.Name)))
	case len(of[stopped]) == all:
		s.bar.end(lang.L("Cancelled. Nothing was sent."))
	case len(of[refused]) == 1:
		s.bar.say(of[refused][0].problem)
	case len(of[refused]) > 1:
		s.bar.say(lang.L("{{.Sent}} of {{.Packages}} sent. The reason is shown next to each of the others.",
			i18n.V{"Sent": len(of[sent]), "Packages": packages(all)}))
	case len(of[waiting]) > 0 && of[waiting][0].problem != "":
		s.bar.say(of[waiting][0].problem)
	case len(of[waiting]) > 0:
		s.env.Notice(lang.L("“{{.Name}}” will be sent automatically as soon as possible.", i18n.V{"Name": of[waiting][0].draft.Name}))
	default:
		s.bar.end(lang.L("Cancelled. {{.Sent}} of {{.Packages}} sent.", i18n.V{"Sent": len(of[sent]), "Packages": packages(all)}))
	}
}

// present shows the package that was sent. One that the service keeps until its fields are placed is not on its way
// yet; the screen of packages offers the editor for that.
func (s *Screen) present(id, name, text string) {
	async.Then(s.env.Work, func(context.Context) (office.PackageState, error) {
		row, _, err := s.office.Package(id)
		return row.State, err
	}, func(state office.PackageState, err error) {
		if err != nil {
			text = i18n.Error(err) // whether it is on its way, its page at the service says
		}
		if state.Unsent() {
			text = lang.L("“{{.Name}}” is not sent yet. Finish it in the browser by marking where each signer signs.", i18n.V{"Name": name})
		}
		s.env.Notice(text)
		s.env.Go.ShowPackage(id)
	})
}

func sentText(name string, all, people int) string {
	if all > 1 {
		return lang.L("{{.Packages}} were sent to {{.People}}.", i18n.V{"Packages": packages(all), "People": i18n.People(people)})
	}
	return lang.L("“{{.Name}}” was sent to {{.People}}.", i18n.V{"Name": name, "People": i18n.People(people)})
}

// lock keeps the fields from being changed while their content is on its way.
func (s *Screen) lock(locked bool) {
	fields := []widgets.Enabler{s.name, s.message, s.due, s.reference, s.order, s.each, s.add, s.choose, s.addPerson, s.addCopy, s.more, s.presets.button, s.day, s.sweep}
	for _, p := range s.people {
		p.offers.clear()
		for _, e := range p.entries() {
			fields = append(fields, e)
		}
	}
	for _, c := range s.copies.added {
		c.offers.clear()
		fields = append(fields, c.entry, c.kind)
	}
	for _, f := range fields {
		widgets.Enable(f, !locked)
	}
	s.showPeople()
	s.copies.show()
	s.showFiles()
}

// parcel is one package on its way: all documents together, or one of them.
type parcel struct {
	draft   office.NewPackage
	docs    []*document
	fate    fate
	state   office.SendState
	problem string // a sentence; empty when nothing went wrong
}

// left is the draft that another attempt takes the place of: what the office has of a parcel that was refused, or else before,
// the one that the parcel was to take the place of.
func (p *parcel) left(before string) string {
	if p.fate == refused && p.state.DraftID != "" {
		return p.state.DraftID
	}
	return before
}

type fate int

const (
	onItsWay fate = iota // not ended
	sent
	unknown // the answer was lost; the office finds out
	waiting // the office keeps it and sends it later
	stopped // taken back, nothing was sent
	refused // by the service, or it could not begin
)

// gone says that the office has the parcel, so that what was typed is not needed here any more.
func (f fate) gone() bool { return f == sent || f == unknown || f == waiting }

// pack makes parcels of a draft: one, or one for each document, which then gives it its name.
func pack(docs []*document, d office.NewPackage, each bool) (list []*parcel) {
	seen := map[string]bool{}
	add := func(d office.NewPackage, docs ...*document) {
		p := &parcel{draft: d, docs: docs}
		p.draft.Files = nil
		for _, doc := range docs {
			if doc.original == nil { // else the template says where it goes
				p.draft.Files = append(p.draft.Files, doc.path)
			}
			if doc.draft != "" && !seen[doc.draft] {
				p.draft.Replaces = append(p.draft.Replaces, doc.draft)
				seen[doc.draft] = true
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

// run is one press of the button: parcels on their way, until the last one has ended.
type run struct {
	parcels  []*parcel
	began    time.Time
	open     int // parcels that have not ended
	cancel   []func()
	offered  bool // it can be undone, or could
	going    bool // it is on its way to the service
	stopping bool // the person takes it back
	leaving  bool // the person lets the office do the rest
}

// rest is what the office does not have yet of a form with those documents: when the program ends, nothing is lost, and nothing that
// will be sent is typed as well.
func (r *run) rest(f office.Form, docs []*document) office.Form {
	has := func(p *parcel) bool { return p.state.DraftID != "" }
	if !slices.ContainsFunc(r.parcels, func(p *parcel) bool { return !has(p) }) {
		return office.Form{}
	}
	var files []office.FormFile
	for i, doc := range docs {
		if !slices.ContainsFunc(r.parcels, func(p *parcel) bool { return has(p) && slices.Contains(p.docs, doc) }) {
			files = append(files, f.Files[i])
		}
	}
	f.Files = files
	return f
}

// stored says that the office has what it could take of it.
func (r *run) stored() bool {
	return !slices.ContainsFunc(r.parcels, func(p *parcel) bool { return p.state.DraftID == "" && p.fate == onItsWay })
}

// owns says whether a draft of the office is one of the parcels that are on their way.
func (r *run) owns(d office.Draft) bool {
	if r == nil || d.Created.Before(r.began) {
		return false
	}
	return slices.ContainsFunc(r.parcels, func(p *parcel) bool {
		return p.state.DraftID == d.ID || p.draft.Name == d.Name && sameTemplate(p.draft.Template, d.Template) && slices.Equal(p.draft.Files, besides(d))
	})
}

// besides are the paths of a draft's files but for those in the place of a template's document.
func besides(d office.Draft) (paths []string) {
	for _, f := range d.Files {
		if f.Original == 0 {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// amounts are the bytes that are on the service and those that shall be.
func (r *run) amounts() (done, total int64) {
	for _, p := range r.parcels {
		for _, doc := range p.docs {
			total += doc.info.Size
		}
		done += p.state.Sent
		if p.fate == sent {
			done += p.state.Total - p.state.Sent
		}
	}
	return min(done, total), total
}

// wrong says what keeps a draft from being sent: a sentence for each field, empty where it is fine.
type wrong struct {
	files, signers, due, name string
	signer                    []wrongSigner // one for each signer
	copies                    []office.Code // one for each recipient
}

// wrongSigner says what is wrong with a signer: with the names, or else with the address. The text is empty for nothing.
type wrongSigner struct {
	text string
	name bool
}

func (w wrong) any() bool {
	return w.files+w.signers+w.due+w.name != "" || cmp.Or(w.copies...) != "" || slices.ContainsFunc(w.signer, func(s wrongSigner) bool { return s.text != "" })
}

func (s *Screen) check(d office.NewPackage) wrong {
	d.Recipients = s.copies.recipients(d.Signers) // with those of the settings
	return check(s.files(), d, s.separate(), s.due.Text, s.days(), s.env.Now())
}

// focusWrong puts the cursor where something is wrong first.
func (s *Screen) focusWrong(w wrong) {
	var first fyne.Focusable
	switch at := slices.IndexFunc(w.signer, func(s wrongSigner) bool { return s.text != "" }); {
	case w.files != "":
		first = s.add
	case w.name != "":
		first = s.name
	case w.signers != "":
		first = s.people[0].first
	case at >= 0 && w.signer[at].name:
		first = s.signing()[at].first
	case at >= 0:
		first = s.signing()[at].email
	case s.copies.firstWrong() != nil:
		first = s.copies.firstWrong()
	default:
		first = s.due
	}
	s.env.Window.Canvas().Focus(first)
}

// check judges what was typed. due is the text of the date field beside its meaning; each says that every document
// becomes a package of its own, with its own name.
func check(docs []*document, d office.NewPackage, each bool, due string, days day.Style, now time.Time) wrong {
	w := wrong{signer: make([]wrongSigner, len(d.Signers)), copies: office.CheckCopies(d.Recipients, d.Signers)}
	switch {
	case len(docs) == 0 && d.Template.Empty():
		w.files = lang.L("Add at least one document.")
	case slices.ContainsFunc(docs, func(f *document) bool { return !f.info.Problem.IsZero() }):
		w.files = lang.L("The marked documents cannot be sent.")
	case slices.ContainsFunc(docs, func(f *document) bool { return !f.looked }):
		w.files = lang.L("The documents are still loading. Try again in a moment.")
	}
	if strings.TrimSpace(d.Name) == "" && (len(docs) > 0 || d.Template != nil) && !each {
		w.name = lang.L("Give the package a name.")
	}
	if len(d.Signers) == 0 {
		w.signers = lang.L("Add at least one signer.")
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

// proposedName makes a package name of a file's: no ending, no underscores.
func proposedName(path string) string {
	name := filepath.Base(path)
	name = strings.TrimSuffix(name, filepath.Ext(name))
	return strings.Join(strings.Fields(strings.ReplaceAll(name, "_", " ")), " ")
}

// externalData carries a reference, which Package.Reference reads.
func externalData(reference string) json.RawMessage {
	if reference == "" {
		return nil
	}
	data, err := json.Marshal(map[string]string{"reference": reference})
	if err != nil {
		return nil // a map of strings always has its JSON
	}
	return data
}

// referenceIn is the reference that external data carries, empty for none.
func referenceIn(data json.RawMessage) string {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(data, &members) != nil || json.Unmarshal(members["reference"], &text) != nil {
		return ""
	}
	return text
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

func stage(adding bool, sent, total int64) string {
	switch {
	case adding, total > 0 && sent == total:
		return lang.L("Waiting for confirmation…")
	case total > 0:
		return fmt.Sprintf("%s %s / %s", lang.L("Uploading…"), i18n.Size(sent), i18n.Size(total))
	}
	return lang.L("Preparing…")
}

// packages is "1 package", "2 packages"; pages the same for pages.
func packages(n int) string { return lang.N("{{.PluralCount}} packages", n) }

func pages(n int) string { return lang.N("{{.PluralCount}} pages", n) }

type outboxList struct {
	undecided   bool                           // drafts of the office wait for a decision
	drafts      []office.Draft                 // as the outbox shows them
	draftDeeds  map[string][]fyne.CanvasObject // their buttons, by id
	shownEdited []string                       // those that it shows as being changed
	wanted      string                         // the one that somebody wants to see; empty for none
	outbox      *fyne.Container
}

// showOutbox lists the drafts that are not packages yet, each with what can be done about it.
func (s *Screen) showOutbox(drafts []office.Draft) {
	list := widgets.Stack(12)
	focused, at := widgets.FocusedIn(s.env.Window.Canvas(), s.draftDeeds)
	s.drafts, s.draftDeeds, s.shownEdited = drafts, map[string][]fyne.CanvasObject{}, s.edited()
	s.undecided = slices.ContainsFunc(drafts, undecided)
	s.tellWaiting()
	for _, d := range drafts {
		if s.run.owns(d) { // the bar tells about it
			if d.State == office.DraftQueued && !d.Problem.IsZero() && !s.run.stopping {
				s.bar.progress(-1, outbox.HeldUp(d))
			}
			continue
		}
		list.Add(s.draftRow(d))
	}
	if len(list.Objects) == 0 {
		widgets.Remake(s.outbox)
		return
	}
	widgets.Remake(s.outbox, widgets.Stack(8, widgets.NewTitle(lang.L("Outbox")), widgets.Card(list)))
	s.layOutAnew()
	if deeds := s.draftDeeds[focused]; at < len(deeds) {
		s.focusDeed(deeds[at])
	}
	s.chooseWanted()
}

// ShowDraft leads to a draft that waits for a person, with the focus beside what sends it: a key that was meant for something else
// must send nothing.
func (s *Screen) ShowDraft(id string) {
	s.wanted = id
	s.Reload()
}

// chooseWanted goes to the draft that somebody wants to see, once it is there; the one after it takes its place when it is not.
func (s *Screen) chooseWanted() {
	if s.wanted == "" {
		return
	}
	deeds := s.draftDeeds[s.wanted]
	if len(deeds) == 0 {
		for _, d := range s.drafts {
			if deeds = s.draftDeeds[d.ID]; d.State == office.DraftHeld && len(deeds) > 0 {
				break
			}
		}
	}
	s.wanted = ""
	if len(deeds) > 0 {
		s.focusDeed(deeds[max(0, len(deeds)-2)])
	}
}

func (s *Screen) focusDeed(deed fyne.CanvasObject) {
	if button, is := deed.(fyne.Focusable); is {
		s.env.Window.Canvas().Focus(button)
	}
}

// edited are the drafts that the form takes the place of.
func (s *Screen) edited() (ids []string) {
	for _, doc := range s.docs {
		if doc.draft != "" && !slices.Contains(ids, doc.draft) {
			ids = append(ids, doc.draft)
		}
	}
	if s.basis != nil && s.basis.refused != "" {
		ids = append(ids, s.basis.refused)
	}
	return ids
}

// markEdited shows which drafts are being changed, when those are others than before.
func (s *Screen) markEdited() {
	if s.loaded && s.run == nil && !slices.Equal(s.shownEdited, s.edited()) {
		s.showOutbox(s.drafts)
	}
}

// undecided says that nothing happens to a draft until the person decides.
func undecided(d office.Draft) bool {
	return d.State == office.DraftHeld || d.State == office.DraftFailed
}

func (s *Screen) draftRow(d office.Draft) fyne.CanvasObject {
	mark, text := outbox.State(d)
	name := widgets.NewFullName(d.Name)
	note := widget.NewLabel(text)
	note.Wrapping, note.SizeName = fyne.TextWrapWord, theme.Caption
	row := widgets.Stack(2, widgets.Across(widget.NewIcon(mark.Resource()), name, nil), note)
	if slices.Contains(s.edited(), d.ID) { // sent from here, it would go out without what was changed
		note.SetText(lang.L("You are changing it in this form."))
		return row
	}
	if deeds := outbox.Buttons(outbox.Deeds(s.env, s.office, []office.Draft{d}, s.Edit, s.Reload)); len(deeds) > 0 {
		s.draftDeeds[d.ID] = deeds
		row.Add(widgets.Flow(4, deeds...))
	}
	return row
}
