package window

import (
	"cmp"
	"context"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/about"
	"countersign/ui/activity"
	"countersign/ui/async"
	"countersign/ui/compose"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/keys"
	"countersign/ui/packages"
	"countersign/ui/settings"
	"countersign/ui/setup"
	"countersign/ui/status"
	"countersign/ui/system"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

type bars struct {
	health *widgets.Banner // the gravest problem
	notice *widgets.Toasts
	grace  *widgets.UndoBar
}

type pages struct {
	packages *packages.Screen
	compose  *late[*compose.Screen]
	activity *activity.Screen
	settings *late[*settings.Screen]
	about    *late[*about.Screen]
	screens  []screen
	nav      []*widgets.Nav
	stage    *fyne.Container
	counted  func(int)            // shows beside the Packages entry how many need somebody
	waiting  func(bool)           // marks the Send entry if something there waits for the person
	unsaved  func(bool)           // marks the Settings entry if something there is not saved
	troubled func(agent.Severity) // marks the Status entry; an empty severity clears the mark
	standing *status.Screen
	stale    bool // the activity has changed while hidden
}

// view is what the window shows of one office in one language and text size. If any of these changes, a new view is made.
type view struct {
	office  Office
	env     *env.Env
	pool    *async.Pool // the screens' slow work
	watcher *async.Pool // waits for changes
	demo    bool

	pages
	bars

	setup *setup.Screen // nil once the office is set up
	main  *fyne.Container

	status  *async.Reader[overview]
	last    *overview // shown last; nil before the first
	paused  time.Time // as shown by the tray
	account *account
}

// leave cancels everything the view runs, without waiting, and drops pending results.
func (r *view) leave() {
	r.watcher.Stop()
	r.pool.Stop()
}

func (r *view) close() {
	r.watcher.Close()
	r.pool.Close()
}

// enter replaces the office on show, in its chosen language.
func (w *Window) enter(office Office, demo bool) {
	before, at := w.view, w.at
	w.leaving, w.quitting = leaving{}, quitting{} // open questions are dropped with the view
	s := office.Settings()                        // from memory: the window must know at once whether to start with the wizard
	w.language = s.Language
	i18n.Use(s.Language)
	w.paint(w.look(s))
	w.view = view{office: office, demo: demo, pool: w.own.Inner(), watcher: w.own.Inner()}
	w.health = widgets.NewBanner(theme.Wash, theme.MarkProblem.Resource())
	w.notice = widgets.NewToasts(w.later)
	w.grace = widgets.NewUndoBar(w.options.Now, w.later)
	w.env = &env.Env{Soon: w.soon, Later: w.later, System: w.options.System, Work: w.pool, Now: w.options.Now, Country: w.options.Country, Window: w.window,
		Notice: w.say, Copy: w.app.Clipboard().SetContent, Autostart: w.options.Autostart, Go: w}
	w.shown.Store(&office)
	w.packages, w.activity = packages.New(w.env, w.office), activity.New(w.env, w.office)
	w.packages.OnListed = func() {
		w.counted(w.packages.Problems())
		if w.last != nil {
			w.tray.show(*w.last)
		}
	}
	w.compose = newLate(w.newCompose)
	w.settings = newLate(w.newSettings)
	w.about = newLate(w.newAbout)
	w.standing = status.New(w.env, w.office)
	w.screens = []screen{w.packages, w.compose, w.activity, w.standing, w.settings, w.about}
	same := before.env != nil && before.office == office
	widgets.CloseAll(w.window.Canvas()) // open pop-ups belong to the old screens
	focused := w.window.Canvas().Focused()
	w.account = newAccount(w.env, w.office)
	w.account.done = w.readSettings
	w.account.blame = func(err error) { w.ShowSettings(); w.settings.get().Blame(err) }
	w.status = async.NewReader(w.pool, func(context.Context) (overview, error) { return overviewOf(office) }, w.showOverview)
	w.tray = newTray(w.app, w)
	w.build()
	if w.inTray {
		w.tray.attach(w)
	}
	w.at = -1
	w.Go(at)
	if same {
		w.packages.Continue(before.packages)
		w.activity.Continue(before.activity)
		before.settings.ifMade(func(s *settings.Screen) { w.settings.get().Continue(s, focused) })
		before.compose.ifMade(func(*compose.Screen) { w.compose.get() })
		w.account.say("", before.account.failed)
		if before.last != nil {
			w.showOverview(*before.last, nil)
		}
	}
	if !s.Configured() {
		w.openSetup()
	}
	if w.resting {
		w.Rest()
	}
	follow(w.watcher, w.office, w.changed) // before the first read, so that no change is missed
	w.status.Ask()
	for _, s := range w.screens {
		s.Reload()
	}
	// Once the window is drawn: the Send entry shows whether something waits there.
	async.Try(w.pool, func(context.Context) error { return nil }, func(error) { w.compose.get() })
	if before.pool != nil {
		before.leave()
		w.own.Start(func(context.Context) { before.close() })
	}
}

// hands reports that the office is accepting something to send.
func (w *Window) hands() (busy bool) {
	w.compose.ifMade(func(s *compose.Screen) { busy = s.Busy() })
	return busy
}

// follows applies the settings of the window itself.
func (w *Window) follows(s office.Settings) {
	look, still := w.look(s)
	again := w.language != s.Language || w.painted.Text != look.Text // texts are measured when they are made
	if again {
		look.Text = w.painted.Text
	}
	w.paint(look, still)
	switch {
	case again && (w.grace.Busy() || w.hands() || w.account.cancel != nil):
		w.grace.Empty = w.readSettings // pending undos, what is being handed over and a sign-in belong to the present screens
	case again:
		w.enter(w.office, w.demo)
	case w.setup != nil && s.Configured() && !w.setup.Finishing():
		w.closeSetup() // set up from elsewhere
	}
}

func (w *Window) build() {
	names := []string{lang.L("Packages"), lang.L("Send"), lang.L("Activity"), lang.L("Status"), lang.L("Settings"), lang.L("Help")}
	icons := []string{"packages", "send", "activity", "status", "settings", "help"}
	list := widgets.Stack(4)
	brand := widgets.Brand()
	s := &shell{words: []fyne.CanvasObject{brand}, account: w.account, edge: widget.NewSeparator(), health: w.health, grace: w.grace, passing: w.notice}
	for i, name := range names {
		word := widgets.NewLine(name)
		item := widgets.NewNav(icons[i], word, nil, func() { w.Go(i) })
		switch i {
		case showPackages:
			item, w.counted = w.navToPackages(icons[i], word)
		case showCompose:
			item, w.waiting = w.noted(i, icons[i], word, lang.L("Draft"))
			item.OnPress = func() { w.goCompose((*compose.Screen).Enter) }
		case showSettings:
			item, w.unsaved = w.noted(i, icons[i], word, lang.L("Unsaved"))
		case showStatus:
			item = w.navToStatus(icons[i], word)
		}
		w.nav = append(w.nav, item)
		s.words = append(s.words, word)
		list.Add(item.Tappable)
	}
	w.stage = container.NewStack() // holds all screens, so that hidden ones follow the theme, too
	for _, s := range w.screens {
		w.stage.Add(s.Content())
	}
	top := widgets.Stack(0)
	if w.demo {
		top.Add(w.demoBanner())
	}
	w.health.OnNote = w.ShowStatus
	again := func() { w.window.Content().Refresh() }
	w.health.Changed, w.notice.Changed = again, again
	w.grace.Changed = func() { again(); w.askAnew() }
	nav := container.NewVBox(brand, list)
	s.nav, s.scroll = nav, widgets.NewVScroll(nav)
	s.page = widgets.Frame(top, nil, nil, widgets.Roomy(w.stage))
	w.main = container.New(s, s.edge, s.page, s.scroll, s.health, s.grace, s.account.content, s.passing) // in this order, so that Tab begins on the page
	w.hang(w.main)
}

func (w *Window) navToPackages(icon string, name *widgets.Line) (item *widgets.Nav, show func(int)) {
	count := widgets.NewCaption("").Whole()
	count.Colour, count.Bold = theme.Attention, true
	item = widgets.NewNav(icon, name, count, func() { w.Go(showPackages) })
	item.Says = func() string { return widgets.Said(name.Text, item.More) }
	return item, func(n int) {
		text := ""
		if item.More = ""; n > 0 {
			text, item.More = i18n.Number(n), lang.N("{{.PluralCount}} packages need your attention.", n)
		}
		if text != count.Text {
			count.Set(text)
			item.Refresh()
		}
	}
}

func (w *Window) navToStatus(icon string, name *widgets.Line) *widgets.Nav {
	note := widget.NewIcon(theme.MarkNext.Resource())
	item := widgets.NewNav(icon, name, note, w.ShowStatus)
	note.Hide()
	w.troubled = func(s agent.Severity) {
		mark, word := theme.MarkNext, lang.L("Notice")
		switch s {
		case agent.Problem:
			mark, word = theme.MarkProblem, lang.L("Problem")
		case "":
			word = ""
		}
		item.Says = func() string { return widgets.Said(name.Text, word) }
		note.SetResource(mark.Resource())
		widgets.Show(note, s != "")
		item.Refresh()
	}
	return item
}

// noted returns a sidebar entry and a function to mark it when something waits on its screen.
func (w *Window) noted(to int, icon string, name *widgets.Line, says string) (item *widgets.Nav, show func(bool)) {
	note := widget.NewIcon(fynetheme.NewColoredResource(fynetheme.DocumentCreateIcon(), theme.Ink))
	item = widgets.NewNav(icon, name, note, func() { w.Go(to) })
	item.Says = func() string {
		if note.Hidden {
			return name.Text
		}
		return widgets.Said(name.Text, says)
	}
	note.Hide()
	return item, func(waits bool) {
		if note.Hidden == waits {
			note.Hidden = !waits
			item.Refresh()
		}
	}
}

func (w *Window) newCompose() *compose.Screen {
	s := compose.New(w.env, w.office)
	s.OnSending, s.List = w.packages.Follow, func(then func()) { w.packages.ReloadThen(then) }
	s.OnWaiting = func(waits bool) {
		w.waiting(waits)
		if !s.Busy() {
			w.askAnew()
			w.grace.Idle()
		}
	}
	if w.waiting(s.Waiting()); w.last != nil {
		s.ShowStatus(w.last.status)
	}
	return s
}

func (w *Window) newSettings() *settings.Screen {
	s := settings.New(w.env, w.office)
	s.OnUnsaved = w.unsaved
	s.ShowPause(w.pauseItem(w.paused))
	return s
}

func (w *Window) newAbout() *about.Screen {
	s := about.New(w.env, w.office)
	if w.last != nil {
		s.ShowUpdate(w.last.update)
	}
	return s
}

// smallest is the size that still fits a screen of 1280 x 800 at 200 %: window managers make no window smaller than it asks for, and
// whatever lies off the screen is out of reach.
var smallest = fyne.NewSize(620, 340)

func (w *Window) hang(content fyne.CanvasObject) {
	w.dropHint = widgets.NewDropHint()
	w.clearLanding()
	page := widgets.On(theme.Paper, widgets.AtLeast(smallest, widgets.Roomy(content)))
	w.window.SetContent(widgets.WithTips(w.later, container.NewStack(page, w.dropHint)))
}

// shell puts the sidebar beside the page; if that leaves the page too little space, the sidebar shows no words. The health banner,
// the undo bar (called grace), the toasts (passing) and the account stand in the free part of the sidebar, or below everything else,
// where they neither cover nor move anything about to be pressed. The account stays in the sidebar if its menu is all it needs.
type shell struct {
	nav, scroll, edge, page, passing fyne.CanvasObject
	grace                            *widgets.UndoBar
	health                           *widgets.Banner
	account                          *account
	words                            []fyne.CanvasObject // including the program's name
	narrow                           bool
	wide                             float32 // width of the sidebar with its words
}

const (
	sidebarLeast = 174 // its content may need more
	sidebarRoom  = 8   // padding
	messageRoom  = 12  // above and below a banner's button
	pageLeast    = 560 // beside a sidebar with words; scaled with the text size
)

func (s *shell) Layout(_ []fyne.CanvasObject, size fyne.Size) {
	if !s.narrow {
		s.wide = s.sidebar()
	}
	if narrow := size.Width-s.wide < widgets.Scaled(pageLeast); narrow != s.narrow {
		s.narrow = narrow
		for _, word := range s.words {
			widgets.Show(word, !narrow)
		}
		s.nav.Refresh()
	}
	foot := s.account.content
	s.account.narrow(s.narrow)
	s.health.Short(s.narrow)
	s.grace.Short(s.narrow)
	width := s.inner()
	nav := heightAt(s.nav, width)
	if !s.narrow || s.account.signedIn {
		nav = min(nav, size.Height-heightAt(foot, width)-3*sidebarRoom)
	}
	nav = min(nav, size.Height-2*sidebarRoom)
	place(s.scroll, sidebarRoom, sidebarRoom, width, nav)
	edge := s.edge.MinSize().Width
	left := s.sidebar()

	top, bottom, below := nav+2*sidebarRoom, size.Height-sidebarRoom, size.Height
	messages := []fyne.CanvasObject{s.health, s.grace, s.passing}
	if s.narrow {
		below -= s.strip(left, size)
		messages = nil
	}
	free := bottom
	for _, o := range append([]fyne.CanvasObject{foot}, messages...) {
		if !o.Visible() {
			continue
		}
		height, last := heightAt(o, width), o == s.passing // toasts use all the space there is
		if height > bottom-top && !last {                  // Undo rather lies over the banner than moves the page
			bottom = free
		}
		switch {
		case height > bottom-top || s.narrow && !s.account.signedIn:
			if bar, may := o.(interface{ Short(bool) }); may {
				bar.Short(true)
			}
			height = heightAt(o, size.Width-left)
			below -= height
			place(o, left, below, size.Width-left, height)
		case last:
			place(o, sidebarRoom, top, width, bottom-top)
		default:
			bottom -= height + sidebarRoom
			place(o, sidebarRoom, bottom+sidebarRoom, width, height)
		}
		if o != s.health {
			free = bottom
		}
	}
	place(s.edge, left-edge, 0, edge, size.Height)
	place(s.page, left, 0, size.Width-left, below)
}

// strip places the messages at the lower edge, in the room of one line that is kept for them, and returns its height. What passes
// lies over the banner.
func (s *shell) strip(left float32, size fyne.Size) (kept float32) {
	kept = fyne.MeasureText("", fynetheme.TextSize(), fyne.TextStyle{}).Height + 2*fynetheme.InnerPadding() + messageRoom
	put := func(o fyne.CanvasObject, x, width float32) (height float32) {
		height = max(kept, heightAt(o, width))
		place(o, x, size.Height-height, width, height)
		return height
	}
	width := size.Width - left
	if high := put(s.health, left, width); s.health.Visible() {
		kept = high
	}
	if s.grace.Visible() && s.passing.MinSize().Height > 0 {
		width /= 2
	}
	put(s.grace, left, width)
	put(s.passing, size.Width-width, width)
	return kept
}

// inner is the width of the sidebar's content.
func (s *shell) inner() float32 {
	switch {
	case s.narrow && s.account.only:
		return max(s.nav.MinSize().Width, s.account.content.MinSize().Width)
	case s.narrow:
		return s.nav.MinSize().Width
	}
	return max(sidebarLeast, s.nav.MinSize().Width, s.account.content.MinSize().Width)
}

// sidebar is the sidebar's total width, including its border.
func (s *shell) sidebar() float32 {
	return s.inner() + 2*sidebarRoom + fynetheme.Padding() + s.edge.MinSize().Width
}

func (s *shell) MinSize([]fyne.CanvasObject) fyne.Size {
	return s.page.MinSize().AddWidthHeight(s.sidebar(), 0)
}

func place(o fyne.CanvasObject, x, y, width, height float32) {
	o.Move(fyne.NewPos(x, y))
	o.Resize(fyne.NewSize(width, height))
}

// heightAt returns an object's height at a width; wrapped text must know its width before it is measured.
func heightAt(o fyne.CanvasObject, width float32) float32 {
	o.Resize(fyne.NewSize(width, o.Size().Height))
	return o.MinSize().Height
}

// look returns appearance and motion for the settings; what they leave open follows the system.
func (w *Window) look(s office.Settings) (l theme.Look, still bool) {
	l = theme.Look{Variant: s.Theme, Contrast: s.Contrast == "high", Text: cmp.Or(s.TextSize, w.accessibility.Text)}
	if s.Contrast == "" {
		l.Contrast = w.accessibility.Contrast
	}
	if l.Text == 100 { // the default
		l.Text = 0
	}
	return l, s.Motion == "reduced" || s.Motion == "" && w.accessibility.ReducedMotion
}

// paint applies the appearance, and turns the widgets' animations off or on.
func (w *Window) paint(l theme.Look, still bool) {
	if w.options.ReduceMotion != nil {
		w.options.ReduceMotion(still)
	}
	if w.painted == l {
		return
	}
	w.painted = l
	w.app.Settings().SetTheme(l.Theme())
}

// askComfort reads the system's accessibility settings in the background: at the start, and whenever the person returns to the
// window, perhaps from those settings.
func (w *Window) askComfort() {
	if w.options.Accessibility == nil {
		return
	}
	async.Then(w.own, w.options.Accessibility,
		func(c system.Accessibility, err error) {
			if err == nil && w.accessibility != c { // after an error the old value stays until the next time
				w.accessibility = c
				w.follows(w.office.Settings())
			}
		})
}

func (w *Window) bindKeys() {
	w.shortcuts = map[keys.Key]func(){}
	for _, bound := range []struct {
		keys   keys.Binding
		do     func()
		always bool // also in the wizard, where no screens are available
	}{
		{keys.New, w.ShowCompose, false},
		{keys.Search, func() { w.Go(showPackages); w.packages.Find() }, false},
		{keys.Settings, w.ShowSettings, false},
		{keys.Send, w.sendNow, false},
		{keys.Undo, func() { w.grace.Undo() }, false},
		{keys.Close, w.Hide, true},
		{keys.Quit, w.askToQuit, true},
	} {
		do := func() {
			if !w.covered() && (w.setup == nil || bound.always) {
				bound.do()
			}
		}
		for _, key := range bound.keys {
			w.shortcuts[key] = do
			w.window.Canvas().AddShortcut(key.Shortcut(), func(fyne.Shortcut) { do() })
		}
	}
	w.window.Canvas().SetOnTypedKey(w.onKey)
}

// covered reports whether a pop-up covers the screens. It handles its own keys, and Escape.
func (w *Window) covered() bool { return w.window.Canvas().Overlays().Top() != nil }

// sendNow handles Ctrl+Enter; Enter alone sends nothing.
func (w *Window) sendNow() {
	if w.at == showCompose {
		w.compose.get().Send()
	}
}

// onKey handles keys that no widget used: Enter continues if that can be undone, Escape leaves.
func (w *Window) onKey(e *fyne.KeyEvent) {
	switch {
	case keys.Leave.Is(e):
		w.leave()
	case w.covered():
	case keys.CheckNow.Is(e) && w.setup == nil:
		w.CheckNow()
	case keys.Enter.Is(e) && w.setup != nil:
		w.setup.Next()
	case keys.Enter.Is(e) && w.at == showSettings:
		w.settings.get().Save()
	}
}

// CheckNow checks everything with the service, and says so if nothing else shows it.
func (w *Window) CheckNow() {
	w.packages.CheckNow()
	if w.at != showPackages && w.last != nil && w.last.status.SignedIn {
		w.env.Notice(lang.L("Checking…"))
	}
}

// leave closes whatever is on top, or returns to the list of packages as it was.
func (w *Window) leave() {
	if widgets.CloseTop(w.window.Canvas()) {
		return
	}
	if w.setup != nil {
		w.setup.Leave()
		return
	}
	if w.at == showCompose && w.compose.get().Leave() {
		return
	}
	w.Go(showPackages)
	w.packages.Leave()
}
