package window

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fyne.io/fyne/v2"

	"countersign/assets"
	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
)

func TestTheTrayTellsTheState(t *testing.T) {
	busy, wrong, empty := officetest.Busy().State, officetest.Wrong().State, officetest.Empty().State
	declined, all := empty, empty
	declined.Packages = agent.PackageCounts{Total: 3, Open: 2, Declined: 1}
	all.Packages = agent.PackageCounts{Total: 2, Declined: 1, Executed: 1, Saved: 1}
	for _, c := range []struct {
		name, line, account string
		status              agent.Status
		icon                assets.Tray
	}{
		{"first day", "Nothing is waiting for a signature", "Not signed in", empty, assets.TrayFine},
		{"saving", "Saving 1 file", "office@weber-partner.example", busy, assets.TrayWorking},
		{"declined by somebody", "2 packages waiting for signatures, 1 declined", "Not signed in", declined, assets.TrayFine},
		{"nothing but declined", "1 package declined", "Not signed in", all, assets.TrayFine},
		{"wrong", "Your sign-in has expired. Sign in again to keep saving documents.", "Not signed in", wrong, assets.TrayAttention},
	} {
		screentest.Equal(t, c.name, stateLine(c.status), c.line)
		screentest.Equal(t, c.name, accountLine(c.status), c.account)
		screentest.Equal(t, c.name, trayState(c.status), c.icon)
	}
}

// panel is an app with a tray that remembers what it was told.
type panel struct {
	fyne.App
	menu  *fyne.Menu
	icons []string
}

func (p *panel) SetSystemTrayMenu(m *fyne.Menu)       { p.menu = m }
func (p *panel) SetSystemTrayIcon(icon fyne.Resource) { p.icons = append(p.icons, icon.Name()) }
func (p *panel) SetSystemTrayWindow(fyne.Window)      {}

func TestTheTrayNamesTheProgramAndItsStateOverTheIcon(t *testing.T) {
	b := newBench(t, officetest.Busy())
	var tips []string
	b.window.options.Tooltip = func(text string) { tips = append(tips, text) }
	tray := newTray(&panel{App: b.App}, b.window)
	for range 3 {
		tray.show(officetest.Must(overviewOf(b.Office)))
	}
	tray.show(overview{status: officetest.Wrong().State})
	want := []string{"Countersign\nSaving 1 file", "Countersign\nYour sign-in has expired. Sign in again to keep saving documents."}
	screentest.Equal(t, "said", tips, want)
}

func TestAPanelThatIsGoneEndsNothing(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.window.options.Tooltip = func(string) { panic("dbus: connection closed by user") }
	tray := newTray(&panel{App: b.App}, b.window)
	tray.show(officetest.Must(overviewOf(b.Office)))
	if len(tray.menu.Items) == 0 {
		t.Error("the menu is not made either")
	}
}

func TestThePanelHearsOnlyOfChanges(t *testing.T) {
	b := newBench(t, officetest.Busy())
	p := &panel{App: b.App}
	tray := newTray(p, b.window)
	tray.attach(b.window)
	for range 5 {
		tray.show(officetest.Must(overviewOf(b.Office)))
	}
	items := tray.menu.Items
	tray.show(officetest.Must(overviewOf(b.Office)))
	if &items[0] != &tray.menu.Items[0] {
		t.Error("a menu that says the same is not sent again")
	}
	tray.show(overview{status: officetest.Wrong().State})
	screentest.Equal(t, "icons", strings.Join(p.icons, " "), "tray-fine.png tray-working.png tray-attention.png")
}

func (p *panel) labels() (labels []string) {
	for _, item := range p.menu.Items {
		if !item.IsSeparator {
			labels = append(labels, item.Label)
		}
	}
	return labels
}

// press does what an entry of the tray's menu does.
func (p *panel) press(t *testing.T, label string) {
	t.Helper()
	for _, item := range p.menu.Items {
		if item.Label == label {
			item.Action()
			return
		}
	}
	t.Fatalf("the menu has no %q: %q", label, p.labels())
}

// Each package that has a folder of its own has a master file of the same name.
func TestSavedFilesOfOneNameAreToldApart(t *testing.T) {
	saved := []office.Job{{Folder: "/home/office/Signed", Target: "Lease/master file.pdf"}, {Folder: "/home/office/Signed", Target: "Lease/Lease.pdf"},
		{Folder: "/home/office/Signed", Target: "Offer/master file.pdf"}, {Folder: "/home/office/Mandates", Target: "master file.pdf"}}
	want := "master file.pdf (Lease), Lease.pdf, master file.pdf (Offer), master file.pdf (Mandates)"
	if got := strings.Join(savedNames(saved), ", "); got != want {
		t.Errorf("got %s", got)
	}
	long := strings.Repeat("Assignment of rights ", 9)
	for _, name := range savedNames([]office.Job{{Folder: "/1", Target: long + "1/" + long}, {Folder: "/1", Target: long + "2/" + long}}) {
		if utf8.RuneCountInString(name) > longest || !strings.HasSuffix(name, ")") {
			t.Errorf("%q", name)
		}
	}
}

func TestTheTrayOffersWhatCameBackLastAndAPause(t *testing.T) {
	b := newBench(t, officetest.Busy())
	p := &panel{App: b.App}
	b.window.tray = newTray(p, b.window)
	b.window.AttachTray()
	b.window.status.Ask()
	b.Settle()
	want := "Saving 1 file, office@weber-partner.example, Recently saved, Mandate Keller - Letter of mandate.pdf, Mandate Keller - certificate.pdf, " +
		"Open folder, New package, New from template…, Pause notifications for an hour, Open Countersign, Settings, Quit"
	screentest.Equal(t, "menu", strings.Join(p.labels(), ", "), want)
	p.press(t, "Mandate Keller - certificate.pdf")
	b.Settle()
	if len(b.System.Opened) != 1 || b.System.Opened[0] != "file "+filepath.FromSlash("/home/office/Documents/Signed/Mandate Keller - certificate.pdf") {
		t.Errorf("opened %v", b.System.Opened)
	}
	p.press(t, "Settings")
	screentest.Equal(t, "Settings leads to the settings", b.window.at, showSettings)
	p.press(t, "Pause notifications for an hour")
	b.Settle()
	if got := b.Office.Snoozed(); !got.Equal(officetest.Now.Add(time.Hour)) {
		t.Errorf("paused until %v", got)
	}
	if !slices.Contains(p.labels(), "Resume notifications, paused until 15:02") {
		t.Errorf("the tray says %q", p.labels())
	}
	b.Press(b.window.settings.get().Content(), "Resume notifications, paused until 15:02") // the window says it, too
	b.Settle()
	if !b.Office.Snoozed().IsZero() {
		t.Error("still paused")
	}
	p.press(t, "Pause notifications for an hour")
	b.Settle()
	b.Office.Quiet = time.Time{} // the agent forgets a pause that is over
	b.pass(time.Hour)
	b.Until(func() bool { return slices.Contains(p.labels(), "Pause notifications for an hour") })
}

func TestTheTrayBeginsAPackageFromATemplate(t *testing.T) {
	o := officetest.Busy()
	o.Library, o.Used = officetest.Templates(), []office.UsedTemplate{{ID: "t-lease", Name: "Lease agreement"}, {ID: "t-old", Name: "Old one"}}
	b := newBench(t, o)
	p := &panel{App: b.App}
	b.window.tray = newTray(p, b.window)
	b.window.AttachTray()
	b.window.status.Ask()
	b.Settle()
	at := slices.IndexFunc(p.menu.Items, func(i *fyne.MenuItem) bool { return i.Label == "New from template" })
	if at < 0 || p.menu.Items[at].ChildMenu == nil {
		t.Fatalf("menu: %q", p.labels())
	}
	below := p.menu.Items[at].ChildMenu.Items
	if len(below) != 4 || below[0].Label != "Lease agreement" || below[3].Label != "All templates…" {
		t.Fatalf("below it: %+v", below)
	}
	below[0].Action()
	b.Settle()
	if f := o.Form(); b.window.at != showCompose || f.Template == nil || f.Template.ID != "t-lease" {
		t.Errorf("typed: %+v", f)
	}
	below[1].Action()
	b.Settle()
	if b.window.window.Canvas().Overlays().Top() == nil {
		t.Error("a template that is gone leads to the others")
	}
	o.Change(office.StatusChanged, func(o *officetest.Office) { o.Lacks = []string{"templates"} })
	b.window.status.Ask()
	b.Settle()
	if slices.ContainsFunc(p.labels(), func(label string) bool { return strings.HasPrefix(label, "New from template") }) {
		t.Errorf("menu: %q", p.labels())
	}
}
