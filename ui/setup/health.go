package setup

import (
	"context"
	"errors"
	"slices"

	"countersign/internal/agent"
	"countersign/ui/async"
	"countersign/ui/i18n"
)

// ShowHealth says that the keyring is out of reach, without which nothing that is entered can be kept, and what to do about
// it. Once it is there, what was entered before the program ended is there, too, and what was entered since is kept. It also
// says what is wrong with the office's data, for here it may be all that is left of an office.
func (s *Screen) ShowHealth(issues []agent.Issue) {
	if at := slices.IndexFunc(issues, func(i agent.Issue) bool { return i.ID == agent.IssueKeyring }); at >= 0 {
		s.tell(issues[at])
		return
	}
	if at := slices.IndexFunc(issues, agent.Issue.ConcernsData); at >= 0 {
		s.tell(issues[at])
	} else if s.strip.Visible() {
		s.strip.Clear()
		s.hush()
		if s.env.Window.Canvas().Focused() == nil {
			s.Focus()
		}
	}
	a := s.answers
	if a.recalled || a.finished || s.cancel != nil {
		return
	}
	a.recalled = true
	if a.recall(s.env.Office) { // from the local store
		s.showAnswers()
		s.resume()
		s.show(a.at)
	}
	s.keep()
}

// tell says what is wrong, with a button for what can be done about it here.
func (s *Screen) tell(issue agent.Issue) {
	button := ""
	if slices.Contains([]agent.Action{agent.ActRetry, agent.ActUnlock, agent.ActDismiss}, issue.Action) {
		button = i18n.Action(issue.Action)
	}
	s.strip.Say(i18n.Message(issue.Message), "", button, func() { s.act(issue) })
}

// act does what can be done about an issue.
func (s *Screen) act(issue agent.Issue) {
	office := s.env.Office
	async.Try(s.env.Work, func(ctx context.Context) error { return office.Act(ctx, issue) }, func(err error) {
		if err != nil && !errors.Is(err, context.Canceled) {
			s.Say(i18n.Again(err, s.strip.Text()))
		}
	})
}

// hush takes back what was said, unless something runs.
func (s *Screen) hush() {
	if s.cancel == nil {
		s.bar.say("", "")
	}
}
