package setup

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
	"countersign/internal/fasttest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/settingstest"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/system"
	"countersign/ui/widgets"
)

func TestMain(m *testing.M) { screentest.Main(m) }

// wizard is the wizard on its bench, in an office that nobody has set up.
type wizard struct {
	*screentest.Bench
	*Screen
	t       *testing.T
	answers *Answers
	tunnel  office.TunnelKind // that is chosen on the way
	done    int
	demos   int
}

func first(t *testing.T) *wizard {
	t.Helper()
	t.Setenv("HOME", "/home/office")
	o := officetest.Empty()
	o.Kept = office.DefaultSettings()
	w := &wizard{Bench: screentest.New(t, o), t: t, answers: &Answers{}, tunnel: office.TunnelNgrok}
	w.open()
	return w
}

// open shows the wizard, as at the start and after a look at the demo.
func (w *wizard) open() {
	w.Screen = New(w.Env, w.Office, w.answers, Exits{Done: func() { w.done++ }, Demo: func() func() { w.demos++; return func() { w.DemoFailed("") } }})
	w.Bench.Show(w.Content(), screentest.Big)
}

func (w *wizard) next() {
	w.Next()
	w.Settle()
}

func (w *wizard) at() string { return w.current().name }

// said is what stands beside a field of the step that is shown.
func (w *wizard) said(key string) string {
	w.t.Helper()
	f := w.current().fields[key]
	if f == nil {
		w.t.Fatalf("%s is not on the step %q", key, w.at())
	}
	if !f.IsWrong() {
		return ""
	}
	return f.Said()
}

func (w *wizard) fillService() {
	w.service.kind.Choose(0) // Example Sign
	w.registration.client.SetText("office-client")
	w.registration.secret.SetText("s3cret")
}

// to goes to a step by filling in what is needed.
func (w *wizard) to(name string) {
	w.t.Helper()
	w.fillService()
	w.address.kind.Choose(slices.Index(tunnels, w.tunnel))
	w.address.token.SetText("token")
	for range w.steps {
		if w.at() == lang.L(name) {
			return
		}
		if w.at() == lang.L("Folder") {
			w.folder.path.SetText(filepath.Join(w.t.TempDir(), "Signed"))
		}
		w.next()
	}
	w.t.Fatalf("ended at %q", w.at())
}

func TestTheWholeWay(t *testing.T) {
	w := first(t)
	w.to("Sign in")
	kept := w.Office.Settings()
	if kept.AuthURL != "https://sign.example.com" || kept.SignatureHeader != "X-Example-Signature" || kept.ClientID != "office-client" ||
		kept.NgrokDomain != "office.ngrok.app" || kept.Redirect != office.RedirectTunnel || filepath.Base(kept.SaveTo) != "Signed" {
		t.Errorf("kept %+v", kept)
	}
	if w.Office.Secret != (office.Secrets{ClientSecret: "s3cret", NgrokAuthtoken: "token"}) {
		t.Error("the secrets are not kept")
	}
	if !w.Finishing() {
		t.Error("from here on the wizard ends by itself")
	}
	w.Next()
	w.Until(func() bool { return len(w.System.SoFar()) > 0 })
	if opened := w.System.SoFar(); len(opened) != 1 || opened[0] != "address https://sign.example.com/connect/authorize" {
		t.Errorf("opened %v", opened)
	}
	if err := w.Office.Paste("https://office.ngrok.app/oauth/callback?code=1"); err != nil {
		t.Fatal(err)
	}
	w.Until(func() bool { return w.done == 1 })
	if !officetest.Must(w.Office.Status()).SignedIn {
		t.Error("not signed in")
	}
}

func TestEachStepIsCheckedBeforeTheNext(t *testing.T) {
	w := first(t)
	w.next()
	if w.at() != "Signing service" || w.bar.text.Text != "Choose a signing service." {
		t.Errorf("at %q, said %q", w.at(), w.bar.text.Text)
	}
	w.service.kind.Choose(1) // another one
	w.next()
	for _, key := range []string{office.FieldAuthURL, office.FieldBaseURL} {
		if w.said(key) == "" || !w.service.own.Visible() {
			t.Errorf("%s is empty and not marked", key)
		}
	}
	w.fillService()
	w.registration.client.SetText("")
	w.registration.secret.SetText("")
	w.Office.Fail("TestService", message.Error(message.ServiceNotFound(), nil))
	w.next()
	if w.at() != "Signing service" || w.current().fields[office.FieldAuthURL].IsWrong() || w.bar.text.Text != message.ServiceNotFound().String() {
		t.Fatalf("at %q, the foot says %q: a field is blamed for the connection", w.at(), w.bar.text.Text)
	}
	w.Office.Fail("TestService", &agent.ConfigError{Fields: []office.FieldError{{Field: office.FieldAuthURL, Text: message.SignInAddressSilent()}}})
	w.next()
	if w.at() != "Signing service" || w.said(office.FieldAuthURL) != message.SignInAddressSilent().String() {
		t.Fatalf("at %q: %q", w.at(), w.said(office.FieldAuthURL))
	}
	if !w.service.own.Visible() {
		t.Error("the address that is wrong is not to be seen")
	}
	w.Office.Fail("TestService", nil)
	w.next()
	if w.answers.settings.Tunnel != office.TunnelNone || w.bar.next.Text != "Continue" {
		t.Errorf("unless somebody decides otherwise the address is %q", w.answers.settings.Tunnel)
	}
	w.address.kind.Choose(1)
	w.next()
	if w.at() != "Public address" || w.said(office.FieldNgrokToken) == "" {
		t.Fatalf("at %q", w.at())
	}
	w.address.token.SetText("wrong")
	w.Office.Fail("TestTunnel", message.Error(message.TokenRefused(), nil))
	w.next()
	screentest.Equal(t, "beside the token", w.said(office.FieldNgrokToken), message.TokenRefused().String())
	if steps := w.address.way.Objects; len(steps) != 4 {
		t.Errorf("the way to ngrok is shown in %d steps", len(steps))
	}
	w.address.kind.Choose(2)
	if len(w.address.way.Objects) > 0 {
		t.Error("the way to ngrok is shown beside another kind of address")
	}
	w.next()
	if w.said(office.FieldPublicURL) == "" || w.said(office.FieldListen) == "" {
		t.Error("an own address needs its parts")
	}
}

// Many networks cannot reach their own public address from inside.
func TestAnAddressThatIsSilentFromHereIsTakenAllTheSame(t *testing.T) {
	w := first(t)
	tests := 0
	w.Office.Do("TestTunnel", func() error { tests++; return message.Error(message.PublicAddressSilent(), nil) })
	w.fillService()
	w.next()
	w.address.kind.Choose(2)
	w.address.public.SetText("https://sign.example.com")
	w.address.listen.SetText("127.0.0.1:8080")
	w.next()
	if w.at() != "Public address" || w.said(office.FieldPublicURL) == "" || w.bar.next.Text != "Continue anyway" {
		t.Fatalf("at %q, said %q, the button says %q", w.at(), w.said(office.FieldPublicURL), w.bar.next.Text)
	}
	w.address.public.SetText("https://other.example.com")
	if w.bar.next.Text != "Test and continue" {
		t.Errorf("for another address the button says %q", w.bar.next.Text)
	}
	w.address.public.SetText("https://sign.example.com")
	w.next()
	if w.at() == "Public address" || tests != 1 {
		t.Errorf("at %q after %d tests", w.at(), tests)
	}
}

func TestAnAddressThatDidOpenIsNotTestedTwice(t *testing.T) {
	w := first(t)
	tests := 0
	w.Office.Do("TestTunnel", func() error { tests++; return nil })
	w.to("Return address")
	if w.back.returns() != "https://office.ngrok.app/oauth/callback" {
		t.Errorf("the domain that ngrok gave is part of the return address, got %q", w.back.returns())
	}
	w.back.copyIt.Button.OnTapped()
	screentest.Equal(t, "said", w.back.copyIt.Said.Text, "Copied.")
	if w.Pass(); w.back.copyIt.Said.Text != "" {
		t.Error("that it is copied is said for ever")
	}
	if len(w.Copied) != 1 || w.Copied[0] != "https://office.ngrok.app/oauth/callback" {
		t.Errorf("copied %v", w.Copied)
	}
	w.Back()
	if !w.address.found.Visible() {
		t.Error("that it works is still said")
	}
	w.next()
	w.Back()
	w.address.token.SetText("another")
	w.next()
	if tests != 2 || w.at() != "Return address" {
		t.Errorf("tested %d times, at %q", tests, w.at())
	}
}

func TestWithoutAnAddressTheSignInComesBackAnotherWay(t *testing.T) {
	w := first(t)
	w.tunnel = office.TunnelNone
	w.to("Return address")
	if w.answers.settings.Redirect != office.RedirectLocalhost || w.back.kind.Items[0].Visible() {
		t.Errorf("the way is %q", w.answers.settings.Redirect)
	}
	w.back.kind.Choose(2)
	screentest.Equal(t, "of the address that must be known it says", w.back.other.Said(), "The address that is registered with the service for your office. Your administrator knows it.")
	w.next()
	if w.said(office.FieldRedirectURI) == "" {
		t.Error("to paste, the registered address must be known")
	}
	w.back.registered.SetText("https://office.example/back")
	w.next()
	if w.at() != "Registration" {
		t.Errorf("at %q: %q", w.at(), w.said(office.FieldRedirectURI))
	}
}

// Nobody sees what is in it, and would join the right one to it.
func TestWhatIsTypedReplacesARefusedSecret(t *testing.T) {
	w := first(t)
	w.to("Registration")
	typed := func() string {
		w.Window.Canvas().Focused().TypedRune('x')
		return w.registration.secret.Text
	}
	w.Office.Fail("TestClient", message.Error(message.ClientRefused(), nil))
	w.next()
	screentest.Equal(t, "once it was refused, the secret", typed(), "x")
	w.registration.secret.SetText("wrong")
	w.Back()
	w.next()
	screentest.Equal(t, "at another look, the secret", typed(), "x")
}

func TestTheAddressesOfAnotherServiceAreSeenOnceItIsChosen(t *testing.T) {
	w := first(t)
	w.Window.Resize(fyne.NewSize(860, 420))
	w.Focus()
	w.service.kind.Choose(len(w.service.presets) - 1)
	end := w.App.Driver().AbsolutePositionForObject(w.service.own).Y + w.service.own.Size().Height
	if bar := w.App.Driver().AbsolutePositionForObject(w.bar.content).Y; end > bar || w.scroll.Offset.Y == 0 {
		t.Errorf("they end at %v, behind the bar at %v", end, bar)
	}
	if w.Focus(); w.scroll.Offset.Y != 0 {
		t.Errorf("the step begins %v below its top", w.scroll.Offset.Y)
	}
}

func TestNothingTypedIsLost(t *testing.T) {
	w := first(t)
	w.to("Folder")
	w.folder.path.SetText("/elsewhere")
	for range 4 {
		w.Back()
	}
	if w.at() != "Signing service" || w.registration.secret.Text != "s3cret" {
		t.Fatalf("at %q", w.at())
	}
	w.Screen.Demo()
	if w.demos != 1 || w.Finishing() {
		t.Error("the demo is on its way")
	}
	w.DemoFailed("The demo could not start.")
	w.open() // a new room: the demo was shown, or the language was changed
	if w.at() != "Signing service" || w.registration.client.Text != "office-client" || w.registration.secret.Text != "s3cret" ||
		w.service.kind.Chosen != 0 || w.address.token.Text != "token" || w.folder.path.Text != "/elsewhere" {
		t.Error("something typed is lost")
	}
}

func TestARefusalLeadsToTheStepOfItsField(t *testing.T) {
	w := first(t)
	w.Office.Fail("ChangeSettings", &agent.ConfigError{Fields: []office.FieldError{{Field: "ngrok_domain", Text: message.NgrokDomainForm()}}})
	w.to("Folder")
	w.folder.path.SetText(filepath.Join(t.TempDir(), "Signed"))
	w.next()
	if w.at() != "Public address" || w.said(office.FieldNgrokDomain) != message.NgrokDomainForm().String() {
		t.Fatalf("at %q", w.at())
	}
	w.Office.Fail("ChangeSettings", message.Error(message.KeyringStillLocked(), nil))
	w.show(4)
	w.next()
	if w.bar.text.Text != message.KeyringStillLocked().String() || w.current().fields[office.FieldSaveTo].IsWrong() || w.Finishing() {
		t.Errorf("said %q", w.bar.text.Text)
	}
}

func TestAFolderThatCannotBeMadeIsToldBesideIt(t *testing.T) {
	w := first(t)
	w.to("Folder")
	w.folder.path.SetText(filepath.Join("/dev/null", "Signed"))
	w.Office.Fail("ChangeSettings", &agent.ConfigError{Fields: []office.FieldError{{Field: office.FieldSaveTo, Code: office.CodeNotMade, Text: message.FolderNotMade()}}})
	w.next()
	if w.said(office.FieldSaveTo) != message.FolderNotMade().String() || w.answers.finished {
		t.Error("the folder cannot be made")
	}
}

func TestWhatRunsCanBeStopped(t *testing.T) {
	w := first(t)
	w.to("Sign in")
	w.Next()
	w.Until(func() bool { return len(w.System.SoFar()) > 0 })
	w.Stop()
	w.Settle()
	if w.at() != "Sign in" || w.done != 0 || w.bar.text.Text != "" || screentest.Top(w.Window) != nil {
		t.Errorf("at %q, said %q", w.at(), w.bar.text.Text)
	}
	w.Office.Fail("SignIn", message.Error(message.MayNotSend(), nil))
	w.next()
	screentest.Equal(t, "said", w.signIn.said.Text, message.MayNotSend().String())
}

// What a test meets on its way is no concern of whoever stopped it.
func TestNothingIsSaidOfATestThatWasStopped(t *testing.T) {
	w := first(t)
	w.to("Public address")
	ended := make(chan struct{})
	w.Office.Do("TestTunnel", func() error {
		<-ended
		return message.Error(message.NoConnection(), nil)
	})
	w.Next()
	if !w.address.domain.Disabled() {
		t.Error("what is tested can be changed meanwhile")
	}
	w.Stop()
	close(ended)
	w.Settle()
	if w.address.domain.Disabled() {
		t.Error("nothing can be typed after the test")
	}
	if w.at() != "Public address" || w.bar.text.Text != "" || w.said(office.FieldNgrokToken) != "" {
		t.Errorf("said %q and %q", w.bar.text.Text, w.said(office.FieldNgrokToken))
	}
}

func TestBothAddressesOfTheServiceAreTold(t *testing.T) {
	w := first(t)
	w.fillService()
	w.Office.Fail("TestService", &agent.ConfigError{Fields: []office.FieldError{{Field: office.FieldAuthURL, Text: message.SignInAddressSilent()}, {Field: office.FieldBaseURL, Text: message.ServiceAddressOther()}}})
	w.next()
	if w.said(office.FieldAuthURL) != message.SignInAddressSilent().String() || w.said(office.FieldBaseURL) != message.ServiceAddressOther().String() {
		t.Errorf("said %q and %q", w.said(office.FieldAuthURL), w.said(office.FieldBaseURL))
	}
}

// The program may end at any step: what was entered is there again, and with the settings it goes.
func TestWhatWasEnteredIsThereAfterARestart(t *testing.T) {
	w := first(t)
	w.to("Registration")
	w.registration.secret.SetText("s3cret")
	w.registration.secret.OnFocusLost()
	w.Settle()
	w.answers = &Answers{} // as the program starts
	w.open()
	if w.at() != "Registration" || w.registration.client.Text != "office-client" || w.registration.secret.Text != "s3cret" ||
		w.address.token.Text != "token" || w.service.chosen() != 0 {
		t.Errorf("at %q with %+v", w.at(), w.answers.settings)
	}
	w.show(0)
	if w.at() != "Signing service" || w.service.chosen() != 0 {
		t.Errorf("at %q, chosen %d", w.at(), w.service.kind.Chosen)
	}
}

// locked is what is wrong while the keyring is locked.
var locked = []agent.Issue{{ID: agent.IssueKeyring, Severity: agent.Problem, Message: message.KeyringStillLocked(), Action: agent.ActUnlock}}

func TestAWizardSaysThatAnOfficeWasLost(t *testing.T) {
	w := first(t)
	lost := agent.Issue{ID: agent.IssueRestored, Severity: agent.Warning, Message: message.Then(message.DataWasDamaged("state.db.damaged"), message.DataLost()), Action: agent.ActSettings}
	w.ShowHealth([]agent.Issue{lost})
	if !strings.Contains(w.strip.Text(), "state.db.damaged") || !strings.Contains(w.strip.Text(), "Set Countersign up again") {
		t.Errorf("the strip says %q", w.strip.Text())
	}
	w.ShowHealth(nil)
	if w.strip.Visible() {
		t.Error("it says so still")
	}
}

func TestWhatWasEnteredIsThereOnceTheKeyringIs(t *testing.T) {
	w := first(t)
	w.to("Registration")
	w.Settle()
	w.Office.LockKeyring(true)
	w.answers = &Answers{} // as the program starts
	w.open()
	w.ShowHealth(locked)
	w.Settle()
	if w.at() != "Signing service" || w.strip.Text() != message.KeyringStillLocked().String() {
		t.Errorf("at %q, the strip says %q", w.at(), w.strip.Text())
	}
	w.Office.LockKeyring(false)
	w.ShowHealth(nil)
	w.Settle()
	if w.strip.Visible() || w.at() != "Registration" || w.registration.client.Text != "office-client" || w.address.token.Text != "token" {
		t.Errorf("at %q with %+v", w.at(), w.answers.settings)
	}
	w.Back()
	w.ShowHealth(nil)
	screentest.Equal(t, "it leads back to", w.at(), "Return address")
}

func TestWhatIsEnteredWhileTheKeyringIsLockedStaysAndIsKeptLater(t *testing.T) {
	w := first(t)
	w.to("Registration")
	w.Settle()
	w.Office.LockKeyring(true)
	w.answers = &Answers{}
	w.open()
	w.ShowHealth(locked)
	w.service.kind.Choose(0)
	w.registration.client.SetText("another-client")
	w.registration.client.OnFocusLost()
	w.Settle()
	w.Office.LockKeyring(false)
	w.ShowHealth(nil)
	w.Settle()
	if w.at() != "Signing service" || w.registration.client.Text != "another-client" {
		t.Errorf("at %q with %q", w.at(), w.registration.client.Text)
	}
	if f, kept, err := w.Office.FirstRun(); err != nil || !kept || f.Settings.ClientID != "another-client" {
		t.Errorf("kept %v: %+v", kept, f)
	}
}

func TestTheCodeOfAHubFillsTheWizard(t *testing.T) {
	w := first(t)
	w.EnterCode()
	fields := func() []*widgets.Entry { return screentest.All[*widgets.Entry](screentest.Top(w.Window)) }
	fields()[0].SetText("ABCD-EFGH-JKMN")
	w.Press(screentest.Top(w.Window), "Continue")
	if said := screentest.Text(screentest.Top(w.Window)); !strings.Contains(said, "was not found on this network") || !strings.Contains(said, "Address of the main computer") {
		t.Errorf("said %q", said)
	}
	fields()[0].SetText(officetest.Code)
	w.Press(screentest.Top(w.Window), "Continue")
	if s := w.answers.settings; screentest.Top(w.Window) != nil || s.Tunnel != office.TunnelOffice || s.Office != "nats://192.0.2.20:7422" {
		t.Errorf("said %q, filled in %+v", w.bar.text.Text, s)
	}
	if said := screentest.Text(w.Content()); w.at() != "Your office" || !strings.Contains(said, "Step 1 of 4") || !strings.Contains(said, "192.0.2.20:7422") {
		t.Errorf("at %q: %s", w.at(), said)
	}
	w.next()
	if said := w.current().fields[office.FieldClientSecret].Said(); w.at() != "Registration" || !strings.Contains(said, "Whoever invited you") || w.Window.Canvas().Focused() != w.registration.secret || !strings.Contains(screentest.Text(w.Content()), "Enter a code…") {
		t.Errorf("at %q: %s", w.at(), said)
	}
	w.registration.secret.SetText("s3cret")
	w.next()
	w.folder.path.SetText(filepath.Join(t.TempDir(), "Signed"))
	if w.at() != "Folder" {
		t.Errorf("at %q", w.at())
	}
	w.next()
	if s := w.Office.Settings(); w.at() != "Sign in" || s.Tunnel != office.TunnelOffice || s.Redirect != office.RedirectLoopback || w.answers.secrets.DeskKey != "key" {
		t.Errorf("at %q, kept %+v", w.at(), s)
	}
}

func TestWhatIsGivenIsCheckedAndCanBeChanged(t *testing.T) {
	w := first(t)
	s := office.DefaultSettings()
	s.AuthURL, s.BaseURL, s.ClientID = "https://sign.example.com", "https://sign.example.com", "from-the-file"
	s.Tunnel, s.PublicURL, s.Listen = office.TunnelExternal, "https://public.example.com", "127.0.0.1:8080"
	w.Office.Handed = map[string]agent.OfficeFile{"Office.countersign": {Settings: s, ClientSecret: "s3cret"}}
	w.OpenFile("Office.countersign")
	w.Settle()
	w.Office.Fail("TestTunnel", message.Error(message.NoConnection(), nil))
	w.next()
	if w.at() != "Your office" || w.bar.text.Text != message.NoConnection().String() {
		t.Errorf("at %q, said %q", w.at(), w.bar.text.Text)
	}
	w.Office.Fail("TestTunnel", message.Error(message.PublicAddressSilent(), nil))
	w.next()
	if w.at() != "Public address" || w.said(office.FieldPublicURL) == "" || w.bar.next.Text != "Continue anyway" || len(w.steps) != 6 {
		t.Errorf("at %q of %d steps, the button says %q", w.at(), len(w.steps), w.bar.next.Text)
	}
	w.answers = &Answers{} // as the program starts
	w.open()
	w.Settle()
	if w.at() != "Public address" {
		t.Errorf("at %q", w.at())
	}
}

func TestAnAdministratorsFileFillsTheWizard(t *testing.T) {
	w := first(t)
	s := office.DefaultSettings()
	s.AuthURL, s.BaseURL, s.ClientID = "https://sign.example.com", "https://sign.example.com", "from-the-file"
	s.SignatureHeader = "X-Example-Signature"
	s.Tunnel, s.Redirect, s.SaveTo, s.SaveCAC = office.TunnelNone, office.RedirectLocalhost, "/etc", true
	w.Office.Handed = map[string]agent.OfficeFile{"Office.countersign": {Settings: s, ClientSecret: "s3cret"}}
	w.OpenFile("wrong.countersign")
	w.Settle()
	if w.answers.settings.ClientID != "" || !strings.Contains(w.bar.text.Text, "was not made by Countersign") {
		t.Errorf("said %q", w.bar.text.Text)
	}
	w.OpenFile("Office.countersign")
	w.Settle()
	if said := screentest.Text(w.Content()); w.at() != "Your office" || !strings.Contains(said, "Example Sign") || !strings.Contains(said, "Step 1 of 3") {
		t.Errorf("at %q: %s", w.at(), said)
	}
	if filepath.Base(w.answers.settings.SaveTo) != "Signed" {
		t.Errorf("the file chose the folder %q", w.answers.settings.SaveTo)
	}
	for w.at() != "Folder" {
		w.next()
		if w.bar.text.Text != "" {
			t.Fatalf("at %q, said %q", w.at(), w.bar.text.Text)
		}
	}
	if w.registration.client.Text != "from-the-file" || w.answers.secrets.ClientSecret != "s3cret" || !w.folder.cac.Checked {
		t.Errorf("got %+v", w.answers.settings)
	}
	w.Office.Fail("SignIn", nil)
	w.folder.path.SetText(filepath.Join(t.TempDir(), "Signed"))
	w.next()
	w.Next()
	w.OpenFile("Office.countersign")
	w.Until(func() bool { return strings.Contains(w.bar.text.Text, "still running") })
	w.Stop()
	w.Settle()
}

// A file that names a known sign-in page and takes the documents elsewhere is not shown under the known name.
func TestAKnownServiceIsOneInAllThatAFileSays(t *testing.T) {
	w := first(t)
	known := office.DefaultSettings()
	known.AuthURL, known.BaseURL, known.SignatureHeader = "https://sign.example.com", "https://sign.example.com/api/v1", "X-Example-Signature"
	elsewhere, header, lookalike := known, known, known
	elsewhere.BaseURL = "https://collector.example"
	header.SignatureHeader = "X-Other"
	lookalike.AuthURL, lookalike.BaseURL = "https://s\u0456gn.example.com", "https://s\u0456gn.example.com"
	const other = 1 // after the one known service
	for name, c := range map[string]struct {
		settings office.Settings
		chosen   int
		says     string
	}{
		"the same":            {known, 0, "You sign in at sign.example.com."},
		"documents elsewhere": {elsewhere, other, "Your documents go to collector.example."},
		"another header":      {header, other, "You sign in at sign.example.com."},
		"looks the same":      {lookalike, other, "You sign in at xn--sgn-jhd.example.com (s\u0456gn.example.com)."},
	} {
		w.Office.Handed = map[string]agent.OfficeFile{"Office.countersign": {Settings: c.settings.Normal()}}
		w.OpenFile("Office.countersign")
		w.Settle()
		if shown := strings.Contains(screentest.Text(w.Content()), "Example Sign"); shown != (c.chosen == 0) {
			t.Errorf("%s: the known name is shown: %v", name, shown)
		}
		w.Screen.open(w.service.step)
		if w.service.kind.Chosen != c.chosen || w.service.own.Visible() != (c.chosen == other) {
			t.Errorf("%s: service %d, addresses shown: %v", name, w.service.kind.Chosen, w.service.own.Visible())
		}
		if w.answers.settings.BaseURL != c.settings.Normal().BaseURL || w.service.base.Text != w.answers.settings.BaseURL {
			t.Errorf("%s: the address became %q, shown as %q", name, w.answers.settings.BaseURL, w.service.base.Text)
		}
		w.signIn.announce()
		if got := w.signIn.where.Text; !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestTheWizardAsksInTheDesktopsDialogs(t *testing.T) {
	w := first(t)
	w.Office.Handed = map[string]agent.OfficeFile{"/Office.countersign": {Settings: office.DefaultSettings()}}
	w.System.OnChoose = func(_ context.Context, d system.FileDialog) ([]string, error) {
		if d.Kind == system.OpenFolder {
			return []string{"/signed/2026"}, nil
		}
		return []string{"/Office" + d.Kinds[0].Endings[0]}, nil
	}
	w.PickFile()
	w.Settle()
	if w.at() != "Your office" {
		t.Errorf("at %q", w.at())
	}
	w.folder.pick()
	w.Settle()
	if w.folder.path.Text != "/signed/2026" || w.answers.settings.SaveTo != "/signed/2026" {
		t.Errorf("the folder is %q, kept is %q", w.folder.path.Text, w.answers.settings.SaveTo)
	}
}

func TestTheLetterSaysWhatToRegisterAndNoSecret(t *testing.T) {
	w := first(t)
	w.address.kind.Choose(1)
	_, text := w.letter()
	if !strings.Contains(text, "https://YOUR-NGROK-DOMAIN/oauth/callback") || !strings.Contains(text, "the sign-in address") {
		t.Errorf("said %s", text)
	}
	w.to("Return address")
	w.back.kind.Choose(1)
	w.AskAdministrator()
	subject, text := w.letter()
	for _, want := range []string{"https://localhost:46137/oauth/callback", "profile openid offline_access organization", "sign.example.com",
		"client ID", "client secret", "--redirect localhost", "--export Office.countersign"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q: %s", want, text)
		}
	}
	for _, not := range []string{"s3cret", "token\n"} {
		if strings.Contains(text, not) {
			t.Errorf("says %q: %s", not, text)
		}
	}
	u, err := url.Parse(env.Mailto("", subject, text))
	if err != nil || u.Scheme != "mailto" || strings.Contains(u.RawQuery, "+") {
		t.Fatalf("%v %v", u, err)
	}
	if got := strings.ReplaceAll(u.Query().Get("body"), "\r\n", "\n"); got != text || u.Query().Get("subject") != subject {
		t.Errorf("mailed %q", got)
	}
	w.answers.settings.AuthURL, w.answers.settings.BaseURL = "https://sign.example.com/$(reboot)", "no address"
	if _, text = w.letter(); strings.Contains(text, "reboot") || strings.Contains(text, "no address") || !strings.Contains(text, "--auth-url URL --base-url URL") {
		t.Errorf("it asks an administrator to run %s", text)
	}
	widgets.CloseAll(w.Window.Canvas())
}

func TestTheDemoIsTheLastService(t *testing.T) {
	w := first(t)
	w.service.kind.Choose(len(w.service.kind.Items) - 1)
	screentest.Equal(t, "the button says", w.bar.next.Text, "Start the demo")
	w.Next()
	if w.demos != 1 || w.answers.settings.AuthURL != "" {
		t.Errorf("%d demos, filled in %q", w.demos, w.answers.settings.AuthURL)
	}
	w.DemoFailed("")
}

func TestTheWizardLooksAsItWasApproved(t *testing.T) {
	fasttest.Slow(t)
	localhost := func(w *wizard) { w.to("Return address"); w.back.kind.Choose(1) }
	for _, c := range []struct {
		name, language, theme string
		act                   func(*wizard)
		size                  fyne.Size
		scale                 float32
	}{
		{"service", "en", "light", func(*wizard) {}, screentest.Big, 1},
		{"service-wrong-dark", "en", "dark", func(w *wizard) { w.service.kind.Choose(1); w.next() }, screentest.Small, 1},
		{"registration", "en", "light", func(w *wizard) {
			w.to("Registration")
			w.registration.client.SetText("")
			w.registration.secret.SetText("")
			w.next()
		}, screentest.Small, 1},
		{"signin-localhost-200", "en", "light", func(w *wizard) { localhost(w); w.to("Sign in") }, screentest.Small, 2},
		{"address", "en", "light", func(w *wizard) {
			w.Office.Fail("TestTunnel", message.Error(message.DomainInUse("office.ngrok.app"), nil))
			w.fillService()
			w.next()
			w.address.kind.Choose(1)
			w.address.token.SetText("token")
			w.next()
		}, screentest.Small, 1},
		{"signing-in", "en", "light", func(w *wizard) {
			w.to("Sign in")
			w.Next()
			w.Until(func() bool { return len(w.System.SoFar()) > 0 })
		}, screentest.Big, 1},
		{"known-dark", "de", "dark", func(w *wizard) {
			file, _ := w.Office.FetchOffice(w.t.Context(), officetest.Code, "")
			w.take(file)
		}, screentest.Small, 1},
		{"de-wayback", "de", "light", localhost, screentest.Small, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			screentest.Speak(t, c.language)
			w := first(t)
			c.act(w)
			w.Looks(c.name, c.theme, c.size, c.scale)
		})
	}
}

// A secret that the service refuses is marked where it is entered: on the way on, and when the sign-in fails for it.
func TestARefusedSecretIsMarkedWhereItIsEntered(t *testing.T) {
	w := first(t)
	refused := &agent.ConfigError{Fields: []office.FieldError{{Field: office.FieldClientSecret, Text: message.ClientRefused()}}}
	w.to("Registration")
	w.Office.Fail("TestClient", refused)
	w.next()
	if w.at() != "Registration" || w.said(office.FieldClientSecret) == "" {
		t.Errorf("at %q", w.at())
	}
	w.Office.Fail("TestClient", nil)
	w.to("Sign in")
	w.Office.Fail("SignIn", refused)
	w.next()
	if w.at() != "Registration" || w.said(office.FieldClientSecret) == "" {
		t.Errorf("at %q", w.at())
	}
}

func TestTheFootGoesWithTheLastMark(t *testing.T) {
	w := first(t)
	w.to("Registration")
	w.registration.client.SetText("")
	w.Next()
	if w.bar.text.Text == "" {
		t.Fatal("what is wrong is not said")
	}
	w.registration.client.SetText("office")
	screentest.Equal(t, "nothing is marked any more, but the foot says", w.bar.text.Text, "")

	w = first(t)
	w.to("Public address")
	w.address.kind.Choose(slices.Index(tunnels, office.TunnelNgrok))
	w.address.domain.SetText("foo bar")
	w.Next()
	if w.said(office.FieldNgrokDomain) == "" {
		t.Fatal("a domain with a space is not refused")
	}
	w.address.kind.Choose(slices.Index(tunnels, office.TunnelExternal))
	screentest.Equal(t, "another way is chosen, but the foot says", w.bar.text.Text, "")
}

// Beside each field of the wizard stands what the agent says of it.
func TestEveryFieldIsJudgedAsTheAgentDoes(t *testing.T) {
	w := first(t)
	w.to("Sign in")
	folder := t.TempDir()
	seen := map[string]bool{} // the agent's own tests have every value; here one of each kind will do
	for _, c := range settingstest.Cases(folder) {
		at := slices.IndexFunc(w.steps, func(p *step) bool { return p.fields[c.Field] != nil })
		kind := fmt.Sprint(c.Field, c.Code)
		if at < 0 || seen[kind] {
			continue
		}
		seen[kind] = true
		t.Run(c.Name(), func(t *testing.T) {
			w.show(at)
			w.answers.settings = c.With(folder)
			w.right()
			if want := i18n.Findings(c.With(folder).Check())[c.Field]; w.said(c.Field) != want || c.Wrong() == (want == "") {
				t.Errorf("said %q, want %q", w.said(c.Field), want)
			}
		})
	}
}

func TestEveryStepBeginsAtItsTop(t *testing.T) {
	w := first(t)
	w.tunnel = office.TunnelNone
	w.fillService()
	w.Window.Resize(fyne.NewSize(860, 300))
	for _, name := range []string{"Public address", "Registration", "Folder"} {
		w.scroll.ScrollToBottom()
		if w.scroll.Offset.Y == 0 {
			t.Fatalf("%s: nothing had to be scrolled", w.at())
		}
		if w.to(name); w.scroll.Offset.Y != 0 {
			t.Errorf("%s begins %v below its top", name, w.scroll.Offset.Y)
		}
	}
}

func TestTheCursorGoesToTheFirstMarkedField(t *testing.T) {
	w := first(t)
	w.to("Registration")
	w.registration.client.SetText("")
	w.registration.secret.SetText("")
	w.next()
	if w.Window.Canvas().Focused() != fyne.Focusable(w.registration.client) {
		t.Errorf("two fields are wrong, the cursor is in %T", w.Window.Canvas().Focused())
	}
	w.registration.client.SetText("office-client")
	w.next()
	if w.Window.Canvas().Focused() != fyne.Focusable(w.registration.secret) {
		t.Error("the secret is what is left")
	}
	w.registration.secret.SetText("s3cret")
	w.to("Folder")
	w.Office.Fail("ChangeSettings", &agent.ConfigError{Fields: []office.FieldError{{Field: office.FieldNgrokDomain, Text: message.NgrokDomainForm()}}})
	w.folder.path.SetText(filepath.Join(t.TempDir(), "Signed"))
	w.next()
	if w.at() != "Public address" || w.Window.Canvas().Focused() != fyne.Focusable(w.address.domain) {
		t.Errorf("what the office refuses is on step %q", w.at())
	}
}

func TestAFieldIsMarkedBesideAButton(t *testing.T) {
	w := first(t)
	w.to("Folder")
	w.folder.path.SetText("")
	w.Window.Canvas().Unfocus()
	w.next()
	if w.said(office.FieldSaveTo) == "" || w.Window.Canvas().Focused() != fyne.Focusable(w.folder.path) {
		t.Errorf("beside the folder: %q", w.said(office.FieldSaveTo))
	}
}

func TestTheSentenceOfTheKeyringStandsOnce(t *testing.T) {
	w := first(t)
	w.ShowHealth(locked)
	w.Office.Fail("Act", message.Error(message.KeyringStillLocked(), nil))
	w.act(locked[0])
	w.Settle()
	if w.strip.Text() != message.KeyringStillLocked().String() || w.bar.text.Text != "That didn’t help yet." {
		t.Errorf("the strip says %q, the foot %q", w.strip.Text(), w.bar.text.Text)
	}
}

func TestTheFolderIsProposedInTheLanguageInUseUntilAnotherIsChosen(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("USERPROFILE", t.TempDir())
	t.Cleanup(func() { i18n.Use("en") })
	o := officetest.Empty()
	o.Kept = office.DefaultSettings()
	var a Answers
	for code, want := range map[string]string{"en": "Signed", "de": "Unterschrieben", "fr": "Signés", "es": "Firmados"} {
		i18n.Use(code)
		a.begin(o)
		if got := filepath.Base(a.settings.SaveTo); got != want || !a.untouched() {
			t.Errorf("%s: %q, want %q; untouched %v", code, got, want, a.untouched())
		}
	}
	a.settings.SaveTo = "/srv/contracts"
	i18n.Use("de")
	a.begin(o)
	screentest.Equal(t, "what was chosen became", a.settings.SaveTo, "/srv/contracts")
}

func TestAnOfficeIsBroughtOverOnceItWasSeenAndIntoAFolderThatIsHere(t *testing.T) {
	w := first(t)
	path := filepath.Join(t.TempDir(), "Office moving.countersign")
	if err := os.WriteFile(path, []byte("age-encryption.org/v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.System.OnChoose = func(_ context.Context, d system.FileDialog) ([]string, error) { return []string{path}, nil }
	w.Say("The file before it is damaged.")
	w.PickFile()
	w.Settle()
	if w.Env.Window.Canvas().Overlays().Top() == nil || w.bar.text.Text != "" {
		t.Fatalf("nothing is asked; said %q", w.bar.text.Text)
	}
	w.Env.Window.Canvas().Overlays().Top().Hide()
	b := newBring(w.Screen, path)
	b.password.SetText("wrong")
	b.press()
	w.Settle()
	if !strings.Contains(b.ask.Said(), "password does not open") || b.says.Visible() || w.done != 0 {
		t.Errorf("said %q", b.ask.Said())
	}
	b.password.SetText(officetest.MovePassword)
	b.press()
	if b.ask.IsWrong() {
		t.Errorf("while the file is read, it says %q", b.ask.Said())
	}
	b.password.SetText("typed while the file is read")
	w.Settle()
	if w.done != 0 || len(w.Office.Done) > 0 || !b.says.Visible() || b.ask.Visible() {
		t.Fatal("it was brought over before anybody saw what is in it")
	}
	text := screentest.Text(b.rows)
	for _, want := range []string{"sign.example.com", "api.example.com", "olivia.office@example.com", "front-desk", "/home/olivia/Signed", "/srv/leases", "214", "Ana Ruiz"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown in %q", want, text)
		}
	}
	b.press()
	w.Settle()
	if !strings.Contains(b.place.Said(), "Choose the folder") || w.done != 0 || w.Window.Canvas().Focused() != fyne.Focusable(b.folder) {
		t.Errorf("said %q, the cursor is in %T", b.place.Said(), w.Window.Canvas().Focused())
	}
	b.folder.SetText("/signed")
	b.press()
	w.Settle()
	if w.done != 1 || w.Office.Asked("move in /signed") != 1 {
		t.Errorf("done %d, into %q", w.done, w.Office.Done)
	}
}
