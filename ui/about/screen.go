// Package about is the help screen: how the work is done, the keys, what this program is and where its data lies, and a text for
// remote support. It only reads; it changes nothing of the office.
package about

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/keys"
	"countersign/ui/theme"
	"countersign/ui/widgets"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"
)

type Office interface {
	About() agent.About
	Diagnostics(ctx context.Context) string
	// RecordState returns the record's state, with the line that identifies it.
	RecordState() (office.Record, error)
	// Verify reports what is known about any files.
	Verify(ctx context.Context, paths []string, after string, tell func(office.Verified) error) error
}

// Screen is the help screen. Only the UI goroutine may call its methods.
type Screen struct {
	env     *env.Env
	office  Office
	reader  *async.Reader[agent.About]
	content fyne.CanvasObject
	about   agent.About

	version, data, log *widgets.Prose
	update             *widgets.Prose // says that there is a newer version; otherwise empty
	diagnostics        *widgets.CopyButton
	fingerprint        *widgets.CopyButton
	verifying          *widgets.PopUp // the last verification; nil before the first
}

// New returns the screen; Reload adds what the office knows.
func New(d *env.Env, o Office) *Screen {
	s := &Screen{env: d, office: o, version: value(), data: value(), log: value(), update: widgets.NewFullCaption("")}
	s.update.Hide()
	s.diagnostics = widgets.NewCopyButton(lang.L("Copy diagnostics"), d.Later, nil, nil)
	s.diagnostics.Button.OnTapped = s.copyDiagnostics
	s.reader = async.NewReader(d.Work, func(context.Context) (agent.About, error) { return o.About(), nil }, s.show)
	head := widgets.PadHV(20, 16, widgets.AtMost(760, widgets.NewHeading(lang.L("Help"))))
	parts := widgets.Stack(16, s.help(), s.proof(), bindings(), s.facts(), layout.NewSpacer())
	s.content = container.NewBorder(head, nil, nil, nil, widgets.NewVScroll(widgets.PadHV(20, 4, widgets.AtMost(760, parts))))
	return s
}

func (s *Screen) Content() fyne.CanvasObject { return s.content }

// Reload reads the locations, off the UI goroutine.
func (s *Screen) Reload() { s.reader.Ask() }

func (s *Screen) show(a agent.About, _ error) {
	s.about = a
	s.version.Set(a.Version)
	s.data.Set(a.DataDir)
	s.log.Set(a.LogFile)
}

// ShowUpdate shows next to the version that there is a newer one.
func (s *Screen) ShowUpdate(known office.Update) {
	s.update.Hidden = !known.Newer
	if known.Newer {
		s.update.Set(i18n.Message(message.UpdateAvailable(known.Newest)))
	}
	s.content.Refresh()
}

func (s *Screen) help() fyne.CanvasObject {
	steps := widgets.Stack(2)
	for _, step := range []struct {
		mark theme.Mark
		text string
	}{
		{theme.MarkDrop, lang.L("Drop documents on Packages or Send, add signers, and send.")},
		{theme.MarkNext, lang.L("The service e-mails the signers. Packages shows who is next.")},
		{theme.MarkSaved, lang.L("When everyone has signed, the documents are saved in your folder.")},
		{theme.MarkProblem, lang.L("If something is wrong, Status says what to do.")},
	} {
		steps.Add(widgets.PadHV(0, 4, widgets.Across(widget.NewIcon(step.mark.Resource()), widgets.NewParagraph(step.text), nil)))
	}
	return widgets.Section(lang.L("How it works"), 8, steps)
}

// bindings lists the keys, in groups.
func bindings() fyne.CanvasObject {
	columns := [2]*fyne.Container{widgets.Stack(20), widgets.Stack(20)}
	for i, group := range keys.Groups() {
		lines := widgets.Stack(6)
		for _, e := range group.Entries {
			lines.Add(widgets.Across(nil, widgets.NewParagraph(e.Does), caps(e.Binding)))
		}
		columns[[...]int{0, 1, 1, 0}[i]].Add(widgets.Part(group.Title, 0, lines))
	}
	return widgets.Section(lang.L("Keyboard shortcuts"), 8, widgets.Halves(columns[0], columns[1]))
}

func caps(b keys.Binding) fyne.CanvasObject {
	var caps []fyne.CanvasObject
	for name := range strings.SplitSeq(b.Name(), "+") {
		line := widgets.NewCaption(name).Whole()
		line.Colour, line.Centred = theme.Text, true
		back := widgets.NewBack(theme.Calm)
		back.Outline(theme.Line)
		caps = append(caps, container.NewStack(back, widgets.PadHV(7, 3, widgets.Wide(12, line))))
	}
	return widgets.Row(3, caps...)
}

func (s *Screen) facts() fyne.CanvasObject {
	open := widgets.NewButton(lang.L("Open folder"), func() { s.env.OpenFile(s.about.DataDir) })
	show := widgets.NewButton(lang.L("Show in folder"), func() { s.env.ShowInFolder(s.about.LogFile) })
	note := widgets.NewProse(lang.L("Diagnostics are your settings and status as text for support. They contain no passwords, keys or documents."))
	return widgets.Section(lang.L("About Countersign"), 8,
		fact(lang.L("Version"), widgets.Stack(2, s.version, s.update), nil),
		fact(lang.L("Data folder"), s.data, open),
		fact(lang.L("Log"), s.log, show),
		widgets.Across(nil, note, s.diagnostics))
}

func (s *Screen) copyDiagnostics() {
	async.Then(s.env.Work, func(ctx context.Context) (string, error) { return s.office.Diagnostics(ctx), nil },
		func(text string, _ error) {
			s.env.Copy(text)
			s.diagnostics.Say()
		})
}

func value() *widgets.Prose { return widgets.NewFullName("") }

func fact(name string, value, action fyne.CanvasObject) fyne.CanvasObject {
	label := widgets.NewLine(name)
	label.Colour = theme.Secondary
	return widgets.Across(widgets.Wide(120, label), value, action)
}

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
