// Package setup is the wizard of the first run: the service, the public address, the return address, the registration,
// the folder, the sign-in. Each step is one question and is checked before the next, what is wrong stands beside its field,
// and nothing typed is lost by going back, by looking at the demo or by the end of the program. Who does not know an answer
// gets a letter for the administrator, who may answer with a file. The wizard hands the settings to the office as a whole,
// after the folder; it does not know how anything is done.
package setup

import (
	"cmp"
	"context"
	"errors"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// Ways lead out of the wizard.
type Ways struct {
	Done func()                 // the office is set up, signed in or not
	Demo func() (cancel func()) // starts the demo in this window; nil where there is none
}

// step is one page.
type step struct {
	key               string // for the office, which keeps where the person was
	name, title, text string
	content           fyne.CanvasObject
	first             fyne.Focusable
	fields            map[string]*widgets.Field
	enter             func()                             // shows what follows from the steps before; may be nil
	asking            string                             // what is said while that check runs
	ask               func() func(context.Context) error // prepares a check by others, such as the service, that runs beside the window; nil where there is none, and may return nil
	answered          func()                             // after that, without an error; may be nil
	blame             string                             // the field beside which an error stands that names none
	next              string                             // the button
	reveal            func()                             // shows the fields before one of them is marked; may be nil
}

// Screen is the wizard. All methods belong to the window's goroutine.
type Screen struct {
	env     *env.Env
	answers *Answers
	ways    Ways
	content fyne.CanvasObject
	steps   []*step
	list    *fyne.Container
	page    *fyne.Container
	scroll  *container.Scroll // around page
	bar     *bar
	strip   *widgets.Strip // what is wrong with the keyring
	bound   []func()       // show the answers in the fields
	cancel  func()         // ends what runs; nil while nothing does
	playing bool           // what runs is the start of the demo

	service      *service
	address      *address
	back         *wayBack
	registration *registration
	folder       *folder
	signIn       *signIn
}

// New returns the wizard where answers left it.
func New(d *env.Env, answers *Answers, ways Ways) *Screen {
	answers.begin(d.Office) // from memory, like the question whether there is a wizard at all
	s := &Screen{env: d, answers: answers, ways: ways, list: widgets.Stack(2), page: container.NewStack(),
		strip: widgets.NewStrip(theme.Wash, theme.MarkProblem.Resource())}
	s.bar = newBar(s.Back, s.Next, s.Stop)
	s.service, s.address, s.back = newService(s), newAddress(s), newWayBack(s)
	s.registration, s.folder, s.signIn = newRegistration(s), newFolder(s), newSignIn(s)
	s.steps = []*step{s.service.step, s.address.step, s.back.step, s.registration.step, s.folder.step, s.signIn.step}
	s.resume()
	s.build()
	s.turn(answers.at)
	async.Then(d.Work, func(context.Context) (kept, error) {
		client, ngrok, err := d.Office.HasSecrets()
		return kept{client, ngrok}, err
	}, func(k kept, err error) {
		if err = cmp.Or(err, answers.failure); err != nil {
			s.Say(i18n.Error(err))
		}
		s.registration.know(k)
		s.address.know(k)
	})
	return s
}

// kept is which secrets the office has already.
type kept struct{ client, ngrok bool }

// Content is what the window shows.
func (s *Screen) Content() fyne.CanvasObject { return s.content }

// Finishing says that the wizard has handed over the settings, or is about to: it ends by itself.
func (s *Screen) Finishing() bool { return s.answers.finished || s.cancel != nil && !s.playing }

// Say tells the person something that belongs to no field.
func (s *Screen) Say(text string) { s.bar.say(theme.MarkProblem, text) }

// Said is what the wizard says at its foot.
func (s *Screen) Said() string { return s.bar.text.Text }

func (s *Screen) build() {
	intro := widgets.NewProse(lang.L("Six short steps, then you can send documents and get them back signed."))
	top := widgets.Stack(8, widgets.Brand(), widgets.PadHV(12, 4, intro), s.list)
	ask := widgets.NewButton(lang.L("Ask your administrator…"), s.AskAdministrator)
	open := widgets.NewButton(lang.L("Open a file…"), s.PickFile)
	ask.Importance, open.Importance = widget.LowImportance, widget.LowImportance
	text := widgets.NewProse(lang.L("You do not need to know all this. Your administrator can answer for you, or send you a file."))
	foot := widgets.Stack(2, widgets.PadHV(12, 2, text), widgets.PadHV(4, 0, ask), widgets.PadHV(4, 0, open))
	side := widgets.Wide(240, widgets.Pad(8, container.NewBorder(top, foot, nil, nil)))
	s.scroll = widgets.NewVScroll(widgets.PadHV(32, 24, s.page))
	s.content = widgets.Frame(nil, nil, container.NewBorder(nil, nil, nil, widget.NewSeparator(), side),
		widgets.Between(s.strip, s.bar.content, s.scroll))
}

// current is the step that is shown.
func (s *Screen) current() *step { return s.steps[s.answers.at] }

// show shows a step, with the cursor in it.
func (s *Screen) show(at int) {
	s.turn(at)
	s.Focus()
}

// Focus puts the cursor where the step begins: where nothing is asked, on the way on. It must not stay in the step before,
// which is not shown any more.
func (s *Screen) Focus() {
	first := s.current().first
	if first == nil {
		first = s.bar.next
	}
	s.env.Window.Canvas().Focus(first)
}

// turn shows a step with what was typed into it.
func (s *Screen) turn(at int) {
	s.answers.at = at
	s.answers.reached = max(s.answers.reached, at)
	p := s.current()
	s.answers.step = p.key
	s.keep()
	if p.enter != nil {
		p.enter()
	}
	s.page.Objects = []fyne.CanvasObject{widgets.Stack(16, widgets.Stack(8, widgets.NewHeading(p.title), widgets.NewParagraph(p.text)), p.content)}
	s.page.Refresh()
	s.scroll.ScrollToTop() // where the step says what it asks
	s.bar.rest(at > 0, p.next)
	s.showList()
}

// showList shows the steps at the side; those that were reached lead there.
func (s *Screen) showList() {
	s.list.Objects = nil
	for i, p := range s.steps {
		mark := theme.MarkLater
		switch {
		case i == s.answers.at:
			mark = theme.MarkNext
		case i < s.answers.reached:
			mark = theme.MarkSigned
		}
		name := widgets.NewLine(p.name)
		name.Bold = i == s.answers.at
		if i > s.answers.reached {
			name.Colour = theme.Secondary
		}
		row := widgets.PadHV(12, 8, widgets.Across(widget.NewIcon(mark.Resource()), name, nil))
		if i > s.answers.reached || i == s.answers.at {
			s.list.Add(row)
			continue
		}
		s.list.Add(widgets.NewPress(row, func() { s.jump(i) }))
	}
	s.list.Refresh()
}

// jump goes to a step that was reached before; forwards only as far as all is right.
func (s *Screen) jump(to int) {
	if s.cancel != nil {
		return
	}
	if to > s.answers.at && !s.right() {
		return
	}
	s.show(to)
}

// Back shows the step before, with everything that was typed.
func (s *Screen) Back() {
	if s.cancel == nil && s.answers.at > 0 {
		s.show(s.answers.at - 1)
	}
}

// Leave stops what runs, else shows the step before.
func (s *Screen) Leave() {
	if s.cancel != nil {
		s.Stop()
		return
	}
	s.Back()
}

// Next checks the step and shows the next one, or says beside the field what is wrong.
func (s *Screen) Next() {
	p := s.current()
	if p == s.service.step && s.service.demo() {
		s.Demo()
		return
	}
	if s.cancel != nil || !s.right() {
		return
	}
	var ask func(context.Context) error
	if p.ask != nil {
		ask = p.ask()
	}
	if ask == nil {
		s.forward()
		return
	}
	s.bar.busy(p.asking)
	stopped := false
	cancel := async.Try(s.env.Work, ask, func(err error) {
		if stopped && err != nil { // whatever went wrong meanwhile, the person knows better
			err = context.Canceled
		}
		s.asked(p, err)
	})
	s.cancel = func() { stopped = true; cancel() }
}

// asked goes on after others were asked.
func (s *Screen) asked(p *step, err error) {
	s.cancel = nil
	s.bar.rest(s.answers.at > 0, p.next)
	switch {
	case errors.Is(err, context.Canceled):
	case err != nil:
		s.blame(p, err)
	default:
		if p.answered != nil {
			p.answered()
		}
		s.forward()
	}
}

func (s *Screen) forward() {
	if s.answers.at == len(s.steps)-1 {
		s.ways.Done()
		return
	}
	s.show(s.answers.at + 1)
}

// Stop ends what runs: a check, the sign-in, the start of the demo.
func (s *Screen) Stop() {
	if s.cancel != nil {
		s.cancel()
	}
}

// Demo starts the demo, which then takes this window's place.
func (s *Screen) Demo() {
	if s.cancel != nil || s.ways.Demo == nil {
		return
	}
	s.bar.busy(lang.L("Starting the demo…"))
	s.playing = true
	s.cancel = s.ways.Demo()
}

// DemoFailed says why the demo did not start; an empty text when it was stopped.
func (s *Screen) DemoFailed(text string) {
	s.cancel, s.playing = nil, false
	s.bar.rest(s.answers.at > 0, s.current().next)
	if text != "" {
		s.bar.say(theme.MarkProblem, text)
	}
}
