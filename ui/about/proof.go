package about

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// proof is where people verify documents, and copy the line that identifies the record.
func (s *Screen) proof() fyne.CanvasObject {
	s.fingerprint = widgets.NewCopyButton(lang.L("Copy fingerprint"), s.env.Later, nil, nil)
	s.fingerprint.Button.OnTapped = func() {
		env.Get(s.env, func(context.Context) (office.Record, error) { return s.office.RecordState() }, func(r office.Record) {
			s.env.Copy(r.Line)
			s.fingerprint.Say()
		})
	}
	verify := widgets.NewButton(lang.L("Verify documents…"), func() {
		browse.Any(s.env, lang.L("Verify documents…"), lang.L("Verify"), s.Verify)
	})
	return widgets.Section(lang.L("Proof"), 8,
		widgets.Across(nil, widgets.NewProse(lang.L("See whether files are as Countersign sent or saved them. You can also drop them here.")), verify),
		widgets.Across(nil, widgets.NewProse(lang.L("The fingerprint is a short code for everything recorded so far. Mail it to someone now and then: it proves later that nothing was changed.")), s.fingerprint))
}

// mostShown limits how many documents are listed; the rest are counted.
const mostShown = 200

// Verify shows the result for each document as soon as it is known. A stopped verification continues after the last result.
func (s *Screen) Verify(paths []string) {
	window, list, count := s.env.Window.Canvas(), widgets.Stack(12), widgets.NewCaption("")
	scroll := widgets.NewVScroll(list) // as high as what it holds, up to half of the window
	checked, wrong, last := 0, 0, ""
	show := func(v office.Verified) {
		if checked, last = checked+1, v.Path; v.Wrong() {
			wrong++
		}
		if len(list.Objects) < mostShown || v.Wrong() && wrong < mostShown {
			name, text := widgets.NewFullName(filepath.Base(v.Path)), widgets.NewParagraph(i18n.Message(v.Text()))
			name.Bold = true
			at := len(list.Objects)
			if v.Wrong() { // before all that are fine
				text.Colour, at = theme.Attention, min(at, wrong-1)
			}
			list.Objects = slices.Insert(list.Objects, at, fyne.CanvasObject(widgets.Beside(widgets.Mark(20, widget.NewIcon(markOf(v).Resource())), widgets.Stack(2, name, text))))
			list.Refresh()
			scroll.SetMinSize(fyne.NewSize(0, min(list.MinSize().Height, window.Size().Height/2)))
			s.verifying.Refresh()
		}
	}
	var stop context.CancelFunc // nil unless verifying
	var press *widgets.Button
	run := func() {
		after := last
		count.Set(lang.L("Verifying…"))
		press.SetText(lang.L("Stop"))
		stop = async.Try(s.env.Work, func(ctx context.Context) error {
			return s.office.Verify(ctx, paths, after, func(v office.Verified) error {
				s.env.Work.Do(func() { show(v) })
				return nil
			})
		}, func(err error) {
			stop = nil
			text := lang.N("{{.PluralCount}} files checked", checked)
			if wrong > 0 {
				text += " · " + lang.N("{{.PluralCount}} problems need your attention", wrong)
			}
			if press.SetText(lang.L("Continue")); errors.Is(err, context.Canceled) {
				text += " · " + lang.L("stopped")
			} else if widgets.Show(press, err != nil); err != nil {
				text = i18n.Error(err)
			}
			count.Set(text)
		})
	}
	press = widgets.NewButton("", func() {
		if stop != nil {
			stop()
		} else {
			run()
		}
	}).Quiet()
	leave := widgets.NewButton(lang.L("Close"), func() { s.verifying.Close() })
	if s.verifying != nil {
		s.verifying.Close()
	}
	s.verifying = widgets.Open(window, widgets.Pad(20, widgets.Stack(16, widgets.Stack(4, widgets.NewHeading(lang.L("Verification")), count), scroll,
		widgets.Row(8, layout.NewSpacer(), press, leave))), fyne.NewSize(widgets.Most(window).Width, 0), leave, func() {
		if stop != nil {
			stop()
		}
	})
	run()
}

func markOf(v office.Verified) theme.Mark {
	switch {
	case v.Wrong():
		return theme.MarkProblem
	case v.Seal.State == office.SealIntact:
		return theme.MarkSealed
	case v.Known == office.KnownSaved || v.Known == office.KnownSent:
		return theme.MarkSaved
	}
	return theme.MarkLater
}
