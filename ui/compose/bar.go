package compose

import (
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// bar is the line at the bottom: one button that says what it will do; while sending, how far it is and the ways to
// stop or to let it go on alone.
type bar struct {
	content             fyne.CanvasObject
	text                *widget.Label
	mark                *widget.Icon
	edge                fyne.CanvasObject // above, while nothing is sent
	amount              *meter            // in its place while something is
	send, leave, cancel *widgets.Button
	marks               bool // it says that fields are marked
	later               func(d time.Duration, over func())
}

func newBar(s *Screen) *bar {
	b := &bar{text: widget.NewLabel(""), mark: widget.NewIcon(theme.MarkProblem.Resource()), edge: widget.NewSeparator(), amount: newMeter(3), later: s.env.Later}
	b.text.Wrapping = fyne.TextWrapWord
	b.send = s.newButton("", fynetheme.MailSendIcon(), s.Send)
	b.send.Importance = widget.HighImportance
	b.leave = s.newButton(lang.L("Continue in the background"), nil, s.Leave)
	b.cancel = s.newButton(lang.L("Cancel"), nil, s.Stop)
	line := widgets.Across(b.mark, b.text, container.NewHBox(b.leave, b.cancel, b.send))
	b.content = widgets.On(theme.Paper, widgets.Stack(0, b.edge, b.amount.content, widgets.PadHV(20, 8, line)))
	b.offer(lang.L("Send"))
	b.end("")
	return b
}

func (b *bar) offer(text string) { b.send.SetText(text) }

func (b *bar) begin() {
	b.working(true)
	b.mark.Hide()
	b.progress(0, lang.L("Preparing…"))
	b.content.Refresh()
}

func (b *bar) working(yes bool) {
	for _, o := range []fyne.CanvasObject{b.leave, b.cancel, b.amount.content} {
		widgets.Show(o, yes)
	}
	for _, o := range []fyne.CanvasObject{b.send, b.edge} {
		widgets.Show(o, !yes)
	}
}

// wait has no button while what was pressed can be taken back elsewhere.
func (b *bar) wait() {
	b.end("")
	b.send.Hide()
	b.content.Refresh()
}

// progress shows how far it is; a negative part leaves the meter as it is.
func (b *bar) progress(part float64, text string) {
	if part >= 0 {
		b.amount.set(part)
	}
	b.text.Importance = widget.MediumImportance
	b.text.SetText(text)
}

// end shows the button again, with a quiet text that goes once it is read.
func (b *bar) end(text string) {
	b.marks = false
	b.working(false)
	b.mark.Hide()
	b.text.Importance = widget.LowImportance
	b.text.SetText(text)
	b.content.Refresh()
	if text == "" {
		return
	}
	b.later(widgets.ReadingTime(text), func() {
		if b.text.Text == text {
			b.text.SetText("")
			b.content.Refresh()
		}
	})
}

// marked says whether fields are marked.
func (b *bar) marked(any bool) {
	switch {
	case any:
		b.say(theme.MarkProblem, lang.L("Check the marked fields."))
	case b.marks:
		b.end("")
	}
	b.marks = any
}

// say shows the button again, with a text that matters.
func (b *bar) say(mark theme.Mark, text string) {
	b.marks = false
	b.working(false)
	b.mark.SetResource(mark.Resource())
	b.mark.Show()
	b.text.Importance = widget.DangerImportance
	b.text.SetText(text)
	b.content.Refresh()
}
