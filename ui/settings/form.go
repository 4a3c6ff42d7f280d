package settings

import (
	"cmp"
	"context"
	"crypto/x509"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

const (
	tabDocuments = iota
	tabFolders
	tabNotices
	tabProgram
	tabService
	tabComputers
)

// form shows settings as inputs. It converts in both directions, and knows nothing of storing them.
type form struct {
	all     []*setting
	inputs  map[*widgets.Entry]*setting // nil for the secrets
	changed func(*setting)              // called during typing
	chosen  func(*setting)              // called after a choice

	template, folder         *widgets.Entry
	clientSecret, ngrokToken *widgets.Entry
	clientField, ngrokField  *widgets.Field
	secret                   map[string]*widgets.Field // both secrets
	redirect, tunnel         *choice
	shapes                   *choice
	choose                   *widgets.Button // chooses the folder
	reminds, quiet           *widgets.Check
	days                     *widgets.Entry    // days before the due date
	hours                    fyne.CanvasObject // quiet hours
	by                       map[string]*setting
	filling                  bool // changes are made by the program
}

func newForm(changed, chosen func(*setting), pickFolder func()) *form {
	f := &form{inputs: map[*widgets.Entry]*setting{}, by: map[string]*setting{}}
	f.changed, f.chosen = f.byHand(changed), f.byHand(chosen)
	f.documents(pickFolder)
	f.notices()
	f.program()
	f.proof()
	f.service()
	return f
}

// byHand passes on only what a person does.
func (f *form) byHand(tell func(*setting)) func(*setting) {
	return func(k *setting) {
		if !f.filling {
			tell(k)
		}
	}
}

func (f *form) add(k *setting, typed *widgets.Entry) *setting {
	f.all = append(f.all, k)
	f.by[k.key] = k
	if typed != nil {
		k.typed = true
		f.inputs[typed] = k
		typed.OnChanged = func(string) { f.changed(k) }
	}
	return k
}

func (f *form) documents(pickFolder func()) {
	f.folder, f.template = widgets.NewEntry(""), widgets.NewEntry("")
	f.choose = widgets.NewButtonWithIcon(lang.L("Choose…"), fynetheme.FolderOpenIcon(), pickFolder)
	f.text(office.FieldSaveTo, "", "", f.folder, func(s *office.Settings) *string { return &s.SaveTo }).field =
		widgets.NewField(lang.L("Folder"), widgets.Across(nil, f.folder, f.choose), "")
	pattern := f.text(office.FieldTemplate, lang.L("File name pattern"), lang.L("You can use {{.Placeholders}}. Use / to create subfolders.", i18n.V{"Placeholders": i18n.Placeholders()}),
		f.template, func(s *office.Settings) *string { return &s.NameTemplate })
	pattern.get = f.pattern
	pattern.set = func(canonical string) { f.template.SetText(i18n.Pattern(canonical)) }
	f.shapes = newChoice(
		[]string{"{package} - {document}", "{package}/{document}", "{month}/{package} - {document}", "{year}/{month}/{package} - {document}",
			"{date} {package} - {document}", "{reference} {package} - {document}"},
		[]string{lang.L("All in one folder"), lang.L("A folder per package"), lang.L("A folder per month"), lang.L("A folder per year and month"),
			lang.L("All in one folder, by date"), lang.L("All in one folder, by reference")}, func() { f.shape() })
	f.shapes.PlaceHolder = lang.L("Custom pattern")
	f.people(office.FieldCopyTo, lang.L("Copies (CC)"), lang.L("They get a copy of every package sent from this computer and don’t sign."), func(s *office.Settings) *[]string { return &s.CopyTo })
	f.people(office.FieldBlindCopyTo, lang.L("Blind copies (BCC)"), lang.L("The others don’t see these people."), func(s *office.Settings) *[]string { return &s.BlindCopyTo })
	f.flag("beside_original", lang.L("Save next to the original where possible"), func(s *office.Settings) *bool { return &s.BesideOriginal }).
		field.Hint(lang.L("For documents sent from this computer."))
	f.flag("save_cac", lang.L("Certificate of each document"), func(s *office.Settings) *bool { return &s.SaveCAC })
	f.flag("save_masterfile", lang.L("Combined PDF of each package"), func(s *office.Settings) *bool { return &s.SaveMaster })
	f.flag("index", lang.L("List of saved files for Excel"), func(s *office.Settings) *bool { return &s.Index })
	elsewhere := f.flag("saved_elsewhere", lang.L("Another computer saves signed documents"), func(s *office.Settings) *bool { return &s.SavedElsewhere })
	elsewhere.field.Hint(lang.L("Nothing is saved on this computer then. It says when everyone has signed."))
	f.flag("notify_mine", lang.L("Notify only about packages sent from here or by my account"), func(s *office.Settings) *bool { return &s.Mine })
}

func (f *form) flag(key, name string, at func(*office.Settings) *bool) *setting {
	return f.check(key, widgets.NewCheck(name, func(bool) { f.chosen(f.by[key]) }), at)
}

func (f *form) pattern() string { return i18n.CanonicalPattern(f.template.Typed()) }

// shape fills in a ready-made name pattern.
func (f *form) shape() {
	if v := f.shapes.value(); v != "" && v != f.pattern() {
		f.by[office.FieldTemplate].set(v)
		f.chosen(f.by[office.FieldTemplate])
	}
}

// people makes a setting of a list of people, separated by commas.
func (f *form) people(key, name, hint string, at func(*office.Settings) *[]string) {
	e := widgets.NewEntry(lang.L("Name <e-mail address>"))
	f.value(key, name, hint, e, func(s office.Settings) string { return strings.Join(*at(&s), "; ") }, func(s *office.Settings, v string) {
		if *at(s) = nil; v != "" {
			*at(s) = []string{v}
		}
	})
}

func (f *form) notices() {
	f.pick(office.FieldNotify, lang.L("Notify me about"), []string{string(office.NotifyEach), string(office.NotifyExecuted), string(office.NotifyNone)},
		[]string{lang.L("Each signature and fully signed packages"), lang.L("Fully signed packages only"), lang.L("Nothing")},
		func(s office.Settings) string { return string(cmp.Or(s.Notify, office.NotifyEach)) }, func(s *office.Settings, v string) { s.Notify = office.NotifyKind(v) })
	f.days = widgets.NewEntry("")
	f.reminds = widgets.NewCheck("", func(bool) { f.chosen(f.by[office.FieldDueDays]) })
	f.add(&setting{key: office.FieldDueDays, input: f.reminds, field: widgets.NewField("", f.sentence(lang.L("Remind me … days before the due date"), f.reminds, f.days),
		lang.L("Once for each package that is not fully signed by then.")),
		get: func() string {
			if !f.reminds.Checked {
				return never
			}
			return f.days.Typed()
		},
		set: func(v string) {
			if f.reminds.Checked = v != never; v == never {
				v = strconv.Itoa(office.DueDays)
			}
			f.days.SetText(v)
			f.reminds.Refresh()
		},
		read: func(s office.Settings) string { return strconv.Itoa(max(0, cmp.Or(s.DueDays, office.DueDays))) },
		write: func(s *office.Settings, v string) {
			n, err := strconv.Atoi(v)
			if s.DueDays = office.DueDaysFrom(n); err != nil {
				s.DueDays = office.DueDaysFrom(-1)
			}
		}}, f.days)
	from, to := widgets.NewEntry("22:00"), widgets.NewEntry("07:00")
	f.text(office.FieldQuietFrom, "", "", from, func(s *office.Settings) *string { return &s.QuietFrom }).field = widgets.NewField(lang.L("From"), narrow(from), "")
	f.text(office.FieldQuietTo, "", "", to, func(s *office.Settings) *string { return &s.QuietTo }).field = widgets.NewField(lang.L("Until"), narrow(to), "")
	f.quiet = widgets.NewCheck(lang.L("No notifications during quiet hours"), func(on bool) {
		f.filling = true
		for _, e := range []*widgets.Entry{from, to} {
			if e.SetText(""); on {
				e.SetText(e.PlaceHolder)
			}
		}
		f.filling = false
		f.chosen(f.by[office.FieldQuietFrom])
	})
}

// never stands for no reminder.
const never = "0"

// narrow is an input for a number or a time.
func narrow(e *widgets.Entry) fyne.CanvasObject { return widgets.Row(0, widgets.Wide(72, e)) }

// sentence puts an input in the place of the … in its description; the beginning may belong to a check box.
func (f *form) sentence(text string, choice *widgets.Check, e *widgets.Entry) fyne.CanvasObject {
	before, after, _ := strings.Cut(text, "…")
	e.Says = func() string { return text }
	word := func(text string) fyne.CanvasObject {
		return widgets.Tall(e.MinSize().Height, widgets.NewLine(strings.TrimSpace(text)))
	}
	if choice != nil {
		choice.Text = strings.TrimSpace(before)
		choice.Refresh()
		return widgets.Outdent(widgets.Flow(8, choice, narrow(e), word(after)))
	}
	return widgets.Flow(8, word(before), narrow(e), word(after))
}

func (f *form) program() {
	system := lang.L("Same as the system")
	pick := func(key, name string, values, texts []string, at func(*office.Settings) *string) {
		f.pick(key, name, append([]string{""}, values...), append([]string{system}, texts...),
			func(s office.Settings) string { return *at(&s) }, func(s *office.Settings, v string) { *at(s) = v })
	}
	pick("theme", lang.L("Theme"), []string{"light", "dark"}, []string{lang.L("Light"), lang.L("Dark")}, func(s *office.Settings) *string { return &s.Theme })
	var names []string
	for _, code := range i18n.Languages() {
		names = append(names, i18n.LanguageName(code))
	}
	pick("language", lang.L("Language"), i18n.Languages(), names, func(s *office.Settings) *string { return &s.Language })
	pick(office.FieldContrast, lang.L("Contrast"), []string{"high", "normal"}, []string{lang.L("High"), lang.L("Normal")}, func(s *office.Settings) *string { return &s.Contrast })
	percents, texts := []string{""}, []string{system}
	for _, percent := range office.TextSizes() {
		percents, texts = append(percents, strconv.Itoa(percent)), append(texts, lang.L("{{.Percent}}%", i18n.V{"Percent": percent}))
	}
	f.pick(office.FieldTextSize, lang.L("Text size"), percents, texts, func(s office.Settings) string {
		if s.TextSize == 0 {
			return ""
		}
		return strconv.Itoa(s.TextSize)
	}, func(s *office.Settings, v string) { s.TextSize, _ = strconv.Atoi(v) })
	pick(office.FieldMotion, lang.L("Animations"), []string{"reduced", "full"}, []string{lang.L("Reduced"), lang.L("Normal")}, func(s *office.Settings) *string { return &s.Motion })
	f.flag("check_updates", lang.L("Check for a new version once a day"), func(s *office.Settings) *bool { return &s.CheckUpdates }).
		field.Hint(lang.L("Only the newest version number is requested. Nothing about you or your documents is sent."))
	f.text(office.FieldKeepYears, lang.L("Retention period (years)"), lang.L("How long you keep signed documents; Countersign never deletes them. “10; Lease: 30” means 30 years for the template or watched folder “Lease”, and 10 for everything else."),
		widgets.NewEntry(lang.L("no limit")), func(s *office.Settings) *string { return &s.KeepYears })
	kept := widgets.NewEntry(strconv.Itoa(office.KeepEventsDays))
	f.value(office.FieldKeepEvents, "", "", kept, func(s office.Settings) string { return strconv.Itoa(cmp.Or(s.KeepEvents, office.KeepEventsDays)) },
		func(s *office.Settings, v string) {
			var err error
			if s.KeepEvents, err = strconv.Atoi(v); err != nil || s.KeepEvents == 0 {
				s.KeepEvents = -1 // 0 would mean the default
			}
		}).field = widgets.NewField("", f.sentence(lang.L("Keep event data for … days"), nil, kept), lang.L("Packages and saved files stay in the list."))
}

// proof adds the settings of the record and of checking saved files.
func (f *form) proof() {
	f.text(office.FieldStampURL, lang.L("Time stamp service"), lang.L("It confirms once a day that this record existed. It receives only a checksum, never a document. Leave empty for none."),
		widgets.NewEntry("https://example.com/tsa"), func(s *office.Settings) *string { return &s.StampURL })
	f.flag("mirror_record", lang.L("Also keep a copy in the folder for documents"), func(s *office.Settings) *bool { return &s.MirrorRecord })
	days := widgets.NewEntry(never)
	f.value(office.FieldCheckFiles, "", "", days, func(s office.Settings) string { return strconv.Itoa(s.CheckFiles) }, func(s *office.Settings, v string) {
		var err error
		if s.CheckFiles, err = strconv.Atoi(v); err != nil {
			s.CheckFiles = -1
		}
	}).field = widgets.NewField("", f.sentence(lang.L("Check saved documents every … days"), nil, days), lang.L("You’re told about missing, changed and renamed files. 0 means never."))
}

func (f *form) service() {
	plain := func(key, name, placeholder, hint string, at func(*office.Settings) *string) {
		f.text(key, name, hint, widgets.NewEntry(placeholder), at)
	}
	plain(office.FieldAuthURL, lang.L("Sign-in address"), "https://sign.example.com", "", func(s *office.Settings) *string { return &s.AuthURL })
	plain(office.FieldBaseURL, lang.L("Service address"), "https://sign.example.com/api/v1", "", func(s *office.Settings) *string { return &s.BaseURL })
	plain(office.FieldClientID, lang.L("Client ID"), "", "", func(s *office.Settings) *string { return &s.ClientID })
	plain(office.FieldHeader, lang.L("Event signature header"), "X-Service-Signature", "", func(s *office.Settings) *string { return &s.SignatureHeader })
	scopes := widgets.NewEntry("openid profile offline_access organization")
	f.value(office.FieldScopes, lang.L("Permissions"), "", scopes, func(s office.Settings) string { return strings.Join(s.Scopes, " ") },
		func(s *office.Settings, v string) { s.Scopes = strings.Fields(v) }).get = func() string { return strings.Join(strings.Fields(scopes.Text), " ") }
	f.clientSecret, f.ngrokToken = widgets.NewSecret(), widgets.NewSecret()
	f.clientField = widgets.NewField(lang.L("Client secret"), f.clientSecret, "").Row()
	f.ngrokField = widgets.NewField(lang.L("ngrok authtoken"), f.ngrokToken, "").Row()
	f.secret = map[string]*widgets.Field{office.FieldClientSecret: f.clientField, office.FieldNgrokToken: f.ngrokField}
	for e, field := range map[*widgets.Entry]*widgets.Field{f.clientSecret: f.clientField, f.ngrokToken: f.ngrokField} {
		f.inputs[e] = nil
		e.OnChanged = func(string) { field.Wrong(""); f.changed(nil) }
	}
	f.redirect = f.pick(office.FieldRedirect, lang.L("How the browser returns to Countersign"),
		[]string{string(office.RedirectTunnel), string(office.RedirectLocalhost), string(office.RedirectLoopback), string(office.RedirectPaste)},
		[]string{lang.L("Through your office's public address"), lang.L("To this computer, https://localhost"),
			lang.L("To this computer, http://127.0.0.1"), lang.L("By copy and paste")},
		func(s office.Settings) string { return string(s.Redirect) }, func(s *office.Settings, v string) { s.Redirect = office.RedirectKind(v) })
	plain(office.FieldRedirectURI, lang.L("Registered return address"), lang.L("according to the choice above"), "", func(s *office.Settings) *string { return &s.RedirectURI })
	f.tunnel = f.pick(office.FieldTunnel, lang.L("How the service reaches this computer"),
		[]string{string(office.TunnelNgrok), string(office.TunnelExternal), string(office.TunnelNone), string(office.TunnelLoopback)},
		[]string{lang.L("An ngrok address"), lang.L("Your office's web server (reverse proxy)"), lang.L("No public address"), lang.L("This computer only (demo)")},
		func(s office.Settings) string { return string(s.Tunnel) }, func(s *office.Settings, v string) { s.Tunnel = office.TunnelKind(v) })
	plain(office.FieldNgrokDomain, lang.L("ngrok domain"), "office.ngrok.app", lang.L("Leave empty to use your ngrok account's own domain."), func(s *office.Settings) *string { return &s.NgrokDomain })
	plain(office.FieldNgrokConnect, lang.L("Other ngrok server (optional)"), "", "", func(s *office.Settings) *string { return &s.NgrokConnectURL })
	plain(office.FieldNgrokCA, lang.L("Its certificate file (optional)"), "", "", func(s *office.Settings) *string { return &s.NgrokCA })
	plain(office.FieldPublicURL, lang.L("Public address"), "https://sign.office.example", "", func(s *office.Settings) *string { return &s.PublicURL })
	plain(office.FieldListen, lang.L("Address the web server forwards to"), "127.0.0.1:8080", "", func(s *office.Settings) *string { return &s.Listen })
}

// show shows settings; before are those shown last. Input changed since then stays.
func (f *form) show(now, before office.Settings, all bool) {
	f.filling = true
	defer func() { f.filling = false }()
	for _, k := range f.all {
		if all || !k.differs(before) {
			if v := k.read(now); all || k.get() != v {
				k.set(v)
			}
		}
	}
}

// fill takes over what is typed in an old form, right or wrong.
func (f *form) fill(old *form) {
	f.filling = true
	defer func() { f.filling = false }()
	for i, k := range old.all {
		f.all[i].set(k.get())
	}
	f.clientSecret.SetText(old.clientSecret.Text)
	f.ngrokToken.SetText(old.ngrokToken.Text)
}

// lock disables what the computer's administrator has fixed, and says why.
func (f *form) lock(fixed func(setting string) bool) {
	for _, k := range f.all {
		why := ""
		if fixed(k.key) {
			why = lang.L("Fixed by the administrator of this computer.")
		}
		k.field.Lock(why)
		widgets.Enable(k.input, why == "")
	}
	for part, key := range map[fyne.Disableable]string{f.choose: office.FieldSaveTo, f.shapes.Select: office.FieldTemplate, f.quiet: office.FieldQuietFrom} {
		widgets.Enable(part, !fixed(key))
	}
}

// tidy shows valid input the way it is stored, for example without surrounding spaces.
func (f *form) tidy(normal office.Settings, wrong map[string]string) {
	f.filling = true
	defer func() { f.filling = false }()
	for _, k := range f.all {
		if v := k.read(normal); wrong[k.key] == "" && k.get() != v {
			k.set(v)
		}
	}
}

// settings returns the input. kept supplies settings without an input.
func (f *form) settings(kept office.Settings) office.Settings {
	s := kept
	for _, k := range f.all {
		if k.differs(kept) {
			k.write(&s, k.get())
		}
	}
	return s
}

// change is what changes any settings as from was changed to to.
func (f *form) change(from, to office.Settings) func(office.Settings) office.Settings {
	var writes []func(*office.Settings)
	for _, k := range f.all {
		if v := k.read(to); v != k.read(from) {
			writes = append(writes, func(s *office.Settings) { k.write(s, v) })
		}
	}
	return func(now office.Settings) office.Settings {
		for _, write := range writes {
			write(&now)
		}
		return now
	}
}

func (f *form) secrets() office.Secrets {
	return office.Secrets{ClientSecret: f.clientSecret.Typed(), NgrokAuthtoken: f.ngrokToken.Typed()}
}

func (f *form) clearSecrets() {
	f.filling = true
	defer func() { f.filling = false }()
	f.clientSecret.SetText("")
	f.ngrokToken.SetText("")
}

func (f *form) showSecrets(client, ngrok bool) {
	for field, has := range map[*widgets.Field]bool{f.clientField: client, f.ngrokField: ngrok} {
		if has {
			field.Hint(lang.L("Stored in the keyring. Enter a new one to replace it."))
		} else {
			field.Hint(lang.L("Not set."))
		}
	}
}

// setting is one setting with its input. Its value is a text, whatever the input is.
type setting struct {
	key    string // as in agent.FieldError
	field  *widgets.Field
	tab    int
	folded bool // only administrators see it
	typed  bool // a text, not a choice
	input  fyne.Disableable
	get    func() string
	set    func(string)
	read   func(office.Settings) string
	write  func(*office.Settings, string)
}

func (k *setting) differs(kept office.Settings) bool { return k.get() != k.read(kept) }

const on, off = "on", ""

func flag(set bool) string {
	if set {
		return on
	}
	return off
}

func (f *form) text(key, name, hint string, e *widgets.Entry, at func(*office.Settings) *string) *setting {
	return f.value(key, name, hint, e, func(s office.Settings) string { return *at(&s) }, func(s *office.Settings, v string) { *at(s) = v })
}

// value makes a setting of typed text that is stored in another form.
func (f *form) value(key, name, hint string, e *widgets.Entry, read func(office.Settings) string, write func(*office.Settings, string)) *setting {
	return f.add(&setting{key: key, input: e, field: widgets.NewField(name, e, hint), get: func() string { return e.Typed() }, set: e.SetText, read: read, write: write}, e)
}

// choice is a selection whose texts stand for values.
type choice struct {
	*widgets.Select
	values []string
}

func newChoice(values, texts []string, changed func()) *choice {
	return &choice{widgets.NewSelect(texts, func(string) { changed() }), values}
}

func (c *choice) value() string {
	if i := c.SelectedIndex(); i >= 0 {
		return c.values[i]
	}
	return ""
}

func (c *choice) show(value string) {
	if i := slices.Index(c.values, value); i >= 0 {
		c.Selected = c.Options[i]
	} else {
		c.Selected = ""
	}
	c.Refresh()
}

// pick makes a setting of a choice. A later version's value that is not among the choices stays until another is chosen.
func (f *form) pick(key, name string, values, texts []string, read func(office.Settings) string, write func(*office.Settings, string)) *choice {
	c, unknown := newChoice(values, texts, func() { f.chosen(f.by[key]) }), ""
	f.add(&setting{key: key, input: c.Select, field: widgets.NewField(name, c.Select, ""),
		get: func() string {
			if c.SelectedIndex() < 0 {
				return unknown
			}
			return c.value()
		},
		set:  func(v string) { unknown = v; c.show(v) },
		read: read, write: write,
	}, nil)
	return c
}

func (f *form) check(key string, c *widgets.Check, at func(*office.Settings) *bool) *setting {
	return f.add(&setting{key: key, input: c, field: widgets.NewField("", widgets.Outdent(c), ""),
		get:   func() string { return flag(c.Checked) },
		set:   func(v string) { c.Checked = v == on; c.Refresh() },
		read:  func(s office.Settings) string { return flag(*at(&s)) },
		write: func(s *office.Settings, v string) { *at(s) = v == on },
	}, nil)
}

// preview shows, while the pattern is being typed, the name it gives to a file of a real package.
type preview struct {
	mark   *widget.Icon // shows that this is an example
	screen *Screen
	field  *widgets.Field
	line   *widgets.Prose
	asked  office.Settings
	turn   int // number of the last request; answers to earlier ones are dropped
}

func newPreview(s *Screen) *preview {
	p := &preview{screen: s, line: widgets.NewFullName(""), mark: widget.NewIcon(theme.MarkSaved.Resource())}
	p.mark.Hide() // until there is one
	p.field = widgets.NewField(lang.L("Example"), widgets.Across(p.mark, p.line, nil), "").Row()
	return p
}

func (p *preview) ask() {
	settings, office := p.screen.settings(), p.screen.office
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
	defer p.tick()
	if err != nil {
		p.line.Set(lang.L("No preview: the pattern isn’t valid"))
		field.Wrong(i18n.Pattern(i18n.Error(err)))
		return
	}
	p.line.Set(filepath.Join(filepath.Base(settings.SaveTo), filepath.FromSlash(name)))
}

// tick marks the example, once there is one, as good unless its folder or pattern is not.
func (p *preview) tick() {
	of := p.screen.form.by
	p.mark.Hidden = p.line.Text == "" || of[office.FieldSaveTo].field.IsWrong() || of[office.FieldTemplate].field.IsWrong()
	p.field.Refresh()
}

// Seals are the authorities that the office trusts for digital seals.
type Seals interface {
	TrustedSeals() ([]*x509.Certificate, error)
	TrustSeals(...*x509.Certificate) error
	DistrustSeals(...*x509.Certificate) error
	Authorities(ctx context.Context, path string) ([]*x509.Certificate, error)
}

// mostSeals are listed individually: a country's list names hundreds.
const mostSeals = 8

// seals is the section that shows and changes them.
type seals struct {
	screen  *Screen
	reader  *async.Reader[[]*x509.Certificate]
	list    *fyne.Container
	content fyne.CanvasObject
}

func newSeals(s *Screen) *seals {
	x := &seals{screen: s, list: widgets.Stack(4)}
	x.reader = async.NewReader(s.env.Work, func(context.Context) ([]*x509.Certificate, error) { return s.office.TrustedSeals() }, x.show)
	x.content = widgets.Section(lang.L("Digital seals"), 12,
		widgets.NewProse(lang.L("Countersign trusts seals from authorities that this computer knows. Add others from a certificate or an EU country’s trusted list.")),
		x.list, widgets.Row(0, widgets.NewButton(lang.L("Add from a file…"), x.add)))
	return x
}

func (x *seals) show(all []*x509.Certificate, err error) {
	if err != nil {
		widgets.Remake(x.list, widgets.Failure(i18n.Error(err), x.reader.Ask))
		return
	}
	var rows []fyne.CanvasObject
	for _, c := range all[:min(len(all), mostSeals)] {
		rows = append(rows, x.row(i18n.Authority(c), c))
	}
	if more := len(all) - mostSeals; more > 0 {
		rows = append(rows, x.row(lang.N("and {{.PluralCount}} more", more), all...))
	}
	widgets.Remake(x.list, rows...)
	widgets.Show(x.list, len(rows) > 0)
}

// row names a trusted authority, with a button that removes it.
func (x *seals) row(name string, which ...*x509.Certificate) fyne.CanvasObject {
	remove := lang.L("Remove")
	if len(which) > 1 {
		remove = lang.L("Remove all")
	}
	return widgets.Across(nil, widgets.NewFullName(name), widgets.NewButton(remove, func() {
		widgets.Ask(x.screen.env.Window.Canvas(), widgets.Question{
			Title: lang.L("Stop trusting these seals?"),
			Text:  lang.L("Countersign will then no longer rely on documents that they vouch for.") + "\n\n" + i18n.Authorities(which, mostSeals, nil),
			Safe:  lang.L("Cancel"), Do: remove, OnDo: func() { x.change(func() error { return x.screen.office.DistrustSeals(which...) }) },
		})
	}))
}

func (x *seals) change(do func() error) {
	x.screen.env.Attempt(func(context.Context) error { return do() }, x.reader.Ask)
}

// add asks for a file, and whether to trust the authorities it names.
func (x *seals) add() {
	d := x.screen.env
	browse.One(d, lang.L("Add from a file…"), lang.L("Certificates"), []string{".pem", ".crt", ".cer", ".xml"}, func(path string) {
		env.Get(d, func(ctx context.Context) ([]*x509.Certificate, error) { return x.screen.office.Authorities(ctx, path) }, func(all []*x509.Certificate) {
			widgets.Ask(d.Window.Canvas(), widgets.Question{
				Title: lang.L("Trust these seals?"),
				Text:  i18n.Relying(all, mostSeals),
				Safe:  lang.L("Cancel"), Do: lang.L("Trust"), OnDo: func() { x.change(func() error { return x.screen.office.TrustSeals(all...) }) },
			})
		})
	})
}
