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
)

// How long another program may take to answer, from one piece to the next.
const (
	glance = time.Second // while it is still over the window
	answer = 20 * time.Second
	saving = 2 * time.Minute // a whole file, which it may have to fetch first
)

// mostLater is how many words of others wait meanwhile.
const mostLater = 1000

// longList is how large a list of addresses may be, in bytes.
const longList = 4 << 20

// fetch takes the files of what was dropped at a time of the display: those that have a place, or else the one that the other
// program saves where we say (XDS; freedesktop.org/wiki/Specifications/XDS), or else the one whose bytes it hands over.
func (x *target) fetch(at xproto.Timestamp) (p parcel) {
	d, shelf := x.drag, x.Shelf()
	var list addresses
	if d.has(x.atoms["text/uri-list"]) {
		var err error
		if list, err = x.list(at, answer); err != nil && !x.offersBytes() {
			p.add("", message.Error(message.DropSilent(), err))
			return p
		}
	}
	for _, path := range list.paths {
		p.add(shelf.Keep(x.ctx, path), nil)
	}
	switch {
	case len(list.paths) > 0:
		if list.elsewhere > 0 {
			p.add("", message.Error(message.DropElsewhere(), nil))
		}
	case x.offersBytes():
		p.add(x.save(shelf, at))
	case list.elsewhere > 0:
		p.add("", message.Error(message.DropElsewhere(), nil))
	default:
		p.add("", message.Error(message.DropNoFile(), nil))
	}
	return p
}

// list reads the addresses that are offered.
func (x *target) list(at xproto.Timestamp, patience time.Duration) (addresses, error) {
	r, err := x.convert("text/uri-list", at, patience)
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
func (x *target) save(shelf Shelf, at xproto.Timestamp) (path string, err error) {
	name := ""
	if x.drag.has(x.atoms["XdndDirectSave0"]) {
		name = x.savedName()
		path, refused, err := x.directSave(shelf, name, at)
		if !refused || x.bytesAs() == "" {
			return path, err
		}
	}
	form := x.bytesAs()
	r, err := x.convert(form, at, answer)
	if err != nil {
		return "", message.Error(message.DropSilent(), err)
	}
	if name == "" {
		name, r = nameOf(form, r)
	}
	return shelf.Take(x.ctx, name, -1, r)
}

// savedName is how the other program calls the file that it would save.
func (x *target) savedName() string {
	name, err := xproto.GetProperty(x.conn, false, x.drag.source, x.atoms["XdndDirectSave0"], xproto.GetPropertyTypeAny, 0, 4096/4).Reply()
	if err != nil || name.Format != 8 {
		return ""
	}
	text, _, _ := strings.Cut(string(name.Value), "\x00")
	return fromLatin1(text)
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

// directSave has the other program save its file where we say. Refused says that it cannot, but may hand over the bytes.
func (x *target) directSave(shelf Shelf, name string, at xproto.Timestamp) (path string, refused bool, err error) {
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
	r, err := x.convert("XdndDirectSave0", at, saving)
	if err != nil {
		return "", true, message.Error(message.DropSilent(), err)
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

// convert asks for what was dropped in a form, and returns it. What is large comes in pieces (ICCCM 2.0, section 2.7.2), for
// each of which the other program has patience.
func (x *target) convert(form string, at xproto.Timestamp, patience time.Duration) (io.Reader, error) {
	kind, property := x.atoms[form], x.atoms["COUNTERSIGN_DROP"]
	xproto.DeleteProperty(x.conn, x.proxy, property)
	xproto.ConvertSelection(x.conn, x.proxy, x.atoms["XdndSelection"], kind, property, at)
	var given xproto.SelectionNotifyEvent
	err := x.await(patience, func(event xgb.Event) (is bool) {
		given, is = event.(xproto.SelectionNotifyEvent)
		return is && given.Requestor == x.proxy && given.Target == kind
	})
	if err != nil {
		return nil, err
	}
	if given.Property == xproto.AtomNone {
		return nil, fmt.Errorf("it does not hand over %s", form)
	}
	whole, kindOf, err := x.property()
	if err != nil {
		return nil, err
	}
	if kindOf == x.atoms["INCR"] {
		return &inPieces{x: x, patience: patience}, nil
	}
	return bytes.NewReader(whole), nil
}

// property reads and removes what was handed over. Its type is AtomNone where there is nothing.
func (x *target) property() (value []byte, kind xproto.Atom, err error) {
	const words = 1 << 22 // more than any display takes in one request
	reply, err := xproto.GetProperty(x.conn, true, x.proxy, x.atoms["COUNTERSIGN_DROP"], xproto.GetPropertyTypeAny, 0, words).Reply()
	if err == nil && reply.BytesAfter > 0 {
		err = errors.New("it hands over too much at once")
	}
	if err != nil {
		return nil, xproto.AtomNone, err
	}
	return reply.Value, reply.Type, nil
}

// inPieces reads what comes in pieces; an empty one is the last.
type inPieces struct {
	x        *target
	patience time.Duration
	piece    []byte
	over     bool
}

func (r *inPieces) Read(p []byte) (int, error) {
	for len(r.piece) == 0 {
		if r.over {
			return 0, io.EOF
		}
		err := r.x.await(r.patience, func(event xgb.Event) bool {
			e, is := event.(xproto.PropertyNotifyEvent)
			return is && e.Window == r.x.proxy && e.Atom == r.x.atoms["COUNTERSIGN_DROP"] && e.State == xproto.PropertyNewValue
		})
		if err != nil {
			return 0, err
		}
		piece, kind, err := r.x.property()
		if err != nil {
			return 0, err
		}
		r.piece, r.over = piece, kind != xproto.AtomNone && len(piece) == 0
	}
	n := copy(p, r.piece)
	r.piece = r.piece[n:]
	return n, nil
}

// await returns when an event is the right one. Others of the protocol wait until there is time for them.
func (x *target) await(patience time.Duration, right func(xgb.Event) bool) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case <-x.ctx.Done():
			return context.Canceled
		case <-timer.C:
			return errors.New("the other program does not answer")
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
