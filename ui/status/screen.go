// Package status is the screen that shows how the office is doing: one headline, and below it the stages of the way to the service
// and back, with what is wrong there, since when, and what to do about it. What is wrong comes from health. A check started here
// adds to that and never contradicts it.
package status

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

type Office interface {
	Connection(ctx context.Context) []office.Check
	TryEverything(ctx context.Context, show func([]office.Check)) []office.Check
	Hosts() []string
	CheckNow() error
	HotFolders() ([]office.HotFolderRow, error)
}

// parts are the rows that always exist. Each covers some checks and is named after the last one, whose result it shows when nothing
// is wrong.
var parts = [...][]message.Message{
	{message.StepProxyNgrok(), message.StepProxy()},
	{message.StepSignInAddress(), message.StepService()},
	{message.StepSignIn()},
	{message.StepNgrokName(), message.StepNgrokConnect(), message.StepNgrokTLS(), message.StepNgrokTunnel(), message.StepAddress()},
	{message.StepEndpoint(), message.StepEvent()},
	{message.StepDocuments()},
}

// back is the first part of the way back from the service.
const back = 3

// Screen is the status screen. Only the UI goroutine may call its methods.
type Screen struct {
	env      *env.Env
	office   Office
	reader   *async.Reader[known]
	content  *container.Scroll
	mark     *widget.Icon
	headline *widgets.Prose
	checked  *widgets.Line
	try      *widgets.Button
	cards    [4]*fyne.Container // what is wrong or limited, notes, the way to the service, and the way back
	around   [4]fyne.CanvasObject
	allow    fyne.CanvasObject // the hosts to allow
	hosts    *widgets.Prose
	copy     *widgets.CopyButton

	status  agent.Status
	told    bool // whether status has been read
	known   known
	tried   []office.Check // checks since the screen was opened
	triedAt time.Time
	cancel  context.CancelFunc // cancels the running checks; nil if none
	drawn   []row
}

// known is what is known without checking.
type known struct {
	checks []office.Check
	hosts  []string
}

// row is a part, or an issue that belongs to none.
type row struct {
	name   message.Message // zero without a part
	check  office.Check
	issue  agent.Issue // zero without an issue
	card   int
	failed int    // how many failed
	note   string // failed and waiting counts, appended to the finding
	end    string // a time or an amount
	trying bool   // the service is being asked again
}

func New(d *env.Env, o Office) *Screen {
	s := &Screen{env: d, office: o, mark: widget.NewIcon(theme.MarkLater.Resource()), headline: widgets.NewFullHeading(lang.L("Checking…")), checked: widgets.NewCaption(""),
		hosts: widgets.NewParagraph("")}
	s.reader = async.NewReader(d.Work, func(ctx context.Context) (known, error) { return known{o.Connection(ctx), o.Hosts()}, nil }, s.show)
	s.try = widgets.NewButton(lang.L("Run all checks"), s.press)
	s.copy = widgets.NewCopyButton(lang.L("Copy"), d.Later, d.Copy, func() string { return s.hosts.Text })
	s.headline.Most = 0
	page := widgets.Stack(20, widgets.Aside(widgets.Scaled(380), widgets.Across(widgets.Mark(36, s.mark), widgets.Stack(2, s.headline, s.checked), nil), widgets.Row(0, s.try)))
	for i, title := range []string{"", "", lang.L("Sending"), lang.L("Receiving")} {
		s.cards[i] = widgets.Stack(0)
		if s.around[i] = widgets.Card(s.cards[i]); title != "" {
			s.around[i] = widgets.Part(title, 0, s.around[i])
		}
		page.Add(s.around[i])
	}
	s.allow = widgets.NewFold(lang.L("Addresses to allow"), false, widgets.Stack(8, widgets.Across(nil, s.hosts, s.copy),
		widgets.NewProse(lang.L("If a firewall or proxy blocks them, ask your administrator to allow these addresses and to exempt them from inspection.")))).Object
	page.Add(s.allow)
	s.content = widgets.NewVScroll(widgets.PadHV(20, 16, widgets.AtMost(760, page)))
	s.draw()
	return s
}

func (s *Screen) Content() fyne.CanvasObject { return s.content }

func (s *Screen) Reload() { s.reader.Ask() }

// Enter is called when the screen is opened: it begins at the top, forgets earlier checks and reads everything again.
func (s *Screen) Enter() {
	s.content.ScrollToTop()
	if s.cancel == nil {
		s.tried, s.known.checks = nil, nil
		s.draw()
	}
	s.Reload()
}

// ShowStatus shows the issues from health. The parts' checks are read only while the screen is shown.
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
	async.Try(work, func(context.Context) error { return s.office.CheckNow() }, func(error) {}) // its row shows any error
	s.cancel = async.Then(work, func(ctx context.Context) ([]office.Check, error) {
		return s.office.TryEverything(ctx, func(steps []office.Check) { work.Do(func() { s.progress(steps) }) }), ctx.Err()
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
	if err != nil { // stopped
		s.tried = nil
	}
	s.try.SetText(lang.L("Run all checks"))
	s.draw()
	s.Reload()
}

// steps returns the checks as known, or as run here if newer. One waiting to run keeps its text but counts as under way; before
// anything is known, all are empty.
func (s *Screen) steps() []office.Check {
	steps := slices.Clone(s.known.checks)
	if steps == nil {
		for _, step := range slices.Concat(parts[:]...) {
			steps = append(steps, office.Check{Step: step})
		}
	}
	for i := range steps {
		at := slices.IndexFunc(s.tried, func(c office.Check) bool { return c.Step == steps[i].Step })
		switch {
		case at < 0 || steps[i].At.After(s.triedAt):
		case s.cancel != nil && (s.tried[at].Found == message.BeingTried() || s.tried[at].Found == message.NotTried()):
			steps[i].Result = office.CheckUnderWay
		default:
			if steps[i] = s.tried[at]; steps[i].Step == message.StepService() {
				steps[i].At = s.triedAt
			}
		}
	}
	return agent.WithHealth(steps, s.status.Health)
}

// gravity ranks a part's checks: the highest speaks for the part.
func gravity(c office.Check) int {
	switch {
	case c.Result == office.CheckWrong && c.Issue != "": // health knows the cause of what a check found
		return 4
	case c.Result == office.CheckWrong:
		return 3
	case c.Issue != "":
		return 2
	case c.Result == office.CheckUnderWay:
		return 1
	}
	return 0
}

func (s *Screen) rows() (list []row) {
	steps := s.steps()
	for i, of := range parts {
		r := row{name: of[len(of)-1], card: 2 + i/back}
		for _, step := range of {
			at := slices.IndexFunc(steps, func(c office.Check) bool { return c.Step == step })
			if at >= 0 && (gravity(steps[at]) > gravity(r.check) || gravity(steps[at]) == 0 && gravity(r.check) == 0) {
				r.check = steps[at]
			}
		}
		if r.check.Step.IsZero() { // there is nothing to check
			continue
		}
		s.tell(&r)
		list = append(list, r)
	}
	for _, i := range s.status.Health { // gravest first
		if at := slices.IndexFunc(list, func(r row) bool { return r.check.Issue == i.ID }); at >= 0 {
			list[at].issue = i
			continue
		}
		list = append(list, row{check: office.Check{Found: i.Message, At: i.Since, Issue: i.ID}, issue: i})
	}
	for i := range list {
		r := &list[i]
		if rank := r.rank(); rank < len(above) {
			r.card = rank / 2
		}
		r.trying = r.issue.ID == agent.IssueService && s.status.Checking
	}
	slices.SortStableFunc(list, func(a, b row) int { return a.rank() - b.rank() })
	return list
}

// above are the marks of rows shown above the parts, gravest first: what is wrong or limited in one card, notes in the next.
var above = [...]theme.Mark{theme.MarkProblem, theme.MarkNext, theme.MarkNote}

// rank orders the rows within a card.
func (r row) rank() int {
	if at := slices.Index(above[:], r.mark()); at >= 0 {
		return at
	}
	return len(above)
}

// tell adds a part's counts and since when it has been in its state.
func (s *Screen) tell(r *row) {
	now, at, events, saves := s.env.Now(), r.check.At, s.status.Events, s.status.Saves
	waits := 0
	switch {
	case !s.told:
		return
	case r.name == message.StepService() && !at.IsZero():
		r.end = lang.L("checked {{.When}}", i18n.V{"When": i18n.Clock(now, at)})
	case r.name == message.StepAddress():
		r.end = i18n.Since(now, at)
	case r.name == message.StepEvent():
		waits, r.failed = events.Pending, events.Problems
		if !at.IsZero() {
			r.end = lang.L("last {{.When}}", i18n.V{"When": i18n.Clock(now, at)})
		}
	case r.name == message.StepDocuments():
		if waits, r.failed = saves.Pending, saves.Failed; saves.Done > 0 {
			r.end = lang.N("{{.PluralCount}} files saved", saves.Done)
		}
	}
	if r.check.Issue != "" && r.check.Result == office.CheckWrong { // it says how many
		waits, r.failed = 0, 0
	}
	if waits > 0 {
		r.note = " · " + lang.L("{{.N}} waiting", i18n.V{"N": waits})
	}
	if r.failed > 0 {
		r.note += " · " + lang.L("{{.N}} failed", i18n.V{"N": r.failed})
	}
	if r.check.Result == office.CheckUnderWay {
		r.end = lang.L("Checking…")
	} else if r.check.Issue != "" {
		if r.end = i18n.Since(now, at); r.check.Issue == agent.IssueService && !s.status.Tried.IsZero() {
			r.end = lang.L("tried {{.When}}, next {{.Next}}", i18n.V{"When": i18n.Clock(now, s.status.Tried), "Next": i18n.Clock(now, s.status.Next)})
		}
	}
}

func (s *Screen) draw() {
	s.checked.Set("")
	switch {
	case s.status.Checking:
		s.checked.Set(lang.L("Checking…"))
	case !s.status.Checked.IsZero():
		s.checked.Set(lang.L("All packages checked {{.When}}", i18n.V{"When": i18n.Clock(s.env.Now(), s.status.Checked)}))
	}
	widgets.Show(s.checked, s.checked.Text != "")
	rows := s.rows()
	if s.drawn != nil && slices.Equal(rows, s.drawn) {
		return
	}
	s.drawn = rows
	mark, text := standing(rows)
	if s.known.checks == nil || !s.told { // not both are known yet
		mark, text = theme.MarkLater, lang.L("Checking…")
	}
	s.mark.SetResource(mark.Resource())
	s.headline.Set(text)
	for i, card := range s.cards {
		card.Objects = nil
		for _, r := range rows {
			if r.card == i {
				if len(card.Objects) > 0 {
					card.Add(widget.NewSeparator())
				}
				card.Add(s.row(r, i == 0 && len(card.Objects) == 0))
			}
		}
		widgets.Show(s.around[i], len(card.Objects) > 0)
	}
	widgets.Show(s.allow, s.hosts.Text != "")
	s.content.Refresh()
}

// standing returns the headline. Issues that need nobody, such as having no public address, are described in their rows but count
// here, because not everything is fine.
func standing(rows []row) (theme.Mark, string) {
	problems, limits, notes := 0, false, 0
	var limited []string
	for _, r := range rows {
		if r.mark() == theme.MarkProblem && r.check.Found != message.SameReason() {
			problems++
		}
		if r.issue.Severity == agent.Warning {
			limits = true
			if name := i18n.Message(r.name); name != "" {
				limited = append(limited, name)
			}
		}
		if r.mark() == theme.MarkNote {
			notes++
		}
	}
	switch {
	case problems > 0:
		return theme.MarkProblem, lang.N("{{.PluralCount}} problems need your attention", problems)
	case len(limited) > 0:
		return theme.MarkNext, lang.L("Works, except for: {{.Parts}}", i18n.V{"Parts": strings.Join(limited, ", ")})
	case limits:
		return theme.MarkNext, lang.L("Not everything works")
	case notes > 0:
		return theme.MarkSigned, lang.N("Works, with {{.PluralCount}} notes", notes)
	}
	return theme.MarkSigned, lang.L("Everything works")
}

// mark depends on the issue's severity, otherwise on the check's result.
func (r row) mark() theme.Mark {
	switch {
	case r.issue.Severity == agent.Problem:
		return theme.MarkProblem
	case r.issue.Severity == agent.Warning:
		return theme.MarkNext
	case r.issue.ID == "" && r.check.Result == office.CheckWrong:
		return theme.MarkProblem
	case r.issue.ID != "" || r.failed > 0:
		return theme.MarkNote
	case r.check.Result == office.CheckFine:
		return theme.MarkSigned
	}
	return theme.MarkLater
}

// row draws a part with the finding below its name, but a problem with what to do, and where it is, below the finding. Pressing a
// part opens its settings, or its results. Only one button is filled: the first problem's.
func (s *Screen) row(r row, first bool) fyne.CanvasObject {
	text, next := i18n.Words().Lines(r.check.Found)
	if r.name == message.StepEvent() && r.check.Result == office.CheckFine {
		text = lang.N("{{.PluralCount}} events received", s.status.Events.Received)
	}
	name, end, problem := i18n.Message(r.name), cmp.Or(r.end, i18n.Since(s.env.Now(), r.issue.Since)), r.rank() < 2 && r.check.Found != message.SameReason()
	title, found, below := widgets.NewParagraph(name), text+r.note, next
	switch title.Bold = problem; {
	case problem:
		title.Text, below, end = found, next+"\n"+strings.Trim(name+" · "+end, " ·"), ""
	case name == "":
		title.Text = found
	default:
		below = found + "\n" + next
	}
	more := widgets.NewProse(strings.Trim(below, "\n ·"))
	more.Hidden = more.Text == "" && name == "" // a part keeps its height until it is known
	what := widgets.Stack(2, title, more)
	word := i18n.Action(r.issue.Action)
	leads := !r.name.IsZero() && r.name != message.StepProxy()
	side := widgets.Row(4, widgets.NewCaption(end).Whole())
	if leads && word == "" {
		side.Add(widgets.Mark(18, widget.NewIcon(fynetheme.NewColoredResource(fynetheme.MenuExpandIcon(), theme.Secondary))))
	}
	var content fyne.CanvasObject = widgets.PadHV(4, 8, widgets.Across(widgets.Row(0, widgets.Mark(20, widget.NewIcon(r.mark().Resource()))), what, side))
	if leads {
		content = widgets.NewTappable(content, func() {
			if r.issue.Action == agent.ActDismiss { // Packages shows of what
				s.env.Go.Act(agent.Issue{Action: agent.ActReview}, nil)
				return
			}
			s.env.Go.ShowStep(r.name)
		})
	}
	if word != "" {
		button := widgets.NewButton(word, nil)
		if first {
			button.Primary()
		}
		button.OnTapped = func() {
			button.Disable()
			s.env.Go.Act(r.issue, button.Enable)
		}
		if r.trying {
			button.SetText(i18n.Message(message.BeingTried()))
			button.Disable()
		}
		var buttons fyne.CanvasObject = button
		switch r.issue.ID {
		case agent.IssueNotSent:
			buttons = widgets.Row(4, widgets.NewButton(lang.L("Show in folder"), s.showNotSent).Quiet(), button)
		case agent.IssueWrong, agent.IssueAstray:
			show := widgets.NewButton(i18n.Action(agent.ActReview), func() { s.env.Go.Act(agent.Issue{Action: agent.ActReview}, nil) })
			if first {
				show.Primary()
			}
			button.Quiet()
			buttons = widgets.Row(4, button, show)
		}
		content = widgets.Across(nil, content, buttons)
	}
	return content
}

// showNotSent opens what watched folders could not send.
func (s *Screen) showNotSent() {
	env.Get(s.env, func(context.Context) ([]office.HotFolderRow, error) { return s.office.HotFolders() }, func(folders []office.HotFolderRow) {
		for _, f := range folders {
			if f.Refused > 0 {
				s.env.OpenFile(filepath.Join(f.Path, office.HotProblems))
			}
		}
	})
}
