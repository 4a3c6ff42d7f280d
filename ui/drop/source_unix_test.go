//go:build !windows && !darwin

package drop

import (
	"cmp"
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/ui/displaytest"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shelf is a folder.
type shelf struct {
	dir   string
	hangs chan bool
}

func (s shelf) Take(_ context.Context, name string, _ int64, from io.Reader) (string, error) {
	data, err := io.ReadAll(from)
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.dir, filepath.Base(cmp.Or(name, "Document")))
	return path, os.WriteFile(path, data, 0o600)
}
func (s shelf) Place(name string) (string, error) {
	return filepath.Join(s.dir, filepath.Base(cmp.Or(name, "Document"))), nil
}
func (s shelf) Placed(path string) error { _, err := os.Stat(path); return err }
func (s shelf) Keep(_ context.Context, path string) string {
	if s.hangs != nil {
		s.hangs <- true
		<-s.hangs
	}
	return path
}

// seen is what a window was told, in order.
type seen struct {
	what  string // over, over nothing, left, dropped
	at    Point
	paths []string
	wrong []error
}

// board is a window with its drop target.
type board struct {
	t      *testing.T
	conn   *xgb.Conn
	root   xproto.Window
	window xproto.Window
	folder string
	told   chan seen
	stop   func()

	hangs    chan bool    // hears that a file is looked at, and lets it go on; nil where nothing hangs
	fetching atomic.Int32 // drops that are being fetched

	mu      sync.Mutex
	refuses bool
}

// newBoard is one on which nobody minds that no button is held, for the tests have no mouse, and everybody may take as long as a
// busy computer does.
func newBoard(t *testing.T) *board { return newBoardThat(t, func(*patience) {}) }

func newBoardThat(t *testing.T, change func(*patience)) *board {
	t.Helper()
	displaytest.Start(t)
	b := &board{t: t, folder: t.TempDir(), told: make(chan seen, 100)}
	b.conn, b.root, b.window = newXWindow(t, 100, 50)
	todo := make(chan func(), 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for f := range todo {
			f()
		}
	}()
	p := usual
	p.busy, p.held, p.glance, p.answer, p.saving = time.Hour, time.Hour, time.Hour, time.Hour, time.Hour
	change(&p)
	stop, err := watch(uintptr(b.window), Window{
		Do: func(f func()) { todo <- f },
		Over: func(at Point, files bool) bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			what := "over"
			if !files {
				what = "over nothing"
			}
			b.told <- seen{what: what, at: at}
			return !b.refuses
		},
		Fetching: func(begins bool) {
			if begins {
				b.fetching.Add(1)
			} else {
				b.fetching.Add(-1)
			}
		},
		Left:    func() { b.told <- seen{what: "left"} },
		Dropped: func(at Point, paths []string, wrong []error) { b.told <- seen{"dropped", at, paths, wrong} },
		Shelf:   func() Shelf { return shelf{b.folder, b.hangs} },
	}, p)
	must(t, err)
	b.stop = sync.OnceFunc(func() {
		stop()
		close(todo)
		<-done
	})
	t.Cleanup(b.stop)
	return b
}

// next waits for what the window is told next.
func (b *board) next(what string) seen {
	b.t.Helper()
	select {
	case s := <-b.told:
		if s.what != what {
			b.t.Fatalf("the window is told %+v, not %s", s, what)
		}
		return s
	case <-time.After(30 * time.Second):
		b.t.Fatalf("the window is not told %s", what)
	}
	return seen{}
}

// quiet fails when the window was told something.
func (b *board) quiet() {
	b.t.Helper()
	select {
	case s := <-b.told:
		b.t.Fatalf("the window is told %+v", s)
	default:
	}
}

func newXWindow(t *testing.T, x, y int16) (*xgb.Conn, xproto.Window, xproto.Window) {
	t.Helper()
	conn, err := xgb.NewConn()
	must(t, err)
	t.Cleanup(conn.Close)
	window, err := xproto.NewWindowId(conn)
	must(t, err)
	root := xproto.Setup(conn).DefaultScreen(conn).Root
	must(t, xproto.CreateWindowChecked(conn, 0, window, root, x, y, 200, 200, 0, xproto.WindowClassInputOutput, 0,
		xproto.CwEventMask, []uint32{xproto.EventMaskPropertyChange}).Check())
	return conn, root, window
}

// source is a program from which something is dragged. It finds the drop target as such programs do.
type source struct {
	*board
	conn   *xgb.Conn
	window xproto.Window
	to     xproto.Window // that is talked to
	atoms  map[string]xproto.Atom

	order    []string          // of forms
	forms    map[string][]byte // in which it is offered
	pieces   int               // bytes at a time; 0 for all at once
	saves    func(path string) byte
	least    uint32                        // how many bytes it says that the pieces have
	stalls   bool                          // does not hand over anything
	claims   bool                          // says that it has handed over something, and has not
	endless  bool                          // there is always another piece
	finished []uint32                      // what it was told while it handed over
	before   func()                        // is called before it hands over something
	owed     *xproto.SelectionRequestEvent // that it did not answer, as it stalls
	asked    []string
}

func (b *board) source(forms ...string) *source {
	b.t.Helper()
	s := &source{board: b, atoms: map[string]xproto.Atom{}, forms: map[string][]byte{}}
	s.conn, _, s.window = newXWindow(b.t, 0, 0)
	for i := 0; i < len(forms); i += 2 {
		s.order = append(s.order, forms[i])
		s.forms[forms[i]] = []byte(forms[i+1])
	}
	proxy, err := xproto.GetProperty(s.conn, false, b.window, s.atom("XdndProxy"), xproto.AtomWindow, 0, 1).Reply()
	must(b.t, err)
	if len(proxy.Value) != 4 {
		b.t.Fatal("the window names nobody that talks for it")
	}
	s.to = xproto.Window(xgb.Get32(proxy.Value))
	for name, want := range map[string]uint32{"XdndProxy": uint32(s.to), "XdndAware": 5} {
		p, err := xproto.GetProperty(s.conn, false, s.to, s.atom(name), xproto.GetPropertyTypeAny, 0, 1).Reply()
		must(b.t, err)
		if len(p.Value) != 4 || xgb.Get32(p.Value) != want {
			b.t.Fatalf("%s of who talks for it is %v", name, p.Value)
		}
	}
	must(b.t, xproto.SetSelectionOwnerChecked(s.conn, s.window, s.atom("XdndSelection"), xproto.TimeCurrentTime).Check())
	return s
}

func (s *source) atom(name string) xproto.Atom {
	s.t.Helper()
	if a, known := s.atoms[name]; known {
		return a
	}
	reply, err := xproto.InternAtom(s.conn, false, uint16(len(name)), name).Reply()
	must(s.t, err)
	s.atoms[name] = reply.Atom
	return reply.Atom
}

func (s *source) tell(name string, data ...uint32) {
	s.t.Helper()
	e := xproto.ClientMessageEvent{Format: 32, Window: s.board.window, Type: s.atom(name), Data: xproto.ClientMessageDataUnionData32New(data)}
	must(s.t, xproto.SendEventChecked(s.conn, false, s.to, xproto.EventMaskNoEvent, string(e.Bytes())).Check())
}

// enter comes over the window.
func (s *source) enter() *source {
	s.t.Helper()
	data := []uint32{uint32(s.window), 5 << 24, 0, 0, 0}
	list := make([]byte, 4*len(s.order))
	for i, name := range s.order {
		xgb.Put32(list[4*i:], uint32(s.atom(name)))
		if i < 3 {
			data[2+i] = uint32(s.atom(name))
		}
	}
	if len(s.order) > 3 {
		data[1] |= 1
		must(s.t, xproto.ChangePropertyChecked(s.conn, xproto.PropModeReplace, s.window, s.atom("XdndTypeList"), xproto.AtomAtom, 32,
			uint32(len(s.order)), list).Check())
	}
	s.tell("XdndEnter", data...)
	return s
}

// move moves to a place of the screen and returns whether a drop there would be taken.
func (s *source) move(x, y int) (takes bool) {
	s.t.Helper()
	s.tell("XdndPosition", uint32(s.window), 0, uint32(x)<<16|uint32(y), 0, uint32(s.atom("XdndActionCopy")))
	answer := s.answered("XdndStatus")
	if answer[0] != uint32(s.board.window) {
		s.t.Errorf("the answer is for window %d", answer[0])
	}
	return answer[1]&1 != 0 && answer[4] == uint32(s.atom("XdndActionCopy"))
}

func (s *source) leave() { s.tell("XdndLeave", uint32(s.window), 0, 0, 0, 0) }

// drop lets go, hands over what is asked for, and returns whether it was taken.
func (s *source) drop() (taken bool) {
	s.t.Helper()
	s.tell("XdndDrop", uint32(s.window), 0, 0, 0, 0)
	return s.answered("XdndFinished")[1]&1 != 0
}

// owes drops something that it does not hand over, and ends its window but not itself.
func (s *source) owes() {
	s.t.Helper()
	s.stalls = true
	s.tell("XdndDrop", uint32(s.window), 0, 0, 0, 0)
	for s.owed == nil {
		event, err := s.conn.WaitForEvent()
		if event == nil {
			s.t.Fatal("it is asked for nothing: ", err)
		}
		if e, is := event.(xproto.SelectionRequestEvent); is {
			s.hand(e)
		}
	}
	must(s.t, xproto.DestroyWindowChecked(s.conn, s.window).Check())
}

// answersLate hands over what it owes, to whoever still wants it.
func (s *source) answersLate() {
	e, data := s.owed, s.forms[octets]
	xproto.ChangeProperty(s.conn, xproto.PropModeReplace, e.Requestor, e.Property, e.Target, 8, uint32(len(data)), data)
	notify := xproto.SelectionNotifyEvent{Time: e.Time, Requestor: e.Requestor, Selection: e.Selection, Target: e.Target, Property: e.Property}
	xproto.SendEvent(s.conn, false, e.Requestor, xproto.EventMaskNoEvent, string(notify.Bytes()))
	_, err := xproto.GetInputFocus(s.conn).Reply() // all that is done
	must(s.t, err)
}

// answered serves until an answer comes.
func (s *source) answered(name string) []uint32 {
	s.t.Helper()
	for {
		event, err := s.conn.WaitForEvent()
		if event == nil {
			s.t.Fatalf("no %s: %v", name, err)
		}
		switch e := event.(type) {
		case xproto.ClientMessageEvent:
			if e.Type == s.atom(name) {
				return e.Data.Data32
			}
		case xproto.SelectionRequestEvent:
			if s.hand(e); s.finished != nil {
				return s.finished
			}
		}
	}
}

// hand hands over one form.
func (s *source) hand(e xproto.SelectionRequestEvent) {
	s.t.Helper()
	form := ""
	for _, name := range s.order {
		if s.atom(name) == e.Target {
			form = name
		}
	}
	s.asked = append(s.asked, form)
	if s.stalls {
		s.owed = &e
		return
	}
	if s.before != nil {
		s.before()
	}
	data := s.forms[form]
	property := e.Property
	switch {
	case form == "":
		property = xproto.AtomNone
	case form == "XdndDirectSave0":
		address, err := xproto.GetProperty(s.conn, false, s.window, e.Target, xproto.GetPropertyTypeAny, 0, 1024).Reply()
		must(s.t, err)
		to, err := url.Parse(string(address.Value))
		must(s.t, err)
		if own, _ := os.Hostname(); to.Scheme != "file" || to.Host != own {
			s.t.Errorf("it is to be saved at %s", to)
		}
		data = []byte{s.saves(to.Path)}
	}
	set := func(kind xproto.Atom, format byte, n int, data []byte) {
		must(s.t, xproto.ChangePropertyChecked(s.conn, xproto.PropModeReplace, e.Requestor, property, kind, format, uint32(n), data).Check())
	}
	inPieces := s.pieces > 0 && property != xproto.AtomNone && form != "XdndDirectSave0"
	switch {
	case inPieces:
		xproto.ChangeWindowAttributes(s.conn, e.Requestor, xproto.CwEventMask, []uint32{xproto.EventMaskPropertyChange})
		least := make([]byte, 4)
		xgb.Put32(least, s.least)
		set(s.atom("INCR"), 32, 1, least)
	case property != xproto.AtomNone && !s.claims:
		set(e.Target, 8, len(data), data)
	}
	notify := xproto.SelectionNotifyEvent{Time: e.Time, Requestor: e.Requestor, Selection: e.Selection, Target: e.Target, Property: property}
	must(s.t, xproto.SendEventChecked(s.conn, false, e.Requestor, xproto.EventMaskNoEvent, string(notify.Bytes())).Check())
	for inPieces {
		if s.endless {
			data = []byte("and so on")
		}
		event, err := s.conn.WaitForEvent()
		if event == nil {
			s.t.Fatal("no answer to a piece: ", err)
		}
		if e, is := event.(xproto.ClientMessageEvent); is { // it has had enough
			s.finished = e.Data.Data32
			return
		}
		if p, is := event.(xproto.PropertyNotifyEvent); !is || p.Window != e.Requestor || p.Atom != property || p.State != xproto.PropertyDelete {
			continue
		}
		piece := data[:min(len(data), s.pieces)]
		data = data[len(piece):]
		set(e.Target, 8, len(piece), piece)
		inPieces = len(piece) > 0
	}
}
