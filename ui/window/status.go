package window

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// statusView is the screen that says everything that is wrong, since when and what to do about it, and how the office is
// connected.
type statusView struct {
	window  *Window
	issues  *fyne.Container
	facts   *fyne.Container
	content fyne.CanvasObject
}

func newStatusView(w *Window) *statusView {
	m := &statusView{window: w, issues: widgets.Stack(8), facts: widgets.Stack(10)}
	page := widgets.Stack(16, widgets.NewHeading(lang.L("Status")), m.issues, widgets.NewTitle(lang.L("Overview")), widgets.Card(m.facts))
	m.content = widgets.NewVScroll(widgets.PadHV(20, 16, page))
	return m
}

// Content is what the window shows.
func (m *statusView) Content() fyne.CanvasObject { return m.content }

// Reload reads the status anew.
func (m *statusView) Reload() { m.window.status.Ask() }

func (m *statusView) show(s agent.Status) {
	var cards []fyne.CanvasObject
	if gravest, _ := env.Problem(s.Health); gravest.Message.IsZero() {
		fine, _ := widgets.MarkLine(theme.MarkSigned, lang.L("Everything works."))
		cards = append(cards, widgets.Card(fine))
	}
	for _, issue := range s.Health { // the gravest first
		cards = append(cards, m.issue(issue))
	}
	widgets.Remake(m.issues, cards...)
	widgets.Remake(m.facts, m.factsOf(s)...)
}

// issue is one thing that is wrong, with its one action.
func (m *statusView) issue(issue agent.Issue) fyne.CanvasObject {
	mark, colour := theme.MarkNext, theme.Surface
	switch issue.Severity {
	case agent.Problem:
		mark, colour = theme.MarkProblem, theme.Wash
	case agent.Info:
		mark = theme.MarkLater
	}
	text := widget.NewLabel(i18n.Message(issue.Message))
	text.Wrapping = fyne.TextWrapWord
	since := widgets.NewCaption(i18n.Since(m.window.options.Now(), issue.Since))
	since.Shorten = false
	right := widgets.Row(8, since)
	if word := i18n.Action(issue.Action); word != "" {
		button := widgets.NewButton(word, nil)
		button.OnTapped = func() {
			button.Disable()
			m.window.Act(issue, button.Enable)
		}
		if issue.Severity == agent.Problem {
			button.Importance = widget.HighImportance
		}
		right = widgets.Row(8, since, button)
	}
	return widgets.On(colour, widgets.PadHV(12, 8, widgets.Across(widget.NewIcon(mark.Resource()), text, right)))
}

// leads says whether an action leads to a screen, so that its button can be pressed again at once.
func leads(a agent.Action) bool {
	switch a {
	case agent.ActSignIn, agent.ActSettings, agent.ActFolders, agent.ActChooseFolder, agent.ActReview, agent.ActNetwork:
		return true
	}
	return false
}

// factsOf are lines of a name and how it stands.
func (m *statusView) factsOf(s agent.Status) []fyne.CanvasObject {
	service, public, reported, packages, saved := lang.L("Signing service"), lang.L("Public address"), lang.L("Events"), lang.L("Packages"), lang.L("Saved files")
	column := float32(150)
	for _, name := range []string{service, public, reported, packages, saved} {
		column = max(column, named(name).MinSize().Width)
	}
	line := func(mark theme.Mark, name, value, note string) fyne.CanvasObject {
		what := widgets.Stack(1, widgets.NewFullName(value))
		if note != "" {
			what.Add(widgets.NewFullCaption(note))
		}
		return widgets.Across(widgets.Row(8, widget.NewIcon(mark.Resource()), widgets.Wide(column, named(name))), what, nil)
	}
	account := line(theme.MarkLater, service, lang.L("Not signed in"), "")
	if s.SignedIn {
		account = line(theme.MarkSigned, service, lang.L("Signed in"), s.Account.Email)
	}
	address, where := m.addressOf(s.Tunnel)
	events := lang.N("{{.PluralCount}} events received", s.Events.Received)
	waiting := lang.L("{{.Waiting}} waiting, {{.Odd}} with problems, {{.Refused}} requests blocked",
		i18n.V{"Waiting": s.Events.Pending, "Odd": s.Events.Problems, "Refused": s.Events.Rejected})
	saves := lang.N("{{.PluralCount}} files saved", s.Saves.Done)
	left := lang.L("{{.Waiting}} waiting, {{.Failed}} failed", i18n.V{"Waiting": s.Saves.Pending, "Failed": s.Saves.Failed})
	total := lang.L("{{.Total}} in all, {{.Executed}} fully signed", i18n.V{"Total": s.Packages.Total, "Executed": s.Packages.Executed})
	return []fyne.CanvasObject{account, line(address, public, where, s.Tunnel.URL),
		line(markOf(s.Events.Pending, s.Events.Problems), reported, events, waiting),
		line(markOf(s.Packages.Open, s.Packages.Declined), packages, waitingLine(s.Packages), total),
		line(markOf(s.Saves.Pending, s.Saves.Failed), saved, saves, left)}
}

// named is what a line is about, never cut.
func named(name string) *widgets.Line {
	l := widgets.NewCaption(name)
	l.Shorten = false
	return l
}

func markOf(waiting, wrong int) theme.Mark {
	switch {
	case wrong > 0:
		return theme.MarkProblem
	case waiting > 0:
		return theme.MarkNext
	}
	return theme.MarkSigned
}

// addressOf says how the public address stands.
func (m *statusView) addressOf(t agent.TunnelStatus) (theme.Mark, string) {
	switch {
	case t.Kind == string(office.TunnelNone):
		return theme.MarkLater, lang.L("None. Countersign checks regularly.")
	case t.State == "up" && !t.Since.IsZero():
		return theme.MarkSigned, lang.L("Connected") + " · " + i18n.Since(m.window.options.Now(), t.Since)
	case t.State == "up":
		return theme.MarkSigned, lang.L("Connected")
	case t.State == "connecting":
		return theme.MarkNext, lang.L("Connecting")
	case t.State == "down":
		return theme.MarkProblem, lang.L("Not reachable")
	}
	return theme.MarkLater, lang.L("Not connected")
}
