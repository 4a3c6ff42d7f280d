package setup

import (
	"context"
	"reflect"

	"countersign/internal/agent"
	"countersign/ui/async"
)

// resume goes to where the person was when the program ended, but not beyond the folder: after it there are settings.
func (s *Screen) resume() {
	a := s.answers
	for i, p := range s.steps[:len(s.steps)-1] {
		if p.key == a.step && a.reached == 0 {
			a.at, a.reached = i, i
		}
	}
}

// keep has the office keep what was entered, where that has changed, beside the window's goroutine. Where it cannot, the
// answers are in memory still.
func (s *Screen) keep() {
	a := s.answers
	now := a.entered()
	if a.finished || len(s.steps) == 0 || reflect.DeepEqual(now, a.kept) {
		return
	}
	a.kept = now
	office := s.env.Office
	async.Try(s.env.Work, func(context.Context) error { return office.KeepFirstRun(now) }, func(err error) {
		if err != nil && reflect.DeepEqual(a.kept, now) {
			a.kept = agent.FirstRun{} // next time
		}
	})
}

// showAnswers shows the answers in the fields of all steps.
func (s *Screen) showAnswers() {
	for _, show := range s.bound {
		show()
	}
	s.folder.show()
}
