package drop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"countersign/internal/message"
)

var (
	shell32  = windows.NewLazySystemDLL("shell32.dll")
	kernel32 = windows.NewLazySystemDLL("kernel32.dll")

	dragQueryFile    = shell32.NewProc("DragQueryFileW")
	registerFormat   = user32.NewProc("RegisterClipboardFormatW")
	releaseMedium    = ole32.NewProc("ReleaseStgMedium")
	createStorage    = ole32.NewProc("StgCreateDocfile")
	marshalForThread = ole32.NewProc("CoMarshalInterThreadInterfaceInStream")
	unmarshal        = ole32.NewProc("CoGetInterfaceAndReleaseStream")
	globalSize       = kernel32.NewProc("GlobalSize")
	globalLock       = kernel32.NewProc("GlobalLock")
	globalUnlock     = kernel32.NewProc("GlobalUnlock")
	moveMemory       = kernel32.NewProc("RtlMoveMemory")
)

// format is FORMATETC: what is requested from an IDataObject.
type format struct {
	kind   uint16
	device unsafe.Pointer
	aspect uint32
	index  int32
	medium uint32
}

// medium is STGMEDIUM: the form in which data is handed over.
type medium struct {
	kind    uint32
	it      *unknown // or memory, if kind is inMemory
	release *unknown
}

// Media (TYMED).
const (
	inMemory  = 1
	inStream  = 4
	inStorage = 8
)

// Method indexes (objidl.h, shldisp.h).
const (
	queryInterfaceAt = 0
	readAt           = 3 // ISequentialStream
	getDataAt        = 3 // IDataObject
	queryDataAt      = 5
	copyToAt         = 7 // IStorage
	commitAt         = 9
	getAsyncAt       = 4 // IDataObjectAsyncCapability
	startAt          = 5
	endAt            = 7
)

const filesByPath = 15 // CF_HDROP

// timeouts limit the time another program gets for all of its files.
type timeouts struct {
	waiting time.Duration // while the window is blocked
	beside  time.Duration
	hanging time.Duration // extra time for a call that has not returned by then
}

var usual = timeouts{waiting: time.Minute, beside: 10 * time.Minute, hanging: 5 * time.Second}

var (
	idDataObject = windows.GUID{Data1: 0x10e, Data4: [8]byte{0xc0, 0, 0, 0, 0, 0, 0, 0x46}}
	idAsync      = windows.GUID{Data1: 0x3d8b0590, Data2: 0xf691, Data3: 0x11d2, Data4: [8]byte{0x8e, 0xa9, 0x00, 0x60, 0x97, 0xdf, 0x5b, 0xd4}}
)

// named returns the number of a format registered by name.
func named(name string) uint16 {
	text, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0
	}
	id, _, _ := registerFormat.Call(uintptr(unsafe.Pointer(text)))
	return uint16(id)
}

func newFormat(kind uint16, index int32, media uint32) *format {
	const content = 1 // DVASPECT_CONTENT
	return &format{kind: kind, aspect: content, index: index, medium: media}
}

func descriptors() *format { return newFormat(named("FileGroupDescriptorW"), -1, inMemory) }

// offersFiles reports whether the dragged data contains files, with or without a path.
func offersFiles(data *unknown) bool {
	for _, f := range []*format{newFormat(filesByPath, -1, inMemory), descriptors()} {
		if data.call(queryDataAt, uintptr(unsafe.Pointer(f))) == sOK {
			return true
		}
	}
	return false
}

// get requests a format. The caller releases the medium.
func get(data *unknown, f *format) (*medium, error) {
	m := &medium{}
	if r := data.call(getDataAt, uintptr(unsafe.Pointer(f)), uintptr(unsafe.Pointer(m))); r < 0 {
		return nil, fmt.Errorf("GetData answers %#x", uint32(r))
	}
	if m.it == nil || m.kind&f.medium == 0 || m.kind&(m.kind-1) != 0 { // none, a different one, or several
		m.free()
		return nil, errors.New("GetData hands over something else")
	}
	return m, nil
}

func (m *medium) free() { releaseMedium.Call(uintptr(unsafe.Pointer(m))) }

// memory copies up to most bytes and returns the size of the whole. That may be some bytes too large, because memory is allocated in
// steps.
func (m *medium) memory(most int64) (content []byte, err error) {
	handle := uintptr(unsafe.Pointer(m.it))
	size, _, _ := globalSize.Call(handle)
	if size == 0 {
		return nil, nil
	}
	at, _, err := globalLock.Call(handle)
	if at == 0 {
		return nil, fmt.Errorf("GlobalLock: %w", err)
	}
	defer globalUnlock.Call(handle)
	content = make([]byte, min(int64(size), most))
	if len(content) > 0 {
		moveMemory.Call(uintptr(unsafe.Pointer(&content[0])), at, uintptr(len(content)))
	}
	return content, nil
}

// later fetches the files on its own thread, if the other program allows it, and calls done from there. done is called when the time
// is over in any case: a call to a hanging program may never return.
func later(data *unknown, shelf Shelf, p timeouts, done func(parcel)) bool {
	var async *unknown
	if data.call(queryInterfaceAt, uintptr(unsafe.Pointer(&idAsync)), uintptr(unsafe.Pointer(&async))) < 0 || async == nil {
		return false
	}
	defer async.release()
	var allowed int32
	if async.call(getAsyncAt, uintptr(unsafe.Pointer(&allowed))) < 0 || allowed == 0 {
		return false
	}
	var stream *unknown
	r, _, _ := marshalForThread.Call(uintptr(unsafe.Pointer(&idDataObject)), uintptr(unsafe.Pointer(data)), uintptr(unsafe.Pointer(&stream)))
	if int32(r) < 0 || stream == nil {
		return false
	}
	if async.call(startAt, 0) < 0 {
		stream.release()
		return false
	}
	fetched := make(chan parcel, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread and its apartment end with the goroutine
		_ = windows.CoInitializeEx(0, windows.COINIT_APARTMENTTHREADED|windows.COINIT_DISABLE_OLE1DDE)
		defer windows.CoUninitialize()
		fetched <- fetchMarshalled(stream, shelf, p.beside)
	}()
	go func() {
		select {
		case p := <-fetched:
			done(p)
		case <-time.After(p.beside + p.hanging):
			done(parcel{wrong: []error{message.Error(message.DropSilent(), errStopped)}})
		}
	}()
	return true
}

// fetchMarshalled fetches the files of another thread's IDataObject, and tells it the outcome.
func fetchMarshalled(stream *unknown, shelf Shelf, timeout time.Duration) (p parcel) {
	var data, async *unknown
	r, _, _ := unmarshal.Call(uintptr(unsafe.Pointer(stream)), uintptr(unsafe.Pointer(&idDataObject)), uintptr(unsafe.Pointer(&data)))
	if int32(r) < 0 || data == nil {
		p.add("", message.Error(message.DropSilent(), fmt.Errorf("CoGetInterfaceAndReleaseStream answers %#x", uint32(r))))
		return p
	}
	defer data.release()
	p = fetch(data, shelf, timeout)
	if data.call(queryInterfaceAt, uintptr(unsafe.Pointer(&idAsync)), uintptr(unsafe.Pointer(&async))) >= 0 && async != nil {
		async.call(endAt, sOK, 0, p.effect())
		async.release()
	}
	return p
}

// effect tells the other program what became of the files.
func (p parcel) effect() uintptr {
	if len(p.paths) > 0 {
		return effectCopy
	}
	return effectNone
}

func fetch(data *unknown, shelf Shelf, timeout time.Duration) (p parcel) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeout, errStopped)
	defer cancel()
	if m, err := get(data, newFormat(filesByPath, -1, inMemory)); err == nil {
		paths := pathsIn(uintptr(unsafe.Pointer(m.it)))
		m.free()
		for _, path := range paths {
			p.add(shelf.Keep(ctx, path), nil)
		}
		if len(paths) > 0 {
			return p
		}
	}
	files, err := virtualFiles(data)
	if err != nil {
		p.add("", message.Error(message.DropSilent(), err))
		return p
	}
	for _, file := range files {
		path, err := fetchOne(ctx, data, shelf, file)
		if err != nil && ctx.Err() != nil {
			err = message.Error(message.DropSilent(), context.Cause(ctx))
		}
		p.add(path, err)
		if ctx.Err() != nil || err != nil && message.For(err).ID() == message.DropTooMany(0).ID() {
			return p
		}
	}
	if len(files) == 0 {
		p.add("", message.Error(message.DropNoFile(), nil))
	}
	return p
}

func pathsIn(list uintptr) (paths []string) {
	const count = 0xffffffff
	n, _, _ := dragQueryFile.Call(list, count, 0, 0)
	for i := range n {
		length, _, _ := dragQueryFile.Call(list, i, 0, 0)
		text := make([]uint16, length+1)
		dragQueryFile.Call(list, i, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)))
		if path := windows.UTF16ToString(text); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

func virtualFiles(data *unknown) ([]virtual, error) {
	m, err := get(data, descriptors())
	if err != nil {
		return nil, err
	}
	defer m.free()
	group, err := m.memory(4 + mostVirtual*descriptorSize)
	if err != nil {
		return nil, err
	}
	return readDescriptors(group)
}

// fetchOne takes a file from whatever medium it is offered in.
func fetchOne(ctx context.Context, data *unknown, shelf Shelf, file virtual) (path string, err error) {
	m, err := get(data, newFormat(named("FileContents"), int32(file.at), inStream|inMemory|inStorage))
	if err != nil {
		return shelf.Take(ctx, file.name, file.size, failed{err})
	}
	defer m.free()
	switch m.kind {
	case inStream:
		return shelf.Take(ctx, file.name, file.size, &stream{ctx, m.it})
	case inStorage:
		return saveStorage(m.it, shelf, file.name)
	}
	most := file.size
	if most < 0 {
		most = 1 << 40 // no limit
	}
	content, err := m.memory(most)
	if err != nil {
		return shelf.Take(ctx, file.name, file.size, failed{err})
	}
	return shelf.Take(ctx, file.name, file.size, bytes.NewReader(content))
}

// failed stands for a file that cannot be read; the shelf words the error.
type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }

// stream reads an IStream until the other program's time is over.
type stream struct {
	ctx context.Context
	it  *unknown
}

func (s *stream) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	if len(p) == 0 {
		return 0, nil
	}
	var n uint32
	r := s.it.call(readAt, uintptr(unsafe.Pointer(&p[0])), uintptr(uint32(min(len(p), 1<<20))), uintptr(unsafe.Pointer(&n)))
	switch {
	case r < 0:
		return 0, fmt.Errorf("IStream.Read answers %#x", uint32(r))
	case int64(n) > int64(len(p)):
		return 0, errors.New("IStream.Read reads more than it was to")
	case n == 0:
		return 0, io.EOF
	}
	return int(n), nil
}

// saveStorage saves a compound file, such as an Outlook mail. An incomplete one is removed.
func saveStorage(from *unknown, shelf Shelf, name string) (path string, err error) {
	const createExclusive = 0x1000 | 0x10 | 0x2 // STGM_CREATE, STGM_SHARE_EXCLUSIVE, STGM_READWRITE
	if path, err = shelf.Place(name); err != nil {
		return "", err
	}
	text, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return "", err
	}
	var to *unknown
	if r, _, _ := createStorage.Call(uintptr(unsafe.Pointer(text)), createExclusive, 0, uintptr(unsafe.Pointer(&to))); int32(r) < 0 || to == nil {
		return "", message.Error(message.DropSilent(), fmt.Errorf("StgCreateDocfile answers %#x", uint32(r)))
	}
	copied := from.call(copyToAt, 0, 0, 0, uintptr(unsafe.Pointer(to)))
	if copied >= 0 {
		copied = to.call(commitAt, 0)
	}
	to.release()
	if copied < 0 {
		_ = os.Remove(path)
		return "", message.Error(message.DropSilent(), fmt.Errorf("IStorage.CopyTo answers %#x", uint32(copied)))
	}
	return path, shelf.Placed(path)
}

type parcel struct {
	paths []string
	wrong []error
}

func (p *parcel) add(path string, err error) {
	if err != nil {
		p.wrong = append(p.wrong, err)
		return
	}
	p.paths = append(p.paths, path)
}
