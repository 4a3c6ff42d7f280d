package activity

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// pageLength is how many events are read at a time.
const pageLength = 200

func same(e, x office.EventRow) bool { return e.ID == x.ID }

// showEvent shows what an event says and its package, and what became of it unless it was processed.
func (s *Screen) showEvent(e office.EventRow, l *line) {
	mark, state := i18n.EventState(e.Event)
	below := packageOf(e)
	if mark != theme.MarkSigned { // its shape already says "signed"
		below += " · " + state
	} else if e.Line.Signer == "" && e.Action != "package_executed" {
		mark = theme.MarkLater
	}
	l.set(says(e), below, e.Received.In(s.env.Now().Location()).Format("15:04"), mark, true) // the head names the day
	if l.title.Bold = e.Line.Signer == "" && mark != theme.MarkLater; mark == theme.MarkLater {
		l.title.Colour = theme.Secondary
	}
	l.mark.Set(e.Line.Signer, mark)
}

// says is an event in a sentence that leaves out its package.
func says(e office.EventRow) string {
	first, _, _ := strings.Cut(i18n.Brief(e.Line.Text), "\n")
	return cmp.Or(strings.TrimSuffix(first, "."), i18n.EventKind(e.Event))
}

// packageOf returns the name of the event's package, its id without a name, or that it belongs to none.
func packageOf(e office.EventRow) string {
	return cmp.Or(e.Line.Package, e.PackageID, lang.L("no package"))
}

// showBlocked shows how many requests were refused, and the last ones.
func (s *Screen) showBlocked(samples []agent.Refusal, total int) {
	list := widgets.Stack(2)
	for _, r := range samples {
		total = max(total, 1+r.More)
		said := i18n.Clock(s.env.Now(), r.Time) + "  " + i18n.Message(r.Reason)
		from := i18n.V{"Address": r.Remote, "N": r.More}
		if r.Remote != "" {
			said += " · " + lang.L("from {{.Address}}", from)
		}
		if r.More > 0 {
			said += " · " + lang.L("and {{.N}} more of this kind", from)
		}
		list.Add(widgets.NewProse(said))
	}
	widgets.Remake(s.blocked)
	if total > 0 {
		widgets.Remake(s.blocked, widgets.NewFold(lang.N("{{.PluralCount}} requests blocked", total), false, list).Object)
	}
}

// maxShown limits the bytes of a body on screen, because laying out more would block the window. Copy takes everything.
const maxShown = 16 << 10

// openEvent shows what an event says, and folded away everything known about it, including its body as received.
func (s *Screen) openEvent(e office.EventRow) {
	var pop *widgets.PopUp
	_, state := i18n.EventState(e.Event)
	facts := widgets.Stack(0)
	add := func(name, value string) {
		if value != "" {
			facts.Add(widgets.Across(widgets.Column(112, widgets.NewCaption(name)), widgets.NewSelectable(value), nil))
		}
	}
	now := s.env.Now()
	add(lang.L("State"), state)
	add(lang.L("Occurred"), i18n.Exactly(now, e.Time))
	add(lang.L("Received"), i18n.Exactly(now, e.Received))
	if e.Copies > 0 {
		add(lang.L("Received again"), lang.N("{{.PluralCount}} times", e.Copies))
	}
	add(lang.L("Processed"), i18n.Exactly(now, e.Handled))
	add(lang.L("Verified"), lang.L("Event signature valid for {{.Address}}", i18n.V{"Address": e.URL}))
	add(lang.L("Event ID"), e.ID)
	shown, whole := bodyOf(e.Body)
	body := widgets.NewSelectable(shown)
	body.TextStyle = fyne.TextStyle{Monospace: true}
	facts.Add(widgets.PadHV(0, 8, widgets.Card(widgets.Small(body))))
	if !whole {
		facts.Add(widgets.NewCaption(lang.L("Only the beginning is shown. Copy includes everything.")))
	}
	facts.Add(widgets.Row(0, widgets.NewButton(lang.L("Copy"), func() { s.env.Copy(text(e.Body)); s.env.Notice(lang.L("Copied.")) })))
	leave := widgets.NewButton(lang.L("Close"), func() { pop.Close() })
	buttons := widgets.Row(8, layout.NewSpacer())
	if e.Outcome == office.EventUnprocessable {
		buttons.Add(widgets.NewButton(lang.L("Try again"), func() { pop.Close(); s.retry(e.ID) }))
	}
	if e.Line.Package != "" {
		show := widgets.NewButton(lang.L("Show the package"), func() { pop.Close(); s.env.Go.ShowPackage(e.PackageID) })
		show.Primary()
		buttons.Add(show)
	}
	buttons.Add(leave)
	page := widgets.Stack(16, widgets.Stack(4, widgets.NewFullHeading(says(e)), widgets.NewProse(packageOf(e)+" · "+i18n.Clock(now, cmp.Or(e.Time, e.Received)))))
	if !e.Reason.IsZero() {
		page.Add(widgets.NewParagraph(i18n.Message(e.Reason)))
	}
	page.Add(widgets.NewFold(lang.L("Technical details"), false, facts).Object)
	page.Add(buttons)
	pop = widgets.Open(s.env.Window.Canvas(), widgets.Pad(20, page), fyne.NewSize(560, 0), leave, nil)
}

// retry processes an event again.
func (s *Screen) retry(id string) {
	s.env.Attempt(func(context.Context) error { return s.office.RetryEvent(id) }, s.Reload)
}

func text(body []byte) string { return strings.ToValidUTF8(string(body), "\uFFFD") }

// bodyOf returns a body indented, or unchanged if it is not JSON, and whether it is complete.
func bodyOf(body []byte) (shown string, whole bool) {
	shown = text(body)
	var pretty bytes.Buffer
	if json.Indent(&pretty, body, "", "  ") == nil {
		shown = text(pretty.Bytes())
	}
	if len(shown) <= maxShown {
		return shown, true
	}
	return strings.ToValidUTF8(shown[:maxShown], "") + "…", false
}
