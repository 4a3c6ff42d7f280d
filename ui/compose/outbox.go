package compose

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/store"
	"countersign/ui/desk"
	"countersign/ui/look"
	"countersign/ui/widgets"
	"countersign/ui/words"
	"countersign/ui/work"
)

// showOutbox lists the drafts that are not packages yet, each with what can be done about it.
func (s *Screen) showOutbox(drafts []store.Draft) {
	list := widgets.Stack(12)
	for _, d := range drafts {
		if s.run.owns(d) { // the bar tells about it
			s.hintOf(d)
			continue
		}
		list.Add(s.draftRow(d))
	}
	if len(list.Objects) == 0 {
		widgets.Remake(s.outbox)
		return
	}
	widgets.Remake(s.outbox, widgets.Stack(8, widgets.NewTitle(lang.L("Outbox")), widgets.Card(list)))
}

// hintOf says what keeps a draft that is being sent.
func (s *Screen) hintOf(d store.Draft) {
	if d.State == store.DraftQueued && d.Problem != "" && !s.run.stopping {
		s.bar.progress(-1, words.Sentence(d.Problem))
	}
}

func (s *Screen) draftRow(d store.Draft) fyne.CanvasObject {
	mark, text := draftState(d)
	name := widgets.NewLine(d.Name)
	name.Shorten = true
	note := widget.NewLabel(text)
	note.Wrapping, note.SizeName = fyne.TextWrapWord, look.Caption
	row := widgets.Stack(2, widgets.Across(widget.NewIcon(mark.Resource()), name, nil), note)
	soon := func(says func(int) string, do func()) { s.desk.Soon(desk.Deed{Says: says, Do: do}) }
	forget := func() { s.decide(func() error { return s.desk.Office.Resolve(d.ID, false) }) }
	again := func() { s.decide(func() error { return s.desk.Office.Resolve(d.ID, true) }) }
	button := func(text string, do func()) fyne.CanvasObject { return s.newButton(text, nil, do) }
	discard := func() {
		soon(func(n int) string { return lang.N("Discarding it in {{.PluralCount}} seconds", n) }, forget)
	}
	resend := func() { soon(func(n int) string { return lang.N("Sending in {{.PluralCount}} seconds", n) }, again) }
	switch d.State {
	case store.DraftHeld:
		row.Add(container.NewHBox(button(lang.L("Discard"), discard), button(lang.L("Edit"), func() { s.edit(d) }), button(lang.L("Send"), resend)))
	case store.DraftUnknown:
		row.Add(container.NewHBox(button(lang.L("Mark as sent"), discard), button(lang.L("Send again"), func() { s.askTwice(again) })))
	case store.DraftFailed:
		row.Add(container.NewHBox(button(lang.L("Discard"), discard), button(lang.L("Edit"), func() { s.edit(d) }),
			button(lang.L("Send again"), resend)))
	case store.DraftQueued:
		row.Add(container.NewHBox(button(lang.L("Cancel sending"), func() { s.withdraw(d.ID) })))
	}
	return row
}

// askTwice asks before something is sent that may have been sent already.
func (s *Screen) askTwice(again func()) {
	widgets.Ask(s.desk.Window.Canvas(), widgets.Question{Title: lang.L("Send it again?"), Text: lang.L("If the first attempt got through, the signers will receive the package twice."),
		Safe: lang.L("Wait"), Do: lang.L("Send again"), OnDo: again})
}

// withdraw takes a waiting draft back, and says so when that comes too late.
func (s *Screen) withdraw(id string) {
	work.Then(s.desk.Work, func(context.Context) (bool, error) { return s.desk.Office.Cancel(id) }, func(inTime bool, err error) {
		switch {
		case err != nil:
			s.desk.Notice(words.Sentence(err.Error()))
		case !inTime:
			s.desk.Notice(lang.L("Too late to cancel. The signing service already has the package."))
		}
		s.Reload()
	})
}

// decide lets the office act on a draft, beside the window's goroutine.
func (s *Screen) decide(act func() error) {
	work.Then(s.desk.Work, func(context.Context) (struct{}, error) { return struct{}{}, act() }, func(_ struct{}, err error) {
		if err != nil {
			s.desk.Notice(words.Sentence(err.Error()))
		}
		s.Reload()
	})
}

// draftState is where a draft stands, as a shape and in words.
func draftState(d store.Draft) (look.Mark, string) {
	switch d.State {
	case store.DraftHeld:
		return look.MarkLater, lang.L("Not sent: the program ended while it could be taken back.")
	case store.DraftUnknown:
		return look.MarkProblem, lang.L("The connection was lost. Countersign is checking whether the package was sent.")
	case store.DraftFailed:
		if d.Problem != "" {
			return look.MarkProblem, words.Sentence(d.Problem)
		}
		return look.MarkProblem, lang.L("The signing service did not accept the package.")
	case store.DraftAdding:
		return look.MarkNext, lang.L("Sending the package…")
	default:
		if d.Problem != "" {
			return look.MarkNext, words.Sentence(d.Problem)
		}
		return look.MarkNext, lang.L("waiting to be sent, {{.Documents}}", words.V{"Documents": words.Documents(len(d.Files))})
	}
}
