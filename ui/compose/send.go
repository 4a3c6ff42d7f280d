package compose

import (
	"context"
	"errors"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/outbox"
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

// launch hands everything to the office.
func (s *Screen) launch(d office.NewPackage) {
	d.Undo = widgets.UndoTime
	r := &run{parcels: pack(s.files(), d, s.separate()), began: s.env.Now()}
	if s.basis != nil && s.basis.refused != "" {
		r.parcels[0].draft.Replaces = append(r.parcels[0].draft.Replaces, s.basis.refused)
	}
	s.run, r.open = r, len(r.parcels)
	for _, doc := range s.files() {
		doc.refused = ""
		doc.meter.set(0)
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
	s.keep()
	s.env.Soon(env.Deed{Undone: func() { s.undo(r) },
		Says: func(seconds int) string { return lang.N("Sending in {{.PluralCount}} seconds", seconds) }})
}

// undo makes what was about to be sent something typed again.
func (s *Screen) undo(r *run) {
	if s.run == r {
		s.Stop()
	}
	s.env.Go.ShowCompose()
}

// begun shows that what can no longer be undone is on its way.
func (s *Screen) begun(r *run) {
	if r.going {
		return
	}
	r.going = true
	s.bar.begin()
	s.askWhetherSignedIn(r)
}

// hand gives a parcel to the office.
func (s *Screen) hand(r *run, p *parcel) context.CancelFunc {
	newest := &async.Newest[office.SendState]{}
	return async.Then(s.env.Work, func(ctx context.Context) (office.SendState, error) {
		return s.env.Office.Send(ctx, p.draft, func(state office.SendState) {
			if newest.Put(state) {
				s.env.Work.Do(func() { s.progress(r, p, newest.Take()) })
			}
		})
	}, func(state office.SendState, err error) { s.arrived(r, p, state, err) })
}

// askWhetherSignedIn says why nothing moves while nobody is signed in.
func (s *Screen) askWhetherSignedIn(r *run) {
	async.Then(s.env.Work, func(context.Context) (agent.Status, error) { return s.env.Office.Status() }, func(now agent.Status, _ error) {
		if !now.SignedIn && s.run == r { // which is known from memory
			s.bar.progress(-1, lang.L("You are not signed in. The package will be sent after you sign in."))
		}
	})
}

// progress shows how far a parcel is.
func (s *Screen) progress(r *run, p *parcel, state office.SendState) {
	if s.run != r || p.fate != onItsWay {
		return
	}
	p.state = state
	if state.Undo {
		s.offerUndo(r)
		return
	}
	s.begun(r)
	sizes := make([]int64, len(p.docs))
	for i, doc := range p.docs {
		sizes[i] = doc.info.Size
	}
	for i, part := range parts(state, sizes) {
		p.docs[i].meter.set(part)
	}
	if done, total := r.amounts(); total > 0 && !r.stopping {
		s.bar.progress(float64(done)/float64(total), stage(state.State == office.DraftAdding, done, total))
	}
}

// Stop takes back what is on its way, where that comes in time; how it ended is told by finish.
func (s *Screen) Stop() {
	if s.run == nil || s.run.cancel == nil || s.run.stopping || s.run.leaving {
		return
	}
	s.run.stopping = true
	s.bar.progress(-1, lang.L("Stopping…"))
	for _, cancel := range s.run.cancel {
		cancel()
	}
}

// Leave lets the office finish by itself, also after a restart, and makes room for the next package.
func (s *Screen) Leave() {
	if s.run == nil || s.run.cancel == nil || s.run.stopping || s.run.leaving {
		return
	}
	s.run.leaving = true
	for _, cancel := range s.run.cancel {
		cancel()
	}
}

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
	default:
		p.problem = problemOf(state)
	}
	s.settle(r, p)
}

func problemOf(state office.SendState) string {
	if state.Problem.IsZero() {
		return lang.L("The signing service did not accept the package.")
	}
	return i18n.Message(state.Problem)
}

// takeBack withdraws a parcel that the person stopped. When that comes too late, the office has it.
func (s *Screen) takeBack(r *run, p *parcel) {
	async.Then(s.env.Work, func(context.Context) (bool, error) { return s.env.Office.Cancel(p.state.DraftID) }, func(inTime bool, err error) {
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
	if p.fate == sent {
		for _, doc := range p.docs {
			doc.meter.set(1)
		}
	}
	if r.open--; r.open == 0 && s.run == r {
		s.finish(r)
		return
	}
	s.offerUndo(r) // which waited for this one
}
