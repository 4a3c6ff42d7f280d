package drop

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"countersign/internal/message"
)

// These run in Wine, too: GOOS=windows go test -c, and wine drop.test.exe. OLE's part is played by the test, which calls the
// object as OLE does, with an IDataObject of its own.

var (
	globalAlloc   = kernel32.NewProc("GlobalAlloc")
	createStream  = ole32.NewProc("CreateStreamOnHGlobal")
	createWindow  = user32.NewProc("CreateWindowExW")
	destroyWindow = user32.NewProc("DestroyWindow")

	peekMessage     = user32.NewProc("PeekMessageW")
	dispatchMessage = user32.NewProc("DispatchMessageW")
)

// messageWindow is the parent of windows that nobody sees (HWND_MESSAGE).
const messageWindow = ^uintptr(2)

// offer is one format of a dataObject, in a medium that is made for whoever asks.
type offer struct {
	kind   uint16
	index  int32
	medium uint32
	make   func() uintptr
}

// dataObject is an IDataObject, and an IDataObjectAsyncCapability where async is set.
type dataObject struct {
	methods *[16]uintptr
	offers  []offer
	async   *asyncObject
}

type asyncObject struct {
	methods        *[16]uintptr
	started, ended bool
}

var objectMethods = [16]uintptr{
	windows.NewCallback(func(o *dataObject, id *windows.GUID, to *unsafe.Pointer) uintptr {
		switch {
		case *id == idAsync && o.async != nil:
			*to = unsafe.Pointer(o.async)
		case *id == idDataObject || *id == idUnknown:
			*to = unsafe.Pointer(o)
		default:
			*to = nil
			return eNoInterface
		}
		return sOK
	}),
	windows.NewCallback(func(*dataObject) uintptr { return 2 }),
	windows.NewCallback(func(*dataObject) uintptr { return 1 }),
	windows.NewCallback(func(o *dataObject, f *format, m *struct {
		kind        uint32
		it, release uintptr
	}) uintptr {
		for _, offer := range o.offers {
			if offer.kind == f.kind && offer.index == f.index && offer.medium&f.medium != 0 {
				m.kind, m.it, m.release = offer.medium, offer.make(), 0
				return sOK
			}
		}
		return 0x80040064 // DV_E_FORMATETC
	}),
	windows.NewCallback(func(*dataObject, uintptr, uintptr) uintptr { return 0x80004001 }),
	windows.NewCallback(func(o *dataObject, f *format) uintptr {
		if slices.ContainsFunc(o.offers, func(offer offer) bool { return offer.kind == f.kind }) {
			return sOK
		}
		return sFalse
	}),
}

var asyncMethods = [16]uintptr{
	objectMethods[0], objectMethods[1], objectMethods[2],
	objectMethods[4],
	windows.NewCallback(func(_ *asyncObject, to uintptr) uintptr {
		deep(1000)
		is := int32(-1)
		moveMemory.Call(to, uintptr(unsafe.Pointer(&is)), unsafe.Sizeof(is)) // as another program does, which knows addresses alone
		return sOK
	}),
	windows.NewCallback(func(a *asyncObject, _ uintptr) uintptr { a.started = true; return sOK }),
	objectMethods[4],
	windows.NewCallback(func(a *asyncObject, _, _, _ uintptr) uintptr { a.ended = true; return sOK }),
}

// deep takes much of the stack, which is moved for that. In a call of another program, Windows may run code of the window.
//
//go:noinline
func deep(n int) int {
	var room [512]byte
	if n == 0 {
		return 0
	}
	room[n%len(room)] = byte(n)
	return deep(n-1) + int(room[n%len(room)])
}

// brokenStream reads some bytes and fails, or never ends.
type brokenStream struct {
	methods *[16]uintptr
	endless bool
}

var streamMethods = [16]uintptr{
	objectMethods[4], objectMethods[1], objectMethods[2],
	windows.NewCallback(func(s *brokenStream, _ uintptr, n uintptr, got *uint32) uintptr {
		if s.endless {
			*got = uint32(n)
			return sOK
		}
		return 0x80030002
	}),
}

// brokenStorage is a compound file of which nothing can be copied.
func brokenStorage() uintptr {
	s := &struct{ methods *[16]uintptr }{&storageMethods}
	alive = append(alive, s)
	return uintptr(unsafe.Pointer(s))
}

var storageMethods = [16]uintptr{0: objectMethods[4], 1: objectMethods[1], 2: objectMethods[2],
	copyToAt: windows.NewCallback(func(_, _, _, _, _ uintptr) uintptr { return 0x80030070 })} // STG_E_MEDIUMFULL

// alive are the objects that only COM knows.
var alive []any

func newObject(offers ...offer) (*dataObject, *unknown) {
	o := &dataObject{methods: &objectMethods, offers: offers}
	alive = append(alive, o)
	return o, (*unknown)(unsafe.Pointer(o))
}

func inMemoryOf(content []byte) uintptr {
	handle, _, _ := globalAlloc.Call(2, uintptr(max(1, len(content))))
	at, _, _ := globalLock.Call(handle)
	if len(content) > 0 {
		moveMemory.Call(at, uintptr(unsafe.Pointer(&content[0])), uintptr(len(content)))
	}
	globalUnlock.Call(handle)
	return handle
}

func streamOf(content string) uintptr {
	var it uintptr
	handle := inMemoryOf([]byte(content))
	createStream.Call(handle, 1, uintptr(unsafe.Pointer(&it)))
	return it
}

func group(files ...virtual) offer {
	list := described(files...)
	return offer{named("FileGroupDescriptorW"), -1, inMemory, func() uintptr { return inMemoryOf(list) }}
}

func asStream(index int32, content string) offer {
	return offer{named("FileContents"), index, inStream, func() uintptr { return streamOf(content) }}
}

func paths(list ...string) offer {
	drop := make([]byte, 20)
	drop[0], drop[16] = 20, 1
	for _, path := range list {
		for _, unit := range windows.StringToUTF16(path) {
			drop = append(drop, byte(unit), byte(unit>>8))
		}
	}
	drop = append(drop, 0, 0, 0, 0)
	return offer{filesByPath, -1, inMemory, func() uintptr { return inMemoryOf(drop) }}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shelf is a folder, and as strict as the agent's about sizes.
type shelf struct{ dir string }

var errSize = message.Error(message.DropNotWhole("x"), nil)

func (s shelf) Take(ctx context.Context, name string, size int64, from io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(from, 1<<20))
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil || size >= 0 && int64(len(data)) != size || len(data) == 1<<20 {
		return "", errSize
	}
	path := filepath.Join(s.dir, filepath.Base(name))
	return path, os.WriteFile(path, data, 0o600)
}
func (s shelf) Place(name string) (string, error) {
	return filepath.Join(s.dir, filepath.Base(name)), nil
}
func (s shelf) Placed(path string) error                   { _, err := os.Stat(path); return err }
func (s shelf) Keep(_ context.Context, path string) string { return path }

// board is a drop target, and what its window was told.
type board struct {
	it     *unknown
	target *dropTarget
	folder string
	over   []bool // whether files
	left   int
	fetch  int // drops that are being fetched
	paths  []string
	wrong  []error
	drops  chan bool
}

func newBoard(t *testing.T) *board { return newBoardThat(t, usual) }

func newBoardThat(t *testing.T, p timeouts) *board {
	b := &board{folder: t.TempDir(), drops: make(chan bool, 9)}
	b.target = newTarget(0, Window{
		Do:   func(f func()) { f() },
		Over: func(_ Point, files bool) bool { b.over = append(b.over, files); return true },
		Left: func() { b.left++ },
		Fetching: func(begins bool) {
			if b.fetch--; begins {
				b.fetch += 2
			}
		},
		Dropped: func(_ Point, paths []string, wrong []error) { b.paths, b.wrong = paths, wrong; b.drops <- true },
		Shelf:   func() Shelf { return shelf{b.folder} },
	}, p)
	t.Cleanup(func() { b.target.release() })
	b.it = (*unknown)(unsafe.Pointer(b.target))
	return b
}

// drag is what OLE calls while something comes over the window.
func (b *board) drag(data *unknown) (effect uint32) {
	effect = 7
	b.it.call(3, uintptr(unsafe.Pointer(data)), 0, 5<<32|7, uintptr(unsafe.Pointer(&effect)))
	return effect
}

func (b *board) drop(data *unknown) (effect uint32) {
	effect = 7
	b.it.call(6, uintptr(unsafe.Pointer(data)), 0, 5<<32|7, uintptr(unsafe.Pointer(&effect)))
	return effect
}

func TestVirtualFilesAreTakenInEveryMedium(t *testing.T) {
	large := strings.Repeat("0123456789", 30_000)
	_, data := newObject(group(virtual{name: `mail\Lease Ä.pdf`, size: int64(len(large))}, virtual{name: `folder\`, size: -1}, virtual{name: "b.txt", size: 3}, virtual{name: "c.txt", size: -1}),
		asStream(0, large),
		offer{named("FileContents"), 2, inMemory, func() uintptr { return inMemoryOf([]byte("abc and what memory has more")) }},
		asStream(3, "unsaid"))
	b := newBoard(t)
	if b.drag(data) != effectCopy || !slices.Equal(b.over, []bool{true}) {
		t.Errorf("over %v", b.over)
	}
	if b.drop(data) != effectCopy {
		t.Error("the drop is not taken")
	}
	if len(b.wrong) > 0 || len(b.paths) != 3 || b.left != 1 {
		t.Fatalf("got %q, wrong %v, left %d", b.paths, b.wrong, b.left)
	}
	for i, want := range []string{large, "abc", "unsaid"} {
		if content, err := os.ReadFile(b.paths[i]); err != nil || string(content) != want {
			t.Errorf("%s has %d bytes, %v", b.paths[i], len(content), err)
		}
	}
}

func TestAMailOfOutlookIsSavedAsAFile(t *testing.T) {
	from := filepath.Join(t.TempDir(), "from.msg")
	text, err := windows.UTF16PtrFromString(from)
	must(t, err)
	makeIt := func() uintptr {
		var it *unknown
		createStorage.Call(uintptr(unsafe.Pointer(text)), 0x1012, 0, uintptr(unsafe.Pointer(&it)))
		return uintptr(unsafe.Pointer(it))
	}
	_, data := newObject(group(virtual{name: "Re Lease.msg", size: -1}), offer{named("FileContents"), 0, inStorage, makeIt})
	b := newBoard(t)
	b.drop(data)
	if len(b.paths) != 1 || len(b.wrong) > 0 {
		t.Fatalf("got %q, wrong %v", b.paths, b.wrong)
	}
	content, err := os.ReadFile(b.paths[0])
	if err != nil || !strings.HasPrefix(string(content), "\xd0\xcf\x11\xe0") {
		t.Errorf("it is no compound file: %v", err)
	}
}

func TestFilesWithAPathAreTakenByIt(t *testing.T) {
	_, data := newObject(paths(`C:\Users\a\Lease Ä.pdf`, `\\server\b.pdf`), group(virtual{name: "other", size: 1}))
	b := newBoard(t)
	if b.drag(data); b.drop(data) != effectCopy || !slices.Equal(b.paths, []string{`C:\Users\a\Lease Ä.pdf`, `\\server\b.pdf`}) {
		t.Errorf("got %q, wrong %v", b.paths, b.wrong)
	}
}

func TestWhatIsNoFileOrNotWholeIsRefused(t *testing.T) {
	broken := func(endless bool) func() uintptr {
		return func() uintptr {
			s := &brokenStream{methods: &streamMethods, endless: endless}
			alive = append(alive, s)
			return uintptr(unsafe.Pointer(s))
		}
	}
	contents := named("FileContents")
	for name, c := range map[string]struct {
		offers []offer
		told   string
	}{
		"a text":            {[]offer{{13, -1, inMemory, func() uintptr { return inMemoryOf([]byte("hello")) }}}, "drop.drop-no-file"},
		"another size":      {[]offer{group(virtual{name: "a", size: 9}), asStream(0, "four")}, "drop.drop-not-whole"},
		"less in memory":    {[]offer{group(virtual{name: "a", size: 9000}), {contents, 0, inMemory, func() uintptr { return inMemoryOf([]byte("four")) }}}, "drop.drop-not-whole"},
		"a stream breaks":   {[]offer{group(virtual{name: "a", size: -1}), {contents, 0, inStream, broken(false)}}, "drop.drop-not-whole"},
		"without end":       {[]offer{group(virtual{name: "a", size: -1}), {contents, 0, inStream, broken(true)}}, "drop.drop-not-whole"},
		"no contents":       {[]offer{group(virtual{name: "a", size: 1})}, "drop.drop-not-whole"},
		"a broken list":     {[]offer{{named("FileGroupDescriptorW"), -1, inMemory, func() uintptr { return inMemoryOf([]byte{9, 0, 0, 0}) }}}, "drop.drop-silent"},
		"two media at once": {[]offer{group(virtual{name: "a", size: -1}), {contents, 0, inStream | inMemory, func() uintptr { return streamOf("four") }}}, "drop.drop-not-whole"},
		"a mail breaks":     {[]offer{group(virtual{name: "a", size: -1}), {contents, 0, inStorage, brokenStorage}}, "drop.drop-silent"},
		"only folders":      {[]offer{group(virtual{name: `a\`, size: -1})}, "drop.drop-no-file"},
		"an empty CF_HDROP": {[]offer{paths()}, "drop.drop-silent"},
	} {
		_, data := newObject(c.offers...)
		b := newBoard(t)
		over := b.drag(data)
		if effect := b.drop(data); effect != effectNone || c.told == "drop.drop-no-file" && name == "a text" && over != effectNone {
			t.Errorf("%s: the other program is told %d", name, effect)
		}
		if len(b.paths) > 0 || len(b.wrong) != 1 || message.For(b.wrong[0]).ID() != c.told {
			t.Errorf("%s: got %q, wrong %v", name, b.paths, b.wrong)
		}
		if b.left != 1 || b.fetch != 0 {
			t.Errorf("%s: left %d times, %d are being fetched", name, b.left, b.fetch)
		}
		if files, err := os.ReadDir(b.folder); err != nil || len(files) > 0 {
			t.Errorf("%s: left is %v, %v", name, files, err)
		}
	}
}

func TestTheSignGoesWithWhatIsDragged(t *testing.T) {
	_, data := newObject(paths(`C:\a`))
	b := newBoard(t)
	b.drag(data)
	if b.it.call(5); b.left != 1 {
		t.Errorf("left %d times", b.left)
	}
	if b.it.call(5); b.left != 1 {
		t.Error("it left twice")
	}
}

func TestFilesAreFetchedBesideTheWindowWhereThatMayBe(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := windows.CoInitializeEx(0, windows.COINIT_APARTMENTTHREADED); err != nil && !errors.Is(err, windows.Errno(windows.S_FALSE)) {
		t.Skip(err)
	}
	defer windows.CoUninitialize()
	o, data := newObject(group(virtual{name: "a.pdf", size: 4}), asStream(0, "four"))
	o.async = &asyncObject{methods: &asyncMethods}
	b := newBoard(t)
	if b.drop(data) != effectCopy || !o.async.started {
		t.Errorf("the drop is not taken, or its program does not know that it goes on: %v", o.async.started)
	}
	var m [48]byte // MSG
	for until := time.Now().Add(30 * time.Second); len(b.drops) == 0; time.Sleep(time.Millisecond) {
		for {
			const remove = 1
			if more, _, _ := peekMessage.Call(uintptr(unsafe.Pointer(&m)), 0, 0, 0, remove); more == 0 {
				break
			}
			dispatchMessage.Call(uintptr(unsafe.Pointer(&m)))
		}
		if time.Now().After(until) {
			t.Fatal("nothing arrives")
		}
	}
	if len(b.paths) != 1 || len(b.wrong) > 0 || !o.async.ended {
		t.Errorf("got %q, wrong %v, ended %v", b.paths, b.wrong, o.async.ended)
	}
}

func TestAProgramThatHangsIsGivenUp(t *testing.T) {
	runtime.LockOSThread() // that of the other program, which never looks at what it is asked
	defer runtime.UnlockOSThread()
	if err := windows.CoInitializeEx(0, windows.COINIT_APARTMENTTHREADED); err != nil && !errors.Is(err, windows.Errno(windows.S_FALSE)) {
		t.Skip(err)
	}
	o, data := newObject(group(virtual{name: "a.pdf", size: 4}), asStream(0, "four"))
	o.async = &asyncObject{methods: &asyncMethods}
	b := newBoardThat(t, timeouts{beside: 50 * time.Millisecond, hanging: 50 * time.Millisecond})
	b.drop(data)
	select {
	case <-b.drops:
	case <-time.After(30 * time.Second):
		t.Fatal("nobody is told")
	}
	if len(b.paths) > 0 || len(b.wrong) != 1 || message.For(b.wrong[0]).ID() != "drop.drop-silent" || b.fetch != 0 {
		t.Errorf("got %q, wrong %v, %d are being fetched", b.paths, b.wrong, b.fetch)
	}
}

func TestTheTargetStaysAsLongAsSomebodyHasIt(t *testing.T) {
	b := newBoard(t)
	b.it.call(1) // by another program, for what it drags
	b.target.release()
	if _, there := kept.Load(b.target); !there {
		t.Error("it is gone")
	}
	b.target.references.Add(1)
	if left := b.it.call(2); left != 1 {
		t.Errorf("%d references are left", left)
	}
	b.target.release()
	if _, there := kept.Load(b.target); there {
		t.Error("it is still there")
	}
	b.target.references.Add(1) // which the board gives back
}

func TestAWindowBecomesATarget(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	class, err := windows.UTF16PtrFromString("STATIC")
	must(t, err)
	window, _, err := createWindow.Call(0, uintptr(unsafe.Pointer(class)), 0, 0, 0, 0, 10, 10, messageWindow, 0, 0, 0)
	if window == 0 {
		t.Skip(err)
	}
	defer destroyWindow.Call(window)
	stop, err := Watch(window, newBoard(t).target.Window)
	must(t, err)
	if _, err := Watch(window, newBoard(t).target.Window); err == nil {
		t.Error("it becomes one twice")
	}
	stop()
	again, err := Watch(window, newBoard(t).target.Window)
	must(t, err)
	again()
}

func TestTheTargetIsWhatOLEAsksFor(t *testing.T) {
	b := newBoard(t)
	var to *unknown
	if r := b.it.call(0, uintptr(unsafe.Pointer(&idDropTarget)), uintptr(unsafe.Pointer(&to))); r != sOK || to != b.it {
		t.Errorf("it answers %#x", uint32(r))
	}
	if r := b.it.call(0, uintptr(unsafe.Pointer(&idAsync)), uintptr(unsafe.Pointer(&to))); r >= 0 || to != nil {
		t.Errorf("it is something else, too: %#x", uint32(r))
	}
}
