package compose

import (
	"context"
	"slices"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/theme"
)

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
		s.bar.say(theme.MarkProblem, i18n.Message(message.OutcomesUnknown(len(of[unknown]))))
	case len(of[unknown]) == 1:
		s.bar.say(theme.MarkProblem, i18n.Message(message.OutcomeUnknown(of[unknown][0].draft.Name)))
	case len(of[stopped]) == all:
		s.bar.end(lang.L("Cancelled. Nothing was sent."))
	case len(of[refused]) == 1:
		s.bar.say(theme.MarkProblem, of[refused][0].problem)
	case len(of[refused]) > 1:
		s.bar.say(theme.MarkProblem, lang.L("{{.Sent}} of {{.Packages}} sent. The reason is shown next to each of the others.",
			i18n.V{"Sent": len(of[sent]), "Packages": packages(all)}))
	case len(of[waiting]) > 0 && of[waiting][0].problem != "":
		s.bar.say(theme.MarkProblem, of[waiting][0].problem)
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
		row, _, err := s.env.Office.Package(id)
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
	fields := []interface {
		Enable()
		Disable()
	}{s.name, s.message, s.due, s.reference, s.order, s.each, s.add, s.choose, s.addPerson, s.addCopy, s.day, s.sweep}
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
		if locked {
			f.Disable()
		} else {
			f.Enable()
		}
	}
	s.showPeople()
	s.copies.show()
	s.showFiles()
}
