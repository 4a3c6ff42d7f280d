package activity

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/store"
	"countersign/ui/look"
	"countersign/ui/widgets"
	"countersign/ui/words"
	"countersign/ui/work"
)

// mostShown is how many bytes of a body are shown: laying out more would hold up the window. Copy takes all.
const mostShown = 16 << 10

// letter shows one event whole: what is known about it, and its body as it came.
type letter struct {
	screen  *Screen
	event   event
	content *fyne.Container
	form    *widgets.Tabs // of the body
	body    *widget.Label
	note    *widgets.Line
}

// The forms of the body.
const (
	formPretty = iota
	formRaw
)

func (l *letter) build(s *Screen) {
	l.screen = s
	l.content = container.NewStack()
	l.form = widgets.NewTabs([]string{lang.L("Formatted"), lang.L("Original")}, func(int) { l.showBody() })
	l.body = widget.NewLabelWithStyle("", fyne.TextAlignLeading, fyne.TextStyle{Monospace: true})
	l.body.Selectable, l.body.Wrapping = true, fyne.TextWrapBreak
	l.body.SizeName = look.Caption
	l.note = widgets.NewCaption(lang.L("Only the beginning is shown. Copy takes all of it."))
}

// show shows an event; the same one again keeps the view.
func (l *letter) show(e event) {
	var old fyne.Position
	if len(l.content.Objects) > 0 && l.event.ID == e.ID {
		if same(l.event, e) {
			return
		}
		if scroll, ok := l.content.Objects[0].(*container.Scroll); ok {
			old = scroll.Offset
		}
	}
	l.event = e
	page := widgets.Stack(14, l.head(), l.facts(), l.buttons(), l.paper())
	scroll := widgets.NewVScroll(widgets.PadHV(16, 12, page))
	scroll.Offset = old
	widgets.Remake(l.content, scroll)
	l.showBody()
}

// same says whether nothing that is shown of an event has changed.
func same(a, b event) bool {
	return a.ID == b.ID && a.Outcome == b.Outcome && a.Reason == b.Reason && a.Copies == b.Copies && a.name == b.name
}

func (l *letter) head() fyne.CanvasObject {
	mark, word := words.EventState(l.event.Event)
	state, _ := widgets.MarkLine(mark, word)
	title := widgets.NewTitle(words.EventKind(l.event.Event))
	title.Scale = look.Title
	head := widgets.Stack(6, widgets.Across(nil, title, state))
	if l.event.Reason != "" {
		why := widget.NewLabel(words.Sentence(l.event.Reason))
		why.Wrapping = fyne.TextWrapWord
		head.Add(widgets.On(look.Wash, why))
	}
	return head
}

// facts are what is known about an event, as lines of a name and a value that can be selected.
func (l *letter) facts() fyne.CanvasObject {
	e, now := l.event, l.screen.desk.Now()
	list := widgets.Stack(0)
	add := func(name, value string) {
		if value == "" {
			return
		}
		text := widget.NewLabel(value)
		text.Selectable, text.Wrapping = true, fyne.TextWrapBreak
		list.Add(widgets.Across(widgets.Wide(96, widgets.NewCaption(name)), text, nil))
	}
	add(lang.L("Package"), nameOf(e))
	add(lang.L("Received"), words.Exactly(now, e.Received))
	add(lang.L("Occurred"), words.Exactly(now, e.Time))
	add(lang.L("Processed"), words.Exactly(now, e.Handled))
	add(lang.L("Verified"), lang.L("Event signature valid for {{.Address}}", words.V{"Address": e.URL}))
	if e.Copies > 0 {
		add(lang.L("Received again"), lang.N("{{.PluralCount}} times", e.Copies))
	}
	add(lang.L("Event ID"), e.ID)
	return list
}

func (l *letter) buttons() fyne.CanvasObject {
	again := widgets.NewButtonWithIcon(lang.L("Try again"), theme.ViewRefreshIcon(), nil)
	again.OnTapped = func() { again.Disable(); l.retry(again.Enable) }
	if l.event.Outcome == store.EventPending {
		again.Disable() // it is waiting already
	}
	open := widgets.NewButtonWithIcon(lang.L("Show the package"), theme.StorageIcon(), l.openPackage)
	if l.event.name == "" {
		open.Disable()
	}
	return widgets.Row(8, again, open)
}

func (l *letter) openPackage() {
	if l.event.name != "" {
		l.screen.desk.Go.ShowPackage(l.event.PackageID)
	}
}

// retry has the event handled once more; failed is called when that cannot be.
func (l *letter) retry(failed func()) {
	id := l.event.ID
	work.Then(l.screen.desk.Work, func(context.Context) (struct{}, error) {
		return struct{}{}, l.screen.desk.Office.RetryEvent(id)
	}, func(_ struct{}, err error) {
		if err != nil {
			failed()
			l.screen.desk.Notice(words.Sentence(err.Error()))
		}
		l.screen.Reload()
	})
}

func (l *letter) paper() fyne.CanvasObject {
	copyAll := widgets.NewButtonWithIcon(lang.L("Copy"), theme.ContentCopyIcon(), func() {
		l.screen.desk.Copy(l.text())
		l.screen.desk.Notice(lang.L("The event is copied."))
	})
	return widgets.Stack(6, widgets.Across(nil, l.form, copyAll), widgets.Card(l.body), l.note)
}

// text is the body in the chosen form. A body that is no JSON has only one.
func (l *letter) text() string {
	body := l.event.Body
	if l.form.Chosen() == formPretty {
		var pretty bytes.Buffer
		if json.Indent(&pretty, body, "", "  ") == nil {
			body = pretty.Bytes()
		}
	}
	return strings.ToValidUTF8(string(body), "\uFFFD")
}

func (l *letter) showBody() {
	text := l.text()
	l.note.Hidden = len(text) <= mostShown
	if len(text) > mostShown {
		text = strings.ToValidUTF8(text[:mostShown], "") + "…"
	}
	l.body.SetText(text)
	l.note.Refresh()
}
