package settings

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"countersign/internal/agent"
	"countersign/internal/fasttest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/settingstest"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/system"
	"countersign/ui/widgets"
)

func TestMain(m *testing.M) { screentest.Main(m) }

// starts is a env.Autostart in memory.
type starts struct {
	on  bool
	err error
}

func (s *starts) Enabled() (bool, error) { return s.on, nil }
func (s *starts) Set(on bool) error {
	if s.err == nil {
		s.on = on
	}
	return s.err
}

func shown(t *testing.T, o *officetest.Office) (*screentest.Bench, *Screen) {
	t.Helper()
	b := screentest.New(t, o)
	b.Env.Autostart = &starts{}
	s := New(b.Env, b.Office)
	b.Open(s, screentest.Big)
	return b, s
}

func entry(t *testing.T, s *Screen, key string) *widgets.Entry {
	t.Helper()
	for e, k := range s.form.inputs {
		if k != nil && k.key == key {
			return e
		}
	}
	t.Fatalf("no input for %s", key)
	return nil
}

func said(s *Screen, key string) string { return s.form.by[key].field.Said() }

func TestTheFormGivesBackWhatItWasShown(t *testing.T) {
	test.NewTempApp(t)
	s := officetest.Settings()
	s.RedirectURI, s.NgrokConnectURL, s.NgrokCA, s.PublicURL, s.Listen = "https://a.ch/b", "h:1", "/ca.pem", "https://c.ch", "h:2"
	s.KeepEvents = 45
	s.SaveCAC, s.BesideOriginal, s.Redirect, s.Tunnel = true, true, office.RedirectPaste, office.TunnelExternal
	s.Notify, s.QuietFrom, s.QuietTo, s.Theme, s.Language = office.NotifyExecuted, "22:00", "07:00", "dark", "de"
	ignore := func(*setting) {}
	f := newForm(ignore, ignore, func() {})
	f.show(s, office.Settings{}, true)
	if got := f.settings(office.Settings{}); !reflect.DeepEqual(got, s) {
		t.Errorf("got %+v, want %+v", got, s)
	}
	unknown := s
	unknown.Tunnel = "carrier pigeon" // of a later version: kept until something else is chosen
	f.show(unknown, s, true)
	if got := f.settings(unknown); got.Tunnel != unknown.Tunnel {
		t.Errorf("got %q", got.Tunnel)
	}
}

func TestAChoiceIsKeptAtOnce(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	s.form.by["theme"].field.Said()
	s.form.tunnel.SetSelected(s.form.tunnel.Options[2]) // none: the sign-in cannot come back through it
	b.Settle()
	if got := b.Office.Settings().Tunnel; got != office.TunnelNgrok || !s.form.by[office.FieldRedirect].field.IsWrong() {
		t.Fatalf("tunnel is %q; what does not fit together is not kept but marked: %q", got, said(s, office.FieldRedirect))
	}
	s.form.redirect.SetSelected(s.form.redirect.Options[1])
	b.Settle()
	got := b.Office.Settings()
	if got.Tunnel != office.TunnelNone || got.Redirect != office.RedirectLocalhost || s.text.Text != "" {
		t.Errorf("got %q %q, said %q", got.Tunnel, got.Redirect, s.text.Text)
	}
	screentest.Equal(t, "beside the field", said(s, office.FieldRedirect), "")
	screentest.Equal(t, "said", b.Notices, []string{"Settings saved."})
}

// Meanwhile settings change elsewhere: by the command, an administrator's file, or another part of the screen.
func TestAChoiceChangesNothingElse(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	b.Office.Kept.OfficeListen, b.Office.Kept.ClientID = hubPort, "elsewhere"
	s.form.by["theme"].set("dark")
	s.Save()
	if b.Settle(); b.Office.Kept.Theme != "dark" || b.Office.Kept.OfficeListen != hubPort || b.Office.Kept.ClientID != "elsewhere" {
		t.Errorf("kept %+v", b.Office.Kept)
	}
	o := b.Office
	b.Office.Do("ChangeSettings", func() error {
		o.Fail("ChangeSettings", nil)
		return message.Error(message.KeyringStillLocked(), nil)
	})
	s.form.by["theme"].set("light")
	s.Save()
	s.form.by["index"].set(on)
	s.Save()
	if b.Settle(); o.Kept.Theme != "light" || !o.Kept.Index {
		t.Errorf("what is chosen while another choice is refused is not kept: %+v", o.Kept)
	}
}

func TestWhatIsCopiedIsSaidForAMoment(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	s.tests.copyBack.Button.OnTapped()
	if len(b.Copied) != 1 || s.tests.copyBack.Said.Text != "Copied." {
		t.Errorf("copied %q, said %q", b.Copied, s.tests.copyBack.Said.Text)
	}
	b.Pass()
	if s.tests.copyBack.Said.Text != "" {
		t.Errorf("it says %q for ever", s.tests.copyBack.Said.Text)
	}
}

func TestAFolderThatIsChosenIsKept(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	before, folder := b.Office.Settings().SaveTo, t.TempDir()
	b.System.OnChoose = func(_ context.Context, d system.FileDialog) ([]string, error) {
		if d.Kind != system.OpenFolder || d.Folder != before {
			t.Errorf("asked for %+v, want one that begins in %s", d, before)
		}
		return []string{folder}, nil
	}
	s.PickFolder()
	b.Settle()
	if got := b.Office.Settings().SaveTo; got != folder || len(b.Notices) != 1 || b.Office.Asked("accept the folder") != 0 {
		t.Errorf("kept %q, said %q", got, s.text.Text)
	}
	before = folder
	s.PickFolder()
	b.Settle()
	if b.Office.Asked("accept the folder") != 1 || len(b.Notices) != 2 {
		t.Errorf("chosen anew: said %q", b.Notices)
	}
}

func TestATextIsKeptWhenThePersonGoesOn(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	s.ShowService()
	e := entry(t, s, office.FieldClientID)
	canvas := b.Window.Canvas()
	canvas.Focus(e)
	e.SetText("half")
	if !strings.HasPrefix(said(s, office.FieldClientID), "not saved") {
		t.Errorf("a changed field says so beside itself, got %q", said(s, office.FieldClientID))
	}
	e.FocusLost() // with the whole window: the canvas still has it
	b.Settle()
	if got := b.Office.Settings().ClientID; got == "half" {
		t.Fatal("half a text was kept while the person looked something up in another window")
	}
	canvas.Focus(entry(t, s, office.FieldBaseURL))
	b.Settle()
	if got := b.Office.Settings().ClientID; got != "half" {
		t.Errorf("got %q", got)
	}
}

func TestOneWrongFieldKeepsNothingElseFromBeingKept(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	e := entry(t, s, office.FieldNgrokDomain)
	e.SetText("https://office.ngrok.app/path")
	entry(t, s, office.FieldClientID).SetText("another-client")
	s.Save()
	b.Settle()
	got := b.Office.Settings()
	if got.ClientID != "another-client" || got.NgrokDomain != "office.ngrok.app" {
		t.Errorf("kept %q and %q", got.ClientID, got.NgrokDomain)
	}
	if e.Text != "https://office.ngrok.app/path" || !s.form.by[office.FieldNgrokDomain].field.IsWrong() {
		t.Errorf("what is wrong stays and is marked: %q", e.Text)
	}
	b.Office.Change(office.SettingsChanged, func(*officetest.Office) {})
	s.Reload()
	b.Settle()
	screentest.Equal(t, "typed and lost", e.Text, "https://office.ngrok.app/path")
	e.OnEscape()
	b.Settle()
	if e.Text != "office.ngrok.app" || s.dirty() {
		t.Errorf("Escape takes it back, got %q", e.Text)
	}
}

func TestTheOfficesRefusalStandsBesideItsField(t *testing.T) {
	o := officetest.Busy()
	o.Fail("ChangeSettings", &agent.ConfigError{Fields: []office.FieldError{{Field: "listen", Text: message.PortInUse("127.0.0.1:8080")}}})
	b, s := shown(t, o)
	entry(t, s, office.FieldClientID).SetText("x")
	s.Save()
	b.Settle()
	if said(s, office.FieldListen) != message.PortInUse("127.0.0.1:8080").String() || s.tabs.Chosen() != tabService {
		t.Errorf("beside the field: %q", said(s, office.FieldListen))
	}
	screentest.Equal(t, "at the bottom", s.text.Text, "Not everything is saved. Check the marked fields.")
	o.Fail("ChangeSettings", &agent.ConfigError{Fields: []office.FieldError{{Field: office.FieldSaveTo, Text: message.FolderForbidden("Signed")}}})
	s.Save()
	b.Settle()
	if s.preview.mark.Visible() {
		t.Error("a tick stands beside a folder that is wrong")
	}
	o.Fail("ChangeSettings", message.Error(message.KeyringStillLocked(), nil))
	s.Save()
	b.Settle()
	if s.text.Text != message.KeyringStillLocked().String() || entry(t, s, office.FieldClientID).Text != "x" {
		t.Errorf("said %q", s.text.Text)
	}
}

func TestANameIsPreviewedWhileItIsTyped(t *testing.T) {
	o := officetest.Busy()
	b, s := shown(t, o)
	s.form.template.SetText("{package} signed")
	b.Settle()
	if want := filepath.FromSlash("Signed/Lease Sonnenweg 4 signed.pdf"); s.preview.line.Text != want {
		t.Errorf("got %q, want %q", s.preview.line.Text, want)
	}
	asked := s.preview.turn
	s.Reload()
	b.Settle()
	if s.preview.turn == asked {
		t.Error("the latest package may be another one when the screen is shown again")
	}
	o.Fail("PreviewName", message.Error(message.PatternNotClosed(), nil))
	s.form.template.SetText("{x}")
	b.Settle()
	if s.preview.mark.Visible() {
		t.Error("a tick stands beside a pattern that is wrong")
	}
	screentest.Equal(t, "beside the field", said(s, office.FieldTemplate), message.PatternNotClosed().String())
	s.form.shapes.SetSelected(s.form.shapes.Options[1])
	b.Settle()
	screentest.Equal(t, "a ready-made name is kept at once", b.Office.Settings().NameTemplate, "{package}/{document}")
}

func TestACustomPatternComesBackWithUndo(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	const own = "{year}/{document}"
	s.form.template.SetText(own)
	s.Save()
	b.Settle()
	for i, deeds := range []int{1, 1} { // of ready-made ones, each is in the list
		s.form.shapes.SetSelected(s.form.shapes.Options[i])
		b.Settle()
		screentest.Equal(t, "offers to undo", len(b.Deeds), deeds)
	}
	b.Deeds[0].Undone()
	b.Settle()
	screentest.Equal(t, "undone", b.Office.Settings().NameTemplate, own)
}

func TestSecretsGoOneWay(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	s.form.ngrokToken.SetText("token")
	s.Save()
	b.Settle()
	if b.Office.Secret.NgrokAuthtoken != "token" || s.form.ngrokToken.Text != "" || s.dirty() {
		t.Error("a secret is handed over and not shown any more")
	}
	if !strings.HasPrefix(s.form.ngrokField.Said(), "Stored in the keyring.") {
		t.Errorf("beside the field: %q", s.form.ngrokField.Said())
	}
}

func TestATestTellsHowItWent(t *testing.T) {
	o := officetest.Busy()
	b, s := shown(t, o)
	s.tests.tunnel.press()
	b.Settle()
	screentest.Equal(t, "said", s.tests.tunnel.line.Text, "Reachable: https://office.ngrok.app")
	o.Fail("TestService", message.Error(message.ServiceAddressSilent(), nil))
	s.tests.service.press()
	b.Settle()
	screentest.Equal(t, "said", s.tests.service.line.Text, message.ServiceAddressSilent().String())
}

func TestTimeStampsAreTestedWhereTheirAddressStands(t *testing.T) {
	o := officetest.Busy()
	b, s := shown(t, o)
	s.ShowProgram()
	screentest.Equal(t, "without an address it is offered", s.tests.stamp.content.Visible(), false)
	s.form.by[office.FieldStampURL].set("https://tsa.example.com")
	s.Save()
	b.Settle()
	b.Press(s.content, "Test the time stamps")
	screentest.Equal(t, "said", s.tests.stamp.line.Text, "Confirmed by “Time Stamp Authority”.")
}

func TestATestOfOtherInputTellsNothing(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	asked := make(chan struct{})
	b.Office.Do("TestStamp", func() error { <-asked; return nil })
	entry(t, s, office.FieldStampURL).SetText("https://one.example/tsa")
	s.tests.stamp.press()
	entry(t, s, office.FieldStampURL).SetText("https://other.example/tsa")
	close(asked)
	b.Settle()
	screentest.Equal(t, "said", s.tests.stamp.line.Text, "")
	s.tests.tunnel.press()
	s.ShowStatus(agent.Status{Tunnel: agent.TunnelStatus{State: "up", URL: "https://before.example"}})
	screentest.Equal(t, "while the address is tested", s.tests.tunnel.line.Text, "Testing…")
	b.Settle()
}

func TestStartingWithTheComputer(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	auto := b.Env.Autostart.(*starts)
	s.starter.check.SetChecked(true)
	b.Settle()
	if !auto.on {
		t.Error("not set")
	}
	auto.err = message.Error(message.AutostartFixed(), nil)
	s.starter.check.SetChecked(false)
	b.Settle()
	if !s.starter.check.Checked || s.starter.field.Said() != message.AutostartFixed().String() {
		t.Errorf("shown %v, said %q", s.starter.check.Checked, s.starter.field.Said())
	}
}

func TestTheScreenLooksAsItWasApproved(t *testing.T) {
	fasttest.Slow(t)
	type act func(*screentest.Bench, *Screen)
	tab := func(i int) act { return func(_ *screentest.Bench, s *Screen) { s.tabs.Choose(i) } }
	wrong := func(b *screentest.Bench, s *Screen) {
		s.ShowService()
		s.form.tunnel.SetSelected(s.form.tunnel.Options[1])
		entry(t, s, office.FieldAuthURL).SetText("sign.example.com")
		s.Save()
	}
	form := func(b *screentest.Bench, s *Screen) {
		s.tabs.Choose(tabFolders)
		b.Settle()
		s.folders.edit(s.folders.rows[1].HotFolder)
		s.folders.form.wrong(map[string]string{office.FieldHotPath: i18n.Message(message.SendFolderOverlaps("Scans"))})
	}
	newer := offered()
	newer.Newest = release()
	tall := fyne.NewSize(screentest.Big.Width, 860) // down to what is there of updates
	for _, c := range []struct {
		name, language, theme string
		office                *officetest.Office
		act                   act
		size                  fyne.Size
		scale                 float32
	}{
		{"documents", "en", "light", officetest.Busy(), func(_ *screentest.Bench, s *Screen) { s.form.template.SetText("{date} {package}/{document}") }, screentest.Big, 1},
		{"notices-dark", "en", "dark", officetest.Busy(), tab(tabNotices), screentest.Small, 1},
		{"service-200", "en", "light", officetest.Busy(), func(_ *screentest.Bench, s *Screen) { s.ShowService() }, screentest.Small, 2},
		{"account-dark", "de", "dark", officetest.Busy(), tab(tabService), screentest.Small, 1},
		{"service-wrong", "en", "light", officetest.Busy(), wrong, screentest.Big, 1},
		{"folders-empty", "en", "light", officetest.Busy(), tab(tabFolders), screentest.Small, 1},
		{"folders-dark", "en", "dark", sending(), tab(tabFolders), screentest.Small, 1},
		{"de-folders-form", "de", "light", sending(), form, screentest.Small, 1},
		{"de-program", "de", "light", officetest.Busy(), tab(tabProgram), screentest.Small, 1},
		{"updates", "en", "light", newer, tab(tabProgram), tall, 1},
		{"desks", "en", "light", sharing(), func(_ *screentest.Bench, s *Screen) { s.tabs.Choose(tabComputers) }, screentest.Big, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			screentest.Speak(t, c.language)
			b, s := shown(t, c.office)
			c.act(b, s)
			b.Settle()
			b.Looks(c.name, c.theme, c.size, c.scale)
		})
	}
}

// sharing is the hub of an office with two desks.
func sharing() *officetest.Office {
	o := officetest.Busy()
	o.Kept.OfficeListen = ":7422"
	o.DeskRows = []office.DeskRow{
		{Desk: office.Desk{Name: "Reception", Person: "ana.ruiz@example.com"}, Connected: true},
		{Desk: office.Desk{Name: "Accounts", Person: "zoe.keller@example.com"}, Seen: time.Date(2026, 11, 23, 9, 30, 0, 0, time.Local), Waiting: 3},
		{Desk: office.Desk{Name: "Archive"}},
	}
	return o
}

func TestAnOfficeOfOneDeskSeesAButtonAndAHubItsDesks(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	if !s.desks.begin.Visible() || s.desks.hub.Visible() || s.desks.desk.Visible() {
		t.Error("an office of one desk sees more than how to begin")
	}
	b.Press(s.desks.begin, "Share with other computers…")
	b.Press(screentest.Top(b.Window), "Make this the main computer")
	b.Settle()
	if at := b.Office.Settings().OfficeListen; at != hubPort || s.desks.begin.Visible() || !s.desks.hub.Visible() || s.desks.desk.Visible() {
		t.Errorf("it listens at %q", at)
	}
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) { o.DeskRows = sharing().DeskRows })
	s.Reload()
	b.Settle()
	press := func(m *fyne.Menu, name string) {
		m.Items[slices.IndexFunc(m.Items, func(i *fyne.MenuItem) bool { return i.Label == name })].Action()
	}
	desk := func(n int, name string) { press(s.desks.menuOf(b.Office.Desks(t.Context())[n]), name); b.Settle() }
	desk(0, "Remove")
	b.Press(screentest.Top(b.Window), "Remove")
	b.Settle()
	if rows := b.Office.Desks(t.Context()); len(rows) != 2 || rows[0].Name != "Accounts" {
		t.Errorf("left are %+v", rows)
	}
	invite := func(name string) {
		b.Press(s.desks.hub, "Add a computer…")
		screentest.All[*widgets.Entry](screentest.Top(b.Window))[0].SetText(name)
	}
	names := func() string { return screentest.Text(s.desks.list) }
	invite("Door")
	b.Office.Taken = make(chan struct{})
	screentest.Button(screentest.Top(b.Window), "Continue").OnTapped()
	b.Until(func() bool {
		return screentest.Top(b.Window) != nil && strings.Contains(screentest.Text(screentest.Top(b.Window)), officetest.Code)
	})
	panel, window := test.WidgetRenderer(screentest.Top(b.Window).(*widgets.PopUp)).Objects()[1], b.Window.Canvas().Size()
	if off := 2*panel.Position().Y + panel.Size().Height - window.Height; off < -2 || off > 2 {
		t.Errorf("the dialog is %v off the middle", off/2)
	}
	close(b.Office.Taken)
	b.Until(func() bool {
		return strings.Contains(screentest.Text(screentest.Top(b.Window)), "Door has its invitation.")
	})
	b.Press(screentest.Top(b.Window), "Close")
	if !strings.Contains(names(), "Door") || screentest.Top(b.Window) != nil {
		t.Errorf("the desks are %s", names())
	}
	invite("Window")
	b.Office.Fail("OfferDesk", message.Error(message.CodeExpired(), nil))
	b.Press(screentest.Top(b.Window), "Continue")
	if top := screentest.Text(screentest.Top(b.Window)); !strings.Contains(top, "no longer valid") || strings.Contains(top, officetest.Code) {
		t.Errorf("a code that expired: %s", top)
	}
	b.Office.Fail("OfferDesk", nil)
	b.Press(screentest.Top(b.Window), "New code")
	if top := screentest.Text(screentest.Top(b.Window)); !strings.HasPrefix(top, "Invite Window") { // with a new key: somebody may have the old one
		t.Errorf("a new code: %s", top)
	}
	b.Press(screentest.Top(b.Window), "Cancel")
	invite("Accounts")
	b.Press(screentest.Top(b.Window), "Continue")
	if top := screentest.Text(screentest.Top(b.Window)); !strings.Contains(top, "already a computer with that name") {
		t.Errorf("of a name that is taken it says %s", top)
	}
	b.Press(screentest.Top(b.Window), "Cancel")
	desk(0, "New code…") // of that one
	path := filepath.Join(t.TempDir(), "Accounts.countersign")
	b.System.OnChoose = func(context.Context, system.FileDialog) ([]string, error) { return []string{path}, nil }
	b.Office.Fail("OfferDesk", message.Error(message.CodeNotOffered(), nil))
	screentest.All[*widgets.Check](screentest.Top(b.Window))[0].SetChecked(true)
	b.Press(screentest.Top(b.Window), "Continue")
	b.Press(screentest.Top(b.Window), "Save as a file…")
	b.Press(screentest.Top(b.Window), "Close")
	if file, err := agent.ReadOffice(path); err != nil || file.Settings.Office == "" || file.ClientSecret != "s3cret" {
		t.Errorf("the file says %+v, %v", file, err)
	}
	if got := names(); strings.Count(got, "Accounts") != 1 || !strings.Contains(got, "Window") {
		t.Errorf("the desks are %s", got)
	}
	b.Office.Fail("OfferDesk", nil)
	for _, used := range []bool{true, false} { // its code is valid although it is not shown any longer
		b.Office.Taken, b.Notices = make(chan struct{}), nil
		desk(0, "New code…")
		screentest.Button(screentest.Top(b.Window), "Continue").OnTapped()
		b.Until(func() bool {
			return screentest.Top(b.Window) != nil && strings.Contains(screentest.Text(screentest.Top(b.Window)), officetest.Code)
		})
		screentest.Button(screentest.Top(b.Window), "Close").OnTapped()
		if used {
			close(b.Office.Taken)
			b.Until(func() bool { return len(b.Notices) > 0 })
			continue
		}
		press(s.desks.menuOf(b.Office.DeskRows[0]), "Remove")
		b.Press(screentest.Top(b.Window), "Remove") // returns once nothing runs: the code has ended
		if len(b.Notices) != 0 {
			t.Errorf("of a code that was not used it says %q", b.Notices)
		}
	}
	press(s.desks.menu(), "Stop sharing…")
	b.Press(screentest.Top(b.Window), "Stop sharing")
	b.Settle()
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) {
		o.Kept.Tunnel, o.Kept.Office, o.Kept.Redirect = office.TunnelOffice, "nats://hub:7422", office.RedirectLocalhost
	})
	s.Reload()
	b.Settle()
	if !s.desks.desk.Visible() || s.desks.hub.Visible() || s.desks.where.Text == "" {
		t.Error("a desk does not say where its events come from")
	}
	b.Press(s.desks.desk, "Enter a code…")
	screentest.All[*widgets.Entry](screentest.Top(b.Window))[0].SetText(officetest.Code)
	b.Press(screentest.Top(b.Window), "Continue")
	b.Press(screentest.Top(b.Window), "Connect")
	if at := b.Office.Settings().Office; at != "nats://192.0.2.20:7422" {
		t.Errorf("it hears from %q", at)
	}
	s.form.by["notify_mine"].input.(*widgets.Check).SetChecked(true)
	b.Settle()
	if x := b.Office.Settings(); !x.Mine || x.Tunnel != office.TunnelOffice {
		t.Errorf("kept %+v", x)
	}
}

func TestADeskIsMadeTheHubWithOnePress(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) {
		o.Kept.Tunnel, o.Kept.Office, o.Kept.Redirect, o.Kept.SavedElsewhere = office.TunnelOffice, "nats://hub:7422", office.RedirectLocalhost, true
		o.Kept.PublicURL, o.Kept.NgrokDomain, o.Taken = "", "office.ngrok.app", make(chan struct{})
	})
	s.Reload()
	b.Settle()
	b.Press(s.desks.desk, "Make this the main computer…")
	screentest.All[*widgets.Entry](screentest.Top(b.Window))[0].SetText("token")
	screentest.Button(screentest.Top(b.Window), "Make this the main computer").OnTapped()
	b.Until(func() bool {
		return screentest.Top(b.Window) != nil && strings.Contains(screentest.Text(screentest.Top(b.Window)), officetest.Code)
	})
	close(b.Office.Taken)
	b.Settle()
	x := b.Office.Settings()
	if x.Tunnel != office.TunnelNgrok || x.NgrokDomain != "office.ngrok.app" || x.OfficeListen != hubPort || x.Office != "" || x.SavedElsewhere || b.Office.Secret.NgrokAuthtoken != "token" {
		t.Errorf("kept %+v", x)
	}
	if !s.desks.hub.Visible() || s.desks.desk.Visible() {
		t.Error("it is not shown to be the hub")
	}
}

// Beside each field stands what the agent says of it, and what is right is kept and shown as the agent writes it.
func TestEveryFieldIsJudgedAsTheAgentDoes(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	folder := t.TempDir()
	seen := map[string]bool{} // the agent's own tests have every value; here one of each kind will do
	for _, c := range settingstest.Cases(folder) {
		k := s.form.by[c.Field]
		kind := fmt.Sprint(c.Field, c.Code, c.Value == c.Kept)
		if k == nil || !k.typed || seen[kind] || strings.ContainsAny(c.Value, "\n\x00") { // nobody types these into one line
			continue
		}
		seen[kind] = true
		t.Run(c.Name(), func(t *testing.T) {
			around := c.Settings(folder)
			b.Office.Change(office.SettingsChanged, func(o *officetest.Office) { o.Kept = around })
			s.kept = around
			s.Undo()
			e := entry(t, s, c.Field)
			e.SetText(c.Value)
			s.Save()
			b.Settle()
			want := i18n.Findings(c.With(folder).Check())[c.Field]
			if k.field.IsWrong() != c.Wrong() || c.Wrong() && said(s, c.Field) != want {
				t.Errorf("wrong: %v, said %q, want %q", k.field.IsWrong(), said(s, c.Field), want)
			}
			got, shown := c.Is(b.Office.Settings()), k.get()
			switch {
			case c.Wrong() && (got != c.Is(around) || e.Text != c.Value):
				t.Errorf("kept %q, shown %q", got, shown)
			case !c.Wrong() && (got != c.Kept || shown != c.Kept):
				t.Errorf("kept %q, shown %q, want %q", got, shown, c.Kept)
			}
		})
	}
}

func TestEveryLanguageOfTheWindowCanBeChosen(t *testing.T) {
	for _, code := range i18n.Languages() {
		s := settingstest.Case{}.Settings(t.TempDir())
		s.Language = code
		if bad := s.Check(); len(bad) > 0 {
			t.Errorf("%s: %v", code, bad)
		}
	}
}

func TestWhatTheAdministratorHasFixedIsShownAndSaidToBe(t *testing.T) {
	o := officetest.Busy()
	o.Rules = []string{office.FieldSaveTo, office.FieldTemplate, office.FieldTunnel, "index"}
	b, s := shown(t, o)
	const why = "Fixed by the administrator of this computer."
	for _, key := range o.Rules {
		if k := s.form.by[key]; !k.input.Disabled() || said(s, key) != why {
			t.Errorf("%s: disabled %v, says %q", key, k.input.Disabled(), said(s, key))
		}
	}
	if k := s.form.by[office.FieldClientID]; k.input.Disabled() || said(s, office.FieldClientID) == why || !s.form.choose.Disabled() || !s.form.shapes.Disabled() {
		t.Error("only what is fixed is fixed, and with all that changes it")
	}
	b.Looks("fixed", "light", screentest.Big, 1)
	o.Change(office.SettingsChanged, func(o *officetest.Office) { o.Rules = nil })
	s.Reload()
	b.Settle()
	if k := s.form.by[office.FieldSaveTo]; k.input.Disabled() || said(s, office.FieldSaveTo) == why {
		t.Error("it is the office's own again")
	}
}

// sending is an office with two folders that send.
func sending() *officetest.Office {
	o := officetest.Busy()
	o.Folders = []office.HotFolderRow{
		{HotFolder: office.HotFolder{ID: "scans", Path: "/home/office/Scans", Signers: []office.Signer{{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}}, Ask: true}, Waiting: 3},
		{HotFolder: office.HotFolder{ID: "leases", Path: "/mnt/share/Leases to sign", Name: "Lease {document}", DueDays: 14, Sequential: true,
			Signers: []office.Signer{{FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"}, {Email: "office@example.com"}}}, Problem: message.SendFolderAway("Leases to sign")},
	}
	return o
}

func foldersShown(t *testing.T, o *officetest.Office) (*screentest.Bench, *Screen) {
	t.Helper()
	b, s := shown(t, o)
	s.tabs.Choose(tabFolders)
	b.Settle()
	return b, s
}

func TestAFolderIsAddedAndChanged(t *testing.T) {
	b, s := foldersShown(t, officetest.Busy())
	s.folders.add.OnTapped()
	p := s.folders.form
	p.folder.SetText("/home/office/Scans")
	p.signers.SetText("Ana Ruiz <ana@example.com>\njan@example.com")
	p.use(office.Form{Signers: office.ReadPeople(p.signers.Text), Sequential: true, Due: "+14"}) // a preset
	p.ask.Choose(1)
	b.Tap(p.save)
	rows, _ := b.Office.HotFolders()
	if len(rows) != 1 {
		t.Fatalf("there are %+v", rows)
	}
	f := rows[0]
	if f.Ask || !f.Sequential || f.DueDays != 14 || len(f.Signers) != 2 || f.Signers[0].FirstName != "Ana" {
		t.Errorf("kept %+v", f)
	}
	if p.content.Visible() {
		t.Error("the form is still there")
	}
	b.Press(s.folders.list, "Edit")
	if p.signers.Text != "Ana Ruiz <ana@example.com>\njan@example.com" || p.due.Text != "14" || p.ask.Chosen != 1 {
		t.Errorf("the form shows %q, %q, %d", p.signers.Text, p.due.Text, p.ask.Chosen)
	}
	p.due.SetText("")
	b.Tap(p.save)
	if rows, _ := b.Office.HotFolders(); len(rows) != 1 || rows[0].DueDays != 0 || rows[0].ID != f.ID {
		t.Errorf("changed into %+v", rows)
	}
}

// A name that cannot be written so that it is read again, and the language, stay while something else is changed.
func TestPeopleOfAFolderStayAsTheyAre(t *testing.T) {
	_, s := foldersShown(t, officetest.Busy())
	people := []office.Signer{{FirstName: "ACME GmbH", Email: "acme@example.com", Locale: "de"}, {FirstName: "Bob", LastName: "Smith, Jr.", Email: "bob@example.com"}}
	p := s.folders.form
	p.show(office.HotFolder{ID: "f", Signers: people})
	p.due.SetText("7")
	screentest.Equal(t, "people", p.folderTyped().Signers, people)
}

func TestWhatIsWrongWithAFolderIsSaidBesideIt(t *testing.T) {
	b, s := foldersShown(t, officetest.Busy())
	for name, c := range map[string]struct {
		change func(p *folderForm)
		wrong  []string
	}{
		"no folder":       {func(p *folderForm) { p.folder.SetText("") }, []string{office.FieldHotPath}},
		"nobody":          {func(p *folderForm) { p.signers.SetText("") }, []string{office.FieldHotSigners}},
		"no address":      {func(p *folderForm) { p.signers.SetText("Ana Ruiz") }, []string{office.FieldHotSigners}},
		"twice":           {func(p *folderForm) { p.signers.SetText("ana@example.com\nANA@example.com") }, []string{office.FieldHotSigners}},
		"no number":       {func(p *folderForm) { p.due.SetText("soon") }, []string{office.FieldHotDue}},
		"too many days":   {func(p *folderForm) { p.due.SetText("4000") }, []string{office.FieldHotDue}},
		"no placeholder":  {func(p *folderForm) { p.name.SetText("{client}") }, []string{office.FieldHotName}},
		"two things":      {func(p *folderForm) { p.signers.SetText("Ana Ruiz, ana@"); p.due.SetText("999") }, []string{office.FieldHotSigners, office.FieldHotDue}},
		"an open bracket": {func(p *folderForm) { p.name.SetText("{document") }, nil},
	} {
		b.Office.Folders = nil
		b.Tap(s.folders.add)
		p := s.folders.form
		p.folder.SetText("/home/office/Scans")
		p.signers.SetText("Ana Ruiz <ana@example.com>")
		c.change(p)
		b.Tap(p.save)
		for key, field := range p.fields {
			screentest.Equal(t, fmt.Sprintf("%s: %s is wrong", name, key), field.IsWrong(), slices.Contains(c.wrong, key))
		}
		if rows, _ := b.Office.HotFolders(); (len(rows) == 0) != (len(c.wrong) > 0) {
			t.Errorf("%s: kept %+v", name, rows)
		}
	}
}

// inMenu chooses from the menu of the first folder.
func inMenu(b *screentest.Bench, s *Screen, name string) {
	items := s.folders.menu(s.folders.rows[0]).Items
	items[slices.IndexFunc(items, func(i *fyne.MenuItem) bool { return i.Label == name })].Action()
	b.Settle()
}

func TestAFolderLeadsToWhatWaitsForAnOK(t *testing.T) {
	o := sending()
	for i, state := range []office.DraftState{office.DraftHeld, office.DraftHeld, office.DraftQueued} {
		o.Waiting = append(o.Waiting, office.Draft{ID: fmt.Sprint(i), Folder: "scans", State: state})
	}
	b, s := foldersShown(t, o)
	const asks = "2 documents are waiting for your OK"
	if said := screentest.Text(s.folders.list); !strings.Contains(said, "Asks before sending. 1 document is waiting.") || !strings.Contains(said, asks) {
		t.Errorf("it says: %s", said)
	}
	for _, link := range screentest.All[*widgets.Tappable](s.folders.list) {
		if screentest.Text(link) == asks {
			link.Tapped(nil)
		}
	}
	screentest.Equal(t, "it leads to", b.Went, []string{"for OK scans"})
}

// A document that was changed in “Waiting” needs an OK also where the folder does not ask.
func TestRemovingAFolderPromisesNotThatAllIsSent(t *testing.T) {
	for _, asks := range []bool{false, true} {
		o := sending()
		o.Folders[0].Ask, o.Folders[0].Waiting = asks, 2
		b, s := foldersShown(t, o)
		inMenu(b, s, "Remove")
		if said := screentest.Text(screentest.Top(b.Window)); !strings.Contains(said, "What needs your OK keeps waiting for it; the rest is sent.") {
			t.Errorf("where a folder asks (%v) it says: %s", asks, said)
		}
		b.Press(screentest.Top(b.Window), "Keep the folder")
	}
}

func TestAFolderPausesIsTestedAndIsRemoved(t *testing.T) {
	b, s := foldersShown(t, sending())
	inMenu(b, s, "Pause")
	if rows, _ := b.Office.HotFolders(); !rows[0].Paused {
		t.Error("it goes on")
	}
	inMenu(b, s, "Resume")
	if rows, _ := b.Office.HotFolders(); rows[0].Paused {
		t.Error("it pauses for ever")
	}
	inMenu(b, s, "Test")
	if m := s.folders.answers["scans"]; !strings.HasPrefix(m.String(), "The folder is ready.") {
		t.Errorf("it says %q", m)
	}
	inMenu(b, s, "Pause")
	if m, said := s.folders.answers["scans"]; said {
		t.Errorf("of the folder before it still says %q", m)
	}
	inMenu(b, s, "Open")
	inMenu(b, s, "Remove")
	if rows, _ := b.Office.HotFolders(); len(rows) != 2 {
		t.Error("it was removed without a question")
	}
	b.Press(screentest.Top(b.Window), "Remove")
	if rows, _ := b.Office.HotFolders(); len(rows) != 1 || rows[0].ID != "leases" {
		t.Errorf("left are %+v", rows)
	}
}

func TestAFolderOfAnotherAccountIsConfirmed(t *testing.T) {
	o := sending()
	o.Folders[0].Confirm, o.Folders[0].Problem = true, message.SendFolderOtherAccountAs("max@example.com")
	b, s := foldersShown(t, o)
	if said := screentest.Text(s.folders.list); !strings.Contains(said, "it sends as max@example.com now.") {
		t.Errorf("it says %s", said)
	}
	b.Window.Canvas().Focus(s.folders.deeds["scans"][2])
	b.Press(s.folders.list, "Confirm") // and the focus cannot stay at the third button
	if rows, _ := b.Office.HotFolders(); rows[0].Confirm {
		t.Error("it still rests")
	}
	if screentest.Button(s.folders.list, "Confirm") != nil {
		t.Error("it can be confirmed twice")
	}
}

func TestTheFocusStaysOnTheButtonThatWasPressed(t *testing.T) {
	b, s := foldersShown(t, sending())
	more := func() fyne.Focusable { return s.folders.deeds["scans"][1] }
	b.Window.Canvas().Focus(more())
	for _, text := range []string{"Open", "Pause", "Test"} {
		inMenu(b, s, text)
		if b.Window.Canvas().Focused() != more() {
			t.Errorf("after %s %T has the focus", text, b.Window.Canvas().Focused())
		}
	}
	_, err := b.Office.RemoveHotFolder("scans")
	if err != nil {
		t.Fatal(err)
	}
	s.folders.reload()
	b.Settle()
	if b.Window.Canvas().Focused() != fyne.Focusable(s.folders.add) {
		t.Errorf("once the folder is gone %T has the focus", b.Window.Canvas().Focused())
	}
}

func TestAPercentageIsWrittenAsItsLanguageDoes(t *testing.T) {
	for language, want := range map[string]string{"en": "200%", "de": "200 %", "fr": "200 %", "es": "200 %"} {
		screentest.Speak(t, language)
		b, s := shown(t, officetest.Busy())
		s.tabs.Choose(tabProgram)
		b.Settle()
		has := func(list *widgets.Select) bool { return slices.Contains(list.Options, want) }
		if !slices.ContainsFunc(screentest.All[*widgets.Select](s.Content()), has) {
			t.Errorf("%s: no choice reads %q", language, want)
		}
	}
}

func TestAPatternIsShownInTheLanguageOfTheWindowAndKeptInOneForm(t *testing.T) {
	screentest.Speak(t, "de")
	o := officetest.Busy()
	b, s := shown(t, o)
	kept := s.settings().NameTemplate
	if s.form.template.Text != i18n.Pattern(kept) || s.form.template.Text == kept {
		t.Errorf("%q is shown as %q", kept, s.form.template.Text)
	}
	for typed, want := range map[string]string{"{datum} {Paket}/{Zeichen}": "{date} {package}/{reference}", "{date} {package}": "{date} {package}"} {
		s.form.template.SetText(typed)
		b.Settle()
		screentest.Equal(t, fmt.Sprintf("%q is kept as", typed), s.settings().NameTemplate, want)
	}
	s.form.shapes.SetSelected("Ein Ordner je Monat")
	b.Settle()
	if got := s.form.template.Text; got != "{Monat}/{Paket} - {Dokument}" || s.settings().NameTemplate != "{month}/{package} - {document}" {
		t.Errorf("a ready-made pattern is shown as %q, kept as %q", got, s.settings().NameTemplate)
	}
}

func TestAnOfficeMovesWithAPasswordThatWasTypedTwice(t *testing.T) {
	o := officetest.Busy()
	b, s := shown(t, o)
	m := newMove(s)
	for _, c := range []struct{ password, again string }{{"", ""}, {"short", "short"}, {"long enough 1", "long enough 2"}} {
		m.password.SetText(c.password)
		m.again.SetText(c.again)
		m.press()
		b.Settle()
		if !m.first.IsWrong() && !m.second.IsWrong() {
			t.Errorf("%q and %q are taken", c.password, c.again)
		}
	}
	m.password.SetText("long enough 1")
	m.again.SetText("long enough 1")
	screentest.Speak(t, "de")
	var name string
	b.System.OnChoose = func(_ context.Context, d system.FileDialog) ([]string, error) {
		name = d.Name
		return nil, nil
	}
	m.press()
	b.Settle()
	screentest.Equal(t, "the file is to be called", name, "Umzug des Büros.countersign")
	i18n.Use("en")
	o.Fail("MoveOut", message.Error(message.OwnDiskFull(), nil))
	m.write("/moving.countersign", m.password.Text)
	b.Settle()
	if screentest.Top(b.Window) == nil || !m.second.IsWrong() {
		t.Error("what was typed is gone before the file is written")
	}
	written := make(chan struct{})
	o.Do("MoveOut", func() error { <-written; return nil })
	m.write("/moving.countersign", m.password.Text)
	if widgets.CloseTop(b.Window.Canvas()); screentest.Top(b.Window) == nil || !m.password.Disabled() {
		t.Error("it can be left while the office is moved, which that does not end")
	}
	close(written)
	b.Settle()
	if o.Asked("move out /moving.countersign") != 1 || screentest.Top(b.Window) != nil || len(b.Notices) != 1 {
		t.Errorf("moved to %q, said %q", o.Done, b.Notices)
	}
}

func TestAnOfficeThatHasMovedCanOnlyBeTakenBack(t *testing.T) {
	o := officetest.Busy()
	b, s := shown(t, o)
	s.turn(tabComputers)
	taken := agent.Issue{ID: "moved", Severity: agent.Problem, Action: agent.ActTakeBack, Message: message.MovedAway("x.countersign")}
	for _, health := range [][]agent.Issue{{taken}, nil} {
		s.ShowStatus(agent.Status{Health: health})
		b.Settle()
		screentest.Equal(t, "what is shown", []bool{s.back.Visible(), s.out.Visible(), s.desks.begin.Visible(), !s.account.in.Hidden},
			[]bool{health != nil, health == nil, health == nil, health == nil})
	}
}

func TestARefusedClientSecretIsMarkedUntilAnotherIsTyped(t *testing.T) {
	_, s := shown(t, officetest.Busy())
	s.Blame(&agent.ConfigError{Fields: []office.FieldError{{Field: office.FieldClientSecret, Text: message.ClientRefused()}}})
	if !s.form.clientField.IsWrong() || s.tabs.Chosen() != tabService {
		t.Errorf("the page %d says %q", s.tabs.Chosen(), s.form.clientField.Said())
	}
	s.form.clientSecret.SetText("another")
	if s.form.clientField.IsWrong() {
		t.Error("another secret is marked as well")
	}
}

func TestRemindersAndQuietHoursAreSwitchedOff(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	s.form.reminds.SetChecked(false)
	s.form.quiet.SetChecked(true)
	b.Settle()
	if got := b.Office.Settings(); got.DueDays != office.NoDueDays || got.QuietFrom != "22:00" || got.QuietTo != "07:00" || !s.form.days.Disabled() || !s.form.hours.Visible() {
		t.Errorf("reminded %d days before, quiet from %q to %q", got.DueDays, got.QuietFrom, got.QuietTo)
	}
	s.form.reminds.SetChecked(true)
	s.form.quiet.SetChecked(false)
	b.Settle()
	if got := b.Office.Settings(); got.DueDays != office.DueDays || got.QuietFrom != "" || got.QuietTo != "" || s.form.days.Disabled() || s.form.hours.Visible() {
		t.Errorf("reminded %d days before, quiet from %q to %q", got.DueDays, got.QuietFrom, got.QuietTo)
	}
}

// offered is an office that can ask for newer versions.
func offered() *officetest.Office {
	o := officetest.Busy()
	o.Newest = office.Update{Version: "1.0.0", Offered: true}
	return o
}

// release is a newer version, to be installed with one click on Windows.
func release() office.Update {
	return office.Update{Version: "1.0.0", Offered: true, Newest: "1.2.0", Newer: true, Checked: officetest.Now.Add(-time.Hour),
		Todo: message.UpdateInSettings(), Offers: true, OneClick: true, Address: "https://example.com/Countersign-1.2.0-setup.exe"}
}

func TestUpdatesAreOfferedOnlyWhereTheProgramWasBuiltForThem(t *testing.T) {
	_, s := shown(t, officetest.Busy())
	if s.updates.content.Visible() {
		t.Error("there is nobody to ask")
	}
	b, s := shown(t, offered())
	if !s.updates.content.Visible() || b.Office.Kept.CheckUpdates {
		t.Error("it is offered, and off until asked for")
	}
	page, silent := release(), offered().Newest
	page.OneClick, page.Offers, page.Address, page.Todo = false, false, "https://example.com/get", message.UpdateFromPage("https://example.com/get")
	silent.Checked, silent.Newest, silent.Trouble = officetest.Now.AddDate(0, 0, -20), "1.0.0", message.UpdateSilence(20)
	for _, c := range []struct {
		newest     office.Update
		line, note string // the note holds that
	}{
		{offered().Newest, "Not checked yet.", ""},
		{page, "Countersign 1.2.0 is available.", "https://example.com/get"}, // named, and not opened
		{silent, "Countersign 1.0.0 is the newest version.", "There has been no valid update information for 20 days."},
	} {
		s.ShowUpdate(c.newest)
		u := s.updates
		screentest.Equal(t, "it says", u.line.Text, c.line)
		if u.get.Visible() || !strings.Contains(u.note.Text, c.note) {
			t.Errorf("offers %q, says %q", u.get.Text, u.note.Text)
		}
	}
}

func TestAPersonCanAskAndInstallWithOneClick(t *testing.T) {
	o := offered()
	o.Release = release()
	b, s := shown(t, o)
	u := s.updates
	s.ShowProgram()
	b.Settle()
	right := func(b *widgets.Button) float32 {
		return fyne.CurrentApp().Driver().AbsolutePositionForObject(b).X + b.Size().Width
	}
	before := right(u.check)
	b.Tap(u.check)
	if right(u.check) != before {
		t.Errorf("the second press of a double click meets another button than that at %v", before)
	}
	if u.line.Text != "Countersign 1.2.0 is available." || !u.get.Visible() || u.get.Text != "Install" {
		t.Fatalf("it says %q, and offers %q", u.line.Text, u.get.Text)
	}
	b.Tap(u.get)
	if o.Asked("install") != 1 || !slices.Contains(b.Went, "quit") || u.line.Text != "Countersign restarts in a moment." {
		t.Errorf("installed %d times, went %q, says %q", o.Asked("install"), b.Went, u.line.Text)
	}
}

func TestWhatCannotBeInstalledIsSaidAndTheProgramStays(t *testing.T) {
	o := offered()
	o.Newest = release()
	busy := message.Error(message.UpdateWorkGoesOn(), errors.New("busy"))
	o.Fail("InstallUpdate", busy)
	o.Fail("CheckUpdate", busy)
	b, s := shown(t, o)
	b.Tap(s.updates.get)
	if u := s.updates; slices.Contains(b.Went, "quit") || !strings.Contains(u.note.Text, "Install the update when that is done.") || !u.get.Visible() {
		t.Errorf("went %q, says %q", b.Went, u.note.Text)
	}
	b.Tap(s.updates.check)
	if u := s.updates; u.check.Text != "Check now" || !strings.Contains(u.note.Text, "Install the update") {
		t.Errorf("says %q", u.note.Text)
	}
	s.ShowUpdate(o.Newest) // the agent has news of its status whenever it has asked
	if u := s.updates; !strings.Contains(u.note.Text, "Install the update") {
		t.Errorf("a moment later it says %q", u.note.Text)
	}
	o.Newest.Checked = officetest.Now // by itself
	s.ShowUpdate(o.Newest)
	if u := s.updates; strings.Contains(u.note.Text, "Install the update") {
		t.Errorf("once the service was heard it still says %q", u.note.Text)
	}
}

func TestElsewhereTheCheckedFileIsNamedAndNoBrowserOpens(t *testing.T) {
	o := offered()
	o.Newest = release()
	o.Newest.OneClick, o.Newest.Address, o.Newest.Todo = false, "https://example.com/countersign_1.2.0_amd64.deb", message.UpdateDownload()
	b, s := shown(t, o)
	if u := s.updates; !u.get.Visible() || u.get.Text != "Download" || !strings.Contains(u.note.Text, "is checked before you get it") {
		t.Errorf("offers %q, says %q", u.get.Text, u.note.Text)
	}
	b.Tap(s.updates.get)
	if u := s.updates; u.get.Visible() || !strings.Contains(u.note.Text, "sudo apt install "+o.Newest.Path) || o.Asked("install") != 1 || len(b.System.Opened) > 0 || slices.Contains(b.Went, "quit") {
		t.Errorf("opened %q, went %q, says %q", b.System.Opened, b.Went, u.note.Text)
	}
}

// TestAPortThatIsTakenIsSaidBesideIt tests the address of a web server that is to send to a port which another program has.
func TestAPortThatIsTakenIsSaidBesideIt(t *testing.T) {
	o := officetest.Busy()
	o.Kept.Tunnel, o.Kept.PublicURL, o.Kept.Listen = office.TunnelExternal, "https://sign.office.example", "127.0.0.1:8080"
	asked := make(chan bool)
	o.Do("TestTunnel", func() error {
		asked <- true
		<-asked
		return &agent.ConfigError{Fields: []office.FieldError{{Field: office.FieldListen, Text: message.PortInUse("127.0.0.1:8080")}}}
	})
	b, s := shown(t, o)
	s.ShowService()
	test.Tap(s.tests.tunnel.button)
	<-asked
	if listen := entry(t, s, office.FieldListen); !listen.Disabled() || entry(t, s, office.FieldSaveTo).Disabled() {
		t.Error("what is tested can be changed meanwhile, or all the rest cannot")
	}
	asked <- true
	b.Settle()
	screentest.Equal(t, "beside the port", said(s, office.FieldListen), message.PortInUse("127.0.0.1:8080").String())
	screentest.Equal(t, "beside the test", s.tests.tunnel.line.Text, "Check the marked fields.")
	if entry(t, s, office.FieldListen).Disabled() {
		t.Error("it cannot be corrected")
	}
}

func TestTrustInSealsIsTakenBackAfterAQuestion(t *testing.T) {
	o := officetest.Busy()
	root, err := o.SealAuthority(t.Context(), "")
	o.Trusted = []*x509.Certificate{root}
	b, s := shown(t, o)
	screentest.Equal(t, "error", err, nil)
	b.Press(s.seals.list, "Remove")
	if o.Asked("distrust 1") != 0 || !strings.Contains(screentest.Text(screentest.Top(b.Window)), "Signing service CA") {
		t.Error("it was taken back without a question that names it")
	}
	b.Press(screentest.Top(b.Window), "Remove")
	screentest.Equal(t, "taken back", o.Asked("distrust 1"), 1)
}

func TestAFoldOpensForAnErrorInItAlone(t *testing.T) {
	b, s := foldersShown(t, officetest.Busy())
	for key, open := range map[string]bool{office.FieldKeepYears: false, office.FieldKeepEvents: true} {
		s.technical[tabProgram].Open(false)
		was := entry(t, s, key).Text
		entry(t, s, key).SetText("abc")
		s.Save()
		b.Settle()
		screentest.Equal(t, key+": the fold is open", s.technical[tabProgram].IsOpen(), open)
		entry(t, s, key).SetText(was)
		s.Save()
		b.Settle()
	}
}

func TestWhatIsTypedStaysInAnotherLanguage(t *testing.T) {
	b, s := foldersShown(t, officetest.Busy())
	typed := map[string]string{office.FieldKeepEvents: "90 days", office.FieldDueDays: "3 days", office.FieldCheckFiles: "x"}
	for key, text := range typed {
		entry(t, s, key).SetText(text)
	}
	s.Save()
	b.Settle()
	s.folders.add.OnTapped()
	const signers = "Ana Ruiz <ana@example.com>\nJan Weber <jan@exam"
	s.folders.form.signers.SetText(signers)
	s.folders.form.due.SetText("14 days")
	s.folders.form.order.SetChecked(true)
	again := New(b.Env, b.Office)
	again.Continue(s, nil)
	b.Settle()
	for key, text := range typed {
		screentest.Equal(t, key, entry(t, again, key).Text, text)
	}
	if p := again.folders.form; p.signers.Text != signers || p.due.Text != "14 days" || !p.order.Checked || !again.folders.typing() {
		t.Errorf("of a folder, the signers are %q, the days %q, in order %v", p.signers.Text, p.due.Text, p.order.Checked)
	}
	again.form.by["theme"].input.(*widgets.Select).SetSelected("Dark")
	b.Settle()
	if got := b.Office.Settings(); got.Theme != "dark" || got.DueDays < 0 || !again.form.reminds.Checked {
		t.Errorf("with the next choice, %q and %d days are kept; reminders %v", got.Theme, got.DueDays, again.form.reminds.Checked)
	}
}

// slowFolders is an office that stores folders once it is let go, as on a share that does not answer.
type slowFolders struct {
	*officetest.Office
	gate chan error
}

func (s slowFolders) PutHotFolder(f office.HotFolder) (office.HotFolder, error) {
	if err := <-s.gate; err != nil {
		return f, err
	}
	return s.Office.PutHotFolder(f)
}

func TestTheAnswerAboutOneFolderLeavesTheFormOfAnother(t *testing.T) {
	for _, failed := range []error{nil, message.Error(message.OwnDiskFull(), nil)} {
		b, s := foldersShown(t, officetest.Busy())
		gate := make(chan error)
		s.office = slowFolders{b.Office, gate}
		s.folders.add.OnTapped()
		p := s.folders.form
		p.folder.SetText("/mnt/share/Scans")
		p.signers.SetText("Ana Ruiz <ana@example.com>")
		p.save.OnTapped()
		p.cancel.OnTapped()
		s.folders.add.OnTapped()
		p.folder.SetText("/home/office/Leases")
		gate <- failed
		b.Settle()
		if !p.content.Visible() || p.folder.Text != "/home/office/Leases" || p.save.Disabled() || p.said.Text != "" {
			t.Errorf("%v: the second folder's form is shown: %v, with %q, %q", failed, p.content.Visible(), p.folder.Text, p.said.Text)
		}
		screentest.Equal(t, "said", len(b.Notices) == 1, failed != nil)
	}
}

// storing is a screen on which another colour is chosen, which is stored once it is let go.
func storing(t *testing.T) (b *screentest.Bench, s *Screen, stored func()) {
	t.Helper()
	b, s = shown(t, officetest.Busy())
	gate, begun := make(chan struct{}), make(chan struct{}, 8)
	b.Office.Do("ChangeSettings", func() error { begun <- struct{}{}; <-gate; return nil })
	s.form.by["theme"].input.(*widgets.Select).SetSelected("Dark")
	<-begun
	return b, s, func() { close(gate); b.Settle() }
}

func TestUndoTakesBackWhatIsBeingStored(t *testing.T) {
	b, s, stored := storing(t)
	before := b.Office.Settings().Theme
	s.undo.OnTapped()
	stored()
	if kept, shows := b.Office.Settings().Theme, s.form.by["theme"].get(); kept != before || shows != before {
		t.Errorf("it was %q; the form shows %q, the office keeps %q", before, shows, kept)
	}
}

func TestTypingIsNotCalledWrongOnceAnEarlierChoiceIsStored(t *testing.T) {
	b, s, stored := storing(t)
	e := entry(t, s, office.FieldSaveTo)
	b.Window.Canvas().Focus(e)
	e.SetText("/home/office/Signed 2")
	stored()
	screentest.Equal(t, "said", s.text.Text, "")
	if s.undo.Hidden {
		t.Error("nothing offers to undo it")
	}
}

func TestTheEndOfATestTurnsThePageOnlyWhereItWasBegun(t *testing.T) {
	for _, page := range []int{tabService, tabFolders} {
		b, s := shown(t, officetest.Busy())
		s.tabs.Choose(tabService)
		gate := make(chan struct{})
		b.Office.Do("TestTunnel", func() error {
			<-gate
			return &office.ConfigError{Fields: []office.FieldError{{Field: office.FieldSaveTo, Text: message.ClientRefused()}, {Field: office.FieldNgrokDomain, Text: message.ClientRefused()}}}
		})
		s.tests.tunnel.press()
		s.tabs.Choose(page)
		close(gate)
		b.Settle()
		screentest.Equal(t, "shown is page", s.tabs.Chosen(), page)
		if !s.form.by[office.FieldNgrokDomain].field.IsWrong() {
			t.Error("nothing is marked")
		}
	}
}
