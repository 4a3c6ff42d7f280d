package window

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/storage"
	"fyne.io/fyne/v2/test"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/keys"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/widgets"
)

func (b *bench) press(key fyne.KeyName) {
	b.t.Helper()
	b.window.shortcuts[keys.Key{Name: key, Held: fyne.KeyModifierShortcutDefault}]() // the test driver's canvas drops shortcuts
	b.Settle()
}

func signers(n int) (list []office.Signer) {
	for i := range n {
		list = append(list, office.Signer{FirstName: "Ana", LastName: fmt.Sprint("Ruiz ", i), Email: fmt.Sprintf("ana%d@example.com", i)})
	}
	return list
}

func TestDroppedFilesGoToSend(t *testing.T) {
	b := newBench(t, officetest.Busy())
	path := b.file("Offer 100% ä.pdf", 10)
	b.window.OnDropped(fyne.Position{}, []fyne.URI{storage.NewFileURI(path)})
	b.Settle()
	if b.window.at != showCompose {
		t.Fatal("a drop must lead to Send")
	}
	b.window.compose.get().Fill(office.NewPackage{Signers: signers(1)})
	b.send()
	b.Settle()
	if len(b.Office.Sent) != 1 || b.Office.Sent[0].Files[0] != path || b.Office.Sent[0].Name != "Offer 100% ä" {
		t.Errorf("sent %+v", b.Office.Sent)
	}
	if b.window.at != showPackages || !strings.Contains(b.window.notice.Text(), "was sent to 1 person") {
		t.Errorf("after sending, the package is shown and said: %q", b.window.notice.Text())
	}
}

func TestWhatIsSentCanBeTakenBack(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.window.Add([]string{b.file("a.pdf", 10)})
	b.Settle()
	b.window.compose.get().Fill(office.NewPackage{Message: "hello", Signers: signers(1)})
	b.Office.Patient = true
	press := func() {
		b.window.compose.get().Send()
		b.Until(b.window.grace.Busy)
		if b.window.grace.Text() != "Sending in 10 seconds" || len(officetest.Must(b.Office.Drafts())) != 1 {
			t.Fatalf("said %q; %d drafts are kept, should the program end now", b.window.grace.Text(), len(officetest.Must(b.Office.Drafts())))
		}
	}
	press()
	b.window.Go(showActivity) // wherever the person is
	b.window.window.Hide()
	b.window.grace.Undo()
	b.Until(func() bool { return b.Office.Form().Message == "hello" })
	b.Settle()
	if len(b.Office.Sent) != 0 || len(officetest.Must(b.Office.Drafts())) != 0 || b.window.at != showCompose || b.Office.Form().Message != "hello" {
		t.Errorf("sent %d, kept %d: what was taken back is as it was typed", len(b.Office.Sent), len(officetest.Must(b.Office.Drafts())))
	}
	press()
	b.window.follows(office.Settings{Language: "de", AuthURL: "x"})
	if b.window.language == "de" {
		t.Error("another language waits for what is to be done")
	}
	b.Office.Pass()
	b.grace()
	b.Settle()
	if len(b.Office.Sent) != 1 || len(officetest.Must(b.Office.Drafts())) != 0 {
		t.Errorf("sent %d, kept %d", len(b.Office.Sent), len(officetest.Must(b.Office.Drafts())))
	}
}

func TestAWebAddressCannotBeDropped(t *testing.T) {
	b := newBench(t, officetest.Busy())
	uri, err := storage.ParseURI("https://example.com/a.pdf")
	if err != nil {
		t.Fatal(err)
	}
	b.window.OnDropped(fyne.Position{}, []fyne.URI{uri})
	if b.window.at != showPackages || !strings.Contains(b.window.notice.Text(), "Only files can be dropped") {
		t.Errorf("got %q", b.window.notice.Text())
	}
}

func TestNothingTypedIsLostWhenSendingFails(t *testing.T) {
	for name, c := range map[string]struct {
		state office.SendState
		err   error
		kept  bool
	}{
		"refused":   {office.SendState{State: office.DraftFailed, Problem: message.FileProtected("a.pdf")}, nil, true},
		"no answer": {office.SendState{}, message.Error(message.ServiceSilent(), nil), true},
		"stopped":   {office.SendState{State: office.DraftCancelled}, context.Canceled, true},
		"unknown":   {office.SendState{State: office.DraftUnknown}, nil, false}, // the o keeps it; a second press must not send it twice
		"accepted":  {office.SendState{State: office.DraftSent, PackageID: "p1"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, officetest.Busy())
			b.Office.OnSend = func(context.Context, office.NewPackage, func(office.SendState)) (office.SendState, error) {
				return c.state, c.err
			}
			b.window.Add([]string{b.file("a.pdf", 10)})
			b.Settle()
			b.window.compose.get().Fill(office.NewPackage{Message: "hello", Signers: signers(2), Sequential: true})
			b.send()
			b.Settle()
			b.send() // sends the same again when it was kept, and nothing when it was not
			b.Settle()
			want := 1
			if c.kept {
				want = 2
			}
			if len(b.Office.Sent) != want {
				t.Fatalf("sent %d times, want %d", len(b.Office.Sent), want)
			}
			if c.kept && fmt.Sprint(b.Office.Sent[0]) != fmt.Sprint(b.Office.Sent[1]) {
				t.Errorf("something typed was lost: %v became %v", b.Office.Sent[0], b.Office.Sent[1])
			}
		})
	}
}

func TestCancelEndsTheSendingThatRuns(t *testing.T) {
	b := newBench(t, officetest.Busy())
	sending(b)
	b.window.compose.get().Stop()
	b.Settle()
	if len(b.Office.Sent) != 1 || len(b.Office.Cancelled) != 1 || b.Office.Cancelled[0] != "d1" {
		t.Errorf("sent %d, withdrawn %v: what is stopped must not go out later", len(b.Office.Sent), b.Office.Cancelled)
	}
}

func TestWhatWasRefusedIsReplacedByTheNextAttempt(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.Office.OnSend = func(context.Context, office.NewPackage, func(office.SendState)) (office.SendState, error) {
		b.Office.Change(office.OutboxChanged, func(o *officetest.Office) {
			o.Waiting = append(o.Waiting, office.Draft{ID: fmt.Sprint("d", len(o.Sent)), State: office.DraftFailed, Problem: message.ServiceRefused()})
		})
		return office.SendState{DraftID: "d1", State: office.DraftFailed, Problem: message.ServiceRefused()}, nil
	}
	b.window.Add([]string{b.file("a.pdf", 10)})
	b.Settle()
	b.window.compose.get().Fill(office.NewPackage{Signers: signers(1)})
	for range 2 {
		b.send()
		b.Settle()
	}
	if left := officetest.Must(b.Office.Drafts()); len(left) != 1 || left[0].ID != "d2" {
		t.Errorf("the o still keeps %v", left)
	}
}

func TestSigningInByPaste(t *testing.T) {
	b := newBench(t, officetest.Empty())
	signingIn(b)
	a := b.window.account
	b.Until(func() bool { return len(b.System.SoFar()) > 0 })
	if opened := b.System.SoFar(); len(opened) != 1 || opened[0] != "address "+a.address {
		t.Fatalf("opened %v", opened)
	}
	a.pasted.SetText("nonsense")
	a.paste()
	b.Until(func() bool { return a.problem.Text == message.PasteWholeAddress().String() })
	a.pasted.SetText("https://localhost/oauth/callback?code=1")
	a.paste()
	b.Until(func() bool { return a.signedIn && a.cancel == nil })
	if a.pasted.Text != "" || a.problem.Text != "" {
		t.Errorf("left behind: %q %q", a.pasted.Text, a.problem.Text)
	}
	a.signOut()
	b.Until(func() bool { return !a.signedIn })
}

func TestWithoutABrowserTheAddressIsShown(t *testing.T) {
	b := newBench(t, officetest.Empty())
	b.System.NoBrowser = message.Error(message.BrowserSilent(), nil)
	signingIn(b)
	a := b.window.account
	b.Until(func() bool { return a.lost })
	if a.problem.Text != "The browser may not have opened. Copy the address and open it in a browser yourself." || a.cancel == nil {
		t.Errorf("said %q", a.problem.Text)
	}
	b.looks("no-browser", screentest.Small, 1)
	a.stop()
	b.Until(func() bool { return a.cancel == nil })
	if a.problem.Text != "" {
		t.Errorf("left behind: %q", a.problem.Text)
	}
}

func TestACancelledSignInSaysNothing(t *testing.T) {
	b := newBench(t, officetest.Empty())
	signingIn(b)
	b.window.account.stop()
	b.Until(func() bool { return b.window.account.cancel == nil })
	if b.window.account.problem.Text != "" {
		t.Errorf("got %q", b.window.account.problem.Text)
	}
}

func TestShortcutsLeadThroughTheWindow(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.press(fyne.KeyN)
	if b.window.at != showCompose {
		t.Error("Ctrl+N leads to Send")
	}
	b.press(fyne.KeyF)
	if b.window.at != showPackages || b.window.window.Canvas().Focused() == nil {
		t.Error("Ctrl+F puts the cursor into the search")
	}
	b.press(fyne.KeyComma)
	if b.window.at != showSettings {
		t.Error("Ctrl+comma leads to the settings")
	}
	b.window.onKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	if b.window.at != showPackages {
		t.Error("Escape leads back")
	}
	b.press(fyne.KeyQ)
	if b.quits != 1 {
		t.Error("Ctrl+Q quits")
	}
}

// asks is the text of the question that lies over the window, empty for none.
func (b *bench) asks() (text string) {
	if top := b.window.window.Canvas().Overlays().Top(); top != nil {
		for _, o := range test.LaidOutObjects(top) {
			if p, ok := o.(*widgets.Prose); ok {
				text = p.Text
			}
		}
	}
	return text
}

func TestTheFirstCloseSaysOnceWhereTheWindowIsFoundAgain(t *testing.T) {
	t.Cleanup(func() { i18n.Use("") })
	for _, language := range []string{"en", "de", "fr", "es"} {
		office := officetest.Busy()
		office.Kept.Language = language
		b := newBench(t, office)
		shut := func() string {
			b.window.Show()
			b.window.Hide()
			b.window.Hide() // who presses twice is asked once
			b.Settle()
			return b.asks()
		}
		inTray := shut()
		b.key(fyne.KeyEscape)
		if again := shut(); inTray == "" || again != inTray {
			t.Errorf("in %s: before the first close it says %q, and after one that was not meant %q", language, inTray, again)
		}
		b.key(fyne.KeyReturn) // keep running
		if said := shut(); said != "" {
			t.Errorf("in %s: it says again: %q", language, said)
		}
		b.tray = false
		nowhere := shut()
		if nowhere == "" || nowhere == inTray {
			t.Errorf("in %s: without a tray it says %q", language, nowhere)
		}
		b.window.Hide() // closing it once more is an answer, too
		if b.isOpen() || shut() != "" {
			t.Errorf("in %s: it says again where the window is", language)
		}
	}
}

func TestSearchFindsPeopleAndKeepsThePackageThatWasChosen(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.press(fyne.KeyF)
	test.Type(b.window.window.Canvas().Focused(), "RUIZ lease")
	if got := b.window.packages.Listed(); len(got) != 1 || got[0] != "p1" {
		t.Errorf("found %v", got)
	}
}

func TestSendAgainFillsInWhatWasSent(t *testing.T) {
	b := newBench(t, officetest.Busy())
	path := b.file("Lease.pdf", 10)
	b.window.SendLike(office.NewPackage{Name: "Lease Sonnenweg 4", Files: []string{path}, Signers: signers(2), Sequential: true})
	b.Settle()
	b.send()
	b.Settle()
	if len(b.Office.Sent) != 1 || len(b.Office.Sent[0].Signers) != 2 || !b.Office.Sent[0].Sequential || b.Office.Sent[0].Files[0] != path {
		t.Errorf("sent %+v", b.Office.Sent)
	}
}

func TestSettingsAreCheckedBeforeTheyAreSaved(t *testing.T) {
	b := newBench(t, officetest.Busy())
	var saved []office.Settings
	b.Office.OnConfigure = func(s office.Settings, _ office.Secrets) error {
		saved = append(saved, s)
		return message.Error(message.FolderForbidden("Signed"), nil)
	}
	s := b.window.settings.get()
	bad, good := officetest.Settings(), officetest.Settings()
	bad.NgrokDomain, good.NgrokDomain = "https://office.ngrok.app/path", "other.ngrok.app"
	s.Fill(bad)
	s.Save()
	b.Settle()
	if len(saved) != 0 {
		t.Fatal("a bad domain must not be saved")
	}
	s.Fill(good)
	s.Save()
	b.Settle()
	if len(saved) != 1 || saved[0].NgrokDomain != "other.ngrok.app" || s.Said() != message.FolderForbidden("Signed").String() {
		t.Fatalf("saved %v, said %q", saved, s.Said())
	}
	b.Office.OnConfigure = nil
	s.Save()
	b.Settle()
	if b.Office.Settings().NgrokDomain != "other.ngrok.app" || s.Said() != "Saved and in use." {
		t.Errorf("after an error, what was typed is still there: %q, said %q", b.Office.Settings().NgrokDomain, s.Said())
	}
}
