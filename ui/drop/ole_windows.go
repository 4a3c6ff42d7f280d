package drop

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"countersign/internal/message"
)

// A window on Windows has one drop target, an OLE object (IDropTarget, oleidl.h). OLE calls it on the window's thread, which is
// Fyne's, so its methods may use the window directly. It takes the place of WM_DROPFILES, which serves windows without such an
// object.

var (
	ole32  = windows.NewLazySystemDLL("ole32.dll")
	user32 = windows.NewLazySystemDLL("user32.dll")

	oleInitialize    = ole32.NewProc("OleInitialize")
	oleUninitialize  = ole32.NewProc("OleUninitialize")
	registerDragDrop = ole32.NewProc("RegisterDragDrop")
	revokeDragDrop   = ole32.NewProc("RevokeDragDrop")
	screenToClient   = user32.NewProc("ScreenToClient")
	loadCursor       = user32.NewProc("LoadCursorW")
	setCursor        = user32.NewProc("SetCursor")
)

const (
	sOK          = 0
	sFalse       = 1
	eNoInterface = 0x80004002

	effectNone = 0
	effectCopy = 1
)

// unknown is any COM object: a table of its methods, of which the first three are QueryInterface, AddRef and Release.
type unknown struct{ methods *[16]uintptr }

// call calls the method at an index of the table. A negative result is a failure. Memory whose address is an argument stays in place
// until the call returns and is not on Go's stack, which moves when the other side calls back.
//
//go:uintptrescapes
func (u *unknown) call(method int, args ...uintptr) (result int32) {
	r, _, _ := syscall.SyscallN(u.methods[method], append([]uintptr{uintptr(unsafe.Pointer(u))}, args...)...)
	return int32(r)
}

func (u *unknown) release() { u.call(2) }

// dropTarget is the object. Its first field is what OLE knows of it.
type dropTarget struct {
	methods    *[7]uintptr
	references atomic.Int32
	Window
	timeouts timeouts
	window   uintptr
	over     bool // something is over the window
	files    bool // and contains files
}

// targetMethods is shared by all drop targets because only a limited number of callbacks can be created.
var targetMethods = [7]uintptr{
	windows.NewCallback(func(t *dropTarget, id *windows.GUID, to **dropTarget) uintptr { return t.queryInterface(id, to) }),
	windows.NewCallback(func(t *dropTarget) uintptr { return uintptr(t.references.Add(1)) }),
	windows.NewCallback(func(t *dropTarget) uintptr { return uintptr(t.release()) }),
	windows.NewCallback(func(t *dropTarget, data *unknown, _, at uintptr, effect *uint32) uintptr {
		return t.dragEnter(data, at, effect)
	}),
	windows.NewCallback(func(t *dropTarget, _, at uintptr, effect *uint32) uintptr { return t.dragOver(at, effect) }),
	windows.NewCallback(func(t *dropTarget) uintptr { return t.dragLeave() }),
	windows.NewCallback(func(t *dropTarget, data *unknown, _, at uintptr, effect *uint32) uintptr {
		return t.drop(data, at, effect)
	}),
}

var (
	idUnknown    = windows.GUID{Data4: [8]byte{0xc0, 0, 0, 0, 0, 0, 0, 0x46}}
	idDropTarget = windows.GUID{Data1: 0x122, Data4: [8]byte{0xc0, 0, 0, 0, 0, 0, 0, 0x46}}
)

// kept holds the objects that are referenced: OLE keeps them where the garbage collector does not look, possibly longer than the
// window is a target, for a program that still drags something over it.
var kept sync.Map

// newTarget returns an object with one reference, owned by the caller.
func newTarget(window uintptr, w Window, p timeouts) *dropTarget {
	t := &dropTarget{methods: &targetMethods, Window: w, timeouts: p, window: window}
	t.references.Store(1)
	kept.Store(t, nil)
	return t
}

func (t *dropTarget) release() int32 {
	left := t.references.Add(-1)
	if left == 0 {
		kept.Delete(t)
	}
	return left
}

// Watch receives what is dragged onto the window with that handle until stop is called. Call both on the window's thread.
func Watch(window uintptr, w Window) (stop func(), err error) {
	if r, _, _ := oleInitialize.Call(0); int32(r) < 0 {
		return nil, fmt.Errorf("OleInitialize answers %#x", uint32(r))
	}
	t := newTarget(window, w, usual)
	if r, _, _ := registerDragDrop.Call(window, uintptr(unsafe.Pointer(t))); int32(r) < 0 {
		t.release()
		oleUninitialize.Call()
		return nil, fmt.Errorf("RegisterDragDrop answers %#x", uint32(r))
	}
	return func() {
		revokeDragDrop.Call(window) // fails if the window is gone
		t.release()
		oleUninitialize.Call()
	}, nil
}

func (t *dropTarget) queryInterface(id *windows.GUID, to **dropTarget) uintptr {
	if *id != idUnknown && *id != idDropTarget {
		*to = nil
		return eNoInterface
	}
	t.references.Add(1)
	*to = t
	return sOK
}

// place converts a screen position, which OLE passes as a number of two halves, to the window.
func (t *dropTarget) place(at uintptr) Point {
	point := struct{ x, y int32 }{int32(at), int32(at >> 32)}
	screenToClient.Call(t.window, uintptr(unsafe.Pointer(&point)))
	return Point{int(point.x), int(point.y)}
}

func (t *dropTarget) dragEnter(data *unknown, at uintptr, effect *uint32) uintptr {
	t.end()
	t.over, t.files = true, offersFiles(data)
	return t.dragOver(at, effect)
}

// dragOver says what a drop would do; files that are taken are copied.
func (t *dropTarget) dragOver(at uintptr, effect *uint32) uintptr {
	allowed := *effect & effectCopy
	*effect = effectNone
	if t.over && t.Over(t.place(at), t.files && allowed != 0) && t.files {
		*effect = allowed
	}
	return sOK
}

func (t *dropTarget) dragLeave() uintptr {
	t.end()
	return sOK
}

func (t *dropTarget) end() {
	if t.over {
		t.over = false
		t.Left()
	}
}

// drop takes the dropped files: in the background if the other program allows it, otherwise before returning.
func (t *dropTarget) drop(data *unknown, at uintptr, effect *uint32) uintptr {
	place := t.place(at)
	files, allowed := offersFiles(data), *effect&effectCopy
	*effect = effectNone
	takes := t.Over(place, files && allowed != 0)
	t.over = false
	t.Left()
	if !files || allowed == 0 {
		t.Dropped(place, nil, []error{message.Error(message.DropNoFile(), nil)})
		return sOK
	}
	if !takes {
		return sOK
	}
	done := func(p parcel) {
		t.Fetching(false)
		t.Dropped(place, p.paths, p.wrong)
	}
	t.Fetching(true)
	if later(data, t.Shelf(), t.timeouts, func(p parcel) { t.Do(func() { done(p) }) }) {
		*effect = allowed
		return sOK
	}
	p := fetchWaiting(data, t.Shelf(), t.timeouts.waiting)
	*effect = uint32(p.effect())
	done(p)
	return sOK
}

// fetchWaiting fetches the files while the window is blocked and cannot show progress; the mouse pointer shows it instead.
func fetchWaiting(data *unknown, shelf Shelf, timeout time.Duration) parcel {
	const hourglass = 32514 // IDC_WAIT
	waits, _, _ := loadCursor.Call(0, hourglass)
	usual, _, _ := setCursor.Call(waits)
	defer setCursor.Call(usual)
	return fetch(data, shelf, timeout)
}

var errStopped = errors.New("the other program takes too long")
