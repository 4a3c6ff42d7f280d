//go:build !windows && !darwin

package system

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// The clipboard of X11 is not a place but an owner, who answers whoever pastes (the Inter-Client Communication Conventions
// Manual 2.0, section 2). Fyne owns it for texts alone.

// mostPasted is how much may be handed over in one piece, in bytes: X servers take requests of 256 KiB.
const mostPasted = 200 << 10

// clipboard is the one that this program owns.
var clipboard struct {
	mu   sync.Mutex
	conn *xgb.Conn // nil while it owns none
}

// ownClipboard has everybody who pastes get one of these forms, by their names, until somebody else copies something, or the
// program ends.
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

// selection answers those who paste. It belongs to one goroutine.
type selection struct {
	conn    *xgb.Conn
	targets xproto.Atom
	forms   map[xproto.Atom][]byte
}

// claim makes a window, which nobody sees, the owner of the clipboard.
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

// serve answers until somebody else owns the clipboard or the display is gone.
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

// answer hands over the form that is asked for, or the list of them, or says that there is no such form.
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
