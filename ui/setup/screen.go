// Package setup is the wizard of the first run: the service, the public address, the return address, the registration,
// the folder, the sign-in. Each step is one question and is checked before the next, what is wrong stands beside its field,
// and nothing typed is lost by going back, by looking at the demo or by the end of the program. Who has a code or a file of the
// office sees what that answers, and is asked for the rest alone; who knows nothing gets a letter for the administrator. The wizard
// hands the settings to the office as a whole, after the folder; it does not know how anything is done.
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
	Demo func() (cancel func()) // starts the demo in this window; nil where there is none
}

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
	failed            func(err error)                    // after that, with an error; may be nil
	blame             string                             // the field beside which an error stands that names none
	next              string                             // the button
	reveal            func()                             // shows the fields before one of them is marked; may be nil
}

type Office interface {
	Service
	Files

	Settings() office.Settings
	Fixed(setting string) bool
	PreviewName(settings office.Settings) (string, error)
	Configure(ctx context.Context, settings office.Settings, secrets office.Secrets) error
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

// Files are those that an office can begin with.
type Files interface {
	ReadOffice(path string) (agent.OfficeFile, error)
	FetchOffice(ctx context.Context, code, hub string) (agent.OfficeFile, error)
	ReadMove(ctx context.Context, path, password string) (agent.Arrival, error)
	MoveIn(ctx context.Context, path, password, digest, saveTo string) error
}

// Screen is the wizard. All methods belong to the window's goroutine.
type Screen struct {
	env     *env.Env
	office  Office
	answers *Answers
	exits   Exits
	content fyne.CanvasObject
	steps   []*step // that are asked
	page    *fyne.Container
	scroll  *container.Scroll // around page
	bar     *bar
	strip   *widgets.Banner // what is wrong with the keyring

	progress *widgets.Line
	help     *fyne.Container // for who does not know the answers
	bound    []func()        // show the answers in the fields
	cancel   func()          // ends what runs; nil while nothing does
	playing  bool            // what runs is the start of the demo

	questions
}

// questions are all there are.
type questions struct {
	known        *known
	service      *service
	address      *address
	back         *wayBack
	registration *registration
	folder       *folder
	signIn       *signIn
}

// ofOffice are those about the office, not this computer or person: an office that is given answers them.
func (q questions) ofOffice() []*step {
	return []*step{q.service.step, q.address.step, q.back.step, q.registration.step}
}

// New returns the wizard where answers left it.
func New(d *env.Env, o Office, answers *Answers, ways Exits) *Screen {
	answers.begin(o) // from memory, like the question whether there is a wizard at all
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

// Finishing says that the wizard has handed over the settings, or is about to: it ends by itself.
func (s *Screen) Finishing() bool { return s.answers.finished || s.cancel != nil && !s.playing }

// Say tells the person something that belongs to no field.
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
	s.scroll = widgets.NewVScroll(widgets.PadHV(32, 24, widgets.Stack(0, widgets.Middle(columnWidth, column)))) // the brand stays where it is
	s.content = widgets.Frame(s.strip, nil, nil, widgets.Between(nil, s.bar.content, s.scroll))
}

func (s *Screen) current() *step { return s.steps[s.answers.at] }

// walk chooses what is asked: everything or, of an office that is given, what that leaves open.
func (s *Screen) walk() {
	s.known.skipped, s.steps = nil, nil
	if s.answers.given {
		s.steps = []*step{s.known.step}
	}
	wrong := s.wrong()
	for _, p := range s.ofOffice() {
		if s.answers.given && !slices.ContainsFunc(slices.Collect(maps.Keys(p.fields)), func(key string) bool { return wrong[key] != "" }) {
			s.known.skipped = append(s.known.skipped, p)
			continue
		}
		s.steps = append(s.steps, p)
	}
	s.steps = append(s.steps, s.folder.step, s.signIn.step)
}

// open shows a step, also one that is not asked.
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
	s.scroll.ScrollToTop() // where the step says what it asks
}

// Focus puts the cursor where the step begins: where nothing is asked, on the way on. It must not stay in the step before,
// which is not shown any more.
func (s *Screen) Focus() {
	first := s.current().first
	if first == nil {
		first = s.bar.next
	}
	widgets.Focus(s.env.Window.Canvas(), first)
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
	case s.answers.given || p == s.signIn.step:
	case at == 0: // who has a code reads no further
		parts = slices.Insert(parts, 1, fyne.CanvasObject(s.help))
	default:
		parts = append(parts, s.help)
	}
	widgets.Remake(s.page, widgets.Stack(16, parts...))
	s.bar.rest(at > 0, p.next)
	s.progress.Set(lang.L("Step {{.Number}} of {{.All}}", i18n.V{"Number": at + 1, "All": len(s.steps)}))
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
	if len(p.fields) > 0 { // what is tested does not change meanwhile; a sign-in takes what is pasted
		widgets.EnableAll(p.content, false)
	}
	stopped := false
	cancel := async.Try(s.env.Work, ask, func(err error) {
		if stopped && err != nil { // whatever went wrong meanwhile, the person knows better
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

// Stop ends what runs: a check, the sign-in, the start of the demo.
func (s *Screen) Stop() {
	if s.cancel != nil {
		s.cancel()
	}
}

// Demo starts the demo, which then takes this window's place.
func (s *Screen) Demo() {
	if s.cancel != nil || s.exits.Demo == nil {
		return
	}
	s.bar.busy(lang.L("Starting the demo…"))
	s.playing = true
	s.cancel = s.exits.Demo()
}

// DemoFailed says why the demo did not start; an empty text when it was stopped.
func (s *Screen) DemoFailed(text string) {
	s.cancel, s.playing = nil, false
	s.bar.rest(s.answers.at > 0, s.current().next)
	if text != "" {
		s.bar.say(theme.MarkProblem, text)
	}
}

// bar is the line at the bottom: back, what is going on, and the way on. While something runs, it can be stopped.
type bar struct {
	content          fyne.CanvasObject
	back, next, stop *widgets.Button
	mark             *widget.Icon
	text             *widgets.Prose
	moves            *widget.ProgressBarInfinite
	room             *fyne.Container // around moves
}

func newBar(back, next, stop func()) *bar {
	b := &bar{mark: widget.NewIcon(theme.MarkProblem.Resource()), text: widgets.NewParagraph(""), moves: widget.NewProgressBarInfinite()}
	b.back = widgets.NewButtonWithIcon(lang.L("Back"), fynetheme.NavigateBackIcon(), back)
	b.next = widgets.NewButton("", next).Primary()
	b.stop = widgets.NewButton(lang.L("Cancel"), stop)
	b.moves.Stop()
	b.room = widgets.Wide(160, b.moves)
	said := widgets.Across(b.mark, b.text, b.room)
	b.content = widgets.On(theme.Paper, widgets.Stack(0, widget.NewSeparator(), widgets.PadHV(32, 10,
		widgets.Middle(columnWidth, widgets.Across(b.back, said, container.NewHBox(b.stop, b.next))))))
	return b
}

// rest shows the buttons of a step, with nothing to say.
func (b *bar) rest(back bool, next string) {
	b.moves.Stop()
	b.room.Hide()
	b.stop.Hide()
	widgets.Show(b.back, back)
	b.back.Enable()
	b.next.SetText(next)
	b.next.Show()
	b.say("", "")
}

func (b *bar) busy(text string) {
	b.say("", text)
	b.stop.Show()
	b.next.Hide()
	b.back.Disable()
	b.room.Hidden = !fyne.CurrentApp().Settings().ShowAnimations() // the text says that it goes on
	b.content.Refresh()
	if b.room.Hidden {
		b.moves.Stop() // drawn for the first time, it starts by itself
	} else {
		b.moves.Start()
	}
}

// say shows a text; with a mark one that matters.
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

// wrong is what cannot be right in what is typed so far, by the field.
func (s *Screen) wrong() map[string]string {
	wrong := i18n.Findings(s.answers.settings.Check())
	s.address.check(wrong)
	s.registration.check(wrong)
	return wrong
}

// touched takes away the marks of what has become right, and with the last one what the foot says.
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
func (s *Screen) focusWrong() {
	s.scroll.Refresh() // what is said has its room before it is scrolled to
	widgets.FocusWrong(slices.Collect(maps.Values(s.current().fields)))
}

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
	if field := p.fields[p.blame]; field != nil && !ofConnection(message.For(err)) {
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

// ofConnection says whether a message is about the connection, about which no field of the wizard decides.
func ofConnection(m message.Message) bool {
	return strings.HasPrefix(m.ID(), "network.") || m.ID() == message.NoConnection().ID() || m.ID() == message.NoConnectionTo("").ID() || m == message.PublicAddressLate()
}

// blameFields marks the fields that the wizard has, and reports whether there is one.
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
	p.other = widgets.NewField(lang.L("Return address registered with the service"), p.registered,
		lang.L("Fill in only if a different address is already registered."))
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
	p.copyIt.Forget()
	p.showAddress()
}

// returns is the address to register; empty when nothing that was typed tells it.
func (p *wayBack) returns() string {
	s := p.screen.answers.settings
	if s.Redirect != office.RedirectPaste {
		s.RedirectURI = "" // belongs to pasting
	}
	return s.ReturnAddress()
}

func (p *wayBack) showAddress() {
	address := p.returns()
	p.card.Hidden = address == ""
	p.shown.Set(address)
	p.content.Refresh()
}

// Answers are what was typed into the wizard, and how far it came. They outlive the screen, so that nothing is typed
// twice after a look at the demo or a change of language, and the program, sealed by the office: see Screen.keep. The zero
// value is a wizard nobody has seen. They hold secrets.
type Answers struct {
	began    bool
	given    bool           // a code or a file answers for the office
	at       int            // the step that is shown
	step     string         // its key
	kept     agent.FirstRun // what the office keeps already
	recalled bool           // nothing more is to be had from before the program ended
	secrets  office.Secrets
	settings office.Settings
	proposed string         // the folder for documents while nobody has chosen another one
	untyped  agent.FirstRun // what there was before anything was entered
	opened   string         // what was tested when the public address last opened; see fingerprint
	address  string         // the public address of that test
	silent   string         // what was tested when the public address last did not answer from here
	finished bool           // the office keeps the settings
	failure  error          // why what was entered before could not be read; nil when it was
}

// begin takes what was entered before the program ended, else the office's own settings, as the first answers.
func (a *Answers) begin(office Office) {
	if a.began {
		a.propose() // the language may be another one
		return
	}
	*a = Answers{began: true, settings: office.Settings()}
	a.doWithout(office)
	a.propose()
	a.untyped = a.entered()
	a.recalled = a.recall(office)
	a.kept = a.entered()
}

// doWithout has the office do without a public address unless somebody has decided about one.
func (a *Answers) doWithout(o Office) {
	if s := &a.settings; s.Tunnel == office.DefaultSettings().Tunnel && s.NgrokDomain == "" && !o.Fixed(office.FieldTunnel) {
		s.Tunnel = office.TunnelNone
	}
}

// propose has documents go to the proposed folder unless the person has chosen one.
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

// recall takes what was entered before the program ended, and reports whether there is any. What was entered since stays:
// the keyring may have been locked meanwhile.
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

// proposedFolder is where signed documents go unless the person chooses otherwise, named in the language in use; empty where there
// is no home.
func proposedFolder() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, "Documents", lang.X("name.signed", "Signed"))
}

// didOpen reports whether the public address opened when it was tested as it is.
func (a *Answers) didOpen() bool { return a.address != "" && a.opened == a.fingerprint() }

// wasSilent reports whether it did not answer from here then.
func (a *Answers) wasSilent() bool { return a.silent == a.fingerprint() }

// fingerprint is all that decides whether the public address opens.
func (a *Answers) fingerprint() string {
	s := a.settings
	return string(s.Tunnel) + "\n" + s.NgrokDomain + "\n" + a.secrets.NgrokAuthtoken + "\n" + s.PublicURL + "\n" + s.Listen
}
