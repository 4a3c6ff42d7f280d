package settings

import (
	"context"
	"path/filepath"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// preview shows, while the pattern is typed, what a file of a real package would be called.
type preview struct {
	mark    *widget.Icon // that there is an example
	screen  *Screen
	content fyne.CanvasObject
	line    *widgets.Prose
	asked   office.Settings
	turn    int // of the question asked last; answers to earlier ones are dropped
}

func newPreview(s *Screen) *preview {
	p := &preview{screen: s, line: widgets.NewFullName(""), mark: widget.NewIcon(theme.MarkSaved.Resource())}
	label := widgets.NewCaption(lang.L("Example from the latest package"))
	label.Colour = theme.Text
	p.content = widgets.Stack(4, label, widgets.Across(p.mark, p.line, nil))
	return p
}

// ask previews what is shown now.
func (p *preview) ask() {
	settings, office := p.screen.settings(), p.screen.env.Office
	if settings.NameTemplate == p.asked.NameTemplate && settings.SaveTo == p.asked.SaveTo {
		return
	}
	p.asked = settings
	p.turn++
	turn := p.turn
	async.Then(p.screen.env.Work, func(context.Context) (string, error) { return office.PreviewName(settings) },
		func(name string, err error) {
			if turn == p.turn {
				p.show(settings, name, err)
			}
		})
}

func (p *preview) show(settings office.Settings, name string, err error) {
	field := p.screen.form.by[office.FieldTemplate].field
	p.mark.Hidden = err != nil
	p.content.Refresh()
	if err != nil {
		p.line.Set(lang.L("no example: the pattern is incomplete"))
		field.Wrong(i18n.Pattern(i18n.Error(err)))
		return
	}
	p.line.Set(filepath.Join(filepath.Base(settings.SaveTo), filepath.FromSlash(name)))
}

// Preview is the name that is shown.
func (s *Screen) Preview() string { return s.preview.line.Text }
