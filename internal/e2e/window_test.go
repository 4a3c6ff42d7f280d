//go:build linux

package e2e

import (
	"fmt"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"countersign/internal/e2e/harness"
)

func TestTheWindowAndTheTrayShowTheOffice(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	desk.StartDisplay()
	tray := harness.ServeTray(t, desk.Connect())
	o := harness.UsualOffice(t, desk)
	s := o.Service
	o.Setup()
	o.Open()
	w := desk.Window("Countersign")
	first := w.Drawn()

	icon := tray.Item()
	if title := icon.Title(); title != "Countersign" {
		t.Errorf("the tray icon is called %q", title)
	}
	harness.Eventually(t, "the tray says who is signed in", func() bool { return harness.Contains(icon.Labels(), "Not signed in") })
	labels := icon.Labels()
	for _, want := range []string{"New package", "Open Countersign", "Open folder", "Quit"} {
		if !harness.Contains(labels, want) {
			t.Errorf("the tray's menu is %q, without %q", labels, want)
		}
	}
	harness.Eventually(t, "the tray says that nobody is signed in", func() bool { return strings.Contains(icon.Labels()[0], "signed in") })

	// The commands work beside the window, and the tray is updated.
	o.MustLogin()
	o.Registered()
	harness.Eventually(t, "the tray shows the account", func() bool { return harness.Contains(icon.Labels(), harness.Olivia) })
	lease := sendLease(o)
	harness.Eventually(t, "the tray shows what waits", func() bool { return strings.Contains(icon.Labels()[0], "1 package") })
	w.ChangesFrom(first)
	s.SignAll(lease.ID)
	o.Until("the package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	harness.Eventually(t, "the tray is at rest", func() bool { return icon.Labels()[0] == "Nothing is waiting for a signature" })
	savedAsServed(o, lease)
	toldOnce(o, false, lease)

	// When closed, the window is hidden in the tray (it says so the first time), and can be opened from there.
	if tip := icon.Tooltip(); tip != "Countersign\nNothing is waiting for a signature" {
		t.Errorf("over the icon stands %q", tip)
	}
	w.Hide()
	icon.Click("Open Countersign")
	desk.Window("Countersign").Hide()
	if _, err := o.Ask(); err != nil {
		t.Errorf("without its window the program does not answer: %v", err)
	}
	icon.Click("Open Countersign")
	w = desk.Window("Countersign")
	w.Drawn()

	icon.Click("Quit")
	if code := o.Running.Wait(); code != 0 {
		t.Errorf("after Quit the program ended with %d: %s", code, o.Running.Stderr)
	}
	keepsSecrets(o)
}

// picker presses "Add documents" and answers in the desktop's dialog.
type picker struct {
	t      *testing.T
	desk   *harness.Desktop
	office *harness.Office
	window *harness.Window
}

// newPicker starts the program with its window, a tray and a signed-in user.
func newPicker(t *testing.T) *picker {
	t.Helper()
	o, w := harness.OpenSignedIn(t)
	w.Active().Keys("ctrl+n") // without documents, the focus is on "Add documents"
	w.Keys("Tab")             // from now on the focus is shown
	w.Keys("shift+Tab")
	w.Still()
	return &picker{t, o.Desk, o, w}
}

// press opens the dialog.
func (p *picker) press() { p.window.Active().Keys("space") }

// sent sends the draft, which was empty in before, and returns the names of its documents in the service.
func (p *picker) sent(before image.Image, name string) (names []string) {
	p.t.Helper()
	p.window.ChangesFrom(before)
	p.window.Active().Keys("ctrl+n") // to the first person
	for i, text := range []string{"Ana", "Ruiz", "ana.ruiz@example.com"} {
		if i > 0 {
			p.window.Keys("Tab")
		}
		p.window.Types(text)
	}
	sendsByKey(p.office, p.window)
	for _, d := range p.office.Service.Named(name).Documents {
		names = append(names, d.Name)
	}
	return names
}

func TestFilesChosenInTheDesktopsDialogStandInTheDraft(t *testing.T) {
	t.Parallel()
	p := newPicker(t)
	portal := p.desk.StartPortal()
	id, err := strconv.Atoi(p.window.ID)
	harness.Must(t, err)

	// Cancelling is not an error and changes nothing.
	before := p.window.Still()
	p.press()
	d := portal.Dialog()
	if d.Method != "OpenFile" || d.Title != "Add documents" || d.Parent != fmt.Sprintf("x11:%x", id) {
		t.Errorf("%s %q over %s, the window is %x", d.Method, d.Title, d.Parent, id)
	}
	p.window.ChangesFrom(before)
	harness.Must(t, d.Cancel())
	harness.Eventually(t, "the window is as it was", func() bool { return p.window.Same(before) })

	// Pressing again while the dialog is open opens no second one, and the files' names arrive unchanged.
	folder := filepath.Join(t.TempDir(), "Büro & 100% +\xff")
	harness.Must(t, os.Mkdir(folder, 0o700))
	names := []string{"Vertrag 4+5 (100%25)", "Größe #1"}
	var paths []string
	for _, name := range names {
		content, err := os.ReadFile(harness.Sample(t, "Mandate Keller"))
		harness.Must(t, err)
		paths = append(paths, filepath.Join(folder, name+".pdf"))
		harness.Must(t, os.WriteFile(paths[len(paths)-1], content, 0o600))
	}
	p.press()
	d = portal.Dialog()
	panel := p.window.ChangesFrom(before)
	p.window.Keys("space", "Return", "space", "Tab") // the last key shows that the others have arrived
	harness.Eventually(t, "the keyboard is at Cancel", func() bool { return !p.window.Same(panel) })
	harness.Must(t, d.Choose(paths...))
	p.window.ChangesFrom(panel)
	if got := p.sent(before, names[0]); !slices.Equal(got, names) {
		t.Errorf("the service got %q", got)
	}
	if !portal.None() {
		t.Error("a second dialog was asked for")
	}
}

func TestWithoutAPortalOurPickerAsks(t *testing.T) {
	t.Parallel()
	p := newPicker(t)
	content, err := os.ReadFile(harness.Sample(t, "Mandate Keller"))
	harness.Must(t, err)
	for _, name := range []string{"Mandate A", "Mandate B"} {
		harness.Must(t, os.WriteFile(filepath.Join(p.desk.Home, "home", name+".pdf"), content, 0o600))
	}
	before := p.window.Still()
	p.press()
	p.window.ChangesFrom(before)
	open := p.window.Still()
	p.window.Keys("End", "space", "Up", "space", "Return")
	p.window.ChangesFrom(open)
	if got := p.sent(before, "Mandate B"); !slices.Equal(got, []string{"Mandate B", "Mandate A"}) {
		t.Errorf("the service got %q", got)
	}
}

// sendsByKey sends the draft in the window. The key is ignored until the files are checked, and after the draft is sent.
func sendsByKey(o *harness.Office, w *harness.Window) {
	o.T.Helper()
	harness.EventuallyWithin(o.T, 2*harness.Patience, "the service has the package", func() bool {
		w.Keys("ctrl+Return")
		s, err := o.Ask()
		return err == nil && s.Packages.Total == 1 && s.Outbox.Pending == 0
	})
}

// takenBackWithin is how long sending from the window can be undone.
const takenBackWithin = 10 * time.Second

// TestDroppedFilesAreSentByKeysAlone adds a file dropped by another program and one passed by a second start. From there to
// the package in the service it uses only the keyboard.
func TestDroppedFilesAreSentByKeysAlone(t *testing.T) {
	t.Parallel()
	o, w := harness.OpenSignedIn(t)

	before := w.Still()
	o.Desk.Dragger().Drop(w.ID, harness.Sample(t, "Mandate Keller"))
	dropped := w.ChangesFrom(before)
	second := harness.Start(t, o.Desk.Env(), harness.Program, append(o.Global, harness.Sample(t, "Offer 2026-118"))...)
	if code := second.Wait(); code != 0 {
		t.Fatalf("the second start ended with %d: %s", code, second.Stderr)
	}
	w.ChangesFrom(dropped)
	w.Still() // until both are checked

	w.Active().Keys("ctrl+n") // the focus is at the next step: the first person
	w.Types("Ana")
	w.Keys("Tab")
	w.Types("Ruiz")
	w.Keys("Tab")
	w.Types("ana.ruiz@example.com")
	w.Keys("Return") // moves on, and sends nothing
	pressed := time.Now()
	w.Keys("ctrl+Return")
	if s, err := o.Ask(); err != nil || s.Packages.Total+s.Outbox.Pending > 0 && time.Since(pressed) < takenBackWithin {
		t.Errorf("it is sent before it can be taken back: %+v, %v", s, err)
	}

	sendsByKey(o, w)
	p := o.Service.Named("Mandate Keller")
	var names []string
	for _, d := range p.Documents {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, []string{"Mandate Keller", "Offer 2026-118"}) || len(p.Signers) != 1 {
		t.Errorf("the service got %+v", p)
	}
}

// Positions in the window when it opens, for a person who has not signed in.
var (
	navPackages    = image.Pt(80, 85)
	navSend        = image.Pt(80, 124)
	navStatus      = image.Pt(80, 202)
	navSettings    = image.Pt(80, 241)
	packageName    = image.Pt(450, 410)
	addDocuments   = image.Pt(427, 200)
	calendarButton = image.Pt(842, 363)
	chooseFolder   = image.Pt(912, 168)
	readyMadeNames = image.Pt(700, 337)
)

// TestTheMouseReachesTheWindowAfterEscape opens everything that can cover the window, closes it with Escape, and clicks with
// a real mouse: the click must always arrive.
func TestTheMouseReachesTheWindowAfterEscape(t *testing.T) {
	t.Parallel()
	_, w := harness.OpenOffice(t)
	w.Active()
	w.Still()
	for _, c := range []struct {
		name string
		on   image.Point // the screen
		at   image.Point // the mouse position
		open func()
	}{
		{"adding documents", navSend, addDocuments, func() { w.Press(1) }},
		{"the calendar", navSend, calendarButton, func() { w.Press(1) }},
		{"choosing a folder", navSettings, chooseFolder, func() { w.Press(1) }},
		{"a selection", navSettings, readyMadeNames, func() { w.Press(1) }},
		{"the menu of a field", navSend, packageName, func() { w.Press(3) }},
		{"closing without a tray", navPackages, packageName, func() { w.Keys("ctrl+w") }},
	} {
		w.Point(c.on)
		w.Press(1)
		w.Point(c.at) // hovering changes the picture already
		before := w.Still()
		c.open()
		w.ChangesFrom(before)
		opened := w.Still() // the focus moves first
		w.Active().Keys("Escape")
		w.ChangesFrom(opened)
		w.Point(navStatus)
		closed := w.Still()
		w.Press(1)
		w.ChangesFrom(closed)
	}
}

// fileOpener stands in for the desktop's file opener, and records its arguments and token.
func fileOpener(t testing.TB) (path string, asked func() string) {
	t.Helper()
	bin := t.TempDir()
	log := filepath.Join(bin, "asked")
	script := "#!/bin/sh\nprintf '%s|%s\\n' \"$1\" \"$XDG_ACTIVATION_TOKEN\" >> '" + log + "'\n"
	harness.Must(t, os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o700))
	return "PATH=" + bin + ":" + os.Getenv("PATH"), func() string {
		b, err := os.ReadFile(log)
		if err != nil {
			return ""
		}
		return string(b)
	}
}

// signedOffer lets a package of one document be signed, and waits for the notification.
func signedOffer(o *harness.Office) (file string) {
	o.Must("send", harness.Sample(o.T, "Offer 2026-118"), "--name", "Offer", "--to", "Jan Weber <jan.weber@example.com>")
	o.Service.SignAll(o.Service.Named("Offer").ID)
	harness.Eventually(o.T, "people are told that everyone has signed", func() bool {
		for _, n := range o.Desk.Notes.List() {
			if strings.HasPrefix(n.Title, "Everyone has signed") {
				return true
			}
		}
		return false
	})
	return filepath.Join(o.Folder, "Offer - Offer 2026-118.pdf")
}

func TestAPressOnANotificationLeadsToItsPackageAndFile(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	desk.StartDisplay()
	desk.Notes.ShowButtons()
	tray := harness.ServeTray(t, desk.Connect())
	o := harness.UsualOffice(t, desk)
	path, asked := fileOpener(t)
	o.More = append(o.More, path)
	o.Setup()
	o.Open()
	w := desk.Window("Countersign")
	w.Drawn()
	tray.Item()
	o.MustLogin()
	o.Registered()
	file := signedOffer(o)

	notes := desk.Notes.List()
	if last := notes[len(notes)-1]; last.Actions != "default\nShow\nopen\nOpen\nfolder\nShow in folder" {
		t.Errorf("offered %q", last.Actions)
	}
	w.Hide()
	desk.Notes.Press(t, "Everyone has signed", "open", "a token")
	harness.Eventually(t, "the file is opened", func() bool { return strings.Contains(asked(), file+"|a token\n") })
	desk.Notes.Press(t, "Everyone has signed", "folder", "")
	harness.Eventually(t, "the folder is opened", func() bool { return strings.HasSuffix(asked(), filepath.Dir(file)+"|a token\n") })
	if len(desk.Visible("Countersign")) != 0 {
		t.Error("the window came up, though the file was wanted")
	}
	desk.Notes.Press(t, "Everyone has signed", "default", "")
	w = desk.Window("Countersign")
	w.Drawn()

	// If the file is gone, the window opens and says what became of it.
	w.Hide()
	harness.Must(t, os.Remove(file))
	before := asked()
	desk.Notes.Press(t, "Everyone has signed", "open", "")
	desk.Window("Countersign")
	if after := asked(); after != before {
		t.Errorf("opened %q", strings.TrimPrefix(after, before))
	}
}

func TestWithoutAWindowAPressOpensTheFile(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	desk.Notes.ShowButtons()
	o := harness.UsualOffice(t, desk)
	path, asked := fileOpener(t)
	o.More = append(o.More, path)
	o.Ready()
	file := signedOffer(o)
	notes := desk.Notes.List()
	if last := notes[len(notes)-1]; last.Actions != "default\nOpen\nfolder\nShow in folder" {
		t.Errorf("offered %q", last.Actions)
	}
	desk.Notes.Press(t, "Everyone has signed", "default", "")
	harness.Eventually(t, "the file is opened", func() bool { return asked() == file+"|\n" })
}

// TestTheWindowIsAsLightAsTheSystem uses the default theme: it is light if the system has no preference, and follows the
// person's changes there while the window is open.
func TestTheWindowIsAsLightAsTheSystem(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	desk.StartDisplay()
	system := serveScheme(t, desk.Connect())
	o := harness.UsualOffice(t, desk)
	o.Setup()
	o.Open()
	w := desk.Window("Countersign")
	w.Drawn()
	const noPreference, dark, light = 0, 1, 2
	becomes := func(what string, bright bool) {
		t.Helper()
		harness.Eventually(t, what, func() bool { return isBright(w.Picture()) == bright })
	}
	becomes("it is light by itself", true)
	system.set(dark)
	becomes("it is dark as the system", false)
	system.set(light)
	becomes("it is light as the system", true)
	system.set(dark)
	becomes("it is dark again", false)
	system.set(noPreference)
	becomes("it is light again", true)
}

func isBright(p image.Image) bool {
	bright, all := 0, 0
	for y := p.Bounds().Min.Y; y < p.Bounds().Max.Y; y += 4 {
		for x := p.Bounds().Min.X; x < p.Bounds().Max.X; x += 4 {
			all++
			if color.GrayModel.Convert(p.At(x, y)).(color.Gray).Y > 0x80 {
				bright++
			}
		}
	}
	return bright > all/2
}

// scheme is a portal that reports whether the system is light or dark
// (https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Settings.html).
type scheme struct {
	t    testing.TB
	conn *dbus.Conn
	now  chan uint32 // capacity 1
}

const (
	portalObject   = "/org/freedesktop/portal/desktop"
	portalSettings = "org.freedesktop.portal.Settings"
	appearance     = "org.freedesktop.appearance"
	colorScheme    = "color-scheme"
)

func serveScheme(t testing.TB, conn *dbus.Conn) *scheme {
	t.Helper()
	s := &scheme{t, conn, make(chan uint32, 1)}
	s.now <- 0
	harness.Must(t, conn.Export(schemeCalls{s}, portalObject, portalSettings))
	if _, err := conn.RequestName("org.freedesktop.portal.Desktop", dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	return s
}

// set changes the system's theme, as its own settings do.
func (s *scheme) set(v uint32) {
	s.t.Helper()
	<-s.now
	s.now <- v
	harness.Must(s.t, s.conn.Emit(portalObject, portalSettings+".SettingChanged", appearance, colorScheme, dbus.MakeVariant(v)))
}

func (s *scheme) get() dbus.Variant {
	v := <-s.now
	s.now <- v
	return dbus.MakeVariant(v)
}

type schemeCalls struct{ s *scheme }

func (c schemeCalls) ReadOne(namespace, key string) (dbus.Variant, *dbus.Error) {
	if namespace != appearance || key != colorScheme {
		return dbus.Variant{}, dbus.NewError("org.freedesktop.portal.Error.NotFound", nil)
	}
	return c.s.get(), nil
}

func (c schemeCalls) ReadAll([]string) (map[string]map[string]dbus.Variant, *dbus.Error) {
	return map[string]map[string]dbus.Variant{appearance: {colorScheme: c.s.get()}}, nil
}
