package settings

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"countersign/internal/agent"
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
	s := New(b.Env)
	b.Open(s, screentest.Big)
	return b, s
}

// entry is the input of a setting.
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
	if got.Tunnel != office.TunnelNone || got.Redirect != office.RedirectLocalhost || s.Said() != "Saved and in use." {
		t.Errorf("got %q %q, said %q", got.Tunnel, got.Redirect, s.Said())
	}
	if said(s, office.FieldRedirect) != "Saved and in use." {
		t.Errorf("beside the field: %q", said(s, office.FieldRedirect))
	}
	b.Pass()
	if said(s, office.FieldRedirect) != "" || s.Said() != "" || s.foot.Visible() {
		t.Errorf("it says for ever %q, and beside the field %q", s.Said(), said(s, office.FieldRedirect))
	}
}

func TestWhatIsCopiedIsSaidForAMoment(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	s.tests.copyBack.Button.OnTapped()
	if len(b.Copied) != 1 || s.tests.copyBack.Said() != "Copied." {
		t.Errorf("copied %q, said %q", b.Copied, s.tests.copyBack.Said())
	}
	b.Pass()
	if s.tests.copyBack.Said() != "" {
		t.Errorf("it says %q for ever", s.tests.copyBack.Said())
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
	if got := b.Office.Settings().SaveTo; got != folder || s.Said() != "Saved and in use." {
		t.Errorf("kept %q, said %q", got, s.Said())
	}
}

func TestATextIsKeptWhenThePersonGoesOn(t *testing.T) {
	b, s := shown(t, officetest.Busy())
	s.tabs.Choose(tabService)
	e := entry(t, s, office.FieldClientID)
	canvas := b.Window.Canvas()
	canvas.Focus(e)
	e.SetText("half")
	if !strings.HasPrefix(said(s, office.FieldClientID), "Changed.") {
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
	if e.Text != "https://office.ngrok.app/path" {
		t.Errorf("typed and lost: %q", e.Text)
	}
	e.OnEscape()
	b.Settle()
	if e.Text != "office.ngrok.app" || s.dirty() {
		t.Errorf("Escape takes it back, got %q", e.Text)
	}
}

func TestTheOfficesRefusalStandsBesideItsField(t *testing.T) {
	o := officetest.Busy()
	o.OnConfigure = func(office.Settings, office.Secrets) error {
		return &agent.ConfigError{Fields: []office.FieldError{{Field: "listen", Text: message.PortInUse("127.0.0.1:8080")}}}
	}
	b, s := shown(t, o)
	entry(t, s, office.FieldClientID).SetText("x")
	s.Save()
	b.Settle()
	if said(s, office.FieldListen) != message.PortInUse("127.0.0.1:8080").String() || s.tabs.Chosen() != tabService {
		t.Errorf("beside the field: %q", said(s, office.FieldListen))
	}
	o.OnConfigure = func(office.Settings, office.Secrets) error { return message.Error(message.KeyringStillLocked(), nil) }
	s.Save()
	b.Settle()
	if s.Said() != message.KeyringStillLocked().String() || entry(t, s, office.FieldClientID).Text != "x" {
		t.Errorf("said %q", s.Said())
	}
}

func TestANameIsPreviewedWhileItIsTyped(t *testing.T) {
	o := officetest.Busy()
	o.OnPreviewName = func(s office.Settings) (string, error) {
		if strings.Contains(s.NameTemplate, "{x}") {
			return "", message.Error(message.PatternNotClosed(), nil)
		}
		return strings.ReplaceAll(s.NameTemplate, "{package}", "Offer") + ".pdf", nil
	}
	b, s := shown(t, o)
	s.form.template.SetText("{package} signed")
	b.Settle()
	if want := filepath.FromSlash("Signed/Offer signed.pdf"); s.Preview() != want {
		t.Errorf("got %q, want %q", s.Preview(), want)
	}
	s.form.template.SetText("{x}")
	b.Settle()
	if s.preview.mark.Visible() {
		t.Error("a tick stands beside a pattern that is wrong")
	}
	if said(s, office.FieldTemplate) != message.PatternNotClosed().String() {
		t.Errorf("beside the field: %q", said(s, office.FieldTemplate))
	}
	s.form.shapes.SetSelected(s.form.shapes.Options[1])
	b.Settle()
	if got := b.Office.Settings().NameTemplate; got != "{package}/{document}" {
		t.Errorf("a ready-made name is kept at once, got %q", got)
	}
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
	if s.tests.tunnel.line.Text != "The address works: https://office.ngrok.app" {
		t.Errorf("said %q", s.tests.tunnel.line.Text)
	}
	o.OnTestService = func(office.Settings) error { return message.Error(message.ServiceAddressSilent(), nil) }
	s.tests.service.press()
	b.Settle()
	if s.tests.service.line.Text != message.ServiceAddressSilent().String() {
		t.Errorf("said %q", s.tests.service.line.Text)
	}
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
	wrong := func(b *screentest.Bench, s *Screen) {
		s.tabs.Choose(tabService)
		s.form.tunnel.SetSelected(s.form.tunnel.Options[1])
		entry(t, s, office.FieldAuthURL).SetText("sign.example.com")
		s.Save()
		b.Settle()
	}
	tab := func(i int) func(*screentest.Bench, *Screen) {
		return func(_ *screentest.Bench, s *Screen) { s.tabs.Choose(i) }
	}
	for _, c := range []struct {
		name, theme string
		act         func(*screentest.Bench, *Screen)
		size        fyne.Size
		scale       float32
	}{
		{"documents", "light", func(b *screentest.Bench, s *Screen) {
			s.form.template.SetText("{date} {package}/{document}")
			b.Settle()
		}, screentest.Big, 1},
		{"notices-dark", "dark", tab(tabNotices), screentest.Small, 1},
		{"program", "light", tab(tabProgram), screentest.Small, 1},
		{"service-200", "light", tab(tabService), screentest.Small, 2},
		{"service-wrong", "light", wrong, screentest.Big, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, s := shown(t, officetest.Busy())
			c.act(b, s)
			b.Looks(c.name, c.theme, c.size, c.scale)
		})
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
