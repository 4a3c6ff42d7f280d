//go:build linux

package harness

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Dragger is an X client that drags files onto other windows by the XDND protocol, version 5. It speaks X11 itself: what
// little is needed of the protocol is less than a library, and it moves no pointer that another test could be using.
type Dragger struct {
	t      testing.TB
	conn   net.Conn
	root   uint32
	window uint32 // of its own, the source of the drag
	atoms  map[string]uint32
}

// X11's request codes and event types that are used here.
const (
	reqCreateWindow   = 1
	reqInternAtom     = 16
	reqChangeProperty = 18
	reqSetSelection   = 22
	reqSendEvent      = 25

	evSelectionRequest = 30
	evSelectionNotify  = 31
	evClientMessage    = 33
)

func (d *Desktop) Dragger() *Dragger {
	d.T.Helper()
	conn, err := net.Dial("unix", "/tmp/.X11-unix/X"+strings.TrimPrefix(d.display, ":"))
	if err != nil {
		d.T.Fatalf("connect to the display: %v", err)
	}
	d.T.Cleanup(func() { conn.Close() })
	Must(d.T, conn.SetDeadline(time.Now().Add(Patience)))
	x := &Dragger{t: d.T, conn: conn, atoms: map[string]uint32{}}
	x.hello()
	for _, answer := range []string{"XdndStatus", "XdndFinished"} {
		x.atom(answer)
	}
	x.request(reqCreateWindow, 0, words(x.window, x.root, 0, 1<<16|1, 2<<16, 0, 0)) // 1 x 1, InputOnly
	return x
}

// hello opens the connection and learns the root window and the ids that are ours.
func (x *Dragger) hello() {
	x.t.Helper()
	x.write([]byte{'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	head := x.read(8)
	if head[0] != 1 {
		x.t.Fatal("the display refuses the connection")
	}
	body := x.read(4 * int(binary.LittleEndian.Uint16(head[6:])))
	vendor := int(binary.LittleEndian.Uint16(body[16:]))
	formats := int(body[21])
	screen := 32 + (vendor+3)/4*4 + 8*formats
	x.window = binary.LittleEndian.Uint32(body[4:]) + 1
	x.root = binary.LittleEndian.Uint32(body[screen:])
}

// Drop drags a file onto the middle of a window and lets go.
func (x *Dragger) Drop(window, path string) {
	x.t.Helper()
	id, err := strconv.ParseUint(window, 10, 32)
	Must(x.t, err)
	target := uint32(id)
	list := (&url.URL{Scheme: "file", Path: path}).String() + "\r\n"
	const version = 5 << 24
	x.request(reqSetSelection, 0, words(x.window, x.atom("XdndSelection"), 0))
	x.tell(target, "XdndEnter", x.window, version, x.atom("text/uri-list"), 0, 0)
	x.tell(target, "XdndPosition", x.window, 0, 400<<16|300, 0, x.atom("XdndActionCopy"))
	if data := x.told("XdndStatus"); data[1]&1 == 0 {
		x.t.Fatal("the window does not accept the file")
	}
	x.tell(target, "XdndDrop", x.window, 0, 0, 0, 0)
	for {
		e := x.next()
		switch {
		case e[0]&0x7f == evSelectionRequest:
			x.hand(e, list)
		case x.is(e, "XdndFinished"):
			return
		}
	}
}

// hand answers a SelectionRequest with the list of files.
func (x *Dragger) hand(request []byte, list string) {
	x.t.Helper()
	field := func(at int) uint32 { return binary.LittleEndian.Uint32(request[at:]) }
	time, requestor, selection, kind, property := field(4), field(12), field(16), field(20), field(24)
	x.request(reqChangeProperty, 0, append(words(requestor, property, kind, 8, uint32(len(list))), padded(list)...))
	notify := append([]byte{evSelectionNotify, 0, 0, 0}, words(time, requestor, selection, kind, property, 0, 0)...)
	x.request(reqSendEvent, 0, append(words(requestor, 0), notify...))
}

// tell sends a client message.
func (x *Dragger) tell(window uint32, kind string, data ...uint32) {
	x.t.Helper()
	message := append([]byte{evClientMessage, 32, 0, 0}, words(window, x.atom(kind))...)
	x.request(reqSendEvent, 0, append(words(window, 0), append(message, words(data...)...)...))
}

// told waits for a client message of this kind and returns its data.
func (x *Dragger) told(kind string) (data [5]uint32) {
	x.t.Helper()
	for {
		e := x.next()
		if !x.is(e, kind) {
			continue
		}
		for i := range data {
			data[i] = binary.LittleEndian.Uint32(e[12+4*i:])
		}
		return data
	}
}

func (x *Dragger) is(event []byte, kind string) bool {
	return event[0]&0x7f == evClientMessage && binary.LittleEndian.Uint32(event[8:]) == x.atoms[kind]
}

// atom is the number of a name; the names of answers must be known before they come.
func (x *Dragger) atom(name string) uint32 {
	x.t.Helper()
	if a, known := x.atoms[name]; known {
		return a
	}
	x.request(reqInternAtom, 0, append(words(uint32(len(name))), padded(name)...))
	for {
		e := x.next()
		if e[0] == 1 {
			x.atoms[name] = binary.LittleEndian.Uint32(e[8:])
			return x.atoms[name]
		}
	}
}

// next reads an event or a reply; none of the replies used here is longer than an event.
func (x *Dragger) next() []byte {
	x.t.Helper()
	e := x.read(32)
	if e[0] == 0 {
		x.t.Fatalf("the display answers with error %d to request %d", e[1], e[10])
	}
	return e
}

func (x *Dragger) request(code, detail byte, body []byte) {
	x.t.Helper()
	head := []byte{code, detail, 0, 0}
	binary.LittleEndian.PutUint16(head[2:], uint16(1+len(body)/4))
	x.write(append(head, body...))
}

func (x *Dragger) write(b []byte) {
	x.t.Helper()
	if _, err := x.conn.Write(b); err != nil {
		x.t.Fatalf("talk to the display: %v", err)
	}
}

func (x *Dragger) read(n int) []byte {
	x.t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(x.conn, b); err != nil {
		x.t.Fatalf("listen to the display: %v", err)
	}
	return b
}

func words(list ...uint32) (b []byte) {
	for _, w := range list {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// padded is s filled up to whole words.
func padded(s string) []byte { return append([]byte(s), make([]byte, (4-len(s)%4)%4)...) }
