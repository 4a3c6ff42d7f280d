//go:build !windows && !darwin

package drop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"countersign/internal/message"
	"countersign/internal/office/filename"
)

// patience is how long the window may take, and another program.
type patience struct {
	busy   time.Duration // for the window to say whether it takes a drop
	held   time.Duration // how often it is looked whether somebody still holds a mouse button
	glance time.Duration // for all that is asked while it is still over the window
	answer time.Duration // to answer, and from one piece to the next
	saving time.Duration // to save a file, which it may have to fetch first
	whole  time.Duration // for all files of one drop
	ending time.Duration // for a disk to answer when the window ends
}

var usual = patience{busy: 200 * time.Millisecond, held: 500 * time.Millisecond, glance: time.Second, answer: 20 * time.Second, saving: 2 * time.Minute,
	whole: 10 * time.Minute, ending: 2 * time.Second}

// mostLater is how many words of others wait meanwhile.
const mostLater = 1000

// longList is how large a list of addresses may be, in bytes.
const longList = 4 << 20

// fetch takes the files of what was dropped at a time of the display: those that have a place, or else the one that the other
// program saves where we say (XDS; freedesktop.org/wiki/Specifications/XDS), or else the one whose bytes it hands over.
func (x *target) fetch(at xproto.Timestamp) (p parcel) {
	ctx, cancel := context.WithTimeoutCause(x.ctx, x.patience.whole, errSlow)
	defer cancel()
	d, shelf := x.drag, x.Shelf()
	var list addresses
	if d.has(x.atoms["text/uri-list"]) {
		var err error
		if list, err = x.list(ctx, at, x.patience.answer); err != nil && !x.offersBytes() {
			p.add("", message.Error(message.DropSilent(), err))
			return p
		}
	}
	for _, path := range list.paths {
		p.add(shelf.Keep(ctx, path), nil)
	}
	switch {
	case len(list.paths) > 0:
		if list.elsewhere > 0 {
			p.add("", message.Error(message.DropElsewhere(), nil))
		}
	case x.offersBytes():
		path, err := x.save(ctx, shelf, at)
		if err != nil && ctx.Err() != nil {
			err = message.Error(message.DropSilent(), context.Cause(ctx))
		}
		p.add(path, err)
	case list.elsewhere > 0:
		p.add("", message.Error(message.DropElsewhere(), nil))
	default:
		p.add("", message.Error(message.DropNoFile(), nil))
	}
	return p
}

// list reads the addresses that are offered.
func (x *target) list(ctx context.Context, at xproto.Timestamp, patience time.Duration) (addresses, error) {
	r, err := x.convert(ctx, "text/uri-list", at, patience)
	if err != nil {
		return addresses{}, err
	}
	text, err := io.ReadAll(io.LimitReader(r, longList+1))
	if err == nil && len(text) > longList {
		err = errors.New("the list is too long")
	}
	if err != nil {
		return addresses{}, err
	}
	there := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	return readList(text, x.host, there), nil
}

// offersBytes says whether there is a file that has no place yet.
func (x *target) offersBytes() bool {
	return x.drag.has(x.atoms["XdndDirectSave0"]) || x.bytesAs() != ""
}

// bytesAs is the form in which the other program hands over the bytes of a file; empty for none.
func (x *target) bytesAs() string {
	for _, form := range []string{"application/octet-stream", "application/pdf"} {
		if x.drag.has(x.atoms[form]) {
			return form
		}
	}
	return ""
}

// save takes the one file that has no place yet.
func (x *target) save(ctx context.Context, shelf Shelf, at xproto.Timestamp) (path string, err error) {
	name := ""
	if x.drag.has(x.atoms["XdndDirectSave0"]) {
		name = x.savedName()
		path, refused, err := x.directSave(ctx, shelf, name, at)
		if !refused || x.bytesAs() == "" {
			return path, err
		}
	}
	form := x.bytesAs()
	given, err := x.convert(ctx, form, at, x.patience.answer)
	if err != nil {
		return "", message.Error(message.DropSilent(), err)
	}
	content := io.Reader(given)
	if name == "" {
		name, content = nameOf(form, given)
	}
	return shelf.Take(ctx, name, -1, content)
}

// savedName is how the other program calls the file that it would save.
func (x *target) savedName() string {
	name, err := xproto.GetProperty(x.conn, false, x.drag.source, x.atoms["XdndDirectSave0"], xproto.GetPropertyTypeAny, 0, 4096/4).Reply()
	if err != nil || name.Format != 8 {
		return ""
	}
	text, _, _ := strings.Cut(string(name.Value), "\x00")
	return filename.FromLatin1(text)
}

// nameOf gives a name to bytes that come without one: a PDF says itself what it is.
func nameOf(form string, r io.Reader) (string, io.Reader) {
	head := make([]byte, 5)
	n, err := io.ReadFull(r, head)
	r = io.MultiReader(bytes.NewReader(head[:n]), r)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		r = io.MultiReader(bytes.NewReader(head[:n]), failing{err})
	}
	if form == "application/pdf" || string(head) == "%PDF-" {
		return "Document.pdf", r
	}
	return "Document", r
}

// failing is the rest of what broke off.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// directSave has the other program save its file where we say. Refused says that it cannot, but may hand over the bytes. One
// that does not answer has not refused: it may yet write there.
func (x *target) directSave(ctx context.Context, shelf Shelf, name string, at xproto.Timestamp) (path string, refused bool, err error) {
	if path, err = shelf.Place(name); err != nil {
		return "", false, err
	}
	property, source := x.atoms["XdndDirectSave0"], x.drag.source
	address := []byte((&url.URL{Scheme: "file", Host: x.host, Path: path}).String())
	err = xproto.ChangePropertyChecked(x.conn, xproto.PropModeReplace, source, property, x.atoms["text/plain"], 8, uint32(len(address)), address).Check()
	if err != nil {
		return "", false, message.Error(message.DropSilent(), err)
	}
	defer xproto.DeleteProperty(x.conn, source, property)
	r, err := x.convert(ctx, "XdndDirectSave0", at, x.patience.saving)
	if err != nil {
		return "", errors.Is(err, errNotThis), message.Error(message.DropSilent(), err)
	}
	said, err := io.ReadAll(io.LimitReader(r, 16))
	switch {
	case err != nil || len(said) == 0 || said[0] == 'E':
		_ = os.Remove(path)
		return "", false, message.Error(message.DropSilent(), err)
	case said[0] == 'S':
		if err := shelf.Placed(path); err != nil {
			return "", false, err
		}
		return path, false, nil
	}
	_ = os.Remove(path)
	return "", true, message.Error(message.DropSilent(), fmt.Errorf("it answers %q", said))
}

// given is what the other program hands over in one form: at once, or in pieces (ICCCM 2.0, section 2.7.2).
//
// Each is asked for through a window of its own. An answer that comes after its question was given up reaches nobody; through
// one window it would be taken for the answer to a later question, and be the content of another file. Windows of questions
// that were given up stay, for a program that writes to one that is gone may end.
type given struct {
	x        *target
	ctx      context.Context
	window   xproto.Window
	patience time.Duration // from one piece to the next
	piece    []byte
	comes    bool  // another piece
	least    int64 // how many bytes there are at least, according to the other program
	got      int64
}

// convert asks for what was dropped in a form.
func (x *target) convert(ctx context.Context, form string, at xproto.Timestamp, patience time.Duration) (*given, error) {
	kind, property := x.atoms[form], x.atoms["COUNTERSIGN_DROP"]
	g := &given{x: x, ctx: ctx, patience: patience}
	var err error
	if g.window, err = x.ownWindow(); err != nil {
		return nil, err
	}
	xproto.ConvertSelection(x.conn, g.window, x.atoms["XdndSelection"], kind, property, at)
	var answer xproto.SelectionNotifyEvent
	err = x.await(ctx, patience, func(event xgb.Event) (is bool) {
		answer, is = event.(xproto.SelectionNotifyEvent)
		return is && answer.Requestor == g.window
	})
	if err != nil {
		return nil, err
	}
	if answer.Property == xproto.AtomNone {
		g.end()
		return nil, fmt.Errorf("%w: %s", errNotThis, form)
	}
	whole, kindOf, err := g.property()
	if err != nil {
		return nil, err
	}
	switch kindOf {
	case xproto.AtomNone:
		return nil, errors.New("it says that it hands over something, and does not")
	case x.atoms["INCR"]:
		g.comes = true
		if len(whole) >= 4 {
			g.least = max(0, int64(int32(xgb.Get32(whole))))
		}
		return g, nil
	}
	g.piece = whole
	g.end()
	return g, nil
}

// property reads and removes what was handed over. Its type is AtomNone where there is nothing.
func (g *given) property() (value []byte, kind xproto.Atom, err error) {
	const words = 1 << 22 // more than any display takes in one request
	reply, err := xproto.GetProperty(g.x.conn, true, g.window, g.x.atoms["COUNTERSIGN_DROP"], xproto.GetPropertyTypeAny, 0, words).Reply()
	if err == nil && reply.BytesAfter > 0 {
		err = errors.New("it hands over too much at once")
	}
	if err != nil {
		return nil, xproto.AtomNone, err
	}
	return reply.Value, reply.Type, nil
}

// end ends what is handed over: nothing more comes.
func (g *given) end() { xproto.DestroyWindow(g.x.conn, g.window) }

// Read reads it piece by piece, of which an empty one is the last.
func (g *given) Read(p []byte) (int, error) {
	for len(g.piece) == 0 {
		if !g.comes {
			return 0, io.EOF
		}
		err := g.x.await(g.ctx, g.patience, func(event xgb.Event) bool {
			e, is := event.(xproto.PropertyNotifyEvent)
			return is && e.Window == g.window && e.State == xproto.PropertyNewValue
		})
		if err != nil {
			return 0, err
		}
		piece, kind, err := g.property()
		if err != nil {
			return 0, err
		}
		if kind != xproto.AtomNone && len(piece) == 0 {
			g.end()
			if g.comes = false; g.got < g.least {
				return 0, fmt.Errorf("it hands over %d bytes of at least %d", g.got, g.least)
			}
		}
		g.piece = piece
		g.got += int64(len(piece))
	}
	n := copy(p, g.piece)
	g.piece = g.piece[n:]
	return n, nil
}

// await returns when an event is the right one. Others of the protocol wait until there is time for them.
func (x *target) await(ctx context.Context, patience time.Duration, right func(xgb.Event) bool) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return errSlow
		case event, open := <-x.events:
			if !open {
				return errors.New("the display is gone")
			}
			if right(event) {
				return nil
			}
			if e, is := event.(xproto.DestroyNotifyEvent); is && e.Window == x.drag.source {
				return errGone
			}
			if _, is := event.(xproto.ClientMessageEvent); is && len(x.later) < mostLater {
				x.later = append(x.later, event)
			}
		}
	}
}

var (
	errGone    = errors.New("the program it came from is gone")
	errSlow    = errors.New("the other program does not answer")
	errNotThis = errors.New("it does not hand over this form")
)
