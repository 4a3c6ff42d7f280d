//go:build !windows && !darwin

package system

import (
	"encoding/binary"
	"io"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// maximized are the names by which X11 knows that a window fills the screen (Extended Window Manager Hints, _NET_WM_STATE).
var maximized = []string{"_NET_WM_STATE", "_NET_WM_STATE_MAXIMIZED_VERT", "_NET_WM_STATE_MAXIMIZED_HORZ"}

// IsMaximized reports whether a window of the desktop fills the screen. A window manager forgets it once the window is hidden.
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

// Maximize has a hidden window fill the screen once it is shown.
func Maximize(window uintptr) {
	maximizing(window, func(conn *xgb.Conn, state, high, wide xproto.Atom) {
		value := binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, uint32(high)), uint32(wide))
		_ = xproto.ChangePropertyChecked(conn, xproto.PropModeReplace, xproto.Window(window), state, xproto.AtomAtom, 32, 2, value).Check()
	})
}

// maximizing does something with the names, where there is such a window.
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
