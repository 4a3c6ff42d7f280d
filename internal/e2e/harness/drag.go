//go:build linux

package harness

import (
	"net/url"
	"os"
	"strconv"
	"testing"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// MailProgram is an X client from which an attachment can be dragged that has no file yet: it is offered by the direct save
// protocol (XDS), as mail programs and browsers do. Unlike Dragger it knows of windows in whose place others talk.
type MailProgram struct {
	t          testing.TB
	conn       *xgb.Conn
	own        xproto.Window
	to, window xproto.Window // who talks for the window, and the window
	content    []byte        // of the attachment
	saved      string        // where
}

// MailProgram starts one with an attachment, over a window.
func (d *Desktop) MailProgram(w *Window, name string, content []byte) *MailProgram {
	d.T.Helper()
	conn, err := xgb.NewConnDisplay(d.display)
	Must(d.T, err)
	d.T.Cleanup(conn.Close)
	id, err := strconv.ParseUint(w.ID, 10, 32)
	Must(d.T, err)
	m := &MailProgram{t: d.T, conn: conn, window: xproto.Window(id), content: content}
	m.own, err = xproto.NewWindowId(conn)
	Must(d.T, err)
	root := xproto.Setup(conn).DefaultScreen(conn).Root
	Must(d.T, xproto.CreateWindowChecked(conn, 0, m.own, root, -1, -1, 1, 1, 0, xproto.WindowClassInputOnly, 0, 0, nil).Check())
	proxy, err := xproto.GetProperty(conn, false, m.window, m.atom("XdndProxy"), xproto.AtomWindow, 0, 1).Reply()
	Must(d.T, err)
	if len(proxy.Value) != 4 {
		d.T.Fatal("the window is no drop target of its own")
	}
	m.to = xproto.Window(xgb.Get32(proxy.Value))
	Must(d.T, xproto.ChangePropertyChecked(conn, xproto.PropModeReplace, m.own, m.atom("XdndDirectSave0"), m.atom("text/plain"), 8,
		uint32(len(name)), []byte(name)).Check())
	Must(d.T, xproto.SetSelectionOwnerChecked(conn, m.own, m.atom("XdndSelection"), xproto.TimeCurrentTime).Check())
	return m
}

func (m *MailProgram) atom(name string) xproto.Atom {
	m.t.Helper()
	reply, err := xproto.InternAtom(m.conn, false, uint16(len(name)), name).Reply()
	Must(m.t, err)
	return reply.Atom
}

func (m *MailProgram) tell(name string, data ...uint32) {
	m.t.Helper()
	e := xproto.ClientMessageEvent{Format: 32, Window: m.window, Type: m.atom(name), Data: xproto.ClientMessageDataUnionData32New(data)}
	Must(m.t, xproto.SendEventChecked(m.conn, false, m.to, xproto.EventMaskNoEvent, string(e.Bytes())).Check())
}

// HoldsButton presses the mouse button at a place of the screen, until letGo is called.
func (d *Desktop) HoldsButton(x, y int) (letGo func()) {
	d.T.Helper()
	act := func(args ...string) {
		d.T.Helper()
		if _, err := d.Run("xdotool", args...); err != nil {
			d.T.Fatalf("xdotool %q: %v", args, err)
		}
	}
	act("mousemove", strconv.Itoa(x), strconv.Itoa(y), "mousedown", "1")
	return func() { act("mouseup", "1") }
}

// Over drags the attachment over a place of the screen, and says whether it may be dropped there.
func (m *MailProgram) Over(x, y int) bool {
	m.t.Helper()
	m.tell("XdndEnter", uint32(m.own), 5<<24, uint32(m.atom("XdndDirectSave0")), 0, 0)
	m.tell("XdndPosition", uint32(m.own), 0, uint32(x)<<16|uint32(y), 0, uint32(m.atom("XdndActionCopy")))
	return m.answer("XdndStatus")[1]&1 != 0
}

// Away drags it away from the window.
func (m *MailProgram) Away() { m.tell("XdndLeave", uint32(m.own), 0, 0, 0, 0) }

// Drop lets go, saves the attachment where the window says, and returns where.
func (m *MailProgram) Drop() (path string) {
	m.t.Helper()
	m.tell("XdndDrop", uint32(m.own), 0, 0, 0, 0)
	if m.answer("XdndFinished")[1]&1 == 0 {
		m.t.Fatal("the attachment was not taken")
	}
	address, err := xproto.GetProperty(m.conn, false, m.own, m.atom("XdndDirectSave0"), xproto.GetPropertyTypeAny, 0, 1024).Reply()
	Must(m.t, err)
	if len(address.Value) > 0 {
		m.t.Errorf("the address is left behind: %s", address.Value)
	}
	return m.saved
}

// answer serves until the window answers.
func (m *MailProgram) answer(name string) []uint32 {
	m.t.Helper()
	kind := m.atom(name)
	for {
		event, err := m.conn.WaitForEvent()
		if event == nil {
			m.t.Fatalf("no %s: %v", name, err)
		}
		switch e := event.(type) {
		case xproto.ClientMessageEvent:
			if e.Type == kind {
				return e.Data.Data32
			}
		case xproto.SelectionRequestEvent:
			m.save(e)
		}
	}
}

func (m *MailProgram) save(e xproto.SelectionRequestEvent) {
	m.t.Helper()
	address, err := xproto.GetProperty(m.conn, false, m.own, e.Target, xproto.GetPropertyTypeAny, 0, 1024).Reply()
	Must(m.t, err)
	to, err := url.Parse(string(address.Value))
	Must(m.t, err)
	m.saved = to.Path
	Must(m.t, os.WriteFile(to.Path, m.content, 0o600))
	Must(m.t, xproto.ChangePropertyChecked(m.conn, xproto.PropModeReplace, e.Requestor, e.Property, e.Target, 8, 1, []byte("S")).Check())
	notify := xproto.SelectionNotifyEvent{Time: e.Time, Requestor: e.Requestor, Selection: e.Selection, Target: e.Target, Property: e.Property}
	Must(m.t, xproto.SendEventChecked(m.conn, false, e.Requestor, xproto.EventMaskNoEvent, string(notify.Bytes())).Check())
}
