//go:build linux

package harness

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/sessionbus/bustest"
	"countersign/ui/displaytest"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// Desktop is a person's session: a home, a bus with a keyring and a notification service, and perhaps a display.
type Desktop struct {
	T       testing.TB
	Home    string
	address string
	display string
	Screen  *os.Process // shows the display
	Bus     *dbus.Conn  // the test's own connection
	keyring *Process
	Notes   *Notes
}

// NewDesktop starts a session without a display.
func NewDesktop(t testing.TB) *Desktop {
	t.Helper()
	d := &Desktop{T: t, Home: ShortDir(t)}
	for _, sub := range []string{"home", "run"} {
		Must(t, os.Mkdir(filepath.Join(d.Home, sub), 0o700))
	}
	d.address, _ = bustest.Start(t, nil)
	d.Bus = d.Connect()
	d.Notes = serveNotifications(t, d.Connect())
	d.startKeyring()
	return d
}

// Env is the complete environment of a program in this session.
func (d *Desktop) Env(more ...string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TMPDIR=" + os.TempDir(),
		"HOME=" + filepath.Join(d.Home, "home"), "XDG_RUNTIME_DIR=" + filepath.Join(d.Home, "run"),
		"DBUS_SESSION_BUS_ADDRESS=" + d.address,
		"XDG_CACHE_HOME=" + filepath.Join(filepath.Dir(Program), "cache"), // or each would compile PDFium and the shaders anew
		"NO_AT_BRIDGE=1", "LIBGL_ALWAYS_SOFTWARE=1",
		"GODEBUG=" + os.Getenv("GODEBUG"), // for example cpu.sha=off, for benchmarks
	}
	if d.display != "" {
		env = append(env, "DISPLAY="+d.display)
	}
	return append(env, more...)
}

// Connect opens a connection to the bus for the test itself.
func (d *Desktop) Connect() *dbus.Conn {
	d.T.Helper()
	conn, err := dbus.Connect(d.address)
	if err != nil {
		d.T.Fatalf("connect to the private bus: %v", err)
	}
	d.T.Cleanup(func() { conn.Close() })
	return conn
}

// startKeyring starts and unlocks gnome-keyring, and waits until it answers.
func (d *Desktop) startKeyring() {
	d.T.Helper()
	d.keyring = Start(d.T, d.Env(), "gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets")
	if _, err := d.keyring.In.Write([]byte("a password")); err != nil {
		d.T.Fatal(err)
	}
	Must(d.T, d.keyring.In.Close())
	Eventually(d.T, "the keyring serves", func() bool {
		var owned bool
		err := d.Bus.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, "org.freedesktop.secrets").Store(&owned)
		return err == nil && owned
	})
}

// RestartKeyring unlocks a locked keyring, as logging in again does.
func (d *Desktop) RestartKeyring() {
	d.T.Helper()
	d.keyring.Kill()
	d.startKeyring()
}

// StartDisplay gives the session a screen and a window manager; more are additional arguments for the X server.
func (d *Desktop) StartDisplay(more ...string) {
	d.T.Helper()
	d.display, d.Screen = displaytest.Server(d.T, "1280x900x24", append(more, "-dpi", "96")...)
	Start(d.T, d.Env(), "openbox")
	Eventually(d.T, "the window manager works", func() bool {
		out, err := d.Run("xdotool", "get_desktop")
		return err == nil && strings.TrimSpace(out) != ""
	})
}

// Run runs a small tool in the session and returns its output.
func (d *Desktop) Run(name string, args ...string) (string, error) {
	cmd := exec.CommandContext(d.T.Context(), name, args...)
	cmd.Env = d.Env()
	cmd.SysProcAttr = diesWithUs()
	out, err := cmd.Output()
	return string(out), err
}

// KeyringItems returns the labels of the items in the keyring.
func (d *Desktop) KeyringItems() (labels []string) {
	d.T.Helper()
	collection := d.Bus.Object("org.freedesktop.secrets", "/org/freedesktop/secrets/collection/login")
	v, err := collection.GetProperty("org.freedesktop.Secret.Collection.Items")
	if err != nil {
		d.T.Fatalf("read the keyring: %v", err)
	}
	items, _ := v.Value().([]dbus.ObjectPath)
	for _, path := range items {
		label, err := d.Bus.Object("org.freedesktop.secrets", path).GetProperty("org.freedesktop.Secret.Item.Label")
		if err != nil {
			d.T.Fatalf("read the keyring: %v", err)
		}
		if s, ok := label.Value().(string); ok {
			labels = append(labels, s)
		}
	}
	slices.Sort(labels)
	return labels
}

// Note is a notification as the program sent it to the desktop.
type Note struct {
	App, Title, Body string
	Actions          string // names and labels as received, a line each
}

// Notes is a notification service that records everything. Safe for concurrent use.
type Notes struct {
	conn    *dbus.Conn
	mu      sync.Mutex
	all     []Note
	markup  bool
	buttons bool
}

// serveNotifications makes conn the notification service of its bus.
func serveNotifications(t testing.TB, conn *dbus.Conn) *Notes {
	t.Helper()
	n := &Notes{conn: conn}
	Must(t, conn.Export(notesService{n}, "/org/freedesktop/Notifications", "org.freedesktop.Notifications"))
	reply, err := conn.RequestName("org.freedesktop.Notifications", dbus.NameFlagDoNotQueue)
	if err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("become the notification service: %v, %v", reply, err)
	}
	return n
}

// List returns what was shown so far, oldest first.
func (n *Notes) List() []Note {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

// ReadMarkup makes it a service that interprets markup such as "<b>" in a body.
func (n *Notes) ReadMarkup() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.markup = true
}

// ShowButtons makes it a service that shows buttons.
func (n *Notes) ShowButtons() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.buttons = true
}

// Press presses the newest notification whose title begins with title: a button, or with action "default" the notification
// itself.
func (n *Notes) Press(t testing.TB, title, action, token string) {
	t.Helper()
	var id uint32
	for i, note := range n.List() {
		if strings.HasPrefix(note.Title, title) {
			id = uint32(i + 1)
		}
	}
	if id == 0 {
		t.Fatalf("no notification begins with %q: %q", title, n.List())
	}
	const path, name = "/org/freedesktop/Notifications", "org.freedesktop.Notifications"
	if token != "" {
		Must(t, n.conn.Emit(path, name+".ActivationToken", id, token))
	}
	Must(t, n.conn.Emit(path, name+".ActionInvoked", id, action))
	Must(t, n.conn.Emit(path, name+".NotificationClosed", id, uint32(2)))
}

// notesService is the D-Bus side of Notes: the Desktop Notifications Specification 1.2.
type notesService struct{ n *Notes }

func (s notesService) Notify(app string, _ uint32, _, title, body string, actions []string, _ map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.n.all = append(s.n.all, Note{app, title, body, strings.Join(actions, "\n")})
	return uint32(len(s.n.all)), nil
}

func (s notesService) GetCapabilities() ([]string, *dbus.Error) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	can := []string{"body"}
	if s.n.markup {
		can = append(can, "body-markup")
	}
	if s.n.buttons {
		can = append(can, "actions")
	}
	return can, nil
}

// Tray is a desktop's panel: a StatusNotifierWatcher, and the host that shows its items.
type Tray struct {
	t          testing.TB
	bus        *dbus.Conn
	registered chan TrayItem
}

// TrayItem is one icon and its menu.
type TrayItem struct {
	tray   *Tray
	object dbus.BusObject
	menu   dbus.BusObject
}

func ServeTray(t testing.TB, conn *dbus.Conn) *Tray {
	t.Helper()
	const path, name = "/StatusNotifierWatcher", "org.kde.StatusNotifierWatcher"
	x := &Tray{t: t, bus: conn, registered: make(chan TrayItem, 8)}
	Must(t, conn.Export(watcher{x}, path, name))
	if _, err := prop.Export(conn, path, prop.Map{name: {
		"RegisteredStatusNotifierItems":  {Value: []string{}},
		"IsStatusNotifierHostRegistered": {Value: true},
		"ProtocolVersion":                {Value: int32(0)},
	}}); err != nil {
		t.Fatal(err)
	}
	reply, err := conn.RequestName(name, dbus.NameFlagDoNotQueue)
	if err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("become the tray: %v, %v", reply, err)
	}
	return x
}

// watcher is the D-Bus side of Tray.
type watcher struct{ tray *Tray }

// RegisterStatusNotifierItem accepts a bus name, or the path of the sender's object.
func (w watcher) RegisterStatusNotifierItem(service string, sender dbus.Sender) *dbus.Error {
	path := dbus.ObjectPath("/StatusNotifierItem")
	if strings.HasPrefix(service, "/") {
		path = dbus.ObjectPath(service)
	}
	w.tray.registered <- TrayItem{tray: w.tray, object: w.tray.bus.Object(string(sender), path)}
	return nil
}

func (w watcher) RegisterStatusNotifierHost(string) *dbus.Error { return nil }

// Item waits for the program's icon.
func (x *Tray) Item() TrayItem {
	x.t.Helper()
	select {
	case i := <-x.registered:
		Eventually(x.t, "the icon has a menu", func() bool {
			v, err := i.object.GetProperty("org.kde.StatusNotifierItem.Menu")
			path, ok := v.Value().(dbus.ObjectPath)
			if err != nil || !ok {
				return false
			}
			i.menu = x.bus.Object(i.object.Destination(), path)
			return true
		})
		return i
	case <-time.After(Patience):
		x.t.Fatal("no icon came to the tray")
		return TrayItem{}
	}
}

// property is a property of a StatusNotifierItem.
func (i TrayItem) property(name string) dbus.Variant {
	i.tray.t.Helper()
	v, err := i.object.GetProperty("org.kde.StatusNotifierItem." + name)
	Must(i.tray.t, err)
	return v
}

func (i TrayItem) Title() string {
	i.tray.t.Helper()
	title, _ := i.property("Title").Value().(string)
	return title
}

// Tooltip is the icon's tooltip.
func (i TrayItem) Tooltip() string {
	i.tray.t.Helper()
	var tip struct {
		Icon    string
		Picture []struct {
			Width, Height int32
			Pixels        []byte
		}
		Title, Text string
	}
	if err := dbus.Store([]any{i.property("ToolTip").Value()}, &tip); err != nil {
		i.tray.t.Fatal(err)
	}
	return tip.Title
}

// entry is one line of the menu. Its id changes whenever the menu does.
type entry struct {
	id    int32
	label string
}

func (i TrayItem) entries() (list []entry) {
	i.tray.t.Helper()
	type layout struct {
		ID       int32
		Props    map[string]dbus.Variant
		Children []dbus.Variant
	}
	var revision uint32
	var root layout
	err := i.menu.Call("com.canonical.dbusmenu.GetLayout", 0, int32(0), int32(-1), []string{}).Store(&revision, &root)
	if err != nil {
		i.tray.t.Fatalf("read the tray's menu: %v", err)
	}
	for _, child := range root.Children {
		var l layout
		if err := dbus.Store([]any{child.Value()}, &l); err != nil {
			i.tray.t.Fatalf("read the tray's menu: %v", err)
		}
		label, _ := l.Props["label"].Value().(string)
		list = append(list, entry{l.ID, strings.ReplaceAll(label, "_", "")})
	}
	return list
}

// Labels are the labels of the menu, from the top; a separator is empty.
func (i TrayItem) Labels() (list []string) {
	i.tray.t.Helper()
	for _, e := range i.entries() {
		list = append(list, e.label)
	}
	return append(list, "")[:max(1, len(list))]
}

// Click chooses the entry with this label once the menu has not changed for a moment: Fyne rebuilds the whole menu at every
// change, and a click during that has no effect.
func (i TrayItem) Click(label string) {
	i.tray.t.Helper()
	var all []entry
	find := func() int { return slices.IndexFunc(all, func(e entry) bool { return e.label == label }) }
	Eventually(i.tray.t, "the tray's menu has "+label+" and is at rest", func() bool {
		before := i.entries()
		time.Sleep(200 * time.Millisecond)
		all = i.entries()
		return slices.Equal(before, all) && find() >= 0
	})
	call := i.menu.Call("com.canonical.dbusmenu.Event", 0, all[find()].id, "clicked", dbus.MakeVariant(""), uint32(time.Now().Unix()))
	if call.Err != nil {
		i.tray.t.Fatalf("click %q in the tray: %v", label, call.Err)
	}
}

func Contains(list []string, part string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) })
}

// Dragger is an X client that drags files onto other windows by the XDND protocol, version 5. It does not move the mouse
// pointer, which another test could be using.
type Dragger struct {
	t      testing.TB
	conn   *xgb.Conn
	window xproto.Window // its own, the source of the drag
}

func (d *Desktop) Dragger() *Dragger {
	d.T.Helper()
	conn, err := xgb.NewConnDisplay(d.display)
	Must(d.T, err)
	late := time.AfterFunc(Patience, conn.Close)
	d.T.Cleanup(func() {
		if late.Stop() {
			conn.Close()
		}
	})
	x := &Dragger{t: d.T, conn: conn}
	x.window, err = xproto.NewWindowId(conn)
	Must(d.T, err)
	root := xproto.Setup(conn).DefaultScreen(conn).Root
	Must(d.T, xproto.CreateWindowChecked(conn, 0, x.window, root, 0, 0, 1, 1, 0, xproto.WindowClassInputOnly, 0, 0, nil).Check())
	return x
}

// Drop drags a file onto the middle of a window and drops it.
func (x *Dragger) Drop(window, path string) {
	x.t.Helper()
	id, err := strconv.ParseUint(window, 10, 32)
	Must(x.t, err)
	target, source := xproto.Window(id), uint32(x.window)
	list := (&url.URL{Scheme: "file", Path: path}).String() + "\r\n"
	const version = 5 << 24
	Must(x.t, xproto.SetSelectionOwnerChecked(x.conn, x.window, x.atom("XdndSelection"), 0).Check())
	x.tell(target, "XdndEnter", source, version, uint32(x.atom("text/uri-list")), 0, 0)
	x.tell(target, "XdndPosition", source, 0, 400<<16|300, 0, uint32(x.atom("XdndActionCopy")))
	if data := x.told("XdndStatus", list); data[1]&1 == 0 {
		x.t.Fatal("the window does not accept the file")
	}
	x.tell(target, "XdndDrop", source, 0, 0, 0, 0)
	x.told("XdndFinished", list)
}

// tell sends a client message.
func (x *Dragger) tell(window xproto.Window, kind string, data ...uint32) {
	x.t.Helper()
	message := xproto.ClientMessageEvent{Format: 32, Window: window, Type: x.atom(kind), Data: xproto.ClientMessageDataUnionData32New(data)}
	Must(x.t, xproto.SendEventChecked(x.conn, false, window, 0, string(message.Bytes())).Check())
}

// told waits for a client message of this kind and returns its data. Meanwhile it answers requests for the list of files.
func (x *Dragger) told(kind, list string) []uint32 {
	x.t.Helper()
	for {
		event, err := x.conn.WaitForEvent()
		if err != nil {
			x.t.Fatalf("talk to the display: %v", err)
		}
		switch e := event.(type) {
		case nil:
			x.t.Fatalf("the window does not answer with %s", kind)
		case xproto.SelectionRequestEvent:
			Must(x.t, xproto.ChangePropertyChecked(x.conn, xproto.PropModeReplace, e.Requestor, e.Property, e.Target, 8, uint32(len(list)), []byte(list)).Check())
			done := xproto.SelectionNotifyEvent{Time: e.Time, Requestor: e.Requestor, Selection: e.Selection, Target: e.Target, Property: e.Property}
			Must(x.t, xproto.SendEventChecked(x.conn, false, e.Requestor, 0, string(done.Bytes())).Check())
		case xproto.ClientMessageEvent:
			if e.Type == x.atom(kind) {
				return e.Data.Data32
			}
		}
	}
}

// atom is the number of a name.
func (x *Dragger) atom(name string) xproto.Atom {
	x.t.Helper()
	reply, err := xproto.InternAtom(x.conn, false, uint16(len(name)), name).Reply()
	Must(x.t, err)
	return reply.Atom
}

type Window struct {
	d  *Desktop
	ID string
}

// Window waits for a visible window with this title.
func (d *Desktop) Window(title string) *Window {
	d.T.Helper()
	w := &Window{d: d}
	Eventually(d.T, "there is a window "+title, func() bool {
		ids := d.Visible(title)
		if len(ids) == 1 {
			w.ID = ids[0]
		}
		return len(ids) == 1
	})
	d.T.Cleanup(func() { // before the display goes
		if dir := os.Getenv("COUNTERSIGN_E2E_PICTURES"); d.T.Failed() && dir != "" {
			d.Run("import", "-window", w.ID, filepath.Join(dir, strings.ReplaceAll(d.T.Name(), "/", " ")+".png"))
		}
	})
	return w
}

// Visible returns the ids of the visible windows with this title.
func (d *Desktop) Visible(title string) []string {
	d.T.Helper()
	out, err := d.Run("xdotool", "search", "--onlyvisible", "--name", "^"+title+"$")
	if err != nil {
		return nil // how xdotool reports that there is none
	}
	return strings.Fields(out)
}

func (w *Window) Picture() image.Image {
	w.d.T.Helper()
	out, err := w.d.Run("import", "-window", w.ID, "png:-")
	if err != nil {
		w.d.T.Fatalf("take a screenshot: %v", err)
	}
	picture, err := png.Decode(bytes.NewReader([]byte(out)))
	if err != nil {
		w.d.T.Fatalf("read the screenshot: %v", err)
	}
	return picture
}

// Drawn waits until the window shows more than its background.
func (w *Window) Drawn() image.Image {
	w.d.T.Helper()
	var picture image.Image
	Eventually(w.d.T, "something is drawn in the window", func() bool {
		picture = w.Picture()
		return len(colours(picture)) > 20
	})
	return picture
}

// Still waits until nothing moves any more.
func (w *Window) Still() image.Image {
	w.d.T.Helper()
	last := w.Picture()
	Eventually(w.d.T, "the window is still", func() bool {
		before := last
		last = w.Picture()
		return differing(before, last) == 0
	})
	return last
}

// ChangesFrom waits until the window looks very different, and returns its picture.
func (w *Window) ChangesFrom(before image.Image) image.Image {
	w.d.T.Helper()
	var now image.Image
	Eventually(w.d.T, "the window shows something else", func() bool {
		now = w.Picture()
		return differing(before, now) > 500
	})
	return now
}

// Same reports whether the window looks as in a picture.
func (w *Window) Same(p image.Image) bool {
	w.d.T.Helper()
	return Alike(p, w.Picture())
}

// Alike reports whether two pictures are equal; a nil picture equals none.
func Alike(a, b image.Image) bool { return a != nil && b != nil && differing(a, b) == 0 }

func colours(p image.Image) map[color.Color]int {
	count := map[color.Color]int{}
	for y := p.Bounds().Min.Y; y < p.Bounds().Max.Y; y += 2 {
		for x := p.Bounds().Min.X; x < p.Bounds().Max.X; x += 2 {
			count[p.At(x, y)]++
		}
	}
	return count
}

func differing(a, b image.Image) (n int) {
	if a.Bounds() != b.Bounds() {
		return a.Bounds().Dx() * a.Bounds().Dy()
	}
	for y := a.Bounds().Min.Y; y < a.Bounds().Max.Y; y++ {
		for x := a.Bounds().Min.X; x < a.Bounds().Max.X; x++ {
			if a.At(x, y) != b.At(x, y) {
				n++
			}
		}
	}
	return n
}

// Open starts the program with its window.
func (o *Office) Open(files ...string) {
	o.T.Helper()
	o.Running = Start(o.T, o.Desk.Env(o.More...), Program, append(o.Global, files...)...)
	o.Answers()
}

// OpenOffice sets up a usual office on a desktop with a display, and opens its window.
func OpenOffice(t testing.TB) (*Office, *Window) {
	t.Helper()
	o := beforeItsWindow(t)
	return o, o.opens()
}

// OpenSignedIn is OpenOffice with somebody signed in before the window opens: otherwise the window changes some time after
// the commands report the sign-in, and a test could mistake that for what it waits for.
func OpenSignedIn(t testing.TB) (*Office, *Window) {
	t.Helper()
	o := beforeItsWindow(t)
	o.Serve()
	o.MustLogin()
	o.Registered()
	o.Stop()
	w := o.opens()
	o.Registered()
	return o, w
}

func beforeItsWindow(t testing.TB) *Office {
	t.Helper()
	desk := NewDesktop(t)
	desk.StartDisplay()
	o := UsualOffice(t, desk)
	o.Setup()
	return o
}

func (o *Office) opens() *Window {
	o.T.Helper()
	o.Open()
	w := o.Desk.Window("Countersign")
	w.Drawn()
	return w
}

// xdotool simulates the user's input.
func (w *Window) xdotool(args ...string) {
	w.d.T.Helper()
	if _, err := w.d.Run("xdotool", args...); err != nil {
		w.d.T.Fatalf("xdotool %q: %v", args, err)
	}
}

// Keys presses keys in the window, like a person without a mouse.
func (w *Window) Keys(names ...string) {
	w.d.T.Helper()
	w.xdotool(append([]string{"key", "--clearmodifiers", "--delay", "60"}, names...)...)
}

func (w *Window) Types(text string) {
	w.d.T.Helper()
	w.xdotool("type", "--clearmodifiers", "--delay", "40", text)
}

// Point moves the mouse to a position in the window.
func (w *Window) Point(at image.Point) {
	w.d.T.Helper()
	w.xdotool("mousemove", "--window", w.ID, strconv.Itoa(at.X), strconv.Itoa(at.Y))
}

// Press presses a mouse button where the mouse is, for as long as a person does.
func (w *Window) Press(button int) {
	w.d.T.Helper()
	b := strconv.Itoa(button)
	w.xdotool("mousedown", b, "sleep", "0.1", "mouseup", b)
}

// Hide closes the window as a person does, and answers the question that appears the first time.
func (w *Window) Hide() {
	w.d.T.Helper()
	w.Active()
	Eventually(w.d.T, "the window is gone", func() bool {
		w.Keys("ctrl+w", "Return")
		return len(w.d.Visible("Countersign")) == 0
	})
}

// Active gives the window the keyboard focus.
func (w *Window) Active() *Window {
	w.d.T.Helper()
	w.xdotool("windowactivate", "--sync", w.ID)
	return w
}
