package setup

import (
	"context"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/i18n"
	"countersign/ui/theme"
)

// PickFile lets the person choose the file that an administrator has made.
func (s *Screen) PickFile() {
	if s.cancel == nil {
		browse.One(s.env, lang.L("Open a file from your administrator"), lang.L("Settings"), agent.OfficeEnding, s.OpenFile)
	}
}

// PickMove lets the person choose the file that another computer has made for this one.
func (s *Screen) PickMove() {
	if s.cancel == nil {
		browse.One(s.env, lang.L("Bring over from another computer"), lang.L("Office from another computer"), agent.OfficeEnding, s.OpenFile)
	}
}

// OpenFile fills the wizard with the file of an administrator and shows its first step, so that the person sees which service
// it is before anything is asked or kept. A file that cannot be used changes nothing.
//
// That of another computer, which is to bring its office over, asks for its password.
func (s *Screen) OpenFile(path string) {
	office := s.env.Office
	if s.cancel == nil && !s.answers.finished && agent.IsMove(path) {
		s.hush() // what was said of an earlier file
		newBring(s, path)
		return
	}
	async.Then(s.env.Work, func(context.Context) (agent.OfficeFile, error) { return office.ReadOffice(path) },
		func(file agent.OfficeFile, err error) {
			switch {
			case s.cancel != nil || s.answers.finished: // the settings are on their way
				s.bar.say(theme.MarkProblem, lang.L("The file was not opened, because something is still running."))
			case err != nil:
				s.bar.say(theme.MarkProblem, i18n.Error(err))
			default:
				s.take(file)
			}
		})
}

func (s *Screen) take(file agent.OfficeFile) {
	a := s.answers
	a.settings = file.Into(a.settings)
	if file.ClientSecret != "" {
		a.secrets.ClientSecret = file.ClientSecret
	}
	s.showAnswers()
	a.reached = 0
	s.show(0)
	s.keep()
	s.bar.say(theme.MarkSaved, lang.L("The file is open. Go through the steps and check what was filled in."))
}
