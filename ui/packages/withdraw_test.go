package packages

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/widgets"
)

// buttons are those of the chosen package, by their text.
func (b *bench) buttons() map[string]*widgets.Button {
	all := map[string]*widgets.Button{}
	for _, o := range b.screen.actionsOf(b.screen.record) {
		button := o.(*widgets.Button)
		all[button.Text] = button
	}
	return all
}

// asked is the dialog's field for words, in which the cursor stands.
func (b *bench) asked(t *testing.T) *widgets.Entry {
	t.Helper()
	words, ok := b.Window.Canvas().Focused().(*widgets.Entry)
	if !ok {
		t.Fatalf("the cursor is in %T", b.Window.Canvas().Focused())
	}
	return words
}

func enter(words *widgets.Entry) {
	words.TypedShortcut(&desktop.CustomShortcut{KeyName: fyne.KeyReturn, Modifier: fyne.KeyModifierShortcutDefault})
}

func TestAWithdrawalThatNobodyConfirmsIsLetGo(t *testing.T) {
	o := officetest.Busy()
	i := slices.IndexFunc(o.Rows, func(r office.PackageRow) bool { return r.ID == "p1" })
	o.Rows[i].Withdrawal = &office.Withdrawal{State: office.WithdrawAsked, Asked: officetest.Now.Add(-2 * time.Hour), Tries: 9, Problem: message.ServiceSilent()}
	b := newBench(t, o)
	b.screen.Show("p1")
	b.Settle()
	leave := b.button("Stop waiting")
	if leave == nil {
		t.Fatal("nobody can stop waiting")
	}
	leave.OnTapped()
	b.Settle()
	if w := b.Office.Rows[i].Withdrawal; w.State != office.WithdrawUnknown {
		t.Errorf("%+v", w)
	}
	if b.button("Stop waiting") != nil || b.buttons()["Withdraw…"] == nil {
		t.Error("it cannot be withdrawn again")
	}
}

// button is a button that is shown anywhere on the screen, nil for none.
func (b *bench) button(text string) (found *widgets.Button) {
	for _, o := range test.LaidOutObjects(b.screen.Content()) {
		if button, is := o.(*widgets.Button); is && button.Text == text && button.Visible() {
			found = button
		}
	}
	return found
}

func TestAPackageIsWithdrawnWithWordsAfterSomeSecondsToUndo(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.Office.Patient = true
	b.screen.Show("p1")
	b.Settle()
	press := func() {
		deeds := len(b.Deeds)
		b.buttons()["Withdraw…"].OnTapped()
		words := b.asked(t)
		words.SetText("The rent was wrong.")
		enter(words)
		b.Until(func() bool {
			return len(b.Deeds) > deeds && officetest.Must2(b.Office.Package("p1")).Withdrawal.Pending()
		})
		if b.Window.Canvas().Overlays().Top() != nil || len(b.Office.Withdrawn) != 0 {
			t.Fatalf("withdrawn at once: %+v", b.Office.Withdrawn)
		}
	}
	press()
	b.Deeds[0].Undone()
	b.Until(func() bool { return officetest.Must2(b.Office.Package("p1")).Withdrawal == nil })
	b.Office.Pass()
	b.Settle()
	if p := officetest.Must2(b.Office.Package("p1")); p.State == office.PackageRescinded || len(b.Notices) != 0 {
		t.Fatalf("what was undone is %s, said %q", p.State, b.Notices)
	}
	b.Office.Withdrawn = nil
	b.Reload()
	press()
	b.Office.Pass()
	b.Settle()
	want := office.NewWithdrawal{Packages: []string{"p1"}, Message: "The rent was wrong.", Patience: withdrawPatience + widgets.UndoTime}
	if len(b.Office.Withdrawn) != 1 || !equalWithdrawals(b.Office.Withdrawn[0], want) || b.Office.Withdrawn[0].Undo != widgets.UndoTime {
		t.Errorf("withdrawn: %+v", b.Office.Withdrawn)
	}
	if !slices.Contains(b.Notices, "“Lease Sonnenweg 4” is withdrawn.") {
		t.Errorf("said: %q", b.Notices)
	}
	b.screen.tabs.Choose(tabWithdrawn)
	b.Settle()
	if ids := b.screen.Listed(); !slices.Contains(ids, "p1") || b.buttons()["Withdraw…"] != nil {
		t.Errorf("listed as withdrawn: %q", ids)
	}
}

func equalWithdrawals(a, b office.NewWithdrawal) bool {
	return slices.Equal(a.Packages, b.Packages) && a.Message == b.Message && a.Quiet == b.Quiet && a.Patience == b.Patience
}

func TestCorrectingWithdrawsAndOpensSendFilledIn(t *testing.T) {
	o := officetest.Busy()
	due := officetest.Now.Add(9 * 24 * time.Hour)
	lease := o.Origins["p1"]
	lease.Due = due
	o.Origins["p1"] = lease
	b := newBench(t, o)
	b.screen.Show("p1")
	b.Settle()
	b.buttons()["Correct and send again…"].OnTapped()
	enter(b.asked(t))
	b.Settle()
	if len(b.Like) != 1 || len(b.Office.Withdrawn) != 1 {
		t.Fatalf("sent like %+v, withdrawn %+v", b.Like, b.Office.Withdrawn)
	}
	like := b.Like[0]
	if like.Corrects != "p1" || !like.Due.Equal(due) || len(like.Files) != 1 || len(like.Signers) != 3 || !like.Sequential || like.Message != "As discussed." {
		t.Errorf("sent like %+v", like)
	}
}

func TestEscapeLeavesThePackageAsItIs(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.screen.Show("p1")
	b.Settle()
	b.buttons()["Withdraw…"].OnTapped()
	widgets.CloseTop(b.Window.Canvas())
	if len(b.Office.Withdrawn)+len(b.Deeds) != 0 || b.Window.Canvas().Overlays().Top() != nil {
		t.Errorf("withdrawn: %+v", b.Office.Withdrawn)
	}
}

func TestWhatKeptAPackageFromBeingWithdrawnIsSaid(t *testing.T) {
	o := officetest.Busy()
	o.OnWithdraw = func(string) (office.WithdrawalState, message.Message) {
		return office.WithdrawLate, message.SignedBeforeWithdrawn()
	}
	b := newBench(t, o)
	b.screen.withdraw(office.NewWithdrawal{Packages: []string{"p1"}}, "Lease Sonnenweg 4")
	b.Settle()
	if said := strings.Join(b.Notices, "\n"); !strings.Contains(said, "“Lease Sonnenweg 4” was not withdrawn.") || !strings.Contains(said, "Everybody had signed before it could be withdrawn.") {
		t.Errorf("said: %q", said)
	}
}

func TestOnlyWhatWaitsIsOfferedToBeWithdrawn(t *testing.T) {
	b := newBench(t, officetest.Busy())
	for id, offered := range map[string]bool{"p1": true, "p2": true, "p3": false, "p4": false, "p5": false} {
		b.screen.Show(id)
		b.Settle()
		if got := b.buttons()["Withdraw…"] != nil; got != offered {
			t.Errorf("%s: offered %v", id, got)
		}
		inMenu := slices.ContainsFunc(b.screen.menuOf(b.screen.at(b.screen.rowOf(id))).Items, func(i *fyne.MenuItem) bool { return i.Label == "Withdraw…" })
		if inMenu != offered {
			t.Errorf("%s: in the menu %v", id, inMenu)
		}
	}
	b.Office.Change(office.StatusChanged, func(o *officetest.Office) { o.NoWithdrawing = true })
	b.screen.Show("p1")
	b.Reload()
	if b.buttons()["Withdraw…"] != nil || b.screen.withdrawalOf(b.screen.record) == nil {
		t.Error("a service that cannot is asked to, or nobody says that it cannot")
	}
}

func TestAWishCanBeTakenBackInThePackage(t *testing.T) {
	b := newBench(t, withdrawn(office.Withdrawal{State: office.WithdrawWanted}))
	b.screen.keepPackage("p1")
	b.Settle()
	if b.Office.Rows[2].Withdrawal != nil || len(b.Notices) != 0 {
		t.Errorf("the wish: %+v, said %q", b.Office.Rows[2].Withdrawal, b.Notices)
	}
	b.screen.keepPackage("p1")
	b.Settle()
	if len(b.Notices) != 1 {
		t.Errorf("said: %q", b.Notices)
	}
}
