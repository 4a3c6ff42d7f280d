// Package setup is the wizard of the first run: the service, the public address, the return address, the registration, the folder,
// the sign-in. Each step is one question and is validated before the next, errors show next to their fields, and no input is lost by
// going back, looking at the demo, or ending the program. People with a code or file from the office see what it answers, and are
// asked only for the rest; people who know nothing get a letter for the administrator. After the folder, the wizard passes the
// settings to the office as a whole; it does not know how anything is done.
package setup

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

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

type Exits struct {
	Done func()                 // the office is set up, signed in or not
	Demo func() (cancel func()) // starts the demo in this window; nil if there is none
}

type step struct {
	key               string // identifies the step in the stored progress
	name, title, text string
	content           fyne.CanvasObject
	first             fyne.Focusable
	fields            map[string]*widgets.Field
	enter             func()                             // shows what follows from earlier steps; may be nil
	asking            string                             // shown while the check runs
	ask               func() func(context.Context) error // prepares a check, for example with the service, to run in the background; may be, or return, nil
	answered          func()                             // called after a check without error; may be nil
	failed            func(err error)                    // called after a check with an error; may be nil
	blame             string                             // the field for errors that name none
	next              string                             // the button's label
	reveal            func()                             // shows the fields before one is marked; may be nil
}

type Office interface {
	Service
	Files

	Settings() office.Settings
	Fixed(setting string) bool
	PreviewName(settings office.Settings) (string, error)
	ChangeSettings(ctx context.Context, change func(office.Settings) office.Settings, secrets office.Secrets) (office.Settings, error)
	Act(ctx context.Context, issue agent.Issue) error
	KeepFirstRun(agent.FirstRun) error
	FirstRun() (f agent.FirstRun, kept bool, err error)
}

type Service interface {
	Services() []agent.Preset
	HasSecrets() (clientSecret, ngrokToken bool, err error)
	TestService(ctx context.Context, settings office.Settings) error
	TestClient(ctx context.Context, settings office.Settings, secret string) error
	TestTunnel(ctx context.Context, settings office.Settings, secrets office.Secrets) (publicURL string, err error)
	TryNgrok(ctx context.Context, settings office.Settings, show func([]office.Check)) []office.Check
	SignIn(ctx context.Context, options agent.SignInOptions, open func(address string) error) error
	Paste(address string) error
}

// Files reads the files with which an office can begin.
type Files interface {
	ReadOffice(path string) (agent.OfficeFile, error)
	FetchOffice(ctx context.Context, code, hub string) (agent.OfficeFile, error)
	ReadMove(ctx context.Context, path, password string) (agent.Arrival, error)
	MoveIn(ctx context.Context, path, password, digest, saveTo string) error
}

// Screen is the wizard. Only the UI goroutine may call its methods.
type Screen struct {
	env     *env.Env
	office  Office
	answers *Answers
	exits   Exits
	content fyne.CanvasObject
	steps   []*step // the steps to ask
	page    *fyne.Container
	scroll  *container.Scroll // contains the page
	bar     *bar
	strip   *widgets.Banner // problems with the keyring

	progress *widgets.Line
	help     *fyne.Container // for people who do not know the answers
	bound    []func()        // show the answers in the fields
	cancel   func()          // stops what is running; nil for nothing
	playing  bool            // the demo is starting

	questions
}

// questions are all the steps.
type questions struct {
	known        *known
	service      *service
	address      *address
	back         *wayBack
	registration *registration
	folder       *folder
	signIn       *signIn
}

// ofOffice returns the steps about the office rather than this computer or person: a given office answers them.
func (q questions) ofOffice() []*step {
	return []*step{q.service.step, q.address.step, q.back.step, q.registration.step}
}

// New returns the wizard at the step where answers left it.
func New(d *env.Env, o Office, answers *Answers, ways Exits) *Screen {
	answers.begin(o) // from memory, like the decision whether to show the wizard
	s := &Screen{env: d, office: o, answers: answers, exits: ways, page: container.NewStack(), progress: widgets.NewCaption(""),
		strip: widgets.NewBanner(theme.Wash, theme.MarkProblem.Resource())}
	s.bar = newBar(s.Back, s.Next, s.Stop)
	s.questions = questions{newKnown(s), newService(s), newAddress(s), newWayBack(s), newRegistration(s), newFolder(s), newSignIn(s)}
	s.resume()
	s.build()
	s.turn(answers.at)
	async.Then(d.Work, func(context.Context) (kept, error) {
		client, ngrok, err := o.HasSecrets()
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

type kept struct{ client, ngrok bool }

func (s *Screen) Content() fyne.CanvasObject { return s.content }

// Finishing reports that the wizard has passed on, or is about to pass on, the settings: it ends by itself.
func (s *Screen) Finishing() bool { return s.answers.finished || s.cancel != nil && !s.playing }

// Say shows the person a text that belongs to no field.
func (s *Screen) Say(text string) { s.bar.say(theme.MarkProblem, text) }

func (s *Screen) Said() string { return s.bar.text.Text }

const columnWidth = 620

func (s *Screen) build() {
	code := widgets.NewButton(lang.L("Enter a code…"), s.EnterCode).Quiet()
	open := widgets.NewButton(lang.L("Open a file…"), s.PickFile).Quiet()
	ask := widgets.NewButton(lang.L("Ask your administrator…"), s.AskAdministrator).Quiet()
	s.progress.Shorten = false
	s.help = widgets.Stack(0, widgets.NewProse(lang.L("A code or a file, from your office or your former computer, answers all this.")),
		widgets.Outdent(widgets.Flow(8, code, open, ask)))
	column := widgets.Stack(20, widgets.Outdent(widgets.Across(nil, widgets.Brand(), s.progress)), s.page)
	s.scroll = widgets.NewVScroll(widgets.PadHV(32, 24, widgets.Stack(0, widgets.Middle(columnWidth, column)))) // keeps the brand in place
	s.content = widgets.Frame(s.strip, nil, nil, widgets.Between(nil, s.bar.content, s.scroll))
}

func (s *Screen) current() *step { return s.steps[s.answers.at] }

// walk chooses the steps to ask: all, or, for a given office, those it leaves open.
func (s *Screen) walk() {
	s.known.skipped, s.steps = nil, nil
	if s.answers.given {
		s.steps = []*step{s.known.step}
	}
	wrong := s.wrong()
	for _, p := range s.ofOffice() {
		open := !s.answers.given
		for key := range p.fields {
			open = open || wrong[key] != ""
		}
		if !open {
			s.known.skipped = append(s.known.skipped, p)
			continue
		}
		s.steps = append(s.steps, p)
	}
	s.steps = append(s.steps, s.folder.step, s.signIn.step)
}

// open shows a step, even one that is skipped.
func (s *Screen) open(p *step) {
	if !slices.Contains(s.steps, p) {
		s.answers.given = false
		s.walk()
	}
	s.show(slices.Index(s.steps, p))
}

func (s *Screen) show(at int) {
	s.turn(at)
	s.Focus()
}

// Focus shows the step's question, and puts the cursor at its start, or on the next button if nothing is asked. It must not stay in the
// previous step, which is hidden. What is typed replaces what is in the field: of a refused secret nobody sees that it is there.
func (s *Screen) Focus() {
	first := s.current().first
	if first == nil {
		first = s.bar.next
	}
	widgets.Focus(s.env.Window.Canvas(), first)
	s.scroll.ScrollToTop()
	if e, is := first.(*widgets.Entry); is {
		e.SelectAll()
	}
}

func (s *Screen) turn(at int) {
	s.answers.at = at
	p := s.current()
	s.answers.step = p.key
	s.keep()
	if p.enter != nil {
		p.enter()
	}
	text := widgets.NewParagraph(p.text)
	text.Colour = theme.Secondary
	parts := []fyne.CanvasObject{widgets.Stack(8, widgets.NewFullHeading(p.title), text), p.content}
	switch {
	case s.answers.given && p != s.registration.step || p == s.signIn.step:
	case at == 0: // people with a code read no further
		parts = slices.Insert(parts, 1, fyne.CanvasObject(s.help))
	default:
		parts = append(parts, s.help)
	}
	widgets.Remake(s.page, widgets.Stack(16, parts...))
	s.bar.rest(at > 0, p.next)
	s.progress.Set(lang.L("Step {{.Number}} of {{.All}}", i18n.V{"Number": at + 1, "All": len(s.steps)}))
}

// Back shows the previous step, with all input.
func (s *Screen) Back() {
	if s.cancel == nil && s.answers.at > 0 {
		s.show(s.answers.at - 1)
	}
}

// Leave stops what is running, or otherwise shows the previous step.
func (s *Screen) Leave() {
	if s.cancel != nil {
		s.Stop()
		return
	}
	s.Back()
}

// Next validates the step and shows the next one, or the errors next to their fields.
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
	widgets.Show(s.bar.stop, p != s.signIn.step) // whose dialog can be left
	if len(p.fields) > 0 {                       // input under test must not change; a sign-in accepts pasted text
		widgets.EnableAll(p.content, false)
	}
	stopped := false
	cancel := async.Try(s.env.Work, ask, func(err error) {
		if stopped && err != nil { // ignore errors after the person has stopped it
			err = context.Canceled
		}
		s.asked(p, err)
	})
	s.cancel = func() { stopped = true; cancel() }
}

func (s *Screen) asked(p *step, err error) {
	s.cancel = nil
	widgets.EnableAll(p.content, true)
	s.bar.rest(s.answers.at > 0, p.next)
	switch {
	case errors.Is(err, context.Canceled):
		s.Focus()
	case err != nil:
		if q := s.known.failing; p == s.known.step && q != nil && !ofConnection(message.For(err)) {
			s.open(q)
			p = q
		}
		if p.failed != nil {
			p.failed(err)
		}
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
		s.exits.Done()
		return
	}
	s.show(s.answers.at + 1)
}

// Stop stops what is running: a check, the sign-in, the start of the demo.
func (s *Screen) Stop() {
	if s.cancel != nil {
		s.cancel()
	}
}

// Demo starts the demo, which then replaces the wizard in this window.
func (s *Screen) Demo() {
	if s.cancel != nil || s.exits.Demo == nil {
		return
	}
	s.bar.busy(lang.L("Starting the demo…"))
	s.playing = true
	s.cancel = s.exits.Demo()
}

// DemoFailed says why the demo did not start; empty if it was stopped.
func (s *Screen) DemoFailed(text string) {
	s.cancel, s.playing = nil, false
	s.bar.rest(s.answers.at > 0, s.current().next)
	if text != "" {
		s.bar.say(theme.MarkProblem, text)
	}
}

// bar is the line at the bottom: back, what is going on, and next. While something is running, it can be stopped.
type bar struct {
	content          fyne.CanvasObject
	back, next, stop *widgets.Button
	mark             *widget.Icon
	text             *widgets.Prose
}

func newBar(back, next, stop func()) *bar {
	b := &bar{mark: widget.NewIcon(theme.MarkProblem.Resource()), text: widgets.NewParagraph("")}
	b.back = widgets.NewButtonWithIcon(lang.L("Back"), fynetheme.NavigateBackIcon(), back)
	b.next = widgets.NewButton("", next).Primary()
	b.stop = widgets.NewButton(lang.L("Cancel"), stop)
	said := widgets.Across(b.mark, b.text, nil)
	b.content = widgets.On(theme.Paper, widgets.Stack(0, widget.NewSeparator(), widgets.PadHV(32, 10,
		widgets.Middle(columnWidth, widgets.Across(b.back, said, container.NewHBox(b.stop, b.next))))))
	return b
}

// rest shows a step's buttons without a text.
func (b *bar) rest(back bool, next string) {
	b.stop.Hide()
	widgets.Show(b.back, back)
	b.back.Enable()
	b.next.SetText(next)
	b.next.Show()
	b.say("", "")
}

// busy says what is going on. Nothing moves: a sign-in may wait for hours, and each picture has the whole window drawn anew.
func (b *bar) busy(text string) {
	b.say("", text)
	b.stop.Show()
	b.next.Hide()
	b.back.Disable()
	b.content.Refresh()
}

// say shows a text, with a mark if it is important.
func (b *bar) say(mark theme.Mark, text string) {
	b.mark.Hidden = mark == ""
	if mark != "" {
		b.mark.SetResource(mark.Resource())
	}
	b.text.Colour, b.text.Text = theme.Text, text
	if mark != "" {
		b.text.Colour = mark.Colour()
	}
	b.text.Refresh()
	b.content.Refresh()
}

// wrong returns the errors in the input so far, by field.
func (s *Screen) wrong() map[string]string {
	wrong := i18n.Findings(s.answers.settings.Check())
	s.address.check(wrong)
	s.registration.check(wrong)
	return wrong
}

// touched removes marks from fields that are now valid or no longer asked for, and with the last one the text at the bottom.
func (s *Screen) touched() {
	if s.address != nil && len(s.steps) > 0 {
		s.address.relabel()
	}
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

// right validates this step's input, and shows errors next to their fields.
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

// focusWrong puts the cursor into the first field with an error.
func (s *Screen) focusWrong() {
	s.scroll.Refresh() // lays out the error text before scrolling to it
	widgets.FocusWrong(slices.Collect(maps.Values(s.current().fields)))
}

// blame shows an error next to the fields it concerns, on the step of the first of them.
func (s *Screen) blame(p *step, err error) {
	var config *agent.ConfigError
	if errors.As(err, &config) && s.blameFields(p, config.Fields) {
		s.bar.say(theme.MarkProblem, lang.L("Check the marked fields."))
		s.page.Refresh()
		s.focusWrong()
		return
	}
	text := i18n.Error(err)
	if field := p.fields[p.blame]; field != nil && !ofConnection(message.For(err)) {
		if p.reveal != nil {
			p.reveal()
		}
		field.Wrong(text)
		s.page.Refresh()
		s.focusWrong()
		return
	}
	if p == s.signIn.step {
		s.signIn.say(text)
		s.scroll.ScrollToBottom()
		return
	}
	s.bar.say(theme.MarkProblem, text)
	s.Focus()
}

// ofConnection reports whether a message is about the connection, to which no field of the wizard belongs.
func ofConnection(m message.Message) bool {
	return strings.HasPrefix(m.ID(), "network.") || m.ID() == message.NoConnection().ID() || m.ID() == message.NoConnectionTo("").ID() || m == message.PublicAddressLate()
}

// blameFields marks the wizard's fields among wrong, and reports whether there is one.
func (s *Screen) blameFields(p *step, wrong []office.FieldError) (some bool) {
	for _, f := range wrong {
		for _, of := range append(s.ofOffice(), s.folder.step) {
			field := of.fields[f.Field]
			if field == nil {
				continue
			}
			if !some && of != p {
				s.open(of)
			}
			if some = true; of.reveal != nil {
				of.reveal()
			}
			field.Wrong(i18n.Message(f.Text))
		}
	}
	return some
}

// wayBack is the step that asks how the sign-in returns from the browser.
type wayBack struct {
	*step
	screen     *Screen
	kind       *widgets.Choice
	registered *widgets.Entry
	other      *widgets.Field
	shown      *widgets.Prose
	copyIt     *widgets.CopyButton
	card       *fyne.Container
}

var redirects = []office.RedirectKind{office.RedirectTunnel, office.RedirectLocalhost, office.RedirectPaste, office.RedirectLoopback}

func newWayBack(s *Screen) *wayBack {
	p := &wayBack{screen: s, registered: widgets.NewEntry("https://office.example/callback"), shown: widgets.NewFullName("")}
	p.shown.Bold = true
	s.bind(p.registered, &s.answers.settings.RedirectURI)
	p.registered.OnChanged = func(text string) {
		s.answers.settings.RedirectURI = text
		p.showAddress()
		s.touched()
	}
	p.kind = widgets.NewChoice([]widgets.Option{
		{Name: lang.L("Through your office's public address"), Text: lang.L("The browser returns through your public address. With a free ngrok plan, a page from ngrok appears first. Continue from there.")},
		{Name: lang.L("To this computer, https://localhost"), Text: lang.L("Works without a public address. The browser shows a warning once. The last step tells you what to click.")},
		{Name: lang.L("By copy and paste"), Text: lang.L("Always works. After you sign in, you copy the address from the browser and paste it into Countersign.")},
		{Name: lang.L("To this computer, http://127.0.0.1"), Text: lang.L("Some services allow it.")},
	}, -1, p.choose, s.Next)
	p.other = widgets.NewField(lang.L("Return address registered with the service"), p.registered, "")
	p.copyIt = widgets.NewCopyButton(lang.L("Copy"), s.env.Later, s.env.Copy, p.returns)
	p.card = widgets.Stack(0, widgets.Card(widgets.Stack(6, widgets.NewCaption(lang.L("Address to register with the signing service")),
		widgets.Across(nil, p.shown, p.copyIt),
		widgets.NewProse(lang.L("You can sign in only if exactly this address is registered for your client ID. The request to your administrator contains it.")))))
	fields := map[string]*widgets.Field{office.FieldRedirectURI: p.other}
	p.step = &step{key: "return", name: lang.L("Return address"), title: lang.L("How does the browser return to Countersign?"),
		text:    lang.L("You sign in with your browser. It then opens the return address, and Countersign knows that you are signed in. The signing service must know this address."),
		content: widgets.Stack(16, widgets.Card(p.kind), p.other, p.card), fields: fields, next: lang.L("Continue"), enter: p.enter}
	p.first = p.kind.Items[0]
	return p
}

func (p *wayBack) enter() {
	s := &p.screen.answers.settings
	public := s.HasAddress()
	p.kind.Offer(0, public)
	p.kind.Offer(3, s.Redirect == office.RedirectLoopback) // a file may say so
	if !public && s.Redirect == office.RedirectTunnel {
		s.Redirect = office.RedirectLocalhost
	}
	p.kind.Choose(max(0, slices.Index(redirects, s.Redirect)))
	p.first = p.kind.Items[p.kind.Chosen]
}

func (p *wayBack) choose(i int) {
	p.screen.answers.settings.Redirect = redirects[i]
	p.other.Hidden = redirects[i] != office.RedirectPaste
	if p.screen.answers.settings.HasAddress() {
		p.other.Hint(lang.L("Fill in only if a different address is already registered."))
	} else { // there is none to register
		p.other.Hint(lang.L("The address that is registered with the service for your office. Your administrator knows it."))
	}
	p.copyIt.Forget()
	p.showAddress()
	p.screen.touched()
}

// returns returns the address to register; empty if the input does not determine it.
func (p *wayBack) returns() string {
	s := p.screen.answers.settings
	if s.Redirect != office.RedirectPaste {
		s.RedirectURI = "" // only for pasting
	}
	return s.ReturnAddress()
}

func (p *wayBack) showAddress() {
	address := p.returns()
	p.card.Hidden = address == ""
	p.shown.Set(address)
	p.content.Refresh()
}

// Answers are the wizard's input and progress. They outlive the screen, so that nothing must be typed twice after a look at the demo
// or a change of language, and the program, sealed by the office: see Screen.keep. The zero value is a new wizard. They hold
// secrets.
type Answers struct {
	began    bool
	given    bool           // a code or a file has answered for the office
	at       int            // the visible step
	step     string         // its key
	kept     agent.FirstRun // what the office has stored
	recalled bool           // earlier input has been restored
	secrets  office.Secrets
	settings office.Settings
	proposed string         // the folder for documents unless another is chosen
	untyped  agent.FirstRun // the state before any input
	opened   string         // fingerprint of the last test in which the public address opened
	address  string         // the public address of that test
	silent   string         // fingerprint of the last test in which it did not answer from here
	finished bool           // the office has stored the settings
	failure  error          // why earlier input could not be read; nil if it could
}

// begin starts with the input from before the program ended, or the office's own settings.
func (a *Answers) begin(office Office) {
	if a.began {
		a.propose() // the language may have changed
		return
	}
	*a = Answers{began: true, settings: office.Settings()}
	a.doWithout(office)
	a.propose()
	a.untyped = a.entered()
	a.recalled = a.recall(office)
	a.kept = a.entered()
}

// doWithout sets the office to have no public address unless somebody has decided on one.
func (a *Answers) doWithout(o Office) {
	if s := &a.settings; s.Tunnel == office.DefaultSettings().Tunnel && s.NgrokDomain == "" && !o.Fixed(office.FieldTunnel) {
		s.Tunnel = office.TunnelNone
	}
}

// propose sets the proposed folder for documents unless the person has chosen one.
func (a *Answers) propose() {
	before := a.proposed
	if a.settings.SaveTo != before {
		return
	}
	a.proposed = proposedFolder()
	a.settings.SaveTo = a.proposed
	if a.untyped.Settings.SaveTo == before {
		a.untyped.Settings.SaveTo = a.proposed
	}
}

// recall restores input from before the program ended, and reports whether there is any. Newer input stays: the keyring may have
// been locked meanwhile.
func (a *Answers) recall(office Office) bool {
	f, kept, err := office.FirstRun()
	a.failure = err
	if err != nil || !kept || !a.untouched() {
		return false
	}
	now := a.settings
	a.step, a.settings, a.secrets, a.given = f.Step, f.Settings, f.Secrets, f.Given
	a.settings.LookSettings = now.LookSettings
	a.settings.SaveTo = cmp.Or(a.settings.SaveTo, proposedFolder())
	return true
}

func (a *Answers) untouched() bool {
	now := a.entered()
	now.Step = a.untyped.Step
	return reflect.DeepEqual(now, a.untyped)
}

func (a *Answers) entered() agent.FirstRun {
	return agent.FirstRun{Step: a.step, Settings: a.settings, Secrets: a.secrets, Given: a.given}
}

// proposedFolder returns the default folder for signed documents, named in the current language; empty without a home folder.
func proposedFolder() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, "Documents", lang.X("name.signed", "Signed"))
}

// didOpen reports whether the public address opened when tested with the present input.
func (a *Answers) didOpen() bool { return a.address != "" && a.opened == a.fingerprint() }

// wasSilent reports whether it did not answer from here in that test.
func (a *Answers) wasSilent() bool { return a.silent == a.fingerprint() }

// fingerprint contains everything that determines whether the public address opens.
func (a *Answers) fingerprint() string {
	s := a.settings
	return string(s.Tunnel) + "\n" + s.NgrokDomain + "\n" + a.secrets.NgrokAuthtoken + "\n" + s.PublicURL + "\n" + s.Listen
}
