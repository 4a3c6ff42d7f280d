// Package settings is the screen on which an office chooses how Countersign works. A choice is stored at once, text when the person
// leaves its field or presses Enter; next to the field it says that it has changed, or what is wrong. Invalid input stays as typed,
// and does not keep the rest from being stored. Secrets go only one way: in.
package settings

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

type footer struct {
	foot *fyne.Container
	text *widgets.Line
	undo *widgets.Button

	OnUnsaved func(bool) // called when there is unsaved input, or none any more; may be nil
}

type Office interface {
	Connection
	Folders
	Updates
	Seals
	Desks

	Kept

	Status() (agent.Status, error)
	MayGo(office.Query) ([]office.Package, error)
	MoveOut(ctx context.Context, path, password string) error
}

type Kept interface {
	Settings() office.Settings
	ChangeSettings(ctx context.Context, change func(office.Settings) office.Settings, secrets office.Secrets) (office.Settings, error)
	AcceptFolder() error
	Fixed(setting string) bool
	PreviewName(settings office.Settings) (string, error)
	HasSecrets() (clientSecret, ngrokToken bool, err error)
}

type Connection interface {
	TestService(ctx context.Context, settings office.Settings) error
	TestClient(ctx context.Context, settings office.Settings, secret string) error
	TestTunnel(ctx context.Context, settings office.Settings, secrets office.Secrets) (publicURL string, err error)
	TestStamp(ctx context.Context, settings office.Settings) (authority string, err error)
}

type Folders interface {
	Drafts() ([]office.Draft, error)
	HotFolders() ([]office.HotFolderRow, error)
	FormPresets() ([]office.FormPreset, error)
	PutHotFolder(office.HotFolder) (office.HotFolder, error)
	RemoveHotFolder(id string) (known bool, err error)
	TryHotFolder(office.HotFolder) (message.Message, error)
}

type Updates interface {
	Update() office.Update
	CheckUpdate(ctx context.Context) (office.Update, error)
	InstallUpdate(ctx context.Context, progress func(office.UpdateStep)) (path string, err error)
}

// Screen is the settings screen. Only the UI goroutine may call its methods.
type Screen struct {
	env     *env.Env
	office  Office
	reader  *async.Reader[news]
	content fyne.CanvasObject
	form    *form
	pages   []fyne.CanvasObject
	scroll  *container.Scroll
	tabs    *widgets.Tabs

	technical map[int]*widgets.Fold // what only administrators need, folded, by page

	footer

	kept          office.Settings // as last read from the office
	saving, again bool

	preview *preview
	account *account
	tests   *tests
	starter *starter
	folders *folders
	updates *updates
	seals   *seals
	desks   *desks

	out, back fyne.CanvasObject // to move the office to another computer, and to take it back
	into      *widgets.Prose    // where it went
	moved     agent.Issue       // that it is there
	pause     *widgets.Button   // of notifications
}

// New returns the screen with the settings in memory, to which immediate actions refer. Reload reads the rest.
func New(d *env.Env, o Office) *Screen {
	s := &Screen{env: d, office: o, technical: map[int]*widgets.Fold{}, pause: widgets.NewButton("", nil)}
	s.text = widgets.NewLine("")
	s.text.Shorten = true
	s.reader = async.NewReader(d.Work, s.read, s.show)
	s.form = newForm(s.changed, s.chosen, s.PickFolder)
	for e, k := range s.form.inputs {
		e.OnSubmitted = func(string) { s.Save() }
		e.OnFocusLost = func() { s.left(e) }
		e.OnEscape = func() { s.takeBack(e, k) }
	}
	s.preview, s.account = newPreview(s), newAccount(s)
	s.tests, s.starter, s.folders, s.updates = newTests(s), newStarter(s), newFolders(s), newUpdates(s)
	s.seals, s.desks = newSeals(s), newDesks(s)
	s.build()
	s.kept = o.Settings()
	s.form.show(s.kept, s.kept, true)
	s.lock()
	s.adapt()
	return s
}

func (s *Screen) Content() fyne.CanvasObject { return s.content }

// Reload reads the settings again, off the UI goroutine. Unsaved input stays.
func (s *Screen) Reload() {
	s.reader.Ask()
	s.folders.reload()
	s.seals.reader.Ask()
}

// ReloadFolders reads the hot folders' states, of which nothing else notifies the screen.
func (s *Screen) ReloadFolders() { s.folders.reload() }

type news struct {
	settings      office.Settings
	status        agent.Status
	client, ngrok bool
	autostart     bool
	autostartErr  error
	update        office.Update
}

func (s *Screen) read(context.Context) (n news, err error) {
	n.settings = s.office.Settings()
	if s.env.Autostart != nil {
		n.autostart, n.autostartErr = s.env.Autostart.Enabled()
	}
	n.update = s.office.Update()
	status, err1 := s.office.Status()
	client, ngrok, err2 := s.office.HasSecrets()
	n.status, n.client, n.ngrok = status, client, ngrok
	return n, cmp.Or(err1, err2)
}

// show shows what was read. The settings and who is signed in are always known; health says why the rest could not be read.
func (s *Screen) show(n news, err error) {
	s.form.show(n.settings, s.kept, false)
	s.lock()
	s.kept = n.settings
	if err == nil {
		s.form.showSecrets(n.client, n.ngrok)
	}
	s.ShowStatus(n.status)
	s.starter.show(n.autostart, n.autostartErr)
	s.updates.show(n.update)
	s.adapt()
	s.preview.asked = office.Settings{} // the latest package may have changed
	s.preview.ask()
}

// Continue takes over the view and input of an earlier screen of the same office after the window's language changed. The input that
// had the focus keeps it.
func (s *Screen) Continue(old *Screen, focused fyne.Focusable) {
	s.kept = old.kept
	s.form.fill(old.form)
	s.tabs.Choose(old.tabs.Chosen())
	for tab, was := range old.technical {
		s.technical[tab].Open(was.IsOpen())
	}
	s.folders.continueFrom(old.folders)
	s.adapt()
	s.preview.ask()
	s.scroll.Offset = old.scroll.Offset
	s.scroll.Refresh()
	for i, k := range old.form.all {
		if input, is := k.input.(fyne.Focusable); is && input == focused {
			s.env.Window.Canvas().Focus(s.form.all[i].input.(fyne.Focusable))
		}
	}
}

func (s *Screen) ShowStatus(status agent.Status) {
	s.account.show(status)
	s.tests.show(status)
	alone := slices.ContainsFunc(status.Health, func(i agent.Issue) bool { return i.ID == agent.IssueHub }) // health says why
	if s.desks.where.Hidden != alone {
		s.desks.where.Hidden = alone
		s.desks.section.Refresh()
	}
	var away bool
	if s.moved, away = status.MovedAway(); away != s.desks.away {
		s.into.Set(i18n.Message(s.moved.Message))
		widgets.Show(s.out, !away)
		widgets.Show(s.back, away)
		s.desks.away = away
		s.desks.adapt(s.kept)
	}
}

// ShowPause offers what the tray does, too: to pause notifications, or to go on with them.
func (s *Screen) ShowPause(offer *fyne.MenuItem) {
	s.pause.SetText(offer.Label)
	s.pause.OnTapped = offer.Action
}

func (s *Screen) ShowUpdate(known office.Update) { s.updates.show(known) }

func (s *Screen) settings() office.Settings { return s.form.settings(s.kept) }

// PickFolder asks for the folder for signed documents and stores the choice.
func (s *Screen) PickFolder() {
	s.tabs.Choose(tabDocuments)
	browse.Folder(s.env, s.form.folder.Typed(), func(path string) {
		if path == s.kept.SaveTo {
			async.Try(s.env.Work, func(context.Context) error { return s.office.AcceptFolder() },
				func(err error) { s.saved(s.kept, office.Secrets{}, err) })
		}
		s.form.folder.SetText(path)
		s.Save()
	})
}

func (s *Screen) ShowAccount() { s.tabs.Choose(tabService) }

// ShowService shows the settings of the service and the public address.
func (s *Screen) ShowService() { s.tabs.Choose(tabService); s.unfold(tabService) }

// ShowCause shows the settings that can solve an issue.
func (s *Screen) ShowCause(issue string) {
	switch issue {
	case agent.IssueHub:
		s.tabs.Choose(tabComputers)
	case agent.IssueRecord:
		s.ShowProgram()
		s.unfold(tabProgram)
	default:
		s.ShowService()
	}
}

// ShowDocuments shows the page of where signed documents go.
func (s *Screen) ShowDocuments() { s.tabs.Choose(tabDocuments) }

func (s *Screen) ShowFolders() { s.tabs.Choose(tabFolders) }

// ShowProgram shows the page of the program itself: colours, language, starting.
func (s *Screen) ShowProgram() { s.tabs.Choose(tabProgram) }

func (s *Screen) dirty() bool {
	return s.form.secrets() != (office.Secrets{}) || slices.ContainsFunc(s.form.all, func(k *setting) bool { return k.differs(s.kept) })
}

// changed says next to a field that it is not stored yet; k is nil for a secret.
func (s *Screen) changed(k *setting) {
	s.tests.forget()
	if k != nil {
		k.field.Wrong("")
		if k.typed && k.differs(s.kept) {
			k.field.Note(theme.Waiting, lang.L("not saved"))
		}
	}
	s.sayMarked()
	s.adapt()
	s.preview.ask()
}

// chosen stores a choice at once.
func (s *Screen) chosen(k *setting) {
	s.changed(k)
	s.Save()
}

// left stores input once the person has moved on to another control. If the whole window lost the focus, nothing is stored: an
// address may be half typed, to be completed from another window.
func (s *Screen) left(e *widgets.Entry) {
	async.Try(s.env.Work, func(context.Context) error { return nil }, func(error) { // after the focus has moved
		if s.env.Window.Canvas().Focused() != fyne.Focusable(e) {
			s.Save()
		}
	})
}

// takeBack restores a field's stored value.
func (s *Screen) takeBack(e *widgets.Entry, k *setting) {
	if k == nil {
		e.SetText("")
		return
	}
	e.SetText(k.read(s.kept)) // also removes the remark
}

func (s *Screen) Undo() {
	s.again = s.saving // also undoes what is being stored
	s.form.show(s.kept, s.kept, true)
	s.form.clearSecrets()
	for _, k := range s.form.all {
		k.field.Wrong("")
	}
	s.say(theme.Secondary, "")
	s.adapt()
	s.preview.ask()
}

// Save stores everything valid that differs and shows errors next to their fields; invalid input stays.
func (s *Screen) Save() {
	if s.saving {
		s.again = true
		return
	}
	shown, secrets := s.settings(), s.form.secrets()
	wrong := i18n.Findings(shown.Check())
	s.showWrong(wrong)
	s.form.tidy(shown.Normal(), wrong)
	settings := s.acceptable(shown).Normal()
	if reflect.DeepEqual(settings, s.kept.Normal()) && secrets == (office.Secrets{}) {
		return
	}
	s.saving = true
	change := s.form.change(s.kept.Normal(), settings)
	store := func(ctx context.Context) (office.Settings, error) {
		return s.office.ChangeSettings(ctx, change, secrets)
	}
	async.Then(s.env.Work, store, func(_ office.Settings, err error) {
		s.saving = false
		s.saved(settings, secrets, err)
		if s.again {
			s.again = false
			s.Save()
		}
	})
}

// acceptable returns as much of the input as can be stored: an invalid field keeps its stored value, and if that is not enough, as
// with an incomplete address, so do all of the public address and return address.
func (s *Screen) acceptable(shown office.Settings) office.Settings {
	wrong := i18n.Findings(shown.Check())
	for _, also := range [][]string{nil, {office.FieldTunnel, office.FieldNgrokDomain, office.FieldNgrokConnect, office.FieldNgrokCA, office.FieldPublicURL, office.FieldListen, office.FieldRedirect, office.FieldRedirectURI},
		{office.FieldQuietFrom, office.FieldQuietTo}} {
		for _, key := range also {
			wrong[key] = "as it was"
		}
		for key := range wrong {
			if k := s.form.by[key]; k != nil {
				k.write(&shown, k.read(s.kept))
			}
		}
		if len(shown.Check()) == 0 {
			return shown
		}
	}
	return s.kept
}

func (s *Screen) saved(settings office.Settings, secrets office.Secrets, err error) {
	if err != nil {
		s.Blame(err)
		return
	}
	s.offerPattern(s.kept.NameTemplate, settings.NameTemplate)
	s.kept = settings
	for _, k := range s.form.all {
		if !k.differs(s.kept) {
			k.field.Note("", "")
		}
	}
	if s.form.secrets() == secrets {
		s.form.clearSecrets()
	}
	switch s.sayMarked(); {
	case s.form.secrets() != (office.Secrets{}):
		s.say(theme.Attention, lang.L("Not everything is saved. Check the marked fields."))
	case !s.dirty():
		s.env.Notice(lang.L("Settings saved."))
	}
	s.offerUndo()
	s.Reload()
}

// offerPattern offers to return to a custom name pattern that a ready-made one has replaced.
func (s *Screen) offerPattern(before, now string) {
	if ready := s.form.shapes.values; slices.Contains(ready, before) || !slices.Contains(ready, now) {
		return
	}
	s.env.Soon(env.Undoable{Says: lang.L("File name pattern replaced."), Undone: func() {
		s.form.by[office.FieldTemplate].set(before)
		s.Save()
	}})
}

// showWrong marks errors, and clears the marks of other fields.
func (s *Screen) showWrong(wrong map[string]string) {
	for _, k := range s.form.all {
		if k.field.IsWrong() || wrong[k.key] != "" {
			k.field.Wrong(wrong[k.key])
			if wrong[k.key] != "" && k.folded {
				s.unfold(k.tab)
			}
		}
	}
	s.sayMarked()
}

// sayMarked says at the bottom that a field is marked, as long as one is.
func (s *Screen) sayMarked() {
	if slices.ContainsFunc(s.form.all, func(k *setting) bool { return k.field.IsWrong() }) {
		s.say(theme.Attention, lang.L("Not everything is saved. Check the marked fields."))
	} else {
		s.say(theme.Secondary, "")
	}
	s.preview.tick()
}

// Blame shows an error of the office next to the fields it names, or otherwise at the bottom.
func (s *Screen) Blame(err error) {
	text := i18n.Error(err)
	if s.marks(err, true) {
		text = lang.L("Not everything is saved. Check the marked fields.")
	}
	s.say(theme.Attention, text)
	s.preview.tick()
}

// marks marks the fields that an error names, turns to them if wanted, and reports whether there is one.
func (s *Screen) marks(err error, turn bool) (some bool) {
	var config *agent.ConfigError
	if !errors.As(err, &config) {
		return false
	}
	for _, wrong := range config.Fields {
		field, tab, folded := s.form.secret[wrong.Field], tabService, true
		if k := s.form.by[wrong.Field]; k != nil {
			field, tab, folded = k.field, k.tab, k.folded
		} else if field == nil {
			continue
		}
		some = true
		field.Wrong(i18n.Message(wrong.Text))
		if folded {
			s.unfold(tab)
		}
		if turn {
			s.tabs.Choose(tab)
		}
		if turn && field == s.form.secret[wrong.Field] {
			widgets.FocusWrong([]*widgets.Field{field})
		}
	}
	return some
}

// lock disables what the administrator has fixed, and what is being tested.
func (s *Screen) lock() {
	s.form.lock(s.office.Fixed)
	tested := s.tests.service.cancel != nil || s.tests.tunnel.cancel != nil
	for _, secret := range []*widgets.Entry{s.form.clientSecret, s.form.ngrokToken} {
		widgets.Enable(secret, !tested)
	}
	for _, k := range s.form.all {
		if tested && k.tab == tabService {
			k.input.Disable()
		}
	}
}

func (s *Screen) unfold(tab int) {
	if fold := s.technical[tab]; fold != nil {
		fold.Open(true)
	}
}

func (s *Screen) offerUndo() {
	s.undo.Hidden = !s.dirty()
	if s.OnUnsaved != nil {
		s.OnUnsaved(!s.undo.Hidden || s.folders.typing())
	}
	s.foot.Hidden = s.undo.Hidden && s.text.Text == ""
	s.foot.Refresh()
	s.content.Refresh()
}

func (s *Screen) say(colour fyne.ThemeColorName, text string) {
	s.text.Colour, s.text.Text = colour, text
	s.text.Refresh()
	if s.undo != nil {
		s.offerUndo()
	}
}

func (s *Screen) build() {
	s.undo = widgets.NewButton(lang.L("Undo"), s.Undo)
	s.foot = widgets.On(theme.Paper, widgets.Stack(0, widget.NewSeparator(),
		widgets.PadHV(20, 8, widgets.AtMost(760, widgets.Across(nil, s.text, s.undo)))))
	s.pages = []fyne.CanvasObject{s.documents(), s.folders.content, s.notices(), s.program(), s.service(),
		page(s.desks.section, s.moving())}
	s.tabs = widgets.NewTabs([]string{lang.L("Documents"), lang.L("Watched folders"), lang.L("Notifications"), lang.L("General"), lang.L("Service and account"), lang.L("Computers")}, s.turn)
	stack := container.NewStack()
	for _, p := range s.pages {
		stack.Add(p)
	}
	s.scroll = widgets.NewVScroll(widgets.PadHV(20, 8, widgets.AtMost(760, stack)))
	head := widgets.Stack(4, widgets.PadHV(20, 16, widgets.AtMost(760, widgets.NewHeading(lang.L("Settings")))), widgets.PadHV(15, 0, widgets.AtMost(770, s.tabs)))
	s.content = widgets.Between(head, s.foot, s.scroll)
	s.turn(tabDocuments)
}

func (s *Screen) turn(page int) {
	for i, p := range s.pages {
		widgets.Show(p, i == page)
	}
	s.scroll.ScrollToTop()
	s.scroll.Refresh()
}

// place returns a setting's field, and remembers its page.
func (s *Screen) place(key string, tab int) fyne.CanvasObject {
	k := s.form.by[key]
	if k.tab = tab; k.field.Title() == "" {
		return k.field
	}
	return k.field.Row()
}

// placeFolded is place for a setting that only administrators need.
func (s *Screen) placeFolded(key string, tab int) fyne.CanvasObject {
	s.form.by[key].folded = true
	return s.place(key, tab)
}

func page(parts ...fyne.CanvasObject) fyne.CanvasObject {
	return widgets.Stack(20, append(parts, layout.NewSpacer())...)
}

// administrators folds away what only they need.
func (s *Screen) administrators(tab int, parts ...fyne.CanvasObject) fyne.CanvasObject {
	s.technical[tab] = widgets.NewFold(lang.L("For administrators"), false, widgets.Stack(20, parts...))
	return s.technical[tab].Object
}

func (s *Screen) documents() fyne.CanvasObject {
	at := func(key string) fyne.CanvasObject { return s.place(key, tabDocuments) }
	return page(
		widgets.Section(lang.L("Where signed documents go"), 12, at(office.FieldSaveTo), at("beside_original")),
		widgets.Section(lang.L("File names"), 12, widgets.NewField(lang.L("Ready-made patterns"), s.form.shapes.Select, "").Row(), at(office.FieldTemplate), s.preview.field),
		widgets.Section(lang.L("Copies of every package"), 12, at(office.FieldCopyTo), at(office.FieldBlindCopyTo)),
		widgets.Section(lang.L("Additional files"), 0, at("save_cac"), at("save_masterfile"), at("index")))
}

func (s *Screen) notices() fyne.CanvasObject {
	at := func(key string) fyne.CanvasObject { return s.place(key, tabNotices) }
	s.form.hours = widgets.Stack(12, at(office.FieldQuietFrom), at(office.FieldQuietTo))
	return page(widgets.Card(widgets.Stack(12, at(office.FieldNotify), at(office.FieldDueDays), widgets.Outdent(s.form.quiet), s.form.hours, widgets.Row(0, s.pause))))
}

func (s *Screen) program() fyne.CanvasObject {
	at := func(key string) fyne.CanvasObject { return s.place(key, tabProgram) }
	deep := func(key string) fyne.CanvasObject { return s.placeFolded(key, tabProgram) }
	parts := []fyne.CanvasObject{widgets.Section(lang.L("Look and language"), 12, at("theme"), at("language"), at(office.FieldTextSize), at(office.FieldContrast), at(office.FieldMotion))}
	if s.env.Autostart != nil {
		parts = append(parts, widgets.Section(lang.L("Startup"), 12, s.starter.content))
	}
	return page(append(parts, s.updates.section(at("check_updates")),
		widgets.Section(lang.L("Storage"), 12, at(office.FieldKeepYears),
			widgets.NewField("", widgets.Row(0, widgets.NewButton(lang.L("Show documents past this period…"), func() { showExpired(s) })), "").Row()),
		s.administrators(tabProgram, widgets.Card(widgets.Stack(12, deep(office.FieldKeepEvents), deep(office.FieldCheckFiles))), s.seals.content,
			widgets.Section(lang.L("Proof record"), 12, deep(office.FieldStampURL), s.tests.stamp.content, deep("mirror_record"))))...)
}

func (s *Screen) service() fyne.CanvasObject {
	at := func(key string) fyne.CanvasObject { return s.placeFolded(key, tabService) }
	t := s.tests
	t.ngrok = widgets.Stack(12, at(office.FieldNgrokDomain), s.form.ngrokField, at(office.FieldNgrokConnect), at(office.FieldNgrokCA))
	t.external = widgets.Stack(12, at(office.FieldPublicURL), at(office.FieldListen))
	t.none = widgets.Stack(0, widgets.NewProse(lang.L("Signatures show up a little later. Countersign checks for them regularly.")))
	return page(widgets.Card(s.account.content), s.administrators(tabService,
		widgets.Section(lang.L("Signing service"), 12, s.account.organization, at(office.FieldAuthURL), at(office.FieldBaseURL), at(office.FieldClientID), s.form.clientField,
			at(office.FieldScopes), at(office.FieldHeader), t.service.content),
		widgets.Section(lang.L("Public address"), 12, at(office.FieldTunnel), t.ngrok, t.external, t.none, t.tunnel.content),
		widgets.Section(lang.L("Signing in"), 12, at(office.FieldRedirect), at(office.FieldRedirectURI), t.back)))
}

// adapt shows the inputs for the chosen kind of address, the matching ready-made name pattern, and whether there is something to
// undo.
func (s *Screen) adapt() {
	kind := office.TunnelKind(s.form.tunnel.value())
	for part, shown := range map[*fyne.Container]bool{s.tests.ngrok: kind == office.TunnelNgrok,
		s.tests.external: kind == office.TunnelExternal, s.tests.none: kind == office.TunnelNone} {
		part.Hidden = !shown
	}
	f := s.form
	widgets.Enable(f.days, f.reminds.Checked && !f.reminds.Disabled())
	f.quiet.Checked = f.by[office.FieldQuietFrom].get()+f.by[office.FieldQuietTo].get() != ""
	f.quiet.Refresh()
	widgets.Show(f.hours, f.quiet.Checked)
	f.shapes.show(f.pattern())
	s.tests.showReturn()
	s.desks.adapt(s.kept)
	s.offerUndo()
}

// starter chooses whether the program starts with the computer, which the computer stores, not the office.
type starter struct {
	screen  *Screen
	content fyne.CanvasObject
	field   *widgets.Field
	check   *widgets.Check
}

func newStarter(s *Screen) *starter {
	t := &starter{screen: s}
	t.check = widgets.NewCheck(lang.L("Start Countersign when the computer starts"), t.set)
	t.field = widgets.NewField("", widgets.Outdent(t.check), lang.L("It starts in the tray and saves signed documents from there."))
	t.content = t.field
	return t
}

// show shows the state without setting anything.
func (t *starter) show(on bool, err error) {
	if err != nil {
		t.field.Wrong(i18n.Error(err))
		t.check.Disable()
		return
	}
	t.check.Enable()
	t.check.Checked = on
	t.check.Refresh()
}

func (t *starter) set(on bool) {
	autostart := t.screen.env.Autostart
	async.Try(t.screen.env.Work, func(context.Context) error { return autostart.Set(on) }, func(err error) {
		if err != nil {
			t.check.Checked = !on
			t.check.Refresh()
			t.field.Wrong(i18n.Error(err))
			return
		}
		t.field.Wrong("")
		t.screen.env.Notice(lang.L("Settings saved."))
	})
}
