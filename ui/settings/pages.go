package settings

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// build puts the inputs onto their pages.
func (s *Screen) build() {
	s.undo = widgets.NewButton(lang.L("Undo"), s.Undo)
	s.foot = widgets.On(theme.Paper, container.NewVBox(widget.NewSeparator(),
		widgets.PadHV(20, 8, widgets.Across(nil, s.text, s.undo))))
	s.pages = []fyne.CanvasObject{s.documents(), s.folders.content, s.notices(), s.program(), s.service(), s.connection.content}
	s.tabs = widgets.NewTabs([]string{lang.L("Documents"), lang.L("Folders"), lang.L("Notifications"), lang.L("General"), lang.L("Service and account"), lang.L("Connection")}, s.turn)
	stack := container.NewStack()
	for _, p := range s.pages {
		stack.Add(p)
	}
	s.scroll = widgets.NewVScroll(widgets.PadHV(20, 8, stack))
	head := widgets.Stack(4, widgets.PadHV(20, 16, widgets.NewHeading(lang.L("Settings"))), widgets.PadHV(12, 0, s.tabs))
	s.content = widgets.Between(head, s.foot, s.scroll)
	s.turn(tabDocuments)
}

// turn shows a page.
func (s *Screen) turn(page int) {
	for i, p := range s.pages {
		widgets.Show(p, i == page)
	}
	if page == tabConnection {
		s.connection.enter()
	}
	s.scroll.ScrollToTop()
	s.scroll.Refresh()
}

// place returns the field of a setting, and remembers on which page it stands.
func (s *Screen) place(key string, tab int) fyne.CanvasObject {
	k := s.form.by[key]
	k.tab = tab
	return k.field
}

func page(parts ...fyne.CanvasObject) fyne.CanvasObject {
	return widgets.Stack(16, append(parts, layout.NewSpacer())...)
}

func (s *Screen) documents() fyne.CanvasObject {
	at := func(key string) fyne.CanvasObject { return s.place(key, tabDocuments) }
	return page(
		widgets.Section(lang.L("Where signed documents go"), 12, at(office.FieldSaveTo), at("beside_original")),
		widgets.Section(lang.L("File names"), 12, widgets.Halves(widgets.NewField(lang.L("Ready-made patterns"), s.form.shapes.Select, ""), at(office.FieldTemplate)),
			widgets.NewProse(lang.L("You can use {{.Placeholders}}. What stands before a / is a folder.", i18n.V{"Placeholders": i18n.Placeholders()})),
			s.preview.content),
		widgets.Section(lang.L("Copies of every package"), 12, widgets.Halves(at(office.FieldCopyTo), at(office.FieldBlindCopyTo))),
		widgets.Section(lang.L("Additional files"), 12, widgets.Stack(0, at("save_cac"), at("save_masterfile"), at("index"))))
}

func (s *Screen) notices() fyne.CanvasObject {
	at := func(key string) fyne.CanvasObject { return s.place(key, tabNotices) }
	return page(widgets.Section(lang.L("Notifications"), 12, at(office.FieldNotify), at(office.FieldDueDays), widgets.Halves(at(office.FieldQuietFrom), at(office.FieldQuietTo)),
		widgets.NewProse(lang.L("Activity always shows everything, with or without a notification."))))
}

func (s *Screen) program() fyne.CanvasObject {
	at := func(key string) fyne.CanvasObject { return s.place(key, tabProgram) }
	parts := []fyne.CanvasObject{widgets.Section(lang.L("Look and language"), 12, widgets.Halves(at("theme"), at("language")),
		widgets.Halves(at(office.FieldContrast), at(office.FieldTextSize)), widgets.Halves(at(office.FieldMotion), layout.NewSpacer())),
		widgets.Section(lang.L("Storage"), 12, at(office.FieldKeepEvents))}
	if s.env.Autostart != nil {
		parts = append(parts, widgets.Section(lang.L("Startup"), 12, s.starter.content))
	}
	parts = append(parts, s.updates.section(at("check_updates")), widgets.Section(lang.L("Another computer"), 12, s.move.content))
	return page(parts...)
}

func (s *Screen) service() fyne.CanvasObject {
	at := func(key string) fyne.CanvasObject { return s.place(key, tabService) }
	t := s.tests
	t.ngrok = widgets.Stack(12, widgets.Halves(at(office.FieldNgrokDomain), s.form.ngrokField), widgets.Halves(at(office.FieldNgrokConnect), at(office.FieldNgrokCA)))
	t.external = widgets.Stack(12, widgets.Halves(at(office.FieldPublicURL), at(office.FieldListen)))
	t.none = widgets.Stack(0, widgets.NewProse(lang.L("Signatures show up a little later. Countersign checks for them regularly.")))
	return page(
		widgets.Section(lang.L("Account"), 12, s.account.content),
		widgets.Section(lang.L("Signing service"), 12, widgets.Halves(at(office.FieldAuthURL), at(office.FieldBaseURL)), widgets.Halves(at(office.FieldClientID), s.form.clientField),
			widgets.Halves(at(office.FieldScopes), at(office.FieldHeader)), t.service.content),
		widgets.Section(lang.L("Public address"), 12, at(office.FieldTunnel), t.ngrok, t.external, t.none, t.tunnel.content),
		widgets.Section(lang.L("Signing in"), 12, widgets.Halves(at(office.FieldRedirect), at(office.FieldRedirectURI)), t.back))
}

// adapt shows the inputs that go with the chosen kind of address, and the ready-made name that fits.
func (s *Screen) adapt() {
	kind := office.TunnelKind(s.form.tunnel.value())
	for part, shown := range map[*fyne.Container]bool{s.tests.ngrok: kind == office.TunnelNgrok,
		s.tests.external: kind == office.TunnelExternal, s.tests.none: kind == office.TunnelNone} {
		part.Hidden = !shown
	}
	s.form.shapes.show(s.form.pattern())
	s.tests.showReturn()
	s.content.Refresh()
}
