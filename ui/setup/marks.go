package setup

import (
	"errors"
	"maps"
	"slices"

	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// wrong is what cannot be right in what is typed so far, by the field.
func (s *Screen) wrong() map[string]string {
	wrong := i18n.Findings(s.answers.settings.Check())
	s.address.check(wrong)
	s.registration.check(wrong)
	return wrong
}

// touched takes away the marks of what has become right, and with the last one what the foot says.
func (s *Screen) touched() {
	if s.cancel != nil || s.bar == nil || s.bar.text.Text == "" || len(s.steps) == 0 {
		return
	}
	wrong, any := s.wrong(), false
	for key, field := range s.current().fields {
		if field.IsWrong() {
			field.Wrong(wrong[key])
			any = any || field.IsWrong()
		}
	}
	if !any {
		s.bar.say("", "")
	}
	s.page.Refresh()
}

// right checks what is typed in this step, and shows what is wrong beside its field.
func (s *Screen) right() bool {
	p, wrong := s.current(), s.wrong()
	if p == s.service.step && s.service.kind.Chosen < 0 {
		s.bar.say(theme.MarkProblem, lang.L("Choose a signing service."))
		return false
	}
	all := true
	for key, field := range p.fields {
		field.Wrong(wrong[key])
		all = all && wrong[key] == ""
	}
	s.bar.say("", "")
	s.page.Refresh()
	if !all {
		s.bar.say(theme.MarkProblem, lang.L("Check the marked fields."))
		s.focusWrong()
	}
	return all
}

// focusWrong puts the cursor where the person goes on: into the first field that is wrong.
func (s *Screen) focusWrong() { widgets.FocusWrong(slices.Collect(maps.Values(s.current().fields))) }

// blame shows an error beside the fields it is about, on the step of the first of them.
func (s *Screen) blame(p *step, err error) {
	var config *agent.ConfigError
	if errors.As(err, &config) && s.blameFields(p, config.Fields) {
		s.bar.say(theme.MarkProblem, lang.L("Check the marked fields."))
		s.page.Refresh()
		s.focusWrong()
		return
	}
	text := i18n.Error(err)
	if field := p.fields[p.blame]; field != nil {
		if p.reveal != nil {
			p.reveal()
		}
		field.Wrong(text)
		s.page.Refresh()
		s.focusWrong()
		return
	}
	s.bar.say(theme.MarkProblem, text)
}

// blameFields marks the fields that the wizard has, and reports whether there is one.
func (s *Screen) blameFields(p *step, wrong []office.FieldError) (some bool) {
	for _, f := range wrong {
		at, field := s.find(f.Field)
		if field == nil {
			continue
		}
		if !some && s.steps[at] != p {
			s.show(at)
		}
		some = true
		if reveal := s.steps[at].reveal; reveal != nil {
			reveal()
		}
		field.Wrong(i18n.Message(f.Text))
	}
	return some
}

func (s *Screen) find(key string) (at int, field *widgets.Field) {
	for i, p := range s.steps {
		if f := p.fields[key]; f != nil {
			return i, f
		}
	}
	return 0, nil
}
