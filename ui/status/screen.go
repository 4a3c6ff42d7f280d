// Package status is the screen that says how the office stands: one headline, and below it every step of the way to the
// service and back, with what is wrong there, since when, and what to do about it. What is wrong is what health says. A step that
// was tried here adds to that, and never contradicts it.
package status

import (
	"context"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/checks"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

type Office interface {
	Connection(ctx context.Context) []office.Check
	TryConnection(ctx context.Context, show func([]office.Check)) []office.Check
	Hosts() []string
}

// Screen is the status screen. All methods belong to the window's goroutine.
type Screen struct {
	env      *env.Env
	office   Office
	reader   *async.Reader[known]
	content  fyne.CanvasObject
	mark     *widget.Icon
	headline *widgets.Line
	checked  *widgets.Line
	try      *widgets.Button
	parts    [3]*fyne.Container // what is wrong with no step, the way to the service, the way back
	beside   fyne.CanvasObject  // the section of the first one
	allow    fyne.CanvasObject  // the section of the hosts
	hosts    *widgets.Prose
	copy     *widgets.CopyButton

	status  agent.Status
	told    bool // what health says
	known   known
	tried   []office.Check // since somebody turned to the screen
	triedAt time.Time
	cancel  context.CancelFunc // ends what is tried; nil while nothing is
	drawn   []row
}

// known is what is known without trying.
type known struct {
	checks []office.Check
	hosts  []string
}

// row is a step, or something that is wrong with none.
type row struct {
	check office.Check
	issue agent.Issue // zero for none
	note  string
}

func New(d *env.Env, o Office) *Screen {
	s := &Screen{env: d, office: o, mark: widget.NewIcon(theme.MarkLater.Resource()), headline: widgets.NewHeading(""), checked: widgets.NewCaption(""),
		hosts: widgets.NewParagraph("")}
	s.reader = async.NewReader(d.Work, func(ctx context.Context) (known, error) { return known{o.Connection(ctx), o.Hosts()}, nil }, s.show)
	s.try = widgets.NewButton(lang.L("Run all checks"), s.press)
	s.copy = widgets.NewCopyButton(lang.L("Copy"), d.Later, d.Copy, func() string { return s.hosts.Text })
	page := widgets.Stack(20, widgets.Across(widgets.Mark(36, s.mark), widgets.Stack(2, s.headline, s.checked), s.try))
	for i := range s.parts {
		s.parts[i] = widgets.Stack(0)
	}
	s.beside = widgets.Card(s.parts[0])
	page.Add(s.beside)
	page.Add(widgets.Part(lang.L("To the signing service"), 0, widgets.Card(s.parts[1])))
	page.Add(widgets.Part(lang.L("Back to this computer"), 0, widgets.Card(s.parts[2])))
	s.allow = widgets.Part(lang.L("Addresses to allow"), 8, widgets.Across(nil, s.hosts, s.copy),
		widgets.NewProse(lang.L("If a firewall or proxy blocks them, ask your administrator to allow these addresses and to exempt them from inspection.")))
	page.Add(s.allow)
	s.content = widgets.NewVScroll(widgets.PadHV(20, 16, widgets.AtMost(760, page)))
	return s
}

func (s *Screen) Content() fyne.CanvasObject { return s.content }

func (s *Screen) Reload() { s.reader.Ask() }

// Enter reads anew what is known, without what was tried before: somebody turned to the screen.
func (s *Screen) Enter() {
	if s.cancel == nil {
		s.tried = nil
	}
	s.Reload()
}

// ShowStatus shows what health says. How the steps are is read while the screen is shown.
func (s *Screen) ShowStatus(status agent.Status) {
	s.status, s.told = status, true
	s.draw()
	if s.content.Visible() {
		s.Reload()
	}
}

func (s *Screen) show(k known, _ error) {
	s.known = k
	if text := strings.Join(k.hosts, "\n"); text != s.hosts.Text {
		s.copy.Forget()
		s.hosts.Set(text)
	}
	s.draw()
}

func (s *Screen) press() {
	if s.cancel != nil {
		s.cancel()
		return
	}
	s.try.SetText(lang.L("Stop"))
	s.triedAt = s.env.Now()
	work := s.env.Work
	s.cancel = async.Then(work, func(ctx context.Context) ([]office.Check, error) {
		return s.office.TryConnection(ctx, func(steps []office.Check) { work.Do(func() { s.progress(steps) }) }), ctx.Err()
	}, s.ended)
}

func (s *Screen) progress(steps []office.Check) {
	if s.cancel != nil {
		s.tried = steps
		s.draw()
	}
}

func (s *Screen) ended(steps []office.Check, err error) {
	s.cancel, s.tried = nil, steps
	if err != nil { // it was stopped
		s.tried = nil
	}
	s.try.SetText(lang.L("Run all checks"))
	s.Reload()
}

// rows are what is wrong with no step, and then the steps: as they are known or, where that is newer, as they were tried, with
// what health says of them.
func (s *Screen) rows() (list []row) {
	steps := slices.Clone(s.known.checks)
	for i := range steps {
		same := func(c office.Check) bool { return c.Step == steps[i].Step }
		if at := slices.IndexFunc(s.tried, same); at >= 0 && !steps[i].At.After(s.triedAt) {
			steps[i] = s.tried[at]
		}
	}
	steps = agent.WithHealth(steps, s.status.Health)
	for _, i := range s.status.Health { // the gravest first
		if !slices.ContainsFunc(steps, func(c office.Check) bool { return c.Issue == i.ID }) {
			list = append(list, row{check: office.Check{Found: i.Message, At: i.Since}, issue: i})
		}
	}
	for _, c := range steps {
		r := row{check: c, note: s.note(c.Step)}
		if at := slices.IndexFunc(s.status.Health, func(i agent.Issue) bool { return i.ID == c.Issue }); at >= 0 {
			r.issue = s.status.Health[at]
		}
		if c.Found != message.NotTried() || c.Step == message.StepService() || c.Step == message.StepAddress() {
			list = append(list, r)
		}
	}
	return list
}

// note is what is counted of a step; empty for nothing.
func (s *Screen) note(step message.Message) string {
	events, saves := s.status.Events, s.status.Saves
	switch {
	case step == message.StepEvent() && events.Pending+events.Problems+events.Rejected > 0:
		return lang.N("{{.PluralCount}} events received", events.Received) + ": " + lang.L("{{.Waiting}} waiting, {{.Odd}} with problems, {{.Refused}} requests blocked",
			i18n.V{"Waiting": events.Pending, "Odd": events.Problems, "Refused": events.Rejected})
	case step == message.StepEvent():
		return lang.N("{{.PluralCount}} events received", events.Received)
	case step == message.StepDocuments() && saves.Pending+saves.Failed > 0:
		return lang.N("{{.PluralCount}} files saved", saves.Done) + ": " + lang.L("{{.Waiting}} waiting, {{.Failed}} failed", i18n.V{"Waiting": saves.Pending, "Failed": saves.Failed})
	case step == message.StepDocuments():
		return lang.N("{{.PluralCount}} files saved", saves.Done)
	}
	return ""
}

func (s *Screen) draw() {
	if s.known.checks == nil || !s.told { // one of the two is not known yet
		return
	}
	s.checked.Set("")
	switch {
	case s.status.Checking:
		s.checked.Set(lang.L("Checking…"))
	case !s.status.Checked.IsZero():
		s.checked.Set(lang.L("All packages checked {{.When}}", i18n.V{"When": i18n.Clock(s.env.Now(), s.status.Checked)}))
	}
	widgets.Show(s.checked, s.checked.Text != "")
	rows := s.rows()
	if slices.Equal(rows, s.drawn) {
		return
	}
	s.drawn = rows
	mark, text := standing(rows)
	s.mark.SetResource(mark.Resource())
	s.headline.Set(text)
	for i, part := range s.parts {
		part.Objects = nil
		for _, r := range rows {
			if r.part() == i {
				part.Add(s.row(r, len(part.Objects) > 0))
			}
		}
	}
	widgets.Show(s.beside, len(s.parts[0].Objects) > 0)
	widgets.Show(s.allow, s.hosts.Text != "")
	s.content.Refresh()
}

func (r row) part() int {
	switch {
	case r.check.Step.IsZero():
		return 0
	case r.check.Back:
		return 2
	}
	return 1
}

// standing is the headline: everything works when nobody has to do anything. That there is no public address, or that the service wants
// to be left alone for a while, is said in its row.
func standing(rows []row) (theme.Mark, string) {
	problems, limits := 0, false
	for _, r := range rows {
		if r.mark() == theme.MarkProblem && r.check.Found != message.SameReason() {
			problems++
		}
		limits = limits || r.issue.Severity == agent.Warning
	}
	switch {
	case problems > 0:
		return theme.MarkProblem, lang.N("{{.PluralCount}} problems need your attention", problems)
	case limits:
		return theme.MarkNext, lang.L("Works with limits")
	}
	return theme.MarkSigned, lang.L("Everything works")
}

// mark is by how grave it is what health says, else how the step went.
func (r row) mark() theme.Mark {
	switch r.issue.Severity {
	case agent.Problem:
		return theme.MarkProblem
	case agent.Warning:
		return theme.MarkNext
	}
	return checks.MarkOf(r.check.Result)
}

// row leads to where the step is set up, or to what it brought.
func (s *Screen) row(r row, line bool) fyne.CanvasObject {
	when := i18n.Clock(s.env.Now(), r.check.At)
	if r.issue.ID != "" {
		when = i18n.Since(s.env.Now(), r.check.At)
	}
	end := widgets.Row(8, widgets.NewCaption(when).Whole())
	leads := !r.check.Step.IsZero() && r.check.Step != message.StepProxy() && r.check.Step != message.StepProxyNgrok()
	if leads && r.issue.Action == agent.ActNone {
		end.Add(widgets.Mark(16, widget.NewIcon(fynetheme.NewColoredResource(fynetheme.NavigateNextIcon(), theme.Secondary))))
	}
	var content fyne.CanvasObject = widgets.PadHV(4, 8, checks.Row(r.check, r.mark(), r.note, end))
	if leads {
		content = widgets.NewTappable(content, func() { s.env.Go.ShowStep(r.check.Step) })
	}
	if word := i18n.Action(r.issue.Action); word != "" {
		button := widgets.NewButton(word, nil)
		button.OnTapped = func() {
			button.Disable()
			s.env.Go.Act(r.issue, button.Enable)
		}
		content = widgets.Across(nil, content, button)
	}
	if line {
		content = widgets.Stack(0, widget.NewSeparator(), content)
	}
	return content
}
