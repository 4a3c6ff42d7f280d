package window

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/storage"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/keys"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/system"
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
	b.window.compose.get().Fill(office.Form{Signers: signers(1)})
	b.send()
	b.Settle()
	if len(b.Office.Sent) != 1 || filepath.Base(b.Office.Sent[0].Files[0]) != filepath.Base(path) || b.Office.Sent[0].Name != "Offer 100% ä" {
		t.Errorf("sent %+v", b.Office.Sent)
	}
	if b.window.at != showPackages || !strings.Contains(b.window.notice.AccessibilityLabel(), "was sent to 1 person") {
		t.Errorf("after sending, the package is shown and said: %q", b.window.notice.AccessibilityLabel())
	}
}

func TestWhatIsSentCanBeTakenBack(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.window.Add([]string{b.file("a.pdf", 10)})
	b.Settle()
	b.window.compose.get().Fill(office.Form{Message: "hello", Signers: signers(1)})
	b.Office.Patient = true
	press := func() {
		b.window.compose.get().Send()
		b.Until(b.window.grace.Busy)
		if b.window.grace.AccessibilityLabel() != "Sending: a, 10 s" || len(officetest.Must(b.Office.Drafts())) != 1 {
			t.Fatalf("said %q; %d drafts are kept, should the program end now", b.window.grace.AccessibilityLabel(), len(officetest.Must(b.Office.Drafts())))
		}
		if shown := screentest.Text(b.window.packages.Content()); b.window.at != showPackages || !strings.Contains(shown, "Outbox") {
			t.Errorf("while it can be taken back, the list has %q", shown)
		}
	}
	press()
	b.window.Go(showActivity) // wherever the person is
	b.window.window.Hide()
	b.window.shortcuts[keys.Undo[0]]()
	b.Until(func() bool { return b.Office.Form().Message == "hello" })
	b.Settle()
	if len(b.Office.Sent) != 0 || len(officetest.Must(b.Office.Drafts())) != 0 || b.window.at != showCompose || b.Office.Form().Message != "hello" {
		t.Errorf("sent %d, kept %d: what was taken back is as it was typed", len(b.Office.Sent), len(officetest.Must(b.Office.Drafts())))
	}
	press()
	b.window.follows(office.Settings{LookSettings: office.LookSettings{Language: "de"}, ServiceSettings: office.ServiceSettings{AuthURL: "x"}})
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

// Until the office has what is sent, the form has it too: made anew, it would offer to send it once more.
func TestWhatIsHandedOverIsWaitedFor(t *testing.T) {
	t.Cleanup(func() { i18n.Use("en") })
	b := newBench(t, officetest.Busy())
	fill(b)
	taken := make(chan struct{})
	b.Office.OnSend = func(ctx context.Context, _ office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
		<-taken
		progress(office.SendState{DraftID: "d", State: office.DraftHeld, Undo: true})
		<-ctx.Done()
		return office.SendState{DraftID: "d", State: office.DraftHeld}, ctx.Err()
	}
	b.window.compose.get().Send()
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) { o.Kept.Language = "de" })
	b.Until(func() bool { return b.window.grace.Empty != nil })
	b.window.askToQuit()
	b.Until(b.isOpen)
	if b.window.language == "de" || !strings.Contains(b.asks(), "is being sent") {
		t.Errorf("another language: %v; before it quits it asks %q", b.window.language == "de", b.asks())
	}
	close(taken)
	b.Until(b.window.grace.Busy)
	b.grace()
	b.Until(func() bool { return b.window.language == "de" })
	b.Settle()
	if len(b.Office.Sent) != 1 || b.window.compose.get().Waiting() {
		t.Errorf("sent %d, the form has %+v", len(b.Office.Sent), b.Office.Form())
	}
}

func TestAWebAddressCannotBeDropped(t *testing.T) {
	b := newBench(t, officetest.Busy())
	uri, err := storage.ParseURI("https://example.com/a.pdf")
	if err != nil {
		t.Fatal(err)
	}
	b.window.OnDropped(fyne.Position{}, []fyne.URI{uri})
	if b.window.at != showPackages || !strings.Contains(b.window.notice.AccessibilityLabel(), "Only files can be dropped") {
		t.Errorf("got %q", b.window.notice.AccessibilityLabel())
	}
	first := newBench(t, unset())
	first.window.OnDropped(fyne.Position{}, []fyne.URI{uri})
	screentest.Equal(t, "the wizard says", first.window.setup.Said(), message.DropNoFile().String())
}

func TestSigningInAndOut(t *testing.T) {
	b := newBench(t, officetest.Empty())
	a := b.window.account
	b.Office.Fail("SignIn", message.Error(message.NoConnection(), nil))
	a.signIn("")
	b.Until(func() bool { return screentest.Top(b.window.window) != nil })
	if !strings.Contains(b.asks(), i18n.Message(message.NoConnection())) {
		t.Errorf("said %q", b.asks())
	}
	b.Office.Fail("SignIn", nil)
	screentest.Button(screentest.Top(b.window.window), "Try again").OnTapped()
	b.Until(func() bool { return len(b.System.SoFar()) > 0 })
	b.paste()
	b.Until(func() bool { return a.signedIn && a.cancel == nil })
	if top := screentest.Top(b.window.window); top != nil || a.failed != nil {
		t.Errorf("left behind: %v, %v", top, a.failed)
	}
	a.signOut()
	b.Until(func() bool { return !a.signedIn })
}

// The page with which a network greets is shown nowhere else.
func TestAnAddressThatNoBrowserShowsIsCopied(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.System.NoBrowser = system.ErrNoBrowser
	b.window.Act(agent.Issue{Action: agent.ActNetwork}, nil)
	b.Until(func() bool { return fyne.CurrentApp().Clipboard().Content() == b.Office.NetworkPage() })
}

func TestShortcutsLeadThroughTheWindow(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.press(fyne.KeyN)
	screentest.Equal(t, "Ctrl+N leads to Send", b.window.at, showCompose)
	b.press(fyne.KeyF)
	if b.window.at != showPackages || b.window.window.Canvas().Focused() == nil {
		t.Error("Ctrl+F puts the cursor into the search")
	}
	b.press(fyne.KeyComma)
	screentest.Equal(t, "Ctrl+comma leads to the settings", b.window.at, showSettings)
	b.window.onKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	screentest.Equal(t, "Escape leads back", b.window.at, showPackages)
	b.press(fyne.KeyQ)
	screentest.Equal(t, "Ctrl+Q quits", b.quits, 1)
}

func TestUnsavedSettingsAreMarkedWhereverThePersonIs(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.window.ShowSettings()
	b.Settle()
	marked := func() bool { return strings.Contains(b.window.nav[showSettings].AccessibilityLabel(), "Unsaved") }
	typed := screentest.All[*widgets.Entry](b.window.settings.get().Content())[0] // the folder
	kept := typed.Text
	typed.SetText("")
	b.window.Go(showPackages)
	b.Settle()
	if !marked() || typed.Text != "" {
		t.Errorf("a folder that cannot be kept is marked: %v, and stands there as %q", marked(), typed.Text)
	}
	typed.SetText(kept)
	if marked() {
		t.Error("it is still marked once it is as it was")
	}
}

// asks is the text of the question that lies over the window, empty for none.
func (b *bench) asks() (text string) {
	if b.isOpen() {
		for _, p := range screentest.All[*widgets.Prose](b.top()) {
			text = p.Text
		}
	}
	return text
}

func TestTheFirstCloseSaysOnceWhereTheWindowIsFoundAgain(t *testing.T) {
	b := newBench(t, officetest.Busy())
	shut := func() string {
		b.window.Show()
		b.window.Hide()
		b.window.Hide() // who presses twice is asked once
		b.Settle()
		return b.asks()
	}
	inTray := shut()
	for _, answer := range screentest.All[*widgets.Button](b.top()) {
		screentest.Equal(t, answer.Text+" is filled", answer.Importance == widget.HighImportance, answer.Text == "Keep running")
	}
	b.key(fyne.KeyEscape)
	if again := shut(); inTray == "" || again != inTray {
		t.Errorf("before the first close it says %q, and after one that was not meant %q", inTray, again)
	}
	b.key(fyne.KeyReturn) // keep running
	screentest.Equal(t, "it says again", shut(), "")
	b.tray = false
	if nowhere := shut(); nowhere == "" || nowhere == inTray {
		t.Errorf("without a tray it says %q", nowhere)
	}
	b.window.Hide() // closing it once more is an answer, too
	if b.isOpen() || shut() != "" {
		t.Error("it says again where the window is")
	}
}

func (t BareTray) labels() (list []string) {
	for _, e := range t.Items {
		list = append(list, e.Label)
	}
	return list
}

// press does what the line of that label does.
func (t BareTray) press(label string) bool {
	at := slices.IndexFunc(t.Items, func(e *fyne.MenuItem) bool { return e.Label == label && e.Action != nil })
	if at >= 0 {
		t.Items[at].Action()
	}
	return at >= 0
}

func TestTheTrayWithoutAWindowTellsTheStateAndDoesWhatNeedsNone(t *testing.T) {
	t.Cleanup(func() { i18n.Use("") })
	o := officetest.Busy()
	now := time.Now()
	asked, quit := 0, 0
	b := Bare{Office: o, System: &screentest.System{}, Now: func() time.Time { return now },
		Why: func() { asked++ }, Quit: func() { quit++ }, Report: func(err error) {
			if err != nil {
				t.Error(err)
			}
		}}
	i18n.Use("de")
	if german := b.Tray().labels(); !slices.Contains(german, "Warum kein Fenster da ist") {
		t.Errorf("the menu is %q", german)
	}
	i18n.Use("en")
	tray := b.Tray()
	for _, label := range []string{"Why there is no window", "Quit", "Open folder", "Pause notifications for an hour"} {
		if !tray.press(label) {
			t.Errorf("the menu is %q, and %q does nothing", tray.labels(), label)
		}
	}
	if asked != 1 || quit != 1 || !o.Snoozed().Equal(now.Add(time.Hour)) {
		t.Errorf("asked %d times, quit %d times, paused until %v", asked, quit, o.Snoozed())
	}
	paused := b.Tray()
	if paused.Says == tray.Says || paused.Until(now) == nil || tray.Until(now) != nil {
		t.Errorf("a pause changes nothing: %q", paused.labels())
	}
	if again := b.Tray(); again.Says != paused.Says {
		t.Errorf("twice the same is two menus: %q and %q", paused.labels(), again.labels())
	}
	now = now.Add(2 * time.Hour)
	if over := b.Tray(); over.Says != tray.Says {
		t.Errorf("after the pause the menu is %q", over.labels())
	}
}

func TestQuittingAsksWhileAListIsSent(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.Office.Change(office.OutboxChanged, func(o *officetest.Office) {
		o.Waiting = []office.Draft{{ID: "d", Name: "Letter 4", State: office.DraftQueued}}
		o.Bulk = []office.BulkProgress{{Bulk: office.Bulk{ID: "l", File: "people.csv", State: office.BulkRunning, Lines: 3000, Next: 4}},
			{Bulk: office.Bulk{ID: "m", File: "paused.csv", State: office.BulkPaused, Lines: 9}}}
	})
	b.window.askToQuit()
	b.Settle()
	if want := "Letter 4 and people.csv\n2,997 packages have not been sent yet."; !strings.Contains(b.asks(), want) {
		t.Errorf("asked %q", b.asks())
	}
}

func TestTheLanguageWaitsForASignIn(t *testing.T) {
	b := newBench(t, officetest.Empty())
	t.Cleanup(func() { i18n.Use("en") })
	signingIn(b)
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) { o.Kept.Language = "de" })
	b.Run()
	b.window.readSettings()
	b.paste()
	b.Until(func() bool { return b.window.account.signedIn && b.window.language == "de" })
}

func TestQuittingAsksWhereNobodyKnowsWhatIsUnfinished(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.Office.Change(office.OutboxChanged, func(o *officetest.Office) { o.Unread = message.Error(message.OwnDiskFull(), nil) })
	b.window.askToQuit()
	b.Settle()
	if b.quits > 0 || !strings.Contains(b.asks(), i18n.Message(message.OwnDiskFull())) {
		t.Errorf("quit %d times, asked %q", b.quits, b.asks())
	}
}

func TestQuittingAsksWhereSomethingWouldBeLeftUndone(t *testing.T) {
	for name, c := range map[string]struct {
		begin func(*bench)
		asks  string // empty where it quits at once
	}{
		"nothing waits": {func(*bench) {}, ""},
		"a package is not sent yet": {func(b *bench) {
			b.Office.Change(office.OutboxChanged, func(o *officetest.Office) { o.Waiting = []office.Draft{{ID: "d", State: office.DraftQueued}} })
		}, "1 package has not been sent yet."},
		"nobody knows whether a package was sent": {func(b *bench) {
			b.Office.Change(office.OutboxChanged, func(o *officetest.Office) { o.Waiting = []office.Draft{{ID: "d", State: office.DraftUnknown}} })
		}, "Countersign is checking whether it was sent."},
		"a package waits for a person": {func(b *bench) {
			b.Office.Change(office.OutboxChanged, func(o *officetest.Office) {
				o.Waiting = []office.Draft{{ID: "d", State: office.DraftFailed}, {ID: "e", State: office.DraftHeld},
					{ID: "f", State: office.DraftUnknown, Delivery: office.Delivery{Problem: message.DraftOfBefore()}}}
			})
		}, ""},
		"what was asked for can be undone": {func(b *bench) {
			b.window.soon(env.Undoable{Says: "Sending", Undone: func() {}})
		}, "will be done when you start Countersign again."},
	} {
		b := newBench(t, officetest.Busy())
		b.Office.Change(office.OutboxChanged, func(o *officetest.Office) { o.Waiting = nil })
		c.begin(b)
		b.Settle()
		b.window.askToQuit()
		b.Settle()
		if c.asks == "" {
			if b.quits != 1 || b.asks() != "" {
				t.Errorf("%s: quit %d times, asked %q", name, b.quits, b.asks())
			}
			continue
		}
		if b.quits != 0 || !strings.Contains(b.asks(), c.asks) {
			t.Fatalf("%s: quit %d times, asked %q", name, b.quits, b.asks())
		}
		b.press(fyne.KeyQ)
		b.press(fyne.KeyComma)
		if b.quits != 0 || b.window.at != showPackages {
			t.Errorf("%s: under the question the shortcuts go on: it quit %d times, and the window shows %d", name, b.quits, b.window.at)
		}
		b.Office.Change(office.OutboxChanged, func(o *officetest.Office) {
			o.Waiting = append(o.Waiting, office.Draft{ID: "x", State: office.DraftQueued})
		})
		b.Until(func() bool { return b.window.grace.Busy() || strings.Contains(b.asks(), "not been sent yet") })
		b.Office.Change(office.OutboxChanged, func(o *officetest.Office) { o.Waiting = nil })
		b.window.grace.Undo()
		b.Until(func() bool { return strings.Contains(b.asks(), "Nothing is left to finish.") }) // a press on its way hits nothing else
		b.key(fyne.KeyEscape)
		if b.quits != 0 || b.isOpen() {
			t.Errorf("%s: it quit %d times, and asks %q", name, b.quits, b.asks())
		}
		c.begin(b)
		b.Settle()
		b.window.askToQuit()
		b.Settle()
		b.window.askToQuit() // who asks once more means it
		b.Settle()
		if b.quits != 1 { // and not when there was no reason to ask any more
			t.Errorf("%s: asked twice, it quit %d times", name, b.quits)
		}
		b.window.grace.Undo()
	}
}

func TestTheMainComputerIsNotLeftWithoutAQuestion(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) {
		o.Waiting, o.Kept.OfficeListen, o.DeskRows = nil, ":4443", []office.DeskRow{{}}
	})
	b.Settle()
	b.window.askToQuit()
	b.Until(func() bool { return strings.Contains(b.asks(), "This is the main computer.") })
	screentest.Equal(t, "quit", b.quits, 0)
	b.key(fyne.KeyEscape)
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) { o.DeskRows = nil })
	b.Settle()
	b.window.askToQuit()
	b.Settle()
	screentest.Equal(t, "quit where there is no other", b.quits, 1)
}

func TestAPressOnANotificationShowsWhatItIsAbout(t *testing.T) {
	b := newBench(t, officetest.Busy())
	last := b.Office.Rows[len(b.Office.Rows)-1]
	b.window.Go(showSettings)
	b.window.show("")
	screentest.Equal(t, "a press on what is about several packages leads to", b.window.at, showSettings)
	b.Office.Change(office.ShowSubject(office.PackageSubject(last.ID)), func(*officetest.Office) {})
	b.Until(func() bool { return b.window.at == showPackages })
	b.Settle()
	shown := screentest.Text(b.window.packages.Content())
	if b.window.at != showPackages || strings.Count(shown, i18n.Title(last.Name)) < 2 { // in the list, and as the heading
		t.Errorf("at %d, %q is not shown:\n%s", b.window.at, last.Name, shown)
	}
	b.window.Go(showSettings)
	b.window.show(office.PackagesSubject([]string{last.ID, b.Office.Rows[0].ID}))
	b.Settle()
	if b.window.at != showPackages || !strings.Contains(screentest.Text(b.window.packages.Content()), "2 packages selected") {
		t.Errorf("a press on a summary does not show its packages:\n%s", screentest.Text(b.window.packages.Content()))
	}
	for subject, at := range map[office.Subject]int{office.ProblemSubject("folder"): showStatus, office.DraftSubject("d"): showPackages, office.HotFolderSubject("scans"): showActivity, office.ActivitySubject: showActivity} {
		if b.window.show(subject); b.window.at != at {
			t.Errorf("a press on %s leads to %d", subject, b.window.at)
		}
	}
	first := newBench(t, unset())
	first.window.Go(showSettings)
	first.window.show(office.PackageSubject(last.ID))
	if first.window.setup == nil || first.window.at != showSettings {
		t.Error("the first run is interrupted")
	}
}

// TestAnotherLanguageKeepsThePlace changes the language in the settings: whatever was shown is shown on, at once, and
// before anything is known nothing is said.
func TestAnotherLanguageKeepsThePlace(t *testing.T) {
	t.Cleanup(func() { i18n.Use("en") })
	office := officetest.Busy()
	b := newBench(t, office)
	w := b.window
	w.ShowPackage("p3")
	w.Go(showActivity)
	w.activity.ShowEvents()
	w.Go(showSettings)
	w.settings.get().ShowProgram()
	b.Settle()
	german := office.Settings()
	german.Language = "de"
	w.follows(german) // nothing is read yet: no queue ran
	if w.at != showSettings || !strings.Contains(screentest.Text(w.settings.get().Content()), lang.L("Look and language")) {
		t.Error("the settings are not where they were")
	}
	if !w.account.known || !w.account.signedIn || w.packages.Chosen() != "p3" {
		t.Errorf("known %v, package %q", w.account.known, w.packages.Chosen())
	}
	w.Go(showPackages)
	if shown := screentest.Text(w.packages.Content()); !strings.Contains(shown, "Mandate Keller") {
		t.Errorf("the list shows %q", shown)
	}
	w.Go(showSettings)
	b.Settle()
	if w.packages.Chosen() != "p3" || w.at != showSettings {
		t.Error("afterwards it is elsewhere")
	}
}

// TestAnotherLanguageKeepsTheFocus chooses it by keys: the next key goes to the same input.
func TestAnotherLanguageKeepsTheFocus(t *testing.T) {
	t.Cleanup(func() { i18n.Use("en") })
	office := officetest.Busy()
	office.Kept.Language = "en"
	b := newBench(t, office)
	w := b.window
	w.Go(showSettings)
	w.settings.get().ShowProgram()
	b.Settle()
	canvas := w.window.Canvas()
	selected := func() string {
		if s, is := canvas.Focused().(*widgets.Select); is {
			return s.Selected
		}
		return ""
	}
	for i := 0; selected() != "English"; i++ {
		if canvas.FocusNext(); i > 50 {
			t.Fatal("Tab does not lead to the language")
		}
	}
	office.Kept.Language = "de"
	w.follows(office.Settings())
	b.Settle()
	if got := selected(); got != "Deutsch" {
		t.Errorf("the focus is on %T with %q", canvas.Focused(), got)
	}
}

func TestNothingIsSaidBeforeItIsKnown(t *testing.T) {
	b := unread(t, officetest.Busy())
	for at := range b.window.screens {
		b.window.Go(at)
		for _, text := range screentest.All[*canvas.Text](b.window.main) {
			if text.Text == "Not signed in" || strings.HasSuffix(text.Text, "yet.") {
				t.Errorf("screen %d says %q before anything is known", at, text.Text)
			}
		}
	}
	b.Settle()
}

func TestEscapeLeadsBackToTheListFromEverywhere(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.window.packages.Show("p1")
	b.Settle()
	for _, from := range []int{showCompose, showActivity, showStatus, showSettings, showAbout, showPackages} {
		b.window.Go(from)
		if from == showPackages {
			b.window.window.Canvas().Focus(nil)
		}
		b.key(fyne.KeyEscape)
		if _, list := b.window.window.Canvas().Focused().(*widgets.List); !list || b.window.at != showPackages || b.window.packages.Chosen() != "p1" {
			t.Errorf("from screen %d: the focus is on %T, shown is %s", from, b.window.window.Canvas().Focused(), b.window.packages.Chosen())
		}
	}
}

// TestTheWindowComesBeforeWhatNobodySeesYet starts with the packages: the window does not wait for the other large screens,
// and each of them is there, filled in, once somebody goes to it.
func TestTheWindowComesBeforeWhatNobodySeesYet(t *testing.T) {
	world := officetest.Busy()
	world.Typed = office.Form{Message: "half written"}
	b := unread(t, world)
	w := b.window
	if w.compose.made || w.settings.made || w.about.made {
		t.Errorf("the window waited for Send: %v, Settings: %v, Help: %v", w.compose.made, w.settings.made, w.about.made)
	}
	b.Settle()
	if !strings.Contains(w.nav[showCompose].AccessibilityLabel(), "Draft") {
		t.Error("the entry of Send does not say that something waits there")
	}
	if w.settings.made || w.about.made {
		t.Error("a screen is made that nobody went to")
	}
	for at, says := range map[int]string{showCompose: "half written", showSettings: "Signed documents", showAbout: "1.0"} {
		w.Go(at)
		b.Settle()
		if got := screentest.Text(w.screens[at].Content()); !strings.Contains(got, says) {
			t.Errorf("screen %d lacks %q:\n%s", at, says, got)
		}
	}
}

// unset is an office that nobody has set up.
func unset() *officetest.Office {
	o := officetest.Empty()
	o.Kept = office.DefaultSettings()
	return o
}

// playing makes the demo of a bench start as told, and counts how often it was ended.
func (b *bench) playing(o Office, err error) (ended *int) {
	ended = new(int)
	b.window.options.StartDemo = func(context.Context) (Office, func(), error) {
		if err != nil {
			return nil, nil, err
		}
		return o, func() { *ended++ }, nil
	}
	b.window.openSetup() // anew, now that there is a demo
	return ended
}

func TestTheQuestionWhetherToSignOutSaysWhatIsNotSentYet(t *testing.T) {
	o := officetest.Busy()
	o.Waiting = []office.Draft{{ID: "a", State: office.DraftQueued}, {ID: "b", State: office.DraftHeld}, {ID: "c", State: office.DraftQueued, Home: office.Home{Away: true}},
		{ID: "d", State: office.DraftHeld, Delivery: office.Delivery{Decision: office.Decision{Send: true, At: officetest.Now}}}}
	b := newBench(t, o)
	b.Settle()
	asked := func() string {
		b.window.SignOut()
		b.window.SignOut() // a double press
		b.Settle()
		defer b.window.leave()
		return screentest.Text(screentest.Top(b.window.window))
	}
	if said := asked(); !strings.Contains(said, "2 packages have not been sent yet. Until you sign in again, nothing is sent") {
		t.Errorf("it says %q", said)
	}
	screentest.Equal(t, "something else covers the window", b.window.covered(), false)
	o.Bulk = []office.BulkProgress{{Bulk: office.Bulk{State: office.BulkRunning, Lines: 300, Next: 8}}, {Bulk: office.Bulk{State: office.BulkPaused, Lines: 9}}}
	if said := asked(); !strings.Contains(said, "294 packages") {
		t.Errorf("of a list, it says %q", said)
	}
	o.Waiting, o.Bulk = nil, nil
	if said := asked(); strings.Contains(said, "sent yet") {
		t.Errorf("where everything was sent, it says %q", said)
	}
}

func TestFilesHandedOverDoNotTurnThePageBehindADialog(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.Settle()
	b.window.SignOut()
	b.Settle()
	b.window.Add([]string{b.file("a.pdf", 10)})
	b.Settle()
	if b.window.at != showPackages || !b.window.compose.get().Waiting() {
		t.Errorf("the page is %d, the file waits: %v", b.window.at, b.window.compose.get().Waiting())
	}
	if said := b.window.notice.AccessibilityLabel(); !strings.Contains(said, "Added to Send: 1 document") {
		t.Errorf("it says %q", said)
	}
}

func TestANotificationWaitsForADialogAndClosesAMenu(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.Settle()
	b.window.Go(showSettings)
	b.window.SignOut()
	b.Settle()
	b.window.show(office.PackageSubject(b.Office.Rows[0].ID))
	screentest.Equal(t, "behind a dialog it shows", b.window.at, showSettings)
	b.window.leave()
	screentest.Equal(t, "after the dialog it shows", b.window.at, showPackages)
	widgets.OpenMenuAt(b.window.window.Canvas(), fyne.NewMenu("", fyne.NewMenuItem("Do", func() {})), fyne.Position{})
	if b.window.show(office.ActivitySubject); b.window.at != showActivity || b.window.covered() {
		t.Errorf("with a menu open it shows %d", b.window.at)
	}
}

func TestAMessageMovesNothingInANarrowWindow(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.window.window.Resize(fyne.NewSize(700, 560))
	b.Settle()
	page := b.window.main.Objects[1]
	before := page.Size()
	b.window.notice.Say("Settings saved.")
	b.window.grace.Begin("Sending: Lease", 0, "Undo", func() {})
	b.window.health.Say("The tunnel is down.", "since 14:02", "Retry", func() {})
	b.Settle()
	if page.Size() != before {
		t.Errorf("the page has %v, had %v", page.Size(), before)
	}
}

func TestTheWizardComesFirstAndGivesWayWhenAllIsSetUp(t *testing.T) {
	b := newBench(t, unset())
	if b.window.setup == nil {
		t.Fatal("an office that is not set up begins with the wizard")
	}
	b.window.Add([]string{b.file("a.pdf", 10)})
	b.Settle()
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) { o.Kept = officetest.Settings() }) // by the command
	b.Until(func() bool { return b.window.setup == nil })
	screentest.Equal(t, "files that were handed over meanwhile wait in Send", b.window.at, showCompose)
	if set := newBench(t, officetest.Busy()); set.window.setup != nil {
		t.Error("an office that is set up needs no wizard")
	}
}

func TestTheDemoTakesTheWindowAndGivesItBack(t *testing.T) {
	b := newBench(t, unset())
	ended := b.playing(officetest.Busy(), nil)
	b.window.setup.Demo()
	b.Until(func() bool { return b.window.demo })
	b.Settle()
	if b.window.setup != nil || b.window.office == Office(b.Office) || b.window.account.who == "" {
		t.Error("the demo's o is shown, signed in")
	}
	b.Office.Change(office.ShowRequested, func(*officetest.Office) {}) // of a second start: still heard
	b.window.LeaveDemo()
	b.Settle()
	b.window.own.Close()
	if b.window.demo || b.window.setup == nil || *ended != 1 {
		t.Errorf("the wizard is back and the demo ended %d times", *ended)
	}
}

// A dialog of the screens before would choose for them.
func TestAFileDialogGoesWithItsScreens(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"another office": func(b *bench) { b.window.LeaveDemo() },
		"another language": func(b *bench) {
			t.Cleanup(func() { i18n.Use("") })
			b.window.office.(*officetest.Office).Change(office.SettingsChanged, func(o *officetest.Office) { o.Kept.Language = "en" })
			b.Until(func() bool { return b.window.language == "en" })
		},
	} {
		b := newBench(t, unset())
		b.playing(officetest.Busy(), nil)
		b.window.setup.Demo()
		b.Until(func() bool { return b.window.demo })
		b.Settle()
		left := make(chan struct{})
		b.System.OnChoose = func(ctx context.Context, _ system.FileDialog) ([]string, error) {
			<-ctx.Done()
			close(left)
			return nil, ctx.Err()
		}
		b.window.settings.get().PickFolder()
		b.Run()
		if !b.isOpen() {
			t.Fatalf("%s: nothing says that a folder is asked for", name)
		}
		change(b)
		<-left
		b.Settle()
		if b.isOpen() {
			t.Errorf("%s: what was asked for the screens before covers those of now", name)
		}
	}
}

func TestADemoThatDoesNotStartIsToldInTheWizard(t *testing.T) {
	b := newBench(t, unset())
	b.playing(nil, message.Error(message.OwnDiskFull(), nil))
	b.window.setup.Demo()
	b.Until(func() bool { return b.window.setup.Said() != "" && b.window.setup.Said() != "Starting the demo…" })
	if b.window.setup.Said() != message.OwnDiskFull().String() || b.window.demo {
		t.Errorf("said %q", b.window.setup.Said())
	}
}

func TestADemoEndsWithTheWindow(t *testing.T) {
	b := newBench(t, unset())
	ended := b.playing(officetest.Busy(), nil)
	b.window.setup.Demo()
	b.Until(func() bool { return b.window.demo })
	b.window.Close()
	if *ended != 1 {
		t.Errorf("ended %d times", *ended)
	}
}

func TestThemeAndLanguageChangeLive(t *testing.T) {
	b := newBench(t, officetest.Busy())
	t.Cleanup(func() { i18n.Use("") })
	b.window.Go(showSettings)
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) { o.Kept.Theme = "dark" })
	b.Until(func() bool { return b.window.painted.Variant == "dark" })
	view := b.window.pool
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) { o.Kept.Language = "en" })
	b.Until(func() bool { return b.window.language == "en" })
	b.Settle()
	if b.window.pool == view || b.window.at != showSettings {
		t.Error("another language makes all texts anew, on the same screen")
	}
}

func TestTheWizardKnowsItsKeys(t *testing.T) {
	b := newBench(t, unset())
	b.window.onKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	if b.window.setup.Said() == "" {
		t.Error("Enter goes on, and says what is missing")
	}
	b.window.onKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	if b.window.setup == nil {
		t.Error("Escape does not leave the wizard")
	}
}

func TestTheAccountIsShownWhole(t *testing.T) {
	b := newBench(t, officetest.Busy())
	const who = "olivia.office@notariat-keller-und-partner.example.com"
	b.window.account.show(agent.Status{SignedIn: true, Account: agent.Account{Email: who}})
	said := ""
	for _, text := range screentest.All[*canvas.Text](b.window.account.content) {
		said += text.Text
	}
	if !strings.HasSuffix(said, who) { // after the initials
		t.Errorf("it shows %q", said)
	}
}

// Every change in the office brings a status.
func TestTheAccountKeepsTheFocusWhileNothingIsNewOfIt(t *testing.T) {
	b := newBench(t, officetest.Busy())
	more := screentest.All[*widgets.Tappable](b.window.account.content)[0]
	b.window.window.Canvas().Focus(more)
	b.window.status.Ask()
	b.Settle()
	if at := screentest.All[*widgets.Tappable](b.window.account.content)[0]; at != more || b.window.window.Canvas().Focused() != fyne.Focusable(more) {
		t.Errorf("%T has the focus", b.window.window.Canvas().Focused())
	}
}

func TestAnotherLanguageComesAfterASignInThatFailed(t *testing.T) {
	t.Cleanup(func() { i18n.Use("en") })
	b := newBench(t, officetest.Empty())
	gate := make(chan struct{})
	b.Office.Do("SignIn", func() error { <-gate; return message.Error(message.NoConnection(), nil) })
	b.window.account.signIn("")
	b.Office.Change(office.SettingsChanged, func(o *officetest.Office) { o.Kept.Language = "de" })
	b.Until(func() bool { return b.window.grace.Empty != nil })
	close(gate)
	b.Settle()
	if b.window.language != "de" || !strings.Contains(b.asks(), i18n.Message(message.NoConnection())) {
		t.Errorf("the language is %q; it says %q", b.window.language, b.asks())
	}
}
