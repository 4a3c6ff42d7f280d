// Package activity is the screen that lists what happened, newest first. It reads from the office and changes nothing.
package activity

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/store"
	"countersign/ui/desk"
	"countersign/ui/look"
	"countersign/ui/widgets"
	"countersign/ui/words"
	"countersign/ui/work"
)

// most is how many lines are listed.
const most = 500

// Screen is the activity screen. All methods belong to the window's goroutine.
type Screen struct {
	desk    *desk.Desk
	reader  *work.Reader[[]store.Activity]
	entries []store.Activity
	list    *widgets.List
	body    *fyne.Container
	content fyne.CanvasObject
}

// New returns the screen, empty until Reload.
func New(d *desk.Desk) *Screen {
	s := &Screen{desk: d, body: container.NewStack()}
	s.reader = work.NewReader(d.Work, func(context.Context) []store.Activity { return d.Office.Activity(most) }, s.fill)
	s.list = widgets.NewList(func() int { return len(s.entries) }, newLine, s.show)
	s.list.HideSeparators = true
	s.list.OnSelected = s.list.Chose
	s.list.OnEnter = s.openChosen
	head := widgets.PadHV(20, 16, widgets.NewHeading(lang.L("Activity")))
	s.content = container.NewBorder(head, nil, nil, nil, widgets.PadHV(12, 0, s.body))
	s.fill(nil)
	return s
}

// Content is what the window shows.
func (s *Screen) Content() fyne.CanvasObject { return s.content }

// Reload reads the list anew, beside the window's goroutine.
func (s *Screen) Reload() { s.reader.Ask() }

func (s *Screen) fill(entries []store.Activity) {
	s.entries = entries
	if len(entries) == 0 {
		widgets.Remake(s.body, widgets.Empty(theme.HistoryIcon(), lang.L("Nothing has happened yet."), "", nil))
		return
	}
	widgets.Remake(s.body, s.list)
	s.list.Refresh()
}

func (s *Screen) openChosen() {
	if at := s.list.At(); at >= 0 && at < len(s.entries) && s.entries[at].PackageID != "" {
		s.desk.Go.ShowPackage(s.entries[at].PackageID)
	}
}

// line is one row: when, a shape, what, and a way to the package.
type line struct {
	widget.BaseWidget
	when, text *widgets.Line
	mark       *widget.Icon
	open       *widget.Button
	content    fyne.CanvasObject
}

func newLine() fyne.CanvasObject {
	l := &line{when: widgets.NewCaption(""), text: widgets.NewLine(""), mark: widget.NewIcon(look.MarkLater.Resource())}
	l.text.Shorten = true
	l.open = widget.NewButtonWithIcon("", theme.NavigateNextIcon(), nil)
	l.open.Importance = widget.LowImportance
	l.content = widgets.PadHV(8, 0, widgets.Across(widgets.Row(8, widgets.Wide(92, l.when), l.mark), l.text, l.open))
	l.ExtendBaseWidget(l)
	return l
}

// CreateRenderer is Fyne's.
func (l *line) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(l.content) }

func (s *Screen) show(id int, o fyne.CanvasObject) {
	l, entry := o.(*line), s.entries[id]
	l.when.Set(words.Clock(s.desk.Now(), entry.Time))
	l.text.Set(entry.Text)
	l.mark.SetResource(markOf(entry.Kind).Resource())
	l.open.OnTapped = func() { s.desk.Go.ShowPackage(entry.PackageID) }
	l.open.Hidden = entry.PackageID == ""
	l.content.Refresh()
}

func markOf(kind string) look.Mark {
	switch kind {
	case "saved":
		return look.MarkSaved
	case "event", "signed", "executed":
		return look.MarkSigned
	case "problem", "failed":
		return look.MarkProblem
	default:
		return look.MarkLater
	}
}
