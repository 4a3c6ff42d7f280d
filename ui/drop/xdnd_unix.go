//go:build !windows && !darwin

package drop

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"countersign/internal/message"
)

// Drag and drop under X11 is a talk between two programs (XDND, version 5; freedesktop.org/wiki/Specifications/XDND). The
// graphics library takes part in it for the window. A window may name another one that does so in its place, in the property
// XdndProxy: that one is ours. Programs that do not know of that property keep talking to the graphics library.

const xdndVersion = 5

// target is the window's end of that talk. Its fields belong to the goroutine of serve, but for those that never change.
type target struct {
	Window
	patience patience
	ctx      context.Context // ends with the window
	conn     *xgb.Conn
	root     xproto.Window
	window   xproto.Window // the program's
	proxy    xproto.Window // ours, which nobody sees
	atoms    map[string]xproto.Atom
	host     string // what this computer is called

	events chan xgb.Event // closed when the display is gone
	later  []xgb.Event    // that came while something else was waited for
	drag   *drag          // nil while nothing is over the window
}

// drag is what is over the window.
type drag struct {
	source xproto.Window
	types  []xproto.Atom // that it is offered in
	files  bool
	at     Point
	takes  bool // as the window answered last
	shown  bool // the window was told that it is there
	free   int  // how often no button was held
}

// Watch takes what is dragged onto the X11 window, until stop is called, which waits for that; but not for long, should a file be
// on a disk that does not answer.
func Watch(window uintptr, w Window) (stop func(), err error) { return watch(window, w, usual) }

func watch(window uintptr, w Window, p patience) (stop func(), err error) {
	xgb.Logger.SetOutput(io.Discard)
	conn, err := xgb.NewConn()
	if err != nil {
		return nil, fmt.Errorf("reach the display: %w", err)
	}
	ctx, end := context.WithCancel(context.Background())
	x := &target{Window: w, patience: p, ctx: ctx, conn: conn, window: xproto.Window(window), atoms: map[string]xproto.Atom{},
		events: make(chan xgb.Event, 64)}
	x.host, _ = os.Hostname() // "" only takes what names no host
	if err := x.announce(); err != nil {
		end()
		conn.Close()
		return nil, err
	}
	done := make(chan struct{})
	go x.listen()
	go func() {
		defer close(done)
		x.serve()
	}()
	return func() {
		end()
		conn.Close()
		select {
		case <-done:
		case <-time.After(p.ending):
		}
	}, nil
}

// names are what the protocol calls things.
var names = []string{
	"XdndAware", "XdndProxy", "XdndEnter", "XdndPosition", "XdndStatus", "XdndLeave", "XdndDrop", "XdndFinished", "XdndTypeList",
	"XdndSelection", "XdndActionCopy", "XdndDirectSave0", "INCR", "COUNTERSIGN_DROP",
	"text/uri-list", "application/octet-stream", "application/pdf", "text/x-moz-url", "_NETSCAPE_URL", "text/plain",
}

// announce makes our window and names it at the program's.
func (x *target) announce() (err error) {
	var asked []xproto.InternAtomCookie
	for _, name := range names {
		asked = append(asked, xproto.InternAtom(x.conn, false, uint16(len(name)), name))
	}
	for i, name := range names {
		reply, err := asked[i].Reply()
		if err != nil {
			return fmt.Errorf("name %s: %w", name, err)
		}
		x.atoms[name] = reply.Atom
	}
	x.root = xproto.Setup(x.conn).DefaultScreen(x.conn).Root
	if x.proxy, err = x.ownWindow(); err != nil {
		return err
	}
	own := make([]byte, 4)
	xgb.Put32(own, uint32(x.proxy))
	version := make([]byte, 4)
	xgb.Put32(version, xdndVersion)
	for _, p := range []struct {
		on         xproto.Window
		name       string
		kind       xproto.Atom
		data       []byte
		complaints string
	}{
		{x.proxy, "XdndAware", xproto.AtomAtom, version, "say what we speak"},
		{x.proxy, "XdndProxy", xproto.AtomWindow, own, "name ourselves"},
		{x.window, "XdndProxy", xproto.AtomWindow, own, "stand in for the window"},
	} {
		if err := xproto.ChangePropertyChecked(x.conn, xproto.PropModeReplace, p.on, x.atoms[p.name], p.kind, 32, 1, p.data).Check(); err != nil {
			return fmt.Errorf("%s: %w", p.complaints, err)
		}
	}
	return nil
}

// ownWindow makes a window that nobody sees.
func (x *target) ownWindow() (xproto.Window, error) {
	window, err := xproto.NewWindowId(x.conn)
	if err != nil {
		return 0, err
	}
	err = xproto.CreateWindowChecked(x.conn, 0, window, x.root, -1, -1, 1, 1, 0, xproto.WindowClassInputOnly, 0,
		xproto.CwOverrideRedirect|xproto.CwEventMask, []uint32{1, xproto.EventMaskPropertyChange}).Check()
	if err != nil {
		return 0, fmt.Errorf("make a window: %w", err)
	}
	return window, nil
}

// listen hands over what the display tells, until it is gone.
func (x *target) listen() {
	defer close(x.events)
	for {
		event, err := x.conn.WaitForEvent()
		if event == nil && err == nil {
			return
		}
		if event == nil {
			continue // of a window that has gone meanwhile
		}
		select {
		case x.events <- event:
		case <-x.ctx.Done():
			return
		}
	}
}

// serve answers until the window ends or the display is gone.
func (x *target) serve() {
	look := time.NewTicker(x.patience.held)
	defer look.Stop()
	for {
		if len(x.later) > 0 {
			e := x.later[0]
			x.later = x.later[1:]
			x.handle(e)
			continue
		}
		var ticks <-chan time.Time
		if x.drag != nil && x.drag.shown {
			ticks = look.C
		}
		select {
		case <-x.ctx.Done():
			return
		case e, open := <-x.events:
			if !open {
				return
			}
			x.handle(e)
		case <-ticks:
			x.checkHeld()
		}
	}
}

func (x *target) handle(event xgb.Event) {
	switch e := event.(type) {
	case xproto.DestroyNotifyEvent:
		if x.drag != nil && e.Window == x.drag.source {
			x.end()
		}
	case xproto.ClientMessageEvent:
		if e.Format != 32 {
			return
		}
		data := e.Data.Data32
		switch {
		case e.Type == x.atoms["XdndEnter"]:
			x.enter(xproto.Window(data[0]), data[1]&1 != 0, data[2:])
		case x.drag == nil || xproto.Window(data[0]) != x.drag.source:
			return
		case e.Type == x.atoms["XdndPosition"]:
			x.move(e.Window, int16(data[2]>>16), int16(data[2]))
		case e.Type == x.atoms["XdndLeave"]:
			x.end()
		case e.Type == x.atoms["XdndDrop"]:
			x.drop(e.Window, xproto.Timestamp(data[2]))
		}
	}
}

// enter notes what comes over the window, and whether it is files.
func (x *target) enter(source xproto.Window, more bool, three []uint32) {
	if x.drag != nil {
		x.end()
	}
	d := &drag{source: source}
	for _, kind := range three {
		d.types = append(d.types, xproto.Atom(kind))
	}
	if more {
		list, err := xproto.GetProperty(x.conn, false, source, x.atoms["XdndTypeList"], xproto.AtomAtom, 0, 1024).Reply()
		if err == nil && list.Format == 32 {
			d.types = nil
			for i := 0; i+4 <= len(list.Value); i += 4 {
				d.types = append(d.types, xproto.Atom(xgb.Get32(list.Value[i:])))
			}
		}
	}
	// That it ends is told to whoever asks. A window that is gone already is no matter: nothing more comes from it.
	xproto.ChangeWindowAttributes(x.conn, source, xproto.CwEventMask, []uint32{xproto.EventMaskStructureNotify})
	x.drag = d
	d.files = x.offersFiles()
}

func (d *drag) has(kind xproto.Atom) bool { return slices.Contains(d.types, kind) }

// offersFiles says whether there is a file in what is dragged. Links of browsers come as a list of addresses as files do; only
// what is in it tells them apart. Where the file has yet to be made it is not asked for: that would make it.
func (x *target) offersFiles() bool {
	d := x.drag
	switch {
	case d.has(x.atoms["XdndDirectSave0"]), d.has(x.atoms["application/octet-stream"]), d.has(x.atoms["application/pdf"]):
		return true
	case !d.has(x.atoms["text/uri-list"]):
		return false
	case !d.has(x.atoms["text/x-moz-url"]) && !d.has(x.atoms["_NETSCAPE_URL"]):
		return true
	}
	ctx, cancel := context.WithTimeoutCause(x.ctx, x.patience.glance, errSlow)
	defer cancel()
	list, err := x.list(ctx, xproto.TimeCurrentTime, x.patience.glance)
	return err != nil || len(list.paths) > 0 || list.elsewhere > 0
}

// move asks the window whether it takes a drop at a place of the screen, and passes the answer on. A program from which something
// is let go of before it knows drops nothing: where the window is busy, it is told what was the answer last, and the window decides
// when it gets the files.
func (x *target) move(to xproto.Window, rootX, rootY int16) {
	d := x.drag
	place, err := xproto.TranslateCoordinates(x.conn, x.root, x.window, rootX, rootY).Reply()
	if err != nil {
		return // the window is gone
	}
	at := Point{int(place.DstX), int(place.DstY)}
	answer := make(chan bool, 1)
	x.Do(func() { answer <- x.Over(at, d.files) })
	select {
	case d.takes = <-answer:
	case <-time.After(x.patience.busy):
		d.takes = d.takes || !d.shown
	}
	d.takes = d.takes && d.files
	d.at, d.shown, d.free = at, true, 0
	says, action := uint32(2), xproto.Atom(0) // 2: tell about every move
	if d.takes {
		says, action = 3, x.atoms["XdndActionCopy"]
	}
	x.tell(d.source, "XdndStatus", uint32(to), says, 0, 0, uint32(action))
}

// drop takes what was let go of, and tells its program when it may forget it.
func (x *target) drop(to xproto.Window, at xproto.Timestamp) {
	d := x.drag
	var p parcel
	if d.shown {
		x.Do(x.Left)
	}
	if d.takes {
		x.Do(func() { x.Fetching(true) })
		p = x.fetch(at)
		if x.ctx.Err() != nil {
			return // nobody waits for it
		}
		x.Do(func() { x.Fetching(false) })
	} else if !d.files {
		p.add("", message.Error(message.DropNoFile(), nil))
	}
	accepted, action := uint32(0), xproto.Atom(0)
	if len(p.paths) > 0 {
		accepted, action = 1, x.atoms["XdndActionCopy"]
	}
	x.tell(d.source, "XdndFinished", uint32(to), accepted, uint32(action), 0, 0)
	x.forget(d)
	if d.takes || !d.files {
		x.Do(func() { x.Dropped(d.at, p.paths, p.wrong) })
	}
}

// end takes the sign away: it went, or its program did.
func (x *target) end() {
	d := x.drag
	x.forget(d)
	if d.shown {
		x.Do(x.Left)
	}
}

func (x *target) forget(d *drag) {
	xproto.ChangeWindowAttributes(x.conn, d.source, xproto.CwEventMask, []uint32{xproto.EventMaskNoEvent})
	x.drag = nil
}

// checkHeld takes the sign away when nobody holds a button any more: a program that hangs, or is ended, does not say that it
// has given up. Should the program be only slow, its next word brings the sign back, and its drop is taken.
func (x *target) checkHeld() {
	const buttons = xproto.KeyButMaskButton1 | xproto.KeyButMaskButton2 | xproto.KeyButMaskButton3
	pointer, err := xproto.QueryPointer(x.conn, x.root).Reply()
	if err != nil || pointer.Mask&buttons != 0 {
		x.drag.free = 0
		return
	}
	if x.drag.free++; x.drag.free > 1 {
		x.drag.shown = false
		x.Do(x.Left)
	}
}

// tell sends a message of the protocol.
func (x *target) tell(to xproto.Window, name string, data ...uint32) {
	e := xproto.ClientMessageEvent{Format: 32, Window: to, Type: x.atoms[name], Data: xproto.ClientMessageDataUnionData32New(data)}
	xproto.SendEvent(x.conn, false, to, xproto.EventMaskNoEvent, string(e.Bytes()))
}
