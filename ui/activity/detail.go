package activity

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// maxShown is how many bytes of a body are shown: laying out more would hold up the window. Copy takes all.
const maxShown = 16 << 10

// eventDetail shows one event whole: what is known about it, and its body as it came.
type eventDetail struct {
	screen  *Screen
	event   event
	content *fyne.Container
	page    *container.Scroll // what content shows of an event
	form    *widgets.Tabs     // of the body
	body    *widgets.Selectable
	note    *widgets.Line
}

// The forms of the body.
const (
	formPretty = iota
	formRaw
)

func (l *eventDetail) build(s *Screen) {
	l.screen = s
	l.content, l.page = container.NewStack(), widgets.NewVScroll(layout.NewSpacer())
	l.form = widgets.NewTabs([]string{lang.L("Formatted"), lang.L("Original")}, func(int) { l.showBody() })
	l.body = widgets.NewSelectable("")
	l.body.TextStyle = fyne.TextStyle{Monospace: true}
	l.note = widgets.NewCaption(lang.L("Only the start is shown. Copy copies everything."))
}

// show shows an event; the same one again keeps the view.
func (l *eventDetail) show(e event) {
	var old fyne.Position
	if len(l.content.Objects) > 0 && l.event.ID == e.ID {
		if same(l.event, e) {
			return
		}
		old = l.page.Offset
	}
	l.event = e
	page := widgets.Stack(14, l.head(), l.facts(), l.buttons(), l.paper())
	widgets.Turn(l.page, widgets.PadHV(16, 12, page), old)
	if len(l.content.Objects) == 0 {
		widgets.Remake(l.content, l.page)
	}
	l.showBody()
}

// same says whether nothing that is shown of an event has changed.
func same(a, b event) bool {
	return a.ID == b.ID && a.Outcome == b.Outcome && a.Reason == b.Reason && a.Copies == b.Copies && a.name == b.name
}

func (l *eventDetail) head() fyne.CanvasObject {
	mark, word := i18n.EventState(l.event.Event)
	state, _ := widgets.MarkLine(mark, word)
	title := widgets.NewFullName(i18n.EventKind(l.event.Event))
	title.Bold, title.Scale = true, theme.Title
	head := widgets.Stack(6, widgets.Aside(240, title, state))
	if !l.event.Reason.IsZero() {
		why := widget.NewLabel(i18n.Message(l.event.Reason))
		why.Wrapping = fyne.TextWrapWord
		head.Add(widgets.On(theme.Wash, why))
	}
	return head
}

// facts are what is known about an event, as lines of a name and a value that can be selected.
func (l *eventDetail) facts() fyne.CanvasObject {
	e, now := l.event, l.screen.env.Now()
	list := widgets.Stack(0)
	add := func(name, value string) {
		if value == "" {
			return
		}
		list.Add(widgets.Across(widgets.Wide(96, widgets.NewCaption(name)), widgets.NewSelectable(value), nil))
	}
	add(lang.L("Package"), nameOf(e))
	add(lang.L("Received"), i18n.Exactly(now, e.Received))
	add(lang.L("Occurred"), i18n.Exactly(now, e.Time))
	add(lang.L("Processed"), i18n.Exactly(now, e.Handled))
	add(lang.L("Verified"), lang.L("Event signature valid for {{.Address}}", i18n.V{"Address": e.URL}))
	if e.Copies > 0 {
		add(lang.L("Received again"), lang.N("{{.PluralCount}} times", e.Copies))
	}
	add(lang.L("Event ID"), e.ID)
	return list
}

func (l *eventDetail) buttons() fyne.CanvasObject {
	again := widgets.NewButtonWithIcon(lang.L("Try again"), fynetheme.ViewRefreshIcon(), nil)
	again.OnTapped = func() { again.Disable(); l.retry(again.Enable) }
	if l.event.Outcome == office.EventPending {
		again.Disable() // it is waiting already
	}
	open := widgets.NewButtonWithIcon(lang.L("Show the package"), fynetheme.StorageIcon(), l.openPackage)
	if l.event.name == "" {
		open.Disable()
	}
	return widgets.Row(8, again, open)
}

func (l *eventDetail) openPackage() {
	if l.event.name != "" {
		l.screen.env.Go.ShowPackage(l.event.PackageID)
	}
}

// retry has the event handled once more; failed is called when that cannot be.
func (l *eventDetail) retry(failed func()) {
	id := l.event.ID
	async.Try(l.screen.env.Work, func(context.Context) error { return l.screen.env.Office.RetryEvent(id) }, func(err error) {
		if err != nil {
			failed()
			l.screen.env.Notice(i18n.Error(err))
		}
		l.screen.Reload()
	})
}

func (l *eventDetail) paper() fyne.CanvasObject {
	copyAll := widgets.NewButtonWithIcon(lang.L("Copy"), fynetheme.ContentCopyIcon(), func() {
		l.screen.env.Copy(l.text())
		l.screen.env.Notice(lang.L("The event was copied."))
	})
	return widgets.Stack(6, widgets.Across(nil, l.form, copyAll), widgets.Card(widgets.Small(l.body)), l.note)
}

// text is the body in the chosen form. A body that is no JSON has only one.
func (l *eventDetail) text() string {
	body := l.event.Body
	if l.form.Chosen() == formPretty {
		var pretty bytes.Buffer
		if json.Indent(&pretty, body, "", "  ") == nil {
			body = pretty.Bytes()
		}
	}
	return strings.ToValidUTF8(string(body), "\uFFFD")
}

func (l *eventDetail) showBody() {
	text := l.text()
	l.note.Hidden = len(text) <= maxShown
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	l.body.SetText(text)
	l.note.Refresh()
}
