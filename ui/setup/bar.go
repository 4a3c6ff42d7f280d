package setup

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// bar is the line at the bottom: back, what is going on, and the way on. While something runs, it can be stopped.
type bar struct {
	content          fyne.CanvasObject
	back, next, stop *widgets.Button
	mark             *widget.Icon
	text             *widgets.Prose
	moves            *widget.ProgressBarInfinite
	room             *fyne.Container // around moves
}

func newBar(back, next, stop func()) *bar {
	b := &bar{mark: widget.NewIcon(theme.MarkProblem.Resource()), text: widgets.NewParagraph(""), moves: widget.NewProgressBarInfinite()}
	b.back = widgets.NewButtonWithIcon(lang.L("Back"), fynetheme.NavigateBackIcon(), back)
	b.next = widgets.NewButton("", next)
	b.next.Importance = widget.HighImportance
	b.stop = widgets.NewButton(lang.L("Cancel"), stop)
	b.moves.Stop()
	b.room = widgets.Wide(160, b.moves)
	said := widgets.Across(b.mark, b.text, b.room)
	b.content = widgets.On(theme.Paper, container.NewVBox(widget.NewSeparator(), widgets.PadHV(24, 10,
		widgets.Across(b.back, said, container.NewHBox(b.stop, b.next)))))
	return b
}

// rest shows the buttons of a step, with nothing to say.
func (b *bar) rest(back bool, next string) {
	b.moves.Stop()
	b.room.Hide()
	b.stop.Hide()
	b.back.Hidden = !back
	b.back.Enable()
	b.next.SetText(next)
	b.next.Show()
	b.say("", "")
}

// busy says what runs and offers to stop it.
func (b *bar) busy(text string) {
	b.say("", text)
	b.stop.Show()
	b.next.Hide()
	b.back.Disable()
	b.room.Hidden = !fyne.CurrentApp().Settings().ShowAnimations() // the text says that it goes on
	b.content.Refresh()
	if b.room.Hidden {
		b.moves.Stop() // drawn for the first time, it starts by itself
	} else {
		b.moves.Start()
	}
}

// say shows a text; with a mark one that matters.
func (b *bar) say(mark theme.Mark, text string) {
	b.mark.Hidden = mark == ""
	if mark != "" {
		b.mark.SetResource(mark.Resource())
	}
	b.text.Colour, b.text.Text = theme.Text, text
	if mark != "" {
		b.text.Colour = mark.Colour()
	}
	b.text.Refresh()
	b.content.Refresh()
}
