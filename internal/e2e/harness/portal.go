//go:build linux

package harness

import (
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"countersign/internal/e2e/portaltest"
)

// Portal is the desktop's file dialog, in which the test chooses.
type Portal struct {
	t       testing.TB
	conn    *dbus.Conn
	dialogs <-chan *portaltest.Dialog
}

// StartPortal gives the session a desktop portal.
func (d *Desktop) StartPortal() *Portal {
	d.T.Helper()
	conn := d.Connect()
	p, err := portaltest.Serve(conn, 4)
	if err != nil {
		d.T.Fatal(err)
	}
	return &Portal{d.T, conn, p.Dialogs}
}

// Dialog waits for the next dialog.
func (p *Portal) Dialog() *portaltest.Dialog {
	p.t.Helper()
	select {
	case d := <-p.dialogs:
		return d
	case <-time.After(Patience):
		p.t.Fatal("no dialog was asked for")
		return nil
	}
}

// None says whether no further dialog was asked for.
func (p *Portal) None() bool { return len(p.dialogs) == 0 }

// Die ends the portal with all its dialogs.
func (p *Portal) Die() { p.conn.Close() }
