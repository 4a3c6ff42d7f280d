package compose

import (
	"slices"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/desk"
	"countersign/ui/look"
	"countersign/ui/widgets"
	"countersign/ui/words"
)

// showFiles shows the documents, or the place to drop them.
func (s *Screen) showFiles() {
	s.fileBox.Objects = nil
	if len(s.files) == 0 {
		s.fileBox.Add(dropTarget())
	}
	for i, f := range s.files {
		s.fileBox.Add(s.fileRow(i, f))
	}
	s.filesField.Refresh()
}

func dropTarget() fyne.CanvasObject {
	arrow := canvas.NewImageFromResource(look.MarkDrop.Resource())
	arrow.FillMode = canvas.ImageFillContain
	arrow.SetMinSize(fyne.NewSquareSize(40))
	say := widgets.NewCaption(lang.L("Drop documents anywhere in this window"))
	say.Shorten = false
	return widgets.Card(widgets.PadHV(0, 28, widgets.Stack(8, arrow, widgets.Centre(say))))
}

func (s *Screen) fileRow(i int, f file) fyne.CanvasObject {
	name, note := widgets.NewLine(f.name()), widgets.NewCaption(words.Size(f.size))
	name.Shorten = true
	icon := theme.DocumentIcon()
	if f.problem != "" {
		note.Set(f.problem)
		note.Colour = look.Attention
		icon = look.MarkProblem.Resource()
	}
	tools := arrows(i, len(s.files), func(by int) {
		move(s.files, i, by)
		s.filesChanged()
	}, func() {
		s.files = slices.Delete(s.files, i, i+1)
		s.filesChanged()
	})
	return widgets.Card(widgets.Across(widget.NewIcon(icon), widgets.Stack(1, name, note), tools))
}

// arrows are the buttons that move an entry up and down and take it away.
func arrows(i, of int, moved func(by int), removed func()) fyne.CanvasObject {
	row := container.New(&tight{})
	tool := func(icon fyne.Resource, enabled bool, do func()) {
		b := widget.NewButtonWithIcon("", icon, do)
		b.Importance = widget.LowImportance
		if !enabled {
			b.Disable()
		}
		row.Add(b)
	}
	if of > 1 {
		tool(theme.MoveUpIcon(), i > 0, func() { moved(-1) })
		tool(theme.MoveDownIcon(), i < of-1, func() { moved(1) })
	}
	tool(theme.DeleteIcon(), true, removed)
	return row
}

// tight puts its objects side by side without room between them.
type tight struct{}

func (*tight) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	x := float32(0)
	for _, o := range objects {
		least := o.MinSize()
		o.Resize(least)
		o.Move(fyne.NewPos(x, (size.Height-least.Height)/2))
		x += least.Width
	}
}

func (*tight) MinSize(objects []fyne.CanvasObject) (size fyne.Size) {
	for _, o := range objects {
		least := o.MinSize()
		size = fyne.NewSize(size.Width+least.Width, max(size.Height, least.Height))
	}
	return size
}

// pickFiles asks for one file after the other, as Fyne's dialog allows; dropping takes many at once.
func (s *Screen) pickFiles() {
	dialog.ShowFileOpen(func(r fyne.URIReadCloser, err error) {
		if err != nil {
			s.desk.Notice(desk.Sentence(err.Error()))
			return
		}
		if r == nil {
			return
		}
		path := r.URI().Path()
		if err := r.Close(); err != nil {
			s.desk.Notice(desk.Sentence(err.Error()))
		}
		s.Add([]string{path})
	}, s.desk.Window)
}

// pickDay shows a calendar under the due date.
func (s *Screen) pickDay() {
	var pop *widget.PopUp
	start := s.desk.Now()
	if due := parseDue(s.due.Text, start.Location()); !due.IsZero() {
		start = due
	}
	calendar := widget.NewCalendar(start, func(day time.Time) {
		s.due.SetText(day.Format("2006-01-02"))
		pop.Hide()
	})
	pop = widget.NewPopUp(calendar, s.desk.Window.Canvas())
	pop.ShowAtRelativePosition(fyne.NewPos(0, -calendar.MinSize().Height), s.due)
}
