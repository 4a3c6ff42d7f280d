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
// it. Once it is there, what was entered before the program ended is there, too, and what was entered since is kept.
func (s *Screen) ShowHealth(issues []agent.Issue) {
	if at := slices.IndexFunc(issues, func(i agent.Issue) bool { return i.ID == agent.IssueKeyring }); at >= 0 {
		s.strip.Say(i18n.Message(issues[at].Message), "", i18n.Action(issues[at].Action), func() { s.act(issues[at]) })
		return
	}
	if s.strip.Visible() {
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
