//go:build !windows && !darwin

package system

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"countersign/internal/sessionbus"
)

func addressCommand(address string) []string { return []string{"xdg-open", address} }

func fileCommand(path string) []string { return []string{"xdg-open", path} }

// revealCommand opens only the folder: file managers differ in how to select a file, and no particular one is sure to exist.
func revealCommand(path string) []string { return []string{"xdg-open", filepath.Dir(path)} }

func prepare(*exec.Cmd, []string) {}

// boxes returns the commands that show a message box: that of GNOME and similar desktops, and that of KDE. zenity does not treat the
// text as markup, but a backslash escapes the next character.
func boxes(title, text string) [][]string {
	return [][]string{
		{"zenity", "--error", "--no-markup", "--width=480", "--title=" + title, "--text=" + strings.ReplaceAll(text, `\`, `\\`)},
		{"kdialog", "--title", title, "--error", text},
	}
}

// Alert shows a message box of the desktop, with or without a window of ours, and reports whether anybody can have seen it. It
// returns when the person has read it; on Linux, as soon as the box is open. The text is for people.
//
// The box belongs to a separate program, which outlives this one.
func Alert(title, text string) bool {
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return false
	}
	for _, box := range boxes(title, text) {
		cmd := exec.Command(box[0], box[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if cmd.Start() == nil {
			go cmd.Wait() // reaps the box's process while this program runs on
			return true
		}
	}
	return false
}

// The clipboard formats for files: file managers take the first two, mail programs and others the second, anything that takes text
// the last.
const (
	copiedFiles = "x-special/gnome-copied-files"
	uriList     = "text/uri-list"
	plainText   = "UTF8_STRING"
)

// copyFiles puts files on the clipboard. Under Wayland only the focused window may do so, or wl-copy, which offers one format.
// Without wl-copy, and under X11, we serve the requests ourselves through X11 for as long as the program runs.
func copyFiles(ctx context.Context, paths []string) error {
	offer := offered(paths)
	if os.Getenv("WAYLAND_DISPLAY") != "" {
		if tool, err := exec.LookPath("wl-copy"); err == nil {
			cmd := exec.CommandContext(ctx, tool, "--type", uriList)
			cmd.Stdin = bytes.NewReader(offer[uriList])
			return cmd.Run()
		}
	}
	if os.Getenv("DISPLAY") == "" {
		return errors.New("there is no wl-copy and no X11 display")
	}
	return ownClipboard(offer)
}

// offered returns the files in each of those formats.
func offered(paths []string) map[string][]byte {
	var addresses []string
	for _, path := range paths {
		addresses = append(addresses, (&url.URL{Scheme: "file", Path: path}).String())
	}
	return map[string][]byte{
		copiedFiles: []byte("copy\n" + strings.Join(addresses, "\n")),
		uriList:     []byte(strings.Join(addresses, "\r\n") + "\r\n"),
		plainText:   []byte(strings.Join(paths, "\n")),
	}
}

// mailFiles passes files to the mail program (xdg-email(1)).
func mailFiles(m Mail) (ended <-chan error, err error) {
	arguments := []string{"--subject", m.Subject}
	for _, path := range m.Files {
		arguments = append(arguments, "--attach", path)
	}
	return startFound("xdg-email", append(arguments, m.To...)...)
}

// printFile prints on the default printer (lp(1) of CUPS).
func printFile(path string) (ended <-chan error, err error) { return startFound("lp", path) }

// The X11 clipboard is not a store but an owner that answers whoever pastes (Inter-Client Communication Conventions Manual 2.0,
// section 2). Fyne can own it only for text.

// mostPasted limits what is transferred in one piece, in bytes: X servers accept requests of 256 KiB.
const mostPasted = 200 << 10

// clipboard is the ownership this program holds.
var clipboard struct {
	mu   sync.Mutex
	conn *xgb.Conn // nil without ownership
}

// ownClipboard offers these formats, by name, to everyone who pastes, until another copy replaces them or the program ends.
func ownClipboard(offer map[string][]byte) error {
	for _, form := range offer {
		if len(form) > mostPasted {
			return errors.New("too many files for the clipboard")
		}
	}
	xgb.Logger.SetOutput(io.Discard)
	conn, err := xgb.NewConn()
	if err != nil {
		return fmt.Errorf("reach the display: %w", err)
	}
	s, err := claim(conn, offer)
	if err != nil {
		conn.Close()
		return err
	}
	clipboard.mu.Lock()
	before := clipboard.conn
	clipboard.conn = conn
	clipboard.mu.Unlock()
	if before != nil {
		before.Close()
	}
	go s.serve()
	return nil
}

// selection answers whoever pastes. Only one goroutine uses it.
type selection struct {
	conn    *xgb.Conn
	targets xproto.Atom
	forms   map[xproto.Atom][]byte
}

// claim makes an invisible window the owner of the clipboard.
func claim(conn *xgb.Conn, offer map[string][]byte) (*selection, error) {
	window, err := xproto.NewWindowId(conn)
	if err != nil {
		return nil, err
	}
	screen := xproto.Setup(conn).DefaultScreen(conn)
	err = xproto.CreateWindowChecked(conn, 0, window, screen.Root, 0, 0, 1, 1, 0, xproto.WindowClassInputOnly, 0, 0, nil).Check()
	if err != nil {
		return nil, fmt.Errorf("make a window: %w", err)
	}
	s := &selection{conn: conn, forms: map[xproto.Atom][]byte{}}
	if s.targets, err = atom(conn, "TARGETS"); err != nil {
		return nil, err
	}
	for name, form := range offer {
		a, err := atom(conn, name)
		if err != nil {
			return nil, err
		}
		s.forms[a] = form
	}
	board, err := atom(conn, "CLIPBOARD")
	if err != nil {
		return nil, err
	}
	if err := xproto.SetSelectionOwnerChecked(conn, window, board, xproto.TimeCurrentTime).Check(); err != nil {
		return nil, fmt.Errorf("own the clipboard: %w", err)
	}
	if owner, err := xproto.GetSelectionOwner(conn, board).Reply(); err != nil || owner.Owner != window {
		return nil, fmt.Errorf("somebody else owns the clipboard: %v", err)
	}
	return s, nil
}

func atom(conn *xgb.Conn, name string) (xproto.Atom, error) {
	reply, err := xproto.InternAtom(conn, false, uint16(len(name)), name).Reply()
	if err != nil {
		return 0, fmt.Errorf("name %s: %w", name, err)
	}
	return reply.Atom, nil
}

// serve answers until another owner takes over or the display is gone.
func (s *selection) serve() {
	defer s.leave()
	for {
		event, err := s.conn.WaitForEvent()
		if event == nil && err == nil {
			return
		}
		switch e := event.(type) {
		case xproto.SelectionClearEvent:
			return
		case xproto.SelectionRequestEvent:
			s.answer(e)
		}
	}
}

func (s *selection) leave() {
	clipboard.mu.Lock()
	defer clipboard.mu.Unlock()
	if clipboard.conn == s.conn {
		clipboard.conn = nil
		s.conn.Close()
	}
}

// answer hands over the requested format or the list of formats, or says that there is no such format.
func (s *selection) answer(e xproto.SelectionRequestEvent) {
	to := e.Property
	if to == xproto.AtomNone { // an old client
		to = e.Target
	}
	form, known := s.forms[e.Target]
	switch {
	case e.Target == s.targets:
		list := []xproto.Atom{s.targets}
		for a := range s.forms {
			list = append(list, a)
		}
		b := make([]byte, 4*len(list))
		for i, a := range list {
			xgb.Put32(b[4*i:], uint32(a))
		}
		xproto.ChangeProperty(s.conn, xproto.PropModeReplace, e.Requestor, to, xproto.AtomAtom, 32, uint32(len(list)), b)
	case known:
		xproto.ChangeProperty(s.conn, xproto.PropModeReplace, e.Requestor, to, e.Target, 8, uint32(len(form)), form)
	default:
		to = xproto.AtomNone
	}
	done := xproto.SelectionNotifyEvent{Time: e.Time, Requestor: e.Requestor, Selection: e.Selection, Target: e.Target, Property: to}
	xproto.SendEvent(s.conn, false, e.Requestor, xproto.EventMaskNoEvent, string(done.Bytes()))
}

// maximized are X11's names for a maximized window's state (Extended Window Manager Hints, _NET_WM_STATE).
var maximized = []string{"_NET_WM_STATE", "_NET_WM_STATE_MAXIMIZED_VERT", "_NET_WM_STATE_MAXIMIZED_HORZ"}

// IsMaximized reports whether a native window is maximized. A window manager forgets that once the window is hidden.
func IsMaximized(window uintptr) (is bool) {
	maximizing(window, func(conn *xgb.Conn, state, high, wide xproto.Atom) {
		reply, err := xproto.GetProperty(conn, false, xproto.Window(window), state, xproto.AtomAtom, 0, 64).Reply()
		if err != nil {
			return
		}
		found := 0
		for v := reply.Value; len(v) >= 4; v = v[4:] {
			if a := xproto.Atom(binary.NativeEndian.Uint32(v)); a == high || a == wide {
				found++
			}
		}
		is = found == 2
	})
	return is
}

// Maximize maximizes a window; a hidden one once it is shown, by setting the state itself because no window manager handles it yet.
func Maximize(window uintptr) {
	maximizing(window, func(conn *xgb.Conn, state, high, wide xproto.Atom) {
		value := binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, uint32(high)), uint32(wide))
		_ = xproto.ChangePropertyChecked(conn, xproto.PropModeReplace, xproto.Window(window), state, xproto.AtomAtom, 32, 2, value).Check()
		const add = 1
		ask := xproto.ClientMessageEvent{Format: 32, Window: xproto.Window(window), Type: state,
			Data: xproto.ClientMessageDataUnionData32New([]uint32{add, uint32(high), uint32(wide), 1, 0})}
		xproto.SendEvent(conn, false, xproto.Setup(conn).DefaultScreen(conn).Root,
			xproto.EventMaskSubstructureNotify|xproto.EventMaskSubstructureRedirect, string(ask.Bytes()))
	})
}

// maximizing calls do with those names if such a window exists.
func maximizing(window uintptr, do func(conn *xgb.Conn, state, high, wide xproto.Atom)) {
	if window == 0 {
		return
	}
	xgb.Logger.SetOutput(io.Discard)
	conn, err := xgb.NewConn()
	if err != nil {
		return
	}
	defer conn.Close()
	var atoms []xproto.Atom
	for _, name := range maximized {
		named, err := atom(conn, name)
		if err != nil {
			return
		}
		atoms = append(atoms, named)
	}
	do(conn, atoms[0], atoms[1], atoms[2])
}

// CheckDisplay returns ErrNoDisplay if the environment names no display, or one that does not answer. It must run before the
// graphics library tries, because that ends the process.
func CheckDisplay(ctx context.Context, env func(string) string) error {
	if socket := env("WAYLAND_DISPLAY"); socket != "" {
		if !filepath.IsAbs(socket) {
			socket = filepath.Join(env("XDG_RUNTIME_DIR"), socket)
		}
		if _, err := os.Stat(socket); err == nil {
			return nil
		}
	}
	display := env("DISPLAY")
	if display == "" {
		return ErrNoDisplay
	}
	if err := dialX(ctx, display); err != nil {
		return fmt.Errorf("display %s does not answer: %w", display, ErrNoDisplay)
	}
	return nil
}

// dialX connects to an X display as Xlib would: ":0.0" is a socket on this machine, "host:0" is TCP port 6000 there.
func dialX(ctx context.Context, display string) error {
	host, number, ok := strings.Cut(display, ":")
	if i := strings.LastIndex(display, ":"); ok && i > 0 {
		host, number = display[:i], display[i+1:]
	}
	number, _, _ = strings.Cut(number, ".")
	var n int
	if _, err := fmt.Sscanf(number, "%d", &n); err != nil {
		return fmt.Errorf("read display %q: %w", display, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var d net.Dialer
	var err error
	var conn net.Conn
	if host == "" || host == "unix" {
		for _, socket := range []string{fmt.Sprintf("/tmp/.X11-unix/X%d", n), fmt.Sprintf("@/tmp/.X11-unix/X%d", n)} {
			if conn, err = d.DialContext(ctx, "unix", socket); err == nil {
				break
			}
		}
	} else {
		conn, err = d.DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", strings.Trim(host, "[]"), 6000+n))
	}
	if err != nil {
		return fmt.Errorf("connect to display %q: %w", display, err)
	}
	return conn.Close()
}

func HasTray(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := sessionbus.Open(ctx)
	if err != nil {
		return false
	}
	defer conn.Close()
	var owned bool
	err = conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, "org.kde.StatusNotifierWatcher").Store(&owned)
	return err == nil && owned
}

// readAccessibility asks the desktop's portal (org.freedesktop.portal.Settings), which passes on the settings of GNOME and others.
func readAccessibility(ctx context.Context) (c Accessibility, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := sessionbus.Open(ctx)
	if err != nil {
		return c, err
	}
	defer conn.Close()
	const gnome, appearance = "org.gnome.desktop.", "org.freedesktop.appearance"
	var all map[string]map[string]dbus.Variant
	portal := conn.Object("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop")
	if err := portal.CallWithContext(ctx, "org.freedesktop.portal.Settings.ReadAll", 0, []string{gnome + "*", appearance}).Store(&all); err != nil {
		return c, err
	}
	desktop, access := all[gnome+"interface"], all[gnome+"a11y.interface"]
	contrast, _ := all[appearance]["contrast"].Value().(uint32)
	high, _ := access["high-contrast"].Value().(bool)
	gtk, _ := desktop["gtk-theme"].Value().(string)
	c.Contrast = contrast == 1 || high || strings.HasPrefix(gtk, "HighContrast")
	if factor, is := desktop["text-scaling-factor"].Value().(float64); is {
		c.Text = int(math.Round(min(factor, 10) * 100))
	}
	moves, said := desktop["enable-animations"].Value().(bool)
	less, _ := all[appearance]["reduced-motion"].Value().(uint32)
	c.ReducedMotion = said && !moves || less == 1
	return c, nil
}
