package compose

import (
	"context"
	"errors"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/store"
	"countersign/ui/desk"
	"countersign/ui/look"
	"countersign/ui/widgets"
	"countersign/ui/words"
	"countersign/ui/work"
)

// Send checks what is typed and sends it. What is wrong shows beside its field, and nothing is sent.
func (s *Screen) Send() {
	if s.cancel != nil {
		return
	}
	s.tried = true
	d := s.draft()
	if w := check(s.files, d, s.due.Text, s.desk.Now()); w.any() {
		s.showWrong(w)
		s.bar.say(look.MarkProblem, lang.L("Something is missing. It is marked above."))
		return
	}
	s.showWrong(wrong{})
	s.lock(true)
	s.bar.begin()
	refused := s.refused
	s.refused = ""
	s.cancel = work.Then(s.desk.Work, func(ctx context.Context) (agent.SendState, error) {
		if refused != "" { // what is typed now takes the place of what was refused
			if err := s.desk.Office.Resolve(refused, false); err != nil {
				return agent.SendState{}, err
			}
		}
		return s.desk.Office.Send(ctx, d, func(state agent.SendState) {
			s.desk.Work.Do(func() { s.bar.progress(percent(state), stage(state)) })
		})
	}, s.ended)
}

// Stop takes back the sending that runs, where that comes in time; how it ended is told by ended.
func (s *Screen) Stop() {
	if s.cancel != nil {
		s.bar.progress(-1, lang.L("Stopping…"))
		s.cancel()
	}
}

// ended shows how sending ended. What is typed goes away only when the office has taken it over.
func (s *Screen) ended(state agent.SendState, err error) {
	if errors.Is(err, context.Canceled) && state.DraftID != "" {
		s.takeBack(state.DraftID) // the office would send it later, all the same
		return
	}
	s.cancel = nil
	s.lock(false)
	d := s.draft()
	switch {
	case state.State == store.DraftSent:
		s.clear()
		s.desk.Notice(lang.L("“{{.Name}}” is on its way to {{.People}}.", words.V{"Name": d.Name, "People": words.People(len(d.Signers))}))
		s.desk.Go.ShowPackage(state.PackageID)
	case state.State == store.DraftUnknown:
		s.clear()
		s.bar.say(look.MarkProblem, lang.L("The answer was lost. Countersign keeps the package and finds out whether it was sent."))
	case state.State == store.DraftCancelled, errors.Is(err, context.Canceled):
		s.bar.end(lang.L("Stopped. Nothing was sent."))
	case err != nil && state.Problem == "":
		s.bar.say(look.MarkProblem, desk.Sentence(err.Error()))
	default:
		s.refused = state.DraftID
		s.bar.say(look.MarkProblem, problemOf(state))
	}
	s.changed()
}

func problemOf(state agent.SendState) string {
	if state.Problem == "" {
		return lang.L("The signing service refused it.")
	}
	return desk.Sentence(state.Problem)
}

// takeBack withdraws a draft that the person stopped. When that comes too late, the office has it.
func (s *Screen) takeBack(id string) {
	work.Then(s.desk.Work, func(context.Context) (bool, error) { return s.desk.Office.Cancel(id) }, func(inTime bool, err error) {
		s.cancel = nil
		s.lock(false)
		switch {
		case inTime:
			s.bar.end(lang.L("Stopped. Nothing was sent."))
		case err != nil:
			s.clear()
			s.bar.say(look.MarkProblem, desk.Sentence(err.Error()))
		default:
			s.clear()
			s.bar.say(look.MarkProblem, lang.L("Too late: the package is already with the signing service."))
		}
		s.changed()
		s.Reload()
	})
}

// clear makes room for the next package.
func (s *Screen) clear() {
	s.files, s.people, s.proposed, s.tried = nil, nil, "", false
	for _, e := range []*widgets.Entry{s.name, s.message, s.due} {
		e.SetText("")
	}
	s.showWrong(wrong{})
	s.bar.end("")
	s.showFiles()
	s.addSigner(store.Signer{}, false)
}

// lock keeps the fields from being changed while their content is on its way.
func (s *Screen) lock(locked bool) {
	s.locked = locked
	s.showPeople()
	fields := []fyne.Disableable{s.name, s.message, s.due, s.order, s.add, s.addPerson}
	for _, p := range s.people {
		for _, e := range p.entries() {
			fields = append(fields, e)
		}
	}
	for _, f := range fields {
		if locked {
			f.Disable()
		} else {
			f.Enable()
		}
	}
	if locked {
		s.fileBox.Objects = nil
		for _, f := range s.files {
			name := widgets.NewLine(f.name())
			name.Shorten = true
			s.fileBox.Add(widgets.Card(widgets.Across(widget.NewIcon(theme.DocumentIcon()), name, nil)))
		}
		s.filesField.Refresh()
		return
	}
	s.showFiles()
}

// bar is the line at the bottom: one button that says what it will do; while sending, the progress and Cancel.
type bar struct {
	content  fyne.CanvasObject
	text     *widgets.Line
	mark     *widget.Icon
	amount   *widget.ProgressBar
	room     *fyne.Container // around amount
	send     *widget.Button
	cancel   *widget.Button
	messages *fyne.Container
}

func newBar(send, cancel func()) *bar {
	b := &bar{text: widgets.NewLine(""), mark: widget.NewIcon(look.MarkProblem.Resource()), amount: widget.NewProgressBar()}
	b.text.Shorten = true
	b.send = widget.NewButtonWithIcon("", theme.MailSendIcon(), send)
	b.send.Importance = widget.HighImportance
	b.cancel = widget.NewButton(lang.L("Cancel"), cancel)
	b.messages = widgets.Across(b.mark, b.text, nil)
	b.room = widgets.Wide(260, b.amount)
	middle := widgets.Across(nil, b.messages, b.room)
	b.content = widgets.On(look.Paper, container.NewVBox(widget.NewSeparator(), widgets.PadHV(20, 8, widgets.Across(nil, middle, container.NewHBox(b.cancel, b.send)))))
	b.offer(lang.L("Send"))
	b.end("")
	return b
}

func (b *bar) offer(text string) { b.send.SetText(text) }

func (b *bar) begin() {
	b.send.Hide()
	b.cancel.Show()
	b.room.Show()
	b.mark.Hide()
	b.progress(0, lang.L("Preparing…"))
}

// progress shows how far it is; a negative part leaves the bar as it is.
func (b *bar) progress(part float64, text string) {
	if part >= 0 {
		b.amount.SetValue(part)
	}
	b.text.Colour = look.Text
	b.text.Set(text)
}

// end shows the button again, with a quiet text.
func (b *bar) end(text string) {
	b.cancel.Hide()
	b.room.Hide()
	b.mark.Hide()
	b.send.Show()
	b.text.Colour, b.text.Text = look.Secondary, text
	b.text.Refresh()
	b.content.Refresh()
}

// say shows the button again, with a text that matters.
func (b *bar) say(mark look.Mark, text string) {
	b.end("")
	b.mark.SetResource(mark.Resource())
	b.mark.Show()
	b.text.Colour, b.text.Text = mark.Colour(), text
	b.text.Refresh()
	b.content.Refresh()
}
